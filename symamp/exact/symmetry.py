"""Symmetries of a mechanism, and data sets up to symmetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

Permutation = tuple[int, ...]
Counts = tuple[int, ...]
_Point = TypeVar("_Point", bound=Hashable)

_MOST_STEPS = 5_000_000
"""Entries looked at in one search for symmetries. What is not found until then only costs time later."""


class Symmetries:
    """Permutations of the inputs that only permute the columns, i.e. amount to renaming the messages.

    ``columns`` list the probability of a message on each input. The group is known by generators: exchanges of two
    inputs that can be exchanged, and what a search with backtracking finds beyond them.

    >>> cyclic = Symmetries([(5, 2, 1), (1, 5, 2), (2, 1, 5)])
    >>> cyclic.generators()
    ((1, 2, 0),)
    >>> Symmetries([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).generators()
    ((1, 0, 2), (0, 2, 1))
    """

    def __init__(self, columns: Sequence[Sequence[Hashable]]) -> None:
        names: dict[Hashable, int] = {}
        self._columns = [tuple(names.setdefault(entry, len(names)) for entry in column) for column in columns]
        self.inputs = len(columns[0])
        self._alike = self._interchangeable()
        self._beyond = self._search((0,) * self.inputs)

    def generators(self, colours: Sequence[int] | None = None) -> tuple[Permutation, ...]:
        """Return generators of the group, or of the symmetries that keep the colour of every input."""
        if colours is None:
            return (*self._exchanges((0,) * self.inputs), *self._beyond)
        return (*self._exchanges(colours), *(self._search(colours) if self._beyond else ()))

    def count(self, users: int) -> int:
        """Return how many data sets there are up to the order of users and exchanges of inputs."""
        ways = [1] + [0] * users
        for members in self._members():
            for part in range(1, len(members) + 1):  # partitions into at most so many parts
                for total in range(part, users + 1):
                    ways[total] += ways[total - part]
        return ways[users]

    def representatives(self, users: int) -> Iterator[Counts]:
        """Yield how many of the users hold each input, one tuple from each class under the group: the largest.

        >>> list(Symmetries([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).representatives(3))
        [(3, 0, 0), (2, 1, 0), (1, 1, 1)]
        """
        seen: set[Counts] = set()
        for counts in sorted(_spread(users, self._members(), self.inputs), reverse=True):
            if counts not in seen:
                yield counts
                if self._beyond:
                    seen |= _orbit([counts], self._beyond, self._moved)

    def pair_representatives(self, counts: Counts) -> Iterator[tuple[int, int]]:
        """Yield ordered pairs of different inputs, one from each class under the symmetries that keep the counts.

        >>> list(Symmetries([(3, 1, 1), (1, 3, 1), (1, 1, 3)]).pair_representatives((2, 0, 0)))
        [(0, 1), (1, 0), (1, 2)]
        """
        stabiliser = self.generators(counts)
        seen: set[tuple[int, int]] = set()
        for pair in ((x0, x1) for x0 in range(self.inputs) for x1 in range(self.inputs) if x0 != x1):
            if pair not in seen:
                yield pair
                seen |= _orbit([pair], stabiliser, lambda p, images: (images[p[0]], images[p[1]]))

    def _interchangeable(self) -> tuple[int, ...]:
        """Return for each input the first one that it can be exchanged with, all others kept."""
        columns = Counter(self._columns)
        alike: list[int] = []
        for x in range(self.inputs):
            firsts = (y for y in dict.fromkeys(alike) if Counter(_swapped(c, x, y) for c in self._columns) == columns)
            alike.append(next(firsts, x))
        return tuple(alike)

    def _members(self) -> list[list[int]]:
        return [[x for x in range(self.inputs) if self._alike[x] == first] for first in dict.fromkeys(self._alike)]

    def _exchanges(self, colours: Sequence[int]) -> list[Permutation]:
        """Return exchanges of inputs of one colour that can be exchanged, each with the next one."""
        last: dict[tuple[int, int], int] = {}
        found = []
        for x, kind in enumerate(zip(self._alike, colours, strict=True)):
            if kind in last:
                found.append(_swapped(tuple(range(self.inputs)), last[kind], x))
            last[kind] = x
        return found

    def _moved(self, counts: Counts, images: Permutation) -> Counts:
        """Return the largest counts that exchanges make of the permuted ones."""
        moved = [0] * self.inputs
        for members in self._members():
            for x, c in zip(members, sorted((counts[images[x]] for x in members), reverse=True), strict=True):
                moved[x] = c
        return tuple(moved)

    def _search(self, colours: Sequence[int]) -> list[Permutation]:
        """Return what generates, with the exchanges, all symmetries that keep the colours.

        For each i from the last on, and each j, one symmetry is sought that keeps the inputs before i and takes i to j,
        unless those known give or exclude it: a chain of stabilisers (Sims 1970).
        """
        search = _Search(self._columns, colours)
        exchanges = self._exchanges(colours)
        found: list[Permutation] = []
        for i in reversed(range(self.inputs)):
            deeper = [*found, *(g for g in exchanges if g[: i + 1] == tuple(range(i + 1)))]
            here = [*deeper, *(g for g in exchanges if g[:i] == tuple(range(i)) and g[i] != i)]
            reached, excluded = _orbit([i], here, _image), set[int]()
            for j in range(i + 1, self.inputs):
                if j in reached or j in excluded:
                    continue
                symmetry = search.taking(i, j)
                if symmetry is None:
                    excluded |= _orbit([j], deeper, _image)
                else:
                    found.append(symmetry)
                    here.append(symmetry)
                    reached = _orbit([i], here, _image)
        return found


class _Search:
    """Backtracking over images of the inputs, one after another, by the multiset of beginnings of columns."""

    def __init__(self, columns: Sequence[Sequence[int]], colours: Sequence[int]) -> None:
        self._entries = list(zip(*columns, strict=True))
        self._colours = colours
        self._steps = 0
        self._beginnings = [[0] * len(columns)]
        self._names: list[tuple[dict[tuple[int, int], int], Counter[int | None]]] = []
        for entries in self._entries:
            longer = list(zip(self._beginnings[-1], entries, strict=True))
            names = {pair: i for i, pair in enumerate(dict.fromkeys(longer))}
            self._beginnings.append([names[pair] for pair in longer])
            self._names.append((names, Counter(self._beginnings[-1])))

    def taking(self, i: int, j: int) -> Permutation | None:
        """Return a symmetry that keeps the inputs before i and takes i to j, if one is found."""
        return self._extended(tuple(range(i)), self._beginnings[i], (j,))

    def _extended(self, images: Permutation, beginnings: list[int], candidates: Iterable[int]) -> Permutation | None:
        level = len(images)
        names, sizes = self._names[level]
        for image in candidates:
            if image in images or self._colours[image] != self._colours[level] or self._steps > _MOST_STEPS:
                continue
            self._steps += len(beginnings)
            longer = [names.get(pair, -1) for pair in zip(beginnings, self._entries[image], strict=True)]
            if Counter(longer) == sizes:
                if level + 1 == len(self._entries):
                    return (*images, image)
                found = self._extended((*images, image), longer, (level + 1, *range(len(self._entries))))
                if found is not None:
                    return found
        return None


def _orbit(
    start: Iterable[_Point], generators: Sequence[Permutation], act: Callable[[_Point, Permutation], _Point]
) -> set[_Point]:
    seen = set(start)
    waiting = list(seen)
    while waiting:
        point = waiting.pop()
        for images in generators:
            moved = act(point, images)
            if moved not in seen:
                seen.add(moved)
                waiting.append(moved)
    return seen


def _image(x: int, images: Permutation) -> int:
    return images[x]


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
