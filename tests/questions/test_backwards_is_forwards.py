"""Thirty random questions asked backwards, and forwards again at both ends of what was answered.

A delta comes from a question forwards at a budget: the budget that is asked for backwards has to be found again.
"""

from random import Random

import pytest

import symamp as sa

FAMILIES = [
    sa.RandomizedResponse(k=2),
    sa.RandomizedResponse(k=16),
    sa.PureLDP(),
    sa.UnaryEncoding.oue(D=16),
    sa.HadamardResponse(K=32, D=16),
    sa.SubsetSelection(d=16, k=4),
    sa.PiecewiseMechanism(),
    sa.OneBitMean(),
    sa.Laplace(),
    sa.joint([sa.RandomizedResponse(k=4), sa.RandomizedResponse(k=2)]),
]


def drawn(seed):
    """A family, its budget, and what is fixed: users, rounds, a delta; some from a sample, or with lost reports."""
    rng = Random(seed)
    family, n = FAMILIES[seed % len(FAMILIES)], round(10 ** rng.uniform(3.5, 6.5))
    fixed = {"n": n, "rounds": rng.choice([1, 1, rng.randint(2, 60)])}
    more = rng.choice([{}, {}, {"sampled_from": 10 * n}, {"participation": sa.participation(dropout="1/5")}])
    if not (isinstance(family, sa.Laplace) and "sampled_from" in more):  # samples of noise with a density are refused
        fixed |= more
    return family, round(rng.uniform(0.8, 4.0), 3), f"1e-{rng.randint(5, 10)}", fixed


def forwards(member, delta, fixed):
    """The bracket of eps, by profiles of one round, samples and rounds."""
    one = sa.profile(member, n=fixed["n"], participation=fixed.get("participation"))
    one = one.sampled(n=fixed["n"], of=fixed["sampled_from"]) if "sampled_from" in fixed else one
    found = one.rounds(fixed["rounds"]).epsilon(delta)
    return found.lower, found.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_backwards_is_so_forwards(seed):
    family, eps0, delta, fixed = drawn(seed)
    low, high = forwards(family.at(eps0=eps0), delta, fixed)
    goal = 0.5 * (low + high)
    found = sa.largest_eps0(family, eps=goal, delta=delta, **fixed)
    slack = 3.0 * (high / low - 1.0) + 0.01  # of what is between both bounds, and of how near ends are sought
    assert found.lower <= found.upper
    assert found.lower * (1.0 - slack) <= eps0 <= found.upper * (1.0 + slack)
    at_lower, at_upper = (forwards(family.at(eps0=x), delta, fixed) for x in (found.lower, found.upper))
    assert at_lower[0] <= goal <= at_upper[1]  # what is proved forwards does not contradict it
    assert at_lower[1] <= goal * (1.0 + slack)
    assert at_upper[0] >= goal * (1.0 - slack)
    if fixed.keys() <= {"n", "rounds", "participation"}:  # the same goal, asked for users and for rounds
        some = {k: x for k, x in fixed.items() if k != "n"}
        users = sa.least_n(family.at(eps0=eps0), eps=goal, delta=delta, **some)
        assert users.lower * (1.0 - 4.0 * slack) <= fixed["n"] <= users.upper * (1.0 + 4.0 * slack)
