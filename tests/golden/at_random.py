"""Questions at random sizes whose truth nobody can list: two versions of the package are compared by them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import symamp as sa
from symamp.randomizers.catalogue import catalogue
from tests.golden.questions import Question, member

_BUDGETS, _DELTAS = ("1/2", "1", "2", "3", "4"), ("1e-5", "1e-6", "1e-8", "1e-12")
_USERS = (10, 30, 100, 1000, 10**4, 10**5, 10**6, 10**9)
_NOISES: tuple[Callable[[str], Any], ...] = (
    lambda e: sa.Laplace(eps0=e),
    lambda e: sa.ClippedLaplace(eps0=e),
    lambda e: sa.Logistic(eps0=e),
    lambda e: sa.Gaussian(sigma=str(4 / Fraction(e))),
    lambda e: sa.DiscreteLaplace(B=8, eps0=e),
)
_PARTICIPATION: tuple[dict[str, Any], ...] = (
    {"dropout": "1/5"},
    {"dropout": "1/3", "compared": "removal"},
    {"arrivals": "poisson"},
    {"arrivals": "poisson", "compared": "removal"},
    {"colluding_share": "1/10"},
    {"colluding": "1/10", "dropout": "1/10"},
    {"leaks": "1/1000000000000000"},
    {"dropout": "1/10", "victim_drops": True, "filled": "uniform"},
    {"compared": "default", "default": "uniform"},
)


def _table(rng: random.Random) -> Any:
    """A table of few inputs and messages; sometimes with a message that some inputs never send, or many of them."""
    inputs, messages = rng.choice(((2, 3), (3, 3), (3, 5), (4, 6), (6, 4), (12, 10)))
    rows = [[rng.choice((1, 1, 2, 3, 5, 8)) for _ in range(messages)] for _ in range(inputs)]
    if rng.random() < 0.2:
        rows[0][0] = 0
    return sa.FiniteMechanism([[Fraction(value, sum(row)) for value in row] for row in rows])


def _mechanism(rng: random.Random) -> tuple[str, Any]:
    kind, e = rng.random(), rng.choice(_BUDGETS)
    if kind < 0.45:
        name = rng.choice([*catalogue(), "budget"])
        return f"{name} {e}", sa.PureLDP(eps0=e) if name == "budget" else member(name, e)
    if kind < 0.7:
        return "table", _table(rng)
    if kind < 0.8:
        return "joint", sa.joint([sa.RandomizedResponse(k=rng.choice((2, 10)), eps0=e), sa.Harmony(d=4, eps0=1)])
    which = rng.randrange(len(_NOISES))
    return f"noise {which} {e}", _NOISES[which](e)


def _question(rng: random.Random) -> Question:
    kind, delta, n = rng.random(), rng.choice(_DELTAS), rng.choice(_USERS)
    if kind < 0.1:
        budgets = [rng.choice(("1", "2", "3")) for _ in range(2)]
        sizes = [max(n // rng.choice((2, 3, 10)), 1) for _ in budgets]
        shuffled, rounds = rng.choice(("messages", "data")), rng.choice((1, 1, 7))
        groups = [(size, sa.RandomizedResponse(k=4, eps0=e)) for size, e in zip(sizes, budgets, strict=True)]
        said = f"users who differ {sizes} {budgets} {shuffled} {delta} rounds={rounds}"
        profile = sa.profile(sa.heterogeneous(groups, shuffled=shuffled))
        return said, lambda: (profile if rounds == 1 else profile.rounds(rounds)).epsilon(delta)
    name, runs = _mechanism(rng)
    said = f"{name} n={n} delta={delta}"
    if kind < 0.35:
        return f"epsilon {said}", lambda: sa.epsilon(runs, n=n, delta=delta)
    if kind < 0.45:
        eps = rng.choice(("0", "1/100", "1/10", "1/2", "1"))
        return f"delta {said} eps={eps}", lambda: sa.delta(runs, n=n, eps=eps)
    if kind < 0.6:
        rounds = rng.choice((2, 10, 100))
        return f"rounds={rounds} {said}", lambda: sa.profile(runs, n=n).rounds(rounds).epsilon(delta, gap=1e-2)
    if kind < 0.8:
        words = rng.choice(_PARTICIPATION)
        return f"{words} {said}", lambda: sa.epsilon(runs, n=n, delta=delta, participation=sa.participation(**words))
    if kind < 0.86:
        return f"sampled {said}", lambda: sa.profile(runs, n=n).sampled(n=n, of=10 * n).epsilon(delta)
    if kind < 0.92:
        order = rng.choice(("3/2", "2", "8"))
        return f"renyi {order} {said}", lambda: sa.profile(runs, n=n).renyi(order)
    if kind < 0.96:
        reports = rng.choice((2, 5))
        return f"reports={reports} {said}", lambda: sa.several_reports(runs, n=n, reports=reports).epsilon(delta)
    method = rng.choice(("blanket", "envelope", "all_data_sets", "two_messages", "few_messages", "worst_pair"))
    return f"{method} {said}", lambda: sa.epsilon(runs, n=n, delta=delta, method=method)


def at_random(seed: int, count: int) -> Iterator[Question]:
    """So many questions, the same for the same seed."""
    for which in range(count):
        said, ask = _question(random.Random(f"{seed} {which}"))
        yield f"{which} {said}", ask
