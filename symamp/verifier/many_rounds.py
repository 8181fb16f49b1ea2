"""Check a certificate about many rounds.

PROVED, if valid: every listed certificate of a point holds, and so does the claim about the product of rounds whose
curves go through these points: above by the hull of the upper ends, below by extended chords
(docs/proofs/composition.md). NOT CHECKED: what certificates of points leave open (docs/certificates.md), what is stated
of the ``rounds`` themselves (the local ratio ``top``, the sampling ``rate``, points that were "given"), and the theorem
on adaptive rounds.
"""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from typing import Any

from flint import acb, arb, ctx, fmpq

from . import one_round
from .one_round import Verdict

FORMAT = "symamp-composed-certificate"
_NUMBER = re.compile(r"(-?(?:0x[0-9a-f]+|\d+))(?:\*2\*\*\((-?\d+)\)|/(0x[0-9a-f]+|\d+))?", re.ASCII)
_MOST_POINTS, _MOST_TERMS, _MOST_BITS = 5_000, 60_000, 4096
_STATED = {"round", "count", "n", "rate", "given", "top"}
_CURVE = {"round", "bottom", "top", "first", "second"}
Point = tuple[fmpq, fmpq, fmpq]


class _Refusal(Exception):  # noqa: N818
    """Not valid: the reason."""


def verify(data: Any) -> Verdict:
    """Return the verdict on a certificate about many rounds, as data read from JSON; nothing is raised."""
    try:
        return Verdict("valid", _checked(data))
    except _Refusal as refusal:
        return Verdict("invalid", str(refusal)[:300])
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError, RecursionError) as error:
        return Verdict("malformed", f"not a certificate about rounds ({type(error).__name__})")


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise _Refusal(reason)


def _number(text: str) -> fmpq:
    match = _NUMBER.fullmatch(text)
    _require(match is not None and len(text) < 10**6, f"not a fraction: {text[:40]!a}")
    assert match is not None
    mantissa = int(match[1], 0)
    if match[2] is None:
        return fmpq(mantissa, int(match[3] or "1", 0))
    _require(abs(int(match[2])) < 10**6, "an exponent beyond 10**6")
    power = fmpq(1 << abs(int(match[2])))
    return mantissa * power if int(match[2]) >= 0 else mantissa / power


def _checked(data: Any) -> str:
    claim = data["claim"]
    quantity, lower, upper = claim["quantity"], claim["lower"], claim["upper"]
    _require(data["format"] == FORMAT and data["version"] == 2, "another format or version")
    _require(quantity in ("epsilon", "delta"), "another quantity")
    stated = data["rounds"]
    _require(all(set(r) == _STATED for r in stated), "rounds with other keys")
    counts = [_count(r["count"]) for r in stated]
    for up, end in ((True, upper), (False, lower)):
        if end == ("inf" if up else "0") or (quantity == "delta" and up and _number(end) >= 1):
            continue  # nothing is claimed
        side = data["above" if up else "below"]
        places = [r["round"] for r in side["rounds"]]
        # From below, rounds may be left out; from above, none.
        good = sorted(places) == list(range(len(stated))) if up else set(places) <= set(range(len(stated)))
        _require(good and len(set(places)) == len(places), "points for other rounds than those of the claim")
        curves = zip(places, side["rounds"], strict=True)
        rounds = [(_curve(r, stated[i], up, int(side["floor"])), counts[i]) for i, r in curves]
        eps = _number(end if quantity == "epsilon" else claim["eps"])
        target = _number(claim["delta"] if quantity == "epsilon" else end)
        with ctx.workprec(min(max(int(side["precision"]), 64), _MOST_BITS) + 64):
            found, goal = _divergence(rounds, arb(eps), side["plan"], up), arb(target)
            low, high = found.lower(), found.upper()
        strict = quantity == "epsilon" and not up
        good = high <= goal if up else (low > goal if strict else low >= goal)
        _require(good, f"the {'upper' if up else 'lower'} end is not proved")
    return f"{quantity} in [{lower[:30]}, {upper[:30]}] for {sum(counts)} rounds"


def _count(count: Any) -> int:
    _require(type(count) is int and 1 <= count <= 10**6, "a count out of range")
    return int(count)


def _point(entry: Any, up: bool) -> tuple[Point, Any]:
    """Return (E, low, high) of the certificate of a point, after a check of it, and what it is about."""
    verdict = one_round.verify(json.dumps(entry))
    _require(verdict.status == "valid", f"a point: {verdict.reason}")
    claim = entry["claim"]
    eps = claim["eps"]
    _require(claim["quantity"] == "delta" and (eps == "0" or eps.startswith("log(")), "a point of another kind")
    level = fmpq(1) if eps == "0" else _number(eps.removeprefix("log(").removesuffix(")"))
    subject = entry["mechanism"]
    if not up:
        _require(entry["above"] == entry["below"] and len(entry["above"]) == 1, "a point of more than one law")
        subject = {key: sorted(entry["above"][0][key]) for key in ("components", "singular")}
    return (level, _number(claim["lower"]), _number(claim["upper"])), (subject, claim["n"])


def _curve(data: Any, stated: Any, up: bool, floor: int) -> list[tuple[fmpq, fmpq]]:
    """Return the vertices of the curve of one round on one side."""
    _require(0 <= floor <= 10**6 and set(data) == _CURVE, "a floor out of range, or a curve with other keys")
    least, rate = fmpq(1, 1 << floor), _number(stated["rate"]) if up else fmpq(1)
    _require(0 < rate <= 1, "a rate out of range")
    bottom, top, known_top = (None if x is None else _number(x) for x in (data["bottom"], data["top"], stated["top"]))
    orders = []
    for entries in (data["first"], *([] if data["second"] is None else [data["second"]])):
        points: list[Point] = []
        same: Any = None
        _require(0 < len(entries) <= _MOST_POINTS, "too many points, or none")
        for entry in entries:
            if isinstance(entry, list):
                _require(up and stated["given"] is True, "a point without a certificate")
                level, low, high, subject = _number(entry[0]), fmpq(0), _number(entry[1]), None
            else:
                (level, low, high), (subject, n) = _point(entry, up)
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
        known_top = top if top is not None and _is_within(law, top) else None
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


def _is_within(law: Any, top: fmpq) -> bool:
    """Return whether no two probabilities of a law have a ratio above ``top``."""
    with ctx.workprec(_MOST_BITS // 8):
        check = one_round.Check()
        pairs = [[check.number(x) for x in row[:2]] for rows in law.values() for row in rows]
        excess = [a - top * b for r0, r1 in pairs for a, b in ((r0, r1), (r1, r0))]
        return all(x <= 0 or (isinstance(x, arb) and x.contains(0) and x.rad() < arb(2) ** -99) for x in excess)


def _hull(points: list[tuple[fmpq, fmpq]]) -> list[tuple[fmpq, fmpq]]:
    hull: list[tuple[fmpq, fmpq]] = []
    for e, d in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (e - hull[-1][0]) >= (d - hull[-1][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((e, d))
    return hull


def _above(known: list[Point]) -> list[tuple[fmpq, fmpq]]:
    least = min(range(len(known)), key=lambda i: (known[i][2], i))
    return _hull([(e, high) for e, _, high in known[: least + 1]])


def _below(known: list[Point]) -> list[tuple[fmpq, fmpq]]:
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
    terms, blocks = int(plan["N"]), sorted([*plan["evaluated"], *plan["dropped"]])
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
