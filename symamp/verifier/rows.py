"""The blanket bound of all ordered pairs of rows of a table.

One tilt theta bounds all pairs, D <= M(theta)^n/(n e theta) + singular part, with M from one product of two matrices
(docs/proofs/all_pairs.md). What it does not bring below the claim is brought there by one user alone, is evaluated as
the certificate says, or has the columns of a pair that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, arb_mat, fmpq

_TEXTS = ("method", "proof_status", "eps", "evaluator", "theta")
_MOST_INPUTS, _MOST_ENTRIES, _MOST_PAIRS = 64, 2**14, 4096
_ZERO = fmpq(0)

Number = Any


def shape(data: dict[str, Any], triple: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the shape of the evidence for a table."""
    pairs = data["pairs"] if type(data.get("pairs")) is list else []
    each = tuple({"pair": (int, int), "evaluator": str, "plan": triple(pair)["plan"]} for pair in pairs)
    return dict.fromkeys(_TEXTS, str) | {"precision": int, "rows": [[str]], "pairs": each}


class Table:
    """The rows as exact numbers or balls, and the blanket m(y), the least entry of each column."""

    def __init__(self, check: Any, data: dict[str, Any], n: int, what: str) -> None:
        self.check, self.rows, self.eps, self.n, self.what = check, data["rows"], data["eps"], n, what
        size = len(self.rows)
        good = 2 <= size <= _MOST_INPUTS and len({len(row) for row in self.rows}) == 1
        check.require(good, f"{what}: too large: a table of 2 to {_MOST_INPUTS} rows of the same length")
        check.require(
            size * len(self.rows[0]) <= _MOST_ENTRIES, f"{what}: too large: more than {_MOST_ENTRIES} entries"
        )
        check.spend((8 * size + size * size) * len(self.rows[0]), hard=True)
        texts = {text for row in self.rows for text in row}
        self.known = {text: check.number(text) for text in texts}
        good = all(0 <= x < arb("inf") and (x == 0 or x > 0) for x in self.known.values())
        check.require(good, f"{what}: an entry is not told from 0, or is negative", "invalid")
        self.numbers = [[self.known[text] for text in row] for row in self.rows]
        for total in (check.total(row) for row in self.numbers):
            good = total == 1 if isinstance(total, fmpq) else total.contains(1) and total.rad() < arb(2) ** -99
            check.require(good, f"{what}: a row does not sum to 1", "invalid")
        self.least, self.kinds = [], []
        for column in zip(*self.rows, strict=True):
            entries = [self.known[text] for text in sorted(set(column))]
            exact = all(isinstance(x, fmpq) for x in entries)
            self.least.append(min(entries) if exact else self.smallest(entries))
            self.kinds.append(str(self.least[-1]) if exact else " ".join(sorted(set(column))))

    @staticmethod
    def smallest(entries: list[Number]) -> Number:
        """Return 0 if it is among the entries, else a ball around the least."""
        result = arb("inf")
        for x in entries:
            result = result.min(arb(x))
        return _ZERO if any(x == 0 for x in entries) else result

    def moments(self, theta: arb, e: arb) -> tuple[list[list[arb]], arb]:
        """Return sum over y of m e^(theta (r0 - E r1)) for all pairs of rows, and the mass of the null symbol."""
        seen = [y for y, m in enumerate(self.least) if m != 0]
        hidden = [arb(self.least[y]) for y in seen]
        ratios = [[arb(row[y]) / m for y, m in zip(seen, hidden, strict=True)] for row in self.numbers]
        up = [[m * (theta * r).exp() for r, m in zip(row, hidden, strict=True)] for row in ratios]
        down = [[(-theta * e * r).exp() for r in row] for row in ratios]
        null = (1 - sum(hidden, arb(0))).max(arb(0))
        return (arb_mat(up) * arb_mat(down).transpose() if seen else arb_mat(len(up), len(up))).tolist(), null

    def columns(self, i: int, j: int) -> dict[tuple[str, str, str], list[Number]]:
        """Return what two rows have in the columns, alike columns together: [entry, entry, least entry, how many]."""
        found: dict[tuple[str, str, str], list[Number]] = {}
        self.check.spend(2 * len(self.least))
        for y, key in enumerate(zip(self.rows[i], self.rows[j], self.kinds, strict=True)):
            found.setdefault(key, [self.numbers[i][y], self.numbers[j][y], self.least[y], 0])[3] += 1
        return found

    def singular(self, i: int, j: int, e: Number) -> Number:
        """Return the divergence of two rows where the blanket has no mass."""
        rows = zip(self.numbers[i], self.numbers[j], self.least, strict=True)
        return self.check.total(self.check.larger(a - e * b) for a, b, m in rows if m == 0 and a != 0)

    def divergence(self, i: int, j: int, name: str, plan: Any) -> Number:
        """Return a number whose upper end bounds the divergence of two rows' blanket; of one user without a name."""
        seen = [(k, v) for k, v in self.columns(i, j).items() if v[2] != 0]
        lone = [(a * c, b * c) for a, b, m, c in self.columns(i, j).values() if m == 0 and not a == b == 0]
        components = [(a / m, b / m, m * c) for _, (a, b, m, c) in seen]
        texts = {"components": [(s, t, "") for (s, t, _), _ in seen]}
        atoms, null, visible = self.check.values(texts, components, lone, self.eps)
        if not name or name == "no positive value":
            return self.check.total(m * self.check.larger(v) for v, m in atoms) + visible
        return self.check.evaluated(name, plan, atoms, null, self.n, True, self.what) / self.n + visible


def bound(check: Any, data: dict[str, Any], n: int, value: Number, what: str) -> Number:
    """Return the largest of the divergences that are evaluated, all others being at most ``value``."""
    check.require(data["evaluator"] == "common tilt", f"{what}: unknown evaluator")
    table, size, level = Table(check, data, n, what), len(data["rows"]), arb(value)
    theta, e = arb(check.number(data["theta"])), check.number(f"exp({data['eps']})")
    check.require(0 < theta < arb("inf") and value > 0, f"{what}: theta or the claim is not positive", "invalid")
    listed = {tuple(found["pair"]): found for found in data["pairs"]}
    good = len(listed) == len(data["pairs"]) <= _MOST_PAIRS and all(0 <= x < size for pair in listed for x in pair)
    check.require(good and all(i != j for i, j in listed), f"{what}: a pair twice, or not of two rows")
    evaluated, result = [], _ZERO
    for (i, j), found in listed.items():
        evaluated.append(sorted((key, v[3]) for key, v in table.columns(i, j).items()))
        result = check.larger(result, table.divergence(i, j, found["evaluator"], found["plan"]))
    moments, null = table.moments(theta, arb(e))
    for i, j in ((i, j) for i in range(size) for j in range(size) if i != j and (i, j) not in listed):
        room = arb(level - table.singular(i, j, e))
        if room > 0 and (moments[i][j] + null).log() <= ((room * n * theta).log() + 1) / n:
            continue
        if table.divergence(i, j, "", None) <= value:
            continue
        alike = sorted((key, v[3]) for key, v in table.columns(i, j).items()) in evaluated
        check.require(alike, f"{what}: the pair {i}, {j} is not settled", "invalid")
    return result
