"""What the parameters say about one generator: proved bounds, as expressions in what was declared earlier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sympy as sp

from symamp.algebra.generators import OPAQUE, Generator
from symamp.algebra.parameter import Parameter

_LARGEST_POWER = 4096
Prover = Callable[[sp.Expr], tuple[int, bool] | None]
"""Returns (sign, strict) of an expression over the admissible parameters, or None where no proof was found."""


@dataclass(frozen=True)
class Range:
    """lower < generator < upper, where a closed end may be attained; None is no bound."""

    lower: sp.Expr | None
    upper: sp.Expr | None
    closed_lower: bool = False
    closed_upper: bool = False


_POSITIVE = Range(sp.S.Zero, None)
Interval = tuple[sp.Expr | None, sp.Expr | None, bool]  # ends, and whether they may be attained


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    return sp.exp(exponent) if base is sp.E else sp.Pow(base, exponent)


def _monotone(g: Generator, interval: Interval, rising: bool) -> Range:
    """The range of base**(unit*core) for a core in the interval, where base >= 1 (rising) or 0 < base <= 1."""

    def end(bound: sp.Expr | None) -> sp.Expr | None:
        if bound is None:
            return None
        exponent = g.unit * bound
        # Powers too large to write down are left out: a weaker bound, never a wrong one.
        return None if exponent.is_Rational and abs(exponent) > _LARGEST_POWER else _power(g.base, exponent)

    low, high, closed = interval
    lower, upper = (end(low), end(high)) if rising else (end(high), end(low))
    if lower is None:
        return Range(sp.S.Zero, upper, False, closed)
    return Range(lower, upper, closed, closed)


def _interval(core: sp.Expr, parameters: Mapping[sp.Symbol, Parameter], prove: Prover) -> Interval:
    if core in parameters:
        p = parameters[core]
        return p.lower, p.upper, p.integer
    proof = prove(core)
    if proof is None:
        return None, None, False
    return (sp.S.Zero, None, not proof[1]) if proof[0] >= 0 else (None, sp.S.Zero, not proof[1])


def _root_range(g: Generator, p: Parameter, prove: Prover) -> Range | None:
    """The m-th root of a parameter, which needs a parameter that is not negative."""
    below = None if p.lower is None else prove(p.lower)
    if p.lower is None or below is None or below[0] < 0:
        return None
    upper = None if p.upper is None else sp.Pow(p.upper, g.unit)
    return Range(sp.Pow(p.lower, g.unit), upper, p.integer, p.integer)


def range_of(g: Generator, parameters: Mapping[sp.Symbol, Parameter], prove: Prover) -> Range | None:
    """Return the proved range of a generator; None if it may have any sign or may not be real.

    Every generator is bounded on its own: relations such as the one between D and 2**D are forgotten, which can only
    make a proof fail, never make it wrong.
    """
    base, core = g.base, g.core
    if core == 1 and base in parameters:
        p = parameters[base]
        if g.unit != 1:
            return _root_range(g, p, prove)
        return None if p.lower is None and p.upper is None else Range(p.lower, p.upper, p.integer, p.integer)
    if base is sp.E or base.is_Rational:  # a rational base is an integer of at least 2
        return _monotone(g, _interval(core, parameters, prove), True)
    if isinstance(base, sp.log):
        proof = prove(base.args[0] - 1)
        if proof is None or (proof[0] < 0 and g.unit != 1):  # the root of a negative logarithm is not real
            return None
        lower, upper = (sp.S.Zero, None) if proof[0] >= 0 else (None, sp.S.Zero)
        return Range(lower, upper, not proof[1], not proof[1])
    if isinstance(base, sp.binomial):
        n, k = base.args
        inside = n.is_integer and k.is_integer and all((s := prove(e)) is not None and s[0] >= 0 for e in (k, n - k))
        return Range(sp.S.One, None, True) if inside else None
    if isinstance(base, OPAQUE):
        return None
    proof = prove(base)
    if proof is None or proof[0] < 0:
        return None
    if core == 1:
        return Range(sp.S.Zero, None, not proof[1])
    if not proof[1]:
        return None
    against = prove(base - 1)
    if against is None:
        return _POSITIVE
    low, high, closed = _interval(core, parameters, prove)
    # A base that may equal 1 makes any end attainable.
    return _monotone(g, (low, high, closed or not against[1]), against[0] >= 0)
