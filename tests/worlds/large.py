"""Random questions at sizes whose truth nobody can list: what two versions of symamp answer is compared.

``python tests/worlds/large.py ask SEED COUNT FILE`` asks, ``python tests/worlds/large.py compare OLD NEW`` lists the
brackets that do not overlap (one of them is false), that became looser or slower, and what only one version answers.
Nothing but symamp and the standard library is imported, so that the Python of any version can run this file.
"""

import argparse
import json
import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import symamp as sa

BUDGETS = ("1/2", "1", "2", "3", "4")
DELTAS = ("1e-5", "1e-6", "1e-8", "1e-12")
FAMILIES: tuple[Callable[[str], Any], ...] = (
    lambda e: sa.RandomizedResponse(k=2, eps0=e),
    lambda e: sa.RandomizedResponse(k=10, eps0=e),
    lambda e: sa.SubsetSelection(d=8, k=3, eps0=e),
    lambda e: sa.HadamardResponse(K=8, D=6, eps0=e),
    lambda e: sa.UnaryEncoding.oue(D=6, eps0=e),
    lambda e: sa.UnaryEncoding.rappor(D=3, eps0=e),
    lambda e: sa.Collision(s=2, l=12, eps0=e),
    lambda e: sa.PrivKV(s=1, d=4, eps0=e),
    lambda e: sa.Harmony(d=4, eps0=e),
    lambda e: sa.DuchiVector(m=3, eps0=e),
    lambda e: sa.PiecewiseMechanism(eps0=e),
    lambda e: sa.SquareWave(b="1/4", eps0=e),
    lambda e: sa.Staircase(g="1/3", eps0=e),
    lambda e: sa.OneBitMean(eps0=e),
    lambda e: sa.CountMeanSketch(k=64, m=16, eps0=e),
    lambda e: sa.PureLDP(eps0=e),
)
NOISES: tuple[Callable[[str], Any], ...] = (
    lambda e: sa.Laplace(eps0=e),
    lambda e: sa.ClippedLaplace(eps0=e),
    lambda e: sa.Logistic(eps0=e),
    lambda e: sa.Gaussian(sigma=str(4 / Fraction(e))),
    lambda e: sa.DiscreteLaplace(B=8, eps0=e),
)


def users(rng: Random) -> int:
    return rng.choice((10, 30, 100, 1000, 10**4, 10**5, 10**6, 10**9))


def small_table(rng: Random) -> Any:
    """A table of few inputs and messages; sometimes with a message that some inputs never send, or many of them."""
    inputs, messages = rng.choice(((2, 3), (3, 3), (3, 5), (4, 6), (6, 4), (12, 10)))
    rows = [[rng.choice((1, 1, 2, 3, 5, 8)) for _ in range(messages)] for _ in range(inputs)]
    if rng.random() < 0.2:
        rows[0][0] = 0
    return sa.FiniteMechanism([[Fraction(value, sum(row)) for value in row] for row in rows])


def mechanism(rng: Random) -> tuple[str, Any]:
    kind, e = rng.random(), rng.choice(BUDGETS)
    if kind < 0.45:
        which = rng.randrange(len(FAMILIES))
        return f"family {which} {e}", FAMILIES[which](e)
    if kind < 0.7:
        return "table", small_table(rng)
    if kind < 0.8:
        parts = [FAMILIES[rng.randrange(5)](rng.choice(BUDGETS)) for _ in range(rng.choice((2, 2, 3)))]
        return "joint", sa.joint(parts)
    which = rng.randrange(len(NOISES))
    return f"noise {which} {e}", NOISES[which](e)


def participation(rng: Random) -> tuple[str, Any]:
    words: dict[str, Any] = rng.choice(
        (
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
    )
    return str(words), sa.participation(**words)


def question(rng: Random) -> tuple[str, Callable[[], Any]]:
    """Return a question in words, and what asks it."""
    kind, delta, n = rng.random(), rng.choice(DELTAS), users(rng)
    if kind < 0.1:
        budgets = [rng.choice(("1", "2", "3")) for _ in range(2)]
        sizes = [max(n // rng.choice((2, 3, 10)), 1) for _ in budgets]
        shuffled = rng.choice(("messages", "data"))
        groups = [(size, sa.RandomizedResponse(k=4, eps0=e)) for size, e in zip(sizes, budgets, strict=True)]
        rounds = rng.choice((1, 1, 7))
        said = f"users who differ {sizes} {budgets} {shuffled} {delta} rounds={rounds}"
        profile = sa.profile(sa.heterogeneous(groups, shuffled=shuffled))
        return said, lambda: (profile if rounds == 1 else profile.rounds(rounds)).epsilon(delta)
    name, runs = mechanism(rng)
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
        words, who = participation(rng)
        return f"{words} {said}", lambda: sa.epsilon(runs, n=n, delta=delta, participation=who)
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


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def ask(seed: int, which: int, seconds: int) -> dict[str, Any]:
    """Ask one question; its answer, its refusal or its crash, and the processor time."""
    said, asks = question(Random(f"{seed} {which}"))
    found: dict[str, Any] = {"which": which, "said": said}
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(seconds)
    start = time.process_time()
    try:
        answer = asks()
        for end in ("lower", "upper"):
            value = getattr(answer, end)  # of Rényi divergences one for each order
            found[end] = str(float(value[0] if isinstance(value, tuple) else value))
    except sa.errors.SymampError as refused:
        found["refused"] = f"{type(refused).__name__}: {refused}"[:200]
    except Exception as crash:
        found["crash"] = f"{type(crash).__name__}: {crash}"[:200]
    finally:
        signal.alarm(0)
    return found | {"seconds": round(time.process_time() - start, 3)}


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What one must look at: a tenth slower by half a second or more, ends looser by a thousandth."""
    if "upper" not in old or "upper" not in new:
        kinds = ["answered" if "upper" in it else it.get("crash") or it.get("refused") for it in (old, new)]
        if kinds[0] != kinds[1] or "crash" in new:
            yield f"{kinds[0]} -> {kinds[1]}"
        return
    (a, b), (c, d) = ((float(it["lower"]), float(it["upper"])) for it in (old, new))
    if not (a <= d and c <= b):
        yield f"DISJOINT [{a}, {b}] -> [{c}, {d}]"
    if d > b * 1.001 or math.isinf(d) > math.isinf(b):
        yield f"looser: upper {b} -> {d}"
    if c < a * 0.999:
        yield f"looser: lower {a} -> {c}"
    if new["seconds"] > max(1.3 * old["seconds"], old["seconds"] + 0.5):
        yield f"slower: {old['seconds']} -> {new['seconds']} s"


def compare(old: Path, new: Path) -> None:
    """Print what differs, and the times of both."""
    answers = [{it["which"]: it for it in map(json.loads, file.read_text().splitlines())} for file in (old, new)]
    both = sorted(answers[0].keys() & answers[1].keys())
    for which in both:
        for found in differences(answers[0][which], answers[1][which]):
            print(which, answers[1][which]["said"], "|", found)
    times = [sum(it[which]["seconds"] for which in both) for it in answers]
    print(f"{len(both)} questions, {times[0]:.1f} -> {times[1]:.1f} s")


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("task", choices=("ask", "compare"))
    read.add_argument("words", nargs="+")
    read.add_argument("--only", type=int, nargs="*", help="numbers of questions")
    read.add_argument("--seconds", type=int, default=60, help="after which a question is given up")
    said = read.parse_args()
    warnings.simplefilter("ignore")
    if said.task == "compare":
        compare(*map(Path, said.words))
        return
    seed, count, file = int(said.words[0]), int(said.words[1]), Path(said.words[2])
    with file.open("a") as out:
        for which in said.only or range(count):
            out.write(json.dumps(ask(seed, which, said.seconds)) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
