"""Training whose batches are drawn at random: epochs of random allocation, or Poisson sampling.

PROVED, if valid: for each order of the worlds, the divergence of the pair of laws of all epochs is as claimed. An epoch
of random allocation has the pair (a uniform one of t messages is that of the example, such as N(1, s^2), all others are
without it) and t messages without. Of many, each point of the curve of one is proved, and the product of rounds whose
curves go through the points (docs/proofs/composition.md). That the pair is the worst for adaptive gradients of norm at
most 1, and attained, is a theorem (docs/proofs/random_allocation.md), like the formulas that are evaluated here. Of
several steps of an epoch the upper end is that of blocks, and the lower one that of a statistic of the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, log, pi, sqrt
from typing import Any

from flint import acb, acb_mat, acb_poly, arb, arb_poly, fmpq

from . import steps, sums
from .check import MANY, MOST_PRECISION, MOST_WORK, Check, Number, fraction_below, working
from .claims import Claim, given, quoted
from .documents import Verdict, require, shaped
from .evidence import triples
from .mechanisms import Triple
from .rounds import hull_above, hull_below, sum_of_losses
from .steps import CELLS, REPLACE, Noise, require_statistic

DIRECTIONS = "remove", "add"
_TRAINING: dict[str, Any] = {"step": dict, "steps": int, "selected": int, "rate": str, "epochs": int, "neighbours": str}
_DOCUMENT = {"format": str, "version": int, "claim": dict, "training": _TRAINING, "points": [dict], "supposed": [str]}
_POINT = dict.fromkeys(("direction", "level", "low", "high"), str) | {"steps": int, "evidence": dict}
_LINE = {"kind": str, "precision": int, "tilt": str, "step": str, "count": int, "further": str, "turn": str}
_JUMP = {"kind": str, "precision": int, "threshold": str, "place": str, "tilt": str, "alone": str}
_CONTOUR = {"kind": str, "precision": int, "count": int} | dict.fromkeys(("scale", "angle", "width", "step"), str)
_WAVE = {"kind": str, "precision": int, "count": int, "tail": _JUMP}
_WAVE |= dict.fromkeys(("start", "end", "tilt", "peak", "left", "turn"), str)
_PROGRESSION = {"kind": str, "precision": int} | dict.fromkeys(("order", "first", "count"), int)
_PROGRESSION |= dict.fromkeys(("rate", "step", "strip", "turn"), str)
_LAWS = {"kind": str, "precision": int, "above": dict, "below": dict}
_STATISTIC = {"kind": str, "precision": int}
_PLANS: dict[str, dict[str, Any]] = {"laws": _LAWS, "statistic": _STATISTIC}
_PLANS |= {"wave": _WAVE, "line": _LINE, "jump": _JUMP, "contour": _CONTOUR, "closed": {"kind": str, "precision": int}}
_PARTS = {"kind": str, "precision": int, "first": str, "event": [str]} | dict.fromkeys(DIRECTIONS, dict)
_PLANS |= {"progression": _PROGRESSION, "parts": _PARTS}
_CURVE = {"steps": int, "right": [int], "left": [int]}
_ROUNDS = {"kind": str, "precision": int, "plan": sums.KERNEL, "curves": [_CURVE]}
Sigma = Callable[[], arb]
_MOST_STEPS, _MOST_EPOCHS, _MOST_POINTS = 10**9, 10**6, 20_000
_MOST_COUNT, _MOST_TERMS, _BINS, _PLACES, _MOST_ORDER = 50_000, 2 * 10**10, 120, 22, 256


def verdict(data: Any, patience: int) -> Verdict:
    """Return the verdict on a certificate of training that proves its claim; a refusal is raised otherwise."""
    replaced = isinstance(data["training"], dict) and data["training"].get("neighbours") == REPLACE
    names = (REPLACE,) if replaced else DIRECTIONS
    below_shape = {"direction": str, "evidence": dict} if data.get("below") is not None else type(None)
    shape: dict[str, Any] = _DOCUMENT | {"above": dict.fromkeys(names, dict), "below": below_shape}
    is_shuffled = isinstance(data["training"], dict) and "shuffled" in data["training"]
    if is_shuffled:
        shape |= {"training": _TRAINING | {"shuffled": bool}}
    if "statistic" in data:
        shape |= {"statistic": dict}
        require_statistic(data["statistic"])
    shaped(data, shape, "certificate")
    claim, below = data["claim"], data["below"]
    require(below is None or below["direction"] in names + DIRECTIONS * is_shuffled, "below: another direction")
    for i, point in enumerate(data["points"]):
        shaped(point, _POINT, f"points[{i}]")
        _require_shape(point["evidence"], f"points[{i}].evidence")
    for name in names:
        _require_shape(data["above"][name], name, {"rounds": _ROUNDS})
    if below is not None:
        _require_shape(below["evidence"], "below", {"rounds": _ROUNDS})
    check = Check(patience * MOST_WORK * (MANY if data["points"] else 1))
    training = (_Shuffled if is_shuffled and data["training"]["shuffled"] else _Training)(check, data)
    said = Claim.of(check, claim, 1000)
    is_epsilon, trivial = said.is_epsilon, said.lower == 0
    require(not is_epsilon or said.upper < 1000, "claim: a number out of range")
    for name in names:
        high = training.divergence(name, data["above"][name], claim["upper" if is_epsilon else "eps"], True)
        with working(256):
            proved = high <= check.number(claim["delta" if is_epsilon else "upper"])
            require(proved, f"{name}: the divergence is not proved to be as claimed", "invalid")
    if not trivial:
        require(below is not None, "below: nothing is proved", "invalid")
        eps = claim["lower" if is_epsilon else "eps"]
        low = training.divergence(below["direction"], below["evidence"], eps, False)
        with working(256):
            proved = low > check.number(claim["delta"]) if is_epsilon else low >= check.number(claim["lower"])
            require(proved, "below: the divergence is not proved to be as claimed", "invalid")
    checked = [f"{' and '.join(names)}, from above", *([] if trivial else [f"{below['direction']}, from below"])]
    supposed = training.theorem, *(f"stated: {quoted(x)}" for x in data["supposed"][:32])
    return Verdict("valid", ", ".join((*said.told(claim), training.told())), tuple(checked), supposed)


def _require_shape(how: Any, what: str, further: dict[str, Any] | None = None) -> None:
    known = _PLANS | (further or {})
    require(how.get("kind") in tuple(known), f"{what}: another kind of evidence")
    cells: dict[str, Any] = {"cells": CELLS} if how["kind"] == "laws" and "cells" in how else {}
    shaped(how, known[how["kind"]] | cells, what)
    if how["kind"] == "laws":
        for side in ("above", "below"):
            shaped(how[side], sums.shape(how[side]), f"{what}.{side}")
    for plan in (how, how.get("tail", how)):
        require(64 <= plan["precision"] <= MOST_PRECISION, f"{what}: a precision out of range")
    require(how.get("tail", {"kind": "jump"})["kind"] == "jump", f"{what}: another kind of evidence")
    for part in (how[name] for name in DIRECTIONS * (how["kind"] == "parts")):
        require(part.get("kind") != "parts", f"{what}: parts of parts")
        _require_shape(part, what)
    require(0 < how.get("count", 1) <= _MOST_COUNT, f"{what}: a number out of range")


class _Training:
    """What is claimed of, and evaluations that several points or ends share.

    If all other gradients are ``opposite`` it is the lower end of shuffled batches: each kind of evidence has data of
    its own, those of random allocation gradients 0.
    """

    theorem = "that this pair of laws is the worst for adaptive gradients of norm at most 1, which is a theorem"

    def __init__(self, check: Check, data: Any, opposite: bool = False) -> None:
        self.opposite = opposite
        self.about, self.check, self.points = data["training"], check, data["points"]
        of = self.about
        self.steps, self.selected, self.epochs = of["steps"], of["selected"], of["epochs"]
        self.replaced = of["neighbours"] == REPLACE
        require(self.replaced or of["neighbours"] == "add_remove", "training: other neighbours")
        require(1 <= self.selected <= self.steps <= _MOST_STEPS, "training: a number of steps out of range")
        require(1 <= self.epochs <= _MOST_EPOCHS, "training: a number of epochs out of range")
        self.step, self.statistic = steps.read(check, of["step"], "training.step"), data.get("statistic")
        with working(256):
            self.rate = check.fraction(of["rate"])
        self.is_normal = isinstance(self.step, Noise) and self.step.kind == "gaussian"
        self.sigma: Sigma = lambda: arb(check.number(of["step"]["sigma"]))
        require(0 < self.rate <= 1 and (self.rate == 1 or self.selected == 1), "training: a rate out of range")
        size, longer = divmod(self.steps, self.selected)
        blocks = [(size, self.selected - longer), (size + 1, longer)] if self.rate == 1 else [(1, self.steps)]
        self.blocks = [(t, count * self.epochs) for t, count in blocks if count]
        require(len(self.points) <= _MOST_POINTS, f"too large: more than {_MOST_POINTS} points")
        self._proved: dict[int, tuple[fmpq, fmpq]] = {}
        self._data_sets = set[bool]()
        self._lines: dict[Any, Callable[[arb], tuple[arb, arb]]] = {}
        self._laws: dict[int, list[list[arb]]] = {}
        self._triples: dict[tuple[str, str, int], list[Triple]] = {}

    def told(self) -> str:
        """Return what the claim is about."""
        with working(256):
            noise = self.step.told()
        chosen = f"{self.selected} of {self.steps} steps" if self.rate == 1 else f"{self.steps} Poisson sampled steps"
        rate = "" if self.rate == 1 else f" at the rate {given(str(self.rate), self.rate)}"
        example = "replaced" if self.replaced else "there or not"
        epochs = "an epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"{epochs} of {chosen}{rate}, {noise}, an example {example}"

    def divergence(self, name: str, how: Any, eps: str, up: bool) -> Number:
        """Return an upper or a lower end of the divergence of all epochs in one order."""
        blocks = self._blocks(up)
        if how["kind"] == "rounds":
            return self._product(name, how, eps, up)
        require(len(blocks) == 1 and blocks[0][1] == 1, f"{name}: no evidence about several rounds", "invalid")
        return self._one(name, blocks[0][0], how, eps, self._has_statistic(how, up))[up]

    def _has_statistic(self, how: Any, up: bool) -> bool:
        return how["kind"] == "statistic" if self.opposite else not self.is_attained and not up

    @property
    def is_attained(self) -> bool:
        """Whether what is proved above is attained: of several steps it is not."""
        return self.selected in (1, self.steps)

    def _blocks(self, up: bool) -> list[tuple[int, int]]:
        """Return numbers of steps of which an example is in one, each with how many there are; below all together."""
        return self.blocks if up or self.is_attained else [(self.steps, self.epochs)]

    def _product(self, name: str, how: Any, eps: str, up: bool) -> arb:
        blocks = self._blocks(up)
        require([c["steps"] for c in how["curves"]] == [t for t, _ in blocks], f"{name}: other epochs", "invalid")
        points = sum(len(c[side]) for c in how["curves"] for side in ("right", "left"))
        with working(how["precision"]):
            if how["plan"]:
                count = sum(max(b - a + 1, 0) for a, b in how["plan"]["evaluated"]) + len(how["plan"]["dropped"])
                self.check.spend((points + 1) * min(count, 10**9), hard=True)
            curves = [(self._curve(name, c, up), count) for c, (_, count) in zip(how["curves"], blocks, strict=True)]
            return sum_of_losses(self.check, curves, arb(self.check.number(eps)), how["plan"], up)

    def _curve(self, name: str, curve: Any, up: bool) -> list[tuple[fmpq, fmpq]]:
        """Return the vertices of a curve from points of one order at E >= 1, and at 1/E from the other."""
        other = {"remove": "add", "add": "remove"}.get(name, name)
        right, left = (
            [
                (self.check.fraction(self.points[i]["level"]), *self._point(i, order, curve["steps"], up))
                for i in curve[side]
            ]
            for side, order in (("right", name), ("left", other))
        )
        known = sorted([(1 / e, 1 - 1 / e + low / e, 1 - 1 / e + high / e) for e, low, high in left if e > 1] + right)
        good = known and all(a[0] < b[0] for a, b in pairwise(known))
        require(good, f"{name}: no points, or a level twice", "invalid")
        known = [(fmpq(0), fmpq(1), fmpq(1)), *known]
        return hull_above(known) if up else hull_below(known, self._infinite(name, curve["steps"]))

    def _infinite(self, name: str, t: int) -> fmpq:
        """Return a chance that the loss of an epoch of a table is infinite (section 5); 0 where none is known."""
        if not (isinstance(self.step, steps.Table) and self.is_attained):
            return fmpq(0)
        law = self.step.laws(name, None)[0].sampled(self.rate)
        never = [(fmpq(c.ratio0) * fmpq(c.mass), fmpq(c.mass)) for c in law.components if c.ratio1 == 0]
        first, mass = (sum((x[i] for x in never), fmpq(0)) for i in (0, 1))
        with working(256):
            hidden = fraction_below(arb(first) * arb(mass) ** (t - 1))
        return sum((fmpq(p) for _, p, q in law.singular if q == 0), hidden)

    def _point(self, i: int, name: str, t: int, up: bool) -> tuple[fmpq, fmpq]:
        """Return the ends of a point, after a proof that they enclose the divergence of an epoch."""
        require(0 <= i < len(self.points), f"{name}: no such point")
        point, by_statistic = self.points[i], self._has_statistic(self.points[i]["evidence"], up)
        about = (point["direction"], point["steps"], point["evidence"]["kind"] == "statistic")
        require(about == (name, t, by_statistic), f"points[{i}]: of another order, or number of steps", "invalid")
        if self.opposite:  # one pair has all points of a curve from below
            self._data_sets.add(by_statistic or point["evidence"]["kind"] == "laws")
            require(len(self._data_sets) == 1, f"{name}: points of several data sets", "invalid")
        if i not in self._proved:
            level, low, high = (self.check.fraction(point[x]) for x in ("level", "low", "high"))
            require(level >= 1 and 0 <= low <= high <= 1, f"points[{i}]: a number out of range")
            eps = "0" if level == 1 else f"log({level})"
            least, most = self._one(name, t, point["evidence"], eps, by_statistic)
            require((low == 0 or low <= least) and most <= high, f"points[{i}]: not proved", "invalid")
            self._proved[i] = low, high
        return self._proved[i]

    def _one(self, name: str, t: int, plan: Any, eps: str, by_statistic: bool) -> tuple[Number, Number]:
        """Return both ends of the divergence of an epoch of t steps in one order, or of a statistic of it."""
        require(name in ((REPLACE,) if self.replaced else DIRECTIONS), f"{name!a:.40}: another direction")
        require((plan["kind"] == "statistic") == by_statistic, f"{name}: of a statistic below alone", "invalid")
        if by_statistic:
            return self._by_statistic(name, plan["precision"], eps)
        if plan["kind"] == "laws":
            return self._by_laws(name, t, plan, eps)
        require(self.is_normal, f"{name}: evidence for normal noise", "invalid")
        require((plan["kind"] == "closed") == (t == 1), f"{name}: evidence for another number of steps", "invalid")
        if plan["kind"] == "parts":
            return self._by_parts(t, plan, eps)
        with working(plan["precision"]):
            e = arb(self.check.exponential(eps)[0])
            if t == 1:
                value = _closed(self.sigma(), arb(self.rate), e, name)
                return value.lower(), value.upper()
            of_two = plan["kind"] in ("wave", "progression")
            require(of_two == self.replaced, f"{name}: no evidence of this order", "invalid")
            if of_two:
                evaluated = _wave if plan["kind"] == "wave" else _progression
                low, high = evaluated(self.check, self.sigma, t, e, plan)
                return (low / t).lower(), (high / t).upper()
            if plan["kind"] == "jump":
                require(name == "remove", f"{name}: no evidence of this order")
                low, high = _by_jump(self.check, self.sigma(), t, t * e, plan)
                return (low / t).lower(), (high / t).upper()
            line = t, *sorted(plan.items())
            if line not in self._lines:
                made = _line if plan["kind"] == "line" else _contour
                self._lines[line] = made(self.check, self.sigma, t, plan)
            self.check.spend(5 * plan["count"], hard=True)
            k = t * e if name == "remove" else t / e
            low, high = self._lines[line](k)
            if name == "remove":
                low, high = low + t - k, high + t - k
            else:
                low, high = low * e, high * e
            return (low / t).lower(), (high / t).upper()

    def _by_laws(self, name: str, t: int, plan: Any, eps: str) -> tuple[Number, Number]:
        """Return the lower end by the one law around the step, and the upper end by the other."""
        with working(plan["precision"]):
            cells, kept = plan.get("cells"), (name, str(plan.get("cells")), plan["precision"])
            if kept not in self._triples:
                found = self.step.laws(name, cells, int(self.opposite))
                self._triples[kept] = [law.sampled(self.rate) for law in found]
            low, high = (
                triples.divergence(self.check, law, eps, t, plan[side], up, name)
                for law, side, up in zip(self._triples[kept], ("below", "above"), (False, True), strict=True)
            )
            return (low if isinstance(low, fmpq) else low.lower()), (high if isinstance(high, fmpq) else high.upper())

    def _by_parts(self, t: int, plan: Any, eps: str) -> tuple[Number, Number]:
        """Return an event of both worlds, and the worlds beside the one without both examples (section 2)."""
        require(self.replaced and t > 1 and len(plan["event"]) == 2, "parts: no evidence of this order", "invalid")
        single, parts = _Training(self.check, {"training": self.about | {"neighbours": "add_remove"}, "points": []}), []
        for name, level in (("remove", plan["first"]), ("add", f"({eps})-({plan['first']})")):
            parts.append(single._one(name, t, plan[name], level, False)[1])
        with working(plan["precision"]):
            first, whole = arb(self.check.number(plan["first"])), arb(self.check.number(eps))
            require(first >= 0 and first <= whole, "parts: a number out of range", "invalid")
            s, e, (c, d) = self.sigma(), whole.exp(), (self.check.fraction(x) for x in plan["event"])
            require(c >= d, "parts: an event out of range", "invalid")
            far, near = ([_below(s, shift - x) for shift in (1, 0, -1)] for x in (c, d))
            n = t - 1
            more, less = (far[i] * near[1] + n * far[1] * near[i] for i in (0, 2))
            low = near[1] * (more - n * far[0] * far[1] - e * less) - arb(n * (n - 1)) / 2 * far[1] ** 2 * near[0]
            return (low * near[1] ** (n - 2)).lower(), (parts[0] + first.exp() * parts[1]).upper()

    def _by_statistic(self, name: str, bits: int, eps: str) -> tuple[Number, Number]:
        """Return both ends of the divergence of the sum of the numbers of all messages (section 7)."""
        require(self.statistic is not None, "below: no statistic", "invalid")
        with working(bits):
            if bits not in self._laws:
                self._laws[bits] = self._largest() if self.opposite else self._sums(name)
            e, found = arb(self.check.exponential(eps)[0]), arb(0)
            self.check.spend(self.statistic["size"])
            for p, q in zip(*self._laws[bits][:: -1 if name == "add" else 1], strict=True):
                found += (p - e * q).max(arb(0))
            return found.lower(), found.upper()

    def _sums(self, name: str) -> list[list[arb]]:
        self.check.spend(50 * (self.statistic["size"] + len(self.statistic["places"])), hard=True)
        laws = self.step.numbered(name, self.statistic)
        first, second, rest = (acb.dft([acb(x) for x in law]) for law in laws)
        others = [z ** (self.steps - self.selected) for z in rest]
        return [
            [z.real for z in acb.dft([x**self.selected * y for x, y in zip(some, others, strict=True)], inverse=True)]
            for some in (first, second)
        ]

    def _largest(self) -> list[list[arb]]:
        """Return the laws of the place of the largest batch sum among those of the statistic (section 8)."""
        require(self.is_normal, "statistic: of normal noise", "invalid")
        places, s = [self.check.fraction(y) for y in self.statistic["places"]], self.sigma()
        good = places and all(a < b for a, b in pairwise(places)) and self.statistic["size"] == len(places) + 1
        require(good, "statistic: places out of order", "invalid")
        self.check.spend(50 * len(places), hard=True)

        def law(shift: int) -> list[arb]:
            at = [_below(s, y) ** (self.steps - 1) * _below(s, y - shift) for y in places]
            return [at[0], *(b - a for a, b in pairwise(at)), 1 - at[-1]]

        return [law(2), law(1)]


class _Shuffled:
    """Shuffled batches: the Gaussian mechanism above, and below what some data attain (section 8 of the proof).

    By replacement the latter is random allocation with half the noise.
    """

    theorem = "that who knows the order has the Gaussian mechanism, and that some data attain the lower end: theorems"

    def __init__(self, check: Check, data: Any) -> None:
        of = data["training"]
        is_normal = of["step"].get("kind") == "gaussian"
        require(is_normal and of["selected"] == 1 and of["rate"] == "1", "training: no shuffled batches")
        self.above = _Training(check, data | {"training": of | {"steps": 1}})
        replaced, half = self.above.replaced, {"kind": "gaussian", "sigma": f"({of['step']['sigma']})/2"}
        allocated = of | {"step": half, "neighbours": "add_remove"}
        self.below = _Training(check, data | {"training": allocated if replaced else of}, not replaced)
        self.told_of = self.above.told(), of["steps"]

    def told(self) -> str:
        """Return what the claim is about."""
        about, batches = self.told_of
        return about.replace("1 of 1 steps", f"{batches} shuffled batches")

    def divergence(self, name: str, how: Any, eps: str, up: bool) -> Number:
        """Return an upper or a lower end of the divergence of all epochs in one order."""
        return (self.above if up else self.below).divergence(name, how, eps, up)


def _below(s: arb, y: Number) -> arb:
    """Return the probability that normal noise is below y."""
    return (-arb(y) / (s * arb(2).sqrt())).erfc() / 2


def _closed(s: arb, q: arb, e: arb, name: str) -> arb:
    """Return the divergence of one step that an example is in with probability q (section 6 of the proof)."""
    if name == REPLACE:
        b = (1 - q) * (e - 1) / q * (1 / (2 * s * s)).exp()
        y = s * s * ((b + (b * b + 4 * e).sqrt()) / 2).log()
        return q * (_below(s, 1 - y) - e * _below(s, -1 - y)) - (1 - q) * (e - 1) * _below(s, -y)
    inner, scale = 1 + (e - 1) / q, q
    if name == "add":
        rest = 1 - (1 - 1 / e) / q
        if not rest > 0:
            require(rest < 0, "a level is not told from where the divergence is 0", "invalid")
            return arb(0)
        inner, scale = 1 / rest, e * q * rest
    y = s * s * inner.log() + arb(1) / 2
    return scale * (_below(s, 1 - y) - inner * _below(s, -y))


# ------------------------------------------------------------------------------------------------ A line of frequencies


def _line(check: Check, sigma: Sigma, t: int, plan: Any) -> Callable[[arb], tuple[arb, arb]]:
    """Return what gives ends of E(K - T)_+ at K (section 2 of the proof)."""
    c, step, further, turn = (arb(check.fraction(plan[x])) for x in ("tilt", "step", "further", "turn"))
    s, count, bits = sigma(), plan["count"], plan["precision"]
    require(c > 0 and step > 0 and further > c, "line: a number out of range")
    u = step * count
    require(turn >= 0 and turn <= acb(c, u).arg(), "line: a turn out of range", "invalid")
    weights = []
    for j, phi in enumerate(_transforms(check, sigma, c, step, count, bits)):
        w = acb(c, step * j)
        weights.append(phi**t / (w * w) * (1 if j else acb(1) / 2))
    (far,) = _transforms(check, sigma, (c * turn.cos() + u * turn.sin()).lower(), arb(0), 1, bits)
    bound = ((s * s * turn * turn / 2).exp() * far.real).upper()
    rest = bound**t * (arb(1) / count**2 + arb(1) / count) / (step * step)
    window = 2 * arb.pi() / step
    q = (-c * window).exp()
    (other,) = _transforms(check, sigma, further, arb(0), 1, bits)

    def ends(k: arb) -> tuple[arb, arb]:
        total = acb(0)
        for weight, power in zip(weights, _powers(acb(0, step * k).exp(), count), strict=True):
            total += weight * power
        scale = (c * k).exp() / window
        middle = scale * 2 * total.real - ((k - t) + window / (1 - q)) * q / (1 - q)
        above = (middle + 2 * scale * rest + t - k).upper()  # of E(T - K)_+, and so of all that is folded from above
        folded = above.min(arb(t)).max(arb(0)) * q / (1 - q)
        if not window >= k:
            folded += (further * k - 1).exp() * other.real**t / further / ((further - c) * window).expm1()
        apart = 2 * scale * rest
        return (middle - apart - folded).lower(), (middle + apart).upper()

    return ends


def _contour(check: Check, sigma: Sigma, t: int, plan: Any) -> Callable[[arb], tuple[arb, arb]]:
    """Return what gives ends of E(K - T)_+ at K, from a contour that is bent to the left (section 2 of the proof)."""
    scale, angle, width, h = (arb(check.fraction(plan[x])) for x in ("scale", "angle", "width", "step"))
    s, count, bits = sigma(), plan["count"], plan["precision"]
    good = scale > 0 and h > 0 and 0 < width < angle and angle + width < arb.pi() / 2
    require(good, "contour: a number out of range")
    weights = []
    for j in range(count):
        x = h * j
        w = scale * acb(1 - angle.sin() * x.cosh(), angle.cos() * x.sinh())
        slope = scale * acb(angle.cos() * x.cosh(), angle.sin() * x.sinh())
        weights.append((w, _transform(check, sigma, w, bits) ** t * slope / (w * w) * (2 if j else 1)))

    def ends(k: arb) -> tuple[arb, arb]:
        total = sum(((weight * (w * k).exp()).real for w, weight in weights), arb(0))
        spread, height = t * s * s / 2, scale * k

        def largest(turn: arb, far: arb) -> arb:
            rise = spread * turn * turn + height * (1 - turn.sin() * far)
            return rise.exp() * arb(2).sqrt() / (scale * (1 - turn.sin()) ** arb(1.5))

        inside = arb.pi() * (largest(angle - width, arb(1)) + largest(angle + width, arb(1)))
        end = h * (count - 1)
        error = inside / (2 * arb.pi() * width / h).expm1() + 4 * largest(angle, end.cosh()) * (-end).exp()
        return ((h * total - error) / (2 * arb.pi())).lower(), ((h * total + error) / (2 * arb.pi())).upper()

    return ends


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


def _transform(check: Check, sigma: Sigma, w: acb, bits: int) -> acb:
    """Return phi(w), |arg w| < pi: the trapezoidal rule on a turned contour (section 3)."""
    rough, theta = float(sigma()), float(w.arg().mid())
    a = min(sqrt(2.0 * bits * log(2.0)), 1.2 * rough)
    tau = max(theta + a / rough - 1.2, 0.0)
    lost = (rough * tau) ** 2 / 2.0
    with working(bits + int(2.0 * lost) + 64):
        s, turn, width = sigma(), arb(tau), arb(a)
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


def _transforms(check: Check, sigma: Sigma, c: arb, step: arb, count: int, bits: int) -> list[acb]:
    """Return phi(c + i j step) for j < count: the turned trapezoidal rule (section 3), as a product of matrices."""
    s, a = sigma(), min(sqrt(2.0 * bits * log(2.0)), 0.6 * float(sigma()))
    tau = arb(a) / s
    edges = [(c, -arb(a) * a), (c * (2 * tau).cos(), arb(a) * a)]
    decay = c * tau.cos()
    room = bits * log(2.0) + 2.0 * a * a - float(_bound(s, c).log()) + 3.0
    rule = h, first, last = _rule(s, a, room, edges[1][0], decay)
    terms = last - first + 1
    require(count * terms * bits <= _MOST_TERMS, f"too large: more than {_MOST_TERMS} bits of terms")
    check.spend(terms * ceil(sqrt(count)) // 100)
    lost = float((_bound(s, decay) / _bound(s, c)).log())
    with working(bits + int(1.5 * (a * a / 2.0 + max(lost, 0.0))) + 64):
        s = sigma()  # at this precision: turning enlarges what numbers are off by
        tau = arb(a) / s
        back, nodes = acb(0, -tau).exp(), []
        for k in range(first, last + 1):
            z = arb(h) * k
            rate = -back * (z / s - 1 / (2 * s * s)).exp()
            weight = h * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
            nodes.append((weight * acb(0, a * z).exp() * (rate * c).exp(), (rate * acb(0, step)).exp()))
        error, grown = _missed(s, arb(a), rule, edges, c * tau.cos()), (arb(a) * a / 2).exp()
        return [grown * (x + error) for x in _sums_of_powers(nodes, count)]


def _sums_of_powers(terms: list[tuple[acb, acb]], count: int) -> list[acb]:
    """Return the sums of a x^j over pairs (a, x) for j < count: entries of a product of two matrices."""
    rows, left, hops = ceil(sqrt(count)), [], []
    for a, x in terms:
        powers = _powers(x, rows + 1)
        left.append([a * y for y in _powers(powers[rows], rows)])
        hops.append(powers[:rows])
    product = acb_mat([[row[i] for row in left] for i in range(rows)]) * acb_mat(hops)
    return [product[j // rows, j % rows] for j in range(count)]


def _powers(x: acb, count: int) -> list[acb]:
    found = [acb(1), x]
    for k in range(2, count):
        found.append(found[k // 2] * found[k - k // 2])
    return found[:count]


# -------------------------------------------------------------------------------------------------- Replacement: a wave


def _wave(check: Check, sigma: Sigma, t: int, e: arb, plan: Any) -> tuple[arb, arb]:
    """Return ends of E(T - E T')_+ (section 2 of the proof, a wave)."""
    names = ("start", "end", "tilt", "peak", "left", "turn")
    start, end, tilt, peak, left, turn = (arb(check.fraction(plan[x])) for x in names)
    s, count, bits, period = sigma(), plan["count"], plan["precision"], 2 * peak + left
    good = start >= 0 and tilt > 0 and peak > 0 and left > 0 and turn >= 0 and turn <= arb.pi() / 2
    good = good and peak >= end - e * start and left >= e * end - start and end > t
    require(good, "wave: a number out of range", "invalid")
    step, total = 2 * arb.pi() / period, arb(0)
    for k, phi in enumerate(_differences(check, s, e, step, count, bits), 1):
        x = step * k
        total += ((1 - (x * peak).cos()) / (x * x) * (phi**t * acb(0, -x * peak).exp())).real
    value, first = (peak * peak + 4 * total) / period, count + 1
    room = 45.0 + bits * log(2.0) / t + float((s * turn) ** 2) / 2.0
    bound = (s * s * turn * turn / 2).exp() * _damped(check, s, e, step * first * turn.sin(), room)
    rest = 8 * bound.upper() ** t * (arb(1) / first**2 + arb(1) / first) / (period * step * step)
    with working(plan["tail"]["precision"]):
        above = _by_jump(check, s, t, end, plan["tail"])[1]
    (phi,) = _transforms(check, sigma, tilt, arb(0), 1, 64)
    below = (tilt * start - 1).exp() * phi.real**t / tilt if start > 0 else arb(0)
    return (value - rest - below - e * above).lower(), (value + rest + 2 * (above + e * below)).upper()


def _symmetric(s: arb, h: float, last: int) -> list[tuple[arb, arb, arb]]:
    """Return weights of nodes kh, |k| <= last, with both likelihood ratios."""
    values = [(arb(h) * k / s - 1 / (2 * s * s)).exp() for k in range(-last, last + 1)]
    weights = [h * (-((arb(h) * k) ** 2) / 2).exp() / (2 * arb.pi()).sqrt() for k in range(-last, last + 1)]
    return list(zip(weights, values, values[::-1], strict=True))


def _differences(check: Check, s: arb, e: arb, step: arb, count: int, bits: int) -> list[acb]:
    """Return E exp(iu(L - E L')) at u = step, ..., count times it: a turned trapezoidal rule (section 3)."""
    room = bits * log(2.0) + 3.0
    a = min(sqrt(room / 2.0), 1.2 * float(s))
    h = 2.0 * pi * a / (room + 2.0 * a * a)
    last = ceil(sqrt(2.0 * room + a * a) / h) + 1
    require(count * last * bits <= _MOST_TERMS, f"too large: more than {_MOST_TERMS} bits of terms")
    check.spend(last * ceil(sqrt(count)) // 50)
    with working(bits + int(a * a) + 64):
        back, nodes = acb(0, arb(a) / s - arb.pi() / 2).exp(), []
        for k, (weight, x, y) in enumerate(_symmetric(s, h, last), -last):
            ratio = (-step * (back * x + e * back.conjugate() * y)).exp()
            nodes.append((weight * acb(0, -arb(a) * h * k).exp() * ratio, ratio))
        grown = (arb(a) * a / 2).exp()
        error = grown * ((arb(a) * a).exp() + (-arb(a) * a).exp()) / (2 * arb.pi() * a / h).expm1()
        ball = (grown * (error + (arb(last) * h / arb(2).sqrt()).erfc())).upper() * arb(0, 1)
        return [grown * x + acb(ball, ball) for x in _sums_of_powers(nodes, count)]


def _damped(check: Check, s: arb, e: arb, y: arb, room: float) -> arb:
    """Return a bound on E exp(-y(L + E L')), y >= 0, that is about e^-room too large (section 3)."""
    a = min(sqrt(2.0 * room), 1.5 * float(s))
    h = 2.0 * pi * a / (room + a * a / 2.0)
    last = ceil(sqrt(2.0 * room) / h) + 1
    check.spend(20 * last)
    found = sum((weight * (-y * (x + e * z)).exp() for weight, x, z in _symmetric(s, h, last)), arb(0))
    error = 2 * (arb(a) * a / 2).exp() / (2 * arb.pi() * a / h).expm1() + (arb(last) * h / arb(2).sqrt()).erfc()
    return (found + error).upper()


# ------------------------------------------------------------------ Replacement: frequencies in geometric progression


def _progression(check: Check, sigma: Sigma, t: int, e: arb, plan: Any) -> tuple[arb, arb]:
    """Return ends of E(T - E T')_+ (section 2 of the proof, frequencies in geometric progression)."""
    log_rate, h, strip, turn = (arb(check.fraction(plan[x])) for x in ("rate", "step", "strip", "turn"))
    s, k, first, count, bits = sigma(), plan["order"], plan["first"], plan["count"], plan["precision"]
    require(2 <= k <= _MOST_ORDER and abs(first) <= _MOST_STEPS and h > 0, "progression: a number out of range")
    rate, start, end = log_rate.exp(), (h * first).exp(), (h * (first + count)).exp()
    good = strip > 0 and strip < arb.pi() / 2 and turn >= 0 and turn <= arb.pi() / 2
    require(good and rate * start <= 1 and rate * end >= 2 * k, "progression: a number out of range", "invalid")
    check.spend(50 * k * k + count * k)
    sizes, signed = (_moments(s, t, x, k) for x in (e, -e))
    powers = [rate**j / arb(j + 1).gamma() for j in range(k + 1)]
    series = [
        sum((acb(0, 1) ** i * signed[i] * powers[j - i] for i in range(j + 1)), acb(0)) for j in range(k)
    ]  # of e^(rate u) times the transform
    lacking = arb(1).exp() * sum((sizes[i] * powers[k - i] for i in range(k)), arb(0))
    grown, slower, edge = (t * (s * strip) ** 2 / 2).exp(), rate * strip.cos(), arb(0)
    whole = rate
    for j in range(2, k):
        edge += abs(series[j]) * arb(j - 1).gamma() / slower ** (j - 1)
        whole -= series[j].real * arb(j - 1).gamma() / rate ** (j - 1)
    edge += (grown * sizes[k] + lacking) / ((k - 1) * rate ** (k - 1))
    edge += rate * (1 + grown + abs(series[1]) / slower)
    error = 2 * edge / (2 * arb.pi() * strip / h).expm1()
    error += h * (sizes[k] + lacking) * start ** (k - 1) / (1 - (-(k - 1) * h).exp())
    room = 45.0 + bits * log(2.0) / t + float((s * turn) ** 2) / 2.0
    bound = ((s * turn) ** 2 / 2).exp() * _damped(check, s, e, end * turn.sin(), room)
    error += bound.upper() ** t * h / (end * (1 - (-h).exp()))
    size = sum((abs(x) * end**j for j, x in enumerate(series)), arb(0))
    error += size * (-rate * end).exp() / end * h / (1 - (-rate * end * h / 2).exp())
    for j, phi in enumerate(_spread(check, s, e, h, first, count, bits), first):
        u = (h * j).exp()
        replaced = sum((x.real * u**i for i, x in enumerate(series)), arb(0)) * (-rate * u).exp()
        whole += h * (replaced - (phi**t).real) / u
    value, error = t * (1 - e) / 2 + whole / arb.pi(), error.upper() / arb.pi()
    return (value - error).lower(), (value + error).upper()


def _moments(s: arb, t: int, e: arb, order: int) -> list[arb]:
    """Return E(T + e T')^j/j! for j <= order."""
    one = [arb(0)] * (order + 1)
    for a in range(order + 1):
        for b in range(order + 1 - a):  # the mean of L^a L'^b, where L' = e^(-1/s^2)/L
            mean = (arb((a - b) * (a - b - 1) - 2 * b) / (2 * s * s)).exp()
            one[a + b] += mean * e**b / (arb(a + 1).gamma() * arb(b + 1).gamma())
    found, square, n = arb_poly([1]), arb_poly(one), t
    while n:
        if n % 2:
            found = arb_poly((found * square).coeffs()[: order + 1])
        square, n = arb_poly((square * square).coeffs()[: order + 1]), n // 2
    return [found[j] for j in range(order + 1)]


def _spread(check: Check, s: arb, e: arb, step: arb, first: int, count: int, bits: int) -> list[acb]:
    """Return E exp(iu(L - E L')) at u = e^(j step): a turned trapezoidal rule, by products of polynomials."""
    room, rough = bits * log(2.0) + 3.0, float(s)
    a, reach = min(sqrt(room / 2.0), 1.2 * rough), sqrt(2.5 * room)
    parts = ceil(float(step) * rough * (room + 2.0 * a * a) / (2.0 * pi * a))
    last = ceil(reach * parts / (float(step) * rough)) + 1
    together = max(last // parts, 1)
    terms = count * parts + 2 * last * (1 + count // together)
    require(terms * bits <= _MOST_TERMS, f"too large: more than {_MOST_TERMS} bits of terms")
    check.spend(10 * terms)
    found: list[acb] = []
    with working(int(2.5 * bits + a * a) + 64):
        fine, lag, width = step / parts, 1 / (2 * s * s), arb(a)
        h, back, grown = s * fine, acb(0, width / s - arb.pi() / 2).exp(), (width * width / 2).exp()
        error = grown * ((width * width).exp() + (-width * width).exp()) / (2 * arb.pi() * width / h).expm1()
        enough = arb(2.0 * room)  # smaller factors are left out, as weights sum to at most 2
        error += (last * h / arb(2).sqrt()).erfc() + 4 * (-enough).exp()
        ball = (grown * error).upper() * arb(0, 1)
        for j in range(0, count, together):
            some = min(together, count - j)
            low, high = parts * (first + j) - last, parts * (first + j + some - 1) + last
            middle = (low + high) // 2
            left, right = list[acb](), list[acb]()
            for p in range(low, high + 1):  # L at u and z is that of p, L' that of q, 2z/h = p - q
                size, place = (fine * p - lag).exp(), -((h * (p - middle)) ** 2) / 4
                turned = acb(0, -width * h * (p - middle) / 2)
                rates = (back * size, place + turned), (e * back.conjugate() * size, place - turned)
                for factors, (rate, weight) in zip((left, right), rates, strict=True):
                    factors.append(acb(0) if rate.real > enough else (weight - rate).exp())
            product = acb_poly(left) * acb_poly(right)
            for i in range(some):
                p = parts * (first + j + i)
                value = product[2 * (p - low)] * ((h * (p - middle)) ** 2 / 2).exp()
                found.append(grown * h / (2 * arb.pi()).sqrt() * value + acb(ball, ball))
    return found


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

    def jump(place: arb) -> arb:
        return _above(s, k - place, 1) - (k - place) * _above(s, k - place, 0)

    chance = (moment(tilt) / (1 - p)) ** (t - 1) * (-tilt * r).exp()
    low, high, beyond, last = arb(0), arb("+inf"), arb(0), jumped + p * (y - r)
    for i in range(_PLACES):  # nearer and nearer to the mean of the others
        excess = (y - r) / arb(2) ** (arb(i) / 2)
        if not tilt * excess >= 2:
            break
        rare = chance * (-tilt * excess).exp()
        beyond, last = beyond + last * rare, jump(r + excess)
        low = low.max(_density(s, k) / 2 * (v - excess**2 * rare))
        high = high.min(_density(s, k - r - excess) / 2 * v + beyond)
    weight = t * (1 - p) ** (t - 1)
    high = weight * (jump(r) + high)
    high += moment(alone) ** t * (-alone * k - 1).exp() / alone
    high += t * (jumped * (t - 1) * p + ((t - 1) * p) ** 2 / 2)
    return (weight * (jump(r) + low)).lower(), high.upper()


def _above(s: arb, x: arb, power: int) -> arb:
    """Return E[L^k; L > x]."""
    factor = (arb(power * (power - 1)) / (2 * s * s)).exp()
    return factor if x.is_zero() else factor * ((s * x.log() + (1 - 2 * power) / (2 * s)) / arb(2).sqrt()).erfc() / 2


def _density(s: arb, x: arb) -> arb:
    z = s * x.log() + 1 / (2 * s)
    return s * (-z * z / 2).exp() / (x * (2 * arb.pi()).sqrt())
