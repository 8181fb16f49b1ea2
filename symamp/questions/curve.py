"""A privacy curve: certified brackets of delta over a grid of eps, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symamp.decompositions.printing import axes_for
from symamp.numbers.reading import Real, listed
from symamp.numbers.surroundings import undisturbed
from symamp.public_names import PublicNames
from symamp.questions.bracket import ShownAsTable, falling

if TYPE_CHECKING:
    from symamp.questions.answer import Answer


@dataclass(frozen=True, repr=False)
class Curve(ShownAsTable):
    """delta at every eps of a grid: the mechanism is (eps, ``upper``)-private, and not (eps, < ``lower``)-private.

    Plain data: it can be pickled, compared and hashed, and hands out arrays.

    >>> import symamp as sa
    >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000).curve(eps=[0.05, 0.1])
    >>> [float(f"{x:.1e}") for x in curve.upper]
    [0.0013, 2.6e-05]
    """

    subject: str
    n: int | None
    answers: tuple[Answer, ...]

    columns = ("eps", "lower", "upper", "log10_lower", "log10_upper", "method")

    def __post_init__(self) -> None:
        """Raise ContradictionError where brackets at two eps contradict: delta does not rise."""
        falling(f"curve of {self.label} over eps", list(zip(self.eps.tolist(), self.answers, strict=True)))

    @property
    def eps(self) -> NDArray[np.float64]:
        """The grid, as the nearest doubles."""
        return np.array([float(a.asked.given) for a in self.answers])

    @property
    def label(self) -> str:
        """What the curve is about, for a legend."""
        return self.subject if self.n is None else f"{self.subject}, n = {self.n:,}"

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower ends of delta, rounded down."""
        return np.array([a.lower for a in self.answers])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper ends of delta, rounded up."""
        return np.array([a.upper for a in self.answers])

    @property
    def log10_lower(self) -> NDArray[np.float64]:
        """log10 of the lower ends, rounded down: right also below the smallest double."""
        return np.array([a.log10_lower for a in self.answers])

    @property
    def log10_upper(self) -> NDArray[np.float64]:
        """log10 of the upper ends, rounded up."""
        return np.array([a.log10_upper for a in self.answers])

    def __len__(self) -> int:
        return len(self.answers)

    def __str__(self) -> str:
        return f"curve of {len(self)} certified brackets of delta  ({self.label})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the bracket as a band over eps, log10 of delta upwards; return the matplotlib Axes."""
        ax = axes_for(ax)
        order = np.argsort(self.eps)
        eps, low, high = self.eps[order], self.log10_lower[order], self.log10_upper[order]
        seen = np.isfinite(high)
        shown = np.where(np.isfinite(low), low, high[seen].min() if seen.any() else 0.0)
        ax.fill_between(eps[seen], shown[seen], high[seen], alpha=0.4, linewidth=0, color="tab:blue")
        ax.plot(eps[seen], high[seen], color="tab:blue", linewidth=1, label=self.label)
        ax.set_xlabel("central ε")
        ax.set_ylabel("log10 δ")
        ax.legend()
        return ax

    @property
    def methods(self) -> tuple[str, ...]:
        """The analysis that gives the upper bound, for each eps."""
        return tuple(a.method for a in self.answers)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield (eps, lower, upper, log10 of both, method) for each eps."""
        arrays = (self.eps, self.lower, self.upper, self.log10_lower, self.log10_upper)
        for *numbers, method in zip(*arrays, self.methods, strict=True):
            yield (*(float(x) for x in numbers), method)


class HasCurve(PublicNames):
    """A base class for what brackets delta at any eps and eps at any delta: both questions, curves and plots."""

    @undisturbed()
    def epsilon(self, delta: Real, *, gap: Real | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of the least eps for ``delta``; ``gap`` is its relative width.

        ``delta`` may be far below the smallest double ("1e-1000"). Raises ArgumentError for arguments out of range.

        Guarantee
        ---------
        What is asked about is (``upper``, delta)-private, and for every eps < ``lower`` there are data sets, and
        queries, for which it is not (eps, delta)-private. Proof: docs/proofs/composition.md,
        docs/proofs/coordinates.md, docs/proofs/several_reports.md, docs/proofs/random_allocation.md.
        """
        return self._asked("epsilon", delta, gap, effort)

    @undisturbed()
    def delta(self, eps: Real, *, gap: Real | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at ``eps``; ``gap`` is the relative width of eps.

        The bracket of delta is wider: if eps changes by the factor 1 + g, delta changes by about 1 + g eps/s, where
        s^2 is the variance of the loss divided by eps. Raises ArgumentError for arguments out of range.

        Guarantee
        ---------
        What is asked about is (eps, ``upper``)-private, and for some data sets, and queries, it is not
        (eps, < ``lower``)-private. Proof: docs/proofs/composition.md, docs/proofs/coordinates.md,
        docs/proofs/several_reports.md, docs/proofs/random_allocation.md.
        """
        return self._asked("delta", eps, gap, effort)

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        """Return the answer to one of the two questions."""
        raise NotImplementedError

    @undisturbed()
    def curve(self, eps: Iterable[object], *, gap: Real | None = None, effort: str = "default") -> Curve:
        """Return certified brackets of delta at every eps of a grid; neighbouring ones share what was computed.

        >>> import symamp as sa
        >>> drawn = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=100).sampled(n=100, of=1000)
        >>> low, high = drawn.curve(["0.01", "0.02"]).upper.tolist()
        >>> 0 < high < low < 0.1
        True
        """
        return Curve(str(self), None, tuple(self.delta(x, gap=gap, effort=effort) for x in listed(eps, "eps")))

    def plot(self, eps: Iterable[object], ax: Any = None) -> Any:
        """Draw the curve of delta over a grid of eps; return the matplotlib Axes."""
        return self.curve(eps).plot(ax)
