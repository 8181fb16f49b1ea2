"""Check a certificate about one round.

PROVED: each listed triple (A0, A1, A2) is one, and its divergence D(eps) = E[S_+]/n + singular part, S the sum of n
copies of r0 - e^eps r1 drawn under A2, satisfies the claim. epsilon: D <= delta from ``upper`` on for the triples
``above``, D > delta up to ``lower`` for those ``below``. delta: D <= ``upper`` and D >= ``lower`` at ``eps``.
Version 2 may list other bounds above, for all inputs of the other users, all pairs of a table or all randomizers of a
budget at once, and counts of two messages below; version 4 is about users who differ, and says whose guarantee it is.
Ends do not cross, of the claim or of what is proved above and below.
NOT CHECKED: that these are the triples of the mechanism, for all pairs of inputs, and the reduction's ``proof_status``.
That is the derivation, which is exact and can be repeated; the verdict lists it as supposed. See docs/certificates.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import reduce
from operator import add, mul, sub, truediv
from typing import Any

from flint import arb, ctx, fmpq

from . import few_reports, groups, laws_of_inputs, patterns, rows, sums
from .claims import between, require_order
from .claims import given as told
from .documents import parsed, shaped
from .planned import planned
from .refusals import CrossedEnds, Malformed, Verdict, judged, require
from .subjects import OF_GROUPS, require_one_subject, supposed, whose
from .working import working

MOST_USERS, MOST_PRECISION = 10**18, 8192
_VERSIONS = (1, 2, OF_GROUPS)
MOST_FRACTION, MOST_WORK = 2**19, 10**7  # bits of an exact fraction; operations, about a microsecond each
_TEXT = re.compile(r"(?:[0-9a-fx+\-*/() ]|exp|log|sqrt|E|pi){1,400000}", re.ASCII)
_PLAN: dict[str, Any] = dict.fromkeys(("theta", "W", "theta_above", "theta_below"), str)
_PLAN |= {"N": int, "evaluated": [(int, int)], "dropped": [(int, int)]}
_TAILS: dict[str, Any] = {"theta": str, "windows": [(int, int)]}
_EVIDENCE: dict[str, Any] = dict.fromkeys(("method", "proof_status", "eps", "evaluator"), str)
_EVIDENCE |= {"pair": (str, str), "others": [(str, str)], "components": [(str, str, str)], "singular": [(str, str)]}
_EVIDENCE |= {"plan": _PLAN, "precision": int}
_CERTIFICATE: dict[str, Any] = dict.fromkeys(("format", "mechanism", "method", "proof_status", "source"), str)
_CERTIFICATE |= {"version": int, "claim": dict, "above": [dict], "below": [dict]}

Number = Any  # an exact fraction (fmpq) where possible, else a ball (arb) at the working precision
_ZERO, _INFINITY = fmpq(0), arb("inf")


def verify(text: str) -> Verdict:
    """Return the verdict on a certificate given as JSON text; nothing is raised, whatever the text is."""
    return judged(lambda: Check().certificate(parsed(text)))


def _positive_part(x: Number) -> Number:
    """Return x_+, the fraction 0 where x is proved to be at most 0: then sums of fractions stay exact."""
    return _ZERO if x <= 0 else _larger(x)


def _larger(x: Number, y: Number = _ZERO) -> Number:
    return max(x, y) if isinstance(x, fmpq) and isinstance(y, fmpq) else arb(x).max(arb(y))


def _power(x: Number, y: Number) -> Number:
    if not isinstance(y, fmpq) or y.q > 2:
        return arb(x) ** arb(y)
    require(abs(y.p) < 2**63, "an exponent beyond 2**63")
    x, exponent = (arb(x).sqrt() if y.q == 2 else x), int(y.p)
    small = isinstance(x, fmpq) and (x.p.bit_length() + x.q.bit_length()) * abs(exponent) <= MOST_FRACTION
    return x**exponent if small else arb(x) ** exponent


_BINARY: dict[type, Any] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: _power}


class Check:
    """Checks of one certificate: numbers from texts, and the work that is spent on them."""

    require, larger, working = staticmethod(require), staticmethod(_larger), staticmethod(working)

    def __init__(self, most: int | None = None) -> None:
        self.work, self.most = 0, MOST_WORK if most is None else most

    def spend(self, operations: int, hard: bool = False) -> None:
        """Count operations, refusing when there are too many."""
        self.work += operations * (2 + (ctx.prec // 512) ** 2 if hard else 1)
        require(self.work <= self.most, f"too large: more than {self.most} operations to check it")

    def limited(self, x: Number) -> Number:
        """Return a number, a ball in place of a fraction that is too long."""
        bits = x.p.bit_length() + x.q.bit_length() if isinstance(x, fmpq) else 0
        self.spend(1 + bits // 32, hard=bits == 0)
        return x if bits <= 2 * MOST_FRACTION else arb(x)

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return a sum."""
        return reduce(lambda x, y: self.limited(x + y), numbers, _ZERO)

    def number(self, text: str) -> Number:
        """Return the value of an expression of + - * / ** exp log sqrt E pi and integers, or +inf for "inf"."""
        if text == "inf":
            return _INFINITY
        self.spend(len(text))
        require(_TEXT.fullmatch(text), f"not an expression: {text[:40]!a}")
        try:
            value = self.value(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ArithmeticError) as error:
            raise Malformed(f"not a number: {text[:40]!a} ({type(error).__name__})") from None
        require(isinstance(value, fmpq) or value.is_finite(), f"not a finite number at this precision: {text[:40]!a}")
        return value

    def value(self, node: ast.expr) -> Number:
        """Return the value of an expression that is parsed."""
        result: Number
        match node:
            case ast.Constant(value=int(n)) if type(n) is int:
                result = fmpq(n)
            case ast.Name(id="E" | "pi" as name):
                result = arb.const_e() if name == "E" else arb.pi()
            case ast.UnaryOp(op=ast.USub(), operand=x):
                result = -self.value(x)
            case ast.Call(func=ast.Name(id="exp"), args=[ast.Call(func=ast.Name(id="log"), args=[x], keywords=[])]):
                result = self.value(x)
            case ast.Call(func=ast.Name(id="exp" | "log" | "sqrt" as name), args=[x], keywords=[]):
                inner = self.value(x)
                result = fmpq(1) if name == "exp" and inner == 0 else getattr(arb(inner), name)()
            case ast.BinOp(left=x, op=op, right=y) if type(op) in _BINARY:
                result = _BINARY[type(op)](self.value(x), self.value(y))
            case _:
                raise Malformed(f"{type(node).__name__} in an expression")
        return self.limited(result)

    def certificate(self, data: Any) -> Verdict:
        """Return the verdict on a certificate that proves its claim; a refusal is raised otherwise."""
        claim, is_epsilon = self.opened(data)
        n, given = claim["n"], "delta" if is_epsilon else "eps"
        with self.working(256):
            lower, upper, at = (self.number(claim[key]) for key in ("lower", "upper", given))
            require(0 < at < 1 if is_epsilon else 0 <= at < _INFINITY, "claim: a number out of range")
            require_order(lower, upper, not is_epsilon)
            trivial = {"above": upper >= (_INFINITY if is_epsilon else 1), "below": lower == 0}
        require_one_subject(self, data)
        sides = tuple(side for side in ("above", "below") if not trivial[side])
        found: dict[str, list[tuple[Number, Number]]] = {"above": [], "below": []}
        for side in sides:
            bound = claim["upper" if side == "above" else "lower"]
            require(data[side], f"nothing is listed {side}, and the bound is not trivial", "invalid")
            eps, level = (bound, claim["delta"]) if is_epsilon else (claim["eps"], bound)
            for i, evidence in enumerate(data[side]):
                with self.working(evidence["precision"]):
                    found[side].append(self.proved(evidence, n, side, (eps, level), is_epsilon, f"{side}[{i}]"))
        if len(sides) == 2:
            self.require_no_crossing(found["above"], found["below"], is_epsilon)
        listed = " and ".join(f"{len(data[side])} {side}" for side in sides) or "none is needed"
        said = f"{claim['quantity']} in {between(lower, upper)}, n = {n}, {given} = {told(claim[given], at)}"
        checked = [f"ends rounded outward; evidence: {listed}"]
        with self.working(256):
            budgets = [e["ratio"] for e in data["above"][:1] if "ratio" in e and "above" in sides]
            checked += [f"t = {told(ratio, self.number(ratio))}" for ratio in budgets]
        return Verdict("valid", f"{said}, {whose(data, sides)}", tuple(checked), tuple(supposed(data, sides)))

    def opened(self, data: Any) -> tuple[dict[str, Any], bool]:
        """Return the claim, and whether it is about epsilon, after a check of all shapes and of the work due."""
        shaped(data, _CERTIFICATE, "certificate")
        claim, self.version = data["claim"], data["version"]
        require(data["format"] == "symamp-certificate", "another format")
        told = "version 3 does not say whose guarantee it is: write the certificate anew, as version 4"
        require(self.version in _VERSIONS, told if self.version == 3 else "not version 1, 2 or 4")
        is_epsilon, of_groups = claim.get("quantity") == "epsilon", self.version == OF_GROUPS
        keys = {"quantity": str, "n": int, "lower": str, "upper": str, "delta" if is_epsilon else "eps": str}
        shaped(claim, keys | ({"victims": [int]} if of_groups else {}), "claim")
        require(claim["quantity"] in ("epsilon", "delta") and 1 <= claim["n"] <= MOST_USERS, "claim: quantity or n")
        for side in ("above", "below"):
            for i, evidence in enumerate(data[side]):
                shaped(evidence, self.shape(evidence, side == "above"), f"certificate.{side}[{i}]")
                good = 128 <= evidence["precision"] <= MOST_PRECISION
                require(good, f"{side}[{i}]: precision out of range")
        due = sum(planned(e) for side in ("above", "below") for e in data[side])
        require(self.work + due <= self.most, f"too large: {due} operations are announced, at most {self.most}")
        return claim, is_epsilon

    def proved(
        self, evidence: dict[str, Any], n: int, side: str, claimed: tuple[str, str], is_epsilon: bool, what: str
    ) -> tuple[Number, Number]:
        """Return the eps of one piece of evidence and its divergence, after a proof that both are as claimed."""
        here, there, value = (self.number(x) for x in (evidence["eps"], *claimed))
        good = evidence["eps"] == claimed[0] or (here <= there if side == "above" else here >= there)
        require(good and here >= 0, f"{what}: eps is on the wrong side of the claim's", "invalid")
        found = self.bound(evidence, n, side, value, what)
        good = found <= value if side == "above" else found > value if is_epsilon else found >= value
        require(good, f"{what}: the divergence is not proved to be as claimed", "invalid")
        # Of a table only those pairs are evaluated that are not settled at once: the others are at most as claimed.
        return here, value if "theta" in evidence else found

    def bound(self, evidence: dict[str, Any], n: int, side: str, value: Number, what: str) -> Number:
        """Return a number whose upper end (above) or lower end (below) bounds the divergence."""
        if self.version == OF_GROUPS:
            return groups.bound(self, evidence, n, side == "above", what)
        if "ratio" in evidence:
            return patterns.bound(self, evidence, n, what)
        if "compared" in evidence:
            return few_reports.bound(self, evidence, n, side == "above", what)
        if "rows" in evidence:
            return rows.bound(self, evidence, n, value, what)
        if "laws" in evidence:
            return laws_of_inputs.bound(self, evidence, n, side == "above", what)
        return self.divergence(evidence, n, side, what)

    def require_no_crossing(
        self, above: list[tuple[Number, Number]], below: list[tuple[Number, Number]], is_epsilon: bool
    ) -> None:
        """Refuse bounds below that are proved to be above those above: then they are about different mechanisms."""
        with self.working(256):
            k = 0 if is_epsilon else 1
            top = above[0][k]
            for pair in above[1:]:
                top = self.larger(top, pair[k])
            if any(pair[k] > top for pair in below):
                raise CrossedEnds("what is proved below is above what is proved above: different mechanisms")

    def shape(self, evidence: dict[str, Any], above: bool) -> Any:
        """Return the shape of one piece of evidence."""

        def triple(item: Any) -> dict[str, Any]:
            tails = type(item) is dict and item.get("evaluator") == "binomial tails" and self.version == 2
            return _EVIDENCE | {"plan": _TAILS if tails else _PLAN}

        if self.version == OF_GROUPS:
            return groups.shape(evidence, _PLAN, above)
        if above and self.version == 2 and "ratio" in evidence:
            return patterns.shape(evidence, triple)
        if self.version == 2 and "compared" in evidence:
            return few_reports.shape(evidence, above)
        if above and self.version == 2 and "rows" in evidence:
            return rows.shape(evidence, triple)
        if self.version == 2 and "laws" in evidence:
            return laws_of_inputs.shape(self, evidence, triple(evidence), above)
        return triple(evidence)

    def triple(self, data: dict[str, Any], what: str) -> tuple[list[tuple[Number, ...]], list[tuple[Number, ...]]]:
        """Return components and singular part as numbers, after a check that they are those of a triple."""
        components, singular = ([tuple(map(self.number, row)) for row in data[k]] for k in ("components", "singular"))
        good = all(0 <= x < _INFINITY for row in components + singular for x in row)
        require(good, f"{what}: a ratio or mass is not proved to be finite and >= 0", "invalid")
        totals = [self.total(m for *_, m in components)]
        totals += [self.total([*(r[b] * r[2] for r in components), *(s[b] for s in singular)]) for b in (0, 1)]
        good = all(m == 1 if isinstance(m, fmpq) else m.contains(1) and m.rad() < arb(2) ** -99 for m in totals[1:])
        good = good and not totals[0] > 1 and arb(totals[0]).rad() < arb(2) ** -99
        require(good, f"{what}: the masses of A0 and A1 are not 1, or that of A2 is above 1", "invalid")
        return components, singular

    def divergence(self, data: dict[str, Any], n: int, side: str, what: str) -> Number:
        """Return a number whose upper end (above) or lower end (below) bounds the divergence of one triple."""
        (components, singular), name, eps = self.triple(data, what), data["evaluator"], data["eps"]
        if eps == "inf":  # the mass that P0 has where P1 has none
            require(name == "limit" and side == "below", f"{what}: eps = inf is for evaluator limit")
            alone = [(m * r0, m) for r0, r1, m in components if r1 == 0]
            hidden = self.total(x for x, _ in alone) * arb(self.total(m for _, m in alone)) ** (n - 1)
            return hidden + self.total(a0 for a0, a1 in singular if a1 == 0)
        atoms, null, visible = self.values(data, components, singular, eps)
        one = self.total(m * _positive_part(v) for v, m in atoms) + visible
        if name == "no positive value" or (n == 1 and name == "enumeration"):
            return one if n == 1 or side == "above" else visible  # E[S_+] <= n E[G_+]
        value = self.evaluated(name, data["plan"], atoms, null, n, side == "above", what) / n + visible
        if side == "above":
            return -_larger(-value, -one)
        return _larger(value, self.total(m * v for v, m in atoms) + visible)  # Jensen

    def values(self, data: Any, components: Any, singular: Any, eps: str) -> tuple[list[Any], Number, Number]:
        """Return the nonzero values of G with their masses, the mass of 0, and the singular part."""
        e, null, atoms = self.number(f"exp({eps})"), _larger(1 - self.total(m for *_, m in components)), []
        minus = 1 - e if isinstance(e, fmpq) else -arb(self.number(eps)).expm1()  # 1 - E
        for (text0, text1, _), (r0, r1, mass) in zip(data["components"], components, strict=True):
            # Equal texts are equal numbers: then the difference is exact where balls would only see a small one.
            same = len(text0) == len(eps) + len(text1) + 8 and text0 == f"exp({eps})*({text1})"  # cheap if it is not
            value = r0 * minus if text0 == text1 else _ZERO if same else r0 - e * r1
            null += mass if value == 0 else 0
            atoms += [] if value == 0 or mass == 0 else [(value, mass)]
        return atoms, null, self.total(_positive_part(a0 - e * a1 if a1 != 0 else a0) for a0, a1 in singular)

    def evaluated(self, name: str, plan: Any, atoms: list[Any], null: Number, n: int, up: bool, what: str) -> Number:
        """Return a number whose upper or lower end bounds E[S_+]."""
        exact = all(isinstance(x, fmpq) and x.q.bit_length() < 999 for x in [null, *(x for a in atoms for x in a)])
        if not (exact and name == "exact" and n <= 64):
            atoms, null = [(arb(v), arb(m)) for v, m in atoms], arb(null)
        if name == "compact kernel" and plan is not None and "W" in plan:
            return sums.kernel(self, [(atoms, null, n)], plan, up, what)
        if name == "binomial tails" and plan is not None and "windows" in plan:
            return sums.tails(self, atoms, null, n, plan, up, what)
        require(name in ("enumeration", "exact"), f"{what}: unknown evaluator {name[:40]!a}")
        seen = null > 0 or (up and arb(null).rad() > 0)  # from below it may be left out
        return sums.enumerated(self, [(atoms, null if seen else None, n)])
