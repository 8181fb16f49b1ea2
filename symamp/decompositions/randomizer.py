"""The interface of a local randomizer for derivations: orbits of messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import sympy as sp

from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.printing import text
from symamp.errors import SymampError, UnknownInputError
from symamp.formulas.parameter import Parameter
from symamp.numbers.substitution import put
from symamp.public_names import PublicNames

if TYPE_CHECKING:
    from symamp.decompositions.decomposition import Decomposition
    from symamp.decompositions.pair_groups import PairGroup


# --------- One orbit of messages: all messages on which the distinguished inputs, and the rest, have the same densities


@dataclass(frozen=True, repr=False)
class Orbit:
    """A class of messages that a symmetry exchanges, with their densities under a few distinguished inputs.

    ``measure`` is the reference measure of the orbit (for the counting measure, the number of its messages; it may be
    symbolic, such as ``k - 2``, and may vanish). ``density[i]`` is the density of R(x_i) against that measure on the
    orbit, for the i-th distinguished input. ``rest`` lists (density, number) for all further inputs: on each message
    of the orbit, ``number`` further inputs have that density. A number may vanish for some admissible parameters;
    ``None`` means that it differs between the messages of the orbit and may be anything from 0.

    >>> Orbit("y = x0", sp.Integer(1), (sp.Rational(3, 4), sp.Rational(1, 4))).mass(0)
    3/4
    """

    label: str
    measure: sp.Expr
    density: tuple[sp.Expr, ...]
    rest: tuple[tuple[sp.Expr, sp.Expr | None], ...] = ()

    def mass(self, i: int) -> sp.Expr:
        """Return the probability of the orbit under the i-th distinguished input."""
        return self.measure * self.density[i]

    def put(self, values: Mapping[sp.Symbol, sp.Expr]) -> Orbit:
        """Return the orbit with numbers for some symbols; long powers stay as they are."""
        density = tuple(put(d, values) for d in self.density)
        rest = tuple((put(d, values), None if number is None else put(number, values)) for d, number in self.rest)
        return Orbit(self.label, put(self.measure, values), density, rest)

    def __repr__(self) -> str:
        density = ", ".join(map(text, self.density))
        rest = ", ".join(f"({text(d)}, {None if number is None else text(number)})" for d, number in self.rest)
        return f"Orbit({self.label!r}, {text(self.measure)}, density=[{density}], rest=[{rest}])"


# --------------------------------------------------- A local randomizer: what every mechanism tells the derivation

_MOST_SHOWN = 20
"""How many labels a refusal lists."""


class LocalRandomizer(PublicNames, ABC):
    """A local randomizer R, described by orbits of messages as seen from a few distinguished inputs.

    A subclass says which inputs can be told apart (``inputs``), which ordered pairs and which further inputs
    represent all others by symmetry (``pairs``, ``further_inputs``), and what the messages look like from some of
    them (``orbits``). Everything else is derived. ``parameters`` are the parameters that are still symbols.
    """

    _internal_names = (
        "are_compared checked_pair compares_all composed_compared_ratio composed_ratio covering_inputs decomposed "
        "dominating further_inputs general is_composed key lists_all_inputs numeric orbits ordered_pairs pair_groups "
        "pairs"
    )

    name: str
    parameters: tuple[Parameter, ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "orbits" in vars(cls):
            cls.orbits = _of_known_inputs(cls.orbits)  # type: ignore[method-assign]

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Labels of inputs that can be distinguished at once."""

    @abstractmethod
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Ordered pairs of different inputs, at least one of each symmetry class."""

    def ordered_pairs(self) -> tuple[tuple[str, str], ...]:
        """Those of ``pairs`` in both orders, which may differ."""
        return tuple(dict.fromkeys(p for x, z in self.pairs() for p in ((x, z), (z, x))))

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """Inputs outside the pair, at least one of each class under the symmetries that fix it: all others listed."""
        return tuple(x for x in self.inputs if x not in pair)

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """Inputs of other users that stand for all, the pair included; None if the description does not say enough.

        Whatever ordered pair the victim has and whatever input x another user holds, the stop-loss transform of
        (R(x0) - E R(x1))/R(x) lies below the largest of those for a pair of ``pairs`` and one of these inputs.
        """
        return (*pair, *self.further_inputs(pair)) if self.lists_all_inputs else None

    @property
    def lists_all_inputs(self) -> bool:
        """Whether ``pairs`` and ``further_inputs`` show every class of pairs and of other inputs, up to mixtures.

        Otherwise they show those that are worst for the blanket, and ``covering_inputs`` those for the envelope: what
        is no function of stop-loss transforms may then not be read off from them.
        """
        return True

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """Return groups of pairs that contain all pairs of inputs, each with laws above those of all other inputs.

        They are asked for where all parameters are numbers. None if the description does not say: then ``pairs`` and
        ``further_inputs`` are all that is known. See docs/proofs/other_inputs.md.
        """
        return None

    @abstractmethod
    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Orbits of messages with densities at the distinguished (different) inputs, and at the rest.

        Raises UnknownInputError for other labels than those of ``inputs``, and for one that comes twice.
        """

    @abstractmethod
    def key(self) -> tuple[object, ...]:
        """What identifies the mechanism: equal keys mean equal mechanisms."""

    @property
    def numeric(self) -> NumericTable | None:
        """The mechanism as a table of numbers over ``inputs``, where it is one: then nothing needs formulas."""
        return None

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared; other users may hold any input all the same."""
        return self.numeric is None or not self.numeric.is_restricted

    def are_compared(self, x0: str, x1: str) -> bool:
        """Return whether two inputs, given by their labels, are compared."""
        if x0 == x1 or self.numeric is None:
            return x0 != x1
        return bool(self.numeric.admissible[self.inputs.index(x0), self.inputs.index(x1)])

    @property
    def is_composed(self) -> bool:
        """Whether decompositions follow from those of parts (``decomposed``), and no messages are listed."""
        return False

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition | None:
        """Return the triple R(x0), R(x1) and the blanket (``other`` None) or R(other) from those of the parts.

        None for a mechanism that lists its messages: then it is read off from them.
        """
        return None

    def dominating(self) -> tuple[str, str] | None:
        """Return a pair that dominates all others because those of the parts do; None if none is proved to."""
        return None

    def composed_ratio(self) -> sp.Expr | None:
        """Return e^eps0 from those of the parts, None for a mechanism that lists its messages."""
        return None

    def composed_compared_ratio(self) -> sp.Expr | None:
        """Return the largest ratio between inputs that are compared, if it follows from the parts."""
        return None

    def general(self) -> tuple[Self, dict[sp.Symbol, sp.Expr]]:
        """Return a mechanism with fewer parameters fixed, and their values: what is derived for it holds here, too."""
        return self, {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalRandomizer) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def checked_pair(self, x0: object, x1: object) -> tuple[str, str]:
        """Return the labels of (x0, x1), two different inputs of the mechanism, or raise UnknownInputError."""
        first, second = (known_label("input", x, self.inputs) for x in (x0, x1))
        if first == second:
            raise UnknownInputError("pair", f"({first}, {second})", "two different inputs")
        return first, second


@lru_cache(maxsize=256)
def groups_of(mechanism: LocalRandomizer) -> tuple[PairGroup, ...] | None:
    """Return the groups of pairs that a mechanism declares; None if there are none, or parameters are still symbols."""
    return None if mechanism.parameters else mechanism.pair_groups()


def known_label(argument: str, given: object, known: Collection[str]) -> str:
    """Return the label that stands for an input: itself, or as tables write what is no text, such as a number.

    Raises UnknownInputError for anything that is not among the ``known`` ones.

    >>> known_label("input", 0, ("0", "1"))
    '0'
    """
    try:
        label = str(given)
    except Exception:  # Python does not print integers of more than 4300 digits, and repr may raise
        label = None
    if label is None or label not in known:
        told = repr(given) if isinstance(given, str) else given
        raise UnknownInputError(argument, told, f"one of {', '.join(islice(known, _MOST_SHOWN))}")
    return label


def _of_known_inputs(orbits: Callable[[Any, tuple[str, ...]], tuple[Orbit, ...]]) -> Any:
    """Return the description with a refusal of labels that it does not have, large exponents put in at the end."""

    @wraps(orbits)
    def described(self: LocalRandomizer, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        labels = tuple(distinguished) if isinstance(distinguished, Iterable) else (distinguished,)
        if not self.parameters:  # a family with sizes left open may be asked about all inputs that a member has
            labels = tuple(known_label("input", x, self.inputs) for x in labels)
        if len(set(map(str, labels))) < len(labels):
            raise UnknownInputError("inputs", str(labels), "each input once")
        try:
            general, values = self.general()
            found = orbits(general, labels)
            return tuple(orbit.put(values) for orbit in found) if values else found
        except (LookupError, ValueError) as error:
            if not isinstance(error, SymampError):
                for x in labels:
                    known_label("input", x, self.inputs)
            raise

    return described
