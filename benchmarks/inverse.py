"""How much processor time questions asked backwards take: `python -m benchmarks.inverse`, or words of their names.

One question should take at most 3 s. Each has a process state of its own where a fork is cheap: nothing that one
question has derived helps the next one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import symamp as sa

MONTH: dict[str, Any] = {"n": 10**6, "eps": 1, "delta": "1e-8", "rounds": 30}
GOAL: dict[str, Any] = {"n": 10**6, "eps": "0.1", "delta": "1e-8"}
SOON: dict[str, Any] = {"eps": "0.1", "delta": "1e-8"}
LEAKS = sa.participation(leaks="1/10")
KRR, NUMBER = sa.RandomizedResponse(k=16), sa.PiecewiseMechanism()


def _crowd(budget: Any = 2) -> Any:
    free, fixed = sa.RandomizedResponse(k=4), sa.RandomizedResponse(k=4, eps0=1)
    groups = [(10**5, free if budget is None else free.at(eps0=budget)), (10**5, fixed)]
    return sa.heterogeneous(groups, shuffled="messages")


QUESTIONS: dict[str, Callable[[], Any]] = {
    "eps0 krr": lambda: sa.largest_eps0(KRR, **GOAL),
    "eps0 krr 1e4 categories": lambda: sa.largest_eps0(sa.RandomizedResponse(k=10**4), **GOAL),
    "eps0 any randomizer": lambda: sa.largest_eps0(sa.PureLDP(), **GOAL),
    "eps0 unary": lambda: sa.largest_eps0(sa.UnaryEncoding.oue(D=16), **GOAL),
    "eps0 hadamard": lambda: sa.largest_eps0(sa.HadamardResponse(K=32, D=16), **GOAL),
    "eps0 subset": lambda: sa.largest_eps0(sa.SubsetSelection(d=16, k=4), **GOAL),
    "eps0 laplace": lambda: sa.largest_eps0(sa.Laplace(), **GOAL),
    "eps0 piecewise": lambda: sa.largest_eps0(NUMBER, **GOAL),
    "eps0 one bit": lambda: sa.largest_eps0(sa.OneBitMean(), **GOAL),
    "eps0 joint": lambda: sa.largest_eps0(sa.joint([KRR, sa.RandomizedResponse(k=4)]), **GOAL),
    "eps0 users who differ": lambda: sa.largest_eps0(_crowd(None), **SOON),
    "eps0 lost reports": lambda: sa.largest_eps0(KRR, **GOAL, participation=sa.participation(dropout="1/5")),
    "eps0 leaks krr": lambda: sa.largest_eps0(KRR, **GOAL, participation=LEAKS),
    "eps0 leaks unary": lambda: sa.largest_eps0(sa.UnaryEncoding.oue(D=16), **GOAL, participation=LEAKS),
    "eps0 leaks piecewise": lambda: sa.largest_eps0(NUMBER, **GOAL, participation=LEAKS),
    "eps0 rounds leaks unary": lambda: sa.largest_eps0(sa.UnaryEncoding.oue(D=16), **MONTH, participation=LEAKS),
    "eps0 rounds krr": lambda: sa.largest_eps0(KRR, **MONTH),
    "eps0 rounds any randomizer": lambda: sa.largest_eps0(sa.PureLDP(), **MONTH),
    "eps0 rounds unary": lambda: sa.largest_eps0(sa.UnaryEncoding.oue(D=16), **MONTH),
    "eps0 rounds hadamard": lambda: sa.largest_eps0(sa.HadamardResponse(K=32, D=16), **MONTH),
    "eps0 rounds laplace": lambda: sa.largest_eps0(sa.Laplace(), **MONTH),
    "eps0 rounds piecewise": lambda: sa.largest_eps0(NUMBER, **MONTH),
    "eps0 rounds one bit": lambda: sa.largest_eps0(sa.OneBitMean(), **MONTH),
    "eps0 rounds joint": lambda: sa.largest_eps0(sa.joint([KRR, sa.RandomizedResponse(k=4)]), **MONTH),
    "eps0 rounds users who differ": lambda: sa.largest_eps0(_crowd(None), eps=1, delta="1e-8", rounds=30),
    "eps0 rounds sample": lambda: sa.largest_eps0(KRR, **MONTH, sampled_from=10**7),
    "eps0 rounds coordinates": lambda: sa.largest_eps0(sa.UnaryEncoding.oue(D=16), **MONTH, view="coordinates"),
    "n krr": lambda: sa.least_n(KRR.at(eps0=4), **SOON),
    "n infeasible": lambda: sa.least_n(sa.RandomizedResponse(k=16, eps0=60), **SOON),
    "n laplace": lambda: sa.least_n(sa.Laplace(eps0=4), **SOON),
    "n joint": lambda: sa.least_n(sa.joint([KRR.at(eps0=2), sa.RandomizedResponse(k=4, eps0=2)]), **SOON),
    "n users who differ": lambda: sa.least_n(_crowd(), **SOON),
    "n rounds krr": lambda: sa.least_n(KRR.at(eps0=4), eps=1, delta="1e-8", rounds=30),
    "n rounds rate": lambda: sa.least_n(KRR.at(eps0=4), eps=1, delta="1e-8", rounds=30, rate="1/10"),
    "n rounds piecewise": lambda: sa.least_n(NUMBER.at(eps0=4), eps=1, delta="1e-8", rounds=30),
    "n rounds laplace": lambda: sa.least_n(sa.Laplace(eps0=4), eps=1, delta="1e-8", rounds=30),
    "rounds krr": lambda: sa.most_rounds(KRR.at(eps0=6), n=10**6, eps=1, delta="1e-8"),
    "rounds piecewise": lambda: sa.most_rounds(NUMBER.at(eps0=4), n=10**6, eps=1, delta="1e-8"),
    "rounds laplace": lambda: sa.most_rounds(sa.Laplace(eps0=4), n=10**6, eps=1, delta="1e-8"),
    "rounds logistic": lambda: sa.most_rounds(sa.Logistic(eps0=4), n=10**5, eps=1, delta="1e-8"),
    "rounds gaussian": lambda: sa.most_rounds(sa.Gaussian(sigma=1), n=10**5, eps=1, delta="1e-8"),
    "rounds sample": lambda: sa.most_rounds(
        sa.profile(KRR.at(eps0=6), n=10**5).sampled(n=10**5, of=10**6), eps=1, delta="1e-8"
    ),
    "rounds users who differ": lambda: sa.most_rounds(_crowd(), eps=1, delta="1e-8"),
    "rounds sampled laplace": lambda: sa.most_rounds(
        sa.Laplace(eps0=4), n=10**5, sampled_from=10**6, eps=1, delta="1e-8"
    ),
    "plan of leaks": lambda: sa.plan(
        {"browser": 16, "minutes": "number"}, **MONTH, participation=sa.participation(leaks="1/10", dropout="1/5")
    ),
    "plan of two": lambda: sa.plan({"browser": 16, "country": 8}, **MONTH),
    "plan of a month": lambda: sa.plan(
        {"browser": [KRR, sa.HadamardResponse(K=32, D=16)], "minutes": [NUMBER]}, **MONTH
    ),
}


def seconds(ask: Callable[[], Any]) -> tuple[float, str]:
    """Return the processor time of a question in a process of its own, and its answer in a line."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.process_time()
        try:
            found = ask()
            text = getattr(found, "answer", found)
            line = f"[{text.lower}, {text.upper}]"
        except Exception as refused:
            line = repr(refused)
        os.write(write, f"{time.process_time() - start}\n{line[:200]}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as out:
        time_, line = out.read().split("\n", 1)
    os.waitpid(child, 0)
    return float(time_), line


def main(words: list[str]) -> None:
    """Print a line for each question: processor seconds, name, bracket."""
    for name in (n for n in QUESTIONS if all(w in n for w in words)):
        time_, line = seconds(QUESTIONS[name])
        print(f"{time_:6.2f} s  {name:32}{line}", flush=True)


if __name__ == "__main__":
    sa.epsilon(sa.RandomizedResponse(k=2, eps0=1), n=1000, delta="1e-6")  # imports are not counted
    main(sys.argv[1:])
