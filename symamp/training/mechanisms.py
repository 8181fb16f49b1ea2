"""Training whose batches are drawn at random: what is asked, and certified answers in each direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral

from symamp.accounting.composition import Composition
from symamp.accounting.privacy_profile import round_count
from symamp.accounting.round import Round
from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.numbers.dyadic import ZERO
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import Curve
from symamp.settings.rounds import Rounds
from symamp.training.rounds import (
    Allocation,
    Counted,
    Maximum,
    NormalRound,
    OneEpoch,
    PoissonReplaced,
    PoissonStep,
)
from symamp.training.steps import WITH_WITHOUT, GaussianStep, Step

ADD_REMOVE, REPLACE = "add_remove", "replace"
_COVERED = (
    "adaptive queries with fresh randomness: gradients, models and noise added to them may depend on all that was "
    "published before; not covered: batches that are kept for several epochs, gradients that are not clipped"
)
_LARGEST_STEPS = 10**9
_TOLERANCE, _MOST_HALVINGS = 1e-3, 60
"""How near the ends of an inverse question come, relatively, and how often intervals are halved."""

CountedRounds = tuple[tuple[Round, int], ...]
"""Rounds, each with how often it is run."""


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
    ) -> tuple[Answer, Answer | None]:
        """Return the answer with the upper end from the one and the largest lower end of the others.

        And that of the rounds that are conjectured to dominate, None if they are not asked.
        """
        found = question(_times(self.above, epochs))
        conjectured = question(_times(self.alone, 1)) if self.alone and epochs == 1 and not quick else None
        if self.below is not None:
            others = [question(_times(rounds, epochs)) for rounds in self.below]
            least = max((a.least for a in (*others, *([conjectured] if conjectured else ()))), default=ZERO)
            least = min(least, found.most)
            found = replace(found, least=least, bound=Interval(least.below, found.upper))
        return found, conjectured


def _times(rounds: CountedRounds, epochs: int) -> Composition:
    return Composition.of((r, count * epochs) for r, count in rounds)


@dataclass(frozen=True)
class Training(PublicNames):
    """Training for some epochs, in which each example is in steps that are drawn at random.

    ``epsilon`` and ``delta`` are the larger of both directions, each composed by itself; ``Answer.directions`` has
    both, ``Answer.direction`` the name of the larger: "remove" compares the world with the example to the one without,
    "add" the other way round. Queries may depend on all that was published before.

    >>> import symamp as sa
    >>> training = sa.training.random_allocation(noise=sa.training.GaussianStep(sigma=1), steps=1000)
    >>> answer = training.epsilon("1e-6")
    >>> print(answer)
    epsilon in [0.1717286844, 0.1717286845]  (delta = 1e-6; 1 of 1,000 steps, GaussianStep(sigma=1); larger: remove)
    """

    _internal_names = "parts"

    text: str
    parts: tuple[Direction, ...]
    epochs: int = 1
    neighbours: str = ADD_REMOVE

    def _ask(self, question: Callable[[Composition], Answer], effort: str) -> Answer:
        asked = {d.name: d.ask(question, self.epochs, quick=effort == "quick") for d in self.parts}
        found = Answer.larger({name: answer for name, (answer, _) in asked.items()}, self._about)
        said = [answer for _, answer in asked.values() if answer is not None]
        if not said:
            return found
        return replace(found, conjectured=Interval(max(a.lower for a in said), max(a.upper for a in said)))

    @property
    def _about(self) -> Rounds:
        return Rounds(((self.text, self.epochs),), _COVERED, str(self))

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of the least eps for ``delta``, the larger of both directions.

        ``gap`` is the relative width that is aimed at for many epochs (None: 3e-4). Raises ArgumentError for arguments
        out of range.

        Guarantee
        ---------
        Training is (``upper``, delta)-private for adaptive queries with gradients of any dimension, and for every
        eps < ``lower`` there are queries and neighbouring data for which it is not (eps, delta)-private.
        Proof: docs/proofs/random_allocation.md, with docs/proofs/composition.md for many epochs.
        """
        return self._ask(lambda c: c.epsilon(delta, gap=gap, effort=effort), effort)

    @undisturbed()
    def delta(self, eps: object, *, gap: float | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at ``eps``, the larger of both directions.

        Guarantee
        ---------
        Training is (eps, ``upper``)-private for adaptive queries; for some queries and neighbouring data it is not
        (eps, < ``lower``)-private. Proof: docs/proofs/random_allocation.md, with docs/proofs/composition.md.
        """
        return self._ask(lambda c: c.delta(eps, gap=gap, effort=effort), effort)

    def curve(self, eps: Iterable[object], *, gap: float | None = None, effort: str = "default") -> Curve:
        """Return certified brackets of delta at every eps of a grid."""
        return Curve.of(str(self), None, tuple(self.delta(x, gap=gap, effort=effort) for x in eps))

    def rounds(self, count: object) -> Training:
        """Return the training run so many times over, with fresh randomness.

        >>> import symamp as sa
        >>> sa.training.random_allocation(noise=sa.training.GaussianStep(sigma=1), steps=100).rounds(3).epochs
        3
        """
        return replace(self, epochs=self.epochs * round_count(count))

    def composition(self, direction: str) -> Composition:
        """Return the rounds that dominate all epochs in one direction, as ``symamp.compose`` takes them.

        Raises ArgumentError for another name than those in ``directions``: the two are not composed together.
        """
        for d in self.parts:
            if d.name == direction:
                return _times(d.above, self.epochs)
        raise ArgumentError("direction", direction, " or ".join(repr(d.name) for d in self.parts))

    @property
    def directions(self) -> tuple[str, ...]:
        """The names of the directions."""
        return tuple(d.name for d in self.parts)

    def __str__(self) -> str:
        times = "" if self.epochs == 1 else f"{self.epochs:,} epochs of "
        return f"{times}{self.text}"


def random_allocation(
    *, noise: Step, steps: object, selected: object = 1, epochs: object = 1, neighbours: str = ADD_REMOVE
) -> Training:
    """Return training in which every epoch puts each example into ``selected`` of its ``steps`` steps, at random.

    Anew in every epoch and independently of all other examples ("balls and bins" for one step). ``noise`` says what a
    step publishes: ``GaussianStep(sigma=...)``, sigma over the clipping norm, or another step. ``neighbours`` is
    "add_remove" (an example is there or not) or "replace". For one step the answers are exact up to numerical width;
    for several the two ends have different proofs.

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
    replaced = _neighbours(neighbours) == REPLACE
    text = f"{k:,} of {t:,} steps, {step!r}{', replaced' * replaced}"
    names = (REPLACE,) if replaced else ("remove", "add")
    if k == 1:
        parts = tuple(Direction(name, ((_allocated(step, t, name), 1),)) for name in names)
    else:
        size, longer = divmod(t, k)
        blocks = ((size, k - longer), (size + 1, longer))
        parts = tuple(
            Direction(
                name,
                tuple((_allocated(step, n, name), count) for n, count in blocks if count),
                (((Counted(step, t, k, name, name == "add"), 1),),),
            )
            for name in names
        )
    return Training(text, parts, round_count(epochs), neighbours)


def _allocated(step: Step, t: int, name: str) -> OneEpoch:
    if t == 1 and isinstance(step, GaussianStep):
        return NormalRound(step.sigma, 2 if name == REPLACE else 1, name)
    return Allocation(step, t, (1, -1, 0) if name == REPLACE else WITH_WITHOUT, name, name == "add")


def shuffled_batches(
    *, noise: GaussianStep, steps: object, epochs: object = 1, neighbours: str = ADD_REMOVE
) -> Training:
    """Return training in which every epoch shuffles the examples and cuts them into ``steps`` batches of one size.

    No pair is proved to dominate it. The lower end is certified: explicit data attain it, in which all other
    gradients are opposite to that of the example ("add_remove" means that its gradient is set to 0). The upper end is
    that of the Gaussian mechanism, as if the order were known. ``Answer.conjectured`` encloses, for one epoch, the
    value of the pair that is conjectured to be the worst (Chua et al. 2024); effort="quick" leaves it out.

    Raises ArgumentError for numbers out of range, and for noise that is not normal.

    >>> import symamp as sa
    >>> training = sa.training.shuffled_batches(noise=sa.training.GaussianStep(sigma=1), steps=1000)
    >>> print(training.epsilon("1e-6", effort="quick"))
    epsilon in [3.723..., 4.886...]  (delta = 1e-6; 1,000 shuffled batches, GaussianStep(sigma=1); larger: remove)
    """
    if not isinstance(noise, GaussianStep):
        raise ArgumentError("noise", noise, "sa.training.GaussianStep(sigma=...): other noise has no bound from above")
    t, sigma = _count(steps, "steps"), noise.sigma
    text = f"{t:,} shuffled batches, {noise!r}{', replaced' * (_neighbours(neighbours) == REPLACE)}"
    count = round_count(epochs)
    if neighbours == REPLACE:
        # All others opposite: the batch sums are those of random allocation with half the noise, in either order.
        half = GaussianStep(sigma=sigma / 2)
        below = tuple(((_allocated(half, t, name), 1),) for name in ("remove", "add"))
        parts = [Direction(REPLACE, ((NormalRound(sigma, 2, REPLACE), 1),), below)]
        return Training(text, tuple(parts), count, neighbours)
    parts = []
    for name in ("remove", "add"):
        largest = Maximum(sigma, t, (2, 1), name, name == "add")
        pair = Allocation(noise, t, (2, 1, 0), name, name == "add") if t > 1 else NormalRound(sigma, 1, name)
        below = ((largest, 1),), ((_allocated(noise, t, name), 1),)
        parts.append(Direction(name, ((NormalRound(sigma, 1, name), 1),), below, ((pair, 1),)))
    return Training(text, tuple(parts), count, neighbours)


def poisson(*, noise: Step, steps: object, rate: object, epochs: object = 1, neighbours: str = ADD_REMOVE) -> Training:
    """Return training in which each example is in each step with probability ``rate``, independently.

    The answers are exact up to the width of the accounting. ``steps`` times ``epochs`` are at most 10^6.

    Raises ArgumentError for numbers out of range, SupportMismatchError by replacement for noise that is not normal.

    >>> import symamp as sa
    >>> noise = sa.training.GaussianStep(sigma=1)
    >>> training = sa.training.poisson(noise=noise, steps=1000, rate="1/1000")
    >>> 0.1854 < training.epsilon("1e-6", gap=1e-3).upper < 0.1857
    True
    """
    step, t, count = _step(noise), _count(steps, "steps"), round_count(epochs)
    share = exact_number(rate, "rate")
    if not (share.is_Rational and 0 < share <= 1):
        raise ArgumentError("rate", rate, "a rational number in (0, 1], such as 1/1000")
    text = f"{t:,} steps, each with probability {share}, {step!r}"
    if _neighbours(neighbours) == REPLACE:
        if not isinstance(step, GaussianStep):
            what = Problem(f"{step!r} is known with and without the example only")
            raise SupportMismatchError("noise", what, "take a GaussianStep, or neighbours='add_remove'")
        replaced = Direction(REPLACE, ((PoissonReplaced(step.sigma, fmpq_of(share)), t),))
        return Training(f"{text}, replaced", (replaced,), count, neighbours)
    parts = tuple(
        Direction(name, ((PoissonStep(_allocated(step, 1, name), fmpq_of(share)), t),)) for name in ("remove", "add")
    )
    return Training(text, parts, count, neighbours)


def _step(noise: object) -> Step:
    if not isinstance(noise, Step):
        raise ArgumentError("noise", noise, "a step, such as sa.training.GaussianStep(sigma=1)")
    return noise


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= _LARGEST_STEPS:
        raise ArgumentError(name, value, f"an integer from 1 to {_LARGEST_STEPS}")
    return int(value)


def _neighbours(value: object) -> str:
    if value not in (ADD_REMOVE, REPLACE):
        told = f"{ADD_REMOVE!r}, an example is there or not, or {REPLACE!r}, it is another one: the budgets differ"
        raise ArgumentError("neighbours", value, told)
    return str(value)
