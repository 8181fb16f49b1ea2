"""A certified bracket: two exact ends, and how they are printed, formatted and exported."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import inf, isfinite
from os import PathLike
from typing import Any, ClassVar

import mpmath
from flint import arb

from symamp.errors import ArgumentError, ContradictionError, Problem
from symamp.numbers.dyadic import ZERO, Dyadic, decimal_end, float_above, float_below
from symamp.numbers.optional import optional
from symamp.numbers.reading import digit_count
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.public_names import PublicNames

# ----------------------------------------------- What notebooks and files are given of a result: tables in HTML and CSV

_MOST_ROWS = 20
"""Rows of a table that a notebook shows."""
_ENDS = {"lower": True, "log10_lower": True, "upper": False, "log10_upper": False}


class ShownAsText(PublicNames):
    """A result that looks the same in a list, at a prompt and where it is printed."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_html_(self) -> str:
        shown = escape(str(self))
        return f"<pre>{shown}</pre>" if "\n" in shown else f"<code>{shown}</code>"


class ShownAsTable(ShownAsText):
    """A result with ``rows``, and the names of their ``columns``."""

    columns: Any
    rows: Any
    _ends: ClassVar[Mapping[str, bool]] = _ENDS
    """The columns that are certified ends, and whether these are rounded down where they are shown."""

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write the names of the columns and one line for each row."""
        write_csv(file, self.columns, self._cells())

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; MissingPackageError if pandas is not installed."""
        return optional("pandas", "pandas").DataFrame(list(self._cells()), columns=list(self.columns))

    def to_latex(self) -> str:
        """Return the table in LaTeX, as a tabular."""
        lines = [
            " & ".join(
                cell(x, self._ends.get(c)).translate(_LATEX_SIGNS) for x, c in zip(row, self.columns, strict=True)
            )
            for row in (self.columns, *self._cells())
        ]
        head, *body = (rf"{line} \\" for line in lines)
        return "\n".join([rf"\begin{{tabular}}{{{'l' * len(self.columns)}}}", head, r"\hline", *body, r"\end{tabular}"])

    def _cells(self) -> Iterable[Sequence[object]]:
        found: Iterable[Sequence[object]] = self.rows()
        return found

    def _repr_html_(self) -> str:
        return html_table(self._title(), self.columns, self._cells(), self._ends)

    def _title(self) -> str:
        return str(self)


_LATEX_SIGNS = str.maketrans({c: rf"\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"})


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], ends: Mapping[str, bool] = _ENDS
) -> str:
    """Return a table in HTML, of the first rows where there are many."""
    listed = [list(row) for row in rows]
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    sides = [ends.get(c) for c in columns]
    shown = ([escape(cell(x, down)) for x, down in zip(r, sides, strict=True)] for r in listed[:_MOST_ROWS])
    body = "".join("<tr>" + "".join(f"<td>{x}</td>" for x in r) + "</tr>" for r in shown)
    more = f"<p>{len(listed) - _MOST_ROWS:,} more</p>" if len(listed) > _MOST_ROWS else ""
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def write_csv(file: str | PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write the columns' names and one line for each row."""
    with open(file, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)


def cell(value: object, down: bool | None = None) -> str:
    """Return a value as a table shows it, rounded down or up where that is said.

    >>> cell(2 / 3, down=True), cell(2 / 3)
    ('0.666666', '0.666667')
    """
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float) and down is not None:
        return decimal_end(value, 6, down=down)
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


# ------------------------------------------------------- A certified bracket: two exact ends, and the ways to read them

_ONE = Dyadic(1)
_DIGITS = 10
"""Of an end that is printed."""
_LONG, _LONG_BITS = 10**6, 8192
"""Exponents beyond which powers of ten are not written out, and the precision that takes their place."""
APART = 1e-12
"""Places, relative to their size, that are no more apart are not compared: doubles do not tell which is the larger."""


@dataclass(frozen=True)
class Interval:
    """Two doubles, rounded outward."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """(upper - lower)/upper, the relative width; 0 where the ends are equal, 1 below infinity."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if isfinite(self.upper) else 1.0

    def __str__(self) -> str:
        return f"[{self.lower!r}, {self.upper!r}]"


class ShownEnds(ShownAsText):
    """What is written of ends, rounded outward: in digits, or in the format of a number; they are no single number."""

    _is_no_number = "is an interval", "take .upper, or .lower"

    def _written(self, digits: int, kind: str) -> str:
        """Return the text, with all ends in so many digits of a kind."""
        raise NotImplementedError

    @property
    def _name(self) -> str:
        return str(getattr(self, "quantity", type(self).__name__))

    def rounded(self, digits: int) -> str:
        """Return the text with all ends rounded outward to so many significant digits, from 1 to 1000.

        >>> import symamp as sa
        >>> sa.delta(sa.RandomizedResponse(k=3, eps0=1), n=10**6, eps="0.1").rounded(2)
        '[2.6e-1745, 2.7e-1745]'
        """
        return self._written(digit_count(digits), "g")

    def __format__(self, spec: str) -> str:
        number = _NUMBER_FORMAT.fullmatch(spec)
        if number is not None:
            return self._written(int(number[1]), number[2])
        try:
            return format(str(self), spec)
        except ValueError:
            accepted = "digits, such as .6f, .3e or .4g, whose ends are rounded outward; or a width, such as 40"
            raise ArgumentError("format", spec, accepted) from None

    def __float__(self) -> float:
        wrong, remedy = self._is_no_number
        raise ArgumentError("float", Problem(f"{self._name} {wrong}"), remedy + ', or print f"{answer:.6f}"')


class TwoEnds(ShownEnds):
    """What is shown of two exact ends: always both of them, rounded outward.

    >>> import symamp as sa
    >>> answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=1000, delta="1e-6")
    >>> f"{answer:.4f}", answer.rounded(3), answer.to_latex(3)
    ('[0.1305, 0.1307]', '[0.13, 0.131]', '\\\\varepsilon \\\\in [0.13, 0.131]')
    >>> float(answer)
    Traceback (most recent call last):
    ...
    symamp.errors.ArgumentError: float: epsilon is an interval; take .upper, or .lower, or print f"{answer:.6f}"
    """

    _internal_names = "exact_ends"

    def exact_ends(self) -> tuple[Dyadic, Dyadic]:
        """Return both ends as they are known."""
        raise NotImplementedError

    def to_latex(self, digits: int = 6) -> str:
        """Return quantity and bracket in LaTeX, rounded outward to so many significant digits."""
        ends = (_LATEX_POWER.sub(r" \\cdot 10^{\1\2}", end) for end in self._both(digit_count(digits), "g"))
        low, high = (r"\infty" if end == "inf" else end for end in ends)
        return rf"{_LATEX_NAMES.get(self._name, self._name)} \in [{low}, {high}]"

    def _both(self, digits: int, kind: str) -> tuple[str, str]:
        low, high = self.exact_ends()
        return decimal_text(low, digits, kind, down=True), decimal_text(high, digits, kind, down=False)

    def _written(self, digits: int, kind: str) -> str:
        low, high = self._both(digits, kind)
        return f"[{low}, {high}]"


class ManyEnds(ShownAsTable, ShownEnds):
    """What is shown of several brackets: all ends rounded outward, in a text and as a table.

    >>> import symamp as sa
    >>> curve = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=1000).renyi([2, 3], gap="0.01")
    >>> print(f"{curve:.1e}")
    1 x (RandomizedResponse(k=10, eps0=1), n = 1,000)
    order 2: [4.9e-04, 5.1e-04]
    order 3: [7.4e-04, 7.6e-04]
    """

    text: str
    _digits = _DIGITS
    _is_no_number = "holds several intervals", "take one of its ends"

    def _text(self, shown: Callable[[Interval], str]) -> str:
        """Return the text, in which each bracket is shown by the function."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, object]:
        """Return the columns for machines, infinities as "inf"."""
        known = (
            [json_number(x) if isinstance(x, float) else str(x) for x in c] for c in zip(*self.rows(), strict=True)
        )
        return {**dict(zip(self.columns, known, strict=False)), "rounds": self.text}

    def _written(self, digits: int, kind: str) -> str:
        def shown(found: Interval) -> str:
            low = decimal_text(Dyadic.of_float(found.lower), digits, kind, down=True)
            return f"[{low}, {decimal_text(Dyadic.of_float(found.upper), digits, kind, down=False)}]"

        return self._text(shown)

    def __str__(self) -> str:
        return self._written(self._digits, "g")


_NUMBER_FORMAT, _LATEX_POWER = re.compile(r"\.(\d{1,3})([efg])"), re.compile(r"e\+?(-?)0*(\d+)$")
_LATEX_NAMES = {"epsilon": r"\varepsilon", "delta": r"\delta", "eps0": r"\varepsilon_0", "rounds": r"\mathrm{rounds}"}


class Bracket(TwoEnds):
    """What all answers with the exact ends ``least`` and ``most`` share: made only if these do not contradict.

    >>> bracket = Bracket()
    >>> bracket.least, bracket.most = Dyadic(1, -2), Dyadic(5, -4)
    >>> bracket.decimals(), bracket.gap
    (('0.25', '0.3125'), 0.2)
    """

    _internal_names = "asked_about ends_json is_probability least most shown_evidence"

    least: Dyadic
    most: Dyadic

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross, are negative, or are probabilities above 1."""
        if not self.most < self.least and not self.least < ZERO and not (self.is_probability and self.most > _ONE):
            return
        raise ContradictionError(self.asked_about, f"[{_end(self.least)}, {_end(self.most)}]", self.shown_evidence)

    @property
    def is_probability(self) -> bool:
        """Whether the bracket is one of delta."""
        return False

    @property
    def asked_about(self) -> str:
        """What was asked, with all that is needed to ask it again."""
        return type(self).__name__

    @property
    def shown_evidence(self) -> str:
        """The evidence for both ends, for reports of a fault."""
        return "none"

    @property
    def lower(self) -> float:
        """The lower end, rounded down: the mechanism is provably not private below it."""
        return self.least.below

    @property
    def upper(self) -> float:
        """The upper end, rounded up: the mechanism is private there."""
        return self.most.above

    @property
    def log10_lower(self) -> float:
        """log10 of the lower bound, rounded down: right also below the smallest double."""
        value = _log10(self.least)
        return -inf if value is None else float_below(value)

    @property
    def log10_upper(self) -> float:
        """log10 of the upper bound, rounded up: right also below the smallest double."""
        value = _log10(self.most)
        return -inf if value is None else float_above(value)

    @property
    def gap(self) -> float:
        """(upper - lower)/upper: how far the bracket is from the truth, relative; 0 for an exact answer."""
        return Interval(self.lower, self.upper).gap

    def as_mpf(self) -> tuple[mpmath.mpf, mpmath.mpf]:
        """Return (lower, upper) as mpmath numbers that carry the exact ends of the enclosure."""
        return self.least.as_mpf(), self.most.as_mpf()

    def decimals(self) -> tuple[str, str]:
        """Return (lower, upper) as decimals, rounded outward to ten digits."""
        return self._both(_DIGITS, "g")

    def exact_ends(self) -> tuple[Dyadic, Dyadic]:
        return self.least, self.most

    def ends_json(self) -> dict[str, float | str]:
        """Return the ends, and log10 of them, for JSON: infinities as texts."""
        names = ("lower", "upper", "log10_lower", "log10_upper")
        return {name: json_number(getattr(self, name)) for name in names}


def _end(x: Dyadic) -> str:
    return str(mpmath.nstr(x.as_mpf(), 17))


def falling(question: str, places: Sequence[tuple[float, Bracket]]) -> None:
    """Raise ContradictionError where an end lies beyond what the order of the places allows.

    The truth does not rise from one place to a larger one: no lower end may exceed the upper end of an earlier place.
    Places that share a double, or nearly, are not compared: which of them is the larger is not seen.
    """
    order = sorted(places, key=lambda at: at[0])
    lowest: tuple[float, Bracket] | None = None
    waiting = 0
    for place, found in order:
        while order[waiting][0] * (1.0 + APART) < place:
            if lowest is None or order[waiting][1].most < lowest[1].most:
                lowest = order[waiting]
            waiting += 1
        if lowest is not None and lowest[1].most < found.least:
            told = f"at most {_end(lowest[1].most)} at {lowest[0]!r}, at least {_end(found.least)} at {place!r}"
            raise ContradictionError(question, told, f"{lowest[1].shown_evidence} against {found.shown_evidence}")


def json_number(x: float) -> float | str:
    """Return a number as JSON can carry it."""
    return x if abs(x) != inf else ("inf" if x > 0 else "-inf")


def _log10(x: Dyadic) -> arb | None:
    if x.mantissa == 0 and x.exponent is not None:
        return None
    with at_precision(128):
        return x.ball.log() / arb.const_log10()


def outward_decimal(x: float, *, down: bool) -> str:
    """Return a double >= 0 as a decimal, rounded down or up to ten digits."""
    return decimal_text(Dyadic.of_float(x), _DIGITS, "g", down=down)


def decimal_text(x: Dyadic, digits: int, kind: str, *, down: bool) -> str:
    """Return a number >= 0 as a decimal, rounded down or up: exactly, however large or small it is.

    ``kind`` is "f" for so many decimals, "e" for so many after the first digit, "g" for so many digits in all.

    >>> [decimal_text(Dyadic(2, -2), 2, kind, down=True) for kind in "feg"]
    ['0.50', '5.00e-01', '0.5']
    """
    if x.exponent is None:
        return "inf"
    if kind == "f":
        whole = str(_scaled(x, digits, down)).rjust(digits + 1, "0")
        return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    count = digits + 1 if kind == "e" else max(digits, 1)
    if x.mantissa == 0:
        return f"{0:.{digits}e}" if kind == "e" else "0"
    size = _log10(x)
    assert size is not None
    with at_precision(CAREFUL_BITS):
        exponent = int(size.upper().floor().unique_fmpz()) + 1
    while _scaled(x, count - 1 - exponent, True) < 10 ** (count - 1):
        exponent -= 1
    scaled = _scaled(x, count - 1 - exponent, down)
    if scaled >= 10**count:
        scaled, exponent = scaled // 10, exponent + 1
    text = str(scaled)
    if kind == "g" and -5 <= exponent < 6:
        value = text.ljust(exponent + 1, "0") if exponent >= count - 1 else _placed(text, exponent)
        return value.rstrip("0").rstrip(".") if "." in value else value
    mantissa = f"{text[0]}.{text[1:]}" if count > 1 else text
    return (mantissa if kind == "e" or count == 1 else mantissa.rstrip("0").rstrip(".")) + f"e{exponent:+03d}"


def _scaled(x: Dyadic, places: int, down: bool) -> int:
    """Return x * 10^places, rounded down or up to an integer."""
    assert x.exponent is not None
    if max(abs(x.exponent), abs(places)) > _LONG:
        with at_precision(_LONG_BITS):  # an integer next to it, on the right side
            ball = x.ball * arb(10) ** places
            end = ball.lower().floor() if down else ball.upper().ceil()
            return int(end.unique_fmpz())
    above: int = x.mantissa * 10 ** max(places, 0) << max(x.exponent, 0)
    below: int = 10 ** max(-places, 0) << max(-x.exponent, 0)
    return above // below if down else -(-above // below)


def _placed(text: str, exponent: int) -> str:
    return "0." + "0" * (-exponent - 1) + text if exponent < 0 else f"{text[: exponent + 1]}.{text[exponent + 1 :]}"
