"""Certified evaluations as evidence in a certificate, which the verifier repeats without a search."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from typing import Any, cast

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.few_users import HISTOGRAMS, CountedUsers
from symamp.bounds.hypotheses import Hypothesis
from symamp.bounds.interval import BoxesEvidence, NoiseInterval
from symamp.bounds.noise_table import grid_of
from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.two_messages import FixedCounts
from symamp.certificates.mechanisms import Described
from symamp.certificates.text import LIMIT, At, dyadic_text, exact_double, fraction_text
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.decomposition import Decomposition
from symamp.errors import ArgumentError, Problem
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.settings.participation import OfTriple, OverNumbers, Participation, Seen
from symamp.settings.users_who_differ import Constant
from symamp.settings.victims import CommonBlanket, OfGroup, ShuffledData
from symamp.sums.all_data_sets.floats import AllDataSetsEvidence, Cells
from symamp.sums.binomial_tails import TailPlan
from symamp.sums.coordinate_sums import Held, Range
from symamp.sums.divergence import LATTICE, Settings
from symamp.sums.envelope import envelope_law
from symamp.sums.few_messages import FewMessagesEvidence
from symamp.sums.kernels.one_sided import short
from symamp.sums.kernels.tilted import Plan
from symamp.sums.large_values import LargePlan
from symamp.sums.step_sums import StepPlan
from symamp.sums.two_messages import CountsEvidence
from symamp.verifier import MOST_PRECISION

_WIDER_WINDOWS = 10.0
"""How much wider windows of counts are made: the verifier bounds more simply what is left out."""
_GAP_OF_NUMBERS, _GAP_OF_ENDS = 1e-8, 1e-2
_LIGHT, _MORE_LIGHT, _WIDER, _NEAR = 0.1, 2.0, 0.6, 0.05
"""The weight of points that the verifier leaves out, in units of what all of them may have: in the worst box, and where
there is room; how much wider its grid is there; how near to the worst a box is evaluated more sharply on a second
try."""
ALONE = ("no positive value", "one user")
"""Evaluators that say no more than what one user's message tells: the verifier makes that itself."""
_LEAST_BITS, _BITS_OF_BOXES, _HISTOGRAM_BITS, _BITS = 160, 128, 64, 4096
"""Bits of the shortest certificate, of one of boxes, which has many sums, those beyond an evaluation that histograms
take, and those that tell messages apart."""
_CHECKED = (
    "finite_budget", "any_two", "probabilities", "table", "triple", "described", "every_class", "one_comparison",
    "message_space", "randomizer", "noise",
)  # fmt: skip
"""Hypotheses that the verifier sees from the mechanism as data, or supposes of it itself."""

Data = dict[str, Any]


@dataclass(frozen=True)
class Proof:
    """What proves an upper end at a level: evaluations of pairs, a tilt for all of a table, or cells of patterns."""

    at: At
    bound: fmpq | arb
    found: tuple[Evidence, ...]
    tilt: float | None = None
    shares: tuple[sp.Rational, ...] = ()


def setting(
    name: str,
    groups: Iterable[tuple[int, bool, Data]],
    count: int = 1,
    rate: Any = 1,
    shuffled: str = "messages",
    kept: Any = 1,
) -> Data:
    """Return a kind of round as data: groups of users, whether the claim is about them, and what they run."""
    return {
        "name": name,
        "count": count,
        "rate": str(rate),
        "shuffled": shuffled,
        "kept": str(kept),
        "groups": [{"users": users, "victim": victim, "mechanism": data} for users, victim, data in groups],
    }


def sentences(hypotheses: Iterable[Hypothesis]) -> list[str]:
    """Return the sentences of those hypotheses that the verifier neither checks nor supposes by itself."""
    return list(dict.fromkeys(h.sentence for h in hypotheses if h.name not in _CHECKED))


def bits(found: Iterable[Evidence], more: int) -> int:
    """Return the precision of the evaluations that are repeated, and not less than those of one user alone take."""
    guarded = [
        _BITS_OF_BOXES
        if isinstance(e.details, BoxesEvidence)
        else max(_LEAST_BITS, e.precision + (_HISTOGRAM_BITS if e.evaluator == HISTOGRAMS else 0))
        for e in found
    ]
    return min(max(guarded, default=_LEAST_BITS) + more, MOST_PRECISION)


def above(groups: Sequence[Described], part: PairBound, at: At, found: Evidence, n: int, split: int) -> Data | None:
    """Return a certified evaluation above as data, None where one user alone is enough."""
    known, taking = groups[0], taking_part(part)
    if found.evaluator == HISTOGRAMS:
        return {"kind": "histograms"}
    if taking is not None and isinstance(taking.base, OfGroup):
        return _hidden(groups, taking.base) | of_setting(taking, part, at, found, n)
    if isinstance(part, ShuffledData):
        both = zip(groups, part.positions.known, strict=True)
        pairs = [m.pair(x.pair) for m, x in both if isinstance(x, Decomposition)]
        return {"kind": "positions", "pairs": None if known.data["kind"] == "budget" else pairs, **evaluation(found)}
    if found.evaluator in ALONE:
        return None
    if isinstance(part, CommonBlanket):
        of = part.victim.group
        return {"kind": "hidden users", "victim": of, "pair": groups[of].pair(part.pair), **evaluation(found)}
    if taking is not None:
        return {"kind": "blanket", "pair": known.pair(taking.base.pair)} | of_setting(taking, part, at, found, n)
    pair = {"pair": known.pair(part.pair)}
    if is_triple(part):
        return {"kind": "blanket"} | pair | evaluation(found, n)
    if isinstance(found.details, AllDataSetsEvidence):
        return {"kind": "all data sets"} | pair | {"plan": _all_data_sets_plan(found.details, split)}
    if isinstance(found.details, BoxesEvidence):
        return {"kind": "boxes of pairs"} | _boxes_of_pairs(cast(NoiseInterval, part), at, found.details, n, split)
    if isinstance(found.details, CountsEvidence):
        boxes = [
            {"from": b.first, "to": b.last, "spread": b.spread, "plan": steps_plan(b.plan)} for b in found.details.boxes
        ]
        return {"kind": "message counts"} | pair | {"boxes": boxes}
    if isinstance(found.details, FewMessagesEvidence):
        return {"kind": "value counts"} | pair | _compositions(known, part, found.details, split)
    triples = [t for t in part.fixed_background if is_triple(t)]
    if not triples or at.level is None:
        wrong = Problem(f"an answer by {part.method} has no certificate")
        raise ArgumentError("certificate", wrong, "ask without a method")
    return {"kind": "envelope"} | pair | {"dominating": _dominating(triples, at, found)} | evaluation(found, n)


def below(groups: Sequence[Described], part: PairBound, at: At, found: Evidence, n: int) -> Data:
    """Return a certified evaluation of a pair of data sets as data."""
    known, taking = groups[0], taking_part(part)
    if isinstance(part, StepSums):
        return _signs(groups, part, at)
    if isinstance(part, DataOfPositions):
        data = {"kind": "positions", "pair": known.pair(part.pair), "others": known.others(part.dataset)}
        return data | evaluation(found)
    if taking is not None and isinstance(taking.base, OfGroup):
        return _hidden(groups, taking.base) | of_setting(taking, part, at, found, n)
    if taking is not None:
        own = {"pair": known.pair(taking.base.pair), "others": known.others(taking.base.dataset)}
        return {"kind": "data set", **own} | of_setting(taking, part, at, found, n)
    pair: Data = {"pair": known.pair(part.pair)}
    if isinstance(part, CountedUsers):
        return {"kind": "histograms"} | pair | {"others": list(part.held)}
    if isinstance(part, FixedCounts):
        assert isinstance(found.details, StepPlan)
        return steps(known, part.pair, zip(part.inputs, part.counts, strict=True), found.details, 1, 0)
    others = known.others(cast(Reduction, part).dataset)
    return {"kind": "data set", "others": others, **pair, **_evaluated(at, found, n)}


def _hidden(groups: Sequence[Described], base: OfGroup) -> Data:
    of = groups[base.group]
    who = {"kind": "hidden users", "victim": base.group, "pair": of.pair(base.pair)}
    return who | ({"others": of.others(base.dataset)} if base.dataset else {})


def taking_part(part: PairBound) -> Seen | None:
    """Return who takes part in what a part is about, and the triple behind it; None where everyone does."""
    return part.seen if isinstance(part, OfTriple) else part if isinstance(part, Seen) else None


def participation(given: Participation, n: int) -> Data:
    """Return who takes part as data."""
    numbers = [] if given.has_one_number else given.numbers(n)
    return {
        "honest": str(given.honest),
        "present": str(given.present),
        "leaks": str(given.leaks),
        "poisson": given.is_poisson,
        "removal": given.removal,
        "victim": str(given.present if given.victim_drops else 1),
        "numbers": [[str(w), m] for w, m in numbers],
    }


def of_setting(taking: Seen, part: PairBound, at: At, found: Evidence, n: int) -> Data:
    """Return the order of the data sets of a removal, and the evaluation for each number of users."""
    order = {"order": taking.order} if taking.participation.removal else {}
    if not isinstance(part, OverNumbers):
        return order | _evaluated(at, found, 0 if taking.participation.is_poisson else n)  # one is not all, if drawn
    if at is LIMIT:
        return order | {"each": [_evaluated(at, found, m) for _, m in taking.participation.numbers(n)]}
    assert at.level is not None
    each = part.each(at.level, n, Settings(gap=_GAP_OF_NUMBERS))
    return order | {"each": [_evaluated(at, e, m) for _, m, e in each]}


def _evaluated(at: At, found: Any, n: int) -> Data:
    """Return an evaluation: of one user her own message; where no sum of several is positive, what is seen alone."""
    return {"evaluator": "limit", "plan": None} if at is LIMIT else evaluated(found, n)


def evaluated(found: Any, n: int) -> Data:
    """Return the evaluation of a triple at n users, for ``verifier.evidence.triples.divergence``."""
    if n == 1:
        return {"evaluator": "exact", "plan": None}
    how = evaluation(found, n)
    return {"evaluator": "visible", "plan": None} if how["evaluator"] == ALONE[1] else how


def every_randomizer(shares: Sequence[sp.Rational], found: Sequence[Evidence], n: int, split: int) -> Data:
    """Return the evidence for every randomizer of a budget: cells between shares, last the blanket of few messages."""
    *cells, low = found
    return {
        "kind": "every randomizer",
        "shares": [fraction_text(fmpq_of(x)) for x in shares],
        "cells": [
            _all_data_sets_plan(e.details, split) if isinstance(e.details, AllDataSetsEvidence) else None for e in cells
        ],
        "low": {"evaluator": "one user", "plan": None} if low.evaluator in ALONE else evaluation(low, n),
    }


# --- evaluators with their plans --------------------------------------------------------------------------------------


def evaluation(found: Any, n: int = 0) -> Data:
    """Return the evaluator of a sum with its plan; ArgumentError where the verifier cannot repeat it."""
    name, plan = found.evaluator.partition(",")[0], found.plan
    if name == LATTICE:
        wrong = Problem("sums on a lattice have no certificate")
        raise ArgumentError("certificate", wrong, "ask with another gap or n")
    if isinstance(plan, TailPlan):
        windows = [list(w) for w in plan.windows(n, _WIDER_WINDOWS)]
        return {"evaluator": name, "plan": {"theta": exact_double(plan.theta), "windows": windows}}
    if isinstance(plan, LargePlan):
        plans = [{"plan": None if how is None else kernel_plan(how)} for how in (plan.alone, *plan.beside)]
        return {"evaluator": name, "plan": {"threshold": exact_double(plan.threshold), "plans": plans}}
    if name in ALONE:
        name = "one user"
    return {"evaluator": name, "plan": kernel_plan(plan) if isinstance(plan, Plan) else None}


def counts_of_coordinates(held: Held, counts: tuple[Range, Range]) -> Data:
    """Return the evidence for the sums of the coordinates of two data sets."""
    return {"kind": "sums of coordinates", "held": list(held), "counts": [list(x) for x in counts]}


def kernel_plan(plan: Plan) -> Data:
    """Return the parameters of the compact kernel as data."""
    window = plan.window
    return {
        "theta": exact_double(window.theta),
        "W": exact_double(window.length),
        "theta_above": exact_double(window.theta_above),
        "theta_below": exact_double(window.theta_below),
        "N": plan.terms,
        "evaluated": [list(r) for r in plan.blocks.evaluated],
        "dropped": [list(r) for r in plan.blocks.dropped],
    }


def _dominating(triples: Sequence[Reduction], at: At, found: Evidence) -> Data:
    """Return the law above those of all other inputs, in exact numbers."""
    assert at.level is not None
    with at_precision(found.precision):
        law = envelope_law([t.law for t in triples], at.level).law
    atoms = [(v, m) for v, m in zip(law.values, law.masses, strict=True) if not m.is_zero()]
    atoms += [] if law.null_mass.is_zero() else [(arb(0), law.null_mass)]
    values, masses = ([dyadic_text(Dyadic.of(x)) for x in column] for column in zip(*atoms, strict=True))
    return {"values": values, "masses": masses, "singular": dyadic_text(Dyadic.of(law.singular))}


def _compositions(known: Described, part: PairBound, found: FewMessagesEvidence, split: int) -> Data:
    """Return boxes of users who have the first of at most two laws."""
    inputs = [t.dataset[0][0] for t in part.fixed_background if is_triple(t)]
    if not 0 < len(inputs) <= 2 or not all(x in known.inputs for x in inputs):
        wrong = Problem(f"{part.method} has no certificate for this mechanism")
        raise ArgumentError("certificate", wrong, "method='all_data_sets'")
    boxes, worst = list[Data](), max(b.log_value for b in found.boxes)
    for box in found.boxes:
        room = 1.0 - exp(box.log_value - worst)  # a box of small value need not be evaluated as sharply
        k = len(found.grids) - 1 if box.grid is None else box.grid
        sharper = split if room < _NEAR else 1
        how = {
            "tilt": box.tilt if box.grid is None else found.tilt,
            "light": found.allowed[k] * (_LIGHT + _MORE_LIGHT * room) / sharper**4,
            "grid": found.grids[k] / sharper**2 + _WIDER * (worst - box.log_value) * found.grids[0],
        }
        texts = {key: exact_double(x) for key, x in how.items()}
        boxes.append({"from": box.first, "to": box.last, "counted": box.grid is not None, **texts})
    return {
        "inputs": [known.inputs.index(x) for x in inputs],
        "weights": [exact_double(w) for w in found.weights],
        "boxes": boxes,
    }


def steps(
    known: Described, pair: tuple[str, str], held: Iterable[tuple[str, int]], plan: StepPlan, up: int, down: int
) -> Data:
    """Return the evidence of a lower end by a threshold for the sum of steps, each up or down if it is likelier."""
    pairs = known.pair(pair)
    view = known.as_read().view((pairs[0], pairs[1]))
    i, j = view.places((pairs[0], pairs[1]))
    with at_precision(_BITS):
        told = [arb(c.on[i]) - arb(c.on[j]) for c in view.columns]
    signs = [up if x > 0 else down if x < 0 else 0 for x in told]
    return _of_steps(known, 0, pairs, [[(x, c) for x, c in held if c]], signs, plan)


def _signs(groups: Sequence[Described], part: StepSums, at: At) -> Data:
    """Return the evidence by a threshold for a sum of signs, if one tells, with what the others of each group hold."""
    victim, test = part.victim, None if at.level is None else part.test(at.level)
    plan = None if test is None or at.level is None else test.sum.plan(at.level)
    ups, downs = (test.up, test.down) if test is not None else ((), ())
    known, own, who = groups[victim.group], victim.columns[victim.group], part.crowd.who
    pair = known.pair(victim.pair)
    view = known.as_read().view((pair[0], pair[1]))
    i, j = view.places((pair[0], pair[1]))

    def is_same(on: Sequence[Any], x: Constant, y: Constant) -> bool:
        return bool(arb(on[i]).overlaps(x()) and arb(on[j]).overlaps(y()))

    with at_precision(BALL_BITS):
        place = [next(k for k, c in enumerate(own) if is_same(y.on, c.on_x0, c.on_x1)) for y in view.columns]
    place += [len(own)] * victim.may_miss
    order = {"order": who.worlds().index(victim.worlds)} if who.removal else {}
    signs = [(k in ups) - (k in downs) for k in place]
    return order | _of_steps(known, victim.group, pair, [held.items() for held in part.held], signs, plan)


def _of_steps(
    known: Described,
    victim: int,
    pair: list[int],
    held: Iterable[Iterable[tuple[str, int]]],
    signs: list[int],
    plan: StepPlan | None,
) -> Data:
    others = [[[known.inputs.index(x), int(c)] for x, c in each] for each in held]
    how = {"signs": signs, "plan": None if plan is None else steps_plan(plan)}
    return {"kind": "steps", "victim": victim, "pair": pair, "others": others, **how}


def steps_plan(plan: StepPlan) -> Data:
    """Return how a sum of steps is evaluated as data."""
    return {"threshold": plan.threshold, "theta": exact_double(plan.theta), "N": plan.nodes, "last": plan.last}


def _all_data_sets_plan(found: AllDataSetsEvidence, split: int) -> Data:
    """Return the parameters, each cell in so many: the verifier's bounds are its own, and must not be looser."""
    terms = []
    for term, cells in zip(found.parameters.terms, found.cells, strict=True):
        numbers = {key: exact_double(getattr(term, key)) for key in ("a", "lam", "s", "sigma")}
        ends = [lo + (hi - lo) * k / split for lo, hi in pairwise(cells.ends) for k in range(split)] + [cells.ends[-1]]
        middles = [(2 * k + 1 - split) / (2 * split) for k in range(split)]
        widths = [hi - lo for lo, hi in pairwise(cells.ends)]
        every = zip(cells.scales, cells.slopes, widths, strict=True)
        # The best c is a minimum, where so short a number costs nothing.
        scales = [exact_double(short(c * exp(slope * w * k))) for c, slope, w in every for k in middles]
        if any(cells.slopes):
            scales += [exact_double(short(x)) for x in cells.slopes for _ in range(split)]
        numbers["tail"] = exact_double(short(cells.tail_scale))
        terms.append({**numbers, "ends": [exact_double(x) for x in ends], "scales": scales})
    p = found.parameters
    return {"p_lo": exact_double(p.p_lo), "a": exact_double(p.tilt_a), "b": exact_double(p.tilt_b), "terms": terms}


def _on_one_grid(found: AllDataSetsEvidence) -> AllDataSetsEvidence:
    """Return the same with the most cells of all terms for each, as far as they go: so they share waves."""
    if not found.cells:
        return found
    most, terms = max((x.ends for x in found.cells), key=len), list[Cells]()
    for x in found.cells:
        ends = (*(u for u in most if u < x.ends[-1]), x.ends[-1])
        ends = ends if x.ends[-1] <= most[-1] else (*most, *(u for u in x.ends if u > most[-1]))
        middles = [0.5 * (lo + hi) for lo, hi in pairwise(ends)]
        old = [bisect_right(x.ends, u) - 1 for u in middles]
        at = [0.5 * (x.ends[k] + x.ends[k + 1]) for k in old]
        scales = tuple(x.scales[k] * exp(x.slopes[k] * (u - v)) for k, u, v in zip(old, middles, at, strict=True))
        terms.append(Cells(ends, scales, x.tail_scale, tuple(x.slopes[k] for k in old)))
    return replace(found, cells=tuple(terms))


def _boxes_of_pairs(part: NoiseInterval, at: At, found: BoxesEvidence, n: int, split: int) -> Data:
    """Return tables and cells, stage by stage, and the parameters of the ends, which serve all corners."""
    assert at.level is not None
    ends = part.ends(found.cut).enclose(at.level, n, Settings(gap=_GAP_OF_ENDS)).evidence
    grid = grid_of(part.noise, found.cut)
    assert isinstance(ends, AllDataSetsEvidence)

    def place(x: float) -> str:
        return fraction_text(grid.shape.exact(x))

    stages = [
        {"nodes": [place(y) for y in stage.nodes]}
        | {
            key: [[place(start), *map(exact_double, how)] for start, *how in getattr(stage, key)]
            for key in ("first", "second")
        }
        for stage in found.stages
    ]
    return {
        "others": [place(x) for x in grid.places],
        "cap": exact_double(grid.cap),
        "tilts": [exact_double(x) for x in found.tilts],
        "plan": _all_data_sets_plan(_on_one_grid(ends), split),
        "stages": stages,
    }
