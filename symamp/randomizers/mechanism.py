"""A mechanism: a local randomizer with everything that is derived from it as methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from itertools import permutations
from typing import Any, ClassVar

import sympy as sp
from numpy.typing import NDArray

from symamp.decompositions.blanket import blanket, checked_weights, triple
from symamp.decompositions.budget import (
    VariationRatio,
    compared_ratio,
    largest_ratio,
    local_epsilon,
    shuffle_index,
    variation_ratio,
)
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.envelope import Envelope, envelope
from symamp.decompositions.pairs import only_pair
from symamp.decompositions.printing import text
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.decompositions.worst_pair import WorstPair, worst_pair
from symamp.errors import ArgumentError, Problem, SupportMismatchError, SymampError, UnknownInputError, one_of, shown
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign
from symamp.formulas.parameter import Parameter
from symamp.public_names import PublicNames
from symamp.randomizers.protocols import FREQUENCIES, MEAN, Protocol, formula_of, generator

# -------- What a notebook shows of a subject of questions: its name, the ranges of what is still free, its local budget


class NotebookView:
    """The view in HTML of a subject with a name and a local budget."""

    name: str
    parameters: Any  # tuple[Parameter, ...]
    local_epsilon: Any

    def _repr_html_(self) -> str:
        free = ", ".join(p.describe() for p in self.parameters)
        lines = [f"<b>{escape(self.name)}</b>: <code>{escape(repr(self))}</code>"]
        if free:
            lines.append(f"for {escape(free)}")
        with suppress(SymampError):  # an order that is not proved for all parameters
            lines.append(f"local ε = {escape(text(self.local_epsilon()))}")
        return "<br>".join(lines)


# ------------------------- What a mechanism is good for: reports, the usual estimate and its variance, message length

UTILITIES = ("frequency", "mean")


class Utility(PublicNames):
    """What mechanisms say of their use; nothing is known unless one says so."""

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return (p, q): the chances that a report counts for the input x, from a user who holds x and who does not.

        A report counts for x if it is one of those that x makes e^eps0 times as likely as others do; of independent
        binary coordinates, if coordinate x is 1. Derived from the description; all other inputs have the same q.
        Raises SupportMismatchError for mechanisms of another kind.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().support_probabilities()
        (exp(eps0)/(k + exp(eps0) - 1), 1/(k + exp(eps0) - 1))
        """
        raise SupportMismatchError("utility", Problem(f"{self!r} has no frequency estimator"), "see sa.plan")

    def protocol(self) -> Protocol:
        """Return how the mechanism is run and what is estimated; SupportMismatchError where that is not described."""
        raise SupportMismatchError("mechanism", Problem(f"{self!r} has no sampler"), "its table() may have one")

    @property
    def estimand(self) -> str:
        """What ``estimate`` returns: "frequencies", "mean" or "mean vector"; raises what ``randomize`` raises.

        >>> import symamp as sa
        >>> sa.Harmony().estimand
        'mean vector'
        """
        return protocol_of(self).estimand

    def randomize(self, values: object, rng: object = None) -> NDArray[Any]:
        """Return one report for each user: an array with a row for each value.

        ``values`` and reports are arrays, described by ``docs/reports.md`` for each family; ``rng`` is a
        ``numpy.random.Generator`` or a seed. The law of a report is that of the mechanism up to the rounding of
        doubles, which is *not* certified to be private: for estimates, simulations and tests of clients.

        Raises ArgumentError for other values and free parameters, SupportMismatchError for a mechanism that is not
        described by how it is run.

        >>> import symamp as sa
        >>> reports = sa.RandomizedResponse(k=4, eps0=3).randomize([0, 0, 1, 3] * 1000, rng=1)
        >>> reports.shape, set(reports.tolist())
        ((4000,), {0, 1, 2, 3})
        """
        found = protocol_of(self)
        return found.draw(found.values.checked(values, "values"), generator(rng))

    def estimate(self, reports: object) -> Any:
        """Return the usual unbiased estimate: an array of frequencies, a mean, or a mean vector.

        Frequencies are the shares of users who hold item 0, 1, ...; they may be negative and need not sum to 1. Raises
        ArgumentError for what are no reports, and what ``randomize`` raises.

        >>> import symamp as sa
        >>> rr = sa.RandomizedResponse(k=2, eps0="log(3)")
        >>> rr.estimate([0] * 3 + [1])
        array([1., 0.])
        """
        found = protocol_of(self)
        return found.estimator(found.reports.checked(reports, "reports"))

    def variance(self, n: object = 1, *, frequency: object = 0) -> sp.Expr:
        """Return the variance of the estimate from n reports, as a formula in the parameters.

        Of a frequency it is that of an item that a share ``frequency`` of the users holds (the largest over what the
        others hold, where that matters); of a mean the largest over all data, of a mean vector that averaged over the
        coordinates. n and frequency may be symbols. Values are given, not drawn: what sampling of the users adds is
        not in it. Raises ArgumentError for n < 1 or a frequency outside [0, 1], and what ``randomize`` raises.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=2).variance()
        exp(eps0)/(exp(eps0) - 1)**2
        >>> sa.Laplace(eps0=2).variance(n=100)
        1/200
        """
        count, share = formula_of(n, "n"), formula_of(frequency, "frequency")
        if count.is_number and count < 1:
            raise ArgumentError("n", n, "a number n >= 1, or a symbol")
        if share.is_number and not 0 <= share <= 1:
            raise ArgumentError("frequency", frequency, "a number from 0 to 1, or a symbol")
        return protocol_of(self).variance(share) / count

    def message_bits(self) -> sp.Expr | None:
        """Return log2 of the number of messages, None where they are points of a continuum.

        The function of local hashing counts as part of the message; a shared or a pairwise independent one takes less.

        >>> import symamp as sa
        >>> sa.UnaryEncoding.rappor(D=16).message_bits(), sa.RandomizedResponse(k=8).message_bits()
        (16, 3)
        """
        return None


@lru_cache(maxsize=256)
def protocol_of(mechanism: Any) -> Protocol:
    """Return the protocol of a mechanism, described once."""
    found: Protocol = mechanism.protocol()
    return found


def variance_of(mechanism: Any, utility: str) -> sp.Expr:
    """Return n times the variance of the estimate from n reports; the smaller, the better.

    "frequency": of the share of users who hold a rare item: ``mechanism.variance()``. "mean": the largest over all
    data of what the mechanism adds, where the inputs are scaled to an interval of length 1.
    """
    if utility not in UTILITIES:
        raise ArgumentError("utility", utility, one_of(UTILITIES, utility))
    if not isinstance(mechanism, Utility):
        raise ArgumentError("mechanism", type(mechanism).__name__, "a mechanism of symamp")
    found = protocol_of(mechanism)
    if found.estimand != (FREQUENCIES if utility == "frequency" else MEAN):
        told = Problem(f"{mechanism!r} estimates another quantity: {found.estimand}")
        raise SupportMismatchError("utility", told, "ask for mechanisms of one kind")
    spread = sp.S.One if utility == "frequency" else found.values.high - found.values.low
    return normal(found.variance(sp.S.Zero) / spread**2)


def of_two_levels(mechanism: LocalRandomizer, ratio: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (p, q), where a report counts for an input if its density is the higher of two, by this ratio."""
    orbits = mechanism.orbits(mechanism.pairs()[0])
    levels = list(dict.fromkeys(normal(d) for orbit in orbits for d in orbit.density))
    high = [a for a in levels for b in levels if a is not b and is_zero(a / b - ratio)]
    if len(levels) != 2 or len(high) != 1:
        raise SupportMismatchError("utility", Problem(f"{mechanism!r} has no two levels"), "give support_probabilities")
    counted = [orbit for orbit in orbits if normal(orbit.density[0]) == high[0]]
    p, q = (normal(sp.Add(*(orbit.mass(i) for orbit in counted))) for i in (0, 1))
    return p, q


# ------------- What bounds may ask of the subject of a question, answered for one of which only the budget is known

MESSAGES, DATA = "messages", "data"
"""What a shuffler may permute."""


class SubjectBase(Utility):
    """The answers of a subject of which nothing is known; mechanisms, noise and laws of one's own say what is."""

    _internal_names = (
        "compared_ratio compares_all densities known_by_parameters local_ratio mechanism members noise participation "
        "protocol randomizers shuffled takes_part triple"
    )

    local_ratio: Any
    """Returns e^eps0 for any two inputs."""
    takes_part: sp.Rational = sp.S.One
    """The probability with which another user's message is there."""
    participation: Any = None
    """Who takes part, None where everyone does."""
    shuffled: str = MESSAGES
    """What the shuffler permutes."""
    known_by_parameters: bool = False
    """Whether (p, beta, q) of Wang (2023) tell more of the subject than the rest that is known of it."""

    @property
    def randomizers(self) -> tuple[Any, ...]:
        """What users run, one entry for each group of them: all run the same."""
        return (self,)

    @property
    def mechanism(self) -> Any:
        """The one mechanism with a finite description that the question is about, None if there is none."""
        return None

    @property
    def noise(self) -> Any:
        """The noise with a density whose worst pair of inputs bounds the subject, None if there is none."""
        return None

    @property
    def densities(self) -> Any:
        """The densities that the question is about, on finitely many inputs or at the ends of an interval of inputs."""
        return None

    @property
    def triple(self) -> Decomposition | None:
        """The triple that the question is about, whatever mechanism has it; None for everything else."""
        return None

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared; otherwise the victim's two inputs are of some pairs only."""
        return True

    def local_epsilon(self) -> sp.Expr:
        """Return the local budget eps0 of any two inputs, ``oo`` if there is none; ``local_ratio`` says how exact."""
        return sp.log(self.local_ratio())

    def compared_ratio(self) -> sp.Expr:
        """Return the largest ratio of probabilities of two inputs that are compared, ``oo`` if there is none.

        It is at most ``local_ratio()``, the one of any two inputs: those of other users are any.
        """
        ratio: sp.Expr = self.local_ratio()
        return ratio

    def members(self) -> tuple[Any, ...]:
        """Return mechanisms whose lower bounds hold for the subject."""
        return ()

    def degradation(self) -> str | None:
        """Return why each member is a randomization of the members with larger eps0; None where this is not proved.

        The parameter eps0 is free.

        Guarantee
        ---------
        A text means: for eps0' < eps0 there is one kernel that turns the report of the member with eps0 into that of
        the member with eps0', for every input. So the true delta of n shuffled users does not fall as eps0 grows.
        Proof: docs/proofs/inverse_questions.md.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3).degradation()
        'at random the report is replaced by one that does not depend on the input'
        """
        return None


# ----------- Whether a smaller budget eps0 is a randomization of a larger one: then privacy can only fall as eps0 grows

_TWO_LEVELS = "at random the report is replaced by one that does not depend on the input"


def free_budget(parameters: Sequence[Parameter]) -> sp.Symbol | None:
    """Return the symbol of the parameter eps0, None if it is fixed."""
    return next((p.symbol for p in parameters if p.name == "eps0"), None)


def _two_levels(family: LocalRandomizer, budget: sp.Symbol) -> bool:
    """Whether there are two levels of ratio e^eps0, and only they depend on eps0."""
    levels: dict[sp.Expr, None] = {}
    for orbit in family.orbits(family.pairs()[0]):
        # The numbers of further inputs say which messages there are: they may not move with eps0 either.
        counts = [number for _, number in orbit.rest if number is not None]
        if any(e.has(budget) for e in (orbit.measure, *counts)):
            return False
        if orbit.measure != 0:
            levels |= dict.fromkeys(normal(d) for d in (*orbit.density, *(d for d, _ in orbit.rest)))
    return (
        len(levels) == 2 and 0 not in levels and any(is_zero(a / b - sp.exp(budget)) for a, b in permutations(levels))
    )


def is_wider_with_budget(
    letters: Sequence[tuple[sp.Expr, sp.Expr]], parameters: Sequence[Parameter], budget: sp.Symbol
) -> bool:
    """Return whether both ratios of two letters (own, other) are proved to move away from 1 as eps0 grows."""
    try:
        (p, q), (p1, q1) = sorted(letters, key=lambda letter: -sign(letter[0] - letter[1], parameters))
        ratios = p / q, q1 / p1
        return all(sign(r - 1, parameters) >= 0 and sign(sp.diff(r, budget), parameters) >= 0 for r in ratios)
    except (SymampError, NotImplementedError):
        return False


def check_free(names: Iterable[str], parameters: Sequence[Parameter]) -> None:
    """Raise ArgumentError for a name that is not that of a parameter."""
    free = [p.name for p in parameters]
    for name in names:
        if name not in free:
            told = f"the free ones are {', '.join(free) or 'none'}"
            raise ArgumentError("parameter", Problem(f"{name} is not a free parameter"), told)


# ------------------------------- A mechanism: a local randomizer with everything that is derived from it as methods


class Mechanism(LocalRandomizer, NotebookView, SubjectBase):
    """A local randomizer with everything that is derived from its description."""

    _internal_names = "first_input_stands_for_all listed"

    first_input_stands_for_all: ClassVar[bool] = False
    """Whether, where both values of a part are equal and other users hold them, too, the first input is the worst."""

    def blanket(self, x0: object = None, x1: object = None) -> Decomposition:
        """Return the optimal (blanket) decomposition for the ordered pair of inputs (x0, x1).

        An input is its label, or what a table was given for it: the number 0 is the input "0". The pair may be left out
        when all ordered pairs have equal component lists. Components are exact SymPy
        expressions ``(ratio0, ratio1, mass)``, merged by equal ratios (Su, Cheng, Wang 2025, Theorems 6
        and 7).

        Raises UnknownInputError for an unknown or missing pair, UndecidedOrderError when the infimum over inputs
        cannot be proved under the stated assumptions.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().blanket().gamma
        k/(k + exp(eps0) - 1)
        """
        return blanket(self, self._pair(x0, x1))

    def envelope(self, x0: object = None, x1: object = None) -> Envelope:
        """Return the triples (R(x0), R(x1), R(x)) for each class of inputs x that another user may hold.

        The largest of their stop-loss transforms gives a bound that is never looser than the blanket
        (docs/proofs/envelope.md). The pair may be left out as for ``blanket``. Raises UnknownInputError as there, and
        SupportMismatchError for the few families whose description shows their worst pair only.

        >>> import symamp as sa
        >>> sa.HadamardResponse().envelope().two_level.gamma
        (exp(eps0) + 3)/(2*(exp(eps0) + 1))
        """
        return envelope(self, self._pair(x0, x1))

    def _pair(self, x0: object, x1: object) -> tuple[str, str]:
        if x0 is None and x1 is None:
            return only_pair(self)
        if x0 is None or x1 is None:
            raise UnknownInputError("pair", f"({shown(x0)}, {shown(x1)})", "two different inputs, or none")
        return self.checked_pair(x0, x1)

    def local_epsilon(self) -> sp.Expr:
        """Return the exact local budget, the logarithm of the largest ratio of probabilities, as a formula.

        ``oo`` when some message has probability 0 on one input and not on another; ``Max(...)`` where the largest
        ratio depends on the parameters.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3).local_epsilon()
        eps0
        """
        return local_epsilon(self)

    def shuffle_index(self) -> sp.Expr:
        """Return chi, where chi^-2 is the sum of mass * (r0 - r1)^2, minimised over pairs of inputs.

        The larger chi, the stronger the amplification; 0 when some message names its sender.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3, eps0="log(2)").shuffle_index()
        sqrt(2)
        """
        return shuffle_index(self)

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023) as formulas, derived from the description.

        p is the largest ratio R(x0)/R(x1) over pairs, beta the largest total variation between R(x0) and R(x1), q the
        largest ratio of either to any R(x). Raises UndecidedOrderError if an order cannot be proved.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().variation_ratio().beta
        (exp(eps0) - 1)/(k + exp(eps0) - 1)
        """
        return variation_ratio(self)

    def worst_pair(self) -> WorstPair:
        """Return the pair of inputs with the largest blanket divergence at every level, and how that is known.

        ``proved`` is False where no theorem applies; bounds are then the largest over all pairs. Raises
        UndecidedOrderError when the infimum over inputs cannot be proved under the stated assumptions.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3).worst_pair().proved
        True
        """
        return worst_pair(self)

    def dataset(self, x0: object, x1: object, others: object) -> Decomposition:
        """Return the triple of the data set in which all other users hold ``others``, in closed form.

        ``others`` is one input, or weights {input: weight} that sum to 1 (each user draws one). The triple is
        A0 = R(x0), A1 = R(x1), A2 the law of one other user's message; its divergence is a *lower* bound for the
        shuffled mechanism (Su, Cheng, Wang 2025, Theorem 14). Raises UnknownInputError or ArgumentError.

        >>> import symamp as sa
        >>> k = sa.Parameter("k", lower=3, integer=True)
        >>> sa.RandomizedResponse(k=k).dataset("x0", "x1", "x2").components[2]
        Component(ratio0=exp(-eps0), ratio1=exp(-eps0), mass=exp(eps0)/(k + exp(eps0) - 1))
        """
        return triple(self, self.checked_pair(x0, x1), checked_weights(self, others))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism itself: a question about it is about nothing else."""
        return self

    @property
    def listed(self) -> Mechanism:
        """The mechanism with all its inputs and messages listed where they are few and left out here; else itself."""
        return self

    def degradation(self) -> str | None:
        """Return that members are mixtures, if all densities against one measure are h or l with h/l = e^eps0."""
        budget = free_budget(self.parameters)
        with suppress(SymampError, NotImplementedError):
            return _TWO_LEVELS if budget is not None and _two_levels(self, budget) else None
        return None

    def members(self) -> tuple[Mechanism, ...]:
        """Return the mechanism: its lower bounds are those of the question."""
        return (self,)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, ``oo`` if a message has probability 0 on one input and not on another.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3, eps0="log(2)").local_ratio()
        2
        """
        return largest_ratio(self)

    def compared_ratio(self) -> sp.Expr:
        """Return the largest ratio between two inputs that are compared: ``local_ratio()`` where all are.

        >>> import symamp as sa
        >>> sa.joint([sa.RandomizedResponse(k=3, eps0="log(2)")] * 2, neighbours="one_attribute").compared_ratio()
        2
        """
        return self.local_ratio() if self.compares_all else compared_ratio(self)
