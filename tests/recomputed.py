"""The bound over all data sets once more, from the parameters and cells of its evidence."""

from functools import reduce
from itertools import pairwise

from flint import arb

from symamp.laws.law import ball_gparv, total
from symamp.sums.all_data_sets.bound import TermBalls, bad_parts
from symamp.sums.divergence import positive_part

_UNSEEN = 1e-15


def recomputed_bound(laws, level, n, evidence, *, mixed=False):
    """Return the bound for given parameters and cells, at the ambient precision; without their majorant's proof."""
    balls = [ball_gparv(law, level) for law in laws]
    gains = [positive_part(g) for g in (balls if mixed else balls[:1])]
    p = evidence.parameters
    results = bad_parts(balls, p, n)
    for term, cells in zip(p.terms, evidence.cells, strict=True):
        line = TermBalls(balls, gains, term, p.p_lo, n, 0.0, mixed=mixed)
        parts = [line.tail(cells.ends[-1], cells.tail_scale).uppers]
        for (lo, hi), scale, slope in zip(pairwise(cells.ends), cells.scales, cells.slopes, strict=True):
            bounds = [line.coarse(lo, hi, scale).uppers]
            if not arb(term.a) * bounds[0][0] < _UNSEEN * reduce(arb.max, results):
                bounds.append(line.fine(lo, hi, (scale, slope)).uppers)
            if mixed:  # all classes are bounded in the same way
                bounds = [min(bounds, key=lambda way: sum(float(_least([x])) for x in way))]
            parts.append(tuple(_least(one) for one in zip(*bounds, strict=True)))
        factor = arb(term.a) / arb.pi()
        results = [x + factor * total(one) for x, one in zip(results, zip(*parts, strict=True), strict=True)]
    return reduce(arb.max, results)


def _least(bounds):
    return min((b.upper() for b in bounds if b.is_finite()), key=float, default=arb("inf"))
