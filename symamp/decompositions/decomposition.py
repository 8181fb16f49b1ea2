"""A decomposition: the merged components of a triple (A0, A1, A2), as formulas or, where too many, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Never

import numpy as np
import sympy as sp
from flint import arb

from symamp.decompositions.printing import ShownInLatex, decomposition_latex, decomposition_text
from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Atom, Known, Law
from symamp.numbers.reading import Real, exact_number, printable_number
from symamp.numbers.substitution import put
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.numbers.systems import FLINT, MPMATH, NUMPY, NumberSystem, compile_expression
from symamp.public_names import PublicNames

# ------------------------------------------ A decomposition as formulas: the merged components of a triple (A0, A1, A2)

_SYSTEMS = {"numpy": NUMPY, "mpmath": MPMATH, "flint": FLINT}


class Component(NamedTuple):
    """Messages with the same ratios: r0 = A0/A2, r1 = A1/A2, and their mass under A2."""

    ratio0: sp.Expr
    ratio1: sp.Expr
    mass: sp.Expr


@dataclass(frozen=True)
class Decomposition(PublicNames, ShownInLatex):
    """The components of a triple (A0, A1, A2), in formulas that no longer depend on the message space.

    For the blanket, A0 = R(x0), A1 = R(x1) and A2 = inf_x R(x), so that ``gamma`` is the total mass of the blanket
    and the rest 1 - gamma is the null symbol. ``singular`` lists (A0 mass, A1 mass) of the messages on which A2
    vanishes: such a message names its sender. ``parameters`` are the symbols that are still free.

    >>> import symamp as sa
    >>> d = sa.RandomizedResponse(k=3).blanket("x0", "x1")
    >>> d.components[0], d.gamma
    (Component(ratio0=exp(eps0), ratio1=1, mass=1/(exp(eps0) + 2)), 3/(exp(eps0) + 2))
    """

    _internal_names = "enclosing_laws fingerprint is_listed numeric_law put signature"

    components: tuple[Component, ...]
    singular: tuple[tuple[sp.Expr, sp.Expr], ...] = ()
    parameters: tuple[Parameter, ...] = ()
    pair: tuple[str, str] = ("x0", "x1")

    @property
    def is_listed(self) -> bool:
        """Whether there is a finite list of components; else ``enclosing_laws`` is what there is."""
        return True

    @property
    def numeric_law(self) -> Law | None:
        """The law, where it is known without the formulas."""
        return None

    @property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """(below, above): laws whose divergences enclose that of the law, where this has too many atoms; else None."""
        return None

    @cached_property
    def gamma(self) -> sp.Expr:
        """Total mass of A2 outside the null symbol."""
        return normal(sp.Add(*(c.mass for c in self.components)))

    def gparv(self, eps: Real | None = None) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        """Return the law of the GPARV G = r0 - e^eps r1: pairs (value, probability), the null value 0 last.

        ``eps`` is an exact number, or a symbol ``eps`` if left out.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=2, eps0="log(3)").blanket().gparv("log(2)")
        ((1, 1/4), (-5, 1/4), (0, 1/2))
        """
        level = sp.Symbol("eps", real=True) if eps is None else printable_number(eps, "eps")
        e = sp.exp(level)
        law = [(normal(c.ratio0 - e * c.ratio1), c.mass) for c in self.components]
        return (*law, (sp.Integer(0), normal(1 - self.gamma)))

    def lambdify(self, system: str = "numpy") -> Callable[..., list[tuple[Any, ...]]]:
        """Return a function of the free parameters (by keyword) that lists (ratio0, ratio1, mass) as numbers.

        ``system`` is "numpy" (double), "mpmath" (mpf at the current mp.prec) or "flint" (Arb balls that contain the
        exact numbers, at the current flint.ctx.prec). Values are numbers of any type or text such as "log(3)", taken
        exactly; arrays for "numpy" and balls for "flint" are used as they are. Arrays broadcast against each other, and
        every number of the list has their common shape.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=2).blanket().lambdify("numpy")(eps0=0.0)[0]
        (np.float64(1.0), np.float64(1.0), np.float64(0.5))
        """
        if not isinstance(system, str) or system not in _SYSTEMS:
            raise ArgumentError("system", system, "one of numpy, mpmath, flint")
        numbers = _SYSTEMS[system]
        symbols = {p.name: p.symbol for p in self.parameters}
        compiled = [tuple(compile_expression(e, tuple(symbols.values())) for e in c) for c in self.components]
        choices = {b for c in self.components for e in c for b in e.atoms(sp.binomial)}
        counts = {s.name for b in choices for s in b.free_symbols}

        def evaluate(**values: Any) -> list[tuple[Any, ...]]:
            if set(values) != set(symbols):
                raise ArgumentError("parameters", sorted(values), f"a value for each of {sorted(symbols)} and no other")
            given = {name: _converted(name, value, numbers, name in counts) for name, value in values.items()}
            found = [tuple(_number(f(numbers, given), numbers) for f in fs) for fs in compiled]
            shape = np.broadcast_shapes(*(x.shape for x in given.values() if isinstance(x, np.ndarray)))
            return [tuple(np.broadcast_to(x, shape) for x in row) for row in found] if shape else found

        return evaluate

    def swapped(self) -> Decomposition:
        """Return the decomposition for the other order of the pair."""
        components = tuple(Component(c.ratio1, c.ratio0, c.mass) for c in self.components)
        singular = tuple((b, a) for a, b in self.singular)
        found = Decomposition(components, singular, self.parameters, (self.pair[1], self.pair[0]))
        if "gamma" in self.__dict__:
            found.__dict__["gamma"] = self.gamma  # as in put
        return found

    def put(self, values: Mapping[sp.Symbol, sp.Expr], parameters: tuple[Parameter, ...]) -> Decomposition:
        """Return the decomposition with numbers for some symbols, not multiplied out: for large exponents."""
        components = tuple(Component(*(put(e, values) for e in c)) for c in self.components)
        singular = tuple((put(a, values), put(b, values)) for a, b in self.singular)
        found = Decomposition(components, singular, parameters, self.pair)
        found.__dict__["gamma"] = put(self.gamma, values)  # the sum of the masses would be multiplied out
        return found

    def signature(self) -> tuple[frozenset[Component], frozenset[tuple[sp.Expr, sp.Expr]]]:
        """Return what two decompositions share exactly if they are the same component list."""
        return frozenset(self.components), frozenset(self.singular)

    @property
    def fingerprint(self) -> Hashable:
        """What decompositions share only if they have the same divergences; those with equal signatures may differ."""
        return self.signature()

    def _repr_latex_(self) -> str:
        return decomposition_latex(self)

    def __str__(self) -> str:
        return decomposition_text(self)


def merged(
    parts: Iterable[tuple[sp.Expr, sp.Expr, sp.Expr]], parameters: tuple[Parameter, ...], pair: tuple[str, str]
) -> Decomposition:
    """Return the decomposition of message orbits (A0 mass, A1 mass, A2 mass), merged by equal ratios (000, Theorem 7).

    Ratios are compared in normal form; an orbit with no mass under A2 goes to the singular part, where only its
    total for each ratio of A0 to A1 counts.
    """
    components: dict[tuple[sp.Expr, sp.Expr], list[sp.Expr]] = {}
    singular: dict[sp.Expr, list[tuple[sp.Expr, sp.Expr]]] = {}
    for a0, a1, a2 in parts:
        if a2 == 0:
            if a0 != 0 or a1 != 0:
                share = normal(a0 / (a0 + a1))
                singular.setdefault(share, []).append((a0, a1))
            continue
        components.setdefault((normal(a0 / a2), normal(a1 / a2)), []).append(a2)
    found = tuple(Component(r0, r1, normal(sp.Add(*masses))) for (r0, r1), masses in components.items())
    sums = ([sp.Add(*side) for side in zip(*both, strict=True)] for both in singular.values())
    return Decomposition(found, tuple((normal(a), normal(b)) for a, b in sums), parameters, pair)


def _converted(name: str, value: Any, numbers: NumberSystem, count: bool) -> Any:
    """Return the value as a number of the system, as an int where it occurs in a binomial coefficient."""
    if isinstance(value, np.ndarray if numbers is NUMPY else arb) and numbers is not MPMATH:
        return value
    exact = exact_number(value, name)
    if count and exact.is_Integer:
        return int(exact)
    try:
        return compile_expression(exact)(numbers, {})
    except OverflowError:
        raise ArgumentError(name, value, f"a number in the range of {numbers.name}") from None


def _number(value: Any, numbers: NumberSystem) -> Any:
    return numbers.rational(value, 1) if isinstance(value, int) else value


# ------------- Triples without a finite list of formulas: those of a density, and those that are known by numbers alone


class KnownBy:
    """A decomposition that some attributes are all of: they travel, and equal ones have equal ones."""

    _known_by: tuple[str, ...]

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self._known_by}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, type(self)) and self.__getstate__() == other.__getstate__())

    def __hash__(self) -> int:
        return hash(tuple(self.__getstate__().values()))


class EnclosedDecomposition(KnownBy, Decomposition):
    """A triple that has a law, or laws around it, and no components."""

    def _refused(self) -> Never:
        wrong = Problem(f"{self} has no finite list of components")
        raise SupportMismatchError("decomposition", wrong, "ask for epsilon or delta, which need none")

    @property
    def is_listed(self) -> bool:
        return False

    @property
    def components(self) -> Never:
        """Refuse: there is no finite list of them."""
        self._refused()

    @property
    def singular(self) -> Never:
        self._refused()

    def __repr__(self) -> str:
        return str(self)


class LawTriple(EnclosedDecomposition):
    """A triple known by a finite law, whose numbers are balls of 256 bits that are made once."""

    law: Law
    _known_by = ("law", "parameters", "pair")

    def __init__(self, law: Law, pair: tuple[str, str]) -> None:
        vars(self).update(law=_fixed(law), parameters=(), pair=pair)

    @property
    def numeric_law(self) -> Law:
        return self.law

    def swapped(self) -> LawTriple:
        return LawTriple(self.law.swapped(), (self.pair[1], self.pair[0]))

    def signature(self) -> tuple[frozenset[object], frozenset[object]]:  # type: ignore[override]
        """Return the law: only the same one is known to be equal."""
        return frozenset((self.law,)), frozenset()

    def __str__(self) -> str:
        return f"a finite law of {len(self.law.atoms)} atoms, {self.pair[0]} against {self.pair[1]}"


def _fixed(law: Law) -> Law:
    with at_precision(CAREFUL_BITS):
        atoms = tuple(Atom(Known(a.ratio0()), Known(a.ratio1()), Known(a.mass()), a.equal_ratios) for a in law.atoms)
        singular = tuple((Known(a()), Known(b())) for a, b in law.singular)
    return Law(atoms, singular, law.complete)
