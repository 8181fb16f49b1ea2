"""What notebooks and files are given of a result: tables in HTML and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from os import PathLike
from typing import Any, ClassVar

from symamp.numbers.optional import optional
from symamp.numbers.rounding import decimal_end

_SHOWN = 20
_ENDS = {"lower": True, "log10_lower": True, "upper": False, "log10_upper": False}


class ShownAsText:
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
        """Return the rows as a pandas DataFrame; ImportError if pandas is not installed."""
        return optional("pandas", "pandas").DataFrame(list(self._cells()), columns=list(self.columns))

    def _cells(self) -> Iterable[Sequence[object]]:
        found: Iterable[Sequence[object]] = self.rows()
        return found

    def _repr_html_(self) -> str:
        return html_table(self._title(), self.columns, self._cells(), self._ends)

    def _title(self) -> str:
        return str(self)


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], ends: Mapping[str, bool] = _ENDS
) -> str:
    """Return a table in HTML, of the first rows where there are many.

    >>> html_table("one row", ["a", "b"], [[1, 0.25]]).count("<td>")
    2
    """
    listed = [list(row) for row in rows]
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    sides = [ends.get(c) for c in columns]
    shown = ([escape(cell(x, down)) for x, down in zip(r, sides, strict=True)] for r in listed[:_SHOWN])
    body = "".join("<tr>" + "".join(f"<td>{x}</td>" for x in r) + "</tr>" for r in shown)
    more = f"<p>{len(listed) - _SHOWN:,} more</p>" if len(listed) > _SHOWN else ""
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
