"""The blanket bound of all ordered pairs of rows of a table at once, by one tilt.

PROVED, of every pair that is settled: D <= M(theta)^n/(n e theta) + singular part is at most what is claimed, with M
from one product of two matrices (docs/proofs/all_pairs.md). A pair that is not settled needs evidence of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, arb_mat

from ..check import INFINITY, positive_part
from ..mechanisms import Pair, Table
from ..setting import At

SHAPE = {"theta": str}
_MOST_INPUTS = 64
"""Every pair of inputs has a moment of its own."""


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
