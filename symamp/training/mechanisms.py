"""Training with randomly drawn batches: the questions, and certified answers in each direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.accounting.composition import Composition, Exported, points_above
from symamp.accounting.curves import CurvePoint, CurvePoints
from symamp.accounting.losses import WIDEST_SUM, gaussian_log_delta
from symamp.accounting.pairs import LARGEST_ROUNDS, RoundPairs, composition_gap, round_count
from symamp.accounting.renyi import LARGEST_ORDER, RenyiCurve
from symamp.accounting.round import USUAL_GAP, Round
from symamp.accounting.rounds_proof import RoundsProof
from symamp.accounting.tradeoff import TradeOff
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, Problem, SupportMismatchError, checked_call
from symamp.laws.law import total
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.rationals import Vertex, fmpq_of
from symamp.numbers.reading import Count, Real, exact_number, whole_number
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.questions.answer import Answer
from symamp.questions.backwards import Goal, Proof, Range, guessed, proofs
from symamp.questions.bracket import Interval
from symamp.questions.curve import HasCurve
from symamp.questions.risk import value_at
from symamp.settings.rounds import Rounds
from symamp.sums.kernels.one_sided import Lognormal, log_moment, log_negative_moment
from symamp.training.certificate import Sampled, TrainingProof
from symamp.training.rounds import (
    Allocation,
    Counted,
    Maximum,
    NormalRound,
    OneEpoch,
    PoissonStep,
)
from symamp.training.steps import OPPOSITE, WITH_WITHOUT, DiscreteGaussianStep, GaussianStep, Step

ADD_REMOVE, REPLACE = "add_remove", "replace"
_COVERED = (
    "adaptive queries with fresh randomness: gradients, models and noise added to them may depend on all that was "
    "published before; not covered: batches that are kept for several epochs, gradients that are not clipped; of "
    "kept batches ask about one epoch, with sigma divided by the root of the number of epochs"
)
_LARGEST_STEPS, _LARGEST_ORDER, _BITS_OF_MOMENTS = 10**9, 512, 128
_MOST_EPOCHS, _ACCURACY_OF_SIGMA, _OF_WIDTH, _FAR = 10**5, 3e-4, 0.1, 20.0
"""How far questions asked backwards look, and how near sigma is sought, relatively; of many epochs as a part of the
width of eps; and how far below delta, in the logarithm, an estimate says that one of several bounds does not matter."""

_NODES = np.linspace(-4.0, 4.0, 17)
_LOG_WEIGHTS, _RARE = -(_NODES**2) / 2.0 - log(2.0 * sqrt(2.0 * pi)), 1.5
"""Nodes of a standard normal variable, for estimates; and by how much, in the logarithm, a divergence is above that of
normal losses where it comes from rare ones."""

CountedRounds = tuple[tuple[Round, int], ...]
"""Rounds, each with how often it is run."""
Behind = Round | RoundsProof


@dataclass(frozen=True)
class Direction:
    """One order of the two worlds: rounds that dominate an epoch, and rounds that some data attain.

    ``below`` lists choices of the latter, each a bound from below; None says that the former are attained. ``alone``
    lists further ones, and what is conjectured to dominate, for one epoch: they take long.
    """

    name: str
    above: CountedRounds
    below: tuple[CountedRounds, ...] | None = None
    alone: CountedRounds = ()

    def ask(
        self, question: Callable[[Composition], Answer], epochs: int, *, quick: bool
    ) -> tuple[Answer, tuple[str, Behind, Behind], Answer | None]:
        """Return the answer with the upper end from the one and the largest lower end of the others; and its proof.

        And that of the rounds that are conjectured to dominate, None if they are not asked.
        """
        found = question(_times(self.above, epochs))
        above = below = _proof(found, self.above)
        conjectured = question(_times(self.alone, 1)) if self.alone and epochs == 1 and not quick else None
        if self.below is not None:
            others = [(question(_times(rounds, epochs)), rounds) for rounds in self.below]
            others += [(conjectured, self.alone)] if conjectured else []
            largest, rounds = max(others, key=lambda found: found[0].least)
            least, below = largest.least, _proof(largest, rounds)
            found = replace(found, least=least, bound=Interval(least.below, found.upper))
        return found, (self.name, above, below), conjectured


def _proof(answer: Answer, rounds: CountedRounds) -> Behind:
    return answer.proof if isinstance(answer.proof, RoundsProof) else rounds[0][0]


def _times(rounds: CountedRounds, epochs: int) -> Composition:
    return Composition.of((r, count * epochs) for r, count in rounds)


@dataclass(frozen=True)
class Training(HasCurve, Exported):
    """Training for some epochs, in which each example is in steps that are drawn at random.

    ``epsilon`` and ``delta`` are the larger of both directions, each composed by itself; ``Answer.directions`` has
    both, ``Answer.direction`` the name of the larger: "remove" compares the world with the example to the one without,
    "add" the other way round. Queries may depend on all that was published before, and gradients have any dimension.
    ``gap`` is the relative width that the accounting of many epochs adds, 3e-4 by default.

    >>> import symamp as sa
    >>> noise = sa.training.GaussianStep(sigma=1)
    >>> training = sa.training.random_allocation(noise=noise, steps=1000, neighbours="add_remove")
    >>> answer = training.epsilon("1e-6")
    >>> print(answer)
    epsilon in [0.1717286844, 0.1717286845]  (delta = 1e-6; 1 of 1,000 steps, GaussianStep(sigma=1); larger: remove)
    """

    _internal_names = "parts sampled"

    text: str
    parts: tuple[Direction, ...]
    epochs: int
    neighbours: str
    sampled: Sampled | None = None

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        def question(rounds: Composition) -> Answer:
            return rounds._asked(quantity, given, gap, effort)

        asked = {d.name: d.ask(question, self.epochs, quick=effort == "quick") for d in self.parts}
        subject = Rounds(((self.text, self.epochs),), _COVERED, str(self))
        found = Answer.larger({name: answer for name, (answer, *_) in asked.items()}, subject)
        proved = tuple(proof for _, proof, _ in asked.values())
        about = None if self.sampled is None else self.sampled.data(self.epochs, self.neighbours)
        larger = max(found.of_directions, key=lambda d: d[1].lower)[0]
        found = replace(found, proof=TrainingProof(about, proved, larger))
        said = [answer for *_, answer in asked.values() if answer is not None]
        if not said:
            return found
        return replace(found, conjectured=Interval(max(a.lower for a in said), max(a.upper for a in said)))

    def rounds(self, count: Count) -> Training:
        """Return the training run so many times over, with fresh randomness.

        >>> import symamp as sa
        >>> noise = sa.training.GaussianStep(sigma=1)
        >>> sa.training.random_allocation(noise=noise, steps=100, neighbours="add_remove").rounds(3).epochs
        3
        """
        return replace(self, epochs=self.epochs * round_count(count))

    def composition(self, direction: str) -> Composition:
        """Return the rounds that dominate all epochs in one direction, as ``symamp.compose`` takes them.

        Where no data are known to attain them (several steps of an epoch, shuffled batches) what is composed has upper
        ends only; lower ends are those of ``epsilon`` and ``delta`` of the training itself.

        Raises ArgumentError for another name than those in ``directions``: the two are not composed together.
        """
        found = self._part(direction)
        if found.below is None:
            return _times(found.above, self.epochs)

        def upper(one: Round) -> Round:
            assert isinstance(one, OneEpoch)
            return replace(one, is_attained=False)

        return _times(tuple((upper(r), count) for r, count in found.above), self.epochs)

    def _part(self, direction: str) -> Direction:
        for d in self.parts:
            if d.name == direction:
                return d
        raise ArgumentError("direction", direction, " or ".join(repr(d.name) for d in self.parts))

    def tradeoff(
        self,
        direction: str,
        level: object | Sequence[object] = (),
        *,
        gap: Real | None = None,
        effort: str = "default",
    ) -> TradeOff:
        """Return the trade-off function of one direction, bracketed.

        >>> import symamp as sa
        >>> step = sa.training.TableStep([("1/3", "2/3"), ("2/3", "1/3")])
        >>> training = sa.training.random_allocation(noise=step, steps=10, neighbours="add_remove")
        >>> f = training.tradeoff("remove", "0.1", gap=1e-2)
        >>> 0.859 < f.lower[0] <= f.upper[0] < 0.862
        True
        """
        above, *others = (
            _times(rounds, self.epochs).tradeoff(level, gap=gap, effort=effort)
            for rounds in (self._part(direction).above, *(self._part(direction).below or ()))
        )
        # Of bounds from below that is taken which says most of the total variation.
        below = max((f.below for f in others), key=lambda curve: value_at(curve, fmpq(1)), default=above.below)
        return replace(above, below=below)

    def _tradeoffs(self, levels: tuple[object, ...], gap: Real | None, effort: str) -> list[TradeOff]:
        return [self.tradeoff(name, levels, gap=gap, effort=effort) for name in self.directions]

    @property
    def _words(self) -> str:
        return str(self)

    @property
    def _orders(self) -> list[RoundPairs]:
        return [_times(d.above, self.epochs).known for d in self.parts]

    def _points(self, delta: Real) -> CurvePoints:
        known = [points_above(rounds, delta).known() for rounds in self._orders]
        curves: list[list[Vertex]] = [[(e, high) for e, _, high in points if e == 0 or e >= 1] for points in known]
        levels = sorted({e for curve in curves for e, _ in curve if e >= 1})
        both = (CurvePoint(e, fmpq(0), max(value_at(curve, e) for curve in curves)) for e in levels)
        return CurvePoints.of_orders(tuple(both))

    @undisturbed()
    def renyi(self, direction: str, order: object | Sequence[object], *, gap: Real | None = None) -> RenyiCurve:
        """Return brackets of the Renyi divergence of one direction at an order above 1, or at several.

        For one of the steps of an epoch with normal noise the value itself, at whole orders in the direction "remove",
        where that of discrete Gaussian noise is the same; of other noise from the pairs of the accounting, whose upper
        end is infinite where losses have no bound. Of several steps of an epoch, and shuffled batches, the ends have
        different proofs, as those of ``epsilon``.

        Guarantee
        ---------
        After all epochs the divergence of the order is at most ``upper``, for adaptive queries; for some data sets, and
        queries, it is at least ``lower``. Proof: docs/proofs/random_allocation.md, section 9, and
        docs/proofs/composition.md, section 5.

        >>> import symamp as sa
        >>> noise = sa.training.GaussianStep(sigma=1)
        >>> training = sa.training.random_allocation(noise=noise, steps=10, epochs=3, neighbours="add_remove")
        >>> print(training.renyi("remove", [2, 8]))
        3 epochs of 1 of 10 steps, GaussianStep(sigma=1), remove
        order 2: [0.4756952362, 0.4756952363]
        order 8: [5.122623911, 5.122623912]
        """
        orders = order if isinstance(order, list | tuple) else [order]
        part = self._part(direction)
        above, below = _renyi(_times(part.above, self.epochs), orders, gap), part.below
        lower = above.lower
        if below is not None:
            others = (_times(rounds, self.epochs).renyi(orders, gap=gap).lower for rounds in below)
            lower = tuple(map(max, zip(*others, strict=True)))
        return RenyiCurve(above.orders, lower, above.upper, f"{self}, {direction}")

    @property
    def directions(self) -> tuple[str, ...]:
        """The names of the directions."""
        return tuple(d.name for d in self.parts)

    def __str__(self) -> str:
        times = "" if self.epochs == 1 else f"{self.epochs:,} epochs of "
        return f"{times}{self.text}"


def _renyi(rounds: Composition, orders: Sequence[object], gap: Real | None) -> RenyiCurve:
    """Return the divergences of normal noise by their moments, of other rounds by the pairs of the accounting."""
    allocations = [found for found, _ in rounds.rounds if isinstance(found, Allocation)]
    exact = [exact_number(a, "order") for a in orders]
    are_whole = all(a.is_Integer and 1 < a <= _LARGEST_ORDER for a in exact)
    if not all(_has_moments(found, are_whole) for found, _ in rounds.rounds):
        return rounds.renyi(orders, gap=gap)
    whole = any(not found.swapped for found in allocations)
    most = _LARGEST_ORDER if allocations else LARGEST_ORDER
    if not all(a.is_Rational and 1 < a <= most and (a.is_Integer or not whole) for a in exact):
        raise ArgumentError("order", orders, f"{'whole' if whole else 'rational'} numbers above 1, up to {most}")
    ends = []
    for a in map(fmpq_of, exact):
        with at_precision(_BITS_OF_MOMENTS):
            value = total([count * _divergence(found, a) for found, count in rounds.rounds])
            ends.append((max(0.0, float_below(value)), float_above(value)))
    return RenyiCurve(tuple(map(fmpq_of, exact)), tuple(x for x, _ in ends), tuple(y for _, y in ends), str(rounds))


def _has_moments(found: Round, are_whole: bool) -> bool:
    """Return whether the moments are those of a lognormal variable: of integers the whole ones above 1 are."""
    if isinstance(found, NormalRound):
        return bool(found.rate == 1)
    if not isinstance(found, Allocation) or found.shifts != WITH_WITHOUT:
        return False
    is_discrete = isinstance(found.step, DiscreteGaussianStep) and are_whole and not found.swapped
    return is_discrete or isinstance(found.step, GaussianStep)


def _divergence(found: Round, order: fmpq) -> arb:
    if isinstance(found, NormalRound):
        return arb(order) * (found.shift / number(found.sigma)()) ** 2 / 2
    assert isinstance(found, Allocation)
    assert isinstance(found.step, GaussianStep | DiscreteGaussianStep)
    law, t, less = Lognormal(number(found.step.sigma)), found.steps, arb(order - 1)
    return (log_negative_moment(law, t, less) if found.swapped else log_moment(law, t, int(order.p))) / less


@checked_call
def random_allocation(
    *, noise: Step, steps: object, selected: object = 1, epochs: object = 1, neighbours: str | None = None
) -> Training:
    """Return training in which every epoch puts each example into ``selected`` of its ``steps`` steps, at random.

    The steps are drawn in every epoch, independently of all other examples ("balls and bins" for one step). ``noise``
    says what a step publishes: ``GaussianStep(sigma=...)``, sigma over the clipping norm, or another step.
    ``neighbours`` is "add_remove" (an example is there or not) or "replace" (it is another one): the budgets differ by
    a factor of 1.5 to 2. For one step the answers are exact up to numerical width; for several the two ends have
    different proofs.

    Raises ArgumentError for numbers out of range.

    >>> import symamp as sa
    >>> noise = sa.training.GaussianStep(sigma=2)
    >>> training = sa.training.random_allocation(noise=noise, steps=1000, neighbours="add_remove")
    >>> answer = training.epsilon("1e-6")
    >>> answer.direction, answer.directions["add"][1] < answer.directions["remove"][0]
    ('remove', True)
    """
    step, t, k = _step(noise), _count(steps, "steps"), _count(selected, "selected")
    if k > t:
        raise ArgumentError("selected", selected, f"at most the {t} steps of an epoch")
    compared = _neighbours(neighbours)
    replaced = compared == REPLACE
    text = f"{k:,} of {t:,} steps, {step!r}{', replaced' * replaced}"
    names = (REPLACE,) if replaced else ("remove", "add")
    size, longer = divmod(t, k)
    blocks = ((size, k - longer), (size + 1, longer))
    parts = tuple(
        Direction(
            name,
            tuple((_allocated(step, n, name), count) for n, count in blocks if count),
            None if k in (1, t) else (((Counted(step, t, k, name), 1),),),  # in one or all of the steps it is attained
        )
        for name in names
    )
    return Training(text, parts, round_count(epochs, "epochs"), compared, Sampled(step, t, k))


def _allocated(step: Step, t: int, name: str) -> OneEpoch:
    if t == 1 and isinstance(step, GaussianStep):
        return NormalRound(step.sigma, 2 if name == REPLACE else 1, name)
    return Allocation(step, t, OPPOSITE if name == REPLACE else WITH_WITHOUT, name)


@checked_call
def shuffled_batches(
    *, noise: GaussianStep, steps: object, epochs: object = 1, neighbours: str | None = None
) -> Training:
    """Return training in which every epoch shuffles the examples and cuts them into ``steps`` batches of one size.

    No pair is proved to dominate it. The lower end is certified: explicit data attain it, in which all other
    gradients are opposite to that of the example ("add_remove" means that its gradient is set to 0). The upper end is
    that of the Gaussian mechanism, as if the order were known. ``Answer.conjectured`` encloses, for one epoch, the
    value of the pair that is conjectured to be the worst (Chua et al. 2024); effort="quick" leaves it out.

    The answer says that its upper end is that of the Gaussian mechanism. Raises ArgumentError for numbers out of range,
    and for noise that is not normal.

    >>> import symamp as sa
    >>> noise = sa.training.GaussianStep(sigma=1)
    >>> training = sa.training.shuffled_batches(noise=noise, steps=1000, neighbours="add_remove")
    >>> print(training.epsilon("1e-6", effort="quick"))
    epsilon in [3.723..., 4.886...]  (delta = 1e-6; 1,000 shuffled batches, GaussianStep(sigma=1), from above the\
 Gaussian mechanism; larger: remove; WIDE: ...)
    """
    if not isinstance(noise, GaussianStep):
        raise ArgumentError("noise", noise, "sa.training.GaussianStep(sigma=...): other noise has no bound from above")
    t, sigma = _count(steps, "steps"), noise.sigma
    compared = _neighbours(neighbours)
    replaced = ", replaced" * (compared == REPLACE)
    text = f"{t:,} shuffled batches, {noise!r}{replaced}, from above the Gaussian mechanism"
    count, sampled = round_count(epochs, "epochs"), Sampled(noise, t, shuffled=True)
    if compared == REPLACE:
        # All others opposite: the batch sums are those of random allocation with half the noise, in either order.
        half = GaussianStep(sigma=sigma / 2)
        below = tuple(((_allocated(half, t, name), 1),) for name in ("remove", "add"))
        parts = [Direction(REPLACE, ((NormalRound(sigma, 2, REPLACE), 1),), below)]
        return Training(text, tuple(parts), count, compared, sampled)
    parts = []
    for name in ("remove", "add"):
        largest = Maximum(sigma, t, name)
        pair = Allocation(noise, t, (2, 1, 0), name) if t > 1 else NormalRound(sigma, 1, name)
        below = ((largest, 1),), ((_allocated(noise, t, name), 1),)
        parts.append(Direction(name, ((NormalRound(sigma, 1, name), 1),), below, ((pair, 1),)))
    return Training(text, tuple(parts), count, compared, sampled)


@checked_call
def poisson(*, noise: Step, steps: object, rate: Real, epochs: object = 1, neighbours: str | None = None) -> Training:
    """Return training in which each example is in each step with probability ``rate``, independently.

    The answers are exact up to the width of the accounting. ``steps`` times ``epochs`` are at most 10^6.

    Raises ArgumentError for numbers out of range, SupportMismatchError by replacement for noise that is not normal.

    >>> import symamp as sa
    >>> noise = sa.training.GaussianStep(sigma=1)
    >>> training = sa.training.poisson(noise=noise, steps=1000, rate="1/1000", neighbours="add_remove")
    >>> 0.1855 < training.epsilon("1e-6", gap=1e-2).upper < 0.19
    True
    """
    step, t, count = _step(noise), _count(steps, "steps"), round_count(epochs, "epochs")
    share = exact_number(rate, "rate")
    if not (share.is_Rational and 0 < share <= 1):
        raise ArgumentError("rate", rate, "a rational number in (0, 1], such as 1/1000")
    text = f"{t:,} steps, each with probability {share}, {step!r}"
    sampled = Sampled(step, t, 1 if share < 1 else t, fmpq_of(share))
    compared = _neighbours(neighbours)
    if compared == REPLACE:
        if not isinstance(step, GaussianStep):
            what = Problem(f"{step!r} does not say what a replaced example does")
            raise SupportMismatchError("noise", what, "take a GaussianStep, or neighbours='add_remove'")
        replaced = Direction(REPLACE, ((NormalRound(step.sigma, 2, REPLACE, fmpq_of(share)), t),))
        return Training(f"{text}, replaced", (replaced,), count, compared, sampled)
    parts = tuple(
        Direction(name, ((PoissonStep(_allocated(step, 1, name), fmpq_of(share)), t),)) for name in ("remove", "add")
    )
    return Training(text, parts, count, compared, sampled)


# ------------------------------------------------------------------------------------------- Questions asked backwards


@checked_call
@undisturbed()
def most_epochs(training: Training, *, eps: Real, delta: Real, gap: Real | None = 1e-2) -> tuple[int, int]:
    """Return a bracket of the most epochs that are (eps, delta)-private together.

    The first number is proved to be private, 0 if not even one epoch is; one more than the second is not private.
    Numbers above 10^5, and of more than 10^6 sampled steps, are not tried.

    Guarantee
    ---------
    The training of the first number of epochs is (eps, delta)-private, and that of one more than the second is not,
    unless the second is the largest that is tried. Proof: docs/proofs/random_allocation.md: more epochs are never
    more private.

    >>> import symamp as sa
    >>> step = sa.training.TableStep([("1/3", "2/3"), ("2/3", "1/3")])
    >>> training = sa.training.random_allocation(noise=step, steps=10, neighbours="add_remove")
    >>> sa.training.most_epochs(training, eps=1, delta="1e-2")
    (4, 4)
    """
    most = min(_MOST_EPOCHS, LARGEST_ROUNDS // sum(count for _, count in training.parts[0].above))
    numbers = Range(1.0, float(most), True, 1.0, grain=1.0)
    met, missed = _proofs(Goal.of(eps, delta, "quick"), numbers, lambda x: replace(training, epochs=round(x)), gap)
    return (0 if met is None else round(met.x)), (most if missed is None else round(missed.x) - 1)


@checked_call
@undisturbed()
def least_sigma(
    make: Callable[[sp.Rational], Training], *, eps: Real, delta: Real, gap: Real | None = 1e-2
) -> tuple[sp.Rational, sp.Rational]:
    """Return a bracket of the least sigma at which training is (eps, delta)-private, a thousandth wide if bounds allow.

    ``make`` is a function from sigma, between 1/4 and 10^4, to training with normal noise. At the second value training
    is proved to be private; at the first, and below it, it is not (0 if that is not proved). Raises ArgumentError if
    training is not private at the largest sigma.

    Guarantee
    ---------
    Training is (eps, delta)-private at the second sigma and above, and not at the first and below.
    Proof: docs/proofs/random_allocation.md: more noise is a post-processing.

    >>> import symamp as sa
    >>> def make(sigma):
    ...     noise = sa.training.GaussianStep(sigma=sigma)
    ...     return sa.training.random_allocation(noise=noise, steps=1000, neighbours="add_remove")
    >>> low, high = sa.training.least_sigma(make, eps=0.1, delta="1e-6")
    >>> 1.3 < low < high < 1.5 and high / low < 1.003
    True
    """
    numbers = Range(0.25, 1e4, False, 1.0, _ACCURACY_OF_SIGMA, grain=2.0**-20)
    high, low = _proofs(Goal.of(eps, delta, "quick"), numbers, lambda x: make(sp.Rational(x)), gap)
    if high is None:
        raise ArgumentError("eps", Problem("no sigma up to 10^4 is proved to be enough"), "take a larger eps or delta")
    return (sp.S.Zero if low is None else sp.Rational(low.x)), sp.Rational(high.x)


def _proofs(
    goal: Goal, numbers: Range, made: Callable[[float], Training], gap: Real | None
) -> tuple[Proof | None, Proof | None]:
    """Return what proves that training meets the goal, and that it misses it; the normal law says where to begin."""
    known, width, eps = cache(made), composition_gap(gap), float(sp.N(goal.at.given, 17))
    query, larger = goal.at.to_gap(WIDEST_SUM), list[str]()

    def matters(epoch: Round) -> bool:
        return not isinstance(epoch, OneEpoch) or epoch.rough_log(eps) > goal.target.log_delta - _FAR

    def ask(x: float, above: bool, _: float) -> Answer:
        training, found = known(x), list[tuple[Answer, str]]()
        for d in sorted(training.parts, key=lambda d: d.name not in larger):
            if above and found and not found[0][0].most.at_most(goal.target.given):
                break
            if above or not larger or d.name in larger:
                some = (d.above,) if above or d.below is None else d.below
                some = tuple(r for r in some if training.epochs > 1 or matters(r[0][0])) or some[:1]
                found += [(_times(rounds, training.epochs).delta_of(query, width, (above,)), d.name) for rounds in some]
        if above:
            return max((answer for answer, _ in found), key=lambda answer: answer.most)
        answer, name = max(found, key=lambda pair: pair[0].least)
        larger[:] = [name]
        return answer

    begun = guessed(goal, numbers, lambda x: _rough_log(known(x), eps))
    if not numbers.rising and _times(known(begun.start).parts[0].above, known(begun.start).epochs).count > 1:
        begun = replace(begun, accuracy=max(begun.accuracy, _OF_WIDTH * (width or USUAL_GAP)))
    return proofs(goal, begun, ask)


def _rough_log(training: Training, eps: float) -> float:
    """Return about the logarithm of delta, in doubles: an estimate for one epoch, or that of normal losses."""
    found = _times(training.parts[0].above, training.epochs)
    epochs = [(epoch, count) for epoch, count in found.rounds if isinstance(epoch, OneEpoch)]
    if found.count == 1 and epochs:
        return epochs[0][0].rough_log(eps) or gaussian_log_delta(found.mu, eps)
    share = sqrt(1.0 - 1.0 / found.count) * found.mu
    places = [max(eps - share * (z + share / 2.0), 0.0) for z in _NODES]

    def rare(epoch: OneEpoch, x: float) -> float:
        value = epoch.rough_log(x)
        return value if value < 0.0 and value > gaussian_log_delta(epoch.deviation, x) + _RARE else -inf

    logs = [log(count) + np.array([rare(epoch, x) for x in places]) + _LOG_WEIGHTS for epoch, count in epochs]
    return float(np.logaddexp.reduce([gaussian_log_delta(found.mu, eps), *np.ravel(logs)]))


# -------------------------------------------------------------------------------------- An event of dp_accounting, read


@checked_call
def from_dp_event(event: Any, *, neighbours: str | None = None) -> Training:
    """Return the training of an event of dp_accounting: Gaussian steps, drawn by Poisson sampling, composed.

    Read are ``GaussianDpEvent``, ``PoissonSampledDpEvent`` of it, either in ``SelfComposedDpEvent``, and events that
    have ``noise_multiplier`` (or an inner Gaussian event), ``num_steps``, ``num_selected`` and ``num_epochs`` of
    random allocation. No event says what its ``neighbours`` are. Numbers count as the doubles that they are. Raises
    ArgumentError for others.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    >>> event = SelfComposedDpEvent(PoissonSampledDpEvent(0.5, GaussianDpEvent(2.0)), 10)
    >>> print(from_dp_event(event, neighbours="add_remove"))
    10 steps, each with probability 1/2, GaussianStep(sigma=2)
    """
    kind, count = type(event).__name__, 1
    while kind == "SelfComposedDpEvent":
        count, event = count * int(event.count), event.event
        kind = type(event).__name__
    if kind == "GaussianDpEvent":
        return poisson(noise=_gaussian(event), steps=count, rate=1, neighbours=neighbours)
    if kind == "PoissonSampledDpEvent" and type(event.event).__name__ == "GaussianDpEvent":
        noise, rate = _gaussian(event.event), _double(event.sampling_probability)
        return poisson(noise=noise, steps=count, rate=rate, neighbours=neighbours)
    if "Allocation" in kind and hasattr(event, "num_steps"):
        inner = event if hasattr(event, "noise_multiplier") else event.event
        selected, epochs = (int(getattr(event, name, 1)) for name in ("num_selected", "num_epochs"))
        sizes = {"steps": int(event.num_steps), "selected": selected, "epochs": epochs * count}
        return random_allocation(noise=_gaussian(inner), neighbours=neighbours, **sizes)
    told = Problem(f"{kind} is not supported")
    raise ArgumentError("event", told, "give Gaussian steps, or Poisson sampling of them")


def _gaussian(event: Any) -> GaussianStep:
    return GaussianStep(sigma=_double(event.noise_multiplier))


def _double(x: Any) -> sp.Rational:
    return sp.Rational(*float(x).as_integer_ratio())


def _step(noise: object) -> Step:
    if not isinstance(noise, Step):
        raise ArgumentError("noise", noise, "a step, such as sa.training.GaussianStep(sigma=1)")
    return noise


def _count(value: object, name: str) -> int:
    return whole_number(value, name, _LARGEST_STEPS)


def _neighbours(value: object) -> str:
    if value not in (ADD_REMOVE, REPLACE):
        told = f"{ADD_REMOVE!r}, an example is there or not, or {REPLACE!r}, it is another one: the budgets differ"
        raise ArgumentError("neighbours", value, told)
    return str(value)
