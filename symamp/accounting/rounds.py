"""All that is asked of many rounds: brackets, curves, Renyi divergences, trade-off functions, exports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symamp.accounting import composition
from symamp.accounting.composition import ComposedAnswer
from symamp.accounting.renyi import RenyiCurve, renyi_curve, renyi_epsilon
from symamp.accounting.tradeoff import TradeOff, trade_off
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import undisturbed
from symamp.questions.curve import BracketCurve


@dataclass(frozen=True, repr=False)
class ComposedCurve(BracketCurve):
    """Brackets of delta after all rounds at the eps of a grid.

    >>> import symamp as sa
    >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0="log(2)"), n=1000).rounds(2).curve(eps=["0.1"])
    >>> bool(0 < curve.lower[0] <= curve.upper[0] < 1)
    True
    """

    answers: tuple[ComposedAnswer, ...]
    grid: tuple[float, ...]
    text: str

    @property
    def eps(self) -> NDArray[np.float64]:
        """The grid, as the nearest doubles."""
        return np.array(self.grid)

    @property
    def label(self) -> str:
        """The rounds."""
        return self.text


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

    @undisturbed()
    def curve(self, eps: Iterable[object], *, gap: float | None = None, effort: str = "default") -> ComposedCurve:
        """Return certified brackets of delta at every eps of a grid; neighbouring ones share their points."""
        grid = tuple(eps)
        answers = tuple(self.delta(x, gap=gap, effort=effort) for x in grid)
        return ComposedCurve(answers, tuple(float(budget(x)) for x in grid), str(self))

    def plot(self, eps: Iterable[object], ax: Any = None) -> Any:
        """Draw the curve of delta over a grid of eps; return the matplotlib Axes."""
        return self.curve(eps).plot(ax)

    def renyi(
        self, order: object | Sequence[object], *, gap: float | None = None, effort: str = "default"
    ) -> RenyiCurve:
        """Return certified brackets of the Renyi divergence at an order above 1, or at several.

        ``gap`` is about half of the relative width.
        """
        return renyi_curve(self, list(order) if isinstance(order, list | tuple) else [order], gap, effort)

    def renyi_epsilon(self, delta: object, *, gap: float | None = None, effort: str = "default") -> float:
        """Return the eps that follows from a Renyi divergence: valid, and larger than that of ``epsilon``."""
        return renyi_epsilon(self, delta, gap, effort)

    def tradeoff(
        self, level: object | Sequence[object] = (), *, gap: float | None = None, effort: str = "default"
    ) -> TradeOff:
        """Return the trade-off function, bracketed, with its bounds at a level, or at several."""
        return trade_off(self, tuple(level) if isinstance(level, list | tuple) else (level,), gap, effort)
