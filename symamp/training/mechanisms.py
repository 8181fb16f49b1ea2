"""Training whose batches are drawn at random: what is asked, and certified answers in each direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral

from symamp.accounting.composition import Composition
from symamp.accounting.privacy_profile import round_count
from symamp.accounting.round import Round
from symamp.errors import ArgumentError
from symamp.numbers.surroundings import undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import Curve
from symamp.settings.rounds import Rounds
from symamp.training.rounds import Allocation
from symamp.training.steps import WITH_WITHOUT, Step

ADD_REMOVE, REPLACE = "add_remove", "replace"
_COVERED = (
    "adaptive queries with fresh randomness: gradients, models and noise added to them may depend on all that was "
    "published before; not covered: batches that are kept for several epochs, gradients that are not clipped"
)
_LARGEST_STEPS = 10**9
_TOLERANCE, _MOST_HALVINGS = 1e-3, 60
"""How near the ends of an inverse question come, relatively, and how often intervals are halved."""

Counted = tuple[tuple[Round, int], ...]


@dataclass(frozen=True)
class Direction:
    """One order of the two worlds: rounds that dominate an epoch, and rounds that some data attain (None: the same)."""

    name: str
    above: Counted
    below: Counted | None = None

    def many(self, epochs: int) -> Direction:
        """Return so many times the rounds."""
        above = tuple((r, c * epochs) for r, c in self.above)
        return replace(self, above=above, below=self.below and tuple((r, c * epochs) for r, c in self.below))

    def ask(self, question: Callable[[Composition], Answer]) -> Answer:
        """Return the answer with the upper end from the one and the lower end from the other."""
        above = question(Composition.of(self.above))
        if self.below is None:
            return above
        below = question(Composition.of(self.below))
        return replace(above, least=below.least, bound=Interval(below.lower, above.upper))


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
    conjectured: tuple[Direction, ...] = ()

    def _ask(self, question: Callable[[Composition], Answer]) -> Answer:
        found = Answer.larger({d.name: d.many(self.epochs).ask(question) for d in self.parts}, self._about)
        if not self.conjectured:
            return found
        said = [d.many(self.epochs).ask(question) for d in self.conjectured]
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
        return self._ask(lambda c: c.epsilon(delta, gap=gap, effort=effort))

    @undisturbed()
    def delta(self, eps: object, *, gap: float | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at ``eps``, the larger of both directions.

        Guarantee
        ---------
        Training is (eps, ``upper``)-private for adaptive queries; for some queries and neighbouring data it is not
        (eps, < ``lower``)-private. Proof: docs/proofs/random_allocation.md, with docs/proofs/composition.md.
        """
        return self._ask(lambda c: c.delta(eps, gap=gap, effort=effort))

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
                return Composition.of(d.many(self.epochs).above)
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
    if k > 1:
        raise ArgumentError("selected", selected, "1")
    text = f"{k:,} of {t:,} steps, {step!r}" + (", replaced" if _neighbours(neighbours) == REPLACE else "")
    parts = tuple(Direction(d.name, d.above) for d in _allocated(step, t, neighbours))
    return Training(text, parts, round_count(epochs), neighbours)


def _allocated(step: Step, t: int, neighbours: str) -> tuple[Direction, ...]:
    if neighbours == REPLACE:
        return (Direction("replace", ((Allocation(step, t, (1, -1, 0), "replace"), 1),)),)
    return tuple(
        Direction(name, ((Allocation(step, t, WITH_WITHOUT, name, name == "add"), 1),)) for name in ("remove", "add")
    )


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
