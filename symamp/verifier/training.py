"""Training by random allocation: one step of t for each example, normal noise, an example there or not; one epoch.

PROVED, if valid: for each of both orders, the divergence of the pair (a uniform one of t messages is N(1, s^2), all
others N(0, s^2)) from t messages N(0, s^2) is as claimed. That this pair is the worst for adaptive gradients of norm at
most 1, and attained, is a theorem (docs/proofs/random_allocation.md), like the formulas that are evaluated here.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log, pi, sqrt
from typing import Any

from flint import acb, acb_mat, arb, fmpq

from .check import MOST_PRECISION, Check, Number, working
from .claims import between, given, quoted, require_order
from .documents import shaped
from .refusals import Verdict, require

FORMAT, VERSION = "symamp-training-certificate", 1
DIRECTIONS = ("remove", "add")
_DOCUMENT = {"format": str, "version": int, "claim": dict, "training": {"sigma": str, "steps": int}, "supposed": [str]}
_LINE = {"kind": str, "precision": int, "tilt": str, "step": str, "count": int, "further": str, "turn": str}
_JUMP = {"kind": str, "precision": int, "threshold": str, "place": str, "tilt": str, "alone": str}
_CONTOUR = {"kind": str, "precision": int, "count": int} | dict.fromkeys(("scale", "angle", "width", "step"), str)
_PLANS = {"line": _LINE, "jump": _JUMP, "contour": _CONTOUR}
_MOST_STEPS, _MOST_COUNT, _MOST_TERMS, _BINS = 10**9, 50_000, 4 * 10**9, 120


def verdict(data: Any) -> Verdict:
    """Return the verdict on a certificate of training that proves its claim; a refusal is raised otherwise."""
    require(data.get("version") == VERSION, f"not version {VERSION} of a certificate of training")
    shaped(data, _DOCUMENT | {"above": dict.fromkeys(DIRECTIONS, dict), "below": dict}, "certificate")
    shaped(data["below"], {"direction": str, "evidence": dict}, "below")
    claim, is_epsilon = data["claim"], data["claim"].get("quantity") == "epsilon"
    key = "delta" if is_epsilon else "eps"
    shaped(claim, dict.fromkeys(("quantity", "lower", "upper", key), str), "claim")
    require(claim["quantity"] in ("epsilon", "delta"), "claim: another quantity")
    check, t, below = Check(), data["training"]["steps"], data["below"]
    require(2 <= t <= _MOST_STEPS, "training: a number of steps out of range")
    require(below["direction"] in DIRECTIONS, "below: another direction")
    with working(256):
        lower, upper, at = (check.number(claim[x]) for x in ("lower", "upper", key))
        sigma = check.fraction(data["training"]["sigma"])
        require(0 < at < 1 if is_epsilon else 0 <= at < 1000, "claim: a number out of range")
        require(sigma * 100 >= 1 and sigma <= 10**6, "training: a sigma out of range")
        require_order(lower, upper, not is_epsilon)
        require(not is_epsilon or upper < 1000, "claim: a number out of range")
    for name in DIRECTIONS:
        high = _divergence(check, data, data["above"][name], name, "upper")[1]
        with working(256):
            proved = high <= check.number(claim["delta" if is_epsilon else "upper"])
            require(proved, f"{name}: the divergence is not proved to be as claimed", "invalid")
    with working(256):
        trivial = lower == 0
    if not trivial:
        low = _divergence(check, data, below["evidence"], below["direction"], "lower")[0]
        with working(256):
            proved = low > check.number(claim["delta"]) if is_epsilon else low >= check.number(claim["lower"])
            require(proved, "below: the divergence is not proved to be as claimed", "invalid")
    said = f"{claim['quantity']} in {between(lower, upper)}, {key} = {given(claim[key], at)}"
    whose = f"random allocation, one of {t} steps, normal noise of {given(data['training']['sigma'], arb(sigma))}"
    told = ("both orders of the worlds with and without an example, from above", f"{below['direction']}, from below")
    theorem = "that this pair of laws is the worst for adaptive gradients of norm at most 1, which is a theorem"
    return Verdict(
        "valid", f"{said}, {whose}", told, (theorem, *(f"stated: {quoted(x)}" for x in data["supposed"][:32]))
    )


def _divergence(check: Check, data: Any, plan: Any, name: str, end: str) -> tuple[Number, Number]:
    """Return a lower and an upper end of the divergence in one order, at eps or at one end of a claimed one."""
    claim, t = data["claim"], data["training"]["steps"]
    require(plan.get("kind") in tuple(_PLANS), f"{name}: another kind of evidence")
    shaped(plan, _PLANS[plan["kind"]], name)
    require(64 <= plan["precision"] <= MOST_PRECISION, f"{name}: a precision out of range")
    with working(plan["precision"]):
        sigma = check.fraction(data["training"]["sigma"])
        eps = arb(check.number(claim["eps"] if "eps" in claim else claim[end]))
        e = eps.exp()
        if plan["kind"] == "jump":
            require(name == "remove", f"{name}: no evidence of this order")
            low, high = _by_jump(check, arb(sigma), t, t * e, plan)
        else:
            k = t * e if name == "remove" else t / e
            low, high = (_by_line if plan["kind"] == "line" else _by_contour)(check, sigma, t, k, plan)
            if name == "remove":
                low, high = low + t - k, high + t - k
            else:
                low, high = low * e, high * e
        return (low / t).lower(), (high / t).upper()


# ------------------------------------------------------------------------------------------------ A line of frequencies


def _by_line(check: Check, sigma: fmpq, t: int, k: arb, plan: Any) -> tuple[arb, arb]:
    """Return ends of E(K - T)_+ (section 2 of the proof)."""
    c, step, further, turn = (arb(check.fraction(plan[x])) for x in ("tilt", "step", "further", "turn"))
    s, count, bits = arb(sigma), plan["count"], plan["precision"]
    require(c > 0 and step > 0 and further > c and 0 < count <= _MOST_COUNT, "line: a number out of range")
    u = step * count
    require(turn >= 0 and turn <= acb(c, u).arg(), "line: a turn out of range", "invalid")
    values = _transforms(check, sigma, c, step, count, bits)
    total, x = acb(0), acb(0, step * k).exp()
    powers = _powers(x, count)
    for j, (phi, power) in enumerate(zip(values, powers, strict=True)):
        w = acb(c, step * j)
        total += phi**t / (w * w) * power * (1 if j else acb(1) / 2)
    (far,) = _transforms(check, sigma, (c * turn.cos() + u * turn.sin()).lower(), arb(0), 1, bits)
    bound = ((s * s * turn * turn / 2).exp() * far.real).upper()
    rest = bound**t * (arb(1) / count**2 + arb(1) / count) / (step * step)
    window = 2 * arb.pi() / step
    scale, q = (c * k).exp() / window, (-c * window).exp()
    middle = scale * 2 * total.real - ((k - t) + window / (1 - q)) * q / (1 - q)
    above = (middle + 2 * scale * rest + t - k).upper()  # of E(T - K)_+, and so of all that is folded from above
    folded = above.min(arb(t)).max(arb(0)) * q / (1 - q)
    if not window >= k:
        (other,) = _transforms(check, sigma, further, arb(0), 1, bits)
        folded += (further * k - 1).exp() * other.real**t / further / ((further - c) * window).expm1()
    apart = 2 * scale * rest
    return (middle - apart - folded).lower(), (middle + apart).upper()


def _by_contour(check: Check, sigma: fmpq, t: int, k: arb, plan: Any) -> tuple[arb, arb]:
    """Return ends of E(K - T)_+ from a contour that is bent to the left (section 2 of the proof)."""
    scale, angle, width, h = (arb(check.fraction(plan[x])) for x in ("scale", "angle", "width", "step"))
    s, count, bits = arb(sigma), plan["count"], plan["precision"]
    good = scale > 0 and h > 0 and 0 < width < angle and angle + width < arb.pi() / 2
    require(good and 0 < count <= _MOST_COUNT, "contour: a number out of range")
    spread, height, total = t * s * s / 2, scale * k, arb(0)
    for j in range(count):
        x = h * j
        w = scale * acb(1 - angle.sin() * x.cosh(), angle.cos() * x.sinh())
        slope = scale * acb(angle.cos() * x.cosh(), angle.sin() * x.sinh())
        value = (_transform(check, sigma, w, bits) ** t * (w * k).exp() * slope / (w * w)).real
        total += value * (2 if j else 1)

    def largest(turn: arb, far: arb) -> arb:
        rise = spread * turn * turn + height * (1 - turn.sin() * far)
        return rise.exp() * arb(2).sqrt() / (scale * (1 - turn.sin()) ** arb(1.5))

    inside = arb.pi() * (largest(angle - width, arb(1)) + largest(angle + width, arb(1)))
    end = h * (count - 1)
    error = inside / (2 * arb.pi() * width / h).expm1() + 4 * largest(angle, end.cosh()) * (-end).exp()
    return ((h * total - error) / (2 * arb.pi())).lower(), ((h * total + error) / (2 * arb.pi())).upper()


def _bound(s: arb, c: arb) -> arb:
    """Return a bound on phi(c), c > 0, by a tangent of the likelihood ratio (section 3)."""
    place = arb((c * (-1 / (2 * s * s)).exp() / (s * s)).lambertw().mid())
    slope = c * (-place - 1 / (2 * s * s)).exp()
    return (slope * slope / (2 * s * s) - slope * (1 + place)).exp()


def _rule(s: arb, a: float, room: float, edge: arb, decay: arb) -> tuple[float, int, int]:
    """Return a step and the first and last node of a trapezoidal rule whose error is about e^-room."""
    h = 2.0 * pi * a / max(room + float(_bound(s, edge).log()), pi * a)  # at most 2 (section 3)
    reach, sigma = ceil(sqrt(2.0 * room) / h) + 1, float(s)
    last = ceil((sigma * (log(room) - float(decay.log())) + 0.5 / sigma) / h) + 1
    require(reach <= _MOST_COUNT, f"too large: more than {_MOST_COUNT} nodes")
    return h, -reach, max(min(last, reach), 1 - reach)


def _missed(s: arb, a: arb, rule: tuple[float, int, int], edges: list[tuple[arb, arb]], decay: arb) -> acb:
    """Return a ball around 0 for what the trapezoidal rule and nodes that are left out may add."""
    h, first, last = rule
    error = sum((_bound(s, c) * growth.exp() for c, growth in edges), arb(0)) * (a * a / 2).exp()
    error = error / (2 * arb.pi() * a / h).expm1() + (-first * arb(h) / arb(2).sqrt()).erfc()
    if last < -first:
        error += 2 * (-decay * (last * arb(h) / s - 1 / (2 * s * s)).exp()).exp()
    ball = error.upper() * arb(0, 1)
    return acb(ball, ball)


def _transform(check: Check, sigma: fmpq, w: acb, bits: int) -> acb:
    """Return phi(w), |arg w| < pi: the trapezoidal rule on a turned contour (section 3)."""
    rough, theta = float(arb(sigma)), float(w.arg().mid())
    a = min(sqrt(2.0 * bits * log(2.0)), 1.2 * rough)
    tau = max(theta + a / rough - 1.2, 0.0)
    lost = (rough * tau) ** 2 / 2.0
    with working(bits + int(2.0 * lost) + 64):
        s, turn, width = arb(sigma), arb(tau), arb(a)
        left = w.arg() - turn
        require(left + width / s < 1.5 and left - width / s > -1.5, "contour: a turn out of range")
        edges = [(abs(w) * (left + i * width / s).cos(), -i * s * turn * width) for i in (1, -1)]
        decay = abs(w) * left.cos()
        room = bits * log(2.0) + lost + a * a / 2.0 + rough * tau * a - float(_bound(s, decay).log()) + 3.0
        rule = h, first, last = _rule(s, a, room, edges[0][0], decay)
        check.spend((last - first) * bits // 1000)
        found, rate = _missed(s, width, rule, edges, decay), -abs(w) * acb(0, left).exp()
        for k in range(first, last + 1):
            z = arb(h) * k
            place = acb(-z * z / 2, s * turn * z) + rate * (z / s - 1 / (2 * s * s)).exp()
            found += h / (2 * arb.pi()).sqrt() * place.exp()
        return (s * s * turn * turn / 2).exp() * found


def _transforms(check: Check, sigma: fmpq, c: arb, step: arb, count: int, bits: int) -> list[acb]:
    """Return phi(c + i j step) for j < count: the turned trapezoidal rule (section 3), as a product of matrices."""
    s, a = arb(sigma), min(sqrt(2.0 * bits * log(2.0)), 0.6 * float(arb(sigma)))
    tau = arb(a) / s
    edges = [(c, -arb(a) * a), (c * (2 * tau).cos(), arb(a) * a)]
    decay = c * tau.cos()
    room = bits * log(2.0) + 2.0 * a * a - float(_bound(s, c).log()) + 3.0
    rule = h, first, last = _rule(s, a, room, edges[1][0], decay)
    rows, terms = ceil(sqrt(count)), last - first + 1
    require(count * terms * bits <= _MOST_TERMS, f"too large: more than {_MOST_TERMS} bits of terms")
    check.spend(terms * rows // 100)
    lost = float((_bound(s, decay) / _bound(s, c)).log())
    with working(bits + int(1.5 * (a * a / 2.0 + max(lost, 0.0))) + 64):
        s = arb(sigma)  # at this precision: turning enlarges what numbers are off by
        tau = arb(a) / s
        back = acb(0, -tau).exp()
        left, hops = [], []
        for k in range(first, last + 1):
            z = arb(h) * k
            rate = -back * (z / s - 1 / (2 * s * s)).exp()
            weight = h * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
            powers = _powers((rate * acb(0, step)).exp(), rows + 1)
            start = weight * acb(0, a * z).exp() * (rate * c).exp()
            left.append([start * x for x in _powers(powers[rows], rows)])
            hops.append(powers[:rows])
        product = acb_mat([[row[i] for row in left] for i in range(rows)]) * acb_mat(hops)
        error, grown = _missed(s, arb(a), rule, edges, c * tau.cos()), (arb(a) * a / 2).exp()
        return [grown * (product[j // rows, j % rows] + error) for j in range(count)]


def _powers(x: acb, count: int) -> list[acb]:
    found = [acb(1), x]
    for k in range(2, count):
        found.append(found[k // 2] * found[k - k // 2])
    return found[:count]


# ---------------------------------------------------------------------------------------------------- One large summand


def _by_jump(check: Check, s: arb, t: int, k: arb, plan: Any) -> tuple[arb, arb]:
    """Return ends of E(T - K)_+ (section 2 of the proof, one large summand)."""
    m, y, tilt, alone = (arb(check.fraction(plan[x])) for x in ("threshold", "place", "tilt", "alone"))
    check.spend(10_000)
    powers = [arb(j - _BINS) / 4 for j in range(_BINS - 12)] + [arb(j) / 16 for j in range(-48, 1)]
    edges = [arb(0), *(m * arb(2) ** x for x in powers)]
    above = [(_above(s, x, 0), _above(s, x, 1)) for x in edges]
    p, jumped = above[-1]
    square = (1 / (s * s)).exp() - _above(s, m, 2)
    mean = (1 - jumped) / (1 - p)
    r, v = (t - 1) * mean, (t - 1) * (square / (1 - p) - mean * mean)
    good = m >= 1 and k - y >= m and y > r and tilt * (y - r) >= 2 and alone > 0
    require(good, "jump: a number out of range", "invalid")

    def moment(rate: arb) -> arb:
        found = arb(0)
        for (x, (p0, m0)), (z, (p1, m1)) in pairwise(zip(edges, above, strict=True)):
            share = ((m0 - m1) - x * (p0 - p1)) / (z - x)
            found += ((p0 - p1) - share) * (rate * x).exp() + share * (rate * z).exp()
        return found

    chance = (moment(tilt) / (1 - p)) ** (t - 1) * (-tilt * y).exp()
    one = _above(s, k - r, 1) - (k - r) * _above(s, k - r, 0)
    weight = t * (1 - p) ** (t - 1)
    low = weight * (one + _density(s, k) / 2 * (v - (y - r) ** 2 * chance).max(arb(0)))
    high = weight * (one + _density(s, k - y) / 2 * v + (jumped + p * (y - r)) * chance)
    high += moment(alone) ** t * (-alone * k - 1).exp() / alone
    high += t * (jumped * (t - 1) * p + ((t - 1) * p) ** 2 / 2)
    return low.lower(), high.upper()


def _above(s: arb, x: arb, power: int) -> arb:
    """Return E[L^k; L > x]."""
    factor = (arb(power * (power - 1)) / (2 * s * s)).exp()
    return factor if x.is_zero() else factor * ((s * x.log() + (1 - 2 * power) / (2 * s)) / arb(2).sqrt()).erfc() / 2


def _density(s: arb, x: arb) -> arb:
    z = s * x.log() + 1 / (2 * s)
    return s * (-z * z / 2).exp() / (x * (2 * arb.pi()).sqrt())
