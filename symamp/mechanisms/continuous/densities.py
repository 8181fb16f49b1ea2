"""A mechanism with a density of one's own: any density with cases, on a few inputs, with point masses beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Self

import sympy as sp
from flint import arb

from symamp.algebra.normal_form import normal
from symamp.algebra.order import sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.crossing import level_of, number
from symamp.derivation.printing import latex, text
from symamp.derivation.randomizer import known_label
from symamp.derivation.variation_parameters import VariationRatio
from symamp.derivation.worst_pair import WorstPair
from symamp.errors import (
    ArgumentError,
    NegativeProbabilityError,
    RowSumError,
    SupportMismatchError,
    UndecidedOrderError,
    VerificationError,
)
from symamp.evaluation.law import total
from symamp.evaluation.smooth_law import SmoothLaw
from symamp.mechanisms.continuous.density_cells import Part, Shown, cells_of, law_of_cells
from symamp.mechanisms.continuous.density_integral import integral
from symamp.mechanisms.continuous.fallback_law import Atom3
from symamp.mechanisms.continuous.formula_range import formula_range
from symamp.mechanisms.continuous.largest_value import largest_value
from symamp.mechanisms.continuous.least_density import least_cells
from symamp.mechanisms.continuous.picture import plot_distribution, plot_ratios
from symamp.mechanisms.continuous.resolved import Y, resolved, stretches
from symamp.mechanisms.subject_base import SubjectBase
from symamp.numbers.exact_number import exact_number
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.surroundings import at_precision

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BITS, _NARROW, _THIN, _ZERO, _ONE = 256, 2.0**-100, sp.Rational(1, 10**6), sp.S.Zero, sp.S.One


class Densities(SubjectBase):
    """A message from an interval, or the line, on each of finitely many inputs; made by ``DensityMechanism``.

    Cases are resolved exactly; that densities are positive and which of them is least is decided in balls, masses are
    integrals in balls. All ordered pairs of inputs are compared.
    """

    name = "a mechanism with a density of one's own"
    parameters: tuple[Parameter, ...] = ()
    is_interval = False  # whether inputs between those listed occur, too

    def __init__(
        self,
        density: sp.Expr,
        x: sp.Symbol,
        y: sp.Symbol,
        inputs: tuple[sp.Expr, ...],
        messages: tuple[sp.Expr, sp.Expr],
        masses: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        self.density, self.values, self.messages = density, inputs, messages
        self.inputs = tuple(text(v) for v in inputs)
        rows = tuple(density.xreplace({y: Y}).xreplace({x: v}) for v in inputs)
        cuts = stretches(rows, *messages, ())
        self.parts = tuple(Part(s.start, s.end, tuple(resolved(r, s.inside) for r in rows)) for s in cuts)
        self._compare(x, y, tuple(s.inside for s in cuts))
        self.masses = tuple((at, tuple(m.xreplace({x: v}) for v in inputs)) for at, m in masses.items())
        for at, found in self.masses:
            if any(sign(m) < 0 for m in found):
                raise NegativeProbabilityError("masses", f"{found} at {at}", "point masses >= 0")
        self._check_totals()
        for part in self.parts:
            _check_positive(part)
        if all(_ZERO in d for d in (*(p.densities for p in self.parts), *(m for _, m in self.masses))):
            raise SupportMismatchError("density", str(density), "messages that every input sends: gamma is 0 here")

    def key(self) -> tuple[object, ...]:
        """Return the formulas of all inputs."""
        return (type(self).__qualname__, self.inputs, self.parts, self.masses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Densities) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    @property
    def densities(self) -> Self:
        """The densities themselves."""
        return self

    def fallback(self) -> tuple[Atom3, ...]:
        """Return (r0, r1, mass) of a law above those of all pairs of an interval; none where all inputs are listed."""
        return ()

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return all ordered pairs of inputs."""
        return tuple(permutations(self.inputs, 2))

    def worst_pair(self) -> WorstPair:
        """Return one pair, not proved to be the worst: bounds are the largest over all pairs."""
        return WorstPair(self.pairs()[0], False, "no theorem applies: bounds are the largest over all pairs of inputs")

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, or a rational number above it by less than 1e-9 of it; ``oo`` if there is none."""
        return self._largest

    def local_epsilon(self) -> sp.Expr:
        """Return the local budget, or a number just above it."""
        return sp.log(self.local_ratio())

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0 = t, (t - 1)/(t + 1), which no total variation exceeds, and t."""
        t = self.local_ratio()
        return VariationRatio(t, _ONE if t is sp.oo else normal((t - 1) / (t + 1)), t)

    @cached_property
    def _largest(self) -> sp.Expr:
        found: list[tuple[sp.Expr, sp.Expr, sp.Expr]] = []
        for part in self.parts:
            shown = [k for k, d in enumerate(part.densities) if d != 0]
            if len(shown) not in (0, len(self.inputs)):
                return sp.oo
            found += [(part.ratio(i, j), part.start, part.end) for i, j in permutations(shown, 2)]
        for at, masses in self.masses:
            if _ZERO in masses and any(masses):
                return sp.oo
            found += [(normal(a / b), at, at) for a, b in permutations(masses, 2) if b != 0]
        return largest_value(found)

    def gamma(self) -> tuple[float, float]:
        """Return doubles around the mass of the blanket."""
        law = self.law(self.pairs()[0])
        with at_precision(_BITS):
            found = 1 - law.null()
        return float(found.lower()), float(found.upper())

    def pieces(self, pair: tuple[object, object]) -> tuple[Shown, ...]:
        """Return the blanket of a pair as formulas, without point masses; cells around crossings are left out.

        >>> import symamp as sa
        >>> x, y = sp.symbols("x y", real=True)
        >>> noise = sa.DensityMechanism(sp.exp(-sp.Abs(y - x)) / 2, inputs=[0, 1])
        >>> noise.pieces(("0", "1"))[-1]
        Shown(start=1, end=oo, blanket=exp(-y)/2, ratio0=1, ratio1=E)
        """
        places = self._place(pair[0]), self._place(pair[1])
        whole = (p for p in self.parts if _ZERO not in p.densities)
        found = [(p, s) for p in whole for s in cells_of(p, places, None)]
        return tuple(s for p, s in found if p.is_tail or sign(s.end - s.start - (p.end - p.start) * _THIN) > 0)

    def plot_ratios(self, pair: tuple[object, object], ax: Axes | None = None) -> Axes:
        """Draw the curve of (R(x0)/m, R(x1)/m) over all messages, m the blanket; return the matplotlib Axes."""
        return plot_ratios(self.law(pair), ax)

    def plot_distribution(self, eps: object, pair: tuple[object, object], ax: Axes | None = None) -> Axes:
        """Draw the distribution function of G = r0 - e^eps r1 under the blanket; return the matplotlib Axes."""
        return plot_distribution(self.law(pair), level_of(exact_number(eps, "eps")), ax)

    def _place(self, label: object) -> int:
        return self.inputs.index(known_label("input", label, self.inputs))

    def law(self, pair: tuple[object, object], other: object = None) -> SmoothLaw:
        """Return the triple (R(x0), R(x1), blanket), or with R(other) in place of the blanket.

        Guarantee
        ---------
        The divergence of the first one is at least that of the pair, whatever other users hold; the second one is that
        of a data set. Proof: docs/proofs/smooth_laws.md.

        Raises UnknownInputError for inputs that the mechanism does not have.
        """
        return _law(self, (self._place(pair[0]), self._place(pair[1])), None if other is None else self._place(other))

    def _compare(self, x: sp.Symbol, y: sp.Symbol, inside: tuple[sp.Expr, ...]) -> None:
        """Raise VerificationError unless what was resolved agrees in balls with the formula as it was written."""
        written = formula_range(self.density, (x, y))
        with at_precision(_BITS):
            for part, place in zip(self.parts, inside, strict=True):
                for value, found in zip(self.values, part.densities, strict=True):
                    box = {x.name: number(value)(), y.name: number(place)()}
                    if not written(box).overlaps(number(found.xreplace({Y: place}))()):
                        raise VerificationError("density", str(self.density), f"{found} on input {value}")

    def _check_totals(self) -> None:
        """Raise RowSumError unless the masses of each input are enclosed by a narrow ball around 1."""
        with at_precision(_BITS):
            for k, label in enumerate(self.inputs):
                terms = [integral(p.densities[k], p.start, p.end)() for p in self.parts]
                mass = total([*terms, *(number(m[k])() for _, m in self.masses)])
                if not mass.overlaps(arb(1)):
                    raise RowSumError("density", f"{mass.str(12)} on input {label}", "a total mass of 1")
                if not mass.rad() < _NARROW:
                    raise UndecidedOrderError("density", f"{mass.str(12)} on input {label}", "a mass that balls find")

    def _repr_latex_(self) -> str:
        """Return the table of intervals of messages with the density on each input, and the point masses."""
        head = "y & " + " & ".join(rf"x = {latex(v)}" for v in self.values)
        rows = [(rf"\left({latex(p.start)},\,{latex(p.end)}\right)", p.densities) for p in self.parts]
        rows += [(latex(at), masses) for at, masses in self.masses]
        body = " ".join(rf"{place} & {' & '.join(latex(f) for f in found)} \\" for place, found in rows)
        return (
            rf"$\displaystyle \begin{{array}}{{{'c' * (len(self.values) + 1)}}} {head} \\ \hline {body} \end{{array}}$"
        )

    def __repr__(self) -> str:
        beside = f", point masses at {', '.join(text(at) for at, _ in self.masses)}" if self.masses else ""
        return f"DensityMechanism({self.density}, inputs=[{', '.join(self.inputs)}]{beside})"


def _check_positive(part: Part) -> None:
    """Raise UndecidedOrderError unless every density is 0 or shown to be positive inside the interval."""
    shown = [d for d in dict.fromkeys(part.densities) if d != 0]
    if not part.is_tail:
        for d in shown:
            least_cells([Holomorphic(d, Y)], part.start, part.end)
        return
    u = Parameter("u", lower=_ZERO)
    for d in shown:
        for outward, end in ((u.symbol, part.end), (-u.symbol, part.start)):
            start = part.start if end is part.end else part.end
            if end.is_infinite and sign(d.xreplace({Y: (_ZERO if start.is_infinite else start) + outward}), [u]) < 0:
                raise NegativeProbabilityError("density", str(d), "a density >= 0")


@lru_cache(maxsize=256)
def _law(mechanism: Densities, pair: tuple[int, int], other: int | None) -> SmoothLaw:
    return law_of_cells(mechanism.parts, [found for _, found in mechanism.masses], pair, other)


def check_inputs(values: tuple[sp.Expr, ...], most: int) -> None:
    """Raise ArgumentError unless there are 2 to ``most`` different inputs."""
    distinct = all(sign(a - b) != 0 for i, a in enumerate(values) for b in values[:i])
    if not 2 <= len(values) <= most or not distinct:
        raise ArgumentError("inputs", values, f"2 to {most} different numbers, or the ends (a, b) of an interval")
