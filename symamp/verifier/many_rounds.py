"""Check a certificate about many rounds.

PROVED, if valid: every listed certificate of a point holds, and so does the claim about the product of rounds whose
curves go through these points: above by the hull of the upper ends, below by extended chords
(docs/proofs/composition.md). NOT CHECKED: what certificates of points leave open (docs/certificates.md), what is stated
of the ``rounds`` themselves (the local ratio ``top``, the sampling ``rate``, points that were "given"), and the theorem
on adaptive rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

from flint import acb, arb, fmpq

from .claims import between, given, quoted, require_order, some
from .documents import shaped
from .one_round import Check
from .planned import planned
from .refusals import CrossedEnds, Verdict, judged, require
from .working import working

FORMAT = "symamp-composed-certificate"
MOST_WORK = 6 * 10**7
"""The operations that the whole certificate may take, about a microsecond each."""
_NUMBER = re.compile(r"(-?(?:0x[0-9a-f]+|\d+))(?:\*2\*\*\((-?\d+)\)|/(0x[0-9a-f]+|\d+))?", re.ASCII)
_MOST_POINTS, _MOST_TERMS, _MOST_BITS, _MOST_LENGTH, _MOST_SHOWN = 5_000, 60_000, 4096, 2**16, 32
_TEXTS: dict[str, Any] = dict.fromkeys(("theta", "W", "theta_above", "theta_below"), str)
_PLAN: dict[str, Any] = _TEXTS | {"N": int, "evaluated": [(int, int)], "dropped": [(int, int)]}
_NONE = type(None)
Point = tuple[fmpq, fmpq, fmpq]
Curve = list[tuple[fmpq, fmpq]]


def verify(data: Any) -> Verdict:
    """Return the verdict on a certificate about many rounds, as data read from JSON; nothing is raised."""
    return judged(lambda: _checked(data, Check(MOST_WORK)))


def _require(condition: object, reason: str) -> None:
    require(condition, reason, "invalid")


def _number(text: Any) -> fmpq:
    match = _NUMBER.fullmatch(text)
    _require(match is not None and len(text) < _MOST_LENGTH, f"not a fraction, or too large: {text[:40]!a}")
    assert match is not None
    mantissa = int(match[1], 0)
    if match[2] is None:
        return fmpq(mantissa, int(match[3] or "1", 0))
    _require(len(match[2]) < 7 and abs(int(match[2])) < _MOST_LENGTH, f"too large: an exponent beyond {_MOST_LENGTH}")
    power = fmpq(1 << abs(int(match[2])))
    return mantissa * power if int(match[2]) >= 0 else mantissa / power


def _opened(data: Any) -> None:
    """Refuse data that have not the shape of a certificate about rounds."""
    parts = dict.fromkeys(("above", "below"), object)
    require(type(data) is dict and set(data) == {"format", "version", "claim", "rounds", *parts}, "not about rounds")
    require(data["format"] == FORMAT and data["version"] == 2, "another format or version")
    require(type(data["claim"]) is dict and data["claim"].get("quantity") in ("epsilon", "delta"), "another quantity")
    keys = ("quantity", "lower", "upper", "delta" if data["claim"]["quantity"] == "epsilon" else "eps")
    shaped(data["claim"], dict.fromkeys(keys, str), "claim")
    shaped(data["rounds"], [dict], "rounds")
    require(data["rounds"], "no rounds")
    for i, r in enumerate(data["rounds"]):
        n, top = (_NONE if r.get(key) is None else kind for key, kind in (("n", int), ("top", str)))
        shape = {"round": str, "count": int, "n": n, "rate": str, "given": bool, "top": top}
        shaped(r, shape, f"rounds[{i}]")
        require(1 <= r["count"] <= 10**6, "a count out of range")
    for name in parts:
        if data[name] is not None:
            _opened_side(data[name], name)


def _opened_side(side: Any, what: str) -> None:
    shaped(side, {"rounds": [dict], "floor": int, "precision": int, "plan": _PLAN}, what)
    require(0 <= side["floor"] <= _MOST_LENGTH, f"{what}: a floor out of range")
    require(64 <= side["precision"] <= _MOST_BITS, f"{what}: precision out of range")
    for i, curve in enumerate(side["rounds"]):
        ends = {key: _NONE if curve.get(key) is None else str for key in ("bottom", "top")}
        second = _NONE if curve.get("second") is None else list
        shaped(curve, {"round": int, "first": list, "second": second, **ends}, f"{what}.rounds[{i}]")
        for entries in (curve["first"], curve["second"] or []):
            require(len(entries) <= _MOST_POINTS, f"too large: more than {_MOST_POINTS} points")
            for entry in entries:
                if type(entry) is not dict:
                    shaped(entry, (str, str), "a point")


def _points(data: Any, sides: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in sides:
        for curve in data[name]["rounds"]:
            yield from ((name, x) for entries in (curve["first"], curve["second"] or []) for x in entries)


def _planned(check: Check, data: Any, sides: tuple[str, ...]) -> int:
    """Return the work of the whole certificate: what its points announce, their hulls, and the sums of both ends."""
    due = 0
    for name, entry in _points(data, sides):
        texts = entry
        if type(entry) is dict:
            claim, _ = check.opened(entry)
            due += sum(planned(e) for side in ("above", "below") for e in entry[side])
            texts = [claim["eps"], claim["lower"], claim["upper"]]
        bits = data[name]["floor"] + 4 * sum(map(len, texts))
        due += 100 + 5 * bits
    for name in sides:
        side = data[name]
        hard, found = 2 + (side["precision"] // 512) ** 2, [(r["first"], r["second"] or ()) for r in side["rounds"]]
        vertices = sum(len(first) + len(second) + 1 for first, second in found)
        frequencies = sum(max(b - a + 1, 0) for a, b in side["plan"]["evaluated"]) if side["plan"] else 0
        due += hard * vertices * min(frequencies + len(side["plan"]["dropped"]) if side["plan"] else 0, 10**9)
    return due


def _checked(data: Any, check: Check) -> Verdict:
    _opened(data)
    claim, stated = data["claim"], data["rounds"]
    is_epsilon, lower = claim["quantity"] == "epsilon", _number(claim["lower"])
    at = _number(claim["delta" if is_epsilon else "eps"])
    require(at >= 0 and not (is_epsilon and at >= 1), "claim: a number out of range")
    upper = arb("inf") if is_epsilon and claim["upper"] == "inf" else _number(claim["upper"])
    require_order(lower, upper, not is_epsilon)
    trivial = {"above": upper >= (arb("inf") if is_epsilon else 1), "below": lower == 0}
    sides = tuple(side for side in ("above", "below") if not trivial[side])
    for side in sides:
        require(data[side] is not None, f"nothing is listed {side}, and the bound is not trivial", "invalid")
    due = _planned(check, data, sides)
    require(due <= check.most, f"too large: {due} operations are announced, at most {check.most}")
    curves: dict[str, dict[int, Curve]] = {}
    for name in sides:
        up, side, end = name == "above", data[name], upper if name == "above" else lower
        places = [r["round"] for r in side["rounds"]]
        # From below, rounds may be left out; from above, none.
        good = sorted(places) == list(range(len(stated))) if up else set(places) <= set(range(len(stated)))
        _require(good and len(set(places)) == len(places), "points for other rounds than those of the claim")
        curves[name] = {r["round"]: _curve(check, r, stated[r["round"]], up, side["floor"]) for r in side["rounds"]}
        rounds = [(found, stated[i]["count"]) for i, found in curves[name].items()]
        eps, target = (end, at) if is_epsilon else (at, end)
        with working(side["precision"] + 64):
            found, goal = _divergence(rounds, arb(eps), side["plan"], up), arb(target)
            low, high = found.lower(), found.upper()
        good = high <= goal if up else (low > goal if is_epsilon else low >= goal)
        _require(good, f"the {'upper' if up else 'lower'} end is not proved")
    for i, curve in curves.get("below", {}).items():
        _require_no_crossing(curves.get("above", {}).get(i, []), curve)
    return _told(data, (lower, upper, at), sides)


def _told(data: Any, ends: tuple[Any, Any, Any], sides: tuple[str, ...]) -> Verdict:
    """Return the verdict: the whole claim, and what it supposes."""
    claim, stated, (lower, upper, at) = data["claim"], data["rounds"], ends
    key, count = ("delta" if "delta" in claim else "eps"), sum(r["count"] for r in stated)
    said = f"{claim['quantity']} in {between(lower, upper)}, {key} = {given(claim[key], at)}, for {count} rounds"
    checked, supposed = list[str](), ["that rounds may be chosen one after another, which is a theorem"]
    for i, r in enumerate(stated):
        users = "a given profile" if r["given"] else f"n = {r['n']}"
        rate = given(r["rate"], _number(r["rate"]))
        shown = any(c["round"] == i for side in sides for c in data[side]["rounds"])
        (checked if shown else supposed).append(
            f"rounds of kind {i}: {r['count']}, with {users}, sampling rate {rate}" + ", without evidence" * (not shown)
        )
        supposed.append(f"kind {i} is {quoted(r['round'])}, and its users are sampled at that rate")
        if r["top"] is not None:
            top = given(r["top"], _number(r["top"]))
            supposed.append(f"kind {i}: no divergence from e^eps = {top} on, the local ratio (top)")
        side = data["above"] if r["given"] and "above" in sides else {"rounds": ()}
        for curve in (c for c in side["rounds"] if c["round"] == i):
            for name in ("first", "second") if curve["second"] else ("first",):
                entries = curve[name]
                points = ", ".join(": ".join(given(x, _number(x)) for x in entry) for entry in entries[:_MOST_SHOWN])
                more = f" and {len(entries) - _MOST_SHOWN} more" if len(entries) > _MOST_SHOWN else ""
                order = ", in the other order" if name == "second" else ""
                supposed.append(f"kind {i}: given bounds on delta at e^eps{order}, {points}{more}")
    proved = [entry for _, entry in _points(data, sides) if type(entry) is dict]
    if proved:
        methods = [f"{e['method']} ({e['proof_status']})" for p in proved for e in (*p["above"], *p["below"])]
        supposed.append(f"points by {some(methods)}")
        supposed.append("that the triples and laws of all points are those of the rounds, for all pairs of inputs")
    return Verdict("valid", said, ("ends rounded outward", *checked), tuple(supposed))


def _point(check: Check, entry: Any, up: bool) -> tuple[Point, Any]:
    """Return (E, low, high) of the certificate of a point, after a check of it, and what it is about."""
    verdict = judged(lambda: check.certificate(entry))
    if verdict.status != "valid":
        require(False, f"a point: {verdict.reason}", verdict.status)
    claim = entry["claim"]
    eps = claim["eps"] if claim["quantity"] == "delta" else ""
    _require(entry["version"] in (1, 2) and (eps == "0" or eps.startswith("log(")), "a point of another kind")
    level = fmpq(1) if eps == "0" else _number(eps.removeprefix("log(").removesuffix(")"))
    subject = entry["mechanism"]
    if not up:
        _require(entry["above"] == entry["below"] and len(entry["above"]) == 1, "a point of more than one law")
        _require("components" in entry["above"][0], "a point of more than one law")
        subject = {key: sorted(entry["above"][0][key]) for key in ("components", "singular")}
    return (level, _number(claim["lower"]), _number(claim["upper"])), (subject, claim["n"])


def _curve(check: Check, data: Any, stated: Any, up: bool, floor: int) -> Curve:
    """Return the vertices of the curve of one round on one side."""
    least, rate = fmpq(1, 1 << floor), _number(stated["rate"]) if up else fmpq(1)
    _require(0 < rate <= 1, "a rate out of range")
    bottom, top, known_top = (None if x is None else _number(x) for x in (data["bottom"], data["top"], stated["top"]))
    orders = []
    for entries in (data["first"], *([] if data["second"] is None else [data["second"]])):
        points: list[Point] = []
        same: Any = None
        _require(entries, "no points")
        for entry in entries:
            if isinstance(entry, list):
                _require(up and stated["given"], "a point without a certificate")
                level, low, high, subject = _number(entry[0]), fmpq(0), _number(entry[1]), None
                _require(0 <= high <= 1, "a given bound on delta below 0 or above 1")
            else:
                _require(not (up and stated["given"]), "a certificate of a point that is said to be given")
                (level, low, high), (subject, n) = _point(check, entry, up)
                same_round = n == stated["n"] and (not up or stated["round"].startswith(subject))
                _require(same_round, "points of another round than that of the claim")
            _require(level >= 1 and (same is None or same == subject), "points of other rounds, or a level below 1")
            same = subject
            low, high = (low if low >= least else fmpq(0)), max(high, least)
            points.append((1 + rate * (level - 1), rate * low, rate * high))
        orders.append((points, same))
    if not up:  # the law of the second order is that of the first with both data sets exchanged
        law = orders[0][1]
        turned = {key: sorted([row[1], row[0], *row[2:]] for row in law[key]) for key in law}
        _require(orders[-1][1] == turned, "the other order is missing")
        known_top = top if top is not None and _is_within(check, law, top) else None
        _require(_is_sampled(check, law, _number(stated["rate"])), "points below of a round without that sampling rate")
    exact = [x for x in (top, bottom and 1 / bottom) if x is not None]
    _require(all(known_top is not None and x >= known_top >= 1 for x in exact), "a curve is not known exactly so far")
    left = [(1 / e, 1 - 1 / e + low / e, 1 - 1 / e + high / e) for e, low, high in orders[-1][0] if e > 1]
    points = sorted(left + orders[0][0])
    _require(all(a[0] < b[0] for a, b in pairwise(points)), "a level twice")
    known: list[Point] = [(fmpq(0), fmpq(1), fmpq(1))]
    if bottom is not None:
        known.append((bottom, 1 - bottom, 1 - bottom))
    known += [p for p in points if p[0] > known[-1][0] and (top is None or p[0] < top)]
    if top is not None:
        known.append((top, fmpq(0), fmpq(0)))
    return _above(known) if up else _below(known)


def _is_within(check: Check, law: Any, top: fmpq) -> bool:
    """Return whether no two probabilities of a law have a ratio above ``top``."""
    with working(_MOST_BITS // 8):
        pairs = [[check.number(x) for x in row[:2]] for rows in law.values() for row in rows]
        excess = [a - top * b for r0, r1 in pairs for a, b in ((r0, r1), (r1, r0))]
        return all(x <= 0 or (isinstance(x, arb) and x.contains(0) and x.rad() < arb(2) ** -99) for x in excess)


def _is_sampled(check: Check, law: Any, rate: fmpq) -> bool:
    """Return whether no ratio is proved to be below 1 - rate: a user who is not drawn leaves the law of the others."""
    _require(0 < rate <= 1, "a rate out of range")
    with working(_MOST_BITS // 8):
        ratios = (check.number(x) for row in law["components"] for x in row[:2])
        alone = [check.total(check.number(row[k]) for row in law["singular"]) for k in (0, 1)]
        return rate == 1 or not (any(x < 1 - rate for x in ratios) or any(x > rate for x in alone))


def _require_no_crossing(above: Curve, below: Curve) -> None:
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


def _above(known: list[Point]) -> Curve:
    least = min(range(len(known)), key=lambda i: (known[i][2], i))
    return _hull([(e, high) for e, _, high in known[: least + 1]])


def _below(known: list[Point]) -> Curve:
    values: dict[fmpq, fmpq] = {}
    for j, (start, low, _) in enumerate(known):
        lines, end = [(fmpq(1), fmpq(-1)), (fmpq(0), fmpq(0))], None
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
            end = max(start, fmpq(1), -value / slope if slope < 0 else start)
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


def _divergence(rounds: list[Any], eps: arb, plan: Any, up: bool) -> arb:
    """Return a ball whose upper (lower) end bounds the divergence of the product, for every plan."""
    factors, lasting = [], arb(0)
    for vertices, count in rounds:
        slopes = [(d1 - d0) / (e1 - e0) for (e0, d0), (e1, d1) in pairwise(vertices)] + [fmpq(0)]
        masses = [(e, e * (b - a)) for (e, _), a, b in zip(vertices[1:], slopes, slopes[1:], strict=False) if a != b]
        factors.append(([(arb(e).log(), arb(p)) for e, p in masses], count))
        infinite = arb(vertices[-1][1])
        _require(infinite < 1, "all losses are infinite")
        lasting += count * (-infinite).log1p()
    beyond = -lasting.expm1()
    if plan is None:
        return _largest_losses(factors, eps, up) + beyond
    theta, w, higher, lesser = (arb(_number(plan[k])) for k in ("theta", "W", "theta_above", "theta_below"))
    terms, blocks = plan["N"], sorted([*plan["evaluated"], *plan["dropped"]])
    good = [a for a, _ in blocks] + [terms] == [1, *(b + 1 for _, b in blocks)] and all(a <= b for a, b in blocks)
    _require(good and terms > 0, "the blocks do not cover 1..N-1 without overlap")
    _require(sum(b - a + 1 for a, b in plan["evaluated"]) <= _MOST_TERMS, "too many frequencies")
    _require(0 <= lesser < theta < higher and w > 0, "theta or W wrong")
    d, step = w / terms, 2 * arb.pi() / w
    lam, further = theta * d, theta * d + d

    def gam(x: arb) -> arb:
        return x / x.expm1()

    def cumulant(x: arb) -> arb:
        sums = (count * sum((p * (x * v).exp() for v, p in atoms), arb(0)).log() for atoms, count in factors)
        return sum(sums, arb(0)) - x * eps

    shift = 1 - (gam(lam) / gam(further)).log() / d if up else arb(1)
    slope = arb(0) if up else (gam(lam) - gam(further)) / (2 * arb.pi())

    def z(s: Any) -> Any:
        return (-s * (shift * d)).exp() / (1 - (-s * d).exp())

    at_zero, result, tilted = d * (z(theta) - z(theta + 1)), arb(0), []
    for atoms, count in factors:
        weights = [(v, p * (theta * v).exp()) for v, p in atoms]
        whole = sum((p for _, p in weights), arb(0))
        tilted.append(([(v, p / whole) for v, p in weights], count))

    def phi(atoms: Any, u: arb) -> acb:
        return sum((p * acb(0, u * v).exp() for v, p in atoms), acb(0))

    for a, b in plan["evaluated"]:
        for j in range(a, b + 1):
            u, power = step * j, acb(0, -step * j * eps).exp()
            for atoms, count in tilted:
                value = phi(atoms, u)
                power *= (value.log() * count).exp() if value.real > 0 else value**count
            s, span = acb(theta, u), terms * step
            value = (1 + acb(0, 1) * s / span) * z(s) - (1 + acb(0, 1) * (s + 1) / span) * z(s + 1)
            result += ((d * (value - acb(0, 1) * slope)) * power).real
    result += at_zero / 2
    excess = abs(at_zero - 1 / (theta * (theta + 1)))
    for a, b in plan["dropped"]:
        beta = arb(1)
        for atoms, count in tilted:
            mean = sum((p * v for v, p in atoms), arb(0))
            deviation = sum((p * (v - mean) ** 2 for v, p in atoms), arb(0)).max(arb(0)).sqrt()
            root = (1 - abs(phi(atoms, step * (a + b) / 2)) ** 2).max(arb(0)).sqrt()
            distance = (root - deviation * step * (b - a) / 2).max(arb(0)).min(arb(1))
            beta *= (1 - distance**2).max(arb(0)).sqrt() ** count
        s = acb(theta, step * a)
        cost = (b - a + 1) * beta * (1 / abs(s * (s + 1)) + excess)
        result += cost if up else -cost
    k, value = cumulant(theta), 2 / w * result
    for other in () if up else (higher, lesser):
        kappa = ((other * other.log() if other > 0 else arb(0)) - (1 + other) * other.log1p()).exp()
        value -= kappa * (cumulant(other) - k).exp() / (abs(other - theta) * w).expm1()
    return (k.exp() * value).max(arb(0)) + beyond


def _largest_losses(factors: list[Any], eps: arb, up: bool) -> arb:
    """Return a ball whose upper (lower) end bounds the part of finite losses, by the largest of each round."""
    if not all(atoms for atoms, _ in factors):
        return arb(0)
    room = sum((count * atoms[-1][0] for atoms, count in factors), arb(0)) - eps
    value = -(-room).expm1().min(arb(0))
    for atoms, count in factors:
        largest, chance = atoms[-1]
        value *= (sum((p for x, p in atoms if not x <= largest - room), arb(0)) if up else chance) ** count
    return value
