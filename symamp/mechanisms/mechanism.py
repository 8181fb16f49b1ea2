"""A mechanism: a local randomizer with the front steps of the derivation, put where users look for them."""

from __future__ import annotations

from typing import ClassVar

import sympy as sp

from symamp.derivation.blanket import blanket
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.envelope import Envelope, envelope
from symamp.derivation.local_budget import compared_ratio, largest_ratio, local_epsilon
from symamp.derivation.pairs import only_pair
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.shuffle_index import shuffle_index
from symamp.derivation.triple import checked_weights, triple
from symamp.derivation.variation_parameters import VariationRatio, variation_ratio
from symamp.derivation.worst_pair import WorstPair, worst_pair
from symamp.errors import UnknownInputError, shown
from symamp.mechanisms.budget_order import two_levels_degrade
from symamp.mechanisms.notebook_view import NotebookView
from symamp.mechanisms.subject_base import SubjectBase


class Mechanism(LocalRandomizer, NotebookView, SubjectBase):
    """What a user runs: a described local randomizer that offers what is derived from it."""

    first_input_stands_for_all: ClassVar[bool] = False
    """Whether, where both values of a part are equal and other users hold them, too, the first input is the worst."""

    def blanket(self, x0: object = None, x1: object = None) -> Decomposition:
        """Return the optimal (blanket) decomposition for the ordered pair of inputs (x0, x1).

        An input is its label, or what a table was given for it: the number 0 is the input "0". The pair may be left out
        when all ordered pairs have equal component lists. Components are exact SymPy
        expressions ``(ratio0, ratio1, mass)``, merged by equal ratios (000, Theorems 6 and 7).

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
        shuffled mechanism (000, Theorem 14). Raises UnknownInputError or ArgumentError.

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
        """Return why each member is a randomization of the members with larger eps0; None where this is not proved."""
        return two_levels_degrade(self)

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
        return compared_ratio(self)
