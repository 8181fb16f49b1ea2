"""All published bounds at one question, beside the certified bracket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from symamp.accounting.coordinates import MESSAGES, CoordinateSums
from symamp.accounting.privacy_profile import profile as profile_of
from symamp.accounting.sweep import listed_values
from symamp.bounds.bound import Bound, largest_upper
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import Subject
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, Problem, SymampError, checked_call, one_of
from symamp.formulas.order import maximum
from symamp.laws.law import Level
from symamp.literature import forms
from symamp.literature.closed_form import ClosedForm, Provenance, Reading
from symamp.literature.forms.normal import gspa_of
from symamp.numbers.optional import defined_in
from symamp.numbers.reading import Compared, Count, Real, asked, exact_number, listed
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracket import ShownAsTable, html_table
from symamp.questions.profile import OneRound
from symamp.questions.solve import epsilon_above
from symamp.randomizers.finite import ALL
from symamp.settings.participation import Participation
from symamp.settings.question import Question
from symamp.settings.users_who_differ import EVERYBODY, HeterogeneousUsers
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS


def _found() -> Mapping[str, ClosedForm]:
    found = sorted(defined_in(forms, ClosedForm), key=lambda f: (not f.proof_status.is_guarantee, f.name))
    return MappingProxyType({f.name: f for f in found})


CLOSED_FORMS = _found()
"""All closed forms by name, what is no guarantee last."""


# What is tuned: rules of thumb that trade the time of a row against its accuracy.
_SETTINGS, _LOOSER, _MOST_ERROR = Settings(gap=1e-4), Settings(gap=1e-2), 1e-3
"""Accuracy of rows, and of those bounds that take long and whose estimates are off by the third number or more."""
_MOST_POINTS = 10_000
"""Of a grid."""

# ------------ What a comparison of bounds gives: rows for one question or for each of a grid, as a table and as a chart

_UNDEFINED, _REFUTED, _UNMET = "undefined here", "refuted at this point", "outside its conditions"


@dataclass(frozen=True)
class Row:
    """What one bound says at one question; printed under the headings bound, value, "/ upper" (``ratio``), verdict.

    ``value`` is rounded up (down for a lower bound), None where the formula has none; ``ratio`` is to the certified
    upper bound. ``conditions`` lists those of the theorem, each met or not. ``refuted_here`` says that the conditions
    hold and the value lies below the certified lower bound, whatever the proof status of the bound is.
    """

    name: str
    value: float | None
    ratio: float | None
    proof_status: str
    conditions: str
    refuted_here: bool
    source: str
    applies: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """The verdict of the row: "undefined here", "refuted at this point", "outside its conditions", or status."""
        if self.value is None:
            return _UNDEFINED
        return _REFUTED if self.refuted_here else self.proof_status if self.applies else _UNMET


@dataclass(frozen=True, repr=False)
class Comparison(ShownAsTable):
    """All bounds that apply at one question, or at each of several, beside the certified brackets.

    ``truths`` has the bracket of each question, ``found`` the rows, least first; iteration gives the comparisons one
    by one. ``eps0`` lists the local budgets, (None,) where the mechanism brings its own; they vary slowest, what is
    given fastest.

    >>> import symamp as sa
    >>> table = sa.compare(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta="1e-6")
    >>> print(f"{table['fmt_2023'].value:.4f} {table['fmt_2023'].ratio:.2f} {table['fmt_2023'].proof_status}")
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
        raise ArgumentError("name", name, one_of((row.name for row in self.rows), name))

    def _check_single(self) -> None:
        if len(self) != 1:
            wrong = Problem(f"it is about {len(self)} questions")
            raise ArgumentError("comparison", wrong, "iterate over it to get one by one")

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

    def to_dict(self) -> Any:
        """Return the bracket and the rows of the question for machines; a list of these for several questions."""
        points = [{"truth": point.truth.to_dict(), "rows": point.to_dicts()} for point in self]
        return points[0] if len(points) == 1 else points

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
        title = f"{self.truth.subject}, certified: {self.truth}" if len(self) == 1 else f"{len(self)} questions"
        return html_table(title, shown, [[row[name] for name in shown] for row in self.to_dicts()])

    def __str__(self) -> str:
        lines = []
        for truth, rows in zip(self.truths, self.found, strict=True):
            lines.append(f"{truth.subject}, certified: {truth}")
            lines.append(f"{'bound':<20} {truth.quantity:>12} {'/ upper':>9}  verdict (conditions) [source]")
            for row in rows:
                value, ratio = ("-" if x is None else f"{x:.6g}" for x in (row.value, row.ratio))
                told = [f"({text})" for text in (row.conditions, row.note) if text]
                told = [row.verdict, *told, f"[{row.source}]"]
                lines.append(f"{row.name:<20} {value:>12} {ratio:>9}  {' '.join(told)}")
        return "\n".join(lines)

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw every bound over ``x``, crosses where it is refuted, and the certified bracket; return the Axes.

        ``x`` is "eps0", "n", or "delta" ("eps") as was given; by default the longest axis. One line is drawn for each
        combination of the others. ArgumentError for another ``x``.
        """
        ax, axes = axes_for(ax, figsize=(9, 6)), self._axes()
        x = max(axes, key=lambda name: len(axes[name])) if x is None else x
        if x not in axes:
            raise ArgumentError("x", x, one_of(axes, x))
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
    style = ("-" if seen[0][1].proof_status.startswith("proved") else ":") + "o" * (len(seen) == 1)
    label, colour = (None if name in colours else name), colours.get(name)
    (line,) = ax.plot([u for u, _ in seen], [r.value for _, r in seen], style, linewidth=1, label=label, color=colour)
    colours[name] = line.get_color()
    bad = [(u, row.value) for u, row in seen if row.refuted_here]
    ax.plot([u for u, _ in bad], [v for _, v in bad], "x", color=line.get_color())


# ------------ Every bound of the literature at one question, beside the certified truth: what it says, and its status


_Point = tuple[Answer, tuple[Row, ...]]


@checked_call
@undisturbed()
def compare(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | Sequence[Count] | None = None,
    eps0: Real | Sequence[Real] | None = None,
    delta: Real | Sequence[Real] | None = None,
    eps: Real | Sequence[Real] | None = None,
    names: Sequence[str] | None = None,
    neighbours: Compared = ALL,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Comparison:
    """Return a table of every published bound that applies, beside the certified bracket.

    Each row has ``name, value, ratio, proof_status, conditions, refuted_here, source``: the value of the bound rounded
    up, its ratio to the certified upper bound, its proof status, whether the conditions of its theorem hold, and
    whether the certified lower bound refutes it at this point. The values of proved bounds are certified; those of
    other bounds are computed with the same care and prove nothing.

    Exactly one of ``delta`` and ``eps`` is given. ``eps0`` fills in the budget of a mechanism that has it free. Lists
    for ``eps0``, ``n``, ``delta`` or ``eps`` ask for all combinations. ``names`` selects rows. ``neighbours``,
    ``effort``, ``participation`` and ``view`` are those of ``epsilon``; if ``participation`` is given, only bounds that
    are triples have rows. With ``view="coordinates"`` the bracket is for the coordinates, while the rows are for whole
    messages, which reveal more.

    For users who differ (``heterogeneous``) ``n`` is left out, and the rows are their bound and the approximation of
    Chen, Cao and Ge (2024).

    Raises ArgumentError for arguments out of range, unknown names, and unless exactly one of delta and eps is given;
    what ``epsilon`` and ``delta`` raise.

    >>> import symamp as sa
    >>> table = sa.compare(sa.RandomizedResponse(k=100, eps0=1), n=10**4, delta="1e-12", names=["wang_4_7", "fmt_2023"])
    >>> for row in table.rows:
    ...     print(row.name, f"{row.value:.4f} {row.ratio:.2f}", row.verdict)
    wang_4_7 0.0109 0.77 refuted at this point
    fmt_2023 0.2408 17.01 proved
    """
    quantity, given = asked(delta, eps)
    if isinstance(mechanism, HeterogeneousUsers):
        if (n, eps0, names, neighbours, view) != (None, None, None, ALL, MESSAGES):
            given_too = Problem("they cannot be given for users who differ")
            raise ArgumentError("n, eps0, names, neighbours, view", given_too, "leave them out")
        return _crowd(mechanism.seen(participation), given, quantity == "epsilon", effort)
    chosen = _chosen(names)
    axes = [
        listed_values(x, name) for name, x in (("eps0", eps0), ("n", n), ("delta" if eps is None else "eps", given))
    ]
    if (points := prod(len(axis) for axis in axes)) > _MOST_POINTS:
        raise ArgumentError("grid", f"{points:,} points", f"at most {_MOST_POINTS:,}")
    found: list[_Point] = []
    for subject in [_at(mechanism, x) for x in axes[0]]:
        for users in axes[1]:
            whole: dict[str, Any] = {"n": users, "neighbours": neighbours, "participation": participation}
            profile, rows = profile_of(subject, **whole, view=view), profile_of(subject, **whole).question.subject
            found += [_point(profile, rows, at, quantity == "epsilon", chosen, effort) for at in axes[2]]
    truths, listed = zip(*found, strict=True)
    return Comparison(truths, listed, tuple(None if x is None else str(x) for x in axes[0]))


def _at(mechanism: Any, eps0: object) -> Subject:
    if eps0 is not None and "eps0" not in {p.name for p in mechanism.parameters}:
        raise ArgumentError("eps0", Problem("the mechanism has no free parameter eps0"), "leave it out")
    found: Subject = mechanism if eps0 is None else mechanism.at(eps0=eps0)
    return found


_DATA_SET = "data_set"


def _chosen(names: Sequence[str] | None) -> frozenset[str]:
    known = (_DATA_SET, *BOUNDS, *CLOSED_FORMS)
    chosen = known if names is None else (names,) if isinstance(names, str) else listed(names, "names", "names")
    for name in chosen:
        if name not in known:
            raise ArgumentError("names", name, one_of(known, name))
    return frozenset(chosen)


def _point(
    profile: OneRound | CoordinateSums,
    subject: Subject,
    given: object,
    for_epsilon: bool,
    chosen: frozenset[str],
    effort: str,
) -> _Point:
    truth: Answer = (profile.epsilon if for_epsilon else profile.delta)(given, effort=effort)
    own = truth.method if isinstance(profile, OneRound) else None  # of coordinates the rows are about whole messages
    rows = [_data_set(truth)] if _DATA_SET in chosen else []
    for analysis in BOUNDS.values():
        if analysis.name not in chosen:
            continue
        if analysis.name == own:
            rows.append(_row(own, Reading(truth.upper), analysis.proof_status, analysis.source, truth))
        elif analysis.unsupported_reason(subject) is None:
            rows += _of_analysis(analysis, subject, truth)
    for form in CLOSED_FORMS.values():
        if form.name in chosen and form.unsupported_reason(subject) is None:
            rows.append(_of_form(form, subject, truth))
    return truth, _sorted(rows)


def _crowd(crowd: HeterogeneousUsers, given: object, for_epsilon: bool, effort: str) -> Comparison:
    profile = OneRound(Question.of_users(crowd))
    truth = (profile.epsilon if for_epsilon else profile.delta)(given, effort=effort)
    ratios = [s.local_ratio() for _, s in crowd.groups]
    widest: Subject = crowd.groups[maximum(ratios)][1]
    rows = [_row(f"{crowd.shuffled}_shuffled", Reading(truth.upper), ProofStatus.PROVED, truth.source, truth)]
    rows += [_of_form(gspa_of(crowd), widest, truth)] * (crowd.who == EVERYBODY)  # it supposes that everyone takes part
    return Comparison((truth,), (_sorted(rows),))


def _sorted(rows: list[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda r: (r.value is None, r.value or 0.0, r.name)))


def _data_set(truth: Answer) -> Row:
    note = "" if truth.dataset is None else str(truth.dataset)
    ratio = truth.lower / truth.upper if truth.upper > 0.0 else None
    source = "Su, Cheng, Wang 2025, Theorem 14, and Feldman, McMillan, Talwar 2023, Theorem 5.3"
    return Row(_DATA_SET, truth.lower, ratio, ProofStatus.LOWER.value, "", False, source, note=note)


def _of_analysis(analysis: Bound, subject: Subject, truth: Answer) -> list[Row]:
    """Return the row of an analysis of triples; none where it would take too long for the effort."""
    query = replace(truth.asked, settings=_SETTINGS).limited()
    level = Level.of_float(min(truth.upper, LARGEST_EPS)) if query.quantity == "epsilon" else query.level
    if analysis.rank and analysis.too_costly(subject, level, truth.n, query.settings.limits.patience):
        return []
    try:
        bound = analysis.bound(subject)
        if query.quantity == "epsilon":
            root, worst = bound.root(truth.n, query.log_delta, query.settings)
            if worst.estimate_error >= _MOST_ERROR:
                query = replace(query, settings=_LOOSER.under(query.settings.limits))
            value, _ = epsilon_above(bound, worst, truth.n, query, root)
        else:
            found = bound.evidence(query.level, truth.n, query.settings)
            value = largest_upper(found).above
    except SymampError as error:
        return [_row(analysis.name, Reading(None, (), str(error)), analysis.proof_status, analysis.source, truth)]
    return [_row(analysis.name, Reading(value), analysis.proof_status, analysis.source, truth)]


def _of_form(form: ClosedForm, subject: Subject, truth: Answer) -> Row:
    at = form.epsilon_at if truth.quantity == "epsilon" else form.delta_at
    row = _row(form.name, at(subject, truth.n, truth.asked.given), form.proof_status_for(subject), form.source, truth)
    if form.provenance is not Provenance.RECALLED:
        return row
    return replace(row, note="; ".join(filter(None, (row.note, form.provenance.value))))


def _row(name: str, reading: Reading, proof_status: ProofStatus, source: str, truth: Answer) -> Row:
    applies = all(c.met for c in reading.conditions)
    value = reading.value
    ratio = None if value is None or truth.upper == 0.0 else value / truth.upper
    refuted = applies and value is not None and value < truth.lower and proof_status is not ProofStatus.LOWER
    told = "; ".join(f"{c.text}: {'met' if c.met else 'not met'}" for c in reading.conditions)
    note = reading.reason or ("private at eps = 0" if truth.upper == 0.0 else "")
    return Row(name, value, ratio, proof_status.value, told, refuted, source, applies, note)
