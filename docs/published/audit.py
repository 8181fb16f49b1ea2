"""The formulas that the papers print, against the derived ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from published.printed import PRINTED, Printed
from published.statements import statements
from published.table_three import audit_table_three
from symamp.decompositions.decomposition import Decomposition
from symamp.errors import SymampError
from symamp.formulas.normal_form import coefficients, normal, quotient
from symamp.formulas.order import is_zero, strictly_positive
from symamp.formulas.parameter import Parameter
from symamp.numbers.reading import parse_expression
from symamp.numbers.substitution import put
from symamp.numbers.unevaluated import power
from symamp.randomizers.family import Family

_VARIATION = {"beta": "beta", "ratio": "p"}
_EXACT, _LIMIT, _DIFFERS = "agrees exactly", "agrees in the limit", "differs"


@dataclass(frozen=True)
class Finding:
    """What the comparison gives: verdict, derived formula, and a counterexample with both values if they differ."""

    printed: Printed
    verdict: str
    derived: sp.Expr
    counterexample: tuple[Mapping[str, object], sp.Expr, sp.Expr] | None = None


def derived_quantity(family: Family, quantity: str) -> sp.Expr:
    """Return the derived formula for a printed quantity.

    >>> import symamp as sa
    >>> derived_quantity(sa.RandomizedResponse(), "r")
    (k - 2)/(k + exp(eps0) - 1)
    """
    if quantity in _VARIATION:
        return getattr(family.variation_ratio(), _VARIATION[quantity])
    decomposition = family.blanket(*family.pairs()[0])
    if quantity == "null":
        return normal(1 - decomposition.gamma)
    return _mass(decomposition, quantity, sp.exp(family.local_epsilon()))


def _mass(decomposition: Decomposition, quantity: str, t: sp.Expr) -> sp.Expr:
    one = sp.Integer(1)
    ratios = {"p": (t, one), "q": (t, t), "r": (one, one)}[quantity]
    wanted = tuple(normal(r) for r in ratios)
    return normal(sp.Add(*(c.mass for c in decomposition.components if (c.ratio0, c.ratio1) == wanted)))


def check(printed: Printed) -> Finding:
    """Compare one printed formula with the derived one, as identities in all parameters.

    "agrees in the limit" means that the difference tends to 0 as ``size`` grows and is not 0 at some finite size,
    which is then given as the counterexample.
    """
    family = printed.family
    symbols = {p.name: p.symbol for p in family.declared}
    values = {symbols[name]: family.values[name] for name, _ in printed.fixed}
    formula = parse_expression(printed.formula, symbols, argument=printed.place)
    formula, derived = put(formula, values), derived_quantity(family, printed.quantity)
    difference = normal(derived - formula)
    if is_zero(difference):
        return Finding(printed, _EXACT, derived)
    verdict = (
        _LIMIT
        if printed.size is not None and _vanishes(difference, symbols[printed.size], family.parameters)
        else _DIFFERS
    )
    return Finding(printed, verdict, derived, _counterexample(printed, family, formula))


def _vanishes(difference: sp.Expr, size: sp.Symbol, parameters: Sequence[Parameter]) -> bool:
    """Return whether a quotient of polynomials in ``size`` has the larger degree below, or all factors with it fall.

    >>> x, n = Parameter("x", lower=sp.Integer(1)), sp.Symbol("n", integer=True)
    >>> _vanishes(3 * x.symbol ** (1 - n), n, [x]), _vanishes(n / x.symbol**n, n, [x])
    (True, False)
    """
    q = quotient(difference)
    held = [i for i, g in enumerate(q.generators) if size in g.expr.free_symbols]
    if [q.generators[i].expr for i in held] == [size]:
        return max(coefficients(q.num, held)) < max(coefficients(q.den, held))
    falling = [f for f in sp.Mul.make_args(difference) if size in f.free_symbols]
    return bool(falling) and all(_falls(f, size, parameters) for f in falling)


def _falls(factor: sp.Expr, size: sp.Symbol, parameters: Sequence[Parameter]) -> bool:
    if not isinstance(factor, sp.Pow | power):
        return False
    base, exponent = factor.args
    if size in base.free_symbols:
        return False
    step = exponent.coeff(size)
    linear = size not in normal(exponent - step * size).free_symbols
    return linear and bool(step.is_Rational and step < 0) and strictly_positive(base - 1, parameters)


def _counterexample(
    printed: Printed, family: Family, formula: sp.Expr
) -> tuple[Mapping[str, object], sp.Expr, sp.Expr] | None:
    """Return the first small size at which the two differ, with (printed, derived from the explicit table)."""
    for size in family.small:
        if any(size.get(name, value) != value for name, value in printed.fixed):
            continue
        try:
            member = family.at(**{k: v for k, v in size.items() if k not in dict(printed.fixed)})
        except SymampError:
            continue
        value = normal(put(formula, {p.symbol: member.values[p.name] for p in family.parameters}))
        table = member.table()
        pair = member.pairs()[0]
        if printed.quantity in _VARIATION:
            truth = getattr(table.variation_ratio(), _VARIATION[printed.quantity])
        elif printed.quantity == "null":
            truth = normal(1 - table.blanket(*pair).gamma)
        else:
            truth = _mass(table.blanket(*pair), printed.quantity, sp.exp(table.local_epsilon()))
        if not is_zero(truth - value):
            return member.values, value, truth
    return None


def audit() -> Iterator[Finding]:
    """Compare every printed formula; yields one finding each, in the order of the papers' tables."""
    for printed in PRINTED:
        yield check(printed)


def audit_page() -> Iterator[str]:
    """Yield the findings as Markdown, line by line: a generated page of the documentation."""
    yield "# Audit of printed formulas"
    yield ""
    yield "Generated by docs/published: every formula that the papers print for the mechanisms of the"
    yield "catalogue, compared as an identity in all parameters with the one derived from the definition."
    yield "Where they differ, both values are given at a small size, the exact one from the explicit table."
    yield ""
    yield "| where | mechanism | quantity | verdict | at | printed | exact |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for f in audit():
        sizes, printed, exact = f.counterexample or ({}, "", "")
        at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
        cells = (f.printed.place, f.printed.slug, f.printed.quantity, f.verdict, at, printed, exact)
        yield f"| {' | '.join(str(cell) for cell in cells)} |"
    yield ""
    yield "## Multi-message protocols (Wang (2023), Table 3)"
    yield ""
    yield "The bound that a row stands for, against the exact divergence of one real message among blanket messages;"
    yield "where they differ, the smallest refutation found, or the loosest case."
    yield ""
    yield "| protocol | parameters | verdict | blanket messages | E | exact | printed |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for t in audit_table_three():
        at = ", ".join(f"{k} = {v}" for k, v in t.protocol.parameters)
        case = ("", "", "", "") if t.case is None else t.case
        yield f"| {' | '.join(str(cell) for cell in (t.protocol.name, at, t.verdict, *case))} |"
    yield ""
    yield "## Other statements of Wang (2023)"
    yield ""
    yield "Tables 1, 2 and 4, and theorems. Refutations are the first of a search, few users first, in exact numbers."
    yield ""
    yield "| where | about | verdict | case | exact | printed |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for s in statements():
        yield f"| {' | '.join((s.place, s.about, s.verdict, s.case, s.exact, s.printed))} |"
