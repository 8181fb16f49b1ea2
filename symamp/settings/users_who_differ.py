"""Users who differ: groups with different mechanisms, and the laws of sums if messages or data are shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from html import escape
from math import comb
from typing import Any

import flint
import sympy as sp
from flint import arb, arb_poly

from symamp.bounds.hypotheses import (
    DATA_SHUFFLED,
    EVERYONE,
    FINITE_BUDGET,
    MESSAGES_SHUFFLED,
    ONE_COMPARISON,
    RANDOMIZER,
    Hypothesis,
    Theorem,
)
from symamp.bounds.subject import Setting, Subject
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.pairs import only_pair
from symamp.decompositions.to_law import law_of, number
from symamp.errors import ArgumentError, FormatError, Problem, SupportMismatchError, SymampError, checked_call
from symamp.formulas.order import largest, sign
from symamp.formulas.parameter import Parameter
from symamp.laws.law import BallGparv, Level, Number, ball_gparv, total
from symamp.numbers.reading import Count, Real, exact_number, users
from symamp.numbers.surroundings import at_precision
from symamp.public_names import PublicNames
from symamp.randomizers.families.randomized_response import RandomizedResponse
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import DATA, MESSAGES, Mechanism
from symamp.settings.participation import (
    ABSENT,
    DRAWN,
    REMOVAL,
    REPLACEMENT,
    Participation,
    checked_participation,
    lost_reports,
)
from symamp.sums.enumeration import enumerated_sum
from symamp.sums.groups import Group
from symamp.sums.step_sums import Steps, StepSum

# ------------ Users who differ: groups that run mechanisms of their own, and what is shuffled, the messages or the data

EVERYBODY = Participation()
_SHAPE = "a list of (number of users, mechanism)"
_ONCE = "give one sa.participation(...) with all of it"


@dataclass(frozen=True)
class HeterogeneousUsers(PublicNames):
    """Groups of users, each with a mechanism of its own, and what the shuffler permutes.

    With ``shuffled="messages"`` every user randomizes with the mechanism of her group and the messages are shuffled.
    With ``shuffled="data"`` the data are shuffled, position i applies the i-th mechanism, and the outputs are
    published in order. The two models agree only where all users run one mechanism.

    ``who`` says who takes part, and which data sets are compared: messages only. Dishonest users are left out of the
    groups.

    >>> import symamp as sa
    >>> crowd = sa.heterogeneous([(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=5))], shuffled="data")
    >>> crowd.n
    1000
    """

    _internal_names = (
        "compared_ratio compares_all copies left_out local_ratio mechanism mechanisms numbers participation "
        "randomizers seen taking_part takes_part theorem"
    )

    groups: tuple[tuple[int, Any], ...]  # (users, Subject)
    shuffled: str
    who: Participation = EVERYBODY
    left_out: tuple[int, ...] = ()
    """The groups without an honest user, by their numbers in the list that was given."""

    def __post_init__(self) -> None:
        if not self.parameters:  # of a family it is checked of each member
            self.theorem.check(self, "users who differ")

    @property
    def theorem(self) -> Theorem:
        """What bounds them."""
        return _THEOREMS[self.shuffled]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The budget eps0 where it is free in some groups: the same number in all of them."""
        return tuple({p.name: p for subject in self.randomizers for p in subject.parameters}.values())

    def at(self, *, eps0: object) -> HeterogeneousUsers:
        """Return the users with this eps0 in all groups where it is free."""
        bound = ((n, s.at(eps0=eps0) if s.parameters else s) for n, s in self.groups)
        return replace(self, groups=tuple(bound))

    def copies(self, count: int) -> HeterogeneousUsers:
        """Return the users of so many copies of every group."""
        return replace(self, groups=tuple((count * number, subject) for number, subject in self.groups))

    def degradation(self) -> str | None:
        """Return why a smaller eps0, in the groups where it is free, is never less private; None if it is not proved.

        Guarantee
        ---------
        A text means: the true delta of these users does not fall as eps0 grows.
        Proof: docs/proofs/inverse_questions.md, Lemmas 6 and 7.
        """
        free = [subject for subject in self.randomizers if subject.parameters]
        if self.shuffled == DATA:
            reasons = [subject.degradation() for subject in free]
            return None if not reasons or None in reasons else reasons[0]
        return _ANEW if free and all(isinstance(s, RandomizedResponse) for s in free) else None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each group in the list that was given, groups without an honest user counted."""
        every = range(len(self.groups) + len(self.left_out))
        return tuple(i for i in every if i not in self.left_out)

    @property
    def n(self) -> int:
        """The number of honest users, the victim included."""
        return sum(count for count, _ in self.groups)

    @property
    def mechanism(self) -> None:
        """The one mechanism that all users run: there is none."""

    @property
    def randomizers(self) -> tuple[Subject, ...]:
        """What users run, one entry for each group."""
        return tuple(subject for _, subject in self.groups)

    @property
    def takes_part(self) -> sp.Rational:
        """The probability that another user's message arrives."""
        return self.who.present

    @property
    def participation(self) -> None:
        """None: ``who`` says who takes part."""

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared, in all groups."""
        return all(subject.compares_all for subject in self.randomizers)

    def local_ratio(self) -> sp.Expr:
        """Return the largest e^eps0 of a group, for any two inputs; ``oo`` if there is no finite local budget."""
        return largest([subject.local_ratio() for subject in self.randomizers])

    def compared_ratio(self) -> sp.Expr:
        """Return the same for two inputs that are compared; ``oo`` where a report may be missing."""
        return sp.oo if self.who.removal else largest([subject.compared_ratio() for subject in self.randomizers])

    @property
    def mechanisms(self) -> tuple[Mechanism, ...] | None:
        """The mechanisms of the groups, None where only a budget is known of some."""
        found = tuple(subject.mechanism for _, subject in self.groups)
        return None if any(m is None for m in found) else found

    def honest(self, counts: Sequence[object]) -> HeterogeneousUsers:
        """Return the crowd in which so many users of each group are honest: what the others do is known anyway."""
        if not isinstance(counts, Sequence) or len(counts) != len(self.groups):
            raise ArgumentError("honest", counts, f"a list of {len(self.groups)} numbers, one for each group")
        kept, left_out = [], list(self.left_out)
        for group, (count, subject), left in zip(self.numbers, self.groups, counts, strict=True):
            number = 0 if left == 0 else users(left)
            if number > count:
                raise ArgumentError("honest", left, f"at most {count}, the users of the group")
            if number:
                kept.append((number, subject))
            else:
                left_out.append(group)
        if not kept:
            raise ArgumentError("honest", Problem("no user is honest"), "give at least one honest user")
        return replace(self, groups=tuple(kept), left_out=tuple(sorted(left_out)))

    def taking_part(self, who: Participation) -> HeterogeneousUsers:
        """Return the crowd of whom these take part, besides what ``dropout`` says already.

        A default report is one more input of every table. Raises SupportMismatchError where nothing is known, and where
        it is not said of which group the users are who do not count.

        Guarantee
        ---------
        The bound of the result holds for the crowd of which these take part, and so do its data sets.
        Proof: docs/proofs/users_who_differ.md, section 5.
        """
        unknown = ((why, remedy) for fails, why, remedy in _UNKNOWN if fails(self, who))
        if found := next(unknown, None):
            raise SupportMismatchError("participation", Problem(found[0]), found[1])
        # Batches that the shuffler draws change nothing, and a default report is one more input.
        compared = REMOVAL if who.removal else REPLACEMENT
        present = self.who.present * who.present
        words = tuple({**dict(who.words), **dict(lost_reports(1 - present).words)}.items())
        taking = replace(who, present=present, runs=(), compared=compared, batches=None, words=words)
        return replace(self, groups=tuple((count, who.run(s)) for count, s in self.groups), who=taking)

    def seen(self, who: object) -> HeterogeneousUsers:
        """Return the users of whom these take part; the same users for None."""
        return self if who is None else self.taking_part(checked_participation(who))

    def __repr__(self) -> str:
        groups = ", ".join(f"({count}, {subject!r})" for count, subject in self.groups)
        taking = "" if self.who == EVERYBODY else f", {self.who!r}"
        return f"heterogeneous([{groups}], shuffled={self.shuffled!r}){taking}"

    def _repr_html_(self) -> str:
        """Return a table of the groups."""
        rows = "".join(f"<tr><td>{count:,}</td><td>{escape(repr(s))}</td></tr>" for count, s in self.groups)
        taking = "" if self.who == EVERYBODY else f", {escape(repr(self.who))}"
        title = f"<b>{self.n:,} users who differ</b>, {self.shuffled} shuffled{taking}"
        return f"{title}<table><tr><th>users</th><th>mechanism</th></tr>{rows}</table>"


@checked_call
def heterogeneous(
    groups: Sequence[tuple[Count, Subject]], *, shuffled: str, honest: Sequence[Count] | None = None, dropout: Real = 0
) -> HeterogeneousUsers:
    """Return groups of users who run different mechanisms, as ``epsilon``, ``delta`` and ``profile`` take them.

    ``groups`` lists (number of users, mechanism). ``shuffled`` says what the shuffler permutes:

    - "messages": each user randomizes with the mechanism of the group, and the messages are shuffled. The mechanisms
      share one message space: k-ary responses of one k, or tables with the same messages.
    - "data": the data are shuffled, and position i runs the i-th mechanism. ``PureLDP`` may stand for a mechanism of
      which only the budget is known; randomizers may be chosen adaptively.

    ``honest`` is the number of users of each group who do not collude with the adversary. ``dropout`` is the
    probability that another user's message is lost unseen (messages only). ``participation``, an argument of the
    questions, says more about who takes part if messages are shuffled: drop-out, random collusion, leaks, a default
    report, a removal, and Poisson numbers of the other users of each group, with the numbers of the list as means.

    Budgets are not averaged, because the bound for the average budget may be below the truth
    (docs/proofs/users_who_differ.md, section 5).

    Raises ArgumentError and FormatError for arguments out of range, SupportMismatchError for mechanisms that do not
    fit the model.

    >>> import symamp as sa
    >>> crowd = sa.heterogeneous([(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=5))], shuffled="data")
    >>> sa.epsilon(crowd, delta="1e-6").upper
    1.4707...
    """
    if shuffled not in (MESSAGES, DATA):
        raise ArgumentError("shuffled", shuffled, f"{MESSAGES!r} or {DATA!r}")
    if isinstance(groups, str | bytes) or not isinstance(groups, Sequence) or not groups:
        raise FormatError("groups", groups, _SHAPE)
    read = []
    for row in groups:
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != 2:
            raise FormatError("groups", row, _SHAPE)
        count, subject = row
        if isinstance(subject, type) or not hasattr(subject, "local_ratio"):
            raise ArgumentError("groups", type(subject).__name__, "a mechanism of symamp in each group")
        if subject.participation is not None:
            told = Problem(f"the group {subject!r} has a participation of its own")
            raise ArgumentError("groups", told, "give honest=... and dropout=... for all groups")
        if {p.name for p in subject.parameters} - {"eps0"}:
            raise ArgumentError("groups", Problem(f"{subject!r} has free parameters"), "give numbers by .at(...)")
        read.append((users(count), subject))
    lost = exact_number(dropout, "dropout")
    if not lost.is_Rational or sign(lost) < 0 or sign(1 - lost) <= 0:
        raise ArgumentError("dropout", dropout, "a rational number in [0, 1)")
    crowd = HeterogeneousUsers(tuple(read), shuffled, lost_reports(lost))
    return crowd if honest is None else crowd.honest(honest)


_HONEST = "say colluding, a chance of each; heterogeneous(..., honest=...) says how many of each group do not collude"
_UNKNOWN: tuple[tuple[Callable[[HeterogeneousUsers, Participation], object], str, str], ...] = (
    (lambda crowd, _: crowd.shuffled == DATA, "all positions are seen where data are shuffled", "shuffle messages"),
    (
        lambda crowd, who: (
            (crowd.who != EVERYBODY and who.runs) or replace(crowd.who, present=sp.S.One, words=()) != EVERYBODY
        ),
        "the users already have one",
        _ONCE,
    ),
    (lambda _, who: who.colluders or who.colluding_share, "it is not said of which groups the colluders are", _HONEST),
    (
        lambda _, who: who.batches not in (None, DRAWN),
        "it is not said of which groups the users of a batch are",
        "give the groups of the victim's batch alone, or batches='drawn'",
    ),
    (
        lambda crowd, who: who.removal and not crowd.compares_all,
        "a removal supposes that any two inputs are compared",
        "leave out .near(...), or take compared='replacement'",
    ),
)
"""What is not known of users who differ, why, and what to ask instead."""
_ANEW = "a smaller eps0 draws the input anew with some probability"

# ------------------------------------------------------------ What the two theorems on users who differ suppose of them

_MOST_INPUTS = 8


def _no_message_space(setting: Setting) -> str | None:
    found = [subject.mechanism for subject in setting.randomizers]
    sizes = [m["k"] for m in found if isinstance(m, RandomizedResponse)]
    if len(sizes) == len(found):
        same = len(set(sizes)) == 1
    else:
        tables = [m for m in found if isinstance(m, FiniteMechanism)]
        same = len(tables) == len(found) and len({(t.inputs, frozenset(t.messages)) for t in tables}) == 1
        same = same and len(tables[0].inputs) <= _MOST_INPUTS
    return None if same else "here they differ: give tables with the same messages, or take shuffled='data'"


MESSAGE_SPACE = Hypothesis(
    "message_space",
    "All randomizers are k-ary responses of one k, or tables of one message space and the same inputs, at most "
    f"{_MOST_INPUTS}.",
    _no_message_space,
)
_DATA = (DATA_SHUFFLED, EVERYONE, RANDOMIZER, FINITE_BUDGET, ONE_COMPARISON)
THEOREM_C = Theorem("data shuffled", "users_who_differ", _DATA, "Theorem C (docs/proofs/users_who_differ.md)")
_MESSAGES = (MESSAGES_SHUFFLED, FINITE_BUDGET, ONE_COMPARISON, MESSAGE_SPACE)
THEOREM_D = Theorem("messages shuffled", "users_who_differ", _MESSAGES, "Theorem D (docs/proofs/users_who_differ.md)")
_THEOREMS = {DATA: THEOREM_C, MESSAGES: THEOREM_D}


# --- Messages shuffled: the common blanket of the others for one group of victims (Theorem D), and data sets below it


@dataclass(frozen=True)
class Constant:
    """An exact number: a ball around it at the ambient precision, made once for each."""

    expr: sp.Expr
    ball: Number
    known: dict[int, arb] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(expr: sp.Expr) -> Constant:
        """Return the constant expression."""
        return Constant(expr, number(expr))

    def __call__(self) -> arb:
        """Return a ball around the number."""
        bits = flint.ctx.prec
        if bits not in self.known:
            self.known[bits] = self.ball()
        return self.known[bits]


@dataclass(frozen=True)
class Column:
    """A class of equivalent messages: their number, and the probability of each on x0, x1 and further inputs.

    ``sums`` are the probabilities of all of them together on the inputs that the others may hold in a data set.
    """

    size: int
    on_x0: Constant
    on_x1: Constant
    further: tuple[Constant, ...]
    sums: tuple[Constant, ...]

    def least(self) -> arb:
        """Return the least probability of a message over all inputs."""
        return reduce(arb.min, (x() for x in (self.on_x0, self.on_x1, *self.further)))


@dataclass(frozen=True)
class StepTest:
    """A sum over messages: which columns count 1, which -1, and the steps of all users."""

    up: tuple[int, ...]
    down: tuple[int, ...]
    sum: StepSum


@dataclass(frozen=True)
class Victim:
    """One group of victims and one pair of inputs: the columns of all mechanisms, message by message the same."""

    crowd: HeterogeneousUsers
    group: int
    pair: tuple[str, str]
    others: tuple[str, ...]
    columns: tuple[tuple[Column, ...], ...]
    worlds: tuple[sp.Rational, sp.Rational] = (sp.S.One, sp.S.One)
    """With which probability the victim is there in both data sets."""

    @property
    def names(self) -> tuple[str, str]:
        """The names of what is compared."""
        x0, x1 = (ABSENT if p == 0 else x for x, p in zip(self.pair, self.worlds, strict=True))
        return x0, x1

    def swapped(self) -> Victim:
        """Return the same with the two data sets exchanged."""
        columns = tuple(tuple(replace(c, on_x0=c.on_x1, on_x1=c.on_x0) for c in row) for row in self.columns)
        return replace(self, pair=self.pair[::-1], columns=columns, worlds=self.worlds[::-1])

    @property
    def counts(self) -> list[int]:
        """How many users of each group there are besides the victim."""
        return [count - (i == self.group) for i, (count, _) in enumerate(self.crowd.groups)]

    @property
    def may_miss(self) -> bool:
        """Whether the victim may be missing, so that missing reports are counted."""
        return self.worlds != (1, 1)

    def rows(self, revealed: bool = False) -> tuple[list[arb], list[arb]]:
        """Return the chances of the victim's messages in both data sets: of those that others hide, or of the rest.

        The last is that of no message where the victim may be missing.
        """
        own, who = self.columns[self.group], self.crowd.who
        shuffled = 1 - number(who.unshuffled)()
        kept = shuffled * (1 - number(who.leaks)())
        message, none = (1 - kept, 1 - shuffled) if revealed else (kept, shuffled)
        found = []
        for share, on in zip(self.worlds, ([c.on_x0 for c in own], [c.on_x1 for c in own]), strict=True):
            p = number(share)()
            found.append([p * message * c.size * x() for c, x in zip(own, on, strict=True)])
            found[-1] += [(1 - p) * none] * self.may_miss
        return found[0], found[1]

    def alone(self, level: Level) -> arb:
        """Return D_E of the victim's own message: nothing that others send makes it worse."""
        return _excess(level, self.rows()) + self.revealed(level)

    def revealed(self, level: Level) -> arb:
        """Return what of D_E is from messages that are seen with their senders."""
        return _excess(level, self.rows(True))

    def blanket(self, level: Level) -> tuple[BallGparv, list[arb]]:
        """Return the law of L under a common B, with the singular part, and the masses g of the groups.

        B is proportional to the least probability of each message; the victim is there in both data sets.
        """
        e, own = level.exponential(), self.columns[self.group]
        present = [i for i, count in enumerate(self.counts) if count]
        if not present:
            return BallGparv((), (), arb(1), self.alone(level)), [arb(0)] * len(self.counts)
        rows = zip(*(self.columns[i] for i in present), strict=True)
        least = [reduce(arb.min, (c.least() for c in row)) for row in rows]
        whole = total([c.size * x for c, x in zip(own, least, strict=True)])
        if not whole > 0:
            return BallGparv((), (), arb(1), self.alone(level)), [arb(0)] * len(self.counts)
        b = [x / whole for x in least]
        values, masses, null, singular = [], [], arb(0), self.revealed(level)
        for c, share, x, y in zip(own, b, *self.rows(), strict=True):
            if share > 0:
                values.append((x - e * y) / (c.size * share))
                masses.append(c.size * share)
            else:
                singular += (x - e * y).max(arb(0))
        kept = number(self.crowd.who.seen)()
        shares = [arb(0)] * len(self.counts)
        for i in present:
            seen = (c.least() / share for c, share in zip(self.columns[i], b, strict=True) if share > 0)
            shares[i] = (reduce(arb.min, seen) * kept).max(arb(0)).min(arb(1))
        return BallGparv(tuple(values), tuple(masses), null, singular), shares

    def sides(self, level: Level) -> tuple[list[Group], Callable[[], arb], Callable[[], arb]]:
        """Return (groups, divisor, rest): E[S_+]/divisor + rest is above the bound of Theorem D.

        Guarantee
        ---------
        It is at least the divergence of the shuffled messages for this pair of the victim's inputs,
        whatever the others hold. Proof: docs/proofs/users_who_differ.md, section 4.
        """
        counts = self.counts
        known: dict[int, tuple[BallGparv, list[arb]]] = {}

        def found() -> tuple[BallGparv, list[arb]]:
            bits = flint.ctx.prec
            if bits not in known:
                known[bits] = self.blanket(level)
            return known[bits]

        with at_precision(64):
            _, rough = found()
        hidden = [i for i, (count, g) in enumerate(zip(counts, rough, strict=True)) if count and g > 0]
        if not hidden:
            return [], lambda: arb(1), lambda: self.alone(level)

        def slot() -> arb:
            shares = found()[1]
            return reduce(arb.min, (shares[i] for i in hidden))

        def thinned(share: Callable[[], arb]) -> Callable[[], BallGparv]:
            def source() -> BallGparv:
                law, g = found()[0], share()
                return BallGparv(law.values, tuple(g * m for m in law.masses), 1 - g * total(law.masses), arb(0))

            return source

        def share_of(i: int) -> Callable[[], arb]:
            return lambda: found()[1][i]

        groups = [Group(counts[i], thinned(share_of(i))) for i in hidden] + [Group(1, thinned(slot))]

        def divisor() -> arb:
            shares = found()[1]
            return total([counts[i] * shares[i] for i in hidden]) + slot()

        return groups, divisor, lambda: found()[0].singular

    def tests(self, level: Level, held: Sequence[Mapping[str, int]]) -> Iterator[StepTest]:
        """Yield sums of steps: so many of the others of each group hold an input, and only a sum over messages counts.

        Messages that are likelier, by more than E, on x0 count 1, those that are so on x1 count -1, or nothing; of a
        removal also only those that are likeliest beside what others send, or all but these.
        """
        e, (on_x0, on_x1), who = level.exponential(), self.rows(), self.crowd.who
        up = tuple(i for i, (x, y) in enumerate(zip(on_x0, on_x1, strict=True)) if x - e * y > 0)
        down = tuple(i for i, (x, y) in enumerate(zip(on_x0, on_x1, strict=True)) if y - x > 0)
        kept = number(who.seen)()
        missing = [number(who.honest * (1 - who.present))()] * self.may_miss
        others = [
            ([kept * c.sums[self.others.index(x)]() for c in columns] + missing, count)
            for columns, counts in zip(self.columns, held, strict=True)
            for x, count in counts.items()
            if count
        ]
        # Without a message that counts 0 the two signs are one statistic, and every other sum is impossible.
        signs = [(up, below) for below in ((down, ()) if len(up) + len(down) < len(on_x0) else ((),))]
        if 0 in self.worlds:
            signs += [(some, ()) for some in _likeliest(up, on_x0, others)]
            every = range(len(on_x0))
            signs += [(tuple(i for i in every if i not in some), ()) for some in _likeliest(down, on_x1, others)]
        shuffled, leaks = 1 - number(who.unshuffled)(), number(who.leaks)()
        wholes = [shuffled * (1 - leaks * number(p)()) for p in self.worlds]
        for above, below in signs:
            steps = tuple(_steps(row, above, below, count) for row, count in others)
            own = [replace(_steps(row, above, below), mass=x) for row, x in zip((on_x0, on_x1), wholes, strict=True)]
            yield StepTest(above, below, StepSum(own[0], own[1], steps))


def _excess(level: Level, rows: tuple[list[arb], list[arb]]) -> arb:
    e = level.exponential()
    return total([(x - e * y).max(arb(0)) for x, y in zip(*rows, strict=True)])


def _likeliest(
    up: tuple[int, ...], on_x0: list[arb], others: Sequence[tuple[list[arb], int]]
) -> Iterator[tuple[int, ...]]:
    """Yield the likeliest messages of some, beside the mean of others: the first one, the first two, and so on."""
    mean = {i: float(total([count * row[i] for row, count in others])) for i in up}
    order = sorted(up, key=lambda i: mean[i] / float(on_x0[i]))
    yield from (tuple(order[:count]) for count in range(1, len(order) + 1))


def _steps(masses: list[arb], up: tuple[int, ...], down: tuple[int, ...], count: int = 1) -> Steps:
    return Steps({s: total([masses[i] for i in some]) for s, some in ((1, up), (-1, down)) if some}, count)


def victims(crowd: HeterogeneousUsers) -> Iterator[Victim]:
    """Yield every group of victims with every ordered pair of inputs that has a law of its own, in each order."""
    mechanisms = crowd.mechanisms
    assert mechanisms is not None
    tables = [m for m in mechanisms if isinstance(m, FiniteMechanism)]
    if tables:
        pairs, others = tables[0].pairs(), tables[0].inputs
        columns = {pair: tuple(_table(t, tables[0].messages, pair) for t in tables) for pair in pairs}
    else:
        pair = "x0", "x1"
        responses = [m for m in mechanisms if isinstance(m, RandomizedResponse)]
        columns = {pair: tuple(_response(m, crowd.who.is_poisson) for m in responses)}
        others = (*pair, "x2")[: len(columns[pair][0])] if len(columns[pair][0]) > 2 else pair
    for pair, rows in columns.items():
        for i in range(len(mechanisms)):
            yield from (Victim(crowd, i, pair, others, rows, worlds) for worlds in crowd.who.worlds())


def _response(m: RandomizedResponse, apart: bool) -> tuple[Column, ...]:
    """Return the messages x0, x1 and others, of which the x2 of another user is ``apart``, where triples are asked."""
    k, levels = m["k"], m.levels()
    high, low = (Constant.of(x) for x in levels)
    first = Column(1, high, low, (), (high, low, low))
    second = Column(1, low, high, (), (low, high, low))
    if k == 2:
        return first, second
    if apart and k > 3:
        rest = (Constant.of((k - 3) * levels[1]),) * 3
        return first, second, Column(1, low, low, (), (low, low, high)), Column(int(k) - 3, low, low, (), rest)
    some, one = Constant.of((k - 2) * levels[1]), Constant.of(levels[0] + (k - 3) * levels[1])
    return first, second, Column(int(k) - 2, low, low, (), (some, some, one))


def _table(m: FiniteMechanism, messages: tuple[str, ...], pair: tuple[str, str]) -> tuple[Column, ...]:
    place = {y: j for j, y in enumerate(m.messages)}
    columns = []
    for y in messages:
        entries = {x: Constant.of(m.rows[i][place[y]]) for i, x in enumerate(m.inputs)}
        further = tuple(entries[x] for x in m.inputs if x not in pair)
        columns.append(Column(1, entries[pair[0]], entries[pair[1]], further, tuple(entries.values())))
    return tuple(columns)


# ----------------------- Data shuffled: the laws of the positions, from above (Theorem C) and from below (one data set)

_MEMBERS = (3, 2)


def budget_gparv(ratio: Callable[[], arb], level: Level) -> BallGparv:
    """Return the law G* that dominates the blanket of every randomizer with this ratio t, at any E >= 1.

    Guarantee
    ---------
    G of every eps0-LDP randomizer is at most the result in the increasing convex order. Proof:
    docs/proofs/users_who_differ.md, section 2.
    """
    t, e = ratio(), level.exponential()
    low, mass = 1 - t * e, 1 / (t + 1)
    if t >= e:
        high, share = t - e, mass
    elif t < e:
        high, share = t * (t - e), mass / t
    else:  # the balls do not tell: a value that is not positive is raised to 0
        high, share = (t - e).upper().max(arb(0)), mass
    return BallGparv((high, low), (share, mass), 1 - share - mass, arb(0))


@dataclass(frozen=True)
class Positions:
    """What is known of the positions, group by group: a decomposition, or, as an expression, the ratio of a budget."""

    counts: tuple[int, ...]
    known: tuple[Decomposition | sp.Expr, ...]
    complete: bool = False

    @cached_property
    def _laws(self) -> list[Callable[[Level], BallGparv]]:
        return [
            partial(ball_gparv, law_of(x, self.complete))
            if isinstance(x, Decomposition)
            else partial(budget_gparv, number(x))
            for x in self.known
        ]

    def __call__(self, level: Level) -> list[Group]:
        """Return the laws of all positions at a level."""
        return [Group(c, partial(law, level)) for c, law in zip(self.counts, self._laws, strict=True)]


def positions_above(crowd: HeterogeneousUsers) -> Positions:
    """Return the laws whose sum bounds n times the divergence: blankets where all are known, else those of budgets.

    Guarantee
    ---------
    E[S_+]/n is at least the divergence of the published outputs for every two neighbouring data sets.
    Proof: docs/proofs/users_who_differ.md, section 3.
    """
    ratios = tuple(subject.local_ratio() for _, subject in crowd.groups)
    return Positions(tuple(count for count, _ in crowd.groups), _blankets(crowd) or ratios)


def members_below(crowd: HeterogeneousUsers) -> Iterator[tuple[str, tuple[Mechanism, ...]]]:
    """Yield (name, mechanisms of the positions) whose data sets bound the divergence from below."""
    known = crowd.mechanisms
    if known is None:
        for k in _MEMBERS:
            budgets = (sp.log(subject.local_ratio()) for _, subject in crowd.groups)
            yield f"{k}-ary response", tuple(RandomizedResponse(k=k, eps0=b) for b in budgets)
    elif len({type(m) for m in known}) == 1 and len({m.pairs() for m in known}) == 1:
        yield "", known


def _blankets(crowd: HeterogeneousUsers) -> tuple[Decomposition, ...] | None:
    """Return the blankets where every mechanism has the same for all pairs of inputs."""
    known = crowd.mechanisms
    if known is None:
        return None
    try:
        found = tuple(m.blanket(*only_pair(m)) for m in known)
    except SymampError:
        return None
    return None if any(d.singular for d in found) else found


# ---------- The value of Theorem D itself for few users: the numbers of hidden users one by one, each with its outcomes

_MOST_OUTCOMES = 150_000
"""How many outcomes there may be over all counts: more take longer than the one sum that is a little larger."""


def mean_of_counts(victim: Victim, level: Level) -> arb | None:
    """Return a ball around the bound of Theorem D; None if nobody hides the victim, or there are too many outcomes.

    Guarantee
    ---------
    The ball contains E[Delta_(C+1)] + sigma: C has the law of a product of polynomials, and each Delta is enumerated.
    Proof: docs/proofs/users_who_differ.md, section 4.
    """
    law, shares = victim.blanket(level)
    hidden = [(count, g) for count, g in zip(victim.counts, shares, strict=True) if count and g > 0]
    largest, values = 1 + sum(count for count, _ in hidden), len(law.values)
    most = _MOST_OUTCOMES
    if not hidden or largest > most or largest * comb(largest + values - 1, values - 1) > most:
        return None
    chances = arb_poly([1])
    for count, g in hidden:
        chances *= arb_poly([1 - g, g]) ** count
    return law.singular + total([chances[m - 1] * enumerated_sum(law, m) / m for m in range(1, largest + 1)])
