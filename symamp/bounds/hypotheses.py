"""What theorems suppose of a setting, each hypothesis once with its sentence, and the status of their proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import sympy as sp

from symamp.bounds.subject import Setting, Subject
from symamp.decompositions.envelope import describes_all_inputs
from symamp.decompositions.randomizer import groups_of
from symamp.errors import Problem, SupportMismatchError
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, MESSAGES, Mechanism


class ProofStatus(Enum):
    """The proof status of a bound in the literature, as checked by this project.

    >>> import symamp as sa
    >>> mechanism = sa.RandomizedResponse(k=10, eps0=1)
    >>> sa.epsilon(mechanism, n=1000, delta="1e-6", method="variation_ratio_2023").proof_status
    <ProofStatus.REFUTED: 'refuted'>
    >>> sa.ProofStatus.REFUTED.is_guarantee, sa.ProofStatus.PROVED.is_guarantee
    (False, True)
    """

    PROVED = "proved"
    PROVED_FOR_CLASS = "proved for a class"
    APPROXIMATE = "approximate"
    WITHDRAWN = "proof withdrawn"
    UNPROVED = "not proved"
    REFUTED = "refuted"
    LOWER = "lower bound"

    @property
    def is_guarantee(self) -> bool:
        """Whether a value above it is private (upper bounds) or below it is not (lower bounds)."""
        return self in (ProofStatus.PROVED, ProofStatus.PROVED_FOR_CLASS, ProofStatus.LOWER)


# ------------------------------------------------------------------------------------------------ What theorems suppose


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a theorem: one sentence, and a test that says why a setting does not meet it.

    ``failure`` returns None where a setting meets the hypothesis, else what the setting is and what to do about it, in
    one line.

    >>> import symamp as sa
    >>> print(FINITE_BUDGET.sentence)
    The budget e^eps0 of any two inputs, compared or not, is finite.
    >>> FINITE_BUDGET.fails(sa.PureLDP(eps0=1)) is None
    True
    """

    name: str
    sentence: str
    failure: Callable[[Setting], str | None] = field(repr=False, compare=False)

    def fails(self, setting: Setting) -> str | None:
        """Return None if the setting meets the hypothesis, else why it does not, with the remedy."""
        return self.failure(setting)

    @property
    def clause(self) -> str:
        """The sentence as a part of another one."""
        return f"{self.sentence[:1].lower()}{self.sentence[1:].removesuffix('.')}"


class Statement:
    """What has hypotheses: a bound, a closed form, a theorem on users who differ or on samples."""

    name: str
    hypotheses: tuple[Hypothesis, ...]

    def unsupported_reason(self, setting: Setting) -> str | None:
        """Return None if the setting meets all hypotheses, else the first one that it does not meet, and why."""
        for hypothesis in self.hypotheses:
            if (reason := hypothesis.fails(setting)) is not None:
                return f"it supposes that {hypothesis.clause}; {reason}"
        return None

    def check(self, setting: Setting, argument: str = "method") -> None:
        """Raise SupportMismatchError, with the name and the reason, unless the setting meets all hypotheses."""
        if (reason := self.unsupported_reason(setting)) is not None:
            raise SupportMismatchError(argument, Problem(f"{self.name} does not apply"), reason)


@dataclass(frozen=True)
class Theorem(Statement):
    """A theorem that no ``method`` names: its name, its page in docs/proofs, what it supposes, and its source."""

    name: str
    proof: str
    hypotheses: tuple[Hypothesis, ...]
    source: str = ""


def every(test: Callable[[Subject], str | None]) -> Callable[[Setting], str | None]:
    """Return the test of a setting that asks each of the randomizers in it, and answers for the first that fails."""
    return lambda setting: next((reason for r in setting.randomizers if (reason := test(r)) is not None), None)


# --------------------------------------------------------- Who runs what, who takes part, what is seen, who is compared


def _one_randomizer(setting: Setting) -> str | None:
    found = setting.randomizers
    many = len(found) > 1 and len(set(found)) > 1
    return "here groups of users run different ones: leave out the method for users who differ" if many else None


def _everyone(setting: Setting) -> str | None:
    if setting.participation is not None:
        return "here who takes part is left to chance, or reports leak: take a method whose bounds are triples"
    share = setting.takes_part
    return None if share == 1 else f"here others take part with probability {share}: only theorems on samples apply"


def _shuffled(what: str) -> Callable[[Setting], str | None]:
    return lambda s: None if s.shuffled == what else f"here the {s.shuffled} are shuffled: take shuffled={what!r}"


def _compares_all(setting: Setting) -> str | None:
    if setting.compares_all:
        return None
    return "here only some pairs are: bounds of the mechanism without .near() hold for them, too"


def _one_comparison(setting: Setting) -> str | None:
    known = {_compared(r) for r in setting.randomizers}
    return (
        None
        if len(known) == 1
        else "here they differ, and any of them may run on the victim's data: give all one .near(...)"
    )


def _compared(subject: Subject) -> object:
    """Return what is the same for subjects that compare the same inputs."""
    mechanism = subject.mechanism
    if subject.compares_all or mechanism is None:
        return subject.compares_all
    return frozenset(mechanism.pairs()), mechanism.inputs


ONE_RANDOMIZER = Hypothesis("one_randomizer", "All users run one randomizer.", _one_randomizer)
EVERYONE = Hypothesis("everyone", "Every user takes part, and no message is lost.", _everyone)
SHUFFLED = (ONE_RANDOMIZER, EVERYONE)
"""What each bound on one round of n users supposes; where all run one randomizer, shuffling data or messages is one."""
MESSAGES_SHUFFLED = Hypothesis("messages_shuffled", "The messages of all users are shuffled.", _shuffled(MESSAGES))
DATA_SHUFFLED = Hypothesis(
    "data_shuffled", "The data are shuffled, and each position publishes what its randomizer returns.", _shuffled(DATA)
)
ANY_TWO = Hypothesis("any_two", "Any two inputs are compared.", _compares_all)
ONE_COMPARISON = Hypothesis("one_comparison", "All randomizers compare the same pairs of inputs.", _one_comparison)


# ------------------------------------------------------------------------------------ What is known of the randomizers


def _randomizer(setting: Setting) -> str | None:
    given = any(r.triple is not None for r in setting.randomizers)
    return "here only a triple is known, which may be that of no randomizer: take method='own_law'" if given else None


def _triple(subject: Subject) -> str | None:
    return (
        None if subject.triple is not None else "here a mechanism is: give a decomposition, or its components in a list"
    )


def _finite_budget(setting: Setting) -> str | None:
    if setting.local_ratio() is not sp.oo:
        return None
    if len(setting.randomizers) > 1 or setting.shuffled == DATA:
        return "here ratios of probabilities are unbounded: give every group a mechanism with a finite budget"
    if setting.randomizers[0].mechanism is None:
        return "here ratios of densities are unbounded: leave out the method"
    return "here a message has probability 0 on one input and not on another: method='blanket' needs no budget"


def _probabilities(subject: Subject) -> str | None:
    if subject.mechanism is not None:
        return None
    if subject.noise is not None:
        return "here messages have a density: take method='worst_pair', or method='finite_sandwich' for a triple"
    if subject.densities is not None:
        return "here messages have a density: leave out the method, or take method='finite_sandwich' for a triple"
    known = "a triple" if subject.triple is not None else "its budget"
    return f"here nothing is known but {known}: give a table or a family"


def _listed(subject: Subject) -> Mechanism | None:
    return None if subject.mechanism is None else subject.mechanism.listed


def _described(subject: Subject) -> str | None:
    mechanism = _listed(subject)
    if mechanism is None or describes_all_inputs(mechanism):
        return None
    return f"here {mechanism.name} describes its worst pair only: take method='blanket'"


def _every_class(subject: Subject) -> str | None:
    mechanism = _listed(subject)
    if mechanism is None or (mechanism.lists_all_inputs and _described(subject) is None):
        return None
    return f"here {mechanism.name} describes the worst only: give a table with all inputs, or take method='blanket'"


def _covered(subject: Subject) -> str | None:
    mechanism = subject.mechanism
    return None if mechanism is not None and groups_of(mechanism) is not None else _every_class(subject)


def _table(subject: Subject) -> str | None:
    found = table_of(subject) is not None
    return None if found else "here it is none: small families have one, .table(), once parameters are numbers"


def _no_listed(subject: Subject) -> str | None:
    found = subject.densities is not None and not subject.densities.is_interval
    return None if found else "here they have none: leave out the method"


def table_of(subject: Subject) -> FiniteMechanism | None:
    """Return the table of numbers that the subject is, None for everything else."""
    mechanism = subject.mechanism
    return mechanism if isinstance(mechanism, FiniteMechanism) and mechanism.numeric is not None else None


RANDOMIZER = Hypothesis("randomizer", "The question is about randomizers, not about a triple by itself.", _randomizer)
TRIPLE = Hypothesis("triple", "The triple itself is given, whatever randomizer has it.", every(_triple))
FINITE_BUDGET = Hypothesis(
    "finite_budget", "The budget e^eps0 of any two inputs, compared or not, is finite.", _finite_budget
)
BUDGET = (*SHUFFLED, RANDOMIZER, FINITE_BUDGET)
"""What a bound supposes that knows nothing but the local budget."""
PROBABILITIES = Hypothesis(
    "probabilities", "The probability of every message is known on every input.", every(_probabilities)
)
DESCRIBED = Hypothesis("described", "Every input that another user may hold is described.", every(_described))
EVERY_CLASS = Hypothesis(
    "every_class", "Every class of pairs of inputs, and of inputs of other users, is listed.", every(_every_class)
)
COVERED = Hypothesis(
    "covered",
    "Every class of pairs of inputs, and of inputs of other users, is listed, or laws above those of all inputs are.",
    every(_covered),
)
TABLE = Hypothesis("table", "The randomizer is a table of numbers.", every(_table))
LISTED_DENSITIES = Hypothesis(
    "listed_densities", "Messages have a density, given as a formula, on finitely many inputs.", every(_no_listed)
)
