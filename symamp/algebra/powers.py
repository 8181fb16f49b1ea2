"""Exponentials and powers as products of powers base**(c*core) in standard form.

Bases and exponents are brought to normal form on the way; ``quotient``, the normal form itself, is handed in.
"""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symamp.algebra.generators import Key, is_atom
from symamp.algebra.quotient import Normaliser
from symamp.errors import ExpressionError, shown

ACCEPTED = "real expressions in rational numbers, + - * /, powers, exp, log, sqrt, erf, atan, binomial, pi and symbols"

_LARGEST_EXPONENT = 10_000
_LARGEST_ROOT = 256

Powers = dict[Key, sp.Rational]


def refused(expr: sp.Expr) -> ExpressionError:
    """Return the error that refuses ``expr``."""
    return ExpressionError("expression", shown(expr), ACCEPTED)


def _add(powers: Powers, key: Key, exponent: sp.Rational) -> None:
    total = powers.get(key, sp.S.Zero) + exponent
    if total == 0:
        powers.pop(key, None)
    else:
        powers[key] = total


def _terms(exponent: sp.Expr, quotient: Normaliser) -> list[tuple[sp.Rational, sp.Expr]]:
    """Split an exponent into rational multiples of cores."""
    expanded = sp.expand(quotient(exponent).expr)
    return [term.as_coeff_Mul(rational=True) for term in sp.Add.make_args(expanded) if term != 0]


def prime_powers(number: sp.Rational) -> dict[sp.Integer, int]:
    """Return exponents by prime whose powers multiply to a positive rational."""
    # The limit keeps hostile integers cheap; an unfactored rest is a generator of its own, which is sound.
    found = {sp.Integer(p): int(e) for p, e in sp.factorint(number.p, limit=2**15).items()}
    for p, e in sp.factorint(number.q, limit=2**15).items():
        found[sp.Integer(p)] = found.get(sp.Integer(p), 0) - int(e)
    return {p: e for p, e in found.items() if p != 1}


def _constant_core(c: sp.Rational) -> tuple[sp.Rational, sp.Rational]:
    """Split c into core * rest, where core is 1 or a large integer without small prime factors.

    An exponent such as the exact value of the double 0.9 shares no useful unit with 1/3: one generator for both would
    have a degree of 10**15. Its multiples by small fractions keep the same core, so exp(c/2)**2 = exp(c) is still seen.
    """
    large = abs(int(c.p))
    for prime in (2, 3, 5, 7):
        while large % prime == 0:
            large //= prime
    core = sp.Rational(large if large > _LARGEST_EXPONENT else 1)
    if core == 1 and c.q > _LARGEST_ROOT:
        core = sp.Rational(1, c.q)  # exp(1/100000) next to exp(1): as independent, which is sound
    return core, c / core


def _exponential(argument: sp.Expr, quotient: Normaliser) -> Powers:
    powers: Powers = {}
    for c, core in _terms(argument, quotient):
        factors = sp.Mul.make_args(core)
        logs = [f for f in factors if isinstance(f, sp.log) and f.args[0].is_Integer]
        if core == 1:
            core, c = _constant_core(c)
            _add(powers, (sp.E, core), c)
        elif len(logs) == 1:  # exp(c*log(2)*x) = 2**(c*x)
            _add(powers, (logs[0].args[0], sp.Mul(*[f for f in factors if f is not logs[0]])), c)
        else:
            _add(powers, (sp.E, core), c)
    return powers


def _general_power(base: sp.Expr, exponent: sp.Expr, quotient: Normaliser) -> Powers:
    """Split what may be split: any factor for integer exponents, factors known to be positive for others."""
    terms = _terms(exponent, quotient)
    if base.is_Rational:
        if base <= 0:
            raise refused(sp.Pow(base, exponent, evaluate=False))
        pieces: list[tuple[sp.Expr, int]] = list(prime_powers(base).items())
        return _collect_pieces(pieces, terms, quotient)
    whole = all(c.is_Integer and core.is_integer for c, core in terms)
    content, factors = quotient(base).factored
    sign, content = (-1, -content) if content < 0 else (1, content)
    pieces = list(prime_powers(content).items())
    mixed: list[tuple[sp.Expr, int]] = []
    for factor, n in factors:
        inner = _positive_power(factor, quotient)
        if inner is not None:
            for (b, core), c in inner.items():
                pieces.append((sp.Pow(b, c * core) if b is not sp.E else sp.exp(c * core), n))
        elif whole and (factor.is_Symbol or all(t.as_coeff_Mul()[0] > 0 for t in sp.Add.make_args(factor))):
            pieces.append((factor, n))
        else:
            mixed.append((factor, n))
    turn = -1 if mixed and all(n < 0 for _, n in mixed) else 1  # ((1 - q)**-1)**D = (1 - q)**-D
    rest = quotient(sp.Mul(sign, *(f ** (n * turn) for f, n in mixed))).expr
    if rest.is_Rational and rest < 0:
        raise refused(sp.Pow(base, exponent, evaluate=False))
    if rest != 1:
        pieces.append((rest, turn))
    return _collect_pieces(pieces, terms, quotient)


def _positive_power(factor: sp.Expr, quotient: Normaliser) -> Powers | None:
    """The decomposition of an exponential or a power of a positive number; None for anything else."""
    if factor is sp.E or isinstance(factor, sp.exp) or (factor.is_Pow and factor.base.is_Rational):
        return dict(powers_of(factor, quotient))
    return None


def _collect_pieces(
    pieces: list[tuple[sp.Expr, int]], terms: list[tuple[sp.Rational, sp.Expr]], quotient: Normaliser
) -> Powers:
    powers: Powers = {}
    for base, n in pieces:
        for c, core in terms:
            inner = _positive_power(base, quotient)
            if inner is None:
                _add(powers, (base, core), c * n)
                continue
            for (b, old), old_c in inner.items():  # (e**(c*x))**(n*y) = e**(c*n*x*y)
                for extra, new in _terms(old * core, quotient):
                    _add(powers, (b, new), old_c * extra * c * n)
    return powers


@lru_cache(maxsize=8192)
def powers_of(expr: sp.Expr, quotient: Normaliser) -> tuple[tuple[Key, sp.Rational], ...]:
    """Return ((base, core), exponent) pairs whose powers multiply to ``expr``: a symbol, exp, or non-integer power."""
    if is_atom(expr):
        return (((expr, sp.S.One), sp.S.One),)
    if isinstance(expr, sp.exp):
        return tuple(_exponential(expr.args[0], quotient).items())
    if expr.is_Pow:
        if expr.base is sp.E:
            return tuple(_exponential(expr.exp, quotient).items())
        return tuple(_general_power(expr.base, expr.exp, quotient).items())
    raise refused(expr)
