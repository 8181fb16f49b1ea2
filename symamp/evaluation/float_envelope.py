"""About the law whose stop-loss transform is the largest of several, in doubles: what a search asks for often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symamp.evaluation.gparv import FloatGparv, Floats

_SAME, _TIE = 1e-9, 1e-13


def float_envelope(laws: Sequence[FloatGparv]) -> FloatGparv | None:
    """Return the law above some laws of one mean and one E[G_+] that a row of doubles resolves, else None. No bound.

    All transforms agree at 0. So values above 0 and below 0 are found apart, each from the far end: sums of one sign.

    >>> fair = FloatGparv(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0, 0.0, 0.0)
    >>> rare = FloatGparv(np.array([-2.0, 2.0]), np.array([0.25, 0.25]), 0.5, 0.0, 0.0)
    >>> float_envelope([fair, rare]).values.tolist()
    [-2.0, 2.0]
    """
    first, is_negative = laws[0], not any(g.is_positive or g.singular for g in laws)
    if len(laws) == 1 or is_negative:
        return first
    if any(g.exponent or g.singular or g.flat is not None for g in laws):
        return None
    gains = np.array([g.masses @ np.maximum(g.values, 0.0) for g in laws])
    if not np.ptp(gains) <= _SAME * gains.max():
        return None
    (above, right), (below, left) = (_above([(sign * g.values, g.masses) for g in laws]) for sign in (1.0, -1.0))
    masses = np.concatenate([left[::-1], right])
    return FloatGparv(
        np.concatenate([-below[::-1], above]), masses, max(1.0 - float(masses.sum()), 0.0), first.mean, 0.0
    )


def _above(laws: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return values > 0 and masses of the largest of the transforms u -> E[(w - u)_+] for u >= 0."""
    values = np.sort(np.concatenate([v for v, _ in laws]))
    values = values[values > 0.0]
    nodes = np.append(0.0, values[np.append(np.diff(values) > _SAME * values[1:], True)[: len(values)]])
    masses = np.zeros((len(laws), len(nodes)))
    for row, (v, m) in zip(masses, laws, strict=True):
        np.add.at(row, np.searchsorted(nodes, v[v > 0.0]), m[v > 0.0])
    tails = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1][:, 1:]  # minus the slopes between nodes
    parts = tails * np.diff(nodes)
    heights = np.append(np.cumsum(parts[:, ::-1], axis=1)[:, ::-1], np.zeros((len(laws), 1)), axis=1)
    is_top = heights >= heights.max(axis=0) * (1.0 - _TIE)
    whole = is_top[:, :-1] & is_top[:, 1:]  # of the largest all along an interval
    winner = whole.argmax(axis=0)
    slopes = tails[winner, np.arange(len(nodes) - 1)]
    crossed = np.flatnonzero(~whole.any(axis=0))
    if len(crossed):
        found = [_crossings(heights[:, k], heights[:, k + 1], tails[:, k], nodes[k]) for k in crossed.tolist()]
        slopes[crossed] = [last for *_, last in found]
        nodes = np.concatenate([nodes, *(at for at, *_ in found)])
        slopes = np.concatenate([slopes, *(before for _, before, _ in found)])
        order = np.argsort(nodes[1:], kind="stable")
        nodes, slopes = np.append(0.0, nodes[1:][order]), slopes[order]
    slopes = np.maximum.accumulate(slopes[::-1])[::-1]
    jumps = slopes - np.append(slopes[1:], 0.0)
    seen = jumps > _TIE * slopes
    return nodes[1:][seen], jumps[seen]


def _crossings(left: Floats, right: Floats, slopes: Floats, start: float) -> tuple[list[float], list[float], float]:
    """Return where the largest of some falling lines changes, the slopes before each place, and that after the last."""
    i = int(np.lexsort((-slopes, left))[-1])
    at, before, last = list[float](), list[float](), int(np.lexsort((-slopes, right))[-1])
    while i != last and slopes[i] > slopes[last]:
        flatter = np.flatnonzero(slopes < slopes[i])
        places = (left[i] - left[flatter]) / (slopes[i] - slopes[flatter])
        k = int(places.argmin())
        at.append(start + max(float(places[k]), 0.0))
        before.append(float(slopes[i]))
        i = int(flatter[k])
    return at, before, float(slopes[i])
