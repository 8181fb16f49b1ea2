"""What a comparison of bounds gives: rows for one question or for each of a grid, as a table and as a chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import Any

from symamp.amplification.answer import Answer
from symamp.amplification.shown import ShownAsTable, html_table
from symamp.derivation.axes import axes_for
from symamp.errors import ArgumentError
from symamp.numbers.exact_number import exact_number

_UNDEFINED, _REFUTED, _UNMET = "undefined here", "refuted at this point", "outside its conditions"


@dataclass(frozen=True)
class Row:
    """What one bound says at one question.

    ``value`` is rounded up (down for a lower bound), None where the formula has none; ``ratio`` is to the certified
    upper bound. ``conditions`` lists those of the theorem, each met or not. ``refuted_here`` says that the conditions
    hold and the value lies below the certified lower bound, whatever the standing of the bound is.
    """

    name: str
    value: float | None
    ratio: float | None
    standing: str
    conditions: str
    refuted_here: bool
    source: str
    applies: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """The row in words: "undefined here", "refuted at this point", "outside its conditions", or its standing."""
        if self.value is None:
            return _UNDEFINED
        return _REFUTED if self.refuted_here else self.standing if self.applies else _UNMET


@dataclass(frozen=True, repr=False)
class Comparison(ShownAsTable):
    """All bounds that apply at one question, or at each of several, beside the certified brackets.

    ``truths`` has the bracket of each question, ``found`` the rows, least first; iteration gives the comparisons one
    by one. ``eps0`` lists the local budgets, (None,) where the mechanism brings its own; they vary slowest, what is
    given fastest.

    >>> import symamp as sa
    >>> table = sa.compare(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta="1e-6")
    >>> print(f"{table['fmt_2023'].value:.4f} {table['fmt_2023'].ratio:.2f} {table['fmt_2023'].standing}")
    0.1800 7.74 proved
    >>> grid = sa.compare(sa.RandomizedResponse(k=10, eps0=1), n=[10**3, 10**4], delta="1e-6", names=["gspa"])
    >>> len(grid), [point.truth.n for point in grid]
    (2, [1000, 10000])
    """

    truths: tuple[Answer, ...]
    found: tuple[tuple[Row, ...], ...]
    eps0: tuple[str | None, ...] = (None,)

    def __len__(self) -> int:
        return len(self.truths)

    def __iter__(self) -> Iterator[Comparison]:
        return (Comparison((truth,), (rows,)) for truth, rows in zip(self.truths, self.found, strict=True))

    def __getitem__(self, name: str) -> Row:
        """Return the row of a bound at the only question."""
        self._check_single()
        for row in self.rows:
            if row.name == name:
                return row
        raise ArgumentError("name", name, f"one of {', '.join(row.name for row in self.rows)}")

    def _check_single(self) -> None:
        if len(self) != 1:
            raise ArgumentError("comparison", f"{len(self)} questions", "one question: iteration gives one by one")

    @property
    def truth(self) -> Answer:
        """The certified bracket, of the only question."""
        self._check_single()
        return self.truths[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all questions."""
        return tuple(row for rows in self.found for row in rows)

    @property
    def refuted(self) -> tuple[Row, ...]:
        """The rows that are refuted where they stand."""
        return tuple(row for row in self.rows if row.refuted_here)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, each with its question and the certified bracket."""
        return [
            {
                **{"subject": truth.subject, "n": truth.n, **truth.given, "lower": truth.lower, "upper": truth.upper},
                **asdict(row),
                "verdict": row.verdict,
            }
            for truth, rows in zip(self.truths, self.found, strict=True)
            for row in rows
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what ``to_dicts`` gives."""
        own = (f.name for f in fields(Row))
        return "subject", "n", *self.truths[0].given, "lower", "upper", *own, "verdict"

    def _cells(self) -> Iterator[tuple[object, ...]]:
        return (tuple(row.values()) for row in self.to_dicts())

    def _repr_html_(self) -> str:
        asked = () if len(self) == 1 else self.columns[:3]
        shown = (*asked, "name", "value", "ratio", "verdict", "note", "source")
        title = f"{self.truth.subject}: {self.truth}" if len(self) == 1 else f"{len(self)} questions"
        return html_table(title, shown, [[row[name] for name in shown] for row in self.to_dicts()])

    def __str__(self) -> str:
        lines = []
        for truth, rows in zip(self.truths, self.found, strict=True):
            lines.append(f"{truth.subject}: {truth}")
            for row in rows:
                value, ratio = ("-" if x is None else f"{x:.6g}" for x in (row.value, row.ratio))
                note = f"  [{row.note}]" if row.note else ""
                lines.append(f"{row.name:<20} {value:>12} {ratio:>9}  {row.verdict}{note}")
        return "\n".join(lines)

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw every bound over ``x``, crosses where it is refuted, and the certified bracket; return the Axes.

        ``x`` is "eps0", "n", or "delta" ("eps") as was given; by default the longest axis. One line is drawn for each
        combination of the others. ArgumentError for another ``x``.
        """
        ax, axes = axes_for(ax, figsize=(9, 6)), self._axes()
        x = max(axes, key=lambda name: len(axes[name])) if x is None else x
        if x not in axes:
            raise ArgumentError("x", x, f"one of {', '.join(axes)}")
        places = [float(exact_number(value, x)) for value in axes[x]]
        points = dict(zip(product(*axes.values()), self, strict=True))
        order = sorted(range(len(places)), key=places.__getitem__)
        colours: dict[str, Any] = {}
        for rest in product(*(values if name != x else axes[x][:1] for name, values in axes.items())):
            keys = [tuple(v if name == x else r for name, r in zip(axes, rest, strict=True)) for v in axes[x]]
            line = [(places[i], points[keys[i]]) for i in order]
            ends = [[getattr(point.truth, end) for _, point in line] for end in ("lower", "upper")]
            label = None if colours else "certified"
            ax.fill_between([u for u, _ in line], *ends, color="black", alpha=0.5, label=label)
            for name in dict.fromkeys(row.name for _, point in line for row in point.rows):
                _draw(ax, [(u, row) for u, point in line for row in point.rows if row.name == name], colours)
        ax.set_xscale("linear" if x == "eps" or min(places) <= 0.0 else "log")
        ax.set_yscale("log")
        ax.set_xlabel(x)
        ax.set_ylabel(self.truths[0].quantity)
        ax.legend(fontsize="x-small", ncols=2)
        return ax

    def _axes(self) -> dict[str, list[Any]]:
        """Return what varies, in the order of the points."""
        given = next(iter(self.truths[0].given))
        axes: dict[str, list[Any]] = {} if self.eps0 == (None,) else {"eps0": list(self.eps0)}
        axes["n"] = list(dict.fromkeys(truth.n for truth in self.truths))
        return axes | {given: list(dict.fromkeys(truth.given[given] for truth in self.truths))}


def _draw(ax: Any, at: list[tuple[float, Row]], colours: dict[str, Any]) -> None:
    """Draw one bound where it has a value."""
    seen = [(u, row) for u, row in at if row.value]
    if not seen:
        return
    name = seen[0][1].name
    style = ("-" if seen[0][1].standing.startswith("proved") else ":") + "o" * (len(seen) == 1)
    label, colour = (None if name in colours else name), colours.get(name)
    (line,) = ax.plot([u for u, _ in seen], [r.value for _, r in seen], style, linewidth=1, label=label, color=colour)
    colours[name] = line.get_color()
    bad = [(u, row.value) for u, row in seen if row.refuted_here]
    ax.plot([u for u, _ in bad], [v for _, v in bad], "x", color=line.get_color())
