"""Questions over everything public, by name: what a change of the inside must answer as before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import symamp as sa
from symamp.randomizers.catalogue import catalogue

Question = tuple[str, Callable[[], Any]]
"""A name, and what asks: an answer with two ends, a list of numbers (lower, upper), or a text."""

_SIZES = ((1000, "1e-6"), (10**6, "1e-8"))


def member(name: str, eps0: object = 1) -> Any:
    """The family of this name at its usual sizes."""
    family = catalogue()[name]
    sizes = dict(family.typical)
    return family(**sizes, **({"eps0": eps0} if any(p.name == "eps0" for p in family.declared) else {}))


def table(inputs: int, messages: int, seed: int) -> sa.FiniteMechanism:
    """A table of fractions of small denominators, the same for a seed."""
    draw = random.Random(seed)
    rows = []
    for _ in range(inputs):
        weights = [draw.randint(1, 9) for _ in range(messages)]
        rows.append([Fraction(w, sum(weights)) for w in weights])
    return sa.FiniteMechanism([[str(x) for x in row] for row in rows])


def _families() -> Iterator[Question]:
    for name in catalogue():
        yield f"formula {name}", lambda name=name: str(catalogue()[name](**catalogue()[name].typical).blanket())
        yield f"gamma {name}", lambda name=name: str(member(name).blanket().gamma)
        yield f"budget {name}", lambda name=name: str(member(name).local_epsilon())
        for n, delta in _SIZES:
            yield (
                f"epsilon {name} n={n}",
                lambda name=name, n=n, delta=delta: sa.epsilon(member(name), n=n, delta=delta),
            )
        yield f"delta {name}", lambda name=name: sa.delta(member(name, 2), n=10**4, eps="1/10")


def _methods() -> Iterator[Question]:
    subjects = {"krr": member("krr"), "rappor": member("rappor"), "table": table(4, 5, 1)}
    methods = ("blanket", "envelope", "all_data_sets", "generic", "generic_all_data_sets", "standard_clone")
    methods += ("variation_ratio", "two_level", "variation_ratio_2023", "every_data_set", "two_messages")
    for label, subject in subjects.items():
        for method in methods:

            def ask(subject: Any = subject, method: str = method) -> Any:
                return sa.epsilon(subject, n=10**4, delta="1e-6", method=method)

            yield f"method {method} {label}", ask
    for n in (3, 10, 100):
        yield f"methods compared n={n}", lambda n=n: str(sa.compare(table(3, 3, 2), n=n, delta="1e-2"))


def _tables() -> Iterator[Question]:
    for inputs, messages in ((2, 2), (2, 3), (3, 3), (4, 3), (8, 8), (20, 16)):
        for n in (2, 3, 12, 1000, 10**6):
            subject = table(inputs, messages, 10 * inputs + messages)
            yield (
                f"table {inputs}x{messages} epsilon n={n}",
                lambda s=subject, n=n: sa.epsilon(s, n=n, delta="1e-3" if n < 100 else "1e-7"),
            )
        yield f"table {inputs}x{messages} delta", lambda s=subject: sa.delta(s, n=500, eps="1/20")
    near = sa.FiniteMechanism({str(x): dict(zip("abc", r, strict=True)) for x, r in enumerate(_SLOPE)})
    for d in (1, 2):
        yield f"near {d}", lambda d=d: sa.epsilon(near, n=100, delta="1e-4", neighbours=d)
    yield "digits", lambda: sa.delta(table(3, 3, 5), n=100, eps="1/10", digits=12)
    yield "tiny delta", lambda: sa.epsilon(member("krr"), n=10**5, delta="1e-400")


_SLOPE = (("6/10", "3/10", "1/10"), ("4/10", "3/10", "3/10"), ("1/10", "3/10", "6/10"))


def _combined() -> Iterator[Question]:
    two, three = sa.RandomizedResponse(k=2, eps0="log(3)"), sa.RandomizedResponse(k=3, eps0="1/2")
    for kind in ("all", "one_attribute"):
        yield f"joint few {kind}", lambda k=kind: sa.epsilon(sa.joint([two, three], neighbours=k), n=1000, delta="1e-6")
        yield (
            f"joint many {kind}",
            lambda k=kind: sa.epsilon(
                sa.joint([sa.RandomizedResponse(k=10, eps0="1/8")] * 8, neighbours=k), n=10**6, delta="1e-8"
            ),
        )
        yield (
            f"parallel {kind}",
            lambda k=kind: sa.epsilon(sa.parallel([("1/3", two), ("2/3", three)], neighbours=k), n=1000, delta="1e-6"),
        )
    yield "poisson", lambda: sa.epsilon(sa.poisson_subsample(three, "1/10"), n=10**5, delta="1e-8")
    yield "joint of noise", lambda: sa.epsilon(sa.joint([sa.Laplace(eps0=1)] * 2), n=10**4, delta="1e-6")
    yield "law of one's own", lambda: sa.epsilon([(2, 1, "1/4"), (1, 2, "1/4")], n=1000, delta="1e-6")


def _noise() -> Iterator[Question]:
    subjects: dict[str, Callable[[], Any]] = {
        "laplace": lambda: sa.Laplace(eps0=1),
        "clipped": lambda: sa.ClippedLaplace(eps0=1),
        "logistic": lambda: sa.Logistic(eps0=1),
        "gaussian": lambda: sa.Gaussian(sigma=1),
        "cauchy": lambda: sa.Cauchy(scale=1),
        "planar": lambda: sa.PlanarLaplace(eps0=1),
        "discrete laplace": lambda: sa.DiscreteLaplace(B=8, eps0=1),
        "discrete gaussian": lambda: sa.DiscreteGaussian(B=4, sigma=4),
    }
    for name, make in subjects.items():
        for n, delta in _SIZES:
            yield f"noise {name} n={n}", lambda make=make, n=n, delta=delta: sa.epsilon(make(), n=n, delta=delta)
    yield "noise near", lambda: sa.epsilon(sa.Laplace(eps0=2), n=10**4, delta="1e-6", neighbours="1/2")


def _rounds() -> Iterator[Question]:
    krr = member("krr")
    for n, count in ((1000, 2), (10**6, 100), (10**6, 10**4)):
        yield f"rounds {count} n={n}", lambda n=n, c=count: sa.profile(krr, n=n).rounds(c).epsilon("1e-8")
    yield "rounds delta", lambda: sa.profile(krr, n=10**4).rounds(30).delta("1/5")
    yield "rounds of a table", lambda: sa.profile(table(3, 3, 7), n=100).rounds(5).epsilon("1e-4")
    yield "rounds of noise", lambda: sa.profile(sa.Laplace(eps0=1), n=10**4).rounds(10).epsilon("1e-6")
    yield (
        "rounds of two kinds",
        lambda: sa.compose([sa.profile(krr, n=10**5).rounds(5), sa.profile(table(2, 2, 3), n=100).rounds(3)]).epsilon(
            "1e-6"
        ),
    )
    yield "sampled", lambda: sa.profile(krr, n=10**4).sampled(n=10**4, of=10**6).rounds(1000).epsilon("1e-8")
    yield "given", lambda: sa.from_privacy_profile([(0, "1e-2"), ("0.1", "1e-6")]).rounds(3).epsilon("1e-5")
    for order in (2, 64):
        yield f"renyi {order}", lambda order=order: sa.profile(krr, n=10**5).renyi(order)
    yield "trade-off", lambda: list(sa.profile(krr, n=10**4).rounds(10).tradeoff("1/10").at("1/10"))
    yield "export", lambda: [0.0, sa.profile(krr, n=10**6).to_callable()(0.0027)]


def _crowds() -> Iterator[Question]:
    two, more = sa.RandomizedResponse(k=4, eps0=1), sa.RandomizedResponse(k=4, eps0=2)
    for shuffled in ("messages", "data"):

        def crowd(shuffled: str = shuffled) -> Any:
            return sa.heterogeneous([(500, two), (300, more)], shuffled=shuffled)

        yield f"crowd {shuffled} epsilon", lambda crowd=crowd: sa.epsilon(crowd(), delta="1e-4")
        yield f"crowd {shuffled} delta", lambda crowd=crowd: sa.delta(crowd(), eps="1/4")
    budgets = [(50, sa.PureLDP(eps0=1)), (50, sa.PureLDP(eps0=3))]
    yield "crowd of budgets", lambda: sa.epsilon(sa.heterogeneous(budgets, shuffled="data"), delta="1e-6")


def _inverse() -> Iterator[Question]:
    for name in ("krr", "rappor", "local-hashing"):
        family = catalogue()[name]
        yield (
            f"largest eps0 {name}",
            lambda f=family: sa.largest_eps0(f(**f.typical), n=10**5, eps="1/10", delta="1e-8"),
        )
        yield f"least n {name}", lambda name=name: sa.least_n(member(name), eps="1/10", delta="1e-8")
    yield "budget alone", lambda: sa.epsilon(sa.PureLDP(eps0=1), n=10**5, delta="1e-6")
    yield "curve", lambda: _curve(sa.profile(member("krr"), n=1000).curve(["1/10", "1/5", "1/2"]))


def _curve(found: Any) -> list[float]:
    return [float(x) for ends in zip(found.lower, found.upper, strict=True) for x in ends]


def _certificates() -> Iterator[Question]:
    from symamp import verifier

    subjects: dict[str, Callable[[], Any]] = {
        "krr": lambda: sa.epsilon(member("krr"), n=10**4, delta="1e-6"),
        "krr delta": lambda: sa.delta(member("krr"), n=10**4, eps="1/100"),
        "rappor": lambda: sa.epsilon(member("rappor"), n=10**4, delta="1e-6"),
        "few users": lambda: sa.delta(table(3, 3, 2), n=3, eps="log(5/4)"),
        "all data sets": lambda: sa.epsilon(table(3, 3, 2), n=1000, delta="1e-6"),
        "crowd": lambda: sa.delta(sa.heterogeneous([(9, sa.PureLDP(eps0=1))], shuffled="data"), eps="1/2"),
        "rounds": lambda: sa.profile(member("krr"), n=10**4).rounds(3).epsilon("1e-4", gap=1e-2),
    }
    import json

    for name, ask in subjects.items():
        yield f"certificate {name}", lambda ask=ask: verifier.verify(json.dumps(ask().certificate())).status


def questions() -> dict[str, Callable[[], Any]]:
    """All questions by name."""
    parts = (_families, _methods, _tables, _combined, _noise, _rounds, _crowds, _inverse, _certificates)
    return dict(question for part in parts for question in part())
