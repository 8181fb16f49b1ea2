"""One two-sided sum of thousands of frequencies, in balls and in doubles with radii: the same plan for both."""

import flint
import pytest

import symamp as sa
from symamp.decompositions.to_law import law_of
from symamp.laws.law import Level, ball_gparv
from symamp.sums.divergence import Settings, enclose_divergence
from symamp.sums.kernels.balls import certified_sum

N = 50


@pytest.mark.parametrize("roughly", [False, True], ids=["balls", "doubles"])
@pytest.mark.benchmark(group="one certified sum, SamplingRappor(s=2, d=16, eps0=8)")
def test_certified_sum(benchmark, roughly):
    law, level = law_of(sa.SamplingRappor(s=2, d=16, eps0=8).blanket()), Level.of_float(3.0)
    plan = enclose_divergence(law, level, N, Settings(gap=1e-4, most_steps=1, most_outcomes=1)).plan
    with flint.ctx.workprec(128):
        g = ball_gparv(law, level)
        _, upper = benchmark(certified_sum, g, N, plan, roughly=roughly)
    benchmark.extra_info["frequencies evaluated"] = plan.blocks.evaluations
    benchmark.extra_info["relative radius"] = float(upper.rad() / upper.mid())
