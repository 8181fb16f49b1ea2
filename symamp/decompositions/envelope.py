"""The envelope of a pair of inputs: the laws of G = (R(x0) - E R(x1))/R(x), one for each class of other inputs x."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

from symamp.decompositions.blanket import blanket, triple
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.printing import ShownInLatex, axes_for, triple_latex, triple_text
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.decompositions.to_law import refuse_symbols
from symamp.errors import SupportMismatchError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import constant_sign, is_nonnegative
from symamp.formulas.parameter import Parameter
from symamp.numbers.reading import printable_number
from symamp.public_names import PublicNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Envelope(PublicNames, ShownInLatex):
    """The triples (R(x0), R(x1), R(x)) of a pair, one for each class of inputs x that another user may hold.

    The law whose stop-loss transform is the largest of theirs bounds the divergence for every data set; it is never
    looser than the blanket (docs/proofs/envelope.md). ``others`` names the inputs, ``triples`` lists their
    decompositions in the same order; ratios are measured by R(x).

    >>> import symamp as sa
    >>> e = sa.RandomizedResponse(k=3).envelope()
    >>> e.others
    ('x0', 'x1', 'x2')
    >>> e.triples[1].components[0]
    Component(ratio0=exp(eps0), ratio1=1, mass=1/(exp(eps0) + 2))
    """

    _internal_names = "attained_by mechanism others signature"

    mechanism: LocalRandomizer
    pair: tuple[str, str]
    others: tuple[str, ...]
    triples: tuple[Decomposition, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The symbols that are still free."""
        return self.mechanism.parameters

    @property
    def components(self) -> dict[str, tuple[Component, ...]]:
        """Return {x: ((R(x0)/R(x), R(x1)/R(x), mass under R(x)), ...)}."""
        return {x: t.components for x, t in zip(self.others, self.triples, strict=True)}

    def lambdify(self, system: str = "numpy") -> Callable[..., dict[str, list[tuple[Any, ...]]]]:
        """Return a function of the free parameters that gives the components of each x as numbers.

        ``system`` is "numpy", "mpmath" or "flint", as for ``Decomposition.lambdify``.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=2).envelope().lambdify("numpy")(eps0=0.0)["x0"][0]
        (np.float64(1.0), np.float64(1.0), np.float64(0.5))
        """
        compiled = {x: t.lambdify(system) for x, t in zip(self.others, self.triples, strict=True)}
        return lambda **values: {x: function(**values) for x, function in compiled.items()}

    def signature(self) -> frozenset[object]:
        """Return what two pairs share exactly if they have the same set of laws."""
        return frozenset(t.signature() for t in self.triples)

    @cached_property
    def two_level(self) -> Decomposition | None:
        """The four-atom law that is the envelope of a two-level mechanism for 1 <= E <= t; None for others.

        Derived, not assumed: R(x0) and R(x1) must have the ratios t, 1 and 1/t only, and no other input may be further
        from R(x1) in total variation than x0 is. With p = TV(R(x0), R(x1))/(t - 1) its components are (t, 1) and
        (1, t) of mass p each and (1, 1) of mass 1 - p - t p; the rest is null. Proof: docs/proofs/envelope.md.

        >>> import symamp as sa
        >>> sa.LocalHashing().envelope().two_level.components[0].mass
        (l - 1)/(l*(l + exp(eps0) - 1))
        """
        return _two_level(self)

    def attained_by(self, eps: object) -> str | None:
        """Return an input whose stop-loss transform is the largest everywhere at this eps, or None if none is found.

        If there is one, the data set in which all other users hold it is the worst of all for every n, and the bound
        is its divergence. All parameters must be numbers.

        >>> import symamp as sa
        >>> e = sa.HadamardResponse(K=8, eps0=1).envelope()
        >>> e.attained_by(0), e.attained_by("1/2")
        ('3', None)
        """
        refuse_symbols(self.parameters)
        e = sp.exp(printable_number(eps, "eps"))
        laws = [_exact(t, e) for t in self.triples]
        named = zip(self.others, laws, strict=True)
        return next((x for x, law in named if all(other is law or _at_least(law, other) for other in laws)), None)

    def plot(self, eps: object, ax: Axes | None = None, **values: object) -> Axes:
        """Plot the stop-loss transforms of all classes, their maximum, and that of the blanket, over u.

        ``values`` gives numbers for the free parameters. All curves have the slope -1 on the far left; what is drawn
        is the excess over the common lower bound max(1 - E - u, 0), so that differences can be seen.
        """
        import numpy as np

        e = float(sp.exp(printable_number(eps, "eps")))
        axes: Axes = axes_for(ax)
        named = {f"other users hold {x}": law for x, law in self.lambdify()(**values).items()}
        named["blanket"] = blanket(self.mechanism, self.pair).lambdify()(**values)
        laws = {
            name: (np.array([float(a) - e * float(b) for a, b, _ in law]), np.array([float(m) for _, _, m in law]))
            for name, law in named.items()
        }
        ends = np.concatenate([v for v, _ in laws.values()])
        grid = np.unique(np.concatenate([ends, [0.0], np.linspace(ends.min(), ends.max(), 400)]))
        curves = {
            name: np.maximum(v[:, None] - grid, 0.0).T @ m + max(1.0 - m.sum(), 0.0) * np.maximum(-grid, 0.0)
            for name, (v, m) in laws.items()
        }
        base = np.maximum(1.0 - e - grid, 0.0)
        highest = np.max([c for name, c in curves.items() if name != "blanket"], axis=0)
        axes.fill_between(grid, highest - base, color="0.85", label="envelope")
        for name, curve in curves.items():
            axes.plot(grid, curve - base, "k--" if name == "blanket" else "-", label=name)
        axes.set_xlabel("u")
        axes.set_ylabel("E[(G - u)+] - max(1 - E - u, 0)")
        axes.legend()
        return axes

    def _repr_latex_(self) -> str:
        return triple_latex(self.others, self.triples)

    def __str__(self) -> str:
        return triple_text(self.others, self.triples)


@lru_cache(maxsize=1024)
def envelope(mechanism: LocalRandomizer, pair: tuple[str, str]) -> Envelope:
    """Return the triples of the pair, one for each input of ``covering_inputs`` with a law of its own."""
    covering = mechanism.covering_inputs(pair)
    if covering is None:
        told = f"a mechanism all of whose inputs are described; {mechanism.name} shows its worst pair"
        raise SupportMismatchError("method", "envelope", told)
    found: dict[object, tuple[str, Decomposition]] = {}
    for x in covering:
        law = triple(mechanism, pair, ((x, sp.Integer(1)),))
        found.setdefault(law.signature(), (x, law))
    return Envelope(mechanism, pair, tuple(x for x, _ in found.values()), tuple(t for _, t in found.values()))


def describes_all_inputs(mechanism: LocalRandomizer) -> bool:
    """Return whether every input that another user may hold is described, for every pair; nothing is derived."""
    if mechanism.numeric is not None:  # a table has no other inputs
        return True
    return all(mechanism.covering_inputs(pair) is not None for pair in mechanism.ordered_pairs())


@lru_cache(maxsize=256)
def envelope_classes(mechanism: LocalRandomizer) -> tuple[Envelope, ...]:
    """Return one envelope for each class of ordered pairs with the same set of laws; the bound is their maximum.

    Pairs with equal blankets may differ here, so these classes are not those of ``pair_classes``.
    """
    found: dict[object, Envelope] = {}
    for pair in mechanism.ordered_pairs():
        derived = envelope(mechanism, pair)
        found.setdefault(derived.signature(), derived)
    return tuple(found.values())


def two_level_law(t: sp.Expr, distance: sp.Expr) -> Decomposition:
    """Return the four-atom law of local ratio t = e^eps0 and total variation ``distance``.

    Its components are (t, 1) and (1, t) of mass p = distance/(t - 1) each and (1, 1) of mass 1 - p - t p.

    Guarantee
    ---------
    For every eps0-LDP randomizer whose rows are at most ``distance`` apart in total variation, and 0 <= eps <= eps0,
    its divergence is at least that of the shuffled reports of every two neighbouring data sets.
    Proof: docs/proofs/envelope.md.

    >>> two_level_law(sp.Integer(3), sp.Rational(1, 2)).components[2]
    Component(ratio0=1, ratio1=1, mass=0)
    """
    one = sp.Integer(1)
    p = sp.Integer(0) if distance == 0 else normal(distance / (t - 1))
    parts = ((t, one, p), (one, t, p), (one, one, normal(1 - p - t * p)))
    return Decomposition(tuple(Component(*part) for part in parts))


def _two_level(found: Envelope) -> Decomposition | None:
    laws = dict(zip(found.others, found.triples, strict=True))
    own, other = (laws.get(x) for x in found.pair)
    if own is None or other is None or own.singular or other.singular:
        return None
    one = sp.Integer(1)
    # Seen from R(x1) the ratio R(x0)/R(x1) takes the values t, 1 and 1/t; p is the mass of t.
    for t in (c.ratio0 for c in other.components if c.ratio0 != 1):
        masses = {c.ratio0: c.mass for c in other.components}
        law = two_level_law(t, normal(masses[t] * (t - 1)))
        p, rest = law.components[0].mass, law.components[2].mass
        expected = {t: p, normal(1 / t): normal(t * p), one: rest}
        seen = [masses, {c.ratio1: c.mass for c in own.components}]
        expected = {ratio: mass for ratio, mass in expected.items() if mass != 0}
        if all(masses == expected for masses in seen) and is_nonnegative(t - 1, found.parameters):
            distances = [_distance(laws[x], t) for x in found.others if x not in found.pair]
            if all(d is not None and is_nonnegative(p * (t - 1) - d, found.parameters) for d in distances):
                return Decomposition(law.components, (), found.parameters, found.pair)
    return None


def _distance(law: Decomposition, t: sp.Expr) -> sp.Expr | None:
    """Return TV(R(x1), R(x)) of a triple measured by R(x) with the ratios t, 1 and 1/t; None if there are others."""
    if law.singular or any(c.ratio1 not in (t, normal(1 / t), 1) for c in law.components):
        return None
    return normal(sp.Add(*(c.mass * (t - 1) for c in law.components if c.ratio1 == t)))


class _Exact(NamedTuple):
    """The law of G: its atoms (value, mass), and the limit of its stop-loss transform at infinity."""

    atoms: tuple[tuple[sp.Expr, sp.Expr], ...]
    limit: sp.Expr

    def transform(self, u: sp.Expr) -> sp.Expr:
        gains = [(v - u) * m for v, m in self.atoms if v != u and constant_sign(v - u) > 0]
        return sp.Add(self.limit, *gains, evaluate=False)


def _exact(law: Decomposition, e: sp.Expr) -> _Exact:
    singular = [v for a, b in law.singular if constant_sign(v := a - e * b) > 0]
    return _Exact(tuple((c.ratio0 - e * c.ratio1, c.mass) for c in law.components), sp.Add(*singular))


def _at_least(larger: _Exact, smaller: _Exact) -> bool:
    """Whether the first stop-loss transform is proved to be nowhere less (docs/proofs/convex_order.md, Lemma 1)."""
    return all(constant_sign(larger.transform(u) - smaller.transform(u)) >= 0 for u, _ in larger.atoms)
