"""The divergence of a law with a density: between those of the two finite laws around it."""

from symamp.laws.density import finite_sandwich
from symamp.sums.divergence import Enclosure, Settings, enclose_divergence


def enclosed(law, level, n, settings=None, cells=0):
    """Return an enclosure of the divergence."""
    below, above = (enclose_divergence(x, level, n, settings or Settings(1e-5)) for x in finite_sandwich(law, cells))
    return Enclosure(below.lower, above.upper, above.evaluator, above.precision, above.plan)
