"""Who takes part: lost reports, colluders, leaks, random numbers of users, batches; removal and default reports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from math import exp, inf, log
from operator import mul
from typing import Any, Self, cast

import sympy as sp
from flint import arb

from symamp.bounds.bound import DataSets, MaxOverPairs, PairBound
from symamp.bounds.hypotheses import ANY_TWO, ONE_RANDOMIZER, Theorem
from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.subject import SettingOf, Subject
from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.decomposition import Component, Decomposition, LawTriple
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, Problem, SupportMismatchError, checked_class
from symamp.formulas.normal_form import normal
from symamp.formulas.order import sign
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Atom, Law, Level, Number, ball_gparv, total
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision
from symamp.public_names import PublicNames
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism, SubjectBase
from symamp.settings.group_sums import ByEstimates, GroupSum, Sides
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.groups import Group, constant
from symamp.sums.inversion import largest_epsilon

REPLACEMENT, REMOVAL = "replacement", "removal"
"""How the victim's data sets differ: by another input, or by no report; a default report is one more input."""
DRAWN = "drawn"
"""Batches that the shuffler draws by itself."""
ABSENT = "absent"
"""The name that data sets show for a victim who is not there."""
_ONE, _ZERO = sp.S.One, sp.S.Zero
_MOST_PARTS = 1024
"""Pairs of inputs that are evaluated one by one."""
_POISSON_GAP = 1e-6
_MOST_MERGED = 64
"""Atoms that are compared with each other."""
SOURCE = "docs/proofs/participation.md"
PARTICIPATION = Theorem("participation", "participation", (ONE_RANDOMIZER,))
"""What the theorems on who takes part suppose besides the bound that they are applied to."""
REMOVING = Theorem("removal", "participation", (ONE_RANDOMIZER, ANY_TWO))
"""The same where the victim's report is removed: there is no second input that could be near the first."""

Numbers = tuple[tuple[sp.Rational, int], ...]
"""Weights of numbers of users."""
Batches = int | str | tuple[tuple[int, int], ...] | None
"""The users of the victim's batch, DRAWN, sizes with their numbers of batches, or None for one batch."""


@checked_class
@dataclass(frozen=True)
class Participation(PublicNames):
    """Who takes part in a round, who is compared with whom, and what leaks: made by ``symamp.participation``.

    These are the facts that theorems ask for; the words that people say are declared in ``settings/words``.

    >>> import symamp as sa
    >>> sa.participation(dropout="1/5", leaks="1/10")
    participation(dropout=1/5, leaks=1/10)
    """

    _internal_names = (
        "above has_one_number numbers of only_counts parts removal run runs seen subject total triple users worlds"
    )

    honest: sp.Rational = _ONE
    """The probability with which another user does not tell the adversary what she sent."""
    present: sp.Rational = _ONE
    """The probability with which another user sends a report."""
    leaks: sp.Rational = _ZERO
    """The probability with which a report, the victim's, too, is seen with its sender."""
    unshuffled: sp.Rational = _ZERO
    """The probability with which this happens to all reports."""
    is_poisson: bool = False
    """Whether the number of the other users is a Poisson number of mean n."""
    compared: str = REPLACEMENT
    victim_drops: bool = False
    """Whether the victim's report is there with the probability of all others."""
    colluders: int = 0
    colluding_share: sp.Rational = _ZERO
    """How many users do not count, and the largest share of them."""
    batches: Batches = None
    runs: tuple[tuple[Callable[[Any, Any], Any], Any], ...] = ()
    """What becomes of what users run: functions of it, with what else they are given."""
    words: tuple[tuple[str, Any], ...] = ()
    """What was said of all this."""

    @property
    def removal(self) -> bool:
        """Whether one of the two data sets lacks the victim's report."""
        return self.compared == REMOVAL

    @property
    def only_counts(self) -> bool:
        """Whether it says of the users only how many count, and what they run."""
        others = replace(self, colluders=0, colluding_share=_ZERO, batches=None, runs=(), words=())
        return others == Participation(compared=self.compared) and not self.removal and self.has_one_number

    @property
    def seen(self) -> sp.Rational:
        """The probability with which another user's report is among those that hide the victim's."""
        return self.honest * self.present * (1 - self.leaks)

    def users(self, n: int) -> int:
        """Return how many users count of n: those of the victim's batch who are not known to collude.

        Raises ArgumentError if there are none, or if the batches are not those of n users.
        """
        if isinstance(self.batches, tuple) and sum(size * count for size, count in self.batches) != n:
            raise ArgumentError("n", n, f"{sum(s * c for s, c in self.batches)}, the users of all batches")
        if isinstance(self.batches, int) and self.batches > n:
            raise ArgumentError("n", n, f"at least {self.batches}, the users of the victim's batch")
        size = self.batches if isinstance(self.batches, int) else n
        left = size - self.colluders - int(self.colluding_share * size)
        if left < 1:
            raise ArgumentError("colluders", Problem("no honest user is left"), "make them fewer than the users")
        return left

    def total(self, honest: int) -> int:
        """Return the least number of users of whom so many count."""
        return int((honest + self.colluders - 1) // (1 - self.colluding_share)) + 1

    def numbers(self, n: int) -> Numbers:
        """Return the numbers of users among whom the victim's report is shuffled, with their probabilities."""
        if isinstance(self.batches, tuple):
            people = sum(size * count for size, count in self.batches)
            listed = [(sp.Rational(size * count, people), size) for size, count in self.batches]
        else:
            listed = [(_ONE, n)]
        if self.unshuffled:
            listed = [(self.unshuffled, 1), *(((1 - self.unshuffled) * w, m) for w, m in listed)]
        return tuple((w, m) for w, m in listed if w)

    def worlds(self) -> tuple[tuple[sp.Rational, sp.Rational], ...]:
        """Return with which probability the victim is there in both data sets, for each order of the two."""
        there = self.present if self.victim_drops else _ONE
        return ((there, _ZERO), (_ZERO, there)) if self.removal else ((there, there),)

    def triple(self, d: Decomposition, worlds: tuple[sp.Rational, sp.Rational]) -> Decomposition:
        """Return the triple of a round in which these take part, from that of one in which everyone does.

        Guarantee
        ---------
        If, for every n, a triple bounds the divergence of n users of whom everyone takes part, or has it, then the
        result bounds it, or has it, for n users who take part like this. Proof: docs/proofs/participation.md.
        """
        if isinstance(d, LawTriple):
            atoms = list[Atom]()
            rows, alone = self._changed(
                [(a.ratio0, a.ratio1, a.mass) for a in d.law.atoms], d.law.singular, worlds, _in_balls
            )
            for row in rows:
                _add(atoms, Atom(*row))
            return LawTriple(Law(tuple(atoms), tuple(alone)), d.pair)
        if not d.is_listed or d.enclosing_laws is not None:
            wrong = Problem("the mechanism has too many components to list, or noise among its parts")
            raise SupportMismatchError("participation", wrong, "take fewer parts, or equal ones")
        masses: dict[tuple[sp.Expr, sp.Expr], sp.Expr] = {}
        rows, alone = self._changed([c[:3] for c in d.components], d.singular, worlds, lambda *x: normal(sp.Mul(*x)))
        for ratio0, ratio1, mass in rows:
            masses[ratio0, ratio1] = masses.get((ratio0, ratio1), _ZERO) + mass
        components = tuple(Component(*ratios, normal(m)) for ratios, m in masses.items())
        return Decomposition(components, tuple((a, b) for a, b in alone if a != 0 or b != 0), d.parameters, d.pair)

    def _changed(
        self,
        rows: Iterable[Any],
        singular: Sequence[Any],
        worlds: tuple[sp.Rational, sp.Rational],
        times: Callable[..., Any],
    ) -> tuple[list[Any], list[Any]]:
        """Return rows of both ratios and a mass, and what A2 lacks, of formulas or of balls as ``times`` multiplies."""
        arrives, r, rows = self.honest * self.present, self.leaks, list(rows)
        found = [
            (*(times(p / arrives, x) for p, x in zip(worlds, row[:2], strict=True)), times(self.seen, row[2]))
            for row in rows
            if self.seen
        ]
        if worlds != (1, 1) and not self.is_poisson:
            missing = self.honest * (1 - self.present)
            found.append(tuple(times(x) for x in (*((1 - p) / missing for p in worlds), missing)))
        alone = [tuple(times(p * (1 - r), x) for p, x in zip(worlds, pair, strict=True)) for pair in singular]
        for pair in [(times(a, m), times(b, m)) for a, b, m in rows] + list(singular) if r else []:
            alone.append(tuple(times(p * r, x) for p, x in zip(worlds, pair, strict=True)))
        return found, alone

    def of(self, part: PairBound) -> Iterator[PairBound]:
        """Yield what a triple, of a bound or of data sets, says of this setting: one part for each order."""
        if not is_triple(part):
            return
        for worlds in self.worlds():
            found = Seen.of(part, self, worlds)
            yield OverPoisson(found) if self.is_poisson else found if self.has_one_number else OverNumbers(found)

    @property
    def has_one_number(self) -> bool:
        """Whether the victim's report is shuffled among one number of users, or a Poisson number."""
        return not self.unshuffled and not isinstance(self.batches, tuple)

    def above(self, bound: MaxOverPairs) -> MaxOverPairs:
        """Return the bound for this setting, from triples that bound the one in which everyone takes part."""
        table = bound.searched_table
        if table is not None and len(table.pairs) > _MOST_PARTS:
            wrong = Problem(f"the table compares {len(table.pairs)} pairs of inputs")
            raise SupportMismatchError("participation", wrong, f"at most {_MOST_PARTS}, or a family, or sa.PureLDP")
        return MaxOverPairs.of(self.parts(bound))

    def parts(self, bound: MaxOverPairs) -> tuple[PairBound, ...]:
        """Return every part of a bound in this setting, in all orders of the data sets."""
        return tuple(found for part in bound.parts for found in self.of(part))

    def subject(self, subject: Subject) -> Subject:
        """Return the subject in this setting; itself where everyone takes part.

        Raises SupportMismatchError where the theorems suppose more, or where there is no table for a default report.
        """
        if subject.participation is not None:
            twice = Problem(f"{subject!r} already has one")
            raise ArgumentError("participation", twice, "give one sa.participation(...) with all of it")
        subject = self.run(subject)
        if self.only_counts:
            return subject
        (REMOVING if self.removal else PARTICIPATION).check(subject, "participation")
        return cast(Subject, Participating(subject, self))

    def run(self, subject: Subject) -> Subject:
        """Return what users run: the subject, or what is made of it."""
        return reduce(lambda made, change: change[0](made, change[1]), self.runs, subject)

    def __repr__(self) -> str:
        return f"participation({', '.join(f'{name}={_shown(value)}' for name, value in self.words)})"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{a}: {b}" for a, b in value) + "}"
    return repr(value) if isinstance(value, str) else str(value)


def _in_balls(*factors: Number | sp.Rational) -> Number:
    """Return the product as a number in balls."""
    numbers = [x if callable(x) else number(x) for x in factors]
    return lambda: reduce(mul, (x() for x in numbers))


def _sum_of(x: Number, y: Number) -> arb:
    return x() + y()


def _add(atoms: list[Atom], new: Atom) -> None:
    """Add an atom to a law, together with one whose ratios balls do not tell from its own: in balls around both."""

    def around(x: Number, y: Number) -> Number:
        return lambda: x().union(y())

    with at_precision(CAREFUL_BITS):
        for i, old in enumerate(atoms[:_MOST_MERGED]):
            if old.ratio0().overlaps(new.ratio0()) and old.ratio1().overlaps(new.ratio1()):
                ratios = around(old.ratio0, new.ratio0), around(old.ratio1, new.ratio1)
                atoms[i] = Atom(*ratios, partial(_sum_of, old.mass, new.mass))
                return
    atoms.append(new)


# ----------------------------------------------------------------------------------- A word of ``symamp.participation``

Refusal = tuple[Callable[[Participation], object], str, str]
"""Whether a setting is refused, why, and what to ask instead."""


@dataclass(frozen=True)
class Word:
    """One thing that may be said of who takes part: in Python, on the command line, in files of rounds and of sweeps.

    ``told`` says what it means. ``read`` makes its value of what was given and of the name that a refusal shows;
    ``text`` makes of a word on the command line what Python takes. ``makes`` says which facts follow. ``usual`` is what
    holds where nothing is said. ``refusals`` are what no theorem covers, of all that is said together.
    """

    name: str
    told: str
    read: Callable[[object, str], Any]
    makes: Callable[[Participation, Any], Participation]
    usual: Any = 0
    text: Callable[[str], object] = str
    refusals: tuple[Refusal, ...] = ()


def probability(value: object, name: str) -> sp.Rational:
    """Return a probability as an exact number."""
    accepted = "a rational number from 0 to 1, the same whatever users hold and send"
    found = exact_number(value, name, accepted=accepted)
    if not found.is_Rational or sign(found) < 0 or sign(1 - found) < 0:
        raise ArgumentError(name, value, accepted)
    return found


def below_one(value: object, name: str) -> sp.Rational:
    """Return the probability with which another user does not count."""
    found = probability(value, name)
    if found == 1:
        raise ArgumentError(name, found, "a probability below 1: some other users must take part")
    return found


def yes_or_no(value: object, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(name, value, "True or False")
    return value


def one_word(known: tuple[str, ...], why: str) -> Callable[[object, str], Any]:
    """Return what reads one of some words."""

    def read(value: object, name: str) -> object:
        if value not in known:
            raise ArgumentError(name, value, f"one of {', '.join(map(repr, known))}: {why}")
        return value

    return read


def lost_reports(chance: sp.Rational) -> Participation:
    """Return that other users send nothing with this probability, and that the number of reports is seen."""
    return Participation(present=1 - chance, words=(("dropout", chance),) if chance else ())


def checked_participation(given: object) -> Participation:
    """Return who takes part, or raise ArgumentError."""
    if not isinstance(given, Participation):
        raise ArgumentError("participation", given, "sa.participation(dropout=...), or None for everyone")
    return given


# ------------------------------------------------------ The subject of a question in this setting: bounds ask it as one


@dataclass(frozen=True, repr=False)
class Participating(SettingOf, SubjectBase):  # type: ignore[override]
    """What all users run, and who takes part. Bounds and data sets are those of what is run, seen through the latter.

    >>> import symamp as sa
    >>> from symamp.settings.question import Question
    >>> Question.of(sa.PureLDP(eps0=1), 100, None, participation=sa.participation(leaks="1/10")).subject
    PureLDP(eps0=1), participation(leaks=1/10)
    """

    base: Subject
    participation: Participation

    @property
    def takes_part(self) -> sp.Rational:
        return self.participation.present

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The symbols that are still free."""
        return self.base.parameters

    def compared_ratio(self) -> sp.Expr:
        return sp.oo if self.participation.removal else self.base.compared_ratio()

    def members(self) -> tuple[Mechanism, ...]:
        return self.base.members()

    def degradation(self) -> str | None:
        return self.base.degradation()

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of what users run."""
        return self.base.variation_ratio()

    def at(self, **values: object) -> Participating:
        """Return the same with numbers for parameters."""
        return replace(self, base=cast(Any, self.base).at(**values))

    def key(self) -> tuple[object, ...]:
        """What users run, and who takes part."""
        return "participating", self.base, repr(self.participation)

    def __repr__(self) -> str:
        return f"{self.base!r}, {self.participation!r}"


# ---------------------------- A triple in this setting: one number of users, a Poisson number, or a mean over numbers


@dataclass(frozen=True)
class Seen(Reduction):
    """The triple of a round in which not everyone takes part, of which A2 may have a null symbol.

    ``base`` is that of a round in which everyone does, ``worlds`` says with which probability the victim is there.
    """

    base: Reduction = field(default=None, repr=False)  # type: ignore[assignment]
    participation: Participation = field(default_factory=Participation, repr=False)
    worlds: tuple[sp.Rational, sp.Rational] = (_ONE, _ONE)

    @staticmethod
    def of(base: Reduction, who: Participation, worlds: tuple[sp.Rational, sp.Rational]) -> Seen:
        """Return the triple in which these take part."""
        x0, x1 = (ABSENT if p == 0 else x for x, p in zip(base.pair, worlds, strict=True))
        found = who.triple(base.decomposition, worlds)
        named = LawTriple(found.law, (x0, x1)) if isinstance(found, LawTriple) else replace(found, pair=(x0, x1))
        own = base.method, base.proof_status, base.source, named, base.dataset, base.member
        return Seen(*own, base, who, worlds)

    @property
    def has_null(self) -> bool:
        return True

    @property
    def order(self) -> int:
        """Which order of the data sets it is."""
        return self.participation.worlds().index(self.worlds)

    def swapped(self) -> Seen:
        return Seen.of(self.base.swapped(), self.participation, self.worlds[::-1])


class OfTriple(ByEstimates):
    """What parts say of themselves that are made of a triple in this setting."""

    seen: Seen

    @property
    def method(self) -> str:
        return self.seen.method

    @property
    def proof_status(self) -> Any:
        return self.seen.proof_status

    @property
    def source(self) -> str:
        return self.seen.source

    @property
    def pair(self) -> tuple[str, str]:
        return self.seen.pair

    @property
    def data_sets(self) -> DataSets:
        """The data sets, where it is a lower bound."""
        return self.seen.data_sets

    @property
    def top(self) -> float:
        return largest_epsilon(self.seen.law)

    def swapped(self) -> Self:
        """Return the part with the two data sets exchanged."""
        return type(self)(self.seen.swapped())  # type: ignore[call-arg]


@dataclass(frozen=True)
class OverPoisson(OfTriple, GroupSum):
    """A Poisson number of other users, of mean n: E[(S + shift)_+]/n, S the sum of a Poisson number of copies of G.

    ``shift`` is what there is without the victim's report, n ((1 - p0) - e^eps (1 - p1)).
    """

    seen: Seen

    @property
    def signature(self) -> Hashable:
        return "poisson", self.seen.signature, self.seen.worlds

    def sides(self, level: Level, n: int) -> Sides:
        p, q = self.seen.worlds
        less, absent = number(q - p), number(1 - q)

        def shift() -> arb:
            return n * (less() - level.exponential_minus_one() * absent())  # exactly 0 at eps = 0 if p = q

        with at_precision(128):
            alone = [] if shift().is_zero() else [Group(1, lambda: constant(shift()))]
        groups = [Group(n, lambda: ball_gparv(self.seen.law, level), poisson=True), *alone]
        return groups, lambda: arb(n), lambda: ball_gparv(self.seen.law, level).singular

    @property
    def top(self) -> float:
        p, q = self.seen.worlds
        return super().top if p != 0 else inf if q == 1 else -log(1 - q)

    @property
    def gap_floor(self) -> float:
        return _POISSON_GAP

    def limit(self, n: int) -> arb:
        law, (first, second) = self.seen.law, self.seen.worlds
        revealed = total([a() for a, b in law.singular if b().is_zero()])
        if second != 1:  # whatever the others send, the victim may not be there
            return revealed
        alone = total([a.mass() * a.ratio0() for a in law.atoms if a.ratio1().is_zero()])
        others = total([a.mass() for a in law.atoms if not a.ratio1().is_zero()])
        return (alone + number(1 - first)()) * (-n * others).exp() + revealed


@dataclass(frozen=True)
class OverNumbers(OfTriple):
    """The mean of the divergences over several numbers of users."""

    seen: Seen

    @property
    def signature(self) -> Hashable:
        return "numbers", self.seen.signature, self.seen.participation

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        numbers = self.seen.participation.numbers(n)
        value = sum(float(w) * exp(self.seen.log_estimate(level, m, settings)) for w, m in numbers)
        return log(value) if value > 0.0 else -inf

    def each(self, level: Level, n: int, settings: Settings) -> list[tuple[sp.Rational, int, Enclosure]]:
        """Return the enclosure for each number of users, with its weight."""
        return [(w, m, self.seen.enclose(level, m, settings)) for w, m in self.seen.participation.numbers(n)]

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The mean of the divergences lies between the outer ends. Proof: docs/proofs/participation.md, section 5.
        """
        found = self.each(level, n, settings)
        bits = max(e.precision for *_, e in found)
        with at_precision(bits + 32):
            lower, upper = (
                total([number(w)() * x for (w, *_), x in zip(found, side, strict=True)])
                for side in ([e.lower for *_, e in found], [e.upper for *_, e in found])
            )
            return Enclosure(lower, upper, "mean over numbers of users", bits)

    def limit(self, n: int) -> arb:
        return total([number(w)() * self.seen.limit(m) for w, m in self.seen.participation.numbers(n)])


Repeatable = Reduction | OverPoisson | OverNumbers
"""Data sets that may be the same in many rounds: a triple, or what is made of one where not everyone takes part."""


def triple_behind(found: Repeatable) -> Reduction:
    """Return the triple of the round in which everyone takes part."""
    triple = found.seen if isinstance(found, OfTriple) else found
    return triple.base if isinstance(triple, Seen) else triple


# ---------------------------------------- Reports whose law does not depend on the input: of what users run, as a table


Report = str | tuple[tuple[str, sp.Rational], ...] | None
"""The law of a report: "uniform", that of an input, or the probabilities of messages."""


def report(given: object, name: str) -> Report:
    """Return the law of a report that is given."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise ArgumentError(name, given, "'uniform', an input, or a dictionary of the probabilities of messages")
    found = tuple((str(y), probability(p, name)) for y, p in given.items())
    if sum(p for _, p in found) != 1:
        raise ArgumentError(name, given, "probabilities that sum to 1")
    return found


def table_of(subject: Subject, name: str) -> FiniteMechanism:
    """Return what users run as a table of numbers in which any two inputs are compared, or SupportMismatchError."""
    table: Any = subject if isinstance(subject, FiniteMechanism) else None
    if table is None and subject.mechanism is not None and hasattr(subject.mechanism, "table"):
        table = subject.mechanism.table()
    if not isinstance(table, FiniteMechanism) or table.numeric is None or not table.compares_all:
        told = Problem(f"{subject!r} is not a table of numbers in which any two inputs are compared")
        raise SupportMismatchError(name, told, "give a table, or a small family")
    return table


def law_on(table: FiniteMechanism, given: Report, name: str) -> dict[str, Any]:
    """Return the probability of each message of a table, or ArgumentError for a law on other messages."""
    messages = table.messages
    if isinstance(given, str) and given in table.inputs:
        return dict(zip(messages, table.rows[table.inputs.index(given)], strict=True))
    if isinstance(given, str) and given != "uniform":
        raise ArgumentError(name, given, f"'uniform' or an input, one of {', '.join(table.inputs[:8])}")
    law = dict.fromkeys(messages, sp.Rational(1, len(messages))) if isinstance(given, str) else dict(given or ())
    if not set(law) <= set(messages):
        raise ArgumentError(name, sorted(set(law) - set(messages)), f"messages such as {messages[0]}")
    return {y: law.get(y, sp.S.Zero) for y in messages}
