"""Exports of a round: a JSON document, dp_accounting, OpenDP."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import ceil, exp, nextafter
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.curves import CurvePoint, DominatingPair
from symamp.accounting.pairs import RoundPairs
from symamp.accounting.round import GivenRound
from symamp.decompositions.to_law import number, rounded_fraction
from symamp.errors import ArgumentError, FormatError, Problem
from symamp.numbers.dyadic import Dyadic, float_above
from symamp.numbers.optional import optional
from symamp.numbers.rationals import Vertex, fmpq_of, log_ball
from symamp.numbers.reading import budget, exact_number, failure_probability, listed
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.sums.inversion import log_of

# --------------------------------------------------------- A profile as a document: exact levels and bounds, out and in

FORMAT, VERSION = "symamp-privacy-profile", 1
_MOST_POINTS = 100_000
"""Of a document that is read."""


def to_document(text: str, points: Iterable[CurvePoint]) -> dict[str, Any]:
    """Return upper bounds on a profile as JSON-ready data: pairs (E, bound) as fractions in base 16.

    >>> to_document("a round", [CurvePoint(fmpq(3, 2), fmpq(0), fmpq(1, 16))])["points"]
    [['3/2', '1/10']]
    """
    pairs = [[_hex(p.level), _hex(p.high)] for p in points]
    return {"format": FORMAT, "version": VERSION, "round": text, "base": 16, "points": pairs}


def from_document(data: Mapping[str, Any]) -> GivenRound:
    """Return the round of a document. Raises FormatError if it is none."""
    given = data if isinstance(data, Mapping) else {}
    if (given.get("format"), given.get("version"), given.get("base")) != (FORMAT, VERSION, 16):
        wrong = Problem("the document has another format or version")
        raise FormatError("profile", wrong, f"give format {FORMAT}, version {VERSION}, base 16")
    pairs, text = data.get("points"), data.get("round")
    if not isinstance(pairs, list) or not 0 < len(pairs) <= _MOST_POINTS or not isinstance(text, str):
        wrong = Problem("the name or the points are missing, or there are too many points")
        raise FormatError("profile", wrong, f"give a name, and 1 to {_MOST_POINTS} points [E, bound]")
    if not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise FormatError("profile", Problem("a point is not a pair"), "give pairs [E, bound]")
    return given_round([(_fraction(e), _fraction(d)) for e, d in pairs], text)


def given_round(values: Iterable[tuple[fmpq, fmpq]], text: str) -> GivenRound:
    """Return the round with upper bounds at levels E >= 1, checked and sorted."""
    points = tuple(CurvePoint(e, fmpq(0), min(d, fmpq(1))) for e, d in sorted(values))
    good = all(a.level < b.level for a, b in pairwise(points))
    if not (points and good and points[0].level >= 1 and all(p.high >= 0 for p in points)):
        wrong = Problem("two points have the same eps, or a bound is outside [0, 1]")
        raise FormatError("profile", wrong, "give different eps >= 0, with bounds in [0, 1]")
    return GivenRound(points, text)


_PAIRS = "pairs (eps, delta), such as [(0, '1e-2'), ('0.1', '1e-6')]"


def points_of_profile(points: Iterable[tuple[object, object]]) -> list[tuple[fmpq, fmpq]]:
    """Return (E, delta) for pairs (eps, delta); e^eps is rounded up, where the bound holds all the more."""
    pairs = [listed(point, "points", _PAIRS) for point in listed(points, "points", _PAIRS)]
    if any(len(pair) != 2 for pair in pairs):
        raise ArgumentError("points", pairs, f"a list of {_PAIRS}")
    return [(rounded_fraction(sp.exp(budget(eps))), _bound(delta)) for eps, delta in pairs]


def _bound(delta: object) -> fmpq:
    value = exact_number(delta, "delta")
    if not (value.is_Rational and 0 <= value <= 1):
        raise FormatError("delta", str(delta), "a rational number in [0, 1]")
    return fmpq_of(value)


def _hex(x: fmpq) -> str:
    p, q = int(x.p), int(x.q)
    return f"{p:x}" if q == 1 else f"{p:x}/{q:x}"


def _fraction(text: object) -> fmpq:
    match = re.fullmatch(r"([0-9a-f]+)(?:/([0-9a-f]+))?", text) if isinstance(text, str) else None
    q = int(match[2], 16) if match and match[2] else 1
    if match is None or q == 0:
        raise FormatError("profile", text, "a fraction in base 16, such as 3/2")
    return fmpq(int(match[1], 16), q)


# --- A round for the package dp_accounting: its privacy loss distribution, and an event that an accountant composes

_SUM_BITS = 512
"""Bits of sums of masses, far below the least of them that matters."""
_PER_DEVIATION, _MOST_CELLS, _LARGEST_LOSS = 20.0, 200_000, 40.0
"""Cells of the lattice for each deviation, cells in all, and the loss at which it ends: time and memory of the other
package against the width of its answers. Rules of thumb."""
EXPORT_EFFORT = "thorough"
"""One round is exported once and asked often: bounds that are slow at each point are evaluated at every level."""
_INSTALL = "symamp[export]"


@undisturbed()
def loss_distribution(orders: Sequence[RoundPairs], interval: float | None, delta: object) -> Any:
    """Return what ``to_dp_accounting`` says, each kind of round composed by dp_accounting as often as it is run.

    ``orders`` are the rounds in both orders of the two worlds, each composed by itself, or once where these are equal.
    Raises MissingPackageError without the package.
    """
    pld = optional("dp_accounting.pld.privacy_loss_distribution", _INSTALL)
    step, target = _step(interval, orders[0]), log_of(failure_probability(delta))
    result: Any = None
    for pairs in zip(
        *(known.pairs(True, 0.0, target, None, even=True, effort=EXPORT_EFFORT).pairs for known in orders), strict=True
    ):
        one, count = pld.PrivacyLossDistribution(*(lattice_masses(pair, step) for pair, _ in pairs)), pairs[0][1]
        many = one if count == 1 else one.self_compose(count)
        result = many if result is None else result.compose(many)
    return result


def _step(interval: object, rounds: RoundPairs) -> float:
    """Return the step of a lattice: the one given, or a twentieth of the least deviation."""
    if interval is None:
        return min(r.deviation for r, _ in rounds.rounds) / _PER_DEVIATION
    step = float(exact_number(interval, "interval"))
    if not 0.0 < step <= _LARGEST_LOSS:
        raise ArgumentError("interval", interval, f"a number in (0, {_LARGEST_LOSS:g}], or None")
    return step


def lattice_masses(pair: DominatingPair, step: float) -> Any:
    """Return the masses on the lattice whose curve goes through upper bounds at its points (connect the dots)."""
    pld_pmf = optional("dp_accounting.pld.pld_pmf", _INSTALL)

    with at_precision(64):
        furthest = min(float(arb(max((e for e, _ in pair.atoms), default=fmpq(1))).log()), _LARGEST_LOSS)
    last = ceil(furthest / step)
    if 2 * last > _MOST_CELLS:
        raise ArgumentError("interval", Problem(f"{step} needs more than {_MOST_CELLS} cells"), "take a larger one")
    levels = range(-last, last + 1)
    deltas = _bounds_of_event(pair, [exp(j * step) for j in levels])
    for i in range(1, len(deltas)):
        deltas[i] = min(deltas[i], deltas[i - 1])
    return pld_pmf.create_pmf_pessimistic_connect_dots(step, list(levels), deltas)


def _bounds_of_event(pair: DominatingPair, levels: Sequence[float]) -> list[float]:
    """Return the divergences at levels that are not above e^(j step), given in rising order, rounded up."""
    with at_precision(_SUM_BITS):
        atoms = [(e, arb(p), arb(p / e)) for e, p in pair.atoms]
        first, second, k, found = arb(pair.infinite), arb(0), len(atoms), list[float]()
        for level in reversed(levels):
            below = nextafter(nextafter(level, 0.0), 0.0)
            exact = fmpq(*below.as_integer_ratio())
            while k > 0 and atoms[k - 1][0] > exact:
                k -= 1
                first, second = first + atoms[k][1], second + atoms[k][2]
            found.append(min(1.0, float_above(first - arb(below) * second)))
    return found[::-1]


@cache
def event_classes() -> tuple[Any, Any]:
    """Return the class of events for rounds and that of accountants that know them.

    Raises MissingPackageError without the package.
    """
    dp_accounting, attr = (optional(name, _INSTALL) for name in ("dp_accounting", "attr"))
    pld_privacy_accountant = optional("dp_accounting.pld.pld_privacy_accountant", _INSTALL)

    @attr.define(frozen=True)
    class ShuffledDpEvent(dp_accounting.DpEvent):  # type: ignore[misc, name-defined]
        """Rounds of shuffled users, for neighbours by replacement of one."""

        rounds: RoundPairs

    class ShufflePLDAccountant(pld_privacy_accountant.PLDAccountant):  # type: ignore[misc, name-defined]
        """A PLDAccountant that composes events of rounds of shuffled users with all others it knows."""

        def __init__(self, value_discretization_interval: float = 1e-4, delta: float = 1e-10) -> None:
            relation = dp_accounting.NeighboringRelation.REPLACE_ONE
            super().__init__(relation, value_discretization_interval)
            self._tail_delta = delta

        _pld: Any

        def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
            if not isinstance(event, ShuffledDpEvent):
                return super()._maybe_compose(event, count, do_compose)
            if do_compose:
                one = loss_distribution([event.rounds], self._value_discretization_interval, self._tail_delta)
                self._pld = self._pld.compose(one if count == 1 else one.self_compose(count))
            return None

    return ShuffledDpEvent, ShufflePLDAccountant


# ---------------------------------------------------- A round for the package opendp: its privacy profile as a callable


def profile_callable(vertices: list[Vertex]) -> Callable[[float], float]:
    """Return delta as a function of eps >= 0: the chords of certified upper bounds, rounded up.

    Guarantee
    ---------
    The value is at least delta of the round at eps, a double taken as the number that it is.
    Proof: docs/proofs/composition.md, section 2.

    >>> profile_callable([(fmpq(0), fmpq(1)), (fmpq(1), fmpq(1, 4)), (fmpq(3), fmpq(0))])(0.0)
    0.25
    """
    levels = [e for e, _ in vertices]
    with at_precision(128):
        last = float_above(log_ball(levels[-1])) if levels[-1] > 0 else 0.0

    @undisturbed()
    def delta(eps: float) -> float:
        if isinstance(eps, float) and eps > last:  # searches for a small delta ask about any eps, inf among them
            return float_above(arb(vertices[-1][1]))
        with at_precision(128):
            ball = number(budget(eps))().exp()
            level = Dyadic.of(ball.lower()).fraction
            i = bisect_right(levels, level)
            if i == len(levels):
                return float_above(arb(vertices[-1][1]))
            (e0, d0), (e1, d1) = vertices[i - 1], vertices[i]
            return min(1.0, float_above(arb(d0 + (d1 - d0) * (level - e0) / (e1 - e0))))

    return delta


def opendp_profile(made: Callable[[], Callable[[float], float]]) -> Any:
    """Return the opendp PrivacyProfile of the function that is made; before that, MissingPackageError without opendp.

    Its methods ``delta`` and ``epsilon`` work in opendp's own arithmetic.
    """
    optional("opendp.prelude", "symamp[export]").enable_features("contrib", "honest-but-curious")
    return optional("opendp.measures", "symamp[export]").new_privacy_profile(made())
