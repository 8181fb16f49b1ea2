"""The laws of the bound over all data sets in balls: few that cover all, and the number E[G_+] that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from symamp.errors import ArgumentError
from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.all_data_sets_saddles import saddles
from symamp.evaluation.divergence import positive_part
from symamp.evaluation.gparv import BallGparv, ball_gparv
from symamp.evaluation.law import Law, Level
from symamp.evaluation.merged_classes import are_few, merged_classes
from symamp.numbers.surroundings import at_precision


def prepared_laws(
    laws: Sequence[Law], level: Level, n: int, bits: int, mixed: bool
) -> tuple[list[BallGparv], list[arb], float]:
    """Return few laws that cover all, G+, one number unless they are mixed, and how far merging raised a transform.

    The singular part, if any, is in G+ only.
    """
    if not laws:
        raise ArgumentError("laws", "none", "the law of at least one input")
    if not all(law.complete for law in laws):
        raise ArgumentError("laws", "a law with a null symbol", "laws of messages under a real input")
    with at_precision(bits):
        balls = [ball_gparv(law, level) for law in laws]
        if mixed:
            few = _merged(balls)
            return few, [positive_part(g) + g.singular for g in few], 0.0
        gains = [positive_part(g) + g.singular for g in balls]
        if not all(gain.overlaps(gains[0]) for gain in gains):
            raise ArgumentError("laws", "laws with different E[G_+]", "laws that belong to one pair of inputs")
        few, loss = _few(_merged(balls), level, n)
        return few, [min(gains, key=lambda x: float(x.rad()))], loss


def _few(laws: list[BallGparv], level: Level, n: int) -> tuple[list[BallGparv], float]:
    """Return the laws, or fewer that cover them where one for each input would take long, and the loss."""
    if n < 2 or are_few(laws) or not has_bound(laws):
        return laws, 0.0
    mean = -float(level.exponential_minus_one())
    with np.errstate(all="ignore"):
        _, _, v = saddles(FloatClasses.of(laws, mean), n)[0]
        return merged_classes(laws, mean, n, v)


def _merged(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return the laws without repetitions: laws whose balls overlap become one, of the unions of the balls."""
    result: list[BallGparv] = []
    for g in laws:
        order = sorted(range(len(g.values)), key=lambda k: (float(g.values[k]), float(g.masses[k])))
        law = BallGparv(tuple(g.values[k] for k in order), tuple(g.masses[k] for k in order), g.null_mass, g.singular)
        for i, other in enumerate(result):
            if law.values and other.values and not law.values[-1].overlaps(other.values[-1]):
                continue
            pairs = list(zip(_numbers(law), _numbers(other), strict=False))
            if len(law.values) == len(other.values) and all(a.overlaps(b) for a, b in pairs):
                both = [a.union(b) for a, b in pairs]
                k = len(law.values)
                result[i] = BallGparv(tuple(both[:k]), tuple(both[k : 2 * k]), both[-2], both[-1])
                break
        else:
            result.append(law)
    return result


def _numbers(g: BallGparv) -> tuple[arb, ...]:
    return (*g.values, *g.masses, g.null_mass, g.singular)


def has_bound(laws: Sequence[BallGparv]) -> bool:
    """Whether the theorem applies: no message names its sender, and all values have a sign."""
    if any(not g.singular.is_zero() for g in laws) or any(v.contains(0) for g in laws for v in g.values):
        return False
    return all(any(v > 0 for v in g.values) for g in laws)
