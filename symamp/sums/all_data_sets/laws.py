"""The laws of the bound over all data sets: few that cover all, merged where they are many; a majorant of 1/p^2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import ceil, inf, log, sqrt

import numpy as np
from flint import arb

from symamp.errors import ArgumentError, Problem
from symamp.laws.law import BallGparv, Floats, Law, Level, ball_gparv, total
from symamp.numbers.disks import exponentials
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.floats import FloatClasses, Parameters, Term, saddles
from symamp.sums.divergence import positive_part
from symamp.sums.kernels.tilted import exp_minus_linear

# ---- Few laws in place of many: cells of inputs by their envelope, chords between nodes (docs/proofs/all_data_sets.md)

# The bound over all data sets holds for any law with the mean and the E[G_+] of an input's own and a stop-loss
# transform that is nowhere less. So inputs whose envelope is no worse than the worst of them may share it, and a
# transform may be replaced by its chords between nodes, 0 among them.


MANY_CLASSES, MANY_ATOMS = 20, 96
"""More laws, or larger ones, are merged."""
MOST_CLASSES, MOST_NODES = 12, 60
_BINS, _SAME_CUT, _NO_MASS = 2048, 1e-9, 1e-12
_OF_HEIGHTS = 2.0**-50
"""More than the roundings of one term of a transform in doubles, relative to the largest value."""
_FEW_OF_ALL = 8
"""The tilt of cells is sought with so many laws, of the largest second moments."""
_RATES = (0.0, 2.0, 8.0)
_LOSSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, inf)


def are_few(laws: Sequence[BallGparv]) -> bool:
    """Return whether the laws are few and small: then none are merged."""
    return len(laws) <= MANY_CLASSES and max(len(g.values) for g in laws) <= MANY_ATOMS


def merged_classes(
    laws: Sequence[BallGparv], mean: float, n: int, v: float, most: int | None = None
) -> tuple[list[BallGparv], float]:
    """Return the laws, or where they are many or large at most MOST_CLASSES of at most ``most`` + 4 values; the loss.

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
    nodes = _nodes(f, laws, v, MOST_NODES if most is None else most)
    heights = heights_at(f, nodes)
    cells = [[x] for x in range(len(laws))] if len(laws) <= MOST_CLASSES else _cells(nodes, heights, mean, n, v)
    kept = [_kept(nodes, heights[cell].max(axis=0)) for cell in cells]
    room = _room(laws, nodes)
    found = [
        _chords([laws[x] for x in _highest(heights, nodes, some, cell, room)], some)
        for cell, some in zip(cells, kept, strict=True)
    ]
    return found, max(_raised(f.only(cell), np.array(some)) for cell, some in zip(cells, kept, strict=True))


def _room(laws: Sequence[BallGparv], nodes: Floats) -> float:
    """Return more than heights in doubles differ from those of the laws: by roundings, and by the radii of balls."""
    reach, most = float(np.abs(nodes).max()), max(len(g.values) for g in laws)
    of_values = max(float(x.rad()) for g in laws for x in g.values)
    of_masses = max(float(x.rad()) for g in laws for x in g.masses)
    return 4.0 * (reach * (most + 16.0) * (_OF_HEIGHTS + of_masses) + of_values)


def _highest(heights: Floats, nodes: Floats, kept: Sequence[float], cell: list[int], room: float) -> list[int]:
    """Return those laws of a cell whose transform may be the largest of all at a node that is kept.

    At 0 and at both ends all of them have the same: E[G_+], the mean less the node, and 0.
    """
    some = heights[cell][:, np.isin(nodes, kept[1:-1]) & (nodes != 0.0)]
    is_high = (some >= some.max(axis=0, initial=0.0) - room).any(axis=1)
    return [x for x, high in zip(cell, is_high.tolist(), strict=True) if high] or cell[:1]


def _raised(f: FloatClasses, nodes: Floats) -> float:
    """Return how far the chords of the envelope of some laws are above one of their transforms, which are convex.

    Between nodes of the chords the difference is largest where a transform has a kink.
    """
    tops = heights_at(f, nodes).max(axis=0)
    rows = (f.only([x]) for x in range(len(f.values)))
    kinks = ((row, np.concatenate([row.values[0], nodes])) for row in rows)
    return float(max((np.interp(at, nodes, tops) - heights_at(row, at)[0]).max() for row, at in kinks))


def _nodes(f: FloatClasses, laws: Sequence[BallGparv], v: float, most: int) -> Floats:
    """Return ascending doubles, 0 among them, the first below and the last above all values."""
    low = min(float(x.lower()) for g in laws for x in g.values)
    high = max(float(x.upper()) for g in laws for x in g.values)
    room = 1e-6 * (high - low)
    some = np.unique(f.values[f.masses > 0.0])
    some = some[np.append(True, np.diff(some) > _SAME_CUT * (high - low))]
    if len(some) > most:
        # What a chord costs is its mass times the square of its length: least for nodes as dense as the cube root.
        weights = f.masses * np.exp(np.clip(v * f.values, -30.0, 30.0))
        density, ends = np.histogram(f.values, bins=_BINS, range=(low, high), weights=weights)
        whole = np.append(0.0, np.cumsum(np.cbrt(np.convolve(density, np.ones(65) / 65.0, "same")) + 1e-12))
        some = np.interp(np.linspace(0.0, whole[-1], most), whole, ends)
    inner = some[(some > low + room) & (some < high - room) & (np.abs(some) > room)]
    near = [x for x in (low, high) if abs(x) > room]
    return np.unique(np.concatenate([[low - room], near, inner, [0.0], [high + room]]))


def heights_at(f: FloatClasses, nodes: Floats) -> Floats:
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


# --------- The laws of the bound over all data sets in balls: few that cover all, and the number E[G_+] that they share


def prepared_laws(
    laws: Sequence[Law], level: Level, n: int, bits: int, mixed: bool, most: int | None = None
) -> tuple[list[BallGparv], list[arb], float]:
    """Return few laws that cover all, G+, one number unless they are mixed, and how far merging raised a transform.

    The singular part, if any, is in G+ only. Large laws are covered by ones of about ``most`` values: MOST_NODES where
    it is None; where it is 0 they stay as they are.
    """
    if not laws:
        raise ArgumentError("laws", Problem("the list is empty"), "give the law of at least one input")
    if not all(law.complete for law in laws):
        wrong = Problem("the masses of a law sum to less than 1")
        raise ArgumentError("laws", wrong, "give laws of messages under inputs")
    with at_precision(bits):
        balls = [ball_gparv(law, level) for law in laws]
        if mixed:
            few = _merged(balls)
            return few, [positive_part(g) + g.singular for g in few], 0.0
        gains = [positive_part(g) + g.singular for g in balls]
        if not all(gain.overlaps(gains[0]) for gain in gains):
            raise ArgumentError("laws", Problem("their E[G_+] differ"), "give laws for one pair of inputs")
        few, loss = _few(_merged(balls), level, n, most) if most != 0 else (balls, 0.0)
        return few, [min(gains, key=lambda x: float(x.rad()))], loss


def _few(laws: list[BallGparv], level: Level, n: int, most: int | None) -> tuple[list[BallGparv], float]:
    """Return the laws, or fewer that cover them where one for each input would take long, and the loss."""
    if n < 2 or are_few(laws) or not has_bound(laws):
        return laws, 0.0
    mean = -float(level.exponential_minus_one())
    with np.errstate(all="ignore"):
        f = FloatClasses.of(laws, mean)
        wide = np.argsort(-(f.masses * f.values**2).sum(axis=1))[:_FEW_OF_ALL]
        _, _, v = saddles(f.only(wide.tolist()), n)[0]
        return merged_classes(laws, mean, n, v, most)


def _merged(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return the laws without repetitions: laws whose balls overlap become one, of the unions of the balls."""
    result = list[tuple[arb, ...]]()
    for g in laws:
        order = sorted(range(len(g.values)), key=lambda k: (float(g.values[k]), float(g.masses[k])))
        law = (*(g.values[k] for k in order), *(g.masses[k] for k in order), g.null_mass, g.singular)
        for i, other in enumerate(result):
            if len(law) == len(other) and all(map(arb.overlaps, law, other)):
                result[i] = tuple(map(arb.union, law, other))
                break
        else:
            result.append(law)
    return [BallGparv(x[: len(x) // 2 - 1], x[len(x) // 2 - 1 : -2], x[-2], x[-1]) for x in result]


def has_bound(laws: Sequence[BallGparv]) -> bool:
    """Whether the theorem applies: no message names its sender, and all values have a sign."""
    if any(not g.singular.is_zero() for g in laws) or any(v.contains(0) for g in laws for v in g.values):
        return False
    return all(any(v > 0 for v in g.values) for g in laws)


# ----------------------------------------------------- A sum of exponentials proved to be at least 1/p^2 on a half-line

_RATIO, _MOST_CELLS = 1.002, 50_000
_ROUNDING = 1e-11
"""More than all roundings of a sum of the majorant: exponents are at most ``LARGEST``, and no tangent cancels."""


def raised_to_majorant(parameters: Parameters) -> Parameters | None:
    """Return the parameters with every a_i raised by one factor such that q >= 1/p^2 is proved; None without success.

    Guarantee
    ---------
    For the returned weights q(p) = sum a_i e^(-lam_i p) >= 1/p^2 for all p >= p_lo.
    Proof: docs/proofs/all_data_sets.md.
    """
    factor = max(missing_factor(parameters.terms, parameters.p_lo), 1.0)
    if factor == inf:
        return None
    return replace(parameters, terms=tuple(replace(t, a=t.a * factor) for t in parameters.terms))


def missing_factor(terms: Sequence[Term], p_lo: float) -> float:
    """Return a factor, 1 or less if none is needed, by which q must grow for the proof of q >= 1/p^2; inf for failure.

    q is convex, so above its tangent at the middle of a cell; 1/p^2 is convex, so below its chord there: two affine
    functions, compared at both ends of the cell. From 1/sqrt(a) on, a the constant term, nothing remains to prove.
    """
    a, lam = np.array([(t.a, t.lam) for t in terms]).T
    constant = float(a[lam == 0.0].sum())
    if not constant > 0.0 or not p_lo > 0.0:
        return inf
    cells = log((1.0 + _ROUNDING) / (sqrt(constant) * p_lo)) / log(_RATIO)
    if not cells < _MOST_CELLS:
        return inf
    ends = p_lo * _RATIO ** np.arange(max(ceil(cells), 0) + 2.0)
    middle = 0.5 * (ends[1:] + ends[:-1])
    # Terms beyond the range of exponentials are left out: they are not negative.
    weights = a * np.nan_to_num(exponentials(-lam * middle[:, None]))
    proved = [end**2 * (weights * (1.0 + lam * (middle - end)[:, None])).sum(axis=1) for end in (ends[:-1], ends[1:])]
    least = float(np.min(proved))
    return (1.0 + _ROUNDING) / least if least > 0.0 else inf
