"""Sample and threshold as in Nebula, by enumeration: p = 0.105, K = 20 for (1, 1e-8).

Run: python docs/deployments/sample_and_threshold.py. Writes sample_and_threshold.txt.

A user reports with probability p; of each value the number of reports is shown if it is K or more. Worlds: m + 1 or m
users hold the value, P and Q. Shown counts c have P(c)/Q(c) = (m + 1)(1 - p)/(m + 1 - c), and Q/P is at most 1/(1 - p).
"""

from fractions import Fraction
from math import comb

from figures import Row, write
from flint import arb, ctx, fmpq

P, K, EPS, DELTA = Fraction(21, 200), 20, Fraction(1), Fraction(1, 10**8)
BITS, MOST = 128, 200


def ball(x):
    return arb(fmpq(*x.as_integer_ratio()))


def divergence(m, k, eps, p):
    """A ball around sum over c >= k of (P(c) - e^eps Q(c))_+; nothing shown is likelier under Q."""
    p, q, e, total = ball(p), ball(1 - p), ball(eps).exp(), arb(0)
    for c in range(k, m + 2):
        first = comb(m + 1, c) * p**c * q ** (m + 1 - c)
        second = comb(m, c) * p**c * q ** (m - c) if c <= m else arb(0)
        total += (first - e * second).max(arb(0))
    return total


def beyond(eps, p):
    """A bound for all m >= MOST: c >= a (m + 1) only, a = 1 - (1 - p)/e^eps, and Chernoff's bound on that tail."""
    p, q = ball(p), ball(1 - p)
    a = 1 - q * (-ball(eps)).exp()
    if not a > p:
        raise ValueError("eps is too small for this bound")
    return (-(MOST + 1) * (a * (a / p).log() + (1 - a) * ((1 - a) / q).log())).exp()


def delta(k, eps=EPS, p=P):
    """Both ends of the largest divergence over m, in both directions, for eps >= -log(1 - p)."""
    before, ctx.prec = ctx.prec, BITS
    try:
        found = [divergence(m, k, eps, p) for m in range(MOST)]
        high = max(max(x.upper() for x in found), beyond(eps, p).upper())
        return max(x.lower() for x in found), high
    finally:
        ctx.prec = before


def solve(holds, yes, no, steps=24):
    """Bisect between numbers at which ``holds`` is True and False; both are proved by the ends of balls."""
    for _ in range(steps):
        middle = (yes + no) / 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes, no


def met(k, eps=EPS, p=P):
    """Whether (eps, DELTA) holds: True or False by proof; AssertionError where balls do not tell."""
    low, high = delta(k, eps, p)
    assert high <= ball(DELTA) or low > ball(DELTA)
    return bool(high <= ball(DELTA))


def ends(found):
    return float(found[0]) * (1 - 2**-50), float(found[1]) * (1 + 2**-50)


def rows():
    for k in (K, 11, 10):
        yield Row(f"δ at ε = 1, p = 0.105, K = {k}", *ends(delta(k)))
    eps = solve(lambda x: met(K, x), Fraction(1), Fraction(1, 5))
    yield Row("ε at δ = 1e-8, p = 0.105, K = 20", *map(float, sorted(eps)))
    share = solve(lambda x: met(K, EPS, x), P, Fraction(1, 2))
    yield Row("largest p with (1, 1e-8), K = 20", *map(float, share))


if __name__ == "__main__":
    write("sample_and_threshold", rows())
