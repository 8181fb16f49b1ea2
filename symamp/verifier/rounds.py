"""Many rounds: points of the curve of each kind of round, and the sum of the losses of all of them.

PROVED: every point that is listed, by evidence of its own; and the claim about the product of rounds whose curves go
through these points: above by the hull of the upper ends, below by extended chords (docs/proofs/composition.md). That
rounds may be chosen one after another is the theorem on adaptive rounds.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations, pairwise
from typing import Any

from flint import acb, arb, fmpq

from . import sums
from .check import INFINITY, Check, Number, fraction_below, is_at_most, larger, working
from .documents import CrossedEnds, require, shaped
from .evidence import kinds, triples
from .mechanisms import Given, members
from .setting import At, Setting

_MOST_POINTS, _MOST_FREQUENCIES, _MOST_BITS, _MOST_FLOOR = 5_000, 60_000, 4096, 2**16
"""Points of a curve, frequencies of the sum, its precision, and the bits below which points count as 0."""
_POINT: dict[str, Any] = {"level": str, "low": str, "high": str, "precision": int, "evidence": [dict]}
_DRAWN: dict[str, Any] = {"drawn": bool}
"""Of points above: that the level is one of the sample, and the evidence about it."""
Point = tuple[fmpq, fmpq, fmpq]
Curve = list[tuple[fmpq, fmpq]]
_NOTHING = fmpq(0)


def _require(condition: object, reason: str) -> None:
    require(condition, reason, "invalid")


def require_shape(side: Any, above: bool, what: str) -> None:
    """Refuse curves of another shape."""
    shaped(side, {"curves": [dict], "floor": int, "precision": int, "plan": sums.KERNEL}, what)
    require(0 <= side["floor"] <= _MOST_FLOOR, f"{what}: a floor out of range")
    require(64 <= side["precision"] <= _MOST_BITS, f"{what}: precision out of range")
    for i, curve in enumerate(side["curves"]):
        place = f"{what}.curves[{i}]"
        ends = {key: type(None) if curve.get(key) is None else str for key in ("bottom", "top")}
        second = type(None) if curve.get("second") is None else [dict]
        shaped(curve, {"setting": int, "first": [dict], "second": second, **ends}, place)
        require(not (above and curve.get("second") is not None), f"{place}: points above are those of both orders")
        for entries in (curve["first"], curve["second"] or []):
            require(len(entries) <= _MOST_POINTS, f"too large: more than {_MOST_POINTS} points")
            for k, point in enumerate(entries):
                own = _DRAWN if above and type(point) is dict and "drawn" in point else {}
                shaped(point, _POINT | own, f"{place}: point {k}")
                kinds.require_shapes(point["evidence"], point["precision"], above, f"{place}: point {k}")


def planned(side: Any) -> int:
    """Return the work of the sums and of the hulls, in operations."""
    hard, due = 2 + (side["precision"] // 512) ** 2, 0
    for curve in side["curves"]:
        points = [*curve["first"], *(curve["second"] or ())]
        for p in points:
            due += 100 + 5 * (side["floor"] + 4 * sum(len(p[key]) for key in ("level", "low", "high")))
        if side["plan"]:
            frequencies = sum(max(b - a + 1, 0) for a, b in side["plan"]["evaluated"])
            due += hard * (len(points) + 1) * min(frequencies + len(side["plan"]["dropped"]), 10**9)
    return due


def curves(check: Check, settings: list[Setting], side: Any, up: bool) -> dict[int, Curve]:
    """Return the vertices of the curves of all kinds of rounds (above), or of some (below)."""
    places = [curve["setting"] for curve in side["curves"]]
    every = range(len(settings))
    good = sorted(places) == list(every) if up else set(places) <= set(every)
    good = good and (up or all(settings[i].coordinates is None for i in places))
    _require(good and len(set(places)) == len(places), "points for other rounds than those of the claim")
    made = _above_of if up else _below_of
    return {c["setting"]: made(check, settings[c["setting"]], c, fmpq(1, 1 << side["floor"])) for c in side["curves"]}


def divergence(check: Check, settings: list[Setting], known: dict[int, Curve], side: Any, eps: Number, up: bool) -> arb:
    """Return a ball whose upper (lower) end bounds the divergence of all rounds together."""
    rounds = [(curve, settings[i].rounds) for i, curve in known.items()]
    return sum_of_losses(check, rounds, arb(eps), side["plan"], up)


# --- the points of one kind of round ----------------------------------------------------------------------------------


def _above_of(check: Check, setting: Setting, curve: Any, least: fmpq) -> Curve:
    mechanism, rate = setting.groups[0].mechanism, setting.rate
    if isinstance(mechanism, Given):
        _require(not curve["first"], "a point of a round whose bounds are given")
        found = [(*point, False) for point in mechanism.points]
    else:
        found = [(*_point(check, setting, p), p.get("drawn", False)) for p in curve["first"]]
    points = [
        (e, fmpq(0), max(d, least)) if drawn else (1 + rate * (e - 1), fmpq(0), rate * max(d, least))
        for e, d, drawn in found
    ]
    return hull_above(_known(check, setting, curve, points, points))


def _point(check: Check, setting: Setting, p: Any) -> tuple[fmpq, fmpq]:
    """Return the level and the upper end of a point, after a proof for one round, or for a ``drawn`` sample."""
    level, high, drawn = check.fraction(p["level"]), check.fraction(p["high"]), p.get("drawn", False)
    _require(level >= 1 and 0 <= high <= 1 and p["low"] == "0", "a point out of range")
    about = setting.everyone and all(data["kind"] == "blanket" for data in p["evidence"])
    _require(not drawn or about, "a point of a sample by other evidence than blankets")
    with working(p["precision"]):
        at = At(check, setting, "0" if level == 1 else f"log({p['level']})", high, setting.rate if drawn else fmpq(1))
        found = kinds.above(at, p["evidence"], "a point above")
        _require(found <= high, "a point above is not proved")
    return level, high


def _below_of(check: Check, setting: Setting, curve: Any, least: fmpq) -> Curve:
    exact = not setting.is_given and setting.groups[0].mechanism.rounded == 0
    _require(exact, "a point below of a round whose bounds are given, or whose table is rounded")
    orders = []
    subject: Any = None
    listed = (curve["first"], curve["second"])[: 1 if curve["second"] is None else 2]
    for turned, entries in enumerate(listed):
        _require(entries, "no points")
        points: list[Point] = []
        for p in entries:
            _require(len(p["evidence"]) == 1 and p["evidence"][0]["kind"] == "data set", "a point of more than one law")
            (data,) = p["evidence"]
            _require(len(data["others"]) <= 1, "a point below where other users hold several inputs")
            pair = (data["pair"][1], data["pair"][0]) if turned else (data["pair"][0], data["pair"][1])
            order = abs(data["order"] - turned) if "order" in data else 0
            same = (pair, sorted(map(tuple, data["others"])), data.get("members"), order)
            _require(subject is None or same == subject, "points of different data sets, or of the same order twice")
            subject = same
            level, low, high = (check.fraction(p[key]) for key in ("level", "low", "high"))
            _require(level >= 1 and 0 <= low <= high <= 1, "a point out of range")
            with working(p["precision"]):
                at = At(check, setting, "0" if level == 1 else f"log({p['level']})", high, setting.rate)
                up, down = (triples.data_set(at, data, up, "a point below") for up in (True, False))
                _require(down >= low and up <= high, "a point below is not proved")
            points.append((level, low if low >= least else fmpq(0), max(high, least)))
        orders.append(points)
    (x0, x1), others, held, order = subject
    with working(_MOST_BITS // 8):
        mechanism = setting.groups[0].mechanism
        owner = mechanism if held is None else next(iter(members(check, held, [mechanism], "a point below")))
        weights = [(x, check.number(w)) for x, w in others]
        law = owner.triple((x0, x1), weights) if weights else triples.itself(owner, (x0, x1), "a point below")
        law = setting.who.triple(check, law.sampled(setting.rate), order)
        alike = not setting.who.removal and owner.is_symmetric((x0, x1), [x for x, _ in others])
        _require(len(orders) == 2 or alike, "the other order is missing")
        numbers = setting.who.numbers or [(fmpq(1), setting.n)]
        certain = fraction_below(check.total(w * setting.who.limit(check, law, n, order) for w, n in numbers))
    return hull_below(_known(check, setting, curve, orders[0], orders[-1], law), certain)


def _known(
    check: Check, setting: Setting, curve: Any, right: list[Point], second: list[Point], law: Any = None
) -> list[Point]:
    """Return the points in the order of their levels, with those of the other order, and where the curve is known."""
    bottom, top = (None if curve[key] is None else check.fraction(curve[key]) for key in ("bottom", "top"))
    exact = [x for x in (top, bottom and 1 / bottom) if x is not None]
    if exact:
        with working(_MOST_BITS // 8):
            limit = _largest_ratio(setting, law)
            good = all(x >= 1 and is_at_most(limit, x) for x in exact)
        _require(good, "a curve is not known exactly so far")
    _require(right or exact, "no points")
    left = [(1 / e, 1 - 1 / e + low / e, 1 - 1 / e + high / e) for e, low, high in second if e > 1]
    points = sorted(left + right)
    _require(all(a[0] < b[0] for a, b in pairwise(points)), "a level twice")
    known: list[Point] = [(fmpq(0), fmpq(1), fmpq(1))]
    if bottom is not None:
        known.append((bottom, 1 - bottom, 1 - bottom))
    known += [p for p in points if p[0] > known[-1][0] and (top is None or p[0] < top)]
    if top is not None:
        known.append((top, fmpq(0), fmpq(0)))
    return known


def _largest_ratio(setting: Setting, law: Any) -> Number:
    """Return the largest ratio of two probabilities, of all pairs that are compared or of one data set."""
    if setting.who.removal:
        return INFINITY
    if law is None:
        found = [INFINITY if g.mechanism.rounded > 0 else g.mechanism.ratio(True) for g in setting.groups if g.victim]
        ratio = reduce(larger, found)
        return ratio if ratio == INFINITY else 1 + setting.rate * (ratio - 1)
    rows = [(c.ratio0, c.ratio1) for c in law.components] + [(a, b) for _, a, b in law.singular]
    if any((a == 0) != (b == 0) for a, b in rows):
        return INFINITY
    return reduce(larger, (r for a, b in rows if a != 0 for r in (a / b, b / a)), fmpq(1))


# --- curves through points, and the sum of the losses -----------------------------------------------------------------


def require_no_crossing(above: Curve, below: Curve) -> None:
    """Refuse a curve from below that is somewhere above that from above: they are about different rounds."""
    k = 0
    for e, d in below if above else ():
        while k + 1 < len(above) and above[k + 1][0] <= e:
            k += 1
        (e0, most), (e1, last) = above[k], above[min(k + 1, len(above) - 1)]
        if e >= e0 and d > (most if e1 == e0 else most + (last - most) * (e - e0) / (e1 - e0)):
            raise CrossedEnds("points below are above those above: different rounds")


def _hull(points: Curve) -> Curve:
    hull: Curve = []
    for e, d in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (e - hull[-1][0]) >= (d - hull[-1][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((e, d))
    return hull


def hull_above(known: list[Point]) -> Curve:
    """Return the vertices of a convex function above a curve, from upper ends at points from (0, 1) on."""
    least = min(range(len(known)), key=lambda i: (known[i][2], i))
    return _hull([(e, high) for e, _, high in known[: least + 1]])


def hull_below(known: list[Point], least: fmpq = _NOTHING) -> Curve:
    """Return the vertices of a convex function below a curve, from both ends at points from (0, 1) on.

    The curve is nowhere below ``least``, a chance that the loss is infinite.
    """
    values: dict[fmpq, fmpq] = {}
    for j, (start, low, _) in enumerate(known):
        lines, end = [(fmpq(1), fmpq(-1)), (least, fmpq(0))], None
        if j:
            slope = (low - known[j - 1][2]) / (start - known[j - 1][0])
            lines.append((low - slope * start, slope))
        if j + 1 < len(known):
            end = known[j + 1][0]
        if j + 2 < len(known):
            slope = (known[j + 2][2] - known[j + 1][1]) / (known[j + 2][0] - end)
            lines.append((known[j + 1][1] - slope * end, slope))
        if end is None:
            value, slope = lines[-1]
            end = max(start, fmpq(1), (least - value) / slope if slope < 0 else start)
        crossings = {(c - a) / (b - d) for (a, b), (c, d) in combinations(lines, 2) if b != d}
        for e in {start, end} | {x for x in crossings if start < x < end}:
            value = max(a + b * e for a, b in lines)
            values[e] = min(value, values.get(e, value))
    hull = _hull(sorted(values.items()))
    # A curve does not increase: where the hull comes up again at its end, the last value bounds all before.
    level = hull[-1][1]
    fall = [v for v in hull if v[1] > level]
    if fall:
        (e, d), (f, c) = fall[-1], hull[len(fall)]
        hull = [*fall, (e + (f - e) * (d - level) / (d - c), level)]
    return hull


def sum_of_losses(check: Check, rounds: list[Any], eps: arb, plan: Any, up: bool) -> arb:
    """Return a ball whose upper (lower) end bounds the divergence of the product, for every plan."""
    factors, lasting = [], arb(0)
    for vertices, count in rounds:
        slopes = [(d1 - d0) / (e1 - e0) for (e0, d0), (e1, d1) in pairwise(vertices)] + [fmpq(0)]
        masses = [(e, e * (b - a)) for (e, _), a, b in zip(vertices[1:], slopes, slopes[1:], strict=False) if a != b]
        factors.append(([(arb(e).log(), arb(p)) for e, p in masses], count))
        if vertices[-1][1] == 1:
            return arb(1)  # all losses are infinite
        lasting += count * (-arb(vertices[-1][1])).log1p()
    beyond = -lasting.expm1()
    if plan is None:
        return (_largest_losses(factors, eps, up) + beyond).min(arb(1))
    theta, w, higher, lesser = (arb(check.number(plan[k])) for k in ("theta", "W", "theta_above", "theta_below"))
    terms = sums.require_blocks(plan, "a sum of losses")
    _require(sum(b - a + 1 for a, b in plan["evaluated"]) <= _MOST_FREQUENCIES, "too many frequencies")
    _require(0 <= lesser < theta < higher and w > 0, "theta or W wrong")
    d, step = w / terms, 2 * arb.pi() / w
    near, far = (x / x.expm1() for x in (theta * d, theta * d + d))
    shift = 1 - (near / far).log() / d if up else arb(1)
    slope = arb(0) if up else (near - far) / (2 * arb.pi())
    parts = [sums.Tilted((atoms, arb(0), count), theta) for atoms, count in factors]
    for part in parts:
        part.along(step / 2, 2 * terms)

    def z(s: Any) -> Any:
        return (-s * (shift * d)).exp() / (1 - (-s * d).exp())

    at_zero = d * (z(theta) - z(theta + 1))
    result, excess = at_zero / 2, abs(at_zero - 1 / (theta * (theta + 1)))
    for j in (j for a, b in plan["evaluated"] for j in range(a, b + 1)):
        u = step * j
        power = sums.product_of(part.phi_n(2 * j) for part in parts) * acb(0, -u * eps).exp()
        s, turn = acb(theta, u), acb(0, 1) / (terms * step)
        value = (1 + turn * s) * z(s) - (1 + turn * (s + 1)) * z(s + 1)
        result += ((d * (value - acb(0, 1) * slope)) * power).real
    for a, b in plan["dropped"]:
        beta = sums.product_of(part.modulus_n(check, a + b, b - a) for part in parts)
        s = acb(theta, step * a)
        cost = (b - a + 1) * beta * (1 / abs(s * (s + 1)) + excess)
        result += cost if up else -cost
    value = 2 / w * result
    for other in () if up else (higher, lesser):
        kappa = ((other * other.log() if other > 0 else arb(0)) - (1 + other) * other.log1p()).exp()
        grown = sums.product_of(part.growth(other) for part in parts) * ((theta - other) * eps).exp()
        value -= kappa * grown / (abs(other - theta) * w).expm1()
    scale = sums.product_of(part.scale() for part in parts) * (-theta * eps).exp()
    return ((scale * value).max(arb(0)) + beyond).min(arb(1))


def _largest_losses(factors: list[Any], eps: arb, up: bool) -> arb:
    """Return a ball whose upper (lower) end bounds the part of finite losses, by the largest of each round."""
    if not all(atoms for atoms, _ in factors):
        return arb(0)
    room = sum((count * atoms[-1][0] for atoms, count in factors), arb(0)) - eps
    value = -(-room).expm1().min(arb(0))
    for atoms, count in factors:
        largest, chance = atoms[-1]
        left = eps if len(factors) == count == 1 else largest - room  # no rounding: a loss may be eps itself
        value *= (sum((p for x, p in atoms if not x <= left), arb(0)) if up else chance) ** count
    return value
