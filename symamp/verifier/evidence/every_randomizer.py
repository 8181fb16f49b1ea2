"""Every randomizer of a local budget, and all data sets at once.

PROVED: if every user runs one randomizer with R(x) <= t R(x') for all inputs, t = ``ratio``, then at ``eps`` no two
neighbouring data sets have a larger divergence than the number that is compared with the claim
(docs/proofs/generic_all_data_sets.md). Nothing is taken from the certificate but t, and numbers that any may replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from .. import sums
from ..check import Number, larger, lesser
from ..mechanisms import Budget
from ..setting import MESSAGES, At
from . import all_data_sets
from .other_inputs import PLAN

ONE_USER = "one user"
_MOST_CELLS = 256
"""Cells of p, each bounded alone."""
_ZERO = fmpq(0)


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence."""
    cells = data.get("cells")
    plans = tuple(type(None) if cell is None else PLAN for cell in cells) if type(cells) is list else ()
    return {"shares": [str], "cells": plans or [dict], "low": sums.shape(data.get("low"))}


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of every randomizer and of all data sets.

    The pair differs on messages of mass p: it is at most the least end of a cell, or lies in one of them. An end is
    p = 1/(t + 2) + share d, with d = 1/(t + 1) - 1/(t + 2), or 1/(t + 2) for shares below 0.
    """
    check, mechanism, n = at.check, at.only(what), at.n
    require = check.require
    require(isinstance(mechanism, Budget), f"{what}: no budget")
    # Where data are shuffled a budget stands for randomizers that differ.
    require(at.setting.shuffled == MESSAGES, f"{what}: evidence about shuffled messages", "invalid")
    t, (e, minus) = mechanism.ratio(False), check.exponential(at.eps)
    require(t > 1 and e >= 1, f"{what}: not a ratio above 1, or an eps below 0", "invalid")
    if e >= t:
        return _ZERO
    require(e < t, f"{what}: eps and the local budget are too close to tell apart", "invalid")
    shares = [check.fraction(x) for x in data["shares"]]
    good = 1 < len(shares) == len(data["cells"]) + 1 <= _MOST_CELLS
    good = good and -1 < shares[0] <= 0 and 0 in shares and shares[-1] == 1 and all(x < y for x, y in pairwise(shares))
    require(good, f"{what}: the cells do not cover all randomizers", "invalid")
    parts = [_low(at, data["low"], t, minus, _mass(t, shares[0])[0], what)]
    for ends, plan in zip(pairwise(shares), data["cells"], strict=True):
        gains = [_mass(t, x)[0] * (t - 1 + minus) for x in ends]
        if plan is None:
            parts.append(gains[1])
            continue
        require(n > 1, f"{what}: a plan for one user")
        laws = [
            (law, arb(gain)) for x, gain in zip(ends, gains, strict=True) for law in _laws(t, minus, x, ends[0] < 0)
        ]
        balls = [([(arb(v), arb(m)) for v, m in atoms], arb(null)) for (atoms, null), _ in laws]
        check.spend(100 * len(laws), hard=True)
        good = all(v > 0 or v < 0 for atoms, _ in balls for v, _ in atoms)
        require(good, f"{what}: a value that may be 0", "invalid")
        parts.append(all_data_sets.bound(check, balls, [g for _, g in laws], n, plan, what))
    return reduce(larger, parts)


def _law(t: Number, minus: Number, masses: list[Number]) -> tuple[list[Any], Number]:
    """Return the values with their masses, and the mass at 0, of the seven patterns; ``minus`` is 1 - E."""
    up, down = t - 1 + minus, 1 - t + t * minus  # t - E and 1 - t E
    values = [up, up / t, down, down / t, t * minus, minus, minus / t]
    atoms = [(v, m) for v, m in zip(values, masses, strict=True) if m != 0]
    return [(v, m) for v, m in atoms if v != 0], sum((m for v, m in atoms if v == 0), _ZERO)


def _mass(t: Number, share: fmpq) -> tuple[Number, Number]:
    """Return p, and rho = 1 - p (t + 1)."""
    if share < 0:
        return (1 + share) / (t + 2), (1 - (t + 1) * share) / (t + 2)
    return (t + 1 + share) / ((t + 1) * (t + 2)), (1 - share) / (t + 2)


def _laws(t: Number, minus: Number, share: fmpq, below: bool) -> Iterator[tuple[list[Any], Number]]:
    """Yield the largest laws of a third input, ``below`` those for p up to 1/(t + 2).

    With (a, b, f, h) of the proof: a is p, or p - rho = share/(t + 1), or 0, and so is b.
    """
    (p, rho), law = _mass(t, share), partial(_law, t, minus)
    if below or share < 1:  # the masses of p - a, t a, p - b, t b, f/t, rho - f - h, t h
        yield law([_ZERO, t * p, p, _ZERO, rho / (1 + t), _ZERO, t * rho / (1 + t)])
    if below:
        yield law([p, _ZERO, p, _ZERO, (rho - p) / (1 + t), _ZERO, t * (t * p + rho) / (1 + t)])
        return
    some = t * share / (t + 1)
    yield law([rho, some, p, _ZERO, _ZERO, _ZERO, t * rho])
    if share > 0:
        yield law([p, _ZERO, rho, some, _ZERO, _ZERO, t * rho])


def _low(at: At, data: dict[str, Any], t: Number, minus: Number, p: Number, what: str) -> Number:
    """Return a bound where the mass is at most p: the blanket with the patterns (t, 1), (1, t) and (t, t)."""
    third = (1 - (t + 1) * p) / t
    atoms, null = _law(t, minus, [p, _ZERO, p, _ZERO, third, _ZERO, _ZERO])
    null, alone = null + 1 - 2 * p - third, p * (t - 1 + minus)
    if data["evaluator"] == ONE_USER:
        return alone
    return lesser(sums.evaluated(at.check, data, [(atoms, null, at.n)], True, what) / at.n, alone)
