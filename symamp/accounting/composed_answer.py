"""The answer about many rounds: a certified bracket with the evidence for both ends, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from flint import fmpq

from symamp.accounting.composed_certificate import composed_certificate
from symamp.accounting.side import Side
from symamp.amplification.answer import Answer
from symamp.amplification.bracket import Bracket
from symamp.amplification.certificate_text import fraction_text
from symamp.errors import ArgumentError
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.exact_number import exact_number
from symamp.numbers.surroundings import undisturbed

COVERED = (
    "adaptive rounds with fresh randomness: mechanism, users (n or more) and all inputs may depend on earlier outputs; "
    "not covered: memoised randomness, budgets chosen from the transcript"
)
_SLACK = fmpq(1, 10**9)
_ABOUT = 1.5
"""The number of points for a gap is a rule of thumb."""


@dataclass(frozen=True, repr=False)
class ComposedAnswer(Bracket):
    """A certified bracket for ``epsilon`` or ``delta`` of many rounds.

    All rounds together are private at ``upper``, for adaptive queries; some data sets and queries are not below
    ``lower``. Both are doubles rounded outward. ``covered`` says what may adapt. ``gaussian`` is what the approximation
    by a normal loss says (mu-GDP): no bound, None for one round; ``gaussian_place`` tells its error. ``gap_limited_by``
    says why a bracket of eps is wider than was asked for.

    >>> import symamp as sa
    >>> answer = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100).epsilon(delta="1e-8", gap=1e-3)
    >>> 0.03089 < answer.lower < answer.upper < 0.03095
    True
    """

    quantity: str
    given: str
    least: Dyadic
    most: Dyadic
    rounds: tuple[tuple[str, int], ...]
    above: Side | None = None
    below: Side | None = None
    gaussian: float | None = None
    alone: Answer | None = None
    aimed: float | None = None

    @property
    def is_probability(self) -> bool:
        """Whether the bracket is one of delta."""
        return self.quantity == "delta"

    @property
    def asked_about(self) -> str:
        """The question in one line."""
        return f"{self.quantity} of {self._question()}"

    @property
    def shown_evidence(self) -> str:
        """The evaluations behind both ends, in one line."""
        return "; ".join(
            f"{name}: " + ("none" if side is None else f"at {side.eps} by {side.plan}")
            for name, side in (("above", self.above), ("below", self.below))
        )

    @property
    def gap_limited_by(self) -> str:
        """What keeps the bracket of eps wider than the ``gap`` that was aimed at, in words; "" where nothing does."""
        if self.aimed is None or self.upper <= self.lower * (1.0 + _ABOUT * self.aimed):
            return ""
        width = self.upper / self.lower - 1.0 if self.lower > 0.0 else inf
        return f"the bounds of one round are apart: the width is {width:.2g}, aimed at was {self.aimed:.2g}"

    @property
    def gaussian_place(self) -> str:
        """Where the Gaussian approximation lies: how far below or above the certified bracket."""
        if self.gaussian is None or self.gaussian == self.upper:
            return "inside the bracket"
        if self.gaussian < self.lower:
            return f"{1.0 - self.gaussian / self.lower:.2g} relative below the bracket"
        above = self.gaussian / self.upper - 1.0 if self.upper > 0.0 else inf
        return f"{above:.2g} relative above the bracket" if above > 0.0 else "inside the bracket"

    @property
    def covered(self) -> str:
        """What the upper end covers, and what it does not."""
        return COVERED

    @undisturbed()
    def certificate(self) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search, as JSON-ready data.

        Each point of each curve has a certificate of its own, as the numbers of one round have. The ends are wider by
        a part in 10^9, for roundings; a lower end from cells of messages is not claimed. Takes some seconds. One round
        by itself has the certificate of its ``Answer``.

        Raises ArgumentError for answers without points, and for rounds whose bounds no certificate can carry.
        """
        if self.alone is not None:
            return self.alone.certificate()
        if self.above is None and self.below is None:
            raise ArgumentError("certificate", str(self), "an answer about several rounds, with points behind it")
        given = exact_number(self.given, self.quantity)
        if not given.is_Rational:
            raise ArgumentError("certificate", self.given, "a rational eps")
        listed = self.below is not None and all(
            c.data_set is None or c.data_set[0].decomposition.is_listed for c in self.below.curves
        )
        low = self.least.fraction * (1 - _SLACK) if listed and self.least.exponent is not None else None
        high = self.most.fraction * (1 + _SLACK) if self.above is not None and self.most.exponent is not None else None
        claim = {
            "quantity": self.quantity,
            "delta" if self.quantity == "epsilon" else "eps": fraction_text(given),
            "lower": "0" if low is None else fraction_text(low),
            "upper": ("inf" if self.quantity == "epsilon" else "1") if high is None else fraction_text(high),
        }
        return composed_certificate(claim, self.rounds, self.above, self.below if low else None)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for machines: numbers and texts only, infinities as "inf"."""
        low, high = self.decimals()
        return {
            "quantity": self.quantity,
            **self.ends_json(),
            "lower_text": low,
            "upper_text": high,
            "delta" if self.quantity == "epsilon" else "eps": self.given,
            "rounds": [{"round": text, "count": count} for text, count in self.rounds],
            "covered": self.covered,
            "gaussian": self.gaussian,
            "gap_limited_by": self.gap_limited_by,
            "gaussian_place": None if self.gaussian is None else self.gaussian_place,
        }

    def __str__(self) -> str:
        low, high = self.decimals()
        return f"{self.quantity} in [{low}, {high}]  ({self._question()})"

    def _question(self) -> str:
        name = "delta" if self.quantity == "epsilon" else "eps"
        what = " + ".join(f"{count:,} x ({text})" for text, count in self.rounds)
        return f"{name} = {self.given}; {what}"
