"""A given decomposition or law as the subject of a question: the bound is for that triple itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from symamp.bounds.bound import Bound
from symamp.bounds.hypotheses import SHUFFLED, TRIPLE, ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.errors import ArgumentError, FormatError, Problem
from symamp.formulas.order import is_zero, maximum, sign
from symamp.formulas.parameter import Parameter
from symamp.numbers.reading import printable_number
from symamp.randomizers.mechanism import SubjectBase

SOURCE = "Su, Cheng, Wang 2025, Theorem 12"
_SHAPE = "a Decomposition, or a list of (ratio0, ratio1, mass) with numbers"


@dataclass(frozen=True)
class OwnLaw(SubjectBase):
    """A triple (A0, A1, A2) given by its components: one user has A0 or A1, all others A2 or the null symbol.

    What is answered is the divergence of this triple, so both ends of an answer are for it. The upper end holds for
    every mechanism that the triple dominates: one with this blanket, for example. The lower end says nothing of such
    a mechanism, unless A2 is what some input sends.
    """

    decomposition: Decomposition

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The symbols that are still free."""
        return self.decomposition.parameters

    @property
    def triple(self) -> Decomposition:
        return self.decomposition

    @property
    def compares_all(self) -> bool:
        """No: A0 and A1."""
        return False

    def local_ratio(self) -> sp.Expr:
        """Return the largest ratio of A0 to A1 or back, ``oo`` if one vanishes where the other does not."""
        both = [(c.ratio0, c.ratio1) for c in self.decomposition.components] + list(self.decomposition.singular)
        ends = [(a, b) for pair in both for a, b in (pair, pair[::-1]) if a != 0]
        if any(b == 0 for _, b in ends):
            return sp.oo
        ratios = list(dict.fromkeys(a / b for a, b in ends))
        return ratios[maximum(ratios)]

    def variation_ratio(self) -> VariationRatio:
        """Refuse: parameters of a mechanism do not follow from a triple."""
        raise ArgumentError("method", Problem("variation_ratio needs a mechanism, not a triple"), "leave it out")

    def _repr_latex_(self) -> str:
        return self.decomposition._repr_latex_()

    def __repr__(self) -> str:
        return f"OwnLaw({len(self.decomposition.components)} components)"


def own_law(given: object, singular: Sequence[tuple[object, object]] = ()) -> OwnLaw:
    """Return the subject for a decomposition, or for a list of (ratio0, ratio1, mass) with exact numbers.

    Ratios are those of A0 and A1 to A2, masses those of A2; what is missing to mass 1 is the null symbol. ``singular``
    lists (A0 mass, A1 mass) where A2 has none. Numbers are taken as everywhere: floats are binary fractions.

    Raises FormatError for another shape; ArgumentError for negative numbers, masses of more than 1 in all, or A0 or A1
    that are not probabilities.

    >>> law = own_law([(2, 1, "1/4"), (1, 2, "1/4")], singular=[("1/4", "1/4")])
    >>> law.local_ratio()
    2
    """
    if isinstance(given, Decomposition):
        return OwnLaw(given)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise FormatError("law", type(given).__name__, _SHAPE)
    components = tuple(Component(*_numbers(row, 3)) for row in given)
    alone = [_numbers(row, 2) for row in singular]
    for number in (n for row in (*components, *alone) for n in row):
        if sign(number) < 0:
            raise ArgumentError("law", number, "a ratio or mass >= 0")
    for k, name in enumerate(("A0", "A1")):
        whole = sp.Add(*(c[k] * c.mass for c in components), *(row[k] for row in alone))
        if not is_zero(whole - 1):
            wrong = Problem(f"{name} has the mass {whole}, the sum of ratio{k} * mass and of the singular masses")
            raise ArgumentError("law", wrong, "make it 1")
    hidden = sp.Add(*(c.mass for c in components))
    if sign(1 - hidden) < 0:
        raise ArgumentError("law", Problem(f"the masses sum to {hidden}"), "make them sum to at most 1")
    kept = tuple(c for c in components if c.mass != 0)
    return OwnLaw(Decomposition(kept, tuple((a, b) for a, b in alone)))


def _numbers(row: object, length: int) -> list[sp.Expr]:
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != length:
        raise FormatError("law", row, _SHAPE)
    return [printable_number(value, "law") for value in row]


def own_parts(subject: Subject) -> tuple[Reduction, ...]:
    """Return the triple in both orders of the pair, the bound being the larger divergence."""
    assert subject.triple is not None
    orders = (subject.triple, subject.triple.swapped())
    return tuple(Reduction("own_law", ProofStatus.PROVED, SOURCE, d) for d in orders)


OWN_LAW = Bound(
    "own_law",
    ProofStatus.PROVED,
    SOURCE,
    "a triple (A0, A1, A2) that is given in place of a mechanism",
    "identity",
    (*SHUFFLED, TRIPLE),
    own_parts,
    rank=0,
    triples=True,
    removed=own_parts,
)
