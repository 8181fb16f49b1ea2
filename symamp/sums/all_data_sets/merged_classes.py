"""Few laws in place of many: cells of inputs by their envelope, chords between nodes (docs/proofs/all_data_sets.md).

The bound over all data sets holds for any law with the mean and the E[G_+] of an input's own and a stop-loss transform
that is nowhere less. So inputs whose envelope is no worse than the worst of them may share it, and a transform may be
replaced by its chords between nodes, 0 among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from math import inf

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, Floats, total
from symamp.sums.all_data_sets.floats import FloatClasses
from symamp.sums.kernels.tilted import exp_minus_linear

MANY_CLASSES, MANY_ATOMS = 20, 96
"""More laws, or larger ones, are merged."""
MOST_CLASSES, MOST_NODES = 12, 60
_BINS, _SAME_CUT, _NO_MASS = 2048, 1e-9, 1e-12
_RATES = (0.0, 2.0, 8.0)
_LOSSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, inf)


def are_few(laws: Sequence[BallGparv]) -> bool:
    """Return whether the laws are few and small: then none are merged."""
    return len(laws) <= MANY_CLASSES and max(len(g.values) for g in laws) <= MANY_ATOMS


def merged_classes(laws: Sequence[BallGparv], mean: float, n: int, v: float) -> tuple[list[BallGparv], float]:
    """Return the laws, or where they are many or large at most MOST_CLASSES of at most MOST_NODES + 4 values; the loss.

    That is how far the transform of a law is raised at most, computed in doubles; 0 where nothing is merged.
    ``v`` is the tilt at which others of equal envelopes are told apart: a cell takes in another input while N log M of
    its envelope stays below the largest of all inputs, up to a loss that is raised until there are few cells.

    Guarantee
    ---------
    For each law there is one of the result with the same mean and the same E[G_+], and a stop-loss transform that is
    at least that of the law everywhere. Proof: docs/proofs/all_data_sets.md.
    """
    if are_few(laws):
        return list(laws), 0.0
    f = FloatClasses.of(laws, mean)
    nodes = _nodes(f, laws, v)
    heights = _heights(f, nodes)
    cells = [[x] for x in range(len(laws))] if len(laws) <= MOST_CLASSES else _cells(nodes, heights, mean, n, v)
    kept = [_kept(nodes, heights[cell].max(axis=0)) for cell in cells]
    found = [_chords([laws[x] for x in cell], some) for cell, some in zip(cells, kept, strict=True)]
    return found, max(_raised(f.only(cell), np.array(some)) for cell, some in zip(cells, kept, strict=True))


def _raised(f: FloatClasses, nodes: Floats) -> float:
    """Return how far the chords of the envelope of some laws are above one of their transforms, which are convex.

    Between nodes of the chords the difference is largest where a transform has a kink.
    """
    tops = _heights(f, nodes).max(axis=0)
    rows = (f.only([x]) for x in range(len(f.values)))
    kinks = ((row, np.concatenate([row.values[0], nodes])) for row in rows)
    return float(max((np.interp(at, nodes, tops) - _heights(row, at)[0]).max() for row, at in kinks))


def _nodes(f: FloatClasses, laws: Sequence[BallGparv], v: float) -> Floats:
    """Return ascending doubles, 0 among them, the first below and the last above all values."""
    low = min(float(x.lower()) for g in laws for x in g.values)
    high = max(float(x.upper()) for g in laws for x in g.values)
    room = 1e-6 * (high - low)
    some = np.unique(f.values[f.masses > 0.0])
    some = some[np.append(True, np.diff(some) > _SAME_CUT * (high - low))]
    if len(some) > MOST_NODES:
        # What a chord costs is its mass times the square of its length: least for nodes as dense as the cube root.
        weights = f.masses * np.exp(np.clip(v * f.values, -30.0, 30.0))
        density, ends = np.histogram(f.values, bins=_BINS, range=(low, high), weights=weights)
        whole = np.append(0.0, np.cumsum(np.cbrt(np.convolve(density, np.ones(65) / 65.0, "same")) + 1e-12))
        some = np.interp(np.linspace(0.0, whole[-1], MOST_NODES), whole, ends)
    inner = some[(some > low + room) & (some < high - room) & (np.abs(some) > room)]
    near = [x for x in (low, high) if abs(x) > room]
    return np.unique(np.concatenate([[low - room], near, inner, [0.0], [high + room]]))


def _heights(f: FloatClasses, nodes: Floats) -> Floats:
    """Return the transforms at the nodes, one row a law; masses that a law lacks are at 0."""
    rest = np.maximum(1.0 - f.masses.sum(axis=1), 0.0)
    gains = np.maximum(f.values[:, :, None] - nodes, 0.0)
    return np.asarray(np.einsum("xk,xku->xu", f.masses, gains) + rest[:, None] * np.maximum(-nodes, 0.0))


def _masses(nodes: Floats, heights: Floats) -> Floats:
    """Return the masses of the laws whose transforms are the chords, nodes on the last axis."""
    slopes = np.diff(heights, axis=-1) / np.diff(nodes)
    ends = np.ones((*heights.shape[:-1], 1))
    return np.maximum(np.diff(np.concatenate([-ends, slopes, 0.0 * ends], axis=-1), axis=-1), 0.0)


def _cells(nodes: Floats, heights: Floats, mean: float, n: int, v: float) -> list[list[int]]:
    """Return cells of inputs, found greedily: the worst input first, then whatever costs least."""
    gain = float(heights[0, np.searchsorted(nodes, 0.0)])
    rates = np.array(_RATES) / ((n - 1) * gain)
    exponents = (v + rates)[:, None] * nodes - rates[:, None] * np.maximum(nodes, 0.0)
    curved, linear = exp_minus_linear(exponents), (v + rates) * mean - rates * gain

    def scores(tops: Floats) -> Floats:
        return np.asarray((n - 1) * np.log1p(linear + _masses(nodes, tops) @ curved.T))

    alone = scores(heights)
    order, top = np.argsort(-alone[:, 0]), alone.max(axis=0)
    for loss in _LOSSES:
        cells: list[list[int]] = []
        tops: list[Floats] = []
        for x in order.tolist():
            joined = [np.maximum(cell, heights[x]) for cell in tops]
            fits = [c for c, cell in enumerate(joined) if (scores(cell) <= top + loss).all()]
            if fits:
                tops[fits[-1]] = joined[fits[-1]]
                cells[fits[-1]].append(x)
            elif len(cells) < MOST_CLASSES:
                tops.append(heights[x])
                cells.append([x])
            else:
                break
        else:
            return cells
    return [order.tolist()]


def _kept(nodes: Floats, heights: Floats) -> list[float]:
    """Return the nodes that have mass, 0 and both ends: leaving one out is a longer chord."""
    masses = _masses(nodes, heights)
    keep = (masses > _NO_MASS) | (nodes == 0.0)
    keep[[0, -1]] = True
    return [float(x) for x in nodes[keep]]


def _chords(laws: Sequence[BallGparv], nodes: list[float]) -> BallGparv:
    """Return the law whose transform is linear between the nodes and the largest of those of the laws at each node."""
    heights = [reduce(arb.max, found) for found in zip(*(_transforms(g, nodes) for g in laws), strict=True)]
    slopes = [(b - a) / (arb(v) - arb(u)) for (u, v), (a, b) in zip(pairwise(nodes), pairwise(heights), strict=True)]
    masses = [(b - a).max(arb(0)) for a, b in pairwise([arb(-1), *slopes, arb(0)])]
    atoms = [(arb(u), p) for u, p in zip(nodes, masses, strict=True) if u != 0.0 and not p.is_zero()]
    return BallGparv(tuple(u for u, _ in atoms), tuple(p for _, p in atoms), masses[nodes.index(0.0)], arb(0))


def _transforms(g: BallGparv, nodes: Sequence[float]) -> list[arb]:
    """Return E[(G - u)_+] at ascending nodes u, from sums over the values above each."""
    atoms = [*zip(g.values, g.masses, strict=True), (arb(0), g.null_mass)]
    order = sorted(atoms, key=lambda atom: atom[0].mid())
    # A value whose ball meets a node may be on either side of it: that is worth its radius at most.
    doubt = total([p * z.rad() for z, p in order])
    mass, first, found = arb(0), arb(0), list[arb]()
    for u in reversed(nodes):
        node = arb(u)
        while order and not order[-1][0].mid() <= node:
            z, p = order.pop()
            mass, first = mass + p, first + p * z
        found.append(first - node * mass + doubt.union(-doubt))
    return found[::-1]
