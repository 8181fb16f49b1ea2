"""Multi-message protocols of Wang (2023), Table 3: exact triples, beside the pairs that the table gives.

One real message hides among N blanket messages, the messages of other users that do not depend on their inputs, and
the user's own. The triple is (law of the real message on x0, on x1; law of a blanket message), with n = N + 1. Ask it
like any decomposition: ``sa.epsilon(protocol.triple, n=N + 1, delta=...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy as sp
from flint import fmpq

from symamp.decompositions.decomposition import Decomposition, merged
from symamp.decompositions.to_law import law_of
from symamp.errors import ArgumentError
from symamp.formulas.order import sign
from symamp.numbers.rationals import fmpq_of, fraction_of
from symamp.numbers.reading import exact_number
from symamp.sums.enumeration import exact_divergence

_LEVELS = tuple(Fraction(e) for e in ("3/2", "2", "3", "4", "6"))
_MOST_BLANKETS = 4
"""Levels E and numbers of blankets at which a row of the table is compared with its exact triple: sums of fractions."""


@dataclass(frozen=True)
class Protocol:
    """A protocol with numbers for its parameters: its exact triple, and the pair that the table's row stands for.

    ``printed`` is the triple of Theorem 4.1 of Wang (2023) at the row's (p, beta, q): no bound unless proved.
    """

    name: str
    parameters: tuple[tuple[str, sp.Expr], ...]
    triple: Decomposition
    printed: Decomposition

    def divergences(self, blankets: int, order: object) -> tuple[Fraction, Fraction]:
        """Return (exact, printed) divergence at E = ``order`` >= 1 for so many blanket messages, both exact.

        >>> cheu_zhilyaev("1/4").divergences(1, 2)
        (Fraction(75, 256), Fraction(73, 256))
        """
        e = exact_number(order, "order")
        exact, printed = (fraction_of(_largest(d, fmpq_of(e), blankets + 1)) for d in (self.triple, self.printed))
        return exact, printed


def _largest(found: Decomposition, e: fmpq, n: int) -> fmpq:
    laws = [law_of(d).rational for d in (found, found.swapped())]
    return max(exact_divergence(law, e, n) for law in laws if law is not None)


def _probability(value: object, name: str, least: sp.Expr = sp.S.Zero, most: sp.Expr = sp.S.One) -> sp.Rational:
    number = exact_number(value, name)
    if not number.is_Rational or sign(number - least) <= 0 or sign(most - number) <= 0:
        raise ArgumentError(name, value, f"a rational number in ({least}, {most})")
    return number


def _count(value: object, name: str, least: int) -> sp.Integer:
    number = exact_number(value, name)
    if not number.is_Integer or number < least:
        raise ArgumentError(name, value, f"an integer >= {least}")
    return number


def _protocol(
    name: str,
    parameters: dict[str, sp.Expr],
    messages: Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]],
    row: tuple[sp.Expr, sp.Expr, sp.Expr],
) -> Protocol:
    triple = merged([m for m in messages if any(x != 0 for x in m)], (), ("x0", "x1"))
    p, beta, q = row
    low = sp.S.Zero if p is sp.oo else beta / (p - 1)
    high, share = beta + low, (beta + low) / q
    third = (1 - high - low, 1 - high - low, 1 - 2 * share)
    symbols = [(high, low, share), (low, high, share), third]
    printed = merged([m for m in symbols if any(x != 0 for x in m)], (), ("x0", "x1"))
    return Protocol(name, tuple(parameters.items()), triple, printed)


def balcer_cheu(p: object) -> Protocol:
    """Return the binary sum with a biased coin: a bit among blanket bits that are 1 with probability p."""
    coin = _probability(p, "p")
    messages = [(sp.S.One, sp.S.Zero, coin), (sp.S.Zero, sp.S.One, 1 - coin)]
    row = (sp.oo, sp.S.One, sp.Max(1 / coin, 1 / (1 - coin)))
    return _protocol("Balcer, Cheu", {"p": coin}, messages, row)


def balls_into_bins(d: object, s: object) -> Protocol:
    """Return balls into d bins: a real ball falls into one of s bins of its input, two inputs sharing none."""
    bins, special = _count(d, "d", 2), _count(s, "s", 1)
    if 2 * special > bins:
        raise ArgumentError("s", s, "at most d/2: two inputs share no bin")
    share = special / bins
    messages = [(sp.S.One, sp.S.Zero, share), (sp.S.Zero, sp.S.One, share), (sp.S.Zero, sp.S.Zero, 1 - 2 * share)]
    return _protocol("balls into bins", {"d": bins, "s": special}, messages, (sp.oo, sp.S.One, bins / special))


def mix_dump(d: object, f: object = 0) -> Protocol:
    """Return mixDUMP, and pureDUMP at f = 0: a category, replaced by another with probability f, among uniform ones."""
    bins = _count(d, "d", 2)
    flip = exact_number(f, "f")
    flip = flip if flip == 0 else _probability(f, "f", most=(bins - 1) / bins)
    other, uniform = flip / (bins - 1), 1 / bins
    messages = [(1 - flip, other, uniform), (other, 1 - flip, uniform)]
    messages.append(((bins - 2) * other, (bins - 2) * other, (bins - 2) * uniform))
    p = sp.oo if flip == 0 else (1 - flip) * (bins - 1) / flip
    row = (p, ((1 - flip) * (bins - 1) - flip) / (bins - 1), (1 - flip) * bins)
    return _protocol("mixDUMP" if flip else "pureDUMP", {"d": bins, "f": flip}, messages, row)


def cheu_zhilyaev(f: object) -> Protocol:
    """Return the histogram of Cheu and Zhilyaev (2022): a unit vector among zero vectors, bits flipped with f.

    Only the two bits of x0 and x1 tell the two inputs apart: the symbols are 10, 01, 00 and 11.
    """
    flip = _probability(f, "f", most=sp.Rational(1, 2))
    kept = 1 - flip
    messages = [
        (kept**2, flip**2, flip * kept),
        (flip**2, kept**2, flip * kept),
        (flip * kept, flip * kept, kept**2),
        (flip * kept, flip * kept, flip**2),
    ]
    return _protocol("Cheu, Zhilyaev", {"f": flip}, messages, (kept**2 / flip**2, 1 - 2 * flip, kept / flip))


_SMALL: tuple[tuple[Callable[..., Protocol], tuple[tuple[object, ...], ...]], ...] = (
    (balcer_cheu, (("1/4",), ("1/2",), ("1/3",))),
    (balls_into_bins, ((4, 1), (6, 2), (6, 3))),
    (mix_dump, ((3,), (5,), (3, "1/4"), (5, "1/4"))),
    (cheu_zhilyaev, (("1/4",), ("1/3",), ("2/5",))),
)


@dataclass(frozen=True)
class TableThree:
    """The verdict on a row at one setting: "exact", "safe" or "refuted", with the smallest case that tells."""

    protocol: Protocol
    verdict: str
    case: tuple[int, Fraction, Fraction, Fraction] | None
    """(blanket messages, E, exact, printed) of the first refutation or the loosest case; None where exact."""


def audit_table_three() -> Iterator[TableThree]:
    """Compare the bound that each row of Table 3 stands for with the exact divergence.

    A row is exact if its triple is that of the protocol, as formulas; else "safe" says that no refutation was found
    for up to 4 blanket messages and a few orders E.

    >>> {(f.protocol.name, f.verdict) for f in audit_table_three() if f.verdict == "refuted"}
    {('Cheu, Zhilyaev', 'refuted')}
    """
    for protocol in (make(*values) for make, settings in _SMALL for values in settings):
        if protocol.triple.signature() == protocol.printed.signature():
            yield TableThree(protocol, "exact", None)
            continue
        cases = [(n, e, *protocol.divergences(n, e)) for n, e in product(range(1, _MOST_BLANKETS + 1), _LEVELS)]
        refuted = [c for c in cases if c[2] > c[3]]
        worst = refuted[0] if refuted else max(cases, key=lambda c: c[3] / c[2] if c[2] else Fraction(0))
        yield TableThree(protocol, "refuted" if refuted else "safe", worst)
