"""Every bound of the literature at one question, beside the certified truth: what it says, and its standing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.algebra.order import maximum
from symamp.amplification.answer import Answer
from symamp.amplification.certify import epsilon_above
from symamp.amplification.profile import Profile
from symamp.amplification.question import Question
from symamp.amplification.questions import delta as delta_of
from symamp.amplification.questions import epsilon as epsilon_of
from symamp.analyses.analysis import Analysis
from symamp.analyses.crowd import Crowd
from symamp.analyses.part import largest_upper
from symamp.analyses.registry import ANALYSES
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError, SymampError
from symamp.evaluation.divergence import Settings
from symamp.evaluation.inversion import log_of
from symamp.literature.closed_form import ClosedForm, Provenance, Reading
from symamp.literature.comparison import Comparison, Row
from symamp.literature.forms.normal import gspa_of
from symamp.literature.shelf import CLOSED_FORMS
from symamp.mechanisms.neighbours import ALL
from symamp.numbers.arguments import asked, budget, failure_probability
from symamp.numbers.surroundings import undisturbed

_SETTINGS, _LOOSER = Settings(gap=1e-4), Settings(gap=1e-2)
"""The accuracy of rows, and that of bounds that are not sharper than this and dear."""
_ROUGH = 1e-3
_MOST_POINTS = 10_000

_Point = tuple[Answer, tuple[Row, ...]]


@undisturbed()
def compare(
    mechanism: Subject | Crowd,
    *,
    n: object = None,
    eps0: object = None,
    delta: object = None,
    eps: object = None,
    names: Sequence[str] | None = None,
    neighbours: object = ALL,
) -> Comparison:
    """Return every bound of the literature that applies, with its value at ``delta`` (or at ``eps``), side by side.

    Each row has ``name, value, ratio, standing, conditions, refuted_here, source``: the value of the bound rounded up,
    its ratio to the certified upper bound, what is known of it, whether the conditions of its theorem hold, and
    whether it is refuted here by the certified lower bound. Exactly one of ``delta`` and ``eps`` is given. ``eps0`` is
    put into a mechanism that has it free. Lists for ``eps0``, ``n``, ``delta`` or ``eps`` ask at all combinations.
    ``names`` selects rows; ``neighbours`` says which inputs are compared, as for ``epsilon``.

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
    quantity, given = asked(delta, eps)
    if isinstance(mechanism, Crowd):
        if (n, eps0, names, neighbours) != (None, None, None, ALL):
            told = "none of them for users who differ"
            raise ArgumentError("n, eps0, names, neighbours", (n, eps0, names, neighbours), told)
        return _crowd(mechanism, given, quantity == "epsilon")
    chosen = _chosen(names)
    axes = [_listed(eps0), _listed(n), _listed(given)]
    if (points := prod(len(axis) for axis in axes)) > _MOST_POINTS:
        raise ArgumentError("grid", f"{points:,} points", f"at most {_MOST_POINTS:,}")
    found: list[_Point] = []
    for subject in [_at(mechanism, x) for x in axes[0]]:
        for users in axes[1]:
            profile = Profile(Question.of(subject, users, None, neighbours))
            found += [_point(profile, at, quantity == "epsilon", chosen) for at in axes[2]]
    truths, rows = zip(*found, strict=True)
    return Comparison(truths, rows, tuple(None if x is None else str(x) for x in axes[0]))


def _at(mechanism: Any, eps0: object) -> Subject:
    if eps0 is not None and "eps0" not in {p.name for p in mechanism.parameters}:
        raise ArgumentError("eps0", eps0, "none: the mechanism does not have it free")
    found: Subject = mechanism if eps0 is None else mechanism.at(eps0=eps0)
    return found


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


def _point(profile: Profile, given: object, for_epsilon: bool, chosen: frozenset[str]) -> _Point:
    truth = profile.epsilon(given) if for_epsilon else profile.delta(given)
    subject: Subject = profile.question.subject
    rows = [_data_set(truth)] if _DATA_SET in chosen else []
    exact: fmpq | sp.Expr = failure_probability(given) if for_epsilon else budget(given)
    for analysis in ANALYSES.values():
        if analysis.name in chosen and analysis.supports(subject) is None:
            rows += _of_analysis(analysis, subject, truth, exact)
    for form in CLOSED_FORMS.values():
        if form.name in chosen and form.supports(subject) is None:
            rows.append(_of_form(form, subject, truth, exact))
    return truth, _sorted(rows)


def _crowd(crowd: Crowd, given: object, for_epsilon: bool) -> Comparison:
    truth = epsilon_of(crowd, delta=given) if for_epsilon else delta_of(crowd, eps=given)
    exact: fmpq | sp.Expr = failure_probability(given) if for_epsilon else budget(given)
    ratios = [s.local_ratio() for _, s in crowd.groups]
    widest: Subject = crowd.groups[maximum(ratios)][1]
    own = _row(f"{crowd.shuffled}_shuffled", Reading(truth.upper), Standing.PROVED, truth.source, truth)
    return Comparison((truth,), (_sorted([own, _of_form(gspa_of(crowd), widest, truth, exact)]),))


def _sorted(rows: list[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda r: (r.value is None, r.value or 0.0, r.name)))


def _data_set(truth: Answer) -> Row:
    note = "" if truth.dataset is None else str(truth.dataset)
    ratio = truth.lower / truth.upper if truth.upper > 0.0 else None
    source = "Su, Cheng, Wang 2025, Theorem 14, and Feldman, McMillan, Talwar 2023, Theorem 5.3"
    return Row(_DATA_SET, truth.lower, ratio, Standing.LOWER.value, "", False, source, note=note)


def _of_analysis(analysis: Analysis, subject: Subject, truth: Answer, exact: fmpq | sp.Expr) -> list[Row]:
    """Return the row of an analysis of triples; none where it would take too long, a table of very many pairs."""
    if analysis.rank and analysis.needless(subject):
        return []
    try:
        bound = analysis.bound(subject)
        if isinstance(exact, fmpq):
            root, worst = bound.root(truth.n, log_of(exact), _SETTINGS)
            settings = _LOOSER if worst.accuracy >= _ROUGH else _SETTINGS
            value, _ = epsilon_above(bound, worst, truth.n, exact, root, settings)
        else:
            found = bound.evidence(level_of(exact), truth.n, _SETTINGS)
            value = largest_upper(found).above
    except SymampError as error:
        return [_row(analysis.name, Reading(None, (), str(error)), analysis.standing, analysis.source, truth)]
    return [_row(analysis.name, Reading(value), analysis.standing, analysis.source, truth)]


def _of_form(form: ClosedForm, subject: Subject, truth: Answer, exact: fmpq | sp.Expr) -> Row:
    at = form.epsilon_at if isinstance(exact, fmpq) else form.delta_at
    row = _row(form.name, at(subject, truth.n, exact), form.standing_for(subject), form.source, truth)
    if form.provenance is not Provenance.RECALLED:
        return row
    return replace(row, note="; ".join(filter(None, (row.note, form.provenance.value))))


def _row(name: str, reading: Reading, standing: Standing, source: str, truth: Answer) -> Row:
    applies = all(c.met for c in reading.conditions)
    value = reading.value
    ratio = None if value is None or truth.upper == 0.0 else value / truth.upper
    refuted = applies and value is not None and value < truth.lower and standing is not Standing.LOWER
    told = "; ".join(f"{c.text}: {'met' if c.met else 'not met'}" for c in reading.conditions)
    note = reading.reason or ("private at eps = 0" if truth.upper == 0.0 else "")
    return Row(name, value, ratio, standing.value, told, refuted, source, applies, note)
