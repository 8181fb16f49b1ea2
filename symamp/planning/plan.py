"""Plans: the mechanism and budget of each attribute for a central guarantee over all rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from numbers import Integral
from typing import Any, ClassVar

import sympy as sp
from rich.console import Console
from rich.table import Column, Table

from symamp.accounting.composition import Composition
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, Problem, SymampError, checked_call, shown
from symamp.families import (
    HadamardResponse,
    OneBitMean,
    PiecewiseMechanism,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from symamp.numbers.reading import Count, Real, users
from symamp.numbers.surroundings import undisturbed
from symamp.planning.inverse import Fixed, Inverse, asked_for, largest_near, members, of_rounds
from symamp.questions.answer import Answer
from symamp.questions.backwards import Goal, Range
from symamp.questions.bracket import ShownAsTable, cell, json_number
from symamp.randomizers.mechanism import UTILITIES, variance_of
from symamp.settings.participation import Participation

NUMBER = "number"
"""The shape of an attribute that is a number in [0, 1]."""
_SHAPE = f"a number of categories, at least 2, {NUMBER!r}, or a list of families with eps0 free"
_LEAST_SCALE = 1e-3
"""The least factor of the budgets of several attributes that is tried until all together are proved to be private."""
_GAP, _SLOW_GAP = 1e-3, 3e-2
"""Widths of eps after all rounds: usually, and where points cost much."""
_AROUND = (0.7, 0.85, 1.0, 1.15)
"""The budgets that a plot shows, relative to those of the plan."""


@dataclass(frozen=True)
class Candidate:
    """A mechanism at the largest eps0 that is proved to be private, with its error and message length there.

    ``variance`` is that of the estimate from the reports of one round (None: no estimator is known) and ``bits`` the
    length of a message (None: not counted), both floats for comparison. ``is_efficient`` (Pareto-optimal): no other
    candidate for the same attribute is better in one of the two and as good in the other.

    >>> import symamp as sa
    >>> found = sa.plan({"colour": [sa.RandomizedResponse(k=4)]}, n=10**5, eps="0.1", delta="1e-6", method="blanket")
    >>> best = found.best["colour"]
    >>> best.eps0 == best.budget.lower, best.bits
    (True, 2.0)
    """

    attribute: str
    name: str
    family: Any = field(repr=False)
    budget: Inverse = field(repr=False)
    variance: float | None
    bits: float | None
    is_efficient: bool = True

    @property
    def eps0(self) -> float:
        """The local budget, proved to be private."""
        return self.budget.safe

    @property
    def standard_deviation(self) -> float | None:
        """The square root of the variance."""
        return None if self.variance is None else float(self.variance**0.5)


@dataclass(frozen=True, repr=False)
class Plan(ShownAsTable):
    """Candidates for each attribute at equal central privacy, and the best of them, certified together.

    ``candidates`` are listed by attribute, the Pareto-optimal ones (in error and message length) first, by increasing
    error. ``mechanisms`` are the best candidates with their budgets, and ``composition`` is all their rounds together,
    for export. ``private`` proves that these are (eps, delta)-private together (its ``upper`` is at most delta), and
    ``answer`` brackets their eps.

    >>> import symamp as sa
    >>> families = [sa.RandomizedResponse(k=10), sa.UnaryEncoding.oue(D=10)]
    >>> found = sa.plan({"page": families}, n=10**6, eps="0.1", delta="1e-8", method="blanket")
    >>> found.best["page"].name, found.private.upper <= 1e-8
    ('RandomizedResponse(k=10)', True)
    """

    asked: tuple[tuple[str, str], ...]
    candidates: tuple[Candidate, ...]
    mechanisms: Mapping[str, Any]
    composition: Composition = field(repr=False)
    private: Answer
    answer: Answer
    n: int = field(repr=False)
    fixed: Fixed = field(repr=False)

    columns = ("attribute", "mechanism", "eps0", "eps0 at most", "standard deviation", "bits", "Pareto optimal")
    _ends: ClassVar[Mapping[str, bool]] = {"eps0": True, "eps0 at most": False}
    _rough: ClassVar[tuple[str, ...]] = ("standard deviation", "bits")
    _internal_names = "fixed"

    @property
    def best(self) -> dict[str, Candidate]:
        """The candidate with the least error for each attribute."""
        return {c.attribute: c for c in reversed(self.candidates)}

    def rows(self) -> list[tuple[object, ...]]:
        """Return a row for each candidate: ``columns`` says of what."""
        return [
            (c.attribute, c.name, c.eps0, c.budget.upper, c.standard_deviation, c.bits, c.is_efficient)
            for c in self.candidates
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for machines."""
        rows = [[json_number(x) if isinstance(x, float) else x for x in row] for row in self.rows()]
        chosen = {attribute: repr(mechanism) for attribute, mechanism in self.mechanisms.items()}
        return {
            **dict(self.asked),
            "columns": list(self.columns),
            "rows": rows,
            "mechanisms": chosen,
            "private": self.private.to_dict(),
            "answer": self.answer.to_dict(),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the standard deviation of each candidate against the certified bracket of its central eps.

        Each stands for its share of all attributes, as in the table. Return the matplotlib Axes.
        """
        ax = axes_for(ax, layout="constrained")
        delta, repeated = dict(self.asked)["delta"], self.fixed.repeated(len(self.mechanisms))
        for c in self.candidates:
            if c.variance is None:
                continue
            low, high, error = [], [], []
            for factor in _AROUND:
                member = c.family.at(eps0=factor * c.eps0)
                found = _epsilon(repeated.composition(repeated.seen(member), repeated.count(self.n, member)), delta)
                low.append(found.lower)
                high.append(found.upper)
                error.append((_variance(member) or 0.0) ** 0.5 * self.fixed.reports(self.n) ** -0.5)
            ax.fill_betweenx(error, low, high, alpha=0.3)
            ax.plot(high, error, "." if c.is_efficient else "x", linestyle="-", label=f"{c.attribute}: {c.name}")
        ax.axvline(float(sp.N(sp.sympify(dict(self.asked)["eps"]))), color="0.3", linestyle="--")
        ax.set(xlabel="central eps", ylabel="standard deviation", yscale="log")
        ax.set_title(self._title(), fontsize="small")
        ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.15))  # below: it covers no curve
        return ax

    def table(self) -> Table:
        """Return a table for rich: 80 columns do if attributes and mechanisms have 39 letters together."""
        rows = [
            [_brief(x) if c in self._rough and isinstance(x, float) else cell(x, self._ends.get(c)) for c, x in named]
            for named in (zip(self.columns, row, strict=True) for row in self.rows())
        ]
        columns = (Column(c.replace(" ", "\n", 1), overflow="fold") for c in self.columns)
        table = Table(*columns, title=self._title(), padding=0, show_edge=False)
        for row in rows:
            table.add_row(*row)
        return table

    def _title(self) -> str:
        return asked_for(self.asked)

    def __str__(self) -> str:
        out = StringIO()
        Console(file=out, width=140, color_system=None, force_jupyter=False).print(self.table())
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        chosen = ", ".join(f"{attribute}: {mechanism!r}" for attribute, mechanism in self.mechanisms.items())
        return "\n".join([*lines, chosen, str(self.answer)])


@checked_call
def plan(
    attributes: Mapping[str, object],
    *,
    n: Count,
    eps: Real,
    delta: Real,
    rounds: Count = 1,
    sampled_from: Count | None = None,
    method: str | None = None,
    effort: str = "default",
    participation: Participation | None = None,
) -> Plan:
    """Return the mechanism and local budget of each attribute that meet a central (eps, delta) with the least error.

    ``attributes`` is a dictionary from the name of each attribute to its shape: a number of categories, "number" for a
    number in [0, 1], or the candidate families, as a list or by name, with eps0 free and all other parameters fixed.
    Each attribute is shuffled by itself, in each of the ``rounds``. With several attributes each candidate first gets
    the budget at which all attributes would be private together if each used as much privacy as this one; the best
    candidates are then certified together, with slightly smaller budgets if necessary. The other arguments are those of
    ``largest_eps0``.

    The error is that of the frequency of a rare category, of the mean, or of a mean vector, estimated from the reports
    of one round: ``mechanism.variance(n)`` with numbers scaled to [0, 1], for the mean number of reports if some are
    lost. Candidates without an estimator come last.

    Raises ArgumentError for what ``largest_eps0`` refuses, and for attributes of another shape.

    Guarantee
    ---------
    Each candidate, at ``eps0``, is (eps, delta)-private in as many rounds as there are rounds and attributes, and not
    at ``budget.upper``. All ``mechanisms`` together, in all rounds, are (eps, delta)-private, as ``private`` proves.
    Proof: docs/proofs/inverse_questions.md. Variances and lengths are exact formulas, evaluated in floats.

    >>> import symamp as sa
    >>> attributes = {"browser": [sa.RandomizedResponse(k=16)], "country": [sa.RandomizedResponse(k=8)]}
    >>> plan = sa.plan(attributes, n=10**6, eps=1, delta="1e-8", rounds=30, method="blanket")
    >>> sorted(plan.mechanisms), plan.private.upper <= 1e-8
    (['browser', 'country'], True)
    """
    if not isinstance(attributes, Mapping) or not attributes:
        told = "a dictionary such as {'browser': 16, 'minutes': 'number'}"
        wrong = Problem("there is no attribute") if attributes == {} else type(attributes).__name__
        raise ArgumentError("attributes", wrong, told)
    if len({str(name) for name in attributes}) < len(attributes):
        raise ArgumentError("attributes", Problem("two have one name"), "give each a name of its own")
    listed = {str(name): candidates_for(str(name), shape) for name, shape in attributes.items()}
    count, goal = users(n), Goal.of(eps, delta, effort)
    once = Fixed.of(method, participation, rounds, sampled_from)
    fixed = once.repeated(len(listed))
    for member in (members(family)(1) for families in listed.values() for family in families.values()):
        once.composition(once.seen(member), once.count(count, member))  # what is refused is so before work is done
    found = list(_candidates(listed, n, goal, fixed, once.reports(count)))
    candidates = tuple(c for name in listed for c in _ordered([c for c in found if c.attribute == name]))
    best = {c.attribute: c for c in reversed(candidates)}
    mechanisms, whole, private = _together({name: best[name] for name in listed}, once, count, goal)
    given = (("n", str(count)), *goal.shown, *once.shown)
    given += () if once.participation is None else (("participation", str(once.participation)),)
    return Plan(given, candidates, mechanisms, whole, private, _epsilon(whole, delta, effort), count, once)


def candidates_for(attribute: str, shape: object) -> dict[str, Any]:
    """Return the candidates for an attribute by their names."""
    if isinstance(shape, Integral) and not isinstance(shape, bool) and int(shape) >= 2:
        shape = int(shape)
        sparse = HadamardResponse(K=1 << shape.bit_length(), D=shape)
        listed: list[Any] = [RandomizedResponse(k=shape), UnaryEncoding.oue(D=shape), sparse]
        if shape >= 8:
            listed.append(SubsetSelection(d=shape, k=shape // 4))
        return {_label(f): f for f in listed}
    if shape == NUMBER:
        return {_label(f): f for f in (OneBitMean(), PiecewiseMechanism())}
    if isinstance(shape, Mapping):
        named = {str(name): family for name, family in shape.items()}
    elif isinstance(shape, Sequence) and not isinstance(shape, str):
        named = {_label(family): family for family in shape}
    else:
        raise ArgumentError("attributes", Problem(f"{attribute!r} is {shape!r}"), f"give {_SHAPE}")
    if not named:
        raise ArgumentError("attributes", Problem(f"{attribute!r} has no candidate"), f"give {_SHAPE}")
    return named


def _brief(x: float) -> str:
    """Return a number with four digits, or all those before the point."""
    return f"{x:.4g}" if x < 1e4 else f"{x:.0f}"


def _label(family: object) -> str:
    """Return the name of a candidate: all have the same parameter free."""
    return shown(family).replace(", eps0=eps0", "").replace("(eps0=eps0)", "")


def _variance(member: Any) -> float | None:
    """Return n times the variance of the estimate that a mechanism has, numbers scaled to [0, 1]; None if it has none.

    Of a mean vector it is that averaged over the coordinates.
    """
    for utility in (*UTILITIES, None):
        try:
            found = member.variance() if utility is None else variance_of(member, utility)
        except SymampError:  # none is described, or not without the dimension
            continue
        return None if isinstance(found, tuple) else float(sp.N(found, 17))  # of a joint each part has its own
    return None


def _candidates(
    listed: Mapping[str, Mapping[str, Any]], n: Count, goal: Goal, fixed: Fixed, reports: float
) -> Iterator[Candidate]:
    near = None
    for attribute, (name, family) in ((x, y) for x, families in listed.items() for y in families.items()):
        budget = largest_near(near, family, n, goal, fixed)
        near = budget.safe or near
        member: Any = family.at(eps0=budget.safe or 1)
        bits, variance = member.message_bits(), _variance(member) if budget.safe else None
        each = None if variance is None else variance / reports
        yield Candidate(attribute, name, family, budget, each, None if bits is None else float(sp.N(bits, 17)))


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Return Pareto-optimal candidates first, the least error first, and those without an error last."""

    def key(c: Candidate) -> tuple[object, ...]:
        return c.variance is None, c.variance or 0.0, c.bits is None, c.bits or 0.0

    known, efficient, others = list[Candidate](), list[Candidate](), list[Candidate]()
    for c in sorted(candidates, key=key):
        worse = c.variance is None or any(b.bits is not None and (c.bits is None or b.bits <= c.bits) for b in known)
        known.append(c)
        if worse and known[0] is not c:
            others.append(Candidate(c.attribute, c.name, c.family, c.budget, c.variance, c.bits, False))
        else:
            efficient.append(c)
    return efficient + others


@undisturbed()
def _together(
    best: dict[str, Candidate], once: Fixed, n: int, goal: Goal
) -> tuple[dict[str, Any], Composition, Answer]:
    """Return the best mechanisms with budgets at which all together are private, their rounds, and what proves it."""

    def scaled(scale: float) -> dict[str, Any]:
        return {name: c.family.at(eps0=scale * c.eps0) for name, c in best.items()}

    @cache
    def whole(scale: float) -> Composition:
        rounds = [once.composition(once.seen(m), once.count(n, m)) for m in scaled(scale).values()]
        return Composition.of(r for each in rounds for r in each.rounds)

    (first, *others) = best.values()
    private = None if others else first.budget.private
    if private is None:
        gap = _SLOW_GAP if whole(1.0).is_slow else _GAP
        private = whole(1.0).delta_of(goal.at.to_gap(_GAP), gap, (True,))
    if private.most.at_most(goal.target.given):
        return scaled(1.0), whole(1.0), private
    found, _ = of_rounds(goal, Range(_LEAST_SCALE, 1.0, True, 1.0), whole, sides=(True,))
    if found is not None:
        return scaled(found.x), whole(found.x), found.answer
    raise ArgumentError("eps", Problem("no local budget is proved to meet this goal"), "take a larger eps, delta or n")


def _epsilon(whole: Composition, delta: Real, effort: str = "default") -> Answer:
    return whole.epsilon(delta, gap=_SLOW_GAP if whole.is_slow else _GAP, effort=effort)
