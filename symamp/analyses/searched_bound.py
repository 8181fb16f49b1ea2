"""A bound whose parts are too many to be evaluated one by one: a common ranking proposes the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from symamp.analyses.bound import ROUGH, Bound
from symamp.analyses.part import Part
from symamp.derivation.numeric_table import NumericTable
from symamp.evaluation.divergence import Settings
from symamp.evaluation.law import Level
from symamp.evaluation.work import is_spent

_MANY_MESSAGES = 32


def has_many_messages(table: NumericTable) -> bool:
    """Return whether the laws of a table have so many values that one evaluation may take long."""
    return len(table.messages) > _MANY_MESSAGES


class SearchedBound(Bound):
    """A bound with ``proposed`` parts for each level and number of users in place of a list of all."""

    @property
    def is_dear(self) -> bool:
        """Whether the laws have so many values that one evaluation may take long."""
        return False

    def proposed(self, level: Level, n: int) -> Sequence[Part]:
        """Return a few parts, among them those with the largest divergence by a rough ranking; at least one."""
        raise NotImplementedError

    def own(self, part: Part | None) -> Part | None:
        """Return the part for the pair of inputs of another bound's part, if the search is to begin with it."""
        return None

    def ranked(self, level: Level, n: int) -> tuple[Part, ...]:
        """Return the proposed parts, largest estimated divergence first."""
        return Bound.of(self.proposed(level, n)).ranked(level, n)

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: Part | None = None
    ) -> tuple[float, Part]:
        """Return (eps, part) with the largest estimated eps at which a part has divergence delta.

        What is proposed depends on eps: it is asked for again at each eps that is found. Where evaluations are dear
        only the one that is left is evaluated with more care than it takes to compare them.
        """
        if not self.is_dear:
            return self._compared(n, log_delta, settings, start, first)
        root, best = self._compared(n, log_delta, replace(settings, gap=max(settings.gap, ROUGH.gap)), start, first)
        return (best.root(n, log_delta, settings, root) if 0.0 < root < inf else root), best

    def _compared(
        self, n: int, log_delta: float, settings: Settings, start: float | None, first: Part | None
    ) -> tuple[float, Part]:
        root = 0.0 if start is None or start == inf else start
        tried: dict[object, Part] = {}
        best = self.own(first)
        if best is not None:
            tried[best.signature], root = best, best.root(n, log_delta, settings, start)
            best = best if 0.0 < root < inf else None
        while True:
            if best is not None and is_spent():
                return root, best
            proposed = self.proposed(Level.of_float(root), n)
            # Reversed: of parts that are alike the first is kept.
            new = {part.signature: part for part in reversed(proposed) if part.signature not in tried}
            new = dict(reversed(new.items()))
            if best is not None and (proposed[0].signature in tried or not new):
                return root, best
            tried.update(new)
            some = list(new.values()) if best is None else [best, *new.values()]
            before = root
            root, best = Bound.of(some).root(n, log_delta, settings, root or start, best or first)
            if 0.0 < root == before:  # what is proposed here is known
                return root, best
            if root in (0.0, inf):
                # At eps = 0 all candidates of the first ranking were compared.
                value = {id(p): p.log_estimate(Level.of_float(0.0), n, ROUGH) for p in some}
                return root, best if root == inf else max(some, key=lambda p: value[id(p)])
