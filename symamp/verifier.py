"""Check a certificate of symamp: python-flint and the standard library, no search, nothing of symamp itself.

``python verifier.py cert.json`` prints one line; exit code 0: valid, 1: invalid, 2: malformed or too large to check.

PROVED: each listed triple (A0, A1, A2) is one, and its divergence D(eps) = E[S_+]/n + singular part, S the sum of n
copies of r0 - e^eps r1 drawn under A2, satisfies the claim. epsilon: D <= delta from ``upper`` on for the triples
``above``, D > delta up to ``lower`` for those ``below``. delta: D <= ``upper`` and D >= ``lower`` at ``eps``.
Version 2 may list other bounds above, for all inputs of the other users or all pairs: verifier_beyond.py checks them.
NOT CHECKED: that these are the triples of the mechanism, for all pairs of inputs, and the reduction's ``standing``.
That is the derivation, which is exact and can be repeated. See docs/certificates.md.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable
from functools import lru_cache, reduce
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate, cycle
from operator import add, mul, sub, truediv
from pathlib import Path
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

MOST_CHARACTERS, MOST_ENTRIES, MOST_USERS, MOST_PRECISION = 2**24, 10**6, 10**18, 8192
MOST_FRACTION, MOST_WORK = 2**19, 10**7  # bits of an exact fraction; operations, about a microsecond each
_TEXT = re.compile(r"(?:[0-9a-fx+\-*/() ]|exp|log|sqrt|E|pi){1,400000}", re.ASCII)
_PLAN: dict[str, Any] = dict.fromkeys(("theta", "W", "theta_above", "theta_below"), str)
_PLAN |= {"N": int, "evaluated": [(int, int)], "dropped": [(int, int)]}
_EVIDENCE: dict[str, Any] = dict.fromkeys(("method", "standing", "eps", "evaluator"), str)
_EVIDENCE |= {"pair": (str, str), "others": [(str, str)], "components": [(str, str, str)], "singular": [(str, str)]}
_EVIDENCE |= {"plan": _PLAN, "precision": int}
_CERTIFICATE: dict[str, Any] = dict.fromkeys(("format", "mechanism", "method", "standing", "source"), str)
_CERTIFICATE |= {"version": int, "claim": dict, "above": [dict], "below": [dict]}

Number = Any  # an exact fraction (fmpq) where possible, else a ball (arb) at the working precision
_ZERO, _INFINITY = fmpq(0), arb("inf")


class _Refusal(Exception):  # noqa: N818
    """Not valid: ``args`` are the status and the reason."""


class Verdict(NamedTuple):
    """The status ("valid", "invalid" or "malformed") and one line that says why."""

    status: str
    reason: str


def verify(text: str) -> Verdict:
    """Return the verdict on a certificate given as JSON text; nothing is raised, whatever the text is."""
    try:
        _require(len(text) <= MOST_CHARACTERS, f"more than {MOST_CHARACTERS} characters")
        return Verdict("valid", _Check().certificate(json.loads(text, object_pairs_hook=_unique)))
    except _Refusal as refusal:
        return Verdict(refusal.args[0], " ".join(refusal.args[1].split())[:300])
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return Verdict("malformed", f"not JSON, or too large or deep ({type(error).__name__})")


@lru_cache
def _beyond() -> Any:
    spec = spec_from_file_location("verifier_beyond", Path(__file__).with_name("verifier_beyond.py"))
    _require(spec and spec.loader and Path(str(spec.origin)).exists(), "version 2 needs verifier_beyond.py beside this")
    spec.loader.exec_module(module := module_from_spec(spec))  # type: ignore[union-attr, arg-type]
    return module


def _require(condition: object, reason: str, status: str = "malformed") -> None:
    if not condition:
        raise _Refusal(status, reason)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require(len(dict(pairs)) == len(pairs), "a key twice in one object")
    return dict(pairs)


def _shaped(data: Any, shape: Any, what: str) -> None:
    if isinstance(shape, dict):
        _require(type(data) is dict, f"{what} is not an object")
        _require(set(data) == set(shape), f"{what}: keys {sorted(set(data) ^ set(shape))!a:.99} missing or unknown")
        for key in shape:
            if (key, data[key]) != ("plan", None):
                _shaped(data[key], shape[key], f"{what}.{key}")
    elif isinstance(shape, type):
        _require(type(data) is shape, f"{what} is not of type {shape.__name__}")
    else:  # a list: of any length if the shape is one, and as long as the shape if that is a tuple
        good = type(data) is list and (len(data) == len(shape) or (type(shape) is list and len(data) <= MOST_ENTRIES))
        _require(good, f"{what} is not a list of the right length")
        for item, kind in zip(data, cycle(shape), strict=False):
            if type(item) is not kind:
                _shaped(item, kind, f"an entry of {what}")


def _larger(x: Number, y: Number = _ZERO) -> Number:
    return max(x, y) if isinstance(x, fmpq) and isinstance(y, fmpq) else arb(x).max(arb(y))


def _power(x: Number, y: Number) -> Number:
    if not isinstance(y, fmpq) or y.q > 2:
        return arb(x) ** arb(y)
    _require(abs(y.p) < 2**63, "an exponent beyond 2**63")
    x, exponent = (arb(x).sqrt() if y.q == 2 else x), int(y.p)
    small = isinstance(x, fmpq) and (x.p.bit_length() + x.q.bit_length()) * abs(exponent) <= MOST_FRACTION
    return x**exponent if small else arb(x) ** exponent


_BINARY: dict[type, Any] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: _power}


class _Check:
    work = 0
    require = staticmethod(_require)

    def spend(self, operations: int, hard: bool = False) -> None:
        self.work += operations * (2 + (ctx.prec // 512) ** 2 if hard else 1)
        _require(self.work <= MOST_WORK, "too large: too many operations to check it")

    def limited(self, x: Number) -> Number:
        bits = x.p.bit_length() + x.q.bit_length() if isinstance(x, fmpq) else 0
        self.spend(1 + bits // 32, hard=bits == 0)
        return x if bits <= 2 * MOST_FRACTION else arb(x)

    def total(self, numbers: Iterable[Number]) -> Number:
        return reduce(lambda x, y: self.limited(x + y), numbers, _ZERO)

    def number(self, text: str) -> Number:
        """Return the value of an expression of + - * / ** exp log sqrt E pi and integers, or +inf for "inf"."""
        if text == "inf":
            return _INFINITY
        self.spend(len(text))
        _require(_TEXT.fullmatch(text), f"not an expression: {text[:40]!a}")
        try:
            value = self.value(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ArithmeticError) as error:
            raise _Refusal("malformed", f"not a number: {text[:40]!a} ({type(error).__name__})") from None
        _require(isinstance(value, fmpq) or value.is_finite(), f"not a finite number at this precision: {text[:40]!a}")
        return value

    def value(self, node: ast.expr) -> Number:
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
                raise _Refusal("malformed", f"{type(node).__name__} in an expression")
        return self.limited(result)

    def certificate(self, data: Any) -> str:
        _shaped(data, _CERTIFICATE, "certificate")
        claim, is_epsilon = data["claim"], data["claim"].get("quantity") == "epsilon"
        given = "delta" if is_epsilon else "eps"
        _shaped(claim, {"quantity": str, "n": int, "lower": str, "upper": str, given: str}, "claim")
        self.version = data["version"]
        _require(data["format"] == "symamp-certificate" and self.version in (1, 2), "not symamp-certificate 1 or 2")
        for side in ("above", "below"):
            for i, evidence in enumerate(data[side]):
                shape = _EVIDENCE if self.version == 1 else _beyond().shape(evidence, _EVIDENCE, side)
                _shaped(evidence, shape, f"certificate.{side}[{i}]")
        _require(claim["quantity"] in ("epsilon", "delta") and 1 <= claim["n"] <= MOST_USERS, "claim: quantity or n")
        with ctx.workprec(256):
            lower, upper, at = (self.number(claim[key]) for key in ("lower", "upper", given))
            inside = 0 < at < 1 if is_epsilon else 0 <= at < _INFINITY
            _require(inside and lower >= 0 and upper >= 0, "claim: a number out of range")
            trivial = {"above": upper >= (_INFINITY if is_epsilon else 1), "below": lower == 0}
            low, high, about = (arb(x).str(10, radius=False) for x in (lower, upper, at))
        for side, bound in (("above", claim["upper"]), ("below", claim["lower"])):
            _require(data[side] or trivial[side], f"nothing is listed {side}, and the bound is not trivial", "invalid")
            eps, level = (bound, claim["delta"]) if is_epsilon else (claim["eps"], bound)
            for i, evidence in enumerate(data[side] if not trivial[side] else ()):
                _require(128 <= evidence["precision"] <= MOST_PRECISION, f"{side}[{i}]: precision out of range")
                with ctx.workprec(evidence["precision"]):
                    here, there, value = (self.number(x) for x in (evidence["eps"], eps, level))
                    good = evidence["eps"] == eps or (here <= there if side == "above" else here >= there)
                    _require(good and here >= 0, f"{side}[{i}]: eps is on the wrong side of the claim's", "invalid")
                    check = self.divergence if "components" in evidence else _beyond().bound_of(self, value)
                    found = check(evidence, claim["n"], side, f"{side}[{i}]")
                    good = found <= value if side == "above" else found > value if is_epsilon else found >= value
                    _require(good, f"{side}[{i}]: the divergence is not proved to be as claimed", "invalid")
        said = f"{claim['quantity']} in [{low}, {high}] (rounded), n = {claim['n']}, {given} = {about}"
        listed = "triples" if self.version == 1 else "pieces of evidence"
        return f"{said}; {len(data['above'])} + {len(data['below'])} {listed}, standing {data['standing'][:40]!a}"

    def triple(self, data: dict[str, Any], what: str) -> tuple[list[tuple[Number, ...]], list[tuple[Number, ...]]]:
        """Return components and singular part as numbers, after a check that they are those of a triple."""
        components, singular = ([tuple(map(self.number, row)) for row in data[k]] for k in ("components", "singular"))
        good = all(0 <= x < _INFINITY for row in components + singular for x in row)
        _require(good, f"{what}: a ratio or mass is not proved to be finite and >= 0", "invalid")
        sums = [self.total(m for *_, m in components)]
        sums += [self.total([*(r[b] * r[2] for r in components), *(s[b] for s in singular)]) for b in (0, 1)]
        good = all(m == 1 if isinstance(m, fmpq) else m.contains(1) and m.rad() < arb(2) ** -99 for m in sums[1:])
        good = good and not sums[0] > 1 and arb(sums[0]).rad() < arb(2) ** -99
        _require(good, f"{what}: the masses of A0 and A1 are not 1, or that of A2 is above 1", "invalid")
        return components, singular

    def divergence(self, data: dict[str, Any], n: int, side: str, what: str) -> Number:
        """Return a number whose upper end (above) or lower end (below) bounds the divergence of one triple."""
        (components, singular), name, eps = self.triple(data, what), data["evaluator"], data["eps"]
        if eps == "inf":  # the mass that P0 has where P1 has none
            _require(name == "limit" and side == "below", f"{what}: eps = inf is for evaluator limit")
            alone = [(m * r0, m) for r0, r1, m in components if r1 == 0]
            hidden = self.total(x for x, _ in alone) * arb(self.total(m for _, m in alone)) ** (n - 1)
            return hidden + self.total(a0 for a0, a1 in singular if a1 == 0)
        atoms, null, visible = self.values(data, components, singular, eps)
        one = self.total(m * _larger(v) for v, m in atoms) + visible
        if name == "no positive value" or (n == 1 and name == "enumeration"):
            return one if n == 1 or side == "above" else visible  # E[S_+] <= n E[G_+]
        return self.evaluated(name, data["plan"], atoms, null, n, side == "above", what) / n + visible

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
        return atoms, null, self.total(_larger(a0 - e * a1) for a0, a1 in singular)

    def evaluated(self, name: str, plan: Any, atoms: list[Any], null: Number, n: int, up: bool, what: str) -> Number:
        """Return a number whose upper or lower end bounds E[S_+]."""
        exact = all(isinstance(x, fmpq) and x.q.bit_length() < 999 for x in [null, *(x for a in atoms for x in a)])
        if not (exact and name == "exact" and n <= 64):
            atoms, null = [(arb(v), arb(m)) for v, m in atoms], arb(null)
        if name == "compact kernel" and plan is not None and "W" in plan:
            return self.kernel(atoms, null, n, plan, up, what)
        if name == "binomial tails" and plan is not None and "windows" in plan:
            return _beyond().tails(self, atoms, null, n, plan, up, what)
        _require(name in ("enumeration", "exact"), f"{what}: unknown evaluator {name[:40]!a}")
        if null > 0 or (up and arb(null).rad() > 0):  # from below it may be left out
            atoms.append((0 * null, null))
        return self.enumerated(atoms, n)

    def enumerated(self, atoms: list[Any], n: int) -> Number:
        """Return E[S_+], exact or as a ball: only sums proved to be <= 0 are left out (docs/proofs/enumeration.md)."""
        atoms = sorted(atoms, key=lambda atom: float(arb(atom[0]).mid()), reverse=True)
        largest = list(accumulate((v for v, _ in atoms[::-1]), _larger))[::-1]  # balls may be out of order
        power = lru_cache(3 * 10**4)(lambda j, c: atoms[j][1] ** c)
        size = n * max((x.q.bit_length() for atom in atoms for x in atom if isinstance(x, fmpq)), default=0)
        node = 5 + ctx.prec // 512 + size // 100 + (size // 1000) ** 2

        def expected(j: int, left: int, partial: Number, reach: Number) -> Number:
            if j == len(atoms) - 1:
                return power(j, left) * (reach if reach > 0 else _larger(reach))
            value, result, binomial = atoms[j][0], _ZERO, power(j, 0)
            for c in range(left, -1, -1):
                self.spend(node)
                here = partial + c * value
                reach = here + (left - c) * largest[j + 1]
                if not reach <= 0:
                    result += binomial * power(j, c) * expected(j + 1, left - c, here, reach)
                elif value >= largest[j + 1]:
                    break  # what is within reach falls with c
                binomial = binomial * c / (left - c + 1)
            return result

        return expected(0, n, _ZERO, n * largest[0]) if atoms else _ZERO

    def kernel(self, atoms: list[Any], null: arb, n: int, plan: dict[str, Any], up: bool, what: str) -> arb:
        """Return a ball whose upper or lower end bounds E[S_+], for every plan (docs/proofs/kernel_sandwich.md)."""
        theta, higher, lesser, w = (arb(self.number(plan[k])) for k in ("theta", "theta_above", "theta_below", "W"))
        blocks, terms = sorted(plan["evaluated"] + plan["dropped"]), plan["N"]
        good = [a for a, _ in blocks] + [terms] == [1, *(b + 1 for _, b in blocks)] and all(a <= b for a, b in blocks)
        _require(good, f"{what}: the blocks do not cover 1..N-1 without overlap", "invalid")
        _require(0 < lesser < theta < higher < _INFINITY and 0 < w < _INFINITY, f"{what}: theta or W wrong", "invalid")
        self.spend((sum(b - a + 1 for a, b in plan["evaluated"]) + len(blocks) + 4) * (len(atoms) + 6), hard=True)
        mgf = sum((m * (theta * v).exp() for v, m in atoms), null)
        tilted, null, null_n = [(v, m * (theta * v).exp() / mgf) for v, m in atoms], null / mgf, (null / mgf) ** n
        d, step = w / terms, 2 * arb.pi() / w
        lam, inverse = theta * d, -1 / (-theta * d).expm1()  # inverse = 1/(1 - q), here and below
        alpha, slope, over_t = 1 / lam - inverse + 1, (inverse - 1) * (lam * inverse - 1), d / (step * terms)
        at_zero = d / theta * (-lam * alpha).exp() * inverse if up else d * d * (inverse - 1) * inverse
        result = at_zero * (1 - null_n) / 2
        for j in (j for a, b in plan["evaluated"] for j in range(a, b + 1)):
            u = step * j
            phi, x = sum((p * acb(0, u * v).exp() for v, p in tilted), acb(null)), acb(-lam, -u * d)  # x = -s d
            power = ((phi.log() * n).exp() if phi.real > 0 else phi**n) - null_n
            inverse = -1 / x.expm1()
            z0 = (x * alpha).exp() * inverse if up else inverse - 1
            z1, z2 = ((alpha + inverse - 1) * z0, z0) if up else (z0 * inverse, slope + z0)
            result += ((acb(d - u * over_t, theta * over_t) * d * z1 - acb(0, over_t) * z2) * power).real
        deviation = _larger(sum(p * v**2 for v, p in tilted) - sum(p * v for v, p in tilted) ** 2).sqrt()
        half, reach, excess = step / 2, deviation * step / 2, abs(at_zero - theta**-2)
        for a, b in plan["dropped"]:  # |phi|^n in a block from its middle: sqrt(1 - |phi|^2) is Lipschitz
            phi = sum((p * acb(0, half * (a + b) * v).exp() for v, p in tilted), acb(null))
            distance = _larger(_larger(1 - abs(phi) ** 2).sqrt() - reach * (b - a)).min(arb(1))
            most = (1 / abs(acb(theta, step * a)) ** 2 + excess) * (_larger(1 - distance**2).sqrt() ** n + null_n)
            result += most * (b - a + 1) if up else most * (a - b - 1)
        for x in () if up else (higher, lesser):  # aliasing
            ratio = sum((m * (x * v).exp() for v, m in atoms), null * mgf) / mgf
            result -= w / 2 * ratio**n / (arb.const_e() * x * (abs(x - theta) * w).expm1())
        return _larger(mgf**n * 2 / w * result)


def main(path: str) -> int:
    """Print the verdict on a file and return the exit code."""
    try:
        with open(path, encoding="utf-8") as file:
            verdict = verify(file.read(MOST_CHARACTERS + 1))
    except (ValueError, OSError) as error:
        verdict = Verdict("malformed", f"not a readable file: {error}")
    print(": ".join(verdict))
    return ("valid", "invalid", "malformed").index(verdict.status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
