"""Which mechanism: a list of them at equal central privacy, ranked by the error of what is estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, ClassVar

import sympy as sp
from rich.console import Console
from rich.table import Table

from symamp.bounds.subject import Subject
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, Problem, shown
from symamp.numbers.reading import users
from symamp.numbers.surroundings import undisturbed
from symamp.questions.bracket import ShownAsTable, cell
from symamp.questions.inverse import Inverse, largest_eps0
from symamp.randomizers.mechanism import UTILITIES, variance_of


@dataclass(frozen=True)
class Candidate:
    """A mechanism at the largest eps0 that is proved to be private, and what it costs there.

    ``variance`` is that of the estimate from n reports and ``bits`` the length of a message (None: not counted), both
    floats for comparison. ``is_efficient``: no other candidate is better in one of the two and as good in the other.

    >>> import symamp as sa
    >>> found = sa.choose([sa.RandomizedResponse(k=4)], n=10**5, eps="0.1", delta="1e-6", method="blanket").best
    >>> found.eps0 == found.budget.lower, found.bits
    (True, 2.0)
    """

    name: str
    budget: Inverse = field(repr=False)
    variance: float
    bits: float | None
    is_efficient: bool = True

    @property
    def eps0(self) -> float:
        """The local budget, proved to be private."""
        return self.budget.safe

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return float(self.variance**0.5)


@dataclass(frozen=True, repr=False)
class Ranking(ShownAsTable):
    """Candidates in the order of their variances.

    >>> import symamp as sa
    >>> families = [sa.RandomizedResponse(k=10), sa.UnaryEncoding.oue(D=10)]
    >>> found = sa.choose(families, n=10**6, eps="0.1", delta="1e-8", method="blanket")
    >>> found.best.name
    'RandomizedResponse(k=10, eps0=eps0)'
    """

    utility: str
    asked: tuple[tuple[str, str], ...]
    candidates: tuple[Candidate, ...]

    columns = ("mechanism", "eps0", "eps0 at most", "standard deviation", "bits", "Pareto-optimal")
    _ends: ClassVar[Mapping[str, bool]] = {"eps0": True, "eps0 at most": False}

    @property
    def best(self) -> Candidate:
        """The candidate with the least variance."""
        return self.candidates[0]

    def rows(self) -> list[tuple[object, ...]]:
        """Return (name, eps0, where it is proved not to be private, standard deviation, bits, efficient) for each."""
        return [(c.name, c.eps0, c.budget.upper, c.standard_deviation, c.bits, c.is_efficient) for c in self.candidates]

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking for machines."""
        rows = [[str(x) if x == float("inf") else x for x in row] for row in self.rows()]
        return {"utility": self.utility, **dict(self.asked), "columns": list(self.columns), "rows": rows}

    def plot(self, ax: Any = None) -> Any:
        """Draw the standard deviation of each candidate over the length of its message; return the Axes.

        Candidates whose messages are not counted are left out.
        """
        ax = axes_for(ax)
        for c in self.candidates:
            if c.bits is not None:
                label = f"{c.name}, ε₀ = {c.eps0:.4g}"
                ax.plot([c.bits], [c.standard_deviation], "o" if c.is_efficient else "x", label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("bits of a message")
        ax.set_ylabel(f"standard deviation ({self.utility})")
        ax.set_title(self._title(), fontsize="small")
        ax.legend(fontsize="small")
        return ax

    def table(self) -> Table:
        """Return a table for rich."""
        table = Table(*self.columns, title=self._title())
        for row in self.rows():
            table.add_row(*(cell(x, self._ends.get(c)) for x, c in zip(row, self.columns, strict=True)))
        return table

    def _title(self) -> str:
        return f"{self.utility} at {', '.join(f'{k} = {v}' for k, v in self.asked)}"

    def __str__(self) -> str:
        out = StringIO()
        Console(file=out, width=140, color_system=None).print(self.table())
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


@undisturbed()
def choose(
    families: Sequence[Subject] | Mapping[str, Subject],
    *,
    n: object,
    eps: object,
    delta: object,
    utility: str = "frequency",
    method: str | None = None,
    effort: str = "default",
) -> Ranking:
    """Return the families at the largest eps0 at which n users are proved (eps, delta)-private, best estimate first.

    ``families`` have eps0 free and all else fixed. ``utility`` is "frequency" (of a rare input) or "mean" (of numbers
    in [0, 1]); variances and message lengths are formulas at that eps0, see ``symamp.randomizers.mechanism``. The other
    arguments are those of ``largest_eps0``. Raises what it raises, and SupportMismatchError for a family without this
    utility.

    Guarantee
    ---------
    Each family is (eps, delta)-private at its ``eps0`` and not at ``budget.upper``. Proof:
    docs/proofs/inverse_questions.md. Variances and lengths are exact formulas, evaluated in floats.

    >>> import symamp as sa
    >>> found = sa.choose([sa.RandomizedResponse(k=4), sa.HadamardResponse(K=8)], n=10**5, eps="0.1", delta="1e-6")
    >>> [c.bits for c in found.candidates]
    [2.0, 3.0]
    """
    named = dict(families) if isinstance(families, Mapping) else {shown(m): m for m in families}
    if not named:
        raise ArgumentError("families", Problem("there is none"), "give at least one family with eps0 free")
    if utility not in UTILITIES:
        raise ArgumentError("utility", utility, f"one of {', '.join(UTILITIES)}")
    for family in named.values():
        variance_of(family, utility)  # refused before anything is evaluated
    count = users(n)
    found = []
    for name, family in named.items():
        budget = largest_eps0(family, n=n, eps=eps, delta=delta, method=method, effort=effort)
        member: Any = family.at(eps0=budget.safe)  # type: ignore[attr-defined]
        bits = member.message_bits()
        variance = float(sp.N(variance_of(member, utility), 17)) / count
        found.append((name, budget, variance, None if bits is None else float(sp.N(bits, 17))))
    found.sort(key=lambda c: (c[2], c[3] is None, c[3] or 0.0))
    candidates: list[Candidate] = []
    for name, budget, variance, bits in found:
        shorter = [c for c in candidates if c.bits is not None and (bits is None or c.bits <= bits)]
        candidates.append(Candidate(name, budget, variance, bits, not shorter))
    return Ranking(utility, (("n", str(n)), ("eps", str(eps)), ("delta", str(delta))), tuple(candidates))
