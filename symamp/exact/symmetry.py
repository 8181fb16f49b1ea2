"""Inputs that can be exchanged in a mechanism, and data sets up to such exchanges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

Counts = tuple[int, ...]


class Exchanges:
    """Exchanges of two inputs that only permute the columns, i.e. amount to renaming the messages.

    ``columns`` list the probability of a message on each input. ``alike`` names for each input the first one that it
    can be exchanged with. Other symmetries, such as cyclic ones, are not looked for: without them more is examined.

    >>> Exchanges([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).alike, Exchanges([(5, 2, 1), (1, 5, 2), (2, 1, 5)]).alike
    ((0, 0, 0), (0, 1, 2))
    """

    def __init__(self, columns: Sequence[Sequence[Hashable]]) -> None:
        names: dict[Hashable, int] = {}
        numbered = [tuple(names.setdefault(entry, len(names)) for entry in column) for column in columns]
        every, alike = Counter(numbered), list[int]()
        for x in range(len(columns[0])):
            firsts = (y for y in dict.fromkeys(alike) if Counter(_swapped(c, x, y) for c in numbered) == every)
            alike.append(next(firsts, x))
        self.alike = tuple(alike)

    @property
    def _members(self) -> list[list[int]]:
        return [[x for x, first in enumerate(self.alike) if first == one] for one in dict.fromkeys(self.alike)]

    def count(self, users: int) -> int:
        """Return how many data sets there are up to the order of users and exchanges of inputs."""
        ways = [1] + [0] * users
        for members in self._members:
            for part in range(1, len(members) + 1):  # partitions into at most so many parts
                for total in range(part, users + 1):
                    ways[total] += ways[total - part]
        return ways[users]

    def representatives(self, users: int) -> list[Counts]:
        """Return how many of the users hold each input, one tuple for all that exchanges make of it: the largest.

        >>> Exchanges([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).representatives(3)
        [(3, 0, 0), (2, 1, 0), (1, 1, 1)]
        """
        return sorted(_spread(users, self._members, len(self.alike)), reverse=True)

    def pair_representatives(self, counts: Counts) -> Iterator[tuple[int, int]]:
        """Yield ordered pairs of different inputs, one for all that exchanges which keep the counts make of it.

        >>> list(Exchanges([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).pair_representatives((2, 0, 0)))
        [(0, 1), (1, 0), (1, 2)]
        """
        kinds: dict[tuple[int, int], list[int]] = {}
        for x, kind in enumerate(zip(self.alike, counts, strict=True)):
            kinds.setdefault(kind, []).append(x)
        for first in kinds.values():
            for other in kinds.values():
                if other is not first:
                    yield first[0], other[0]
                elif len(first) > 1:
                    yield first[0], first[1]


def _swapped(values: tuple[int, ...], x: int, y: int) -> tuple[int, ...]:
    changed = list(values)
    changed[x], changed[y] = changed[y], changed[x]
    return tuple(changed)


def _spread(users: int, groups: Sequence[Sequence[int]], inputs: int) -> Iterator[Counts]:
    """Yield the counts of so many users, not increasing inside a group."""

    def filled(left: int, rest: Sequence[Sequence[int]], counts: dict[int, int]) -> Iterator[Counts]:
        if not rest:
            yield tuple(counts[x] for x in range(inputs))
            return
        for here in (left,) if len(rest) == 1 else range(left + 1):
            for parts in _partitions(here, len(rest[0]), here):
                yield from filled(left - here, rest[1:], counts | dict(zip(rest[0], parts, strict=True)))

    return filled(users, groups, {})


def _partitions(total: int, parts: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the tuples that do not increase, of so many nonnegative integers up to ``most`` with the given sum."""
    if total == 0:
        yield (0,) * parts
    elif total <= parts * most:
        for first in range(min(total, most), 0, -1):
            for rest in _partitions(total - first, parts - 1, first):
                yield first, *rest
