"""Inputs in [0, 1] with symmetric unimodal noise: the law of the worst pair, and of the data sets below it."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import sympy as sp
from flint import arb

from symamp.algebra.parameter import admissible_points
from symamp.derivation.crossing import level_of, number
from symamp.derivation.printing import latex
from symamp.derivation.variation_parameters import VariationRatio
from symamp.derivation.worst_pair import WorstPair
from symamp.errors import SymampError
from symamp.evaluation.law import Level
from symamp.evaluation.smooth_law import SmoothLaw
from symamp.mechanisms.continuous.noise_law import blanket_law, cut_laws, far_ratio
from symamp.mechanisms.continuous.noise_sides import Arc, Side, joined, sides_of
from symamp.mechanisms.continuous.picture import plot_distribution, plot_ratios
from symamp.mechanisms.continuous.ratio_distribution import ratio_distribution
from symamp.mechanisms.family import Parametrised
from symamp.mechanisms.subject_base import SubjectBase
from symamp.numbers.exact_number import exact_number
from symamp.numbers.rationals import rational_of
from symamp.numbers.surroundings import at_precision

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEVIATIONS, _SMOOTH, _TYPICAL, _FEW_RATIOS, _MANY_BITS, _LARGEST_E = 4.0, 0.5, 10**4, 8.0, 256, 1e90


class AdditiveNoise(Parametrised, SubjectBase):
    """Send x + Z for an input x in [0, 1], where Z has a density that is even and does not increase away from 0.

    A family gives ``arcs`` and ``survival``; the law of the ratios is derived. For every number of users and every
    level (0, 1) is the worst pair of inputs (docs/proofs/worst_pair.md).
    """

    name: str
    source: ClassVar[str]

    @abstractmethod
    def arcs(self) -> tuple[Arc, ...]:
        """Return the density on z >= 0, in order; it vanishes beyond the last arc."""

    @abstractmethod
    def survival(self, z: arb) -> arb:
        """Return P(Z > z) for z >= 0, at the ambient precision."""

    @abstractmethod
    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, ``oo`` if there is no finite local budget."""

    @abstractmethod
    def gamma(self) -> sp.Expr:
        """Return the mass of the blanket, P(abs(Z) > 1/2), as a formula."""

    @property
    def noise(self) -> Self:
        """The noise itself."""
        return self

    def local_epsilon(self) -> sp.Expr:
        """Return the exact local budget as a formula, ``oo`` if there is none."""
        return sp.log(self.local_ratio())

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023): e^eps0, P(abs(Z) < 1/2) and e^eps0."""
        return VariationRatio(self.local_ratio(), 1 - self.gamma(), self.local_ratio())

    def general(self) -> tuple[Self, dict[sp.Symbol, sp.Expr]]:
        """Return the noise with all parameters free, and their values here, if its sides are known so; (self, {})."""
        fixed = {p.symbol: self.values[p.name] for p in self.declared if not self.values[p.name].free_symbols}
        if len(fixed) < len(self.declared) or not fixed:
            return self, {}
        with suppress(SymampError):
            general = type(self)()
            _ = [side.put(fixed) for side in sides_of(general.arcs())]
            return general, fixed
        return self, {}

    def sides(self) -> tuple[Side, ...]:
        """Return the messages right of 1/2, cut where a formula changes, for the inputs 0 and 1."""
        general, fixed = self.general()
        found = sides_of(general.arcs())
        return tuple(side.put(fixed) for side in found) if fixed else found

    def worst_pair(self) -> WorstPair:
        """Return the pair of inputs with the largest blanket divergence at every level, and how that is known.

        >>> import symamp as sa
        >>> sa.Laplace(eps0=1).worst_pair().pair
        ('0', '1')
        """
        return WorstPair(("0", "1"), True, "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)")

    def plot_ratios(self, ax: Axes | None = None) -> Axes:
        """Draw the curve of (R(0)/m, R(1)/m) over all messages, m the blanket; return the matplotlib Axes."""
        return plot_ratios(self.blanket_laws(Level.of_float(0.0), _TYPICAL)[0], ax)

    def plot_distribution(self, eps: object, ax: Axes | None = None) -> Axes:
        """Draw the distribution function of G = r0 - e^eps r1 under the blanket; return the matplotlib Axes.

        Raises ArgumentError for a level that is no number.
        """
        level = level_of(exact_number(eps, "eps"))
        return plot_distribution(self.blanket_laws(level, _TYPICAL)[0], level, ax)

    def ratio_distribution(self) -> sp.Expr:
        """Return the mass H(v) of the messages right of 1/2 with r1 <= v under the blanket, as a formula in v >= 1.

        The distribution function of G = r0 - e^eps r1 follows, as the other half is the mirror image:
        P(G <= g) = gamma/2 - H((1 - g) e^-eps) + H(g + e^eps) + (1 - gamma) [g >= 0], the first H from below at jumps,
        and H(v) = 0 for v < 1. Raises UndecidedOrderError where SymPy does not invert the ratio, or is wrong: each case
        is compared with ``survival`` at points.

        >>> import symamp as sa
        >>> sa.Laplace().ratio_distribution()
        Piecewise(((sqrt(v) - 1)*exp(-eps0/2)/(2*sqrt(v)), v < exp(eps0)), (exp(-eps0/2)/2, True))
        """
        points = admissible_points(self.parameters, 2) if self.parameters else [{}]
        members = [self.at(**point) if point else self for point in points]
        values = [{p.symbol: rational_of(point[p.name]) for p in self.parameters} for point in points]
        with at_precision(_MANY_BITS):
            tried = [(v, m.survival) for v, m in zip(values, members, strict=True)]
            return ratio_distribution(self.sides(), tried)

    def _repr_latex_(self) -> str:
        """Return the table of pieces right of 1/2: messages, density of the blanket, and the ratio there; r0 is 1."""
        rows = [
            rf"\left({latex(s.start)},\,{latex(s.end)}\right) & {latex(s.density0)} & 1 & {latex(s.ratio)} \\"
            for s in joined(self.sides())
        ]
        head = r"y & m(y) & r_0 & r_1 \\ \hline"
        return rf"$\displaystyle \begin{{array}}{{cccc}} {head} {' '.join(rows)} \end{{array}}$"

    def tail(self, start: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
        """Return (y, w0): messages beyond ``start`` as a formula y(w), 0 < w < w0, in which densities are analytic.

        None if ratios are constant far out, or unbounded: then ``cut`` says where they are cut.
        """
        return None

    @property
    def cuts_tail(self) -> bool:
        """Whether the tail is cut far out although ratios are bounded."""
        return False

    def cut(self, ratio: float) -> sp.Expr | None:
        """Return where f(y - 1)/f(y) is about the ratio, and does not fall beyond; None if tails are not cut."""
        return None

    def spread(self) -> float:
        """Return about the variance of G at eps = 0, where ratios are unbounded: for placing the cut."""
        raise NotImplementedError

    def exact_law(self) -> SmoothLaw | None:
        """Return the triple of the blanket at the pair (0, 1), None if its tail has to be cut."""
        return None if self.local_ratio() is sp.oo or self.cuts_tail else blanket_law(self)

    def upper_law(self) -> SmoothLaw:
        """Return a law above that of the pair (0, 1) for all levels and numbers of users: its own, or one far cut.

        Guarantee
        ---------
        At every level and number of users its divergence is at least that of the blanket of (0, 1). A cut adds less
        than 1e-19 to it. Proof: docs/proofs/smooth_laws.md.
        """
        return self.exact_law() or cut_laws(self, _FEW_RATIOS, far_ratio(self))[1]

    def largest_kept_ratio(self) -> float:
        """Return about the largest ratio of ``upper_law``."""
        ratio = self.local_ratio()
        return far_ratio(self) if ratio is sp.oo else float(number(ratio)())

    def blanket_laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return (lower, upper): laws between whose divergences that of the pair (0, 1) lies; the same one if exact.

        Unbounded ratios are cut where a message decides alone at this level and number of users.

        Guarantee
        ---------
        The divergences of the laws, at every level and number of users, enclose that of the blanket of (0, 1).
        Proof: docs/proofs/smooth_laws.md.
        """
        exact = self.exact_law()
        if exact is not None:
            return exact, exact
        if self.local_ratio() is not sp.oo:
            return cut_laws(self, 1.0, 1.0)
        return cut_laws(self, _rounded(_SMOOTH * self._deviation(n)), self.ratio_at_cut(level, n))

    def ratio_at_cut(self, level: Level, n: int) -> float:
        """Return the ratio from which on one message decides alone at this level and number of users."""
        e = min(1.0 + level.rough_minus_one(), _LARGEST_E)  # any cut will do
        # The others' ratios r1 count E times.
        return _rounded(n * (e - 1.0) + _DEVIATIONS * (self._deviation(n) * sqrt((1.0 + e * e) / 2.0) + 1.0))

    def _deviation(self, n: int) -> float:
        return sqrt(n * self.spread())


def _rounded(x: float) -> float:
    """Return a power of 2^(1/8) that is at least x: neighbouring levels share a law."""
    return float(2.0 ** (ceil(8.0 * log2(x)) / 8.0))
