"""Every bound of the literature at one question, beside the certified truth: what it says, and its standing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.amplification.answer import Answer
from symamp.amplification.certify import epsilon_above
from symamp.amplification.crowd_answer import CrowdAnswer
from symamp.amplification.profile import Profile
from symamp.amplification.question import Question
from symamp.amplification.questions import delta as delta_of
from symamp.amplification.questions import epsilon as epsilon_of
from symamp.analyses.analysis import Analysis
from symamp.analyses.crowd import Crowd
from symamp.analyses.registry import ANALYSES
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError, SymampError
from symamp.evaluation.divergence import Settings
from symamp.evaluation.inversion import log_of
from symamp.literature.closed_form import ClosedForm, Provenance, Reading
from symamp.literature.forms.normal import gspa_of
from symamp.literature.shelf import CLOSED_FORMS
from symamp.mechanisms.neighbours import ALL
from symamp.numbers.arguments import budget, failure_probability

_SETTINGS = Settings(gap=1e-4)
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

    truth: Answer | CrowdAnswer
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
        """Return the rows as dictionaries, each with the question."""
        asked = {"subject": self.truth.subject, "n": self.truth.n, **self.truth.given}
        bracket = {"lower": self.truth.lower, "upper": self.truth.upper}
        return [{**asked, **bracket, **asdict(row), "verdict": row.verdict} for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; ImportError if pandas is not installed."""
        return _frame([self])

    def __str__(self) -> str:
        lines = [f"{self.truth.subject}: {self.truth}"]
        for row in self.rows:
            value, ratio = ("-" if x is None else f"{x:.6g}" for x in (row.value, row.ratio))
            note = f"  [{row.note}]" if row.note else ""
            lines.append(f"{row.name:<20} {value:>12} {ratio:>9}  {row.verdict}{note}")
        return "\n".join(lines)


@dataclass(frozen=True)
class ComparisonGrid:
    """Comparisons over a grid of numbers of users, and of deltas or budgets: ``plot`` draws them.

    >>> import symamp as sa
    >>> grid = sa.compare(sa.PureLDP(eps0=1), n=[10**3, 10**4], delta="1e-6")
    >>> len(grid), [point.truth.n for point in grid]
    (2, [1000, 10000])
    """

    points: tuple[Comparison, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.points)

    def to_pandas(self) -> Any:
        """Return all rows of all points as one pandas DataFrame; ImportError if pandas is not installed."""
        return _frame(self.points)

    def plot(self, ax: Any = None) -> Any:
        """Draw every bound over n, or over what else varies, crosses where refuted; return the matplotlib Axes."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(9, 6))
        given = next(iter(self.points[0].truth.given))
        over_n = len({point.truth.n for point in self.points}) > 1
        x = [float(p.truth.n) if over_n else float(sp.sympify(p.truth.given[given])) for p in self.points]
        ax.fill_between(
            x,
            [p.truth.lower for p in self.points],
            [p.truth.upper for p in self.points],
            color="black",
            alpha=0.5,
            label="certified",
        )
        for name in dict.fromkeys(row.name for p in self.points for row in p.rows):
            at = [(u, row) for u, p in zip(x, self.points, strict=True) for row in p.rows if row.name == name]
            seen = [(u, row) for u, row in at if row.value]
            if not seen:
                continue
            style = "-" if seen[0][1].standing.startswith("proved") else ":"
            (line,) = ax.plot([u for u, _ in seen], [row.value for _, row in seen], style, linewidth=1, label=name)
            bad = [(u, row.value) for u, row in seen if row.refuted_here]
            ax.plot([u for u, _ in bad], [v for _, v in bad], "x", color=line.get_color())
        ax.set_xscale("log" if over_n or given == "delta" else "linear")
        ax.set_yscale("log")
        ax.set_xlabel("n" if over_n else given)
        ax.set_ylabel(self.points[0].truth.quantity)
        ax.legend(fontsize="x-small", ncols=2)
        return ax


def compare(
    mechanism: Subject | Crowd,
    *,
    n: object = None,
    delta: object = None,
    eps: object = None,
    names: Sequence[str] | None = None,
    neighbours: object = ALL,
) -> Comparison | ComparisonGrid:
    """Return every bound of the literature that applies, with its value at ``delta`` (or at ``eps``), side by side.

    Each row has ``name, value, ratio, standing, conditions, refuted_here, source``: the value of the bound rounded up,
    its ratio to the certified upper bound, what is known of it, whether the conditions of its theorem hold, and
    whether it is refuted here by the certified lower bound. Exactly one of ``delta`` and ``eps`` is given. Lists for
    ``n``, ``delta`` or ``eps`` give a grid. ``names`` selects rows; ``neighbours`` says which inputs are compared,
    as for ``epsilon``.

    Users who differ (``heterogeneous``) bring their number with them; beside their bound stands the approximation of
    Chen, Cao and Ge (2024).

    Values of proved bounds are certified; those of others are evaluated as carefully and prove nothing.

    Raises ArgumentError for arguments out of range, unknown names, and unless exactly one of delta and eps is given;
    what ``epsilon`` and ``delta`` raise.

    >>> import symamp as sa
    >>> table = sa.compare(sa.RandomizedResponse(k=100, eps0=1), n=10**4, delta="1e-12", names=["wang_4_7", "fmt_2023"])
    >>> for row in table.rows:
    ...     print(row.name, f"{row.value:.4f} {row.ratio:.2f}", row.verdict)
    wang_4_7 0.0109 0.77 refuted at this point
    fmt_2023 0.2408 17.01 proved
    """
    if (delta is None) == (eps is None):
        both = "both" if delta is not None else "neither"
        raise ArgumentError("delta, eps", both, "exactly one of them")
    given = delta if eps is None else eps
    if isinstance(mechanism, Crowd):
        if n is not None or names is not None or neighbours != ALL:
            raise ArgumentError("n, names, neighbours", (n, names, neighbours), "none of them for users who differ")
        return _crowd(mechanism, given, eps is None)
    chosen = _chosen(names)
    if not any(isinstance(x, list | tuple | range) for x in (n, given)):
        return _point(mechanism, n, given, eps is None, chosen, neighbours)
    grid = product(_listed(n), _listed(given))
    return ComparisonGrid(tuple(_point(mechanism, users, at, eps is None, chosen, neighbours) for users, at in grid))


def _listed(x: object) -> list[object]:
    found = list(x) if isinstance(x, list | tuple | range) else [x]
    if not found:
        raise ArgumentError("grid", "an empty list", "at least one value")
    return found


_DATA_SET = "data_set"


def _chosen(names: Sequence[str] | None) -> frozenset[str]:
    known = (_DATA_SET, *ANALYSES, *CLOSED_FORMS)
    for name in () if names is None else (names,) if isinstance(names, str) else names:
        if name not in known:
            raise ArgumentError("names", name, f"some of {', '.join(known)}")
    return frozenset(known if names is None else (names,) if isinstance(names, str) else names)


def _point(
    mechanism: Subject, n: object, given: object, for_epsilon: bool, chosen: frozenset[str], neighbours: object
) -> Comparison:
    question = Question.of(mechanism, n, None, neighbours)
    profile = Profile(question)
    truth = profile.epsilon(given) if for_epsilon else profile.delta(given)
    subject: Subject = question.subject
    rows = [_data_set(truth)] if _DATA_SET in chosen else []
    asked: fmpq | sp.Expr = failure_probability(given) if for_epsilon else budget(given)
    for analysis in ANALYSES.values():
        if analysis.name in chosen and analysis.supports(subject) is None:
            rows += _of_analysis(analysis, subject, truth, asked)
    for form in CLOSED_FORMS.values():
        if form.name in chosen and form.supports(subject) is None:
            rows.append(_of_form(form, subject, truth, asked))
    return Comparison(truth, tuple(sorted(rows, key=lambda r: (r.value is None, r.value or 0.0, r.name))))


def _crowd(crowd: Crowd, given: object, for_epsilon: bool) -> Comparison:
    truth = epsilon_of(crowd, delta=given) if for_epsilon else delta_of(crowd, eps=given)
    asked: fmpq | sp.Expr = failure_probability(given) if for_epsilon else budget(given)
    widest: Subject = max((s for _, s in crowd.groups), key=lambda s: float(sp.N(s.local_ratio())))
    own = _row(f"{crowd.shuffled}_shuffled", Reading(truth.upper), Standing.PROVED, truth.source, truth)
    rows = (own, _of_form(gspa_of(crowd), widest, truth, asked))
    return Comparison(truth, tuple(sorted(rows, key=lambda r: (r.value is None, r.value or 0.0))))


def _data_set(truth: Answer) -> Row:
    note = "" if truth.dataset is None else str(truth.dataset)
    ratio = truth.lower / truth.upper if truth.upper > 0.0 else None
    source = "Su, Cheng, Wang 2025, Theorem 14, and Feldman, McMillan, Talwar 2023, Theorem 5.3"
    return Row(_DATA_SET, truth.lower, ratio, Standing.LOWER.value, "", False, source, note=note)


def _of_analysis(analysis: Analysis, subject: Subject, truth: Answer, asked: fmpq | sp.Expr) -> list[Row]:
    """Return the row of an analysis of triples; none where it would take too long, a table of very many pairs."""
    if analysis.rank and analysis.needless(subject):
        return []
    try:
        bound = analysis.bound(subject)
        if isinstance(asked, fmpq):
            root, worst = bound.root(truth.n, log_of(asked), _SETTINGS)
            value, _ = epsilon_above(bound, worst, truth.n, asked, root, _SETTINGS)
        else:
            found = bound.evidence(level_of(asked), truth.n, _SETTINGS)
            value = max(e.upper for e in found).above
    except SymampError as error:
        return [_row(analysis.name, Reading(None, (), str(error)), analysis.standing, analysis.source, truth)]
    return [_row(analysis.name, Reading(value), analysis.standing, analysis.source, truth)]


def _of_form(form: ClosedForm, subject: Subject, truth: Answer | CrowdAnswer, asked: fmpq | sp.Expr) -> Row:
    at = form.epsilon_at if isinstance(asked, fmpq) else form.delta_at
    row = _row(form.name, at(subject, truth.n, asked), form.standing_for(subject), form.source, truth)
    if form.provenance is not Provenance.RECALLED:
        return row
    values = {f.name: getattr(row, f.name) for f in fields(row)}
    return Row(**{**values, "note": "; ".join(filter(None, (row.note, form.provenance.value)))})


def _row(name: str, reading: Reading, standing: Standing, source: str, truth: Answer | CrowdAnswer) -> Row:
    applies = all(c.met for c in reading.conditions)
    value = reading.value
    ratio = None if value is None or truth.upper == 0.0 else value / truth.upper
    refuted = applies and value is not None and value < truth.lower and standing is not Standing.LOWER
    told = "; ".join(f"{c.text}: {'met' if c.met else 'not met'}" for c in reading.conditions)
    note = reading.reason or ("private at eps = 0" if truth.upper == 0.0 else "")
    return Row(name, value, ratio, standing.value, told, refuted, source, applies, note)


def _frame(points: Sequence[Comparison]) -> Any:
    import pandas as pd

    return pd.DataFrame([row for point in points for row in point.to_dicts()])
