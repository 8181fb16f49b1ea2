"""Answers are the same whatever precision python-flint is set to outside."""

import sys
from functools import cache

import flint
import pytest
import sympy as sp

import symamp as sa

X, Y = sp.symbols("x y", real=True)
KRR, RAPPOR = sa.RandomizedResponse(k=10, eps0=1), sa.UnaryEncoding.rappor(D=8, eps0=1)
TABLE = sa.FiniteMechanism({"a": {"u": "1/2", "v": "1/3", "w": "1/6"}, "b": {"u": "1/4", "v": "1/4", "w": "1/2"}})
DENSITY = sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y, inputs=[0, 1])
CROWD = sa.heterogeneous([(50, KRR), (60, KRR)], shuffled="messages")
QUESTIONS = {
    "epsilon": lambda: sa.epsilon(KRR, n=10**6, delta="1e-8"),
    "a third": lambda: sa.epsilon(KRR, n=10**6, delta="1/300000000"),
    "delta": lambda: sa.delta(KRR, n=10**6, eps="1/300"),
    "digits": lambda: sa.epsilon(KRR, n=10**4, delta="1e-8", digits=8),
    "rappor": lambda: sa.epsilon(RAPPOR, n=10**4, delta="1e-6"),
    "table": lambda: sa.epsilon(TABLE, n=100, delta="1e-3"),
    "pure": lambda: sa.epsilon(sa.PureLDP(eps0=1), n=10**4, delta="1e-6"),
    "noise": lambda: sa.epsilon(sa.Laplace(eps0=1), n=10**4, delta="1e-6"),
    "gaussian": lambda: sa.delta(sa.Gaussian(sigma=2), n=10**4, eps="0.1"),
    "density": lambda: sa.epsilon(DENSITY, n=10**4, delta="1e-6"),
    "joint": lambda: sa.epsilon(sa.joint([KRR, RAPPOR]), n=10**4, delta="1e-6"),
    "crowd": lambda: sa.epsilon(CROWD, delta="1e-6"),
    "rounds": lambda: sa.profile(KRR, n=10**4).rounds(10).epsilon(delta="1e-6"),
    "renyi": lambda: sa.profile(KRR, n=10**4).renyi(2),
    "tradeoff": lambda: sa.profile(KRR, n=10**4).tradeoff("0.1"),
    "curve": lambda: sa.profile(KRR, n=10**4).curve(eps=["0.01", "0.02"]),
    "largest eps0": lambda: sa.largest_eps0(sa.RandomizedResponse(k=10), n=10**4, eps="0.1", delta="1e-6"),
    "least n": lambda: sa.least_n(KRR, eps="0.1", delta="1e-6"),
    "law": lambda: [a.tolist() for a in sa.sum_law(KRR, n=100, eps="0.1").log_probabilities],
}


def forget():
    """Drop all that functions remember, so that nothing was computed at another precision."""
    for name, module in list(sys.modules.items()):
        if name.startswith("symamp."):
            for value in vars(module).values():
                if callable(value) and hasattr(value, "cache_clear"):
                    value.cache_clear()


@cache
def at_few_bits(name):
    """The answer to one of the questions where the precision outside is that of no double."""
    with flint.ctx.workprec(25):
        forget()
        return QUESTIONS[name]()


SLOW = ("pure", "gaussian", "density", "rounds", "renyi", "tradeoff", "least n", "crowd", "noise")
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in QUESTIONS]


@pytest.mark.parametrize("name", NAMES)
def test_answers_do_not_depend_on_the_precision_outside(name):
    few = at_few_bits(name)
    with flint.ctx.workprec(400):
        forget()
        assert QUESTIONS[name]() == few
