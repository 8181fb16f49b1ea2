"""What completion offers: names that a user needs, all of them, and no internals."""

import pytest

import symamp as sa
from symamp.randomizers.catalogue import named

FAMILY = sa.RandomizedResponse(k=10, eps0=1)
OF_MECHANISMS = """at blanket dataset degradation envelope estimand estimate inputs local_epsilon message_bits name
    parameters randomize shuffle_index support_probabilities variance variation_ratio worst_pair"""
OF_FAMILIES = f"{OF_MECHANISMS} compared_laws source table values verify"
OF_NOISE = """at degradation estimand estimate gamma local_epsilon message_bits name parameters plot_distribution
    plot_ratios randomize ratio_distribution source support_probabilities to_latex values variance
    variation_ratio worst_pair"""
OF_ANSWERS = """as_mpf bound caution certificate claimed conjectured covered dataset decimals digits digits_limited_by
    direction directions gap gap_limited_by gaussian gaussian_place given limited log10_lower log10_upper lower method
    n pair parameters proof_status quantity risk rounded rounds source subject tight to_dict to_latex upper victims
    worst_data_set"""
OF_PROFILES = """curve delta epsilon n renyi renyi_epsilon risk rounds sampled subject to_callable to_dict
    to_dp_accounting to_dp_event to_opendp tradeoff"""

SHOWN = {
    "family": (FAMILY, OF_FAMILIES),
    "sets": (sa.SubsetSelection(), OF_FAMILIES),
    "coordinates": (sa.UnaryEncoding.rappor(D=4), OF_FAMILIES),
    "states": (sa.PrivKV(), OF_FAMILIES),
    "windows": (sa.SquareWave(), f"{OF_FAMILIES} optimal"),
    "table": (sa.FiniteMechanism({"a": {"0": 1}, "b": {"0": 1}}), f"{OF_MECHANISMS} messages near rows"),
    "joint": (sa.joint([FAMILY, FAMILY]), f"{OF_MECHANISMS} neighbours parts table"),
    "noise": (sa.Gaussian(sigma=1), OF_NOISE),
    "integers": (sa.DiscreteGaussian(sigma=1), OF_NOISE),
    "laplace": (sa.Laplace(eps0=1), f"{OF_NOISE} near on"),
    "budget": (sa.PureLDP(eps0=1), """at degradation estimand estimate local_epsilon message_bits name parameters
        randomize support_probabilities values variance variation_ratio"""),
    "decomposition": (FAMILY.blanket(), "components gamma gparv lambdify pair parameters singular swapped to_latex"),
    "envelope": (FAMILY.envelope(), "components lambdify pair parameters plot to_latex triples two_level"),
    "users who differ": (
        sa.heterogeneous([(5, FAMILY), (5, sa.RandomizedResponse(k=10, eps0=2))], shuffled="messages"),
        "at degradation groups honest n parameters shuffled who",
    ),
    "profile": (sa.profile(FAMILY, n=1000), OF_PROFILES),
    "rounds": (
        sa.profile(FAMILY, n=1000).rounds(2),
        """count curve delta epsilon gaussian_epsilon mu plot renyi renyi_epsilon risk rounds to_callable to_dict
        to_dp_accounting to_dp_event to_opendp tradeoff""",
    ),
    "training": (
        sa.training.random_allocation(noise=sa.training.GaussianStep(sigma=1), steps=10, neighbours="add_remove"),
        """composition curve delta directions epochs epsilon neighbours plot renyi risk rounds text to_callable to_dict
        to_dp_accounting to_opendp tradeoff""",
    ),
    "a step of training": (sa.training.GaussianStep(sigma=1), "sigma"),
    "participation": (
        sa.participation(dropout="1/5"),
        "batches colluders colluding_share compared honest is_poisson leaks present unshuffled victim_drops words",
    ),
    "answer": (sa.epsilon(FAMILY, n=1000, delta="1e-6"), OF_ANSWERS),
}  # fmt: skip


def completed(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("kind", SHOWN)
def test_what_is_offered_of_an_object(kind):
    thing, names = SHOWN[kind]
    assert completed(thing) == set(names.split())
    assert completed(type(thing)) <= completed(thing)
    assert all(hasattr(type(thing), name) or hasattr(thing, name) for name in names.split())


def test_of_the_package_what_is_public():
    assert completed(sa) == set(sa.__all__)
    assert {"epsilon", "profile", "families", "errors", "RandomizedResponse"} <= completed(sa)
    assert not {"numbers", "bounds", "sums", "verifier"} & completed(sa)


def test_all_families_are_under_families():
    assert completed(sa.families) == {found.__name__ for found in named().values()}
    assert sa.families.RandomizedResponse is sa.RandomizedResponse
    assert all(getattr(sa.families, found.__name__) is found for found in named().values())
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        sa.families.Nothing  # noqa: B018


def test_names_of_a_users_own_class_are_offered():
    class Mine(sa.RandomizedResponse):
        def report(self):
            return 1

    assert "report" in completed(Mine(k=3, eps0=1))
    assert "orbits" not in completed(Mine(k=3, eps0=1))
