"""Users who differ: groups that run mechanisms of their own, and what is shuffled, the messages or the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import sympy as sp

from symamp.algebra.order import sign
from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError, FormatError, SupportMismatchError
from symamp.mechanisms.mechanism import Mechanism
from symamp.numbers.arguments import users
from symamp.numbers.exact_number import exact_number

MESSAGES, DATA = "messages", "data"
_SHAPE = "a list of (number of users, mechanism)"


@dataclass(frozen=True)
class Crowd:
    """Groups of users, each with a mechanism of its own, and what the shuffler permutes.

    With ``shuffled="messages"`` every user randomizes with the mechanism of her group and the messages are shuffled.
    With ``shuffled="data"`` the data are shuffled, position i applies the i-th mechanism, and the outputs are
    published in order. The two models agree only where all users run one mechanism.

    ``dropout`` is the probability with which each other user sends nothing, unseen by the adversary. Dishonest users
    are left out of the groups.

    >>> import symamp as sa
    >>> crowd = sa.heterogeneous([(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=5))], shuffled="data")
    >>> crowd.n
    1000
    """

    groups: tuple[tuple[int, Any], ...]  # (users, Subject)
    shuffled: str
    dropout: sp.Rational = sp.S.Zero
    left_out: tuple[int, ...] = ()
    """The groups without an honest user, by their numbers in the list that was given."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each group in the list that was given, groups without an honest user counted."""
        every = range(len(self.groups) + len(self.left_out))
        return tuple(i for i in every if i not in self.left_out)

    @property
    def n(self) -> int:
        """The number of users that count: all that are honest, the victim included."""
        return sum(count for count, _ in self.groups)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...] | None:
        """The mechanisms of the groups, None where only a budget is known of some."""
        found = tuple(subject.mechanism for _, subject in self.groups)
        return None if any(m is None for m in found) else found

    def honest(self, counts: Sequence[object]) -> Crowd:
        """Return the crowd in which so many users of each group are honest: what the others do is known anyway."""
        if not isinstance(counts, Sequence) or len(counts) != len(self.groups):
            raise ArgumentError("honest", counts, f"{len(self.groups)} numbers, one for each group")
        kept, left_out = [], list(self.left_out)
        for group, (count, subject), left in zip(self.numbers, self.groups, counts, strict=True):
            number = 0 if left == 0 else users(left)
            if number > count:
                raise ArgumentError("honest", left, f"at most the {count} users of the group")
            if number:
                kept.append((number, subject))
            else:
                left_out.append(group)
        if not kept:
            raise ArgumentError("honest", counts, "at least one honest user")
        return replace(self, groups=tuple(kept), left_out=tuple(sorted(left_out)))

    def __repr__(self) -> str:
        groups = ", ".join(f"({count}, {subject!r})" for count, subject in self.groups)
        return f"heterogeneous([{groups}], shuffled={self.shuffled!r})"

    def _repr_html_(self) -> str:
        """Return a table of the groups."""
        rows = "".join(f"<tr><td>{count:,}</td><td>{escape(repr(s))}</td></tr>" for count, s in self.groups)
        lost = f", each other user silent with probability {self.dropout}" if self.dropout else ""
        title = f"<b>{self.n:,} users who differ</b>, {self.shuffled} shuffled{lost}"
        return f"{title}<table><tr><th>users</th><th>mechanism</th></tr>{rows}</table>"


def heterogeneous(
    groups: Sequence[tuple[object, Subject]],
    *,
    shuffled: str,
    honest: Sequence[object] | None = None,
    dropout: object = 0,
) -> Crowd:
    """Return the subject in which groups of users run mechanisms of their own: ask it with ``epsilon`` and ``delta``.

    ``groups`` lists (number of users, mechanism). ``shuffled`` is "messages" (each user randomizes, the messages are
    shuffled; the mechanisms must share a message space, and are k-ary responses of one k or tables with the same
    messages) or "data" (the data are shuffled, the positions run the mechanisms; ``PureLDP`` suffices and covers
    randomizers chosen adaptively). ``honest`` says how many users of each group do not collude with the adversary;
    ``dropout`` with what probability another user's message is lost unseen (messages only).

    Budgets are not averaged: the bound of the average may be smaller than the truth
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
            raise ArgumentError("groups", type(subject).__name__, "mechanisms of symamp")
        if subject.parameters:
            raise ArgumentError("groups", repr(subject), "mechanisms with numbers for all parameters")
        if subject.local_ratio() is sp.oo:
            raise SupportMismatchError("groups", repr(subject), "mechanisms with a finite local budget")
        if shuffled == MESSAGES and subject.mechanism is None:
            told = "tables: where messages are shuffled nothing follows from budgets, messages may name the group"
            raise SupportMismatchError("groups", repr(subject), told)
        read.append((users(count), subject))
    if shuffled == DATA and len({_compared(subject) for _, subject in read}) > 1:
        told = "mechanisms that compare the same inputs: any one of them may be asked about the victim's data"
        raise SupportMismatchError("groups", ", ".join(repr(subject) for _, subject in read), told)
    lost = exact_number(dropout, "dropout")
    if not lost.is_Rational or sign(lost) < 0 or sign(1 - lost) <= 0:
        raise ArgumentError("dropout", dropout, "a rational number in [0, 1)")
    if lost != 0 and shuffled == DATA:
        raise ArgumentError("dropout", dropout, "0: where data are shuffled a missing position is seen")
    crowd = Crowd(tuple(read), shuffled, lost)
    return crowd if honest is None else crowd.honest(honest)


def _compared(subject: Subject) -> object:
    """Return what is the same for subjects that compare the same inputs."""
    mechanism = subject.mechanism
    if subject.compares_all or mechanism is None:
        return subject.compares_all
    return frozenset(mechanism.pairs()), mechanism.inputs
