"""What others do with flint's precision and NumPy's errors changes no answer, and answers change nothing of theirs."""

import ast
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import flint
import layout
import mpmath
import numpy as np
import pytest
from test_ambient_precision import CROWD, KRR, SLOW, TABLE, at_few_bits, forget
from test_ambient_precision import QUESTIONS as USUAL

import symamp as sa
from symamp.errors import PrecisionError
from symamp.numbers.surroundings import at_precision, undisturbed

QUESTIONS = USUAL | {
    "few users": lambda: sa.epsilon(TABLE, n=5, delta="1e-3"),
    "far below doubles": lambda: sa.epsilon(KRR, n=10**6, delta="1e-1000"),
    "large budget": lambda: sa.delta(sa.RandomizedResponse(k=3, eps0=200), n=50, eps=3),
    "tiny entries": lambda: sa.epsilon(sa.FiniteMechanism([["1e-40", "1 - 1e-40"], [1, 0]]), n=9, delta="1e-10"),
    "all data sets": lambda: sa.delta(TABLE, n=100, eps="0.1", method="all_data_sets"),
    "envelope": lambda: sa.delta(TABLE, n=100, eps="0.1", method="envelope"),
    "generic": lambda: sa.delta(TABLE, n=100, eps="0.1", method="generic_all_data_sets"),
    "compare": lambda: sa.compare(KRR, n=1000, delta="1e-6").to_dicts(),
    "check": lambda: sa.method_check(KRR, n=100, eps="0.1"),
    "plan": lambda: sa.plan({"x": [sa.RandomizedResponse(k=10)]}, n=1000, eps="0.2", delta="1e-6"),
    "sweep": lambda: sa.sweep([KRR], n=[100, 1000], delta=["1e-6"], progress=False).upper.tolist(),
    "sampled": lambda: sa.profile(KRR, n=100).sampled(n=100, of=1000).delta("0.1", gap="0.01"),
    "certificate": lambda: sa.epsilon(TABLE, n=100, delta="1e-3").certificate(),
    "users who differ": lambda: sa.delta(CROWD, eps="0.1"),
    "worst data set": lambda: sa.exact.worst_dataset(TABLE, n=3, eps="0.1"),
    "gaussian law": lambda: sa.epsilon(sa.Gaussian(sigma=2), n=1000, delta="1e-6"),
}
DEAR = (
    *SLOW,
    "compare",
    "gaussian law",
    "crowd",
    "generic",
    "plan",
    "sampled",
    "certificate",
    "check",
    "noise",
    "sweep",
    "largest eps0",
)
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in DEAR else ()) for name in QUESTIONS]


@pytest.mark.parametrize("name", NAMES)
def test_a_caller_who_raises_at_every_error_of_floats_gets_the_same_answer(name):
    forget()
    with np.errstate(all="raise"):
        raised = QUESTIONS[name]()
        assert set(np.geterr().values()) == {"raise"}
    forget()
    assert raised == (at_few_bits(name) if name in USUAL else QUESTIONS[name]())


def test_small_masses_of_noise_underflow_in_peace():
    with np.errstate(all="raise"):
        assert sa.delta(sa.Gaussian(sigma=2), n=1000, eps="0.1", gap=0.1).upper > 0.0


def test_only_one_file_sets_the_precision():
    """Every file but the verifier, which imports nothing from here and is called under the lock."""
    found = set()
    for module, path in layout.modules().items():
        for node in ast.walk(layout.parsed(path)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ("workprec", "workdps"):
                found.add(module)
            targets = node.targets if isinstance(node, ast.Assign) else ()
            if any(isinstance(t, ast.Attribute) and t.attr in ("prec", "dps") for t in targets):
                found.add(module)
    assert {m for m in found if not m.startswith("symamp.verifier.")} == {"symamp.numbers.surroundings"}


def test_a_thread_waits_until_the_precision_is_set_back():
    inside, may_end, order = Event(), Event(), []

    def first():
        with at_precision(300):
            inside.set()
            may_end.wait()
            order.append(flint.ctx.prec)

    def second():
        with at_precision(100):
            order.append(flint.ctx.prec)

    before = flint.ctx.prec
    one = Thread(target=first)
    one.start()
    inside.wait()
    two = Thread(target=second)
    two.start()
    may_end.set()
    one.join()
    two.join()
    assert order == [300, 100]
    assert flint.ctx.prec == before


def test_threads_get_the_answers_that_one_gets_and_leave_no_trace():
    def ask(n):
        table = sa.FiniteMechanism([[f"1/{n}", f"1 - 1/{n}"], [f"2/{n}", f"1 - 2/{n}"]])
        answer = sa.delta(table, n=n, eps="1/7")
        with pytest.raises(PrecisionError):
            sa.epsilon(table, n=n, delta="1e-3", digits=16)
        return answer, answer.certificate()

    sizes, before, of_mpmath = range(5, 17), flint.ctx.prec, mpmath.mp.prec
    alone = [ask(n) for n in sizes]
    forget()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(ask, sizes))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone
    assert (flint.ctx.prec, mpmath.mp.prec) == (before, of_mpmath)


def test_what_fails_sets_everything_back():
    before = flint.ctx.prec, mpmath.mp.prec, np.geterr()
    with pytest.raises(KeyboardInterrupt), undisturbed(), at_precision(999):
        raise KeyboardInterrupt
    assert (flint.ctx.prec, mpmath.mp.prec, np.geterr()) == before
    with pytest.raises(ValueError, match="prec"), at_precision(-1):
        pass
    assert flint.ctx.prec == before[0]
    with ThreadPoolExecutor(1) as pool:  # the lock is free
        assert pool.submit(lambda: sa.delta(KRR, n=10, eps="0.1").upper).result(timeout=60) > 0.0
