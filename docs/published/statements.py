"""Statements of Wang (2023) besides the formulas of the catalogue: Tables 1, 2 and 4, Theorems 4.1, 4.2, 5.1 and 6.1.

What is refuted comes with the smallest counterexample of a search, small n first, in exact numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import sympy as sp

from symamp.accounting.privacy_profile import epsilon
from symamp.bounds.budget import printed_reduction
from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.to_law import law_of
from symamp.exact.histograms import divergence
from symamp.formulas.order import is_zero
from symamp.numbers.rationals import fmpq_of, fraction_of, rational_of
from symamp.randomizers.families.randomized_response import RandomizedResponse
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.noise.distributions import Laplace
from symamp.randomizers.noise.nearby import strip_mass
from symamp.randomizers.pure_ldp import PureLDP
from symamp.sums.enumeration import exact_divergence

AGREES, REFUTED, IMPOSSIBLE, ABOVE = "agrees exactly", "refuted", "impossible", "above the certified value"
_NEAR = tuple(Fraction(x) for x in ("3/4", "7/8", "15/16"))
"""Orders E as parts of the largest ratio: printed pairs fail near it first."""
_MOST_USERS = 4

_T, _S = sp.exp(PureLDP()["eps0"]), sp.exp(PureLDP()["eps0"] / 2)


@dataclass(frozen=True)
class Statement:
    """A statement in print: where, about what, the verdict, the case that decides, the exact value, the printed one."""

    place: str
    about: str
    verdict: str
    case: str = ""
    exact: str = ""
    printed: str = ""


def statements() -> Iterator[Statement]:
    """Yield the verdict on each statement.

    >>> [s.exact for s in statements() if s.place == "Wang (2023), Theorem 4.1"]
    ['1/32']
    """
    yield from _noise_and_budgets()
    yield _witch_hat()
    yield _refuted("Wang (2023), Theorem 4.1", "k-ary response", _responses())
    yield _refuted("Wang (2023), Theorem 4.2, Table 2", "clipped geometric noise, inputs at a distance", _geometric())
    yield _recipe()
    yield _refuted(
        "Wang (2023), Theorem 6.1", "range queries, four leaves on two levels, weights 1/2", _range_queries()
    )
    yield from table_four()


# --------------------------------------------------------------------------------------------- parameters of mechanisms


def _noise_and_budgets() -> Iterator[Statement]:
    laplace = 1 - 1 / _S
    rows = (
        ("Wang (2023), Table 1", "any randomizer, beta", PureLDP().variation_ratio().beta, (_T - 1) / (_T + 1)),
        ("Wang (2023), Table 1", "Laplace noise on [0, 1], beta", Laplace().variation_ratio().beta, laplace),
        ("Wang (2023), Table 1", "piecewise mechanism, beta", _piecewise_variation(), laplace),
    )
    for place, about, derived, printed in rows:
        yield Statement(place, about, _compared(derived - printed), "", str(derived), str(printed))
    at = Laplace(eps0=1).near("1/2").variation_ratio().beta
    yield Statement("Wang (2023), Table 2", "Laplace noise, beta", _compared(at - 1 + sp.exp(-sp.Rational(1, 4))))
    low, high = (f"{float(x):.12g}" for x in strip_mass(sp.Integer(1)))
    told = f"[{low}, {high}]"
    integral = "the double integral, 2/pi times that of x K_1(x) (docs/proofs/metric.md)"
    yield Statement("Wang (2023), Table 2", "planar Laplace noise, beta", AGREES, "distance 1", told, integral)


def _compared(difference: sp.Expr) -> str:
    return AGREES if is_zero(difference) else "differs"


def _piecewise_variation() -> sp.Expr:
    """Return the total variation of the inputs 1 and -1, whose high pieces, of length C - 1, share no message."""
    pieces = 2 / (_S - 1)
    high = (_T - _S) / (2 * _S + 2)
    return (high - high / _T) * pieces


def _witch_hat() -> Statement:
    """At distance 0 two laws are one, whatever the mechanism is."""
    m, f, b, d = sp.Integer(1), sp.Integer(1), sp.Integer(1), sp.Integer(0)
    printed = 2 * (sp.exp(m) - sp.exp(d / f) + d / f - m) / (f * (sp.exp(m) - 1) + 2 * b)
    case = "B = m = F = 1, distance 0"
    return Statement(
        "Wang (2023), Table 2", "WitchHat, beta", IMPOSSIBLE, case, "0", f"{printed} = {float(printed):.6g}"
    )


def _recipe() -> Statement:
    rows = (sp.Rational(3, 5), sp.Rational(2, 5)), (sp.Rational(1, 5), sp.Rational(4, 5))
    beta = rows[0][0] - rows[1][0]
    p = rows[1][1] / rows[0][1]
    mass = beta / (p - 1) * (1 + p)
    case = "R(x0) = (3/5, 2/5), R(x1) = (1/5, 4/5): no distribution"
    return Statement("Wang (2023), Theorem 5.1", "mass of the two symbols", IMPOSSIBLE, case, "at most 1", str(mass))


# ----------------------------------------------------------------------------------------------- pairs that are bounds

Case = tuple[str, FiniteMechanism, tuple[str, str], VariationRatio]
"""What it is called, the table, the victim's inputs, and the parameters that the theorem takes."""


def _refuted(place: str, about: str, cases: Sequence[Case]) -> Statement:
    """Return the first case at which the exact divergence exceeds that of the printed pair."""
    for n, (name, table, pair, known) in product(range(2, _MOST_USERS + 1), cases):
        for share in _NEAR:
            order = fraction_of(known.p) * share
            if order <= 1:
                continue
            exact, printed = _truth(table, pair, n, order), _printed(known, n, order)
            if exact > printed:
                return Statement(place, about, REFUTED, f"{name}, n = {n}, E = {order}", str(exact), str(printed))
    return Statement(place, about, f"no refutation up to n = {_MOST_USERS}")


def _truth(table: FiniteMechanism, pair: tuple[str, str], n: int, order: Fraction) -> Fraction:
    found = [
        divergence(table, [a, *others], [b, *others], f"log({order})").exact
        for others in combinations_with_replacement(table.inputs, n - 1)
        for a, b in (pair, pair[::-1])
    ]
    return max(Fraction(str(x)) for x in found)


def _printed(known: VariationRatio, n: int, order: Fraction) -> Fraction:
    law = law_of(printed_reduction(known).decomposition).rational
    assert law is not None
    return fraction_of(exact_divergence(law, fmpq_of(order), n))


def _responses() -> list[Case]:
    found = []
    for k, t in product((3, 4, 5), (2, 3, 6)):
        table = RandomizedResponse(k=k, eps0=f"log({t})").table()
        pair = table.inputs[0], table.inputs[1]
        known = VariationRatio(sp.Integer(t), sp.Rational(t - 1, t + k - 1), sp.Integer(t))
        found.append((f"{k}-RR, t = {t}", table, pair, known))
    return found


def _geometric() -> list[Case]:
    found = []
    for size, ratio, apart in product((3, 4, 5), (2, 3), (2, 3)):
        if apart < size:
            rows = _clipped(size, ratio)
            labels = [str(x) for x in range(size)]
            table = FiniteMechanism(dict(zip(labels, (dict(zip(labels, r, strict=True)) for r in rows), strict=True)))
            for x in range(size - apart):
                known = _parameters(rows, (x, x + apart))
                name = f"ratio {ratio} on 0..{size - 1}, inputs {x} and {x + apart}"
                found.append((name, table, (labels[x], labels[x + apart]), known))
    return found


def _clipped(size: int, ratio: int) -> list[list[Fraction]]:
    a = Fraction(1, ratio)
    rows = [[(1 - a) / (1 + a) * a ** abs(x - y) for y in range(size)] for x in range(size)]
    for x, row in enumerate(rows):
        row[0], row[-1] = a**x / (1 + a), a ** (size - 1 - x) / (1 + a)
    return rows


def _range_queries() -> list[Case]:
    found = []
    for t in (2, 3, 6):
        leaf, half = Fraction(1, 2 * (t + 3)), Fraction(1, 2 * (t + 1))
        rows = [
            [leaf * (t if x == y else 1) for y in range(4)] + [half * (t if x // 2 == y else 1) for y in range(2)]
            for x in range(4)
        ]
        table = FiniteMechanism(rows)
        beta = sp.Rational(t - 1, t + 3) / 2 + sp.Rational(t - 1, t + 1) / 2
        known = VariationRatio(sp.Integer(t), beta, sp.Integer(t))
        found += [(f"t = {t}, leaves 0 and {x}", table, ("x0", f"x{x}"), known) for x in (1, 2)]
    return found


def _parameters(rows: Sequence[Sequence[Fraction]], pair: tuple[int, int]) -> VariationRatio:
    one, two = (rows[x] for x in pair)
    columns = list(zip(*rows, strict=True))
    p = max(max(a / b, b / a) for a, b in zip(one, two, strict=True))
    beta = sum((max(a - b, Fraction(0)) for a, b in zip(one, two, strict=True)), Fraction(0))
    q = max(max(a, b) / min(column) for a, b, column in zip(one, two, columns, strict=True))
    return VariationRatio(*(rational_of(x) for x in (p, beta, q)))


# ------------------------------------------------------------------------------------------------ Wang (2023), Table 4

TABLE_FOUR = {
    ("0.1", 10**4): ("0.00280", "0.00284"),
    ("0.1", 10**6): ("0.000346", "0.000391"),
    ("0.1", 10**8): ("0.0000404", "0.0000977"),
    ("1", 10**4): ("0.0433", "0.0440"),
    ("1", 10**6): ("0.00503", "0.00586"),
    ("1", 10**8): ("0.000566", "0.000977"),
    ("3", 10**4): ("0.227", "0.229"),
    ("3", 10**6): ("0.0255", "0.0264"),
    ("3", 10**8): ("0.00283", "0.00293"),
    ("5", 10**4): ("0.743", "0.743"),
    ("5", 10**6): ("0.0778", "0.0782"),
    ("5", 10**8): ("0.00853", "0.00977"),
}
"""(eps0, n): the printed eps after 20 and after 10 steps of bisection, any randomizer, delta = 1/(100 n)."""


def table_four() -> Iterator[Statement]:
    """Yield the 24 entries of Table 4 beside the certified value of the generic bound."""
    for (eps0, n), printed in TABLE_FOUR.items():
        certified = epsilon(PureLDP(eps0=eps0), n=n, delta=Fraction(1, 100 * n), method="generic").upper
        for steps, value in zip((20, 10), printed, strict=True):
            verdict = ABOVE if float(value) >= certified else REFUTED
            case = f"eps0 = {eps0}, n = {n:.0e}, T = {steps}"
            yield Statement("Wang (2023), Table 4", "any randomizer, eps", verdict, case, f"{certified:.10g}", value)
