"""Decompositions of several mechanisms at once: products and weighted unions of components, merged by exponents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import sympy as sp

from symamp.algebra.normal_form import normal, normal_product
from symamp.algebra.parameter import Parameter
from symamp.derivation.coarse_laws import coarse_laws
from symamp.derivation.decomposition import Component, Decomposition
from symamp.derivation.merged_cells import MOST_CELLS, MergedCells, Parts
from symamp.derivation.merged_law import merged_law
from symamp.derivation.printing import text
from symamp.errors import ArgumentError
from symamp.evaluation.law import Law

_MOST_SHOWN, _MOST_IN_GROUP = 40, 800
_MOST_WRITTEN = 1_000


class Composed(Parts):
    """The decomposition of mechanisms that a user runs together: all of them, or one of them drawn by weight.

    ``weights`` is empty for a product, in which ``powers`` counts equal parts; for a union the masses of part i are
    multiplied by weights[i]. Components are merged by the exponents of their ratios, so that m equal parts of two
    levels have at most (m + 1)^2; formulas are made when somebody looks at them, numbers without them.
    """

    complete: bool

    def __init__(
        self,
        parts: Sequence[Decomposition],
        *,
        powers: Sequence[int] = (),
        weights: Sequence[sp.Expr] = (),
        parameters: tuple[Parameter, ...] = (),
        pair: tuple[str, str] = ("x0", "x1"),
        complete: bool = False,
    ) -> None:
        counts = tuple(powers) or (1,) * len(parts)
        vars(self).update(parts=tuple(parts), powers=counts, weights=tuple(weights))
        vars(self).update(parameters=parameters, pair=pair, complete=complete)

    # ---------------------------------------------------------------------------------------------------- structure

    @cached_property
    def _merged(self) -> MergedCells:
        return MergedCells(self)

    @cached_property
    def is_listed(self) -> bool:
        """Whether all parts have finite lists of components."""
        return all(leaf.is_listed for leaf in self.leaves)

    @property
    def size(self) -> int:
        """The number of components, singular ones included."""
        return len(self._merged.keys)

    @cached_property
    def numeric_law(self) -> Law | None:
        """The law with masses and ratios in balls at any precision, from those of the parts; None with symbols.

        Where it has too many atoms, one above it; for a data set, which bounds from below, one below it.
        """
        if self.parameters:
            return None
        around = self.enclosing_laws
        return merged_law(self._merged, self.complete) if around is None else around[0 if self.complete else 1]

    @cached_property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """Laws of some thousand atoms below and above the law where this has too many atoms; else None.

        Guarantee
        ---------
        Their divergences enclose that of the law for every eps >= 0 and every n. Proof: docs/proofs/joint.md.
        """
        if self.parameters or not self._has_too_many:
            return None
        return coarse_laws(*self._in_groups(), self.complete)

    def _in_groups(self) -> tuple[Composed, tuple[Decomposition, ...]]:
        """Return the same with factors multiplied out in groups of some hundred components, and these groups."""
        made: list[tuple[Decomposition, tuple[Decomposition, ...]]] = []
        if self.weights:
            made = [_grouped(part) for part in self.parts]
            return self._with([whole for whole, _ in made], (), self.pair), sum((own for _, own in made), ())
        group: list[Decomposition] = []
        count = 1
        for part in (p for p, power in zip(self.parts, self.powers, strict=True) for _ in range(power)):
            own = _MOST_IN_GROUP + 1  # alone in its group
            if not isinstance(part, Composed) and part.is_listed:
                own = len(part.components) + len(part.singular)
            if group and count * own > _MOST_IN_GROUP:
                made.append(_grouped(self._product(group)))
                group, count = [], 1
            group.append(part)
            count *= own
        made.append(_grouped(self._product(group)))
        return self._product([whole for whole, _ in made]), sum((own for _, own in made), ())

    def _product(self, factors: Sequence[Decomposition]) -> Any:
        """Return the product of some of the factors; one alone is itself."""
        if len(factors) == 1:
            return factors[0]
        counts = Counter(factors)
        return Composed(list(counts), powers=list(counts.values()), pair=self.pair, complete=self.complete)

    @cached_property
    def _has_too_many(self) -> bool:
        if not self.is_listed:
            return True
        try:
            return not len(self._merged.keys)
        except ArgumentError:
            return True

    # ----------------------------------------------------------------------------------------------------- formulas

    @cached_property
    def _formulas(self) -> tuple[tuple[Component, ...], tuple[tuple[sp.Expr, sp.Expr], ...]]:
        found = self._merged
        if len(found.keys) > _MOST_WRITTEN:
            size = f"{len(found.keys):,} components"
            raise ArgumentError("mechanism", size, f"at most {_MOST_WRITTEN:,} where they are written as formulas")
        masses = found.masses(lambda formula: formula)
        components: list[Component] = []
        singular: dict[sp.Expr, list[tuple[sp.Expr, sp.Expr]]] = {}
        for row, (r0, r1), mass in zip(found.keys, found.ratios(), masses, strict=True):
            if row[0]:
                singular.setdefault(normal(r0 / (r0 + r1)), []).append((mass * r0, mass * r1))
            else:
                components.append(Component(r0, r1, normal(mass)))
        alone = [tuple(normal(sp.Add(*(both[k] for both in group))) for k in (0, 1)) for group in singular.values()]
        return tuple(components), tuple((a, b) for a, b in alone)

    @property
    def components(self) -> tuple[Component, ...]:
        """The merged components as SymPy expressions."""
        return self._formulas[0]

    @property
    def singular(self) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        """(A0 mass, A1 mass) of the messages where A2 vanishes."""
        return self._formulas[1]

    @cached_property
    def gamma(self) -> sp.Expr:
        """Total mass of A2: the product, or the weighted sum, of those of the parts."""
        if self.weights:
            return normal(sp.Add(*(w * p.gamma for w, p in zip(self.weights, self.parts, strict=True))))
        return normal_product((p.gamma, k) for p, k in zip(self.parts, self.powers, strict=True))

    @property
    def is_large(self) -> bool:
        """Whether there are too many components to show them one by one."""
        return self._has_too_many or self.size > _MOST_SHOWN

    def swapped(self) -> Composed:
        """Return the decomposition for the other order of the pair."""
        return self._with([p.swapped() for p in self.parts], self.parameters, (self.pair[1], self.pair[0]))

    def put(self, values: Any, parameters: tuple[Parameter, ...]) -> Composed:
        """Return the decomposition with numbers for some symbols."""
        return self._with([p.put(values, parameters) for p in self.parts], parameters, self.pair)

    def _with(self, parts: Sequence[Decomposition], parameters: Any, pair: tuple[str, str]) -> Composed:
        return Composed(
            parts,
            powers=self.powers,
            weights=self.weights,
            parameters=parameters,
            pair=pair,
            complete=self.complete,
        )

    def signature(self) -> Any:
        """Return what two compositions of the same parts share, whatever the order of the parts."""
        how = self.weights or self.powers
        counts: dict[object, Any] = {}
        for part, number in zip(self.parts, how, strict=True):
            key = part.signature()
            counts[key] = counts.get(key, 0) + number
        return bool(self.weights), frozenset(counts.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composed):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return (self.parts, self.powers, self.weights, self.parameters, self.pair, self.complete)

    def __getstate__(self) -> dict[str, object]:
        names = ("parts", "powers", "weights", "parameters", "pair", "complete")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'{name}={value!r}' for name, value in self.__getstate__().items())})"

    def __str__(self) -> str:
        if not self.is_large:
            return super().__str__()
        size = f"more than {MOST_CELLS:,}" if self._has_too_many else f"{self.size:,}"
        told = f"{size} components" if self.is_listed else "a density"
        head = f"{told}, gamma = {text(self.gamma)}: {self._said()}"
        return "\n\n".join([head, *(str(p) for p in dict.fromkeys(self.parts))])

    def _said(self) -> str:
        if self.weights:
            return "the union of the parts below, masses times " + ", ".join(map(str, self.weights))
        return "the product of the parts below, " + ", ".join(f"taken {k} times" for k in self.powers)

    def _repr_latex_(self) -> str:
        if not self.is_large:
            return super()._repr_latex_()
        sign, how = (r"\ \cup\ ", self.weights) if self.weights else (r"\ \times\ ", self.powers)
        tables = []
        for part, number in zip(self.parts, how, strict=True):
            table = part._repr_latex_().strip("$").removeprefix(r"\displaystyle ")
            shown = sp.latex(number)
            tables.append(
                rf"{shown}\cdot\left({table}\right)" if self.weights else rf"\left({table}\right)^{{{shown}}}"
            )
        return rf"$\displaystyle {sign.join(tables)}$"


def _grouped(part: Decomposition) -> tuple[Decomposition, tuple[Decomposition, ...]]:
    return part._in_groups() if isinstance(part, Composed) and part._has_too_many else (part, (part,))


def same_input(found: Decomposition, which: int) -> Decomposition:
    """Return the triple (A, A, A2), A = A0 (``which`` 0) or A1 of a decomposition: both data sets hold one input."""
    if isinstance(found, Composed):
        parts = [same_input(p, which) for p in found.parts]
        return found._with(parts, found.parameters, (found.pair[which],) * 2)
    masses: dict[sp.Expr, sp.Expr] = {}
    for component in found.components:
        masses[component[which]] = masses.get(component[which], sp.Integer(0)) + component.mass
    alone = normal(sp.Add(*(both[which] for both in found.singular)))
    return Decomposition(
        tuple(Component(r, r, normal(m)) for r, m in masses.items()),
        () if alone == 0 else ((alone, alone),),
        found.parameters,
        (found.pair[which], found.pair[which]),
    )
