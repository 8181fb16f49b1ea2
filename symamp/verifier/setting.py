"""The setting of a certificate: groups of users with their mechanisms, the victim, and who takes part."""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import fmpq

from .check import Check, Number
from .documents import require, shaped
from .mechanisms import Given, Mechanism, Table, members, read
from .participation import Participation

MESSAGES, DATA = "messages", "data"
MOST_USERS, MOST_GROUPS, MOST_ROUNDS = 10**18, 64, 10**6
"""Of one setting: users of a group, groups, and how often it is run."""
_GROUP: dict[str, Any] = {"users": int, "victim": bool, "mechanism": dict}
_SETTING: dict[str, Any] = {"name": str, "count": int, "rate": str, "shuffled": str, "kept": str, "groups": [_GROUP]}


_COUNTS = ("coordinates", "reports")
"""What settings may have besides: sums of so many bits; so many of the messages are of one user."""


class Group(NamedTuple):
    """Users who run one mechanism; ``victim`` says that the guarantee is theirs."""

    users: int
    victim: bool
    mechanism: Mechanism


class Setting:
    """A kind of round from data: run ``count`` times, each person in it with the chance ``rate``."""

    def __init__(self, check: Check, data: Any, what: str) -> None:
        taking = data.get("participation") if isinstance(data, dict) else None
        summed = {key: int for key in _COUNTS if isinstance(data, dict) and key in data}
        shaped(data, _SETTING | ({} if taking is None else {"participation": dict}) | summed, what)
        good = 1 <= data["count"] <= MOST_ROUNDS and data["shuffled"] in (MESSAGES, DATA)
        require(good, f"{what}: count or shuffled")
        self.name, self.count, self.shuffled, self.data = data["name"], data["count"], data["shuffled"], data
        self.rate, self.kept = (check.fraction(data[key]) for key in ("rate", "kept"))
        require(0 < self.rate <= 1 and 0 < self.kept <= 1, f"{what}: rate or kept is no probability", "invalid")
        good = 0 < len(data["groups"]) <= MOST_GROUPS and all(1 <= g["users"] <= MOST_USERS for g in data["groups"])
        require(good, f"{what}: groups without users, or too many")
        places = [f"{what}.groups[{i}].mechanism" for i in range(len(data["groups"]))]
        self.groups = [
            Group(g["users"], g["victim"], read(check, g["mechanism"], place))
            for g, place in zip(data["groups"], places, strict=True)
        ]
        self.victims = [i for i, g in enumerate(self.groups) if g.victim]
        require(self.victims, f"{what}: nobody is a victim")
        self.is_given = any(isinstance(g.mechanism, Given) for g in self.groups)
        # Where data are shuffled nobody's place is known: what holds for one holds for all.
        everybody = len(self.victims) == len(self.groups)
        require(everybody or self.shuffled == MESSAGES, f"{what}: victims of data that are shuffled", "invalid")
        good = self.shuffled == MESSAGES or self.kept == 1
        require(good, f"{what}: where data are shuffled all positions are seen", "invalid")
        restricted = any(isinstance(g.mechanism, Table) and not g.mechanism.all_compared for g in self.groups)
        require(self.rate == 1 or not restricted, f"{what}: sampling of inputs that are not all compared", "invalid")
        self.who, self.everyone = Participation.where(self.kept), taking is None and self.kept == 1
        if taking is not None:
            self.who = Participation.of(check, taking, f"{what}.participation")
            one = self.kept == 1 and self.shuffled == MESSAGES and not self.is_given
            one = one and self.rate == 1 and all(g.mechanism.rounded == 0 for g in self.groups)
            require(one, f"{what}: who takes part is about rounds of messages that are not sampled", "invalid")
            alike = len(self.groups) == 1 or self.who.is_of_all(self.n)
            require(alike, f"{what}: numbers of users who differ, of whom it is not said who they are", "invalid")
            good = not (self.who.removal and restricted)
            require(good, f"{what}: a removal, and inputs that are not all compared", "invalid")
        self.coordinates: int | None = data.get("coordinates")
        self.reports = int(data.get("reports", 1))
        alone = len(self.groups) == 1 and self.kept == 1
        if "reports" in data:
            one = alone and self.rate == 1 and self.count == 1 and self.shuffled == MESSAGES
            # Each report of another user may be lost by itself, but that of nobody for all reports at once.
            who = self.who
            one = one and who.is_plain(self.n) and who.hidden == (who.present, 1) and not who.numbers
            one = one and not self.is_given and not restricted and self.coordinates is None
            one = one and 1 <= self.reports <= MOST_ROUNDS and self.groups[0].users % self.reports == 0
            require(one, f"{what}: several reports of users who all take part once with one mechanism", "invalid")
        if self.coordinates is not None:
            one = alone and self.rate == 1 and self.shuffled == MESSAGES and self.everyone and not self.is_given
            one = one and 2 <= self.coordinates <= MOST_USERS and self.groups[0].mechanism.rounded == 0
            require(one, f"{what}: coordinates of users who all take part with one mechanism", "invalid")
        require(alone or (not self.is_given and self.rate == 1), f"{what}: users who differ are not given, nor sampled")

    @property
    def rounds(self) -> int:
        """How many rounds of the mechanism there are: of a unary encoding two of a bit, in which two inputs differ."""
        times = 1 if self.coordinates is None else 2
        return times * int(self.count)

    @property
    def n(self) -> int:
        """The number of users."""
        return sum(g.users for g in self.groups)

    def whose(self) -> str:
        """Return for whom the claim holds."""
        if self.reports > 1:
            return f"for every user, of whom each sends {self.reports} of these messages"
        sizes, many = ", ".join(str(g.users) for g in self.groups), len(self.groups)
        pairs = {g.mechanism.whose for g in self.groups}
        each = "".join(f", group {i}{g.mechanism.whose}" for i, g in enumerate(self.groups))
        told = pairs.pop() if len(pairs) == 1 else each
        if many > 1 and len(self.victims) < many:
            users, listed = sum(self.groups[i].users for i in self.victims), ", ".join(map(str, self.victims))
            plural = "s" * (len(self.victims) > 1)
            return f"for the {users} users of group{plural} {listed} only, of {many} groups of {sizes} users{told}"
        if many > 1:
            return f"for every user of {many} groups of {sizes} users{told}"
        return f"for every user{told}"


def covering(boxes: list[dict[str, Any]], first: int, last: int, what: str) -> list[dict[str, Any]]:
    """Return boxes of numbers of users in their order, after a check that they cover all from the first to the last."""
    found = sorted(boxes, key=lambda box: int(box["from"]))
    good = [box["from"] for box in found] + [last + 1] == [first, *(box["to"] + 1 for box in found)]
    good = good and all(box["from"] <= box["to"] for box in found)
    require(found and good, f"{what}: boxes do not cover all counts", "invalid")
    return found


def drawn(check: Check, data: dict[str, Any], what: str) -> list[tuple[int, Number]]:
    """Return the inputs that others draw with their chances, after a check that these are those of a mean."""
    found = [(x, check.number(w)) for x, w in data["others"]]
    good = all(w > 0 for _, w in found) and len({x for x, _ in found}) == len(found) <= 64
    good = good and (not found or check.total(w for _, w in found) == 1)
    require(good, f"{what}: weights are not those of a mean", "invalid")
    return found


class At(NamedTuple):
    """A setting at a level: ``value`` is the delta that is claimed there, ``rate`` the sampling that evidence makes."""

    check: Check
    setting: Setting
    eps: str
    value: Number
    rate: fmpq = fmpq(1)

    @property
    def n(self) -> int:
        """The number of users."""
        return self.setting.n

    def only(self, what: str) -> Mechanism:
        """Return the mechanism that all users run, and take part with."""
        require(self.setting.everyone, f"{what}: evidence about users who all take part", "invalid")
        return self.common(what)

    def common(self, what: str) -> Mechanism:
        """Return the mechanism that all users run."""
        good = len(self.setting.groups) == 1 and self.setting.kept == 1
        require(good, f"{what}: evidence about users who all run one mechanism", "invalid")
        return self.setting.groups[0].mechanism

    def owner(self, data: dict[str, Any], what: str) -> Mechanism:
        """Return the mechanism that evidence below is about: a member of the budget, where that is the mechanism."""
        if "members" not in data:
            found = self.common(what)
            compared = "pair" not in data or found.is_compared((data["pair"][0], data["pair"][1]))
            require(compared, f"{what}: a pair that is not compared", "invalid")
            return found
        require(len(data["members"]) == 1, f"{what}: not one member")
        return next(members(self.check, data["members"], [self.common(what)], what))
