"""One triple: the blanket of a pair of inputs above, one data set below.

PROVED: the divergence of the triple, D(eps) = E[S_+]/n + what A2 does not hide, S the sum of n copies of
r0 - e^eps r1 drawn under A2 (docs/proofs/identity.md). The blanket bounds every data set of the other users from above
(docs/proofs/blanket_reduction.md), and every one of the people of whom users are drawn (docs/proofs/composition.md,
section 4); where all of them hold an input, or draw one with the given weights, the divergence is that of a data set,
or a mean of some. A common tilt proves the blanket bound of many ordered pairs of rows of a table at once:
D <= M(theta)^n/(n e theta) + singular part is at most what is claimed, with M from one product of two matrices
(docs/proofs/all_pairs.md). A pair that it does not settle needs evidence of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, arb_mat, fmpq

from .. import sums
from ..check import INFINITY, Check, Number, larger, positive_part
from ..documents import require, shaped
from ..mechanisms import Mechanism, Pair, Table, Triple, Triples, law
from ..participation import Participation
from ..setting import At, drawn

LIMIT, VISIBLE = "limit", "visible"
"""Evaluators: of what is left for large eps; of what other users do not hide."""
TILT_SHAPE, _MOST_INPUTS = {"theta": str}, 64
"""Of a common tilt; and rows of its table, every pair of which has a moment of its own."""


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence."""
    found: dict[str, Any] = {"pair": (int, int)} | ({} if above else {"others": [(int, str)]})
    if isinstance(data, dict) and "order" in data:
        found |= {"order": int}
    if isinstance(data, dict) and "each" in data:
        return found | {"each": [dict]}
    return found | sums.shape(data)


def blanket(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of a pair, whatever the other users hold."""
    base = at.setting.who.base(at.common(what), (data["pair"][0], data["pair"][1]))
    return seen(at, at.setting.who, base.sampled(at.rate), data, up, what)


def data_set(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose lower (upper) end bounds the divergence where others hold inputs with the given weights."""
    check, owner, pair = at.check, at.owner(data, what), (data["pair"][0], data["pair"][1])
    weights = drawn(check, data, what)
    check.require(weights or at.rate == 1, f"{what}: who is not drawn leaves the law of an input", "invalid")
    found = (owner.triple(pair, weights) if weights else itself(owner, pair, what)).sampled(at.rate)
    return seen(at, at.setting.who, found, data, up, what)


def itself(owner: Mechanism, pair: Pair, what: str) -> Triple:
    """Return the triple that the question is about, where it is about one."""
    require(isinstance(owner, Triples), f"{what}: no input of other users")
    assert isinstance(owner, Triples)
    return owner.itself(pair)


def seen(at: At, taking: Participation, base: Triple, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return the same for a triple of which not everyone takes part: a mean over numbers of users, or one of them."""
    check, order = at.check, data.get("order", 0)
    check.require(("order" in data) == taking.removal, f"{what}: an order of data sets", "invalid")
    triple, numbers = taking.triple(check, base, order), taking.numbers or [(fmpq(1), at.n)]
    check.require(("each" in data) == bool(taking.numbers), f"{what}: not one plan for each number", "invalid")
    plans = data.get("each", [data])
    check.require(len(plans) == len(numbers), f"{what}: not one plan for each number", "invalid")
    values = []
    for (_, m), how in zip(numbers, plans, strict=True):
        if "each" in data:
            shaped(how, sums.shape(how), what)
        if at.eps == "inf":
            check.require(not up and how["evaluator"] == LIMIT, f"{what}: eps = inf is for evaluator limit", "invalid")
            values.append(taking.limit(check, triple, m, order))
        elif taking.poisson:
            values.append(_of_poisson(at, taking, triple, how, order, up, what))
        else:
            values.append(divergence(check, triple, at.eps, m, how, up, what))
    return check.total(w * x for (w, _), x in zip(numbers, values, strict=True))


def _of_poisson(
    at: At, taking: Participation, triple: Triple, how: dict[str, Any], order: int, up: bool, what: str
) -> Number:
    """Return the same for a Poisson number of other users, n in the mean: E[(S + shift)_+]/n, and what is visible."""
    check, n, found = at.check, at.n, law(at.check, triple, at.eps)
    shift, plan = taking.shift(check, at.eps, order), how["plan"]
    if how["evaluator"] == VISIBLE or plan is None:
        check.require(how["evaluator"] in (VISIBLE, "one user"), f"{what}: no plan", "invalid")
        return taking.alone(check, found, at.eps, order) if up else found.visible
    check.require(how["evaluator"] == "compact kernel" and "W" in plan, f"{what}: another evaluator", "invalid")
    atoms = [(arb(v), arb(m)) for v, m in found.atoms]
    value = sums.poisson(check, (atoms, arb(found.null), n), n * arb(shift), plan, up, what) / n + found.visible
    if up:
        return -larger(-value, -taking.alone(check, found, at.eps, order))
    return larger(value, check.total(m * v for v, m in found.atoms) + shift + found.visible)


def divergence(check: Check, triple: Triple, eps: str, n: int, how: dict[str, Any], up: bool, what: str) -> Number:
    """Return what bounds the divergence of a triple, by the evaluator and plan of the evidence."""
    found = law(check, triple, eps)
    one = found.alone(check)
    if n == 1 and how["evaluator"] in ("enumeration", "exact"):
        return one
    if how["evaluator"] == VISIBLE:
        return one if up else found.visible
    value = sums.evaluated(check, how, [(found.atoms, found.null, n)], up, what) / n + found.visible
    if up:
        return -larger(-value, -one)
    return larger(value, check.total(m * v for v, m in found.atoms) + found.visible)  # Jensen


def settled(at: At, data: dict[str, Any], what: str) -> Callable[[Pair], bool]:
    """Return a function that tells of a pair of rows whether its divergence is proved to be at most the claim."""
    mechanism, check, n = at.only(what), at.check, at.n
    check.require(isinstance(mechanism, Table), f"{what}: no table")
    view = mechanism.view((0, 1))
    size, columns = len(view.inputs), view.columns
    check.require(size <= _MOST_INPUTS, f"{what}: too large: more than {_MOST_INPUTS} inputs")
    check.spend((8 * size + size * size) * len(columns), hard=True)
    theta, e = arb(check.number(data["theta"])), check.number(f"exp({at.eps})")
    check.require(0 < theta < INFINITY, f"{what}: theta is not positive", "invalid")
    seen, hidden = [c for c in columns if c.low > 0], [c for c in columns if c.low == 0]
    ratios = [[arb(c.on[i] / c.low) for c in seen] for i in range(size)]
    up = [[c.low * (theta * r).exp() for c, r in zip(seen, row, strict=True)] for row in ratios]
    down = [[(-theta * arb(e) * r).exp() for r in row] for row in ratios]
    null = (1 - sum((arb(c.low) for c in seen), arb(0))).max(arb(0))
    moments = (arb_mat(up) * arb_mat(down).transpose() if seen else arb_mat(size, size)).tolist()

    def is_settled(pair: Pair) -> bool:
        i, j = pair
        room = arb(at.value - check.total(positive_part(c.on[i] - e * c.on[j]) for c in hidden))
        return bool(room > 0 and (moments[i][j] + null).log() <= ((room * n * theta).log() + 1) / n)

    return is_settled
