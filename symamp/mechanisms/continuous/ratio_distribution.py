"""The distribution of the ratio of noise as a formula, where SymPy inverts the ratio and integrates the density."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import sympy as sp
from flint import arb

from symamp.derivation.crossing import number
from symamp.errors import ExpressionError, UndecidedOrderError
from symamp.mechanisms.continuous.noise_sides import Side, Y, joined
from symamp.numbers.agreement import same

V = sp.Symbol("v", positive=True)
_SHARES = tuple(sp.Rational(k, 7) for k in (1, 3, 6))

Values = Mapping[sp.Symbol, sp.Expr]
Survival = Callable[[arb], arb]


def ratio_distribution(sides: Sequence[Side], tried: Sequence[tuple[Values, Survival]]) -> sp.Expr:
    """Return the blanket's mass of messages right of 1/2 with a ratio of at most v, as cases in ``V``; 1 <= v.

    The ratio has to grow away from 1/2, up to a constant. ``tried`` lists values of the parameters with the tail of the
    noise there: each case is compared with it at points. Raises UndecidedOrderError for what SymPy does not solve, or
    solves wrongly.
    """
    positive = {s: sp.Symbol(s.name, positive=True) for values, _ in tried for s in values}
    back = {p: s for s, p in positive.items()}
    cases, below = list[tuple[sp.Expr, object]](), sp.S.Zero
    for side in joined(sides):
        start, end, density, ratio = (e.xreplace(positive) for e in (side.start, side.end, side.density0, side.ratio))
        if Y not in ratio.free_symbols:
            below += sp.integrate(density, (Y, start, end))
            continue
        found = next((f for f in _solved(start, density, ratio) if _is_right(f, side, back, tried)), None)
        if found is None:
            raise UndecidedOrderError("ratio", str(side.ratio), "a ratio that SymPy inverts, a density it integrates")
        last = sp.simplify(sp.limit(ratio, Y, end))
        cases.append((sp.simplify(below + found), last > V))
        below += sp.S.Zero if last is sp.oo else found.subs(V, last)
    return sp.Piecewise(*cases, (sp.simplify(below), True)).xreplace(back)


def _solved(start: sp.Expr, density: sp.Expr, ratio: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the mass from the start up to each message at which SymPy finds the ratio to be v."""
    with suppress(NotImplementedError):  # how SymPy says that it finds nothing
        for place in sp.solve(ratio - V, Y):
            yield sp.integrate(density, (Y, start, place))


def _is_right(formula: sp.Expr, side: Side, back: Values, tried: Sequence[tuple[Values, Survival]]) -> bool:
    """Return whether a formula in v is the mass that the tail gives, at some messages of the side."""
    for values, survival in tried:
        start, end, ratio = (e.xreplace(dict(values)) for e in (side.start, side.end, side.ratio))
        for share in _SHARES:
            y = start + (share if end is sp.oo else share * (end - start))
            value = formula.xreplace(dict(back)).xreplace(dict(values)).subs(V, ratio.subs(Y, y))
            ends = survival(number(start)()), survival(number(y)())
            if not _is(value, ends[0] - ends[1]):
                return False
    return True


def _is(value: sp.Expr, mass: arb) -> bool:
    """Return whether narrow balls around a constant and a mass overlap; no if balls do not know a function of it."""
    with suppress(ExpressionError):
        return same(number(value)(), mass)
    return False
