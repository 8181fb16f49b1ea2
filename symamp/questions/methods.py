"""The bounds that ``method=`` can name, one line each, in groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symamp.bounds.bound import Bound
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.registry import BOUNDS
from symamp.errors import checked_call
from symamp.questions.bracket import ShownAsTable

_GROUPS = {
    "default": "proved, and tried where no method is named; the least of them is the answer",
    "proved": "proved, and computed where they are named",
    "approximations": "not proved; computed for comparison, shown as answer.claimed",
    "refuted": "false in places; computed for comparison, shown as answer.claimed",
}


def _group(bound: Bound) -> str:
    if bound.proof_status.is_guarantee:
        return "proved" if bound.rank is None else "default"
    return "refuted" if bound.proof_status is ProofStatus.REFUTED else "approximations"


@dataclass(frozen=True, repr=False)
class Methods(ShownAsTable):
    """All methods by group: iteration and ``rows`` give (group, name, what it is, where it is stated).

    >>> import symamp as sa
    >>> [name for group, name, *_ in sa.methods() if group == "refuted"]
    ['variation_ratio_2023']
    """

    found: tuple[Bound, ...]

    columns = ("group", "method", "what it is", "source")

    @property
    def groups(self) -> dict[str, tuple[Bound, ...]]:
        """The bounds of each group that is not empty."""
        listed = {group: tuple(b for b in self.found if _group(b) == group) for group in _GROUPS}
        return {group: bounds for group, bounds in listed.items() if bounds}

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield one row for each method."""
        return ((g, b.name, b.summary, b.source) for g, bounds in self.groups.items() for b in bounds)

    def __iter__(self) -> Iterator[tuple[str, str, str, str]]:
        return self.rows()

    def __len__(self) -> int:
        return len(self.found)

    def _title(self) -> str:
        return f"{len(self)} methods"

    def __str__(self) -> str:
        width = max(len(bound.name) for bound in self.found)
        lines = []
        for group, bounds in self.groups.items():
            lines.append(f"{group}: {_GROUPS[group]}")
            lines += [f"  {bound.name:<{width}}  {bound.summary}" for bound in bounds]
        return "\n".join(lines)


@checked_call
def methods() -> Methods:
    """Return the bounds that ``method`` can name in ``epsilon``, ``delta`` and ``profile``, in groups.

    ``print`` shows one line for each; on the command line, ``symamp methods`` and ``symamp epsilon --help`` do.

    >>> import symamp as sa
    >>> print(sa.methods())
    default: proved, and tried where no method is named; the least of them is the answer
      blanket                optimal decomposition of each pair of inputs
      ...
    proved: proved, and computed where they are named
      ...
    """
    return Methods(tuple(BOUNDS.values()))
