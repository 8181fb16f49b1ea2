"""What a comparison of bounds gives: the rows of one question, and grids of questions with a chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import product
from os import PathLike
from typing import Any

from symamp.amplification.answer import Answer
from symamp.amplification.shown import write_csv
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


@dataclass(frozen=True)
class Comparison:
    """All bounds that apply at one question, least first, and the certified bracket ``truth`` that they stand beside.

    >>> import symamp as sa
    >>> table = sa.compare(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta="1e-6")
    >>> print(f"{table['fmt_2023'].value:.4f} {table['fmt_2023'].ratio:.2f} {table['fmt_2023'].standing}")
    0.1800 7.74 proved
    """

    truth: Answer
    rows: tuple[Row, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise ArgumentError("name", name, f"one of {', '.join(row.name for row in self.rows)}")

    @property
    def refuted(self) -> tuple[Row, ...]:
        """The rows that are refuted at this point."""
        return tuple(row for row in self.rows if row.refuted_here)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, each with the question and the certified bracket."""
        asked = {"subject": self.truth.subject, "n": self.truth.n, **self.truth.given}
        bracket = {"lower": self.truth.lower, "upper": self.truth.upper}
        return [{**asked, **bracket, **asdict(row), "verdict": row.verdict} for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; ImportError if pandas is not installed."""
        return ComparisonGrid((self,)).to_pandas()

    def __str__(self) -> str:
        lines = [f"{self.truth.subject}: {self.truth}"]
        for row in self.rows:
            value, ratio = ("-" if x is None else f"{x:.6g}" for x in (row.value, row.ratio))
            note = f"  [{row.note}]" if row.note else ""
            lines.append(f"{row.name:<20} {value:>12} {ratio:>9}  {row.verdict}{note}")
        return "\n".join(lines)


@dataclass(frozen=True)
class ComparisonGrid:
    """Comparisons over a grid of local budgets, of numbers of users, and of deltas or budgets: ``plot`` draws them.

    ``eps0`` lists the local budgets, (None,) where the mechanism brings its own; they vary slowest, what is given
    fastest.

    >>> import symamp as sa
    >>> grid = sa.compare(sa.RandomizedResponse(k=10, eps0=1), n=[10**3, 10**4], delta="1e-6", names=["gspa"])
    >>> len(grid), [point.truth.n for point in grid]
    (2, [1000, 10000])
    """

    points: tuple[Comparison, ...]
    eps0: tuple[str | None, ...] = (None,)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.points)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows of all points as dictionaries, each with the question and the certified bracket."""
        return [row for point in self.points for row in point.to_dicts()]

    def to_csv(self, file: str | PathLike[str]) -> None:
        """Write one line for each row of each point."""
        rows = self.to_dicts()
        write_csv(file, tuple(rows[0]), (tuple(row.values()) for row in rows))

    def to_pandas(self) -> Any:
        """Return all rows of all points as one pandas DataFrame; ImportError if pandas is not installed."""
        import pandas as pd

        return pd.DataFrame(self.to_dicts())

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw every bound over ``x``, crosses where it is refuted, and the certified bracket; return the Axes.

        ``x`` is "eps0", "n", or "delta" ("eps") as was given; by default the longest axis. One line is drawn for each
        combination of the others. ArgumentError for another ``x``.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(9, 6))
        axes = self._axes()
        x = max(axes, key=lambda name: len(axes[name])) if x is None else x
        if x not in axes:
            raise ArgumentError("x", x, f"one of {', '.join(axes)}")
        places = [float(exact_number(value, x)) for value in axes[x]]
        points = dict(zip(product(*axes.values()), self.points, strict=True))
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
        ax.set_ylabel(self.points[0].truth.quantity)
        ax.legend(fontsize="x-small", ncols=2)
        return ax

    def _axes(self) -> dict[str, list[Any]]:
        """Return what varies, in the order of the points."""
        given = next(iter(self.points[0].truth.given))
        axes: dict[str, list[Any]] = {} if self.eps0 == (None,) else {"eps0": list(self.eps0)}
        axes["n"] = list(dict.fromkeys(point.truth.n for point in self.points))
        return axes | {given: list(dict.fromkeys(point.truth.given[given] for point in self.points))}


def _draw(ax: Any, at: list[tuple[float, Row]], colours: dict[str, Any]) -> None:
    """Draw one bound where it has a value."""
    seen = [(u, row) for u, row in at if row.value]
    if not seen:
        return
    name = seen[0][1].name
    style = "-" if seen[0][1].standing.startswith("proved") else ":"
    label, colour = (None if name in colours else name), colours.get(name)
    (line,) = ax.plot([u for u, _ in seen], [r.value for _, r in seen], style, linewidth=1, label=label, color=colour)
    colours[name] = line.get_color()
    bad = [(u, row.value) for u, row in seen if row.refuted_here]
    ax.plot([u for u, _ in bad], [v for _, v in bad], "x", color=line.get_color())
