"""Evidence about one pair of inputs, by the laws of what the other users may hold.

PROVED, of a pair of inputs: the triples (R(x0), R(x1), R(x)) listed for the classes of other inputs x belong to one
pair, and at ``eps`` no data set of the other users with these laws has a larger divergence than the number that is
compared with the claim: by a law above all of theirs in increasing convex order (docs/proofs/envelope.md), by the
integrals over all data sets (docs/proofs/all_data_sets.md), or by one user alone. Laws that are ``mixed`` may be those
of several pairs, and the same is proved of every pair of inputs for which the law of each other input is below a
mixture of them in convex order, with the same positive part (docs/proofs/other_inputs.md). ``rounded`` says how far,
in total variation, these laws of one message may be from those they stand for, which is not checked: what n messages
make of it is added (docs/proofs/dominating_table.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import itemgetter
from typing import Any

from flint import arb, fmpq

from . import data_set_integrals, message_counts

_TERM: dict[str, Any] = dict.fromkeys(("a", "lam", "s", "sigma", "tail"), str) | {"ends": [str], "scales": [str]}
PLAN: dict[str, Any] = {"p_lo": str, "a": str, "b": str, "terms": [_TERM]}
_LAW: dict[str, Any] = {"other": str, "components": [(str, str, str)], "singular": [(str, str)]}
_DOMINATING: dict[str, Any] = {"values": [str], "masses": [str], "singular": str}
_RANGE, _MOST_LAWS = 2**16, 1024
COUNTS = "counts of messages"

Number = Any
_ZERO, _ONE = arb(0), arb(1)


def shape(check: Any, data: dict[str, Any], triple: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence for a pair of inputs."""
    common = {key: triple[key] for key in ("method", "proof_status", "pair", "eps", "evaluator", "precision")}
    plan = triple["plan"]
    if data.get("evaluator") == "all data sets":
        plan = PLAN
    elif data.get("evaluator") == COUNTS:
        plan = message_counts.plan_shape(above)
    common |= {"rounded": str} if "rounded" in data else {}
    common |= {"mixed": bool} if above and "mixed" in data else {}
    return common | {"plan": plan, "laws": [_LAW], "dominating": _DOMINATING if data.get("dominating") else type(None)}


def bound(check: Any, data: dict[str, Any], n: int, up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of the pair for all data sets of the other users.

    Below, where only counts of messages are listed, its lower end bounds that of one data set.
    """
    found = _of_listed(check, data, n, up, what)
    if "rounded" not in data:
        return found
    rounded = check.number(data["rounded"])
    check.require(up and rounded >= 0, f"{what}: laws that are rounded bound from above, by a number >= 0", "invalid")
    return found + (1 + check.number(f"exp({data['eps']})")) * n * rounded


def _of_listed(check: Any, data: dict[str, Any], n: int, up: bool, what: str) -> Number:
    require, name, plan = check.require, data["evaluator"], data["plan"]
    require(up or name == COUNTS, f"{what}: an evaluator that bounds from above only, {name[:40]!a}")
    require(0 < len(data["laws"]) <= _MOST_LAWS, f"{what}: no laws, or more than {_MOST_LAWS}")
    require(sum(len(law["components"]) for law in data["laws"]) <= 10**5, f"{what}: too large: laws")
    if name == COUNTS:
        require(plan is not None, f"{what}: no plan")
        triples = [check.triple(law, what) for law in data["laws"]]
        return message_counts.bound(check, triples, data, n, up, what)
    laws, ones = [], []
    for law in data["laws"]:
        components, singular = check.triple(law, what)
        whole = check.total(m for *_, m in components)
        good = whole == 1 if isinstance(whole, fmpq) else whole.contains(1)
        require(good, f"{what}: a law of the other users' messages has not the mass 1", "invalid")
        laws.append(check.values(law, components, singular, data["eps"]))
        atoms, _, visible = laws[-1]
        ones.append(check.total(m * check.larger(v) for v, m in atoms) + visible)
    mixed = data.get("mixed", False)
    same = all(arb(x).overlaps(arb(ones[0])) and arb(x - ones[0]).rad() < arb(2) ** -80 for x in ones)
    require(same or mixed, f"{what}: the laws do not belong to one pair of inputs", "invalid")
    if name == "one user":
        return reduce(check.larger, ones)
    if name == "all data sets":
        require(plan is not None and "terms" in plan and n > 1, f"{what}: no plan, or one user")
        good = all(visible == 0 for *_, visible in laws) and not any(arb(v).contains(0) for a, *_ in laws for v, _ in a)
        require(good, f"{what}: a singular part, or a value that may be 0", "invalid")
        balls = [([(arb(v), arb(m)) for v, m in atoms], arb(null)) for atoms, null, _ in laws]
        return data_set_integrals.bound(check, balls, [arb(x) for x in (ones if mixed else ones[:1])], n, plan, what)
    require(data["dominating"] is not None, f"{what}: no dominating law, or an unknown evaluator {name[:40]!a}")
    atoms, null, singular = _dominating(check, laws, data["dominating"], what)
    return check.evaluated(name, plan, atoms, null, n, True, what) / n + singular


def _dominating(check: Any, laws: list[Any], data: dict[str, Any], what: str) -> tuple[list[Any], fmpq, fmpq]:
    """Return the dominating law after a proof that its stop-loss transform is above those of all laws.

    Between two of its nodes it is linear, and the others are convex: comparing at its nodes is enough. Below its
    least node the difference falls, for all slopes begin at -1; above its largest the others fall.
    """
    values, masses = ([check.number(x) for x in data[key]] for key in ("values", "masses"))
    singular = check.number(data["singular"])
    check.require(len(values) == len(masses) > 0, f"{what}: values and masses of different length")
    exact = all(isinstance(x, fmpq) for x in [*values, *masses, singular])
    good = exact and all(m >= 0 for m in masses) and check.total(masses) == 1 and singular >= 0
    check.require(good, f"{what}: the dominating law is not exact, nonnegative and of mass 1", "invalid")
    nodes = sorted(set(values), reverse=True)
    own = list(_transform(check, list(zip(values, masses, strict=True)), singular, nodes))
    for atoms, null, alone in laws:
        raised = [(_upper(check, v), m) for v, m in [*atoms, (fmpq(0), null)]]
        theirs = _transform(check, raised, alone, nodes)
        check.require(
            all(x <= y for x, y in zip(theirs, own, strict=True)), f"{what}: a law is not dominated", "invalid"
        )
    atoms = [(v, m) for v, m in zip(values, masses, strict=True) if v != 0 and m != 0]
    return atoms, sum((m for v, m in zip(values, masses, strict=True) if v == 0), fmpq(0)), singular


def _transform(check: Any, atoms: list[Any], singular: Number, nodes: list[fmpq]) -> Iterator[Number]:
    """Yield singular + E[(X - u)_+] at nodes u in decreasing order, for atoms with exact values."""
    atoms, k, mass, first = sorted(atoms, key=itemgetter(0), reverse=True), 0, fmpq(0), singular
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
    check.require(abs(int(exponent)) < _RANGE, "too large: a value")
    return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
