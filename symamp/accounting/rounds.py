"""All that is asked of many rounds: brackets, curves, Renyi divergences, trade-off functions, exports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from symamp.accounting import composition
from symamp.accounting.answer import ComposedAnswer
from symamp.accounting.renyi import RenyiCurve, renyi_curve, renyi_epsilon
from symamp.accounting.tradeoff import TradeOff, trade_off


@dataclass(frozen=True)
class ComposedCurve:
    """Brackets of delta after all rounds at the eps of a grid.

    >>> import symamp as sa
    >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0="log(2)"), n=1000).rounds(2).curve(eps=["0.1"])
    >>> bool(0 < curve.lower[0] <= curve.upper[0] < 1)
    True
    """

    answers: tuple[ComposedAnswer, ...]
    eps: tuple[float, ...]
    text: str

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower ends of delta, rounded down."""
        return np.array([a.lower for a in self.answers])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper ends of delta, rounded up."""
        return np.array([a.upper for a in self.answers])

    def plot(self, ax: Any = None) -> Any:
        """Draw the bracket as a band over eps, delta on a logarithmic axis; return the matplotlib Axes."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        seen = self.upper > 0.0
        eps, low, high = np.array(self.eps)[seen], self.lower[seen], self.upper[seen]
        ax.fill_between(eps, np.where(low > 0.0, low, high.min(initial=1.0)), high, alpha=0.4, linewidth=0)
        ax.plot(eps, high, linewidth=1, label=self.text)
        ax.set(yscale="log", xlabel="central ε", ylabel="δ")
        ax.legend()
        return ax


@dataclass(frozen=True)
class Composition(composition.Composition):
    """Rounds, each with how often it is run, composed adaptively.

    Covered: mechanisms, users (at least n) and all inputs may depend on the outputs of earlier rounds; fresh randomness
    in each round; stopping early. Not covered: randomness that is kept for later rounds (memoisation), and budgets
    that are chosen from the transcript.

    >>> import symamp as sa
    >>> rounds = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(1000)
    >>> 0.1032 < rounds.epsilon(delta="1e-8", gap=1e-3).upper < 0.1034
    True
    """

    def curve(self, eps: Iterable[object], *, gap: float | None = None) -> ComposedCurve:
        """Return certified brackets of delta at every eps of a grid; neighbouring ones share their points."""
        grid = tuple(eps)
        answers = tuple(self.delta(x, gap=gap) for x in grid)
        return ComposedCurve(answers, tuple(float(str(x)) for x in grid), str(self))

    def plot(self, eps: Iterable[object], ax: Any = None) -> Any:
        """Draw the curve of delta over a grid of eps; return the matplotlib Axes."""
        return self.curve(eps).plot(ax)

    def renyi(self, order: object | Sequence[object], *, gap: float | None = None) -> RenyiCurve:
        """Return certified brackets of the Renyi divergence at an order above 1, or at several.

        ``gap`` is about half of the relative width.
        """
        return renyi_curve(self, list(order) if isinstance(order, list | tuple) else [order], gap)

    def renyi_epsilon(self, delta: object, *, gap: float | None = None) -> float:
        """Return the eps that follows from a Renyi divergence: valid, and larger than that of ``epsilon``."""
        return renyi_epsilon(self, delta, gap)

    @overload
    def tradeoff(self, level: None = None, *, gap: float | None = None) -> TradeOff: ...
    @overload
    def tradeoff(self, level: str | float | Fraction, *, gap: float | None = None) -> tuple[float, float]: ...
    def tradeoff(self, level: Any = None, *, gap: float | None = None) -> Any:
        """Return the trade-off function, bracketed; with a level, its lower and upper bound there."""
        found = trade_off(self, gap)
        return found if level is None else found.at(level)
