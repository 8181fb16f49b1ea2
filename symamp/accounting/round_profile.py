"""What any round hands on: many of them, Renyi divergences, trade-off functions, risk, and exports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from symamp.accounting.composition import EXPORT_DELTA, Composition
from symamp.accounting.pairs import round_count
from symamp.accounting.renyi import RenyiCurve
from symamp.accounting.round import Round
from symamp.accounting.tradeoff import TradeOff
from symamp.numbers.reading import Count, Real
from symamp.public_names import PublicNames
from symamp.questions.risk import RATES, Risk


class Exported(PublicNames):
    """A base class for what many rounds bound from above: its exports, which are upper bounds."""

    def rounds(self, count: Count) -> Composition:
        """Return ``count`` rounds, adaptively composed."""
        raise NotImplementedError

    def to_dp_accounting(self, *, interval: float | None = None, delta: Real = EXPORT_DELTA) -> Any:
        """Return one round as a ``PrivacyLossDistribution`` of dp_accounting: ``Composition.to_dp_accounting``."""
        return self.rounds(1).to_dp_accounting(interval=interval, delta=delta)

    def to_dp_event(self) -> Any:
        """Return one round as a ``DpEvent`` of dp_accounting, for accountants made by ``symamp.pld_accountant``."""
        return self.rounds(1).to_dp_event()

    def to_callable(self, *, delta: Real = EXPORT_DELTA) -> Callable[[float], float]:
        """Return delta as a function of eps, an upper bound everywhere: ``Composition.to_callable``.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> 1e-8 < profile.to_callable()(0.0027292) < 1.01e-8
        True
        """
        return self.rounds(1).to_callable(delta=delta)

    def to_opendp(self, *, delta: Real = EXPORT_DELTA) -> Any:
        """Return one round as a ``PrivacyProfile`` of opendp, made of the callable. Needs the package opendp."""
        return self.rounds(1).to_opendp(delta=delta)

    def to_dict(self, *, delta: Real = EXPORT_DELTA) -> dict[str, Any]:
        """Return the upper bounds of the round at some levels as JSON-ready data, exact fractions throughout.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> again = sa.GivenProfile.from_dict(profile.to_dict())
        >>> abs(again.rounds(100).epsilon("1e-8").upper / 0.030937 - 1) < 1e-3
        True
        """
        return self.rounds(1).to_dict(delta=delta)


class RoundProfile(Exported):
    """What can be asked of any round: many of them, Renyi divergences, trade-off functions, and exports."""

    _internal_names = "answer question round"

    @property
    def round(self) -> Round:
        """The round."""
        raise NotImplementedError

    def rounds(self, count: Count) -> Composition:
        """Return ``count`` rounds, adaptively composed.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> 0.0308 < profile.rounds(100).epsilon(delta="1e-8", gap=1e-3).upper < 0.0310
        True
        """
        return Composition.of([(self.round, round_count(count))])

    def renyi(
        self, order: object | Sequence[object], *, gap: float | None = None, effort: str = "default"
    ) -> RenyiCurve:
        """Return certified brackets of the Renyi divergence of one round at an order, or at several.

        >>> import symamp as sa
        >>> print(sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).renyi([2, 64], gap=1e-3))
        1 x (RandomizedResponse(k=10, eps0=1), n = 1,000,000)
        order 2: [5.03...e-07, 5.04...e-07]
        order 64: [0.0000161..., 0.0000161...]
        """
        return self.rounds(1).renyi(order, gap=gap, effort=effort)

    def tradeoff(
        self, level: object | Sequence[object] = (), *, gap: float | None = None, effort: str = "default"
    ) -> TradeOff:
        """Return the trade-off function of one round, bracketed, with its bounds at a level, or at several.

        >>> import symamp as sa
        >>> f = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**4).tradeoff("0.1", gap=1e-2)
        >>> 0.89 < f.lower[0] <= f.upper[0] < 0.9
        True
        """
        return self.rounds(1).tradeoff(level, gap=gap, effort=effort)

    def risk(
        self,
        *,
        prior: Real = "1/2",
        rates: Iterable[object] = RATES,
        gap: float | None = None,
        effort: str = "default",
    ) -> Risk:
        """Return what an attacker gains from one round, in certified ranges: ``Composition.risk``.

        >>> import symamp as sa
        >>> risk = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**4).risk(prior="1/10", rates=["0.01"])
        >>> 0.1 < risk.posterior[0][1].lower < risk.posterior[0][1].upper < 0.11
        True
        """
        return self.rounds(1).risk(prior=prior, rates=rates, gap=gap, effort=effort)
