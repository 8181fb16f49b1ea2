"""A pair of inputs by the laws of every input that the other users may hold: one law above them all, or integrals.

PROVED: at this level no data set has a larger divergence for the pair than the number that is returned: by a law above
all of theirs in increasing convex order (docs/proofs/envelope.md), or by the integrals over all data sets
(docs/proofs/all_data_sets.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import itemgetter
from typing import Any

from flint import arb, fmpq

from .. import sums
from ..check import NEARLY, ZERO, Number, larger
from ..mechanisms import ALL, ORDER, Law, law
from ..setting import At
from . import all_data_sets

ENVELOPE, DATA_SETS = "envelope", "all data sets"
_TERM: dict[str, Any] = dict.fromkeys(("a", "lam", "s", "sigma", "tail"), str) | {"ends": [str], "scales": [str]}
PLAN: dict[str, Any] = {"p_lo": str, "a": str, "b": str, "terms": [_TERM]}
_DOMINATING: dict[str, Any] = {"values": [str], "masses": [str], "singular": str}
_MOST_EXPONENT, _MOST_LAWS = 2**16, 1024
"""Of two, in values that are read; and laws of other inputs."""


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence."""
    if data["kind"] == DATA_SETS:
        return {"pair": (int, int), "plan": PLAN}
    return {"pair": (int, int), "dominating": _DOMINATING} | sums.shape(data)


def laws(at: At, pair: tuple[int, int], needed: tuple[str, ...], what: str) -> list[Law]:
    """Return the laws of all other inputs of a pair."""
    mechanism = at.only(what)
    at.check.require(mechanism.stands_for in needed, f"{what}: not all inputs of other users are listed", "invalid")
    found = [law(at.check, triple, at.eps) for _, triple in mechanism.laws(pair)]
    at.check.require(0 < len(found) <= _MOST_LAWS, f"{what}: no laws, or more than {_MOST_LAWS}")
    ones = [x.alone(at.check) for x in found]
    same = all(arb(x).overlaps(arb(ones[0])) and arb(x - ones[0]).rad() < arb(2) ** -NEARLY for x in ones)
    at.check.require(same or mechanism.mixed, f"{what}: the laws do not belong to one pair of inputs", "invalid")
    return found


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of the pair for all data sets of the other users."""
    check, pair, of_integrals = at.check, (data["pair"][0], data["pair"][1]), data["kind"] == DATA_SETS
    found = laws(at, pair, (ALL,) if of_integrals else (ALL, ORDER), what)
    if of_integrals:
        ones = [arb(x.alone(check)) for x in (found if at.only(what).mixed else found[:1])]
        one = reduce(larger, ones)
        if at.n == 1 or not one > 0:
            return one
        good = all(x.visible == 0 for x in found) and not any(arb(v).contains(0) for x in found for v, _ in x.atoms)
        check.require(good, f"{what}: a singular part, or a value that may be 0", "invalid")
        balls = [([(arb(v), arb(m)) for v, m in x.atoms], arb(x.null)) for x in found]
        return all_data_sets.bound(check, balls, ones, at.n, data["plan"], what, enough=arb(at.value))
    atoms, null, singular = _dominating(check, found, data["dominating"], what)
    return sums.evaluated(check, data, [(atoms, null, at.n)], True, what) / at.n + singular


def _dominating(check: Any, found: list[Law], data: dict[str, Any], what: str) -> tuple[list[Any], fmpq, Number]:
    """Return the law that is listed, and a singular part with which its stop-loss transform is above those of all laws.

    The others are convex, and its own is linear between its nodes, falls as fast as any below them, and is flat above:
    the excess is the largest at a node.
    """
    values, masses = ([check.fraction(x) for x in data[key]] for key in ("values", "masses"))
    singular: Number = check.fraction(data["singular"])
    check.require(len(values) == len(masses) > 0, f"{what}: values and masses of different length")
    good = all(m >= 0 for m in masses) and check.total(masses) == 1 and singular >= 0
    check.require(good, f"{what}: the dominating law is not nonnegative and of mass 1", "invalid")
    nodes, excess = sorted(set(values), reverse=True), ZERO
    own = list(_transform(check, list(zip(values, masses, strict=True)), singular, nodes))
    for x in found:
        raised = [(_upper(check, v), m) for v, m in [*x.atoms, (fmpq(0), x.null)]]
        for theirs, mine in zip(_transform(check, raised, x.visible, nodes), own, strict=True):
            if not theirs <= mine:
                excess = larger(excess, theirs - mine)
    atoms = [(v, m) for v, m in zip(values, masses, strict=True) if v != 0 and m != 0]
    null = sum((m for v, m in zip(values, masses, strict=True) if v == 0), ZERO)
    return atoms, null, singular + excess


def _transform(check: Any, atoms: list[Any], singular: Number, nodes: list[fmpq]) -> Iterator[Number]:
    """Yield singular + E[(X - u)_+] at nodes u in decreasing order, for atoms with exact values."""
    atoms, k, mass, first = sorted(atoms, key=itemgetter(0), reverse=True), 0, ZERO, singular
    for node in nodes:
        check.spend(6, hard=True)
        while k < len(atoms) and atoms[k][0] > node:
            mass, first = check.limited(mass + atoms[k][1]), check.limited(first + atoms[k][0] * atoms[k][1])
            k += 1
        yield check.limited(first - node * mass)


def _upper(check: Any, x: Number) -> fmpq:
    """Return an exact number that is at least x."""
    if isinstance(x, fmpq):
        return x
    mantissa, exponent = x.upper().man_exp()
    check.require(abs(int(exponent)) < _MOST_EXPONENT, "too large: a value")
    return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
