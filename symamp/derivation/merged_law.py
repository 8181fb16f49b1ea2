"""The law of merged components in balls and, where everything is rational, in rationals: no formula of it is made."""

from __future__ import annotations

from collections.abc import Sequence

import flint
from flint import arb, fmpq

from symamp.derivation.crossing import number
from symamp.derivation.merged_cells import MergedCells
from symamp.evaluation.law import Atom, Law, Number, RationalLaw
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

_MOST_RATIONAL = 400


class _Balls:
    """Masses and ratios of all cells in balls, made again only for a higher precision."""

    def __init__(self, structure: MergedCells) -> None:
        self.structure = structure
        self.exponents = structure.exponents()
        self.bases = [number(b) for b in structure.basis.bases]
        self.bits = 0
        self.known: tuple[list[arb], list[tuple[arb, arb]]] = ([], [])

    def at(self) -> tuple[list[arb], list[tuple[arb, arb]]]:
        if flint.ctx.prec + 32 > self.bits:
            bits = 2 * flint.ctx.prec + 64  # searches ask for more and more: what is finer serves them all
            with at_precision(bits):
                masses = self.structure.masses(lambda formula: number(formula)())
                values = [base() for base in self.bases]
                roots = [
                    v if d == 1 else v.root(d) for v, d in zip(values, self.structure.basis.denominators, strict=True)
                ]
                powers: dict[tuple[int, ...] | None, arb] = {None: arb(0)}
                for both in self.exponents:
                    for e in both:
                        if e is not None and e not in powers:
                            product = arb(1)
                            for root, k in zip(roots, e, strict=True):
                                product *= root**k
                            powers[e] = product
                self.known, self.bits = (masses, [(powers[a], powers[b]) for a, b in self.exponents]), bits
        return self.known


def merged_law(structure: MergedCells, complete: bool) -> Law:
    """Return the law of merged components; numbers are made when they are read, at the precision of that time."""
    balls = _Balls(structure)

    def mass(i: int) -> Number:
        return lambda: balls.at()[0][i]

    def ratio(i: int, k: int) -> Number:
        return lambda: balls.at()[1][i][k]

    def product(i: int, k: int) -> Number:
        return lambda: balls.at()[0][i] * balls.at()[1][i][k]

    atoms, singular = [], []
    for i, row in enumerate(structure.keys):
        if row[0]:
            singular.append((product(i, 0), product(i, 1)))
        else:
            first, second = balls.exponents[i]
            atoms.append(Atom(ratio(i, 0), ratio(i, 1), mass(i), first == second))
    return Law(tuple(atoms), tuple(singular), complete, _rational(structure))


def _rational(structure: MergedCells) -> RationalLaw | None:
    basis = structure.basis
    if len(structure.keys) > _MOST_RATIONAL or any(d != 1 for d in basis.denominators):
        return None
    if not all(e.is_Rational for e in (*basis.bases, *structure.given())):
        return None
    values = [fmpq_of(b) for b in basis.bases]
    numbers = structure.masses(fmpq_of)
    atoms, singular = [], []
    for row, both, m in zip(structure.keys, structure.exponents(), numbers, strict=True):
        r0, r1 = (_power(values, e) for e in both)
        if row[0]:
            singular.append((m * r0, m * r1))
        else:
            atoms.append((r0, r1, m))
    return RationalLaw(tuple(atoms), tuple(singular))


def _power(values: Sequence[fmpq], exponents: tuple[int, ...] | None) -> fmpq:
    if exponents is None:
        return fmpq(0)
    found = fmpq(1)
    for value, k in zip(values, exponents, strict=True):
        found *= value**k
    return found
