"""The one check of a formula, before SymPy sees any of it: sizes, and where powers and logarithms are defined.

SymPy evaluates while it builds (``exp(10**9*log(2))`` becomes an integer of a billion bits, ``sqrt`` of an integer is
factored), so every part carries bounds that hold whatever it does next; they only ever overestimate. Rational parts
are computed here, exactly. Text is held to tighter limits than SymPy objects, which may be products of formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple, Never

from symamp.numbers.enclosure import sign_of
from symamp.numbers.formula import Formula
from symamp.numbers.rationals import fits

PRINTABLE_BITS = 13_289  # of 10**4000
_HEIGHT = 2
_CHOICE = 5000


class Limits(NamedTuple):
    """What a formula may hold; bits are those of all numbers in it, after powers have been carried out."""

    depth: int
    nodes: int
    exponent: int
    root: int
    exponent_bits: int
    power_bits: int
    total_bits: int
    root_bits: int


# Python refuses to print integers of more than 4300 digits; SymPy factors what stands under a root, and fails beyond
# the range of a double.
TEXT = Limits(64, 4096, 1000, 100, 200, 5000, 10_000, 1000)
OBJECT = Limits(160, 20_000, 10_000, 10_000, 2000, 10_000, 50_000, 50_000)

_LARGEST_SCALE = 2**50_000


class _Size(NamedTuple):
    bits: int = 1  # of all numbers in it, after powers and products have been carried out; a symbol counts as one
    scale: int = 1  # numerators and denominators of its coefficients
    roots: int = 0  # bits under fractional powers
    height: int = 0  # of exp within exp
    plain: bool = True  # rational in numbers and symbols, hence fit to be an exponent
    logs: bool = False  # SymPy turns exp(c*log(b)) into b**c
    constant: bool = True
    whole: bool = False  # certainly an integer
    number: Fraction | None = None


Refuse = Callable[[Formula, str], Never]


def checked(formula: Formula, limits: Limits, integers: frozenset[str], refuse: Refuse) -> dict[int, Fraction]:
    """Return the exact values of the rational parts, by the id of the node; call ``refuse`` for what is beyond limits.

    ``integers`` are the names of the symbols that stand for integers.
    """
    walk = _Walk(limits, integers, refuse)
    walk.size(formula, 0)
    return {key: size.number for key, size in walk.known.items() if size.number is not None}


class _Walk:
    """One formula, taken apart; equal parts are measured once."""

    def __init__(self, limits: Limits, integers: frozenset[str], refuse: Refuse) -> None:
        self.limits, self.integers, self.refuse = limits, integers, refuse
        self.known: dict[int, _Size] = {}
        self.nodes = 0

    def size(self, f: Formula, depth: int) -> _Size:
        found = self.known.get(id(f))
        if found is None:
            self.nodes += 1
            if depth > self.limits.depth or self.nodes > self.limits.nodes:
                self.refuse(f, f"at most {self.limits.depth} levels of nesting and {self.limits.nodes} parts")
            found = self.known[id(f)] = self.measured(f, [self.size(part, depth + 1) for part in f.parts])
        return found

    def measured(self, f: Formula, parts: list[_Size]) -> _Size:
        match f.kind:
            case "number":
                return self.number(f, f.number)
            case "symbol":
                return _Size(constant=False, whole=f.name in self.integers)
            case "**":
                return self.power(f, parts[0], parts[1])
        return getattr(self, f"_{_METHODS[f.kind]}")(f, parts, self.joined(f, parts))  # type: ignore[no-any-return]

    def number(self, f: Formula, value: Fraction) -> _Size:
        p, q = abs(value.numerator), value.denominator
        if not fits(value) or q.bit_length() > PRINTABLE_BITS:
            self.refuse(f, "numbers below 2**5000 in size, of at most 4000 digits")
        return _Size(p.bit_length() + q.bit_length() - 1, max(p, q), whole=q == 1, number=value)

    def joined(self, f: Formula, parts: list[_Size]) -> _Size:
        """Return the bounds of a product of the parts, or refuse it."""
        limits = self.limits
        bits, roots = sum(p.bits for p in parts), sum(p.roots for p in parts)
        if bits > limits.total_bits or roots > limits.root_bits:
            accepted = f"numbers of at most {limits.total_bits} bits in all, {limits.root_bits} of them under roots"
            self.refuse(f, accepted)
        return _Size(
            bits,
            min(math.prod(p.scale for p in parts), _LARGEST_SCALE),
            roots,
            max(p.height for p in parts),
            all(p.plain for p in parts),
            any(p.logs for p in parts),
            all(p.constant for p in parts),
        )

    def _sum(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        numbers = [p.number for p in parts if p.number is not None]
        together = self.number(f, sum(numbers, Fraction(0)))
        if len(numbers) == len(parts):
            return together
        return all_._replace(scale=len(parts) * all_.scale, whole=all(p.whole for p in parts))

    def _product(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        coefficient = math.prod((p.number for p in parts if p.number is not None), start=Fraction(1))
        rest = [p for p in parts if p.number is None]
        together = self.number(f, coefficient)
        if not rest:
            return together
        return all_._replace(whole=coefficient.denominator == 1 and all(p.whole for p in rest))

    def power(self, f: Formula, base: _Size, exponent: _Size) -> _Size:
        limits, e = self.limits, exponent.number
        # SymPy turns exp(sqrt(2)*log(2)) into 2**sqrt(2), so that objects may have such constants.
        fit = exponent.plain or (exponent.constant and limits is OBJECT)
        if not fit or exponent.bits > limits.exponent_bits:
            self.refuse(f, "exponents that are short sums, products or quotients of numbers and symbols")
        if e is not None and not (abs(e.numerator) <= limits.exponent and e.denominator <= limits.root):
            accepted = f"exponents of at most {limits.exponent} in size, denominators of at most {limits.root}"
            self.refuse(f, accepted)
        scale = max(1, exponent.scale)
        if scale > limits.exponent:
            self.refuse(f, f"numbers in exponents of at most {limits.exponent}, multiplied together")
        if base.bits * scale > limits.power_bits and e not in (1, -1):
            self.refuse(f, f"powers of at most {limits.power_bits} bits, with small numbers in the exponent")
        whole = exponent.whole
        sign = None if e is not None and e > 0 and whole else self.sign(f.parts[0], base)
        if sign == 0 and not (e is not None and e > 0):
            self.refuse(f, "a denominator other than 0" if e == -1 else "powers of 0 with positive exponents only")
        if sign == -1 and not whole:
            self.refuse(f, "powers of negative numbers with integer exponents only")
        if base.number is not None and e is not None and whole:
            return self.number(f, base.number ** int(e))
        raised = base._replace(
            bits=base.bits * scale,
            scale=base.scale if e in (1, -1) else min(base.scale**scale, _LARGEST_SCALE),
            roots=base.roots if e is not None and whole else base.roots + base.bits,
            plain=base.plain and e is not None and whole,
            number=None,
        )
        positive = e is not None and e > 0 and whole
        return self.joined(f, [raised])._replace(
            constant=base.constant and exponent.constant, whole=base.whole and positive
        )

    def sign(self, f: Formula, size: _Size) -> int | None:
        if size.number is not None:
            return (size.number > 0) - (size.number < 0)
        return sign_of(f, size.constant)

    def _exp(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if x.height == _HEIGHT:
            self.refuse(f, f"at most {_HEIGHT} levels of exp within exp")
        roots, bits = x.roots, x.bits
        if x.logs:
            roots, bits = roots + x.bits, x.bits * x.scale
            if bits > self.limits.power_bits or roots > self.limits.root_bits:
                accepted = f"powers of at most {self.limits.power_bits} bits, also when written with exp and log"
                self.refuse(f, accepted)
        return all_._replace(bits=bits, roots=roots, height=x.height + 1, plain=False)

    def _log(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        x = parts[0]
        if self.sign(f.parts[0], x) in (0, -1):
            self.refuse(f, "logarithms of positive numbers only")
        scale = x.scale if x.height or x.logs else 1
        return all_._replace(scale=scale, height=max(0, x.height - 1), plain=False, logs=True)

    def _abs(self, _: Formula, __: list[_Size], all_: _Size) -> _Size:
        return all_._replace(plain=False)

    def _binomial(self, f: Formula, parts: list[_Size], all_: _Size) -> _Size:
        for part in parts:
            if not part.whole or (part.number is not None and not 0 <= part.number <= _CHOICE):
                self.refuse(f, f"binomial of integer parameters and of numbers from 0 to {_CHOICE}")
        n, k = (part.number for part in parts)
        if n is not None and k is not None:
            return self.number(f, Fraction(math.comb(int(n), int(k))))
        return all_._replace(plain=False, whole=True)


_METHODS: Mapping[str, str] = {
    "+": "sum", "*": "product", "exp": "exp", "log": "log", "abs": "abs", "binomial": "binomial",
}  # fmt: skip
