"""The answer to a question asked backwards: a bracket of eps0, or of n, with the two answers that prove its ends."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from symamp.amplification.answer import Answer
from symamp.amplification.bracket import Interval, json_number
from symamp.amplification.shown import ShownAsText, write_csv
from symamp.errors import ContradictionError
from symamp.numbers.rounding import decimal_end


@dataclass(frozen=True, repr=False)
class Inverse(ShownAsText):
    """A certified bracket of the largest eps0, or of the least n, at which (eps, delta)-privacy holds.

    ``quantity`` is "eps0" or "n". ``private`` and ``not_private`` are the two answers for delta that prove the ends:
    the first has ``upper`` <= delta, the second ``lower`` > delta; None where an end needs no proof or has none.
    ``monotone`` says why privacy holds on the whole safe side and fails on the whole other side; it is None where that
    is not proved, and then each end is a statement about itself alone.

    Plain data: it can be pickled, compared and hashed.

    >>> import symamp as sa
    >>> found = sa.least_n(sa.RandomizedResponse(k=2, eps0=1), eps="0.1", delta="1e-6")
    >>> found.safe == found.upper, found.monotone
    (True, 'removing a user leaves a report that the larger data set can be turned into')
    """

    quantity: str
    subject: str
    asked: tuple[tuple[str, str], ...]
    lower: float
    upper: float
    private: Answer | None
    not_private: Answer | None
    monotone: str | None = None

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross."""
        if not 0 <= self.lower <= self.upper:
            asked = ", ".join(f"{k} = {v}" for k, v in self.asked)
            proofs = f"private: {self.private}; not private: {self.not_private}"
            raise ContradictionError(
                f"{self.quantity} of {self.subject}, {asked}", f"[{self.lower!r}, {self.upper!r}]", proofs
            )

    @property
    def safe(self) -> float:
        """The end at which the mechanism is proved to be private: the lower one for eps0, the upper one for n."""
        return self.lower if self.quantity == "eps0" else self.upper

    @property
    def gap(self) -> float:
        """(upper - lower)/upper."""
        return Interval(self.lower, self.upper).gap

    def to_dict(self) -> dict[str, Any]:
        """Return the bracket for machines: numbers and texts only, infinities as "inf"."""
        return {
            "quantity": self.quantity,
            "mechanism": self.subject,
            **dict(self.asked),
            **{name: json_number(getattr(self, name)) for name in ("lower", "upper", "safe")},
            "monotone": self.monotone,
            "private": None if self.private is None else self.private.to_dict(),
            "not_private": None if self.not_private is None else self.not_private.to_dict(),
        }

    def __str__(self) -> str:
        given = ", ".join(f"{k} = {v}" for k, v in self.asked)
        ends = (self.lower, True), (self.upper, False)
        low, high = (f"{x:,}" if isinstance(x, int) else decimal_end(x, 10, down=down) for x, down in ends)
        what, safe = ("largest eps0", low) if self.quantity == "eps0" else ("least n", high)
        return f"{what} in [{low}, {high}]  ({self.subject}, {given}; private at {safe})"

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write one line: what was asked, both ends, and the safe one."""
        kept = {k: v for k, v in self.to_dict().items() if k not in ("private", "not_private")}
        write_csv(file, list(kept), [list(kept.values())])
