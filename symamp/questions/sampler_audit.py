"""Audit a client: are its reports those of the mechanism, and what local budget do their counts rule out?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, log, nextafter
from typing import Any

import numpy as np
import scipy
import sympy as sp
from flint import arb

from symamp.decompositions.randomizer import known_label
from symamp.errors import ArgumentError, FormatError, Problem, SupportMismatchError, checked_call, shown
from symamp.numbers.reading import Count, Real, exact_number
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism, protocol_of
from symamp.randomizers.protocols import Protocol, double, generator

_FEWEST, _MOST, _INPUTS = 100, 10**7, 8
_BITS = 128
_SHRINK = 1e-9
"""How far a limit from doubles is moved outward at first, relatively; four times as far each time it fails."""
_SMALLER = "audit the sampler as one of a small member of the family, such as D=4"


@dataclass(frozen=True)
class InputAudit:
    """The reports for one input: a bound on the p-value, and the message whose count is furthest off.

    >>> import symamp as sa
    >>> rr = sa.RandomizedResponse(k=3, eps0=1)
    >>> [found.name for found in sa.audit_sampler(rr.randomize, rr, reports=1000).inputs]
    ['x0', 'x1']
    """

    name: str
    p_value: float
    message: str
    count: int
    expected: float


@dataclass(frozen=True)
class SamplerAudit:
    """Whether the reports of a client fit the table of a mechanism, and a lower bound on the local budget they show.

    ``p_value`` is an upper bound, over all inputs that were tried; ``budget`` a lower bound on the local budget, shown
    by the probabilities of the messages ``event`` on the two inputs of ``pair``; ``claimed`` is the mechanism's.

    >>> import symamp as sa
    >>> rr = sa.RandomizedResponse(k=2, eps0=1)
    >>> found = sa.audit_sampler(rr.randomize, rr, reports=1000)
    >>> found.is_consistent, found.claimed, found.event in (("x0",), ("x1",))
    (True, 1.0, True)
    """

    mechanism: str
    reports: int
    false_alarm: float
    inputs: tuple[InputAudit, ...]
    p_value: float
    budget: float
    claimed: float
    pair: tuple[str, str]
    event: tuple[str, ...]

    @property
    def is_consistent(self) -> bool:
        """Whether the reports may be those of the table: if not, they are not, but for chance ``false_alarm``."""
        return self.p_value > self.false_alarm

    @property
    def exceeds_budget(self) -> bool:
        """Whether the local budget is over the claimed one, but for chance ``false_alarm``."""
        return self.budget > self.claimed

    def to_dict(self) -> dict[str, Any]:
        """Return the audit for machines."""
        return {**asdict(self), "is_consistent": self.is_consistent, "exceeds_budget": self.exceeds_budget}

    def __str__(self) -> str:
        worst = min(self.inputs, key=lambda found: found.p_value)
        law = "consistent with the table"
        if not self.is_consistent:
            seen = f"message {worst.message!r} came {worst.count} times, expected {worst.expected:.6g}"
            law = f"not that of the table: p-value at most {self.p_value:.3g}; on input {worst.name!r} {seen}"
        over = ", MORE THAN CLAIMED" if self.exceeds_budget else ""
        chance = f"{self.false_alarm:.3g}"
        return (
            f"{self.reports} reports on each of {len(self.inputs)} inputs of {self.mechanism}\n"
            f"law: {law} (chance of a false alarm: at most {chance})\n"
            f"local budget: at least {self.budget:.6g}, claimed {self.claimed:.6g}{over} (but for chance {chance})"
        )


@checked_call
@undisturbed()
def audit_sampler(
    sampler: Callable[[Any, Any], Any],
    mechanism: Mechanism,
    *,
    reports: Count = 100_000,
    inputs: Sequence[object] | None = None,
    rng: object = 0,
    false_alarm: Real = "1e-6",
) -> SamplerAudit:
    """Compare ``sampler(values, rng)`` with the table of a mechanism, by ``reports`` reports on each of some inputs.

    The sampler is called twice, with the inputs in random order. One that mixes users up, or that does not draw from
    the generator, is refused by ArgumentError; a correct one is refused with probability ``false_alarm`` at most.

    Values and reports are arrays as in ``mechanism.randomize``; the mechanism must be small enough for its ``table()``.
    ``inputs`` are labels of the table: for a family, of the two or three inputs that it shows (all of them by default);
    for a table, any (the first eight by default). Not tested: that reports in different rows are independent, how long
    the sampler takes, and the quality of its random bits.

    Guarantee
    ---------
    For independent reports, whatever their law: if it is that of the table, ``is_consistent`` is False with chance
    ``false_alarm`` at most, for every number of reports (the bound is evaluated in doubles). The local budget of the
    sampler is at least ``budget``, except with chance ``false_alarm`` (in balls, rounded down). Proof:
    docs/proofs/sampler_audit.md.

    Raises ArgumentError for arguments out of range and reports that are none, SupportMismatchError for a mechanism
    without a table, or with one that is too large.

    >>> import numpy as np
    >>> import symamp as sa
    >>> rappor = sa.UnaryEncoding.rappor(D=3, eps0=1)
    >>> sa.audit_sampler(rappor.randomize, rappor, reports=20_000).is_consistent
    True
    >>> def wrong(values, rng):  # all bits of a user share one random number
    ...     u = rng.random((len(values), 1))
    ...     return np.where(np.arange(3) == values[:, None], u < 0.622459, u < 0.377541).astype(int)
    >>> found = sa.audit_sampler(wrong, rappor, reports=20_000)
    >>> found.is_consistent, found.exceeds_budget, found.budget > 4
    (False, True, True)
    """
    if not callable(sampler):
        raise ArgumentError("sampler", type(sampler).__name__, "a function of values and a generator")
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError("mechanism", type(mechanism).__name__, "a mechanism with a table")
    chance, count = exact_number(false_alarm, "false_alarm"), exact_number(reports, "reports")
    if not 0 < chance < 1:
        raise ArgumentError("false_alarm", false_alarm, "a number between 0 and 1")
    if not (count.is_Integer and _FEWEST <= count <= _MOST):
        raise ArgumentError("reports", reports, f"an integer from {_FEWEST} to {_MOST}")
    protocol, table = protocol_of(mechanism), _table(mechanism)
    known = {x: value for x, value in protocol.shown().items() if x in table.inputs}
    if not known:
        told = Problem(f"which reports of {mechanism!r} are messages of its table is not described")
        raise SupportMismatchError("mechanism", told, "take a member with other sizes, or without optional ones")
    names = list(known)[:_INPUTS] if inputs is None else [known_label("inputs", x, tuple(known)) for x in inputs]
    if len(set(names)) < 2:
        raise ArgumentError("inputs", Problem("two different inputs are needed"), f"some of {', '.join(known)}")
    random, level = generator(rng), double(chance)
    kind = None if protocol.values.integers else float
    rows = {
        x: {y: double(p) for y, p in zip(table.messages, table.rows[table.inputs.index(x)], strict=True)} for x in names
    }
    # Two calls, in which the inputs are mixed: users must not be, and no report is to come twice.
    half = int(count) // 2
    order = random.permutation(np.tile(np.arange(len(names)), half))
    longer = np.concatenate((order, np.arange(len(names) * (int(count) - 2 * half))))
    values = np.array([known[x] for x in names], dtype=kind)
    first, second = (_reports(sampler, protocol, values[some], random) for some in (order, longer))
    found = {
        x: (_counted(protocol, first[order == i]), _counted(protocol, second[longer == i])) for i, x in enumerate(names)
    }
    audits = [_compared(x, rows[x], _added(*found[x])) for x in names]
    pair, event, lower = _budget(found, level)
    p_value = min(1.0, len(audits) * min(a.p_value for a in audits))
    twice = half * sum(log(sum(p * p for p in row.values())) for row in rows.values())
    if p_value > level > exp(twice) and np.array_equal(first, second[: len(order)]):
        told = Problem("a second call gave the same reports: it does not draw from the generator")
        raise ArgumentError("sampler", told, "draw all random numbers from the generator that is passed")
    ratio = mechanism.local_epsilon()
    claimed = inf if ratio == sp.oo else double(ratio)
    return SamplerAudit(
        shown(mechanism), int(count), level, tuple(audits), p_value, lower, claimed, pair, tuple(sorted(event))
    )


def _table(mechanism: Mechanism) -> FiniteMechanism:
    if isinstance(mechanism, FiniteMechanism):
        return mechanism
    if not hasattr(mechanism, "table"):
        raise SupportMismatchError("mechanism", Problem(f"{mechanism!r} has no table"), _SMALLER)
    try:
        found: FiniteMechanism = mechanism.table()
    except FormatError:
        too_large = Problem(f"{mechanism!r} has too many inputs or messages for a table")
        raise SupportMismatchError("mechanism", too_large, _SMALLER) from None
    return found


# ------------------------------------------------------------------------------------ Counts, and their fit to a table

Counts = dict[str, int]


def _reports(sampler: Any, protocol: Protocol, values: Any, rng: Any) -> Any:
    """Return the reports on some values, checked."""
    found = protocol.reports.checked(sampler(values, rng), "reports of the sampler")
    if len(found) != len(values):
        raise ArgumentError("reports of the sampler", f"{len(found)} for {len(values)} values", "one for each value")
    return found


def _counted(protocol: Protocol, reports: Any) -> Counts:
    """Return how often each message came."""
    counts: Counts = {}
    for report, number in zip(*np.unique(reports, axis=0, return_counts=True), strict=True):
        label = protocol.label(report.tolist())
        counts[label] = counts.get(label, 0) + int(number)
    return counts


def _added(first: Counts, second: Counts) -> Counts:
    return {y: first.get(y, 0) + second.get(y, 0) for y in {**first, **second}}


def _compared(name: str, row: dict[str, float], counts: Counts) -> InputAudit:
    """Return a bound on the chance of a likelihood ratio as large as this one, from the table."""
    n = sum(counts.values())
    divergence = 0.0
    for y, number in counts.items():
        expected = n * row.get(y, 0.0)
        divergence = inf if expected == 0.0 else divergence + number * log(number / expected)
    deviation = {y: abs(counts.get(y, 0) - n * row.get(y, 0.0)) for y in {**row, **counts}}
    worst = max(deviation, key=lambda y: (row.get(y, 0.0) == 0.0 and counts.get(y, 0) > 0, deviation[y]))
    free = sum(p > 0.0 for p in row.values()) - 1
    return InputAudit(name, _p_value(divergence, free), worst, counts.get(worst, 0), n * row.get(worst, 0.0))


def _p_value(divergence: float, free: int) -> float:
    """Return a bound on P(n D(counts/n || law) >= divergence) for a law of free + 1 messages, for every n."""
    if free == 0 or divergence == inf:
        return 0.0 if divergence > 0.0 else 1.0
    y = divergence - free * log(2.0)
    return min(1.0, max(exp(free - y + free * log(y / free)), nextafter(0.0, 1.0))) if y > free else 1.0


# ------------------------------------------------------------ A lower bound on the local budget (Clopper, Pearson)


def _budget(found: dict[str, tuple[Counts, Counts]], level: float) -> tuple[tuple[str, str], set[str], float]:
    """Return a pair of inputs with an event, chosen by the first halves, and the bound by the second halves."""
    best: tuple[float, tuple[str, str], set[str]] = (-inf, ("", ""), set())
    for x, (first, _) in found.items():
        for z, (other, _) in found.items():
            if x == z:
                continue
            messages = sorted({*first, *other}, key=lambda y: (-(first.get(y, 0) + 0.5) / (other.get(y, 0) + 0.5), y))
            ones, twos = (np.cumsum([counts.get(y, 0) for y in messages]) for counts in (first, other))
            n, m = int(ones[-1]), int(twos[-1])
            with np.errstate(divide="ignore"):
                values = np.log(_rough(ones, n, level / 2)) - np.log(_rough(twos + 1, m + 1, 1 - level / 2))
            at = int(np.argmax(values))
            if values[at] > best[0]:
                best = float(values[at]), (x, z), set(messages[: at + 1])
    _, pair, event = best
    if not event:
        return pair, event, 0.0
    hits, sizes = zip(
        *((sum(found[x][1].get(y, 0) for y in event), sum(found[x][1].values())) for x in pair), strict=True
    )
    with at_precision(_BITS):
        half, misses = arb(level) / 2, sizes[1] - hits[1]
        low, high = _at_least(hits[0], sizes[0], half), 1 - _at_least(misses, sizes[1], half)
        bound = (low / high).log() if low > 0 else arb(0)
        return pair, event, max(0.0, nextafter(float(bound.lower()), -inf))


def _rough(hits: Any, n: int, level: float) -> Any:
    """Return about the Clopper-Pearson limit at a level: where I_p(hits, n - hits + 1) is the level; 0 for no hits."""
    inside = np.maximum(hits, 1)
    return np.where(hits > 0, scipy.special.betaincinv(inside, n - inside + 1, level), 0.0)


def _at_least(hits: int, n: int, level: arb) -> arb:
    """Return p with P(Bin(n, p) >= hits) <= level: proved by a ball, and close to the largest such p."""
    if hits == 0:
        return arb(0)
    p, step = float(_rough(np.array(hits), n, float(level))), _SHRINK
    while step < 1.0:
        tried = arb(p * (1.0 - step))
        if tried.beta_lower(hits, n - hits + 1, 1) <= level:
            return tried
        step *= 4.0
    return arb(0)
