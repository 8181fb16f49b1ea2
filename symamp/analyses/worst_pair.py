"""The blanket bound over all pairs of rows of a table: the worst pair certified, all others settled with proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import TypeAlias

from flint import arb, fmpq

from symamp.analyses.blanket_bound import table_reduction
from symamp.analyses.pair_bounds import Pair, open_pairs, worst_pairs
from symamp.analyses.reduction import Reduction
from symamp.derivation.numeric_table import NumericTable
from symamp.derivation.pairs import distinct_pairs
from symamp.errors import ArgumentError
from symamp.evaluation.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.evaluation.inversion import certify_above, estimate_epsilon, log_of
from symamp.evaluation.law import Level
from symamp.mechanisms.mechanism import Mechanism

Progress: TypeAlias = Callable[[int, int], None]
Found: TypeAlias = tuple[Reduction, Enclosure]

_ROUGH = Settings(gap=1e-3, most_frequencies=2_000)
_GAPS = (0.05, 0.005)
"""Accuracies that settle a pair below the worst one, before it is evaluated with care."""
_REFINED = 6
"""How many pairs of the ranking are estimated one by one."""


def largest_delta(
    mechanism: Mechanism, level: Level, n: int, settings: Settings, progress: Progress | None = None
) -> list[Found]:
    """Return certified evaluations whose largest upper end bounds the divergence of every pair, the worst first.

    The mechanism must be a table of numbers. ``progress`` is told (settled, all) of the pairs that need an evaluation
    of their own.

    Guarantee
    ---------
    Every ordered pair of inputs has D_E at most the largest upper end, at n users.
    Proof: docs/proofs/all_pairs.md.
    """
    table = _table(mechanism)
    best = max(
        (table_reduction(mechanism, pair) for pair in worst_pairs(table, level, n, _REFINED) or [(0, 1)]),
        key=lambda r: estimate_log_divergence(r.law, level, n, _ROUGH),
    )
    found = [(best, enclose_divergence(best.law, level, n, settings))]
    bound = found[0][1].upper.upper()
    for reduction in _others(mechanism, level, n, bound, best, progress):
        if not _at_most(reduction, level, n, lambda e, b=bound: e.upper <= b, settings):
            found.append((reduction, enclose_divergence(reduction.law, level, n, settings)))
            bound = bound.max(found[-1][1].upper.upper())
    return sorted(found, key=lambda f: -float(f[1].upper))


def smallest_epsilon(
    mechanism: Mechanism, n: int, delta: fmpq, settings: Settings, progress: Progress | None = None
) -> tuple[float, tuple[Found, ...]]:
    """Return a double eps at which every pair has divergence <= delta, and the evaluation that is nearest to it.

    The mechanism must be a table of numbers; eps is inf if none is found.

    Guarantee
    ---------
    Every ordered pair of inputs has D_E <= delta at E = e^eps and above, at n users.
    Proof: docs/proofs/all_pairs.md, with docs/proofs/inversion.md.
    """
    guess, worst = worst_for_delta(mechanism, n, log_of(delta), settings)
    if guess == 0.0:
        at_zero = largest_delta(mechanism, Level.of_float(0.0), n, settings, progress)
        if all(e.is_at_most(delta) for _, e in at_zero):
            return 0.0, tuple(at_zero)
    eps, enclosures = certify_above([worst.law], n, delta, guess, settings)
    if eps == inf:
        return inf, ()
    for reduction in _others(mechanism, Level.of_float(eps), n, arb(delta), worst, progress):
        if not _at_most(reduction, Level.of_float(eps), n, lambda e: e.is_at_most(delta), settings):
            guess = max(eps, estimate_epsilon(reduction.law, n, log_of(delta), settings, eps))
            eps, enclosures = certify_above([reduction.law], n, delta, guess, settings)
            worst = reduction
            if eps == inf:
                return inf, ()
    return eps, tuple((worst, e) for e in enclosures)


def worst_for_delta(mechanism: Mechanism, n: int, log_delta: float, settings: Settings) -> tuple[float, Reduction]:
    """Return an estimate of the largest eps at which a pair has divergence delta, and that pair. Not a bound."""
    table = _table(mechanism)
    root, best, tried = 0.0, None, set[Pair]()
    while True:
        ranked = worst_pairs(table, Level.of_float(root), n, _REFINED) or [(0, 1)]
        for pair in ranked:
            if pair in tried:
                continue
            tried.add(pair)
            reduction = table_reduction(mechanism, pair)
            if best is None:
                best, root = reduction, estimate_epsilon(reduction.law, n, log_delta, settings)
            elif estimate_log_divergence(reduction.law, Level.of_float(root), n, _ROUGH) > log_delta - _ROUGH.gap:
                found = estimate_epsilon(reduction.law, n, log_delta, settings, root or None)
                best, root = (reduction, found) if found > root else (best, root)
            if root == inf:
                return root, best
        if tried.issuperset(worst_pairs(table, Level.of_float(root), n, 1)):
            assert best is not None
            return root, best


def _others(
    mechanism: Mechanism, level: Level, n: int, bound: arb, worst: Reduction, progress: Progress | None
) -> Iterator[Reduction]:
    """Yield one reduction for each law among the pairs that no common bound settles."""
    table = _table(mechanism)
    rest = open_pairs(table, level, n, bound)
    first = mechanism.inputs.index(worst.pair[0]), mechanism.inputs.index(worst.pair[1])
    groups = [group for group in distinct_pairs(table, [first, *rest]) if first not in group]
    for done, group in enumerate(groups):
        if progress is not None:
            progress(done, len(groups))
        yield table_reduction(mechanism, group[0])


def _at_most(
    reduction: Reduction, level: Level, n: int, holds: Callable[[Enclosure], bool], settings: Settings
) -> bool:
    """Return whether an evaluation, as rough as it may be, proves the bound."""
    gaps = (*(gap for gap in _GAPS if gap > settings.gap), settings.gap)
    return any(holds(enclose_divergence(reduction.law, level, n, replace(settings, gap=gap))) for gap in gaps)


def _table(mechanism: Mechanism) -> NumericTable:
    if mechanism.numeric is None:
        raise ArgumentError("mechanism", repr(mechanism), "a table of numbers")
    return mechanism.numeric
