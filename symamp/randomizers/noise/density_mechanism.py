"""A given density as a mechanism: noise if a theorem names the worst pair, else every pair is compared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import sympy as sp

from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import ArgumentError, UndecidedOrderError, checked_call
from symamp.laws.density import SmoothLaw
from symamp.numbers.reading import exact_number
from symamp.randomizers.noise.densities import Atom3, Boxes, Densities, boxes, check_inputs, fallback_atoms
from symamp.randomizers.noise.density import NoiseDensity, interval_of
from symamp.randomizers.noise.worst_ends import ends_are_worst

# ------- A density on an interval of inputs: the ends are proved to be the worst pair, or else one law bounds all pairs


class IntervalDensities(Densities):
    """A message from an interval on each input of an interval; made by ``DensityMechanism``.

    ``inputs`` lists the ends: the data sets of the lower bound compare them, others hold one of them or the middle. The
    upper bound holds for all pairs of inputs. Masses are checked at the ends, and at the middle.
    """

    is_interval = True

    def __init__(
        self,
        density: sp.Expr,
        x: sp.Symbol,
        y: sp.Symbol,
        inputs: tuple[sp.Expr, sp.Expr],
        messages: tuple[sp.Expr, sp.Expr],
        masses: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        if any(end.is_infinite for end in messages):
            raise UndecidedOrderError("messages", messages, "a bounded interval (a, b) where inputs are an interval")
        self._held = Densities(density, x, y, (*inputs, (inputs[0] + inputs[1]) / 2), messages, masses)
        super().__init__(density, x, y, inputs, messages, masses)
        self._symbols, self._formulas = (x, y), tuple(masses.values())

    def key(self) -> tuple[object, ...]:
        return (*super().key(), self.density, self._symbols, self._formulas)

    @property
    def held_inputs(self) -> tuple[str, ...]:
        return self._held.inputs

    def law(self, pair: tuple[object, object], other: object = None) -> SmoothLaw:
        return super().law(pair) if other is None else self._held.law(pair, other)

    @cached_property
    def boxes(self) -> Boxes:
        """Bounds of the density on boxes of inputs and messages."""
        low, high = self.values
        return boxes(self.density, self._symbols, (low, high), self.messages, self._formulas)

    @cached_property
    def _has_worst_ends(self) -> bool:
        low, high = self.values
        return not self.masses and ends_are_worst(self.density, self._symbols, (low, high), self.messages)

    def fallback(self) -> tuple[Atom3, ...]:
        """Return (r0, r1, mass) of the law above those of all pairs of inputs."""
        return fallback_atoms(self.boxes)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 where the ends are the worst pair, else a number above it: by a percent, or more if steep."""
        if self.worst_pair().proved:
            return self._largest
        return sp.Rational(float((self.boxes.most.max(axis=0) / self.boxes.least).max()) * (1.0 + 1e-12))

    def worst_pair(self) -> WorstPair:
        """Return the ends, and whether they are proved to be worst; if not, the upper bound is that of one law.

        >>> import symamp as sa
        >>> x, y = sp.symbols("x y", real=True)
        >>> cut = sp.exp(-sp.Abs(y - x)) / (2 - sp.exp(-x) - sp.exp(x - 1))
        >>> sa.DensityMechanism(cut, inputs=(0, 1), messages=(0, 1)).worst_pair().reason
        'Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs (docs/proofs/worst_pair.md)'
        """
        pair = (self.inputs[0], self.inputs[1])
        if self._has_worst_ends:
            known = "Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs"
            return WorstPair(pair, True, f"{known} (docs/proofs/worst_pair.md)")
        told = "no theorem applies: the upper bound holds for all pairs of inputs by the fallback law"
        return WorstPair(pair, False, f"{told} (docs/proofs/fallback_law.md)")

    def __repr__(self) -> str:
        return f"DensityMechanism({self.density}, inputs=({', '.join(self.inputs)}), messages={self.messages})"


# ------- A density of one's own as a mechanism: noise where a theorem names the worst pair, else every pair is compared

_MOST_INPUTS = 8
_FACTS = ("positive", "negative", "nonnegative", "nonpositive", "zero", "integer", "rational", "irrational")


@checked_call
def DensityMechanism(  # noqa: N802  (what it returns is a mechanism, of the kind that the density is)
    density: sp.Expr,
    x: sp.Symbol | None = None,
    y: sp.Symbol | None = None,
    *,
    inputs: object = (0, 1),
    messages: tuple[object, object] | None = None,
    masses: Mapping[object, object] | None = None,
) -> NoiseDensity | Densities:
    """Return the mechanism that sends a real message whose density on input x is a SymPy formula in x and y.

    ``inputs`` is an interval ``(a, b)``, or a list of 2 to 8 numbers. ``messages`` is the interval of messages, the
    line if left out. ``masses`` gives point masses beside the density: {message: probability as a formula in x}.
    ``Abs``, ``Piecewise``, ``Max`` and ``Min`` of expressions that are linear in y may occur, beside powers, exp, log,
    erf, erfc and atan. ``x`` and ``y`` are the two symbols, those of these names if left out.

    - An interval of inputs and the line: the density of noise that is added to the input, ``NoiseDensity``, for which
      (0, 1) is proved to be the worst pair.
    - An interval of both: the upper bound is that of the ends, where they are proved to be the worst pair, or of one
      law above those of all pairs of inputs. If formulas are affine in x, each input draws one of the two ends: these
      are then listed, which loses nothing.
    - A list of inputs: all ordered pairs are compared. Tails on the line need ratios that are constant far out.

    The density has to be positive inside the messages, and to integrate to 1: that is shown, or enclosed to 30 digits
    at the inputs of the list, at the ends and the middle of an interval. Raises ArgumentError, RowSumError,
    NegativeProbabilityError, UndecidedOrderError for what is not shown, SupportMismatchError where no message can come
    from every input (gamma = 0: no amplification).

    >>> x, y = sp.symbols("x y", real=True)
    >>> noise = DensityMechanism(sp.exp(-sp.Abs(y - x)) / 2, x, y)
    >>> noise.gamma(), noise.worst_pair().proved
    (exp(-1/2), True)
    >>> window = sp.Piecewise((sp.Rational(3, 2), sp.Abs(y - x) < sp.Rational(1, 4)), (sp.Rational(1, 2), True))
    >>> DensityMechanism(window, x, y, inputs=["1/4", "3/4"], messages=(0, 1)).local_epsilon()
    log(3)
    """
    is_noise = isinstance(inputs, tuple) and messages is None and masses is None
    if not isinstance(density, sp.Expr):
        raise ArgumentError("density", density, "a SymPy formula")
    x, y = _symbol(density, x, "x"), _symbol(density, y, "y")
    if is_noise and isinstance(inputs, tuple):
        return NoiseDensity(density, x, y, inputs=inputs)
    formulas = [density, *(_formula(m) for m in (masses or {}).values())]
    for k, formula in enumerate(formulas):
        if formula.has(sp.Float) or not formula.free_symbols <= ({x, y} if k == 0 else {x}):
            name = "masses" if k else "density"
            raise ArgumentError(name, formula, f"a SymPy formula in {x}{'' if k else f' and {y}'}, with exact numbers")
    low, high = (-sp.oo, sp.oo) if messages is None else interval_of(messages)
    points = {exact_number(at, "masses"): m for at, m in zip(masses or {}, formulas[1:], strict=True)}
    if isinstance(inputs, tuple):
        a, b = interval_of(inputs, "inputs")
        if all(f.is_polynomial(x) and sp.Poly(f, x).degree() <= 1 for f in formulas):
            return Densities(density, x, y, (a, b), (low, high), points)  # what each input sends is a mixture
        return IntervalDensities(density, x, y, (a, b), (low, high), points)
    if not isinstance(inputs, list | set | frozenset | sp.FiniteSet):
        raise ArgumentError("inputs", inputs, "an interval (a, b), or a list of numbers")
    values = tuple(exact_number(v, "inputs") for v in inputs)
    check_inputs(values, _MOST_INPUTS)
    return Densities(density, x, y, values, (low, high), points)


def _symbol(density: sp.Expr, given: object, name: str) -> sp.Symbol:
    """Return the symbol, checked to stand for any real number: SymPy simplifies what it is told."""
    named = [s for s in density.free_symbols if s.name == name]
    found = named[0] if given is None and named else sp.Symbol(name, real=True) if given is None else given
    if not isinstance(found, sp.Symbol) or any(getattr(found, f"is_{fact}") is not None for fact in _FACTS):
        raise ArgumentError(name, given, "a SymPy symbol without assumptions, or with real=True")
    return found


def _formula(mass: object) -> sp.Expr:
    return mass if isinstance(mass, sp.Expr) else exact_number(mass, "masses")
