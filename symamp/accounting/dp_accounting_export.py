"""A round for the package dp_accounting: its privacy loss distribution, and an event that an accountant composes."""

from __future__ import annotations

from functools import cache
from math import ceil, exp, nextafter
from typing import Any

from flint import arb, fmpq

from symamp.accounting.composition import Composition
from symamp.accounting.discrete_pair import DiscretePair
from symamp.errors import ArgumentError
from symamp.evaluation.inversion import log_of
from symamp.numbers.arguments import failure_probability
from symamp.numbers.optional import optional
from symamp.numbers.rounding import float_above
from symamp.numbers.surroundings import at_precision, undisturbed

_PER_DEVIATION, _MOST = 20.0, 200_000
_FURTHEST = 40.0
_INSTALL = "symamp[export]"


@undisturbed()
def loss_distribution(rounds: Composition, interval: float | None, delta: object) -> Any:
    """Return one round of each kind in ``rounds``, composed by dp_accounting as often as they are run.

    ``interval`` is the step of its lattice, a twentieth of the least deviation if None. The masses dominate the round
    up to the rounding of dp_accounting's own arithmetic in doubles, which is not controlled: certified brackets are
    those of ``epsilon``. ``delta`` says how far the tails matter.

    Raises ImportError without the package.
    """
    pld = optional("dp_accounting.pld.privacy_loss_distribution", _INSTALL)
    step = interval or min(r.deviation for r, _ in rounds.rounds) / _PER_DEVIATION
    target = log_of(failure_probability(delta))
    found = rounds.pairs(True, 0.0, target, None, even=True)
    result = None
    for pair, count in found.pairs:
        one = pld.PrivacyLossDistribution(_masses(pair, step))
        many = one if count == 1 else one.self_compose(count)
        result = many if result is None else result.compose(many)
    return result


def _masses(pair: DiscretePair, step: float) -> Any:
    """Return the masses on the lattice whose curve goes through upper bounds at its points (connect the dots)."""
    pld_pmf = optional("dp_accounting.pld.pld_pmf", _INSTALL)

    with at_precision(64):
        furthest = min(float(arb(max(e for e, _ in pair.atoms)).log()), _FURTHEST)
    last = ceil(furthest / step)
    if 2 * last > _MOST:
        raise ArgumentError("interval", step, f"a step for which {_MOST} suffice")
    levels = range(-last, last + 1)
    deltas = [_bound(pair, exp(j * step)) for j in levels]
    for i in range(1, len(deltas)):
        deltas[i] = min(deltas[i], deltas[i - 1])
    return pld_pmf.create_pmf_pessimistic_connect_dots(step, list(levels), deltas)


def _bound(pair: DiscretePair, level: float) -> float:
    """Return the divergence at a level that is not above e^(j step), rounded up."""
    below = fmpq(*nextafter(nextafter(level, 0.0), 0.0).as_integer_ratio())
    with at_precision(64):
        return min(1.0, float_above(arb(pair.divergence(below))))


@cache
def event_classes() -> tuple[Any, Any]:
    """Return the class of events for rounds and that of accountants that know them. ImportError without the package.

    >>> event_classes()[0].__name__
    'ShuffledDpEvent'
    """
    attr, dp_accounting = (optional(name, _INSTALL) for name in ("attr", "dp_accounting"))
    pld_privacy_accountant = optional("dp_accounting.pld.pld_privacy_accountant", _INSTALL)

    @attr.define(frozen=True)
    class ShuffledDpEvent(dp_accounting.DpEvent):  # type: ignore[misc, name-defined]
        """Rounds of shuffled users, for neighbours by replacement of one."""

        rounds: Composition

    class ShufflePLDAccountant(pld_privacy_accountant.PLDAccountant):  # type: ignore[misc, name-defined]
        """A PLDAccountant that composes events of rounds of shuffled users with all others it knows."""

        def __init__(self, value_discretization_interval: float = 1e-4, delta: float = 1e-10) -> None:
            relation = dp_accounting.NeighboringRelation.REPLACE_ONE
            super().__init__(relation, value_discretization_interval)
            self._tail_delta = delta

        _pld: Any

        def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
            if not isinstance(event, ShuffledDpEvent):
                return super()._maybe_compose(event, count, do_compose)
            if do_compose:
                one = loss_distribution(event.rounds, self._value_discretization_interval, self._tail_delta)
                self._pld = self._pld.compose(one if count == 1 else one.self_compose(count))
            return None

    return ShuffledDpEvent, ShufflePLDAccountant
