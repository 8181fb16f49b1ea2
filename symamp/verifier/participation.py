"""Who takes part in a round: the triple of a full round, transformed by drop-out, leaks and the like.

PROVED: if a triple bounds, or has, the divergence of every number of users of whom everyone takes part, then what is
made of it bounds, or has, that of the setting (docs/proofs/participation.md). Absence is the null symbol, a leaked
report is a message that names its sender, a victim who is not there leaves the law of a missing report.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb, fmpq

from .check import Check, Number, larger, positive_part
from .documents import require, shaped
from .mechanisms import Budget, Component, Law, Mechanism, Pair, Triple, merged

SHAPE: dict[str, Any] = {
    "honest": str, "present": str, "leaks": str, "poisson": bool, "removal": bool, "victim": str,
    "numbers": [(str, int)],
}  # fmt: skip
_MOST_NUMBERS = 64
_TOLD = {"honest": "each other user does not collude", "present": "each other user sends a report",
         "leaks": "each report, the victim's too, leaks"}  # fmt: skip


class Participation(NamedTuple):
    """With which probability a user is honest, sends a report, and leaks it; how many there are; who is compared.

    ``victim`` is the probability with which the victim is there, of one data set where the report is removed in the
    other. ``numbers`` lists weights with numbers of users; none for the number of the setting.
    """

    honest: fmpq
    present: fmpq
    leaks: fmpq
    poisson: bool
    removal: bool
    victim: fmpq
    numbers: list[tuple[fmpq, int]]

    @staticmethod
    def where(kept: fmpq) -> Participation:
        """Return that of all users, each of whose messages arrives with this probability but the victim's."""
        return Participation(fmpq(1), kept, fmpq(0), False, False, fmpq(1), [])

    @staticmethod
    def of(check: Check, data: Any, what: str) -> Participation:
        """Return what data say, after a check that they are probabilities."""
        shaped(data, SHAPE, what)
        honest, present, leaks, victim = (check.fraction(data[k]) for k in ("honest", "present", "leaks", "victim"))
        good = 0 < honest <= 1 and 0 < present <= 1 and 0 <= leaks <= 1 and victim in (1, present)
        require(good, f"{what}: a number is no probability", "invalid")
        numbers = [(check.fraction(w), m) for w, m in data["numbers"]]
        good = len(numbers) <= _MOST_NUMBERS and all(w > 0 and 1 <= m <= 10**18 for w, m in numbers)
        good = good and (not numbers or check.total(w for w, _ in numbers) == 1)
        require(good, f"{what}: numbers of users without weights that sum to 1", "invalid")
        require(not (numbers and data["poisson"]), f"{what}: numbers of users of two kinds", "invalid")
        hidden = present < 1 or data["poisson"]
        require(hidden or not data["removal"], f"{what}: the number of reports shows that one is removed", "invalid")
        return Participation(honest, present, leaks, data["poisson"], data["removal"], victim, numbers)

    def is_plain(self, n: int) -> bool:
        """Return whether the victim is there, and hidden among all n users or none."""
        return not (self.poisson or self.removal) and self.victim == 1 and self.is_of_all(n)

    def is_of_all(self, n: int) -> bool:
        """Return whether the victim is hidden among all n users or none."""
        return {m for _, m in self.numbers} <= {1, n}

    @property
    def unshuffled(self) -> fmpq:
        """The probability with which nobody hides the victim."""
        return sum((w for w, m in self.numbers if m == 1), fmpq(0))

    @property
    def hidden(self) -> tuple[fmpq, fmpq]:
        """With which probability another user's report hides the victim's, and with which the victim's is hidden."""
        return self.honest * self.present * (1 - self.leaks), (1 - self.unshuffled) * (1 - self.leaks)

    @property
    def orders(self) -> int:
        """How many orders of two data sets there are for a pair of inputs: of a removal, present first and second."""
        return 2 if self.removal else 1

    def worlds(self, order: int) -> tuple[fmpq, fmpq]:
        """Return with which probability the victim is there in both data sets."""
        require(0 <= order < self.orders, "no such order of the data sets")
        if not self.removal:
            return self.victim, self.victim
        return (fmpq(0), self.victim) if order else (self.victim, fmpq(0))

    def base(self, mechanism: Mechanism, pair: Pair) -> Triple:
        """Return the triple above the round in which everyone takes part."""
        if self.removal and isinstance(mechanism, Budget):
            t = mechanism.ratio(False)
            return Triple([Component("", t, t, 1 / t)], [], larger(1 - 1 / t))
        return mechanism.blanket(pair)

    def triple(self, check: Check, found: Triple, order: int) -> Triple:
        """Return the triple that a triple becomes."""
        (p, q), r, arrives = self.worlds(order), self.leaks, self.honest * self.present
        seen, missing = arrives * (1 - r), self.honest * (1 - self.present)
        alone = [(s, p * (1 - r) * a, q * (1 - r) * b) for s, a, b in found.singular]
        if r > 0:
            own = [(s, m * a, m * b) for s, a, b, m in found.components] + found.singular
            alone += [(s, p * r * a, q * r * b) for s, a, b in own]
        rows = [Component(s, p * a / arrives, q * b / arrives, seen * m) for s, a, b, m in found.components if seen > 0]
        null = 1 - seen + seen * found.null
        if (p, q) != (1, 1) and not self.poisson:
            rows.append(Component("", (1 - p) / missing, (1 - q) / missing, missing))
            null -= missing
        if p != q:
            rows, alone = [Component("", *c[1:]) for c in rows], [("", a, b) for _, a, b in alone]
        return Triple(merged(rows), alone, null)

    def shift(self, check: Check, eps: str, order: int) -> Number:
        """Return what there is of E[S_+] without the victim's report, for each user of a Poisson number."""
        p, q = self.worlds(order)
        return fmpq(0) if p == q == 1 or not self.poisson else 1 - p - check.number(f"exp({eps})") * (1 - q)

    def alone(self, check: Check, found: Law, eps: str, order: int) -> Number:
        """Return what no number of users makes larger."""
        return found.alone(check) + positive_part(self.shift(check, eps, order))

    def limit(self, check: Check, triple: Triple, n: int, order: int) -> Number:
        """Return the mass that the first data set has where the second has none."""
        p, q = self.worlds(order)
        revealed = check.total(a for _, a, b in triple.singular if b == 0)
        if self.poisson and q != 1:
            return revealed
        hidden = check.total(c.mass * c.ratio0 for c in triple.components if c.ratio1 == 0)
        free = arb(check.total([triple.null, *(c.mass for c in triple.components if c.ratio1 == 0)]))
        if self.poisson:
            return revealed + (hidden + 1 - p) * (n * (free - 1)).exp()
        return revealed + hidden * free ** (n - 1)

    def told(self) -> list[str]:
        """Return what has been read, in words."""
        lines = [
            f"{told} with the chance {getattr(self, key)}"
            for key, told in _TOLD.items()
            if getattr(self, key) != (0 if key == "leaks" else 1)
        ]
        lines += ["a Poisson number of other users, n in the mean"] if self.poisson else []
        numbers = ", ".join(f"{m}: {w}" for w, m in self.numbers)
        lines += [f"so many users, with the chance: {numbers}"] if numbers else []
        lines += ["one of the two data sets lacks the victim's report"] if self.removal else []
        return lines + [f"the victim's report is there with the chance {self.victim}"] * (self.victim != 1)
