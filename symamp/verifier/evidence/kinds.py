"""The kinds of evidence: their shapes, what they prove, and the check that all compared pairs are covered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ..check import MOST_PRECISION, ZERO, Number, larger
from ..claims import quoted
from ..documents import require, shaped
from ..mechanisms import Budget, Given, Mechanism, Pair, law
from ..setting import At, Setting
from . import (
    boxes_of_pairs,
    coordinates,
    every_randomizer,
    groups,
    histograms,
    message_counts,
    other_inputs,
    triples,
    value_counts,
)

Bound = Callable[[At, dict[str, Any], bool, str], Number]


class Kind(NamedTuple):
    """A kind of evidence: its shape, or what makes it, what it bounds, on which sides it stands, what it covers above.

    ``covers`` is "pair" for the pairs with the same blanket, "laws" for those with the same laws of other inputs,
    "victim" for those of a group of victims, "all" for all.
    """

    shape: dict[str, Any] | Callable[[dict[str, Any], bool], dict[str, Any]]
    bound: Bound
    sides: tuple[bool, ...]
    covers: str


_BOTH, _ABOVE, _BELOW = (True, False), (True,), (False,)
TILT = "common tilt"


KINDS = {
    "blanket": Kind(triples.shape, triples.blanket, _ABOVE, "pair"),
    "data set": Kind(triples.shape, triples.data_set, _BELOW, ""),
    other_inputs.ENVELOPE: Kind(other_inputs.shape, other_inputs.bound, _ABOVE, "laws"),
    other_inputs.DATA_SETS: Kind(other_inputs.shape, other_inputs.bound, _ABOVE, "laws"),
    "message counts": Kind(message_counts.SHAPE, message_counts.bound, _ABOVE, "laws"),
    "value counts": Kind(value_counts.SHAPE, value_counts.bound, _ABOVE, "laws"),
    "histograms": Kind(histograms.shape, histograms.bound, _BOTH, "all"),
    TILT: Kind(triples.TILT_SHAPE, lambda *_: ZERO, _ABOVE, ""),
    "every randomizer": Kind(every_randomizer.shape, every_randomizer.bound, _ABOVE, "all"),
    boxes_of_pairs.KIND: Kind(boxes_of_pairs.SHAPE, boxes_of_pairs.bound, _ABOVE, "all"),
    groups.POSITIONS: Kind(groups.shape, groups.positions, _BOTH, "all"),
    groups.HIDDEN: Kind(groups.shape, groups.hidden, _BOTH, "victim"),
    groups.STEPS: Kind(groups.shape, groups.steps, _BELOW, ""),
    coordinates.KIND: Kind(coordinates.SHAPE, coordinates.bound, _BELOW, ""),
}
_CROWD = {groups.HIDDEN, groups.STEPS}
"""Evidence about users whose messages are shuffled, in groups."""
_MOST_PIECES = 4096
"""Of evidence for one end."""


def require_shape(data: Any, above: bool, what: str) -> None:
    """Refuse a piece of evidence of no known kind, or of another shape than its kind has on that side."""
    kind = KINDS.get(data["kind"]) if type(data) is dict and type(data.get("kind")) is str else None
    named = f" {data['kind']!a:.40}" if type(data) is dict and "kind" in data else ""
    side = "an upper" if above else "a lower"
    require(kind is not None and above in kind.sides, f"{what}: no known kind{named} of evidence for {side} end")
    assert kind is not None
    known = {"members": [dict]} if "members" in data and not above and data["kind"] not in _CROWD else {}
    own = kind.shape if isinstance(kind.shape, dict) else kind.shape(data, above)
    shaped(data, {"kind": str} | own | known, what)


def require_shapes(pieces: list[Any], precision: int, above: bool, what: str) -> None:
    """Refuse a list of evidence that is too long, of other shapes, or of a precision out of range."""
    require(128 <= precision <= MOST_PRECISION, f"{what}: precision out of range")
    require(len(pieces) <= _MOST_PIECES, f"{what}: too large: more than {_MOST_PIECES} pieces of evidence")
    for i, data in enumerate(pieces):
        require_shape(data, above, f"{what}[{i}]")


def below(at: At, pieces: list[dict[str, Any]], what: str) -> Number:
    """Return a number whose lower end bounds the divergence of some pair of data sets."""
    require(pieces, f"nothing is listed {what}, and the bound is not trivial", "invalid")
    _require_kinds(at, pieces, what)
    exact = all(g.mechanism.rounded == 0 for g in at.setting.groups)
    require(exact, f"{what}: a table that is only near to the mechanism has no data sets of it", "invalid")
    found = [KINDS[data["kind"]].bound(at, data, False, f"{what}[{i}]") for i, data in enumerate(pieces)]
    return reduce(larger, found)


def _require_kinds(at: At, pieces: list[dict[str, Any]], what: str) -> None:
    """Refuse evidence that supposes that everyone takes part where not everyone does."""
    kinds = {data["kind"] for data in pieces}
    known = at.setting.everyone or at.setting.kept != 1 or kinds <= {"blanket", "data set"} or kinds <= _CROWD
    at.check.require(known, f"{what}: evidence about users who all take part", "invalid")


def worse(x: Number, y: Number) -> Number:
    """Return the larger of two divergences: that one itself, exact if it is, where it is proved to be the larger."""
    return x if x >= y else y if y >= x else larger(x, y)


def above(at: At, pieces: list[dict[str, Any]], what: str) -> Number:
    """Return a number whose upper end bounds the divergence of every pair that is compared, for all data sets.

    What no piece of evidence covers is at most what is claimed: by one user alone, or by a common tilt, which says no
    more of it.
    """
    _require_kinds(at, pieces, what)
    check, setting, covered = at.check, at.setting, set[Any]()
    result, everything = ZERO, False
    rounded = reduce(larger, (g.mechanism.rounded for g in setting.groups))
    added = (1 + check.number(f"exp({at.eps})")) * at.n * rounded if rounded > 0 else ZERO
    at = at._replace(value=at.value - added)
    for i, data in enumerate(pieces):
        kind, place = KINDS[data["kind"]], f"{what}[{i}]"
        result = worse(result, kind.bound(at, data, True, place))
        everything = everything or kind.covers == "all"
        if kind.covers in ("pair", "laws"):
            pair, mechanism = (data["pair"][0], data["pair"][1]), at.common(place)
            check.require(pair in mechanism.pairs, f"{place}: a pair that is not compared")
            covered.add((kind.covers, mechanism.key(pair, kind.covers == "laws"), data.get("order", 0)))
        elif kind.covers == "victim":
            covered.add(groups.key(at, data["victim"], (data["pair"][0], data["pair"][1]), data.get("order", 0)))
    if not everything:
        result = worse(result, _rest(at, pieces, covered, what))
    return result + added


def _rest(at: At, pieces: list[dict[str, Any]], covered: set[Any], what: str) -> Number:
    """Return what bounds the pairs that no piece covers, after a proof that they are at most the claim."""
    check, setting, result = at.check, at.setting, ZERO
    if len(setting.groups) > 1 or setting.kept != 1 or any(data["kind"] in _CROWD for data in pieces):
        check.require(setting.shuffled == "messages", f"{what}: nothing covers the positions", "invalid")
        for v in setting.victims:
            for pair, order in product(setting.groups[v].mechanism.pairs, range(setting.who.orders)):
                if groups.key(at, v, pair, order) not in covered:
                    alone = groups.alone(at, v, pair, order)
                    result = worse(result, _alone(at, alone, f"{what}: victim {v}, pair {pair}"))
        return result
    mechanism, kinds = at.common(what), {kind for kind, *_ in covered}

    def is_covered(pair: Pair, order: int = 0) -> bool:
        return any((kind, mechanism.key(pair, kind == "laws"), order) in covered for kind in kinds)

    taking = setting.who
    if not setting.everyone:
        for pair, order in product(mechanism.pairs, range(taking.orders)):
            if not is_covered(pair, order):
                triple = taking.triple(check, taking.base(mechanism, pair), order)
                alone = taking.alone(check, law(check, triple, at.eps), at.eps, order)
                result = worse(result, _alone(at, alone, f"{what}: the pair {pair}"))
        return result
    if mechanism.is_between([p for p in mechanism.pairs if is_covered(p)]):
        return result
    settled = [triples.settled(at, data, f"{what}[{i}]") for i, data in enumerate(pieces) if data["kind"] == TILT]
    for pair in mechanism.pairs:
        if is_covered(pair):
            continue
        if not any(is_settled(pair) for is_settled in settled):
            result = worse(result, _alone(at, one_user(at, mechanism, pair), f"{what}: the pair {pair}"))
    return result


def one_user(at: At, mechanism: Mechanism, pair: Pair) -> Number:
    """Return the divergence of the victim's own message, which what others send can only hide."""
    if isinstance(mechanism, Budget) and mechanism.ratio(False) <= at.check.number(f"exp({at.eps})"):
        return ZERO
    if at.rate != 1:  # what stands in for the victim is that of the blanket
        return law(at.check, mechanism.blanket(pair).sampled(at.rate), at.eps).alone(at.check)
    return reduce(larger, (law(at.check, x, at.eps).alone(at.check) for x in mechanism.listed(pair)), ZERO)


def _alone(at: At, found: Number, what: str) -> Number:
    at.check.require(found <= at.value, f"{what} is not covered", "invalid")
    return found


def is_direct(setting: Setting) -> bool:
    """Return whether evidence is about the setting itself: one round in which everybody takes part."""
    return setting.count == 1 and setting.rate == 1 and not setting.is_given


def supposed(settings: Iterable[Setting], several: bool) -> Iterator[str]:
    """Yield what the certificate says of its mechanisms that is not checked."""
    for i, setting in enumerate(settings):
        kind = f"kind {i}: " if several else ""
        yield f"{kind}that the mechanism is {quoted(setting.name)}"
        yield from dict.fromkeys(
            f"{kind}{g.mechanism.supposed}" for g in setting.groups if not isinstance(g.mechanism, Given)
        )
        if any(g.mechanism.data.get("rounded") is not None for g in setting.groups):
            yield f"{kind}that the table is as near to the mechanism as it says"


# --- the work that evidence announces, counted before any of it is done -----------------------------------------------

_MOST_COUNTED = 10**12
"""Beyond so many operations none are counted: all limits are below."""


def planned(data: Any, precision: int) -> int:
    """Return how many operations some evidence announces at least, or about 10^12 if there are more."""
    return min((2 + (precision // 512) ** 2) * sum(map(_of_plan, _objects(data))), _MOST_COUNTED)


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within data."""
    if isinstance(data, dict):
        yield data
    for value in data.values() if isinstance(data, dict) else data:
        if isinstance(value, dict | list):
            yield from _objects(value)


def _of_plan(plan: dict[str, Any]) -> int:
    """Return the operations of one object, if it is the plan of a sum."""
    if "evaluated" in plan:
        frequencies: int = sum(max(b - a + 1, 0) for a, b in plan["evaluated"])
        return min(frequencies, _MOST_COUNTED)
    if "windows" in plan:
        counted: int = prod(max(high - low + 1, 0) for low, high in plan["windows"][:64])
        return min(counted, _MOST_COUNTED) * 30
    if "last" in plan:
        return min(max(int(plan["last"]) + 1, 0), _MOST_COUNTED) * 12
    return len(plan["ends"]) if "ends" in plan else 0
