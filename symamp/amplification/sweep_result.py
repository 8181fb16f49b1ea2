"""The result of a sweep: brackets as arrays over mechanisms, local budgets, users and what was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symamp.amplification.shown import ShownAsTable
from symamp.amplification.sweep_file import Finished
from symamp.derivation.axes import axes_for
from symamp.errors import ArgumentError, ContradictionError
from symamp.numbers.exact_number import exact_number

_APART = 1e-12
"""Numbers of users, or others that were given, that are no more apart are not compared: doubles do not tell which is
the larger."""
Axes = tuple[tuple[str, ...], tuple[str | None, ...], tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(ShownAsTable):
    """Certified brackets of ``quantity`` ("epsilon" or "delta"), arrays of the shape (mechanism, eps0, n, given).

    ``given`` are the deltas, or the eps, as they were written; ``eps0`` is (None,) where the mechanisms bring their
    own. The ends are doubles rounded outward; ``log10_lower`` and ``log10_upper`` are right also far below the
    smallest double. Plain data: it can be pickled and compared.

    >>> import symamp as sa
    >>> found = sa.sweep({"3-RR": sa.RandomizedResponse(k=3)}, eps0=[1, 2], n=1000, eps="0.1")
    >>> print(found)
    sweep of 2 certified brackets of delta: 1 mechanisms, 2 eps0, 1 n, 1 eps
    >>> list(found.rows())[0][:4]
    ('3-RR', '1', 1000, '0.1')
    """

    quantity: str
    mechanisms: tuple[str, ...]
    eps0: tuple[str | None, ...]
    n: tuple[int, ...]
    given: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    log10_lower: NDArray[np.float64]
    log10_upper: NDArray[np.float64]
    methods: NDArray[np.str_]

    def __post_init__(self) -> None:
        """Raise ContradictionError where brackets contradict, at one point or two.

        Neither more users nor a larger number that was given raises the truth.
        """
        for place in np.ndindex(self.lower.shape):
            j, i, k, g = place
            for along, values in (((j, i, slice(None), g), self.n), ((j, i, k, slice(None)), self.given)):
                here = _number(values[place[2 if values is self.n else 3]])
                earlier = np.array([_number(x) * (1.0 + _APART) < here for x in values])
                least = self.upper[along][earlier].min(initial=self.upper[place])
                if not 0.0 <= self.lower[place] <= least:
                    asked = f"{self.mechanisms[j]}, eps0 = {self.eps0[i]}, n = {self.n[k]}, {self.given[g]}"
                    told = f"at least {self.lower[place]!r} and at most {least!r}"
                    raise ContradictionError(f"{self.quantity} of {asked}", told)

    @staticmethod
    def of(quantity: str, axes: Axes, found: Mapping[tuple[int, ...], Finished]) -> Sweep:
        """Return the result with the brackets at their places."""
        shape = tuple(len(a) for a in axes)
        places = list(product(*(range(size) for size in shape)))
        columns = [np.array([found[p][k] for p in places]).reshape(shape) for k in range(len(Finished._fields))]
        return Sweep(quantity, *axes, *columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what ``rows`` gives."""
        given = "delta" if self.quantity == "epsilon" else "eps"
        return "mechanism", "eps0", "n", given, "lower", "upper", "log10_lower", "log10_upper", "method"

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield one row for each point, in the order of the axes; numbers that were given, as they were written."""
        arrays = (self.lower, self.upper, self.log10_lower, self.log10_upper)
        for place in np.ndindex(self.lower.shape):
            j, i, k, g = place
            point = self.mechanisms[j], self.eps0[i], self.n[k], self.given[g]
            yield (*point, *(float(a[place]) for a in arrays), str(self.methods[place]))

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep for machines: {"quantity", "columns", "rows"}, infinities as "inf" and "-inf"."""
        rows = [[str(x) if isinstance(x, float) and not np.isfinite(x) else x for x in row] for row in self.rows()]
        return {"quantity": self.quantity, "columns": list(self.columns), "rows": rows}

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw each bracket as a band over ``x``, one of "eps0", "n" and "given", on log axes; return the Axes.

        By default ``x`` is the longest axis. One band is drawn for each combination of the others. Raises ArgumentError
        for another ``x``, and for "eps0" where no local budget was given.
        """
        names = ("mechanisms", "eps0", "n", "given")
        known = names[1 + (None in self.eps0) :]
        if x is not None and x not in known:
            raise ArgumentError("x", x, f"one of {', '.join(known)}")
        ax = axes_for(ax)
        along = names.index(x or max(known, key=lambda name: self.lower.shape[names.index(name)]))
        values = [self.eps0, self.n, self.given][along - 1]
        places = np.array([_number(v) for v in values])
        order = np.argsort(places)
        labels = (self.mechanisms, *(tuple(map(str, axis)) for axis in (self.eps0, self.n, self.given)))
        for rest in product(*(range(size if a != along else 1) for a, size in enumerate(self.lower.shape))):
            cut = tuple(slice(None) if a == along else i for a, i in enumerate(rest))
            said = [labels[a][i] for a, i in enumerate(rest) if a != along and (a == 0 or len(labels[a]) > 1)]
            low, high = (10.0 ** a[cut][order] for a in (self.log10_lower, self.log10_upper))
            seen = np.isfinite(high) & (high > 0)
            (drawn,) = ax.plot(places[order][seen], high[seen], linewidth=1, label=", ".join(said))
            floor = np.where(low > 0, low, high[seen].min() if seen.any() else 1.0)
            ax.fill_between(
                places[order][seen], floor[seen], high[seen], alpha=0.3, color=drawn.get_color(), linewidth=0
            )
        ax.set_xscale("log" if (places > 0).all() else "linear")
        ax.set_yscale("log")
        ax.set_xlabel({1: "local ε₀", 2: "users n", 3: "δ" if self.quantity == "epsilon" else "central ε"}[along])
        ax.set_ylabel("central ε" if self.quantity == "epsilon" else "δ")
        ax.legend()
        return ax

    def __len__(self) -> int:
        return self.lower.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sweep):
            return NotImplemented
        mine, theirs = (
            (s.quantity, s.mechanisms, s.eps0, s.n, s.given, *(a.tobytes() for a in (s.log10_lower, s.log10_upper)))
            for s in (self, other)
        )
        ends = all(np.array_equal(getattr(self, a), getattr(other, a)) for a in ("lower", "upper", "methods"))
        return mine == theirs and ends

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        sizes = zip(self.lower.shape, ("mechanisms", "eps0", "n", self.columns[3]), strict=True)
        return f"sweep of {len(self)} certified brackets of {self.quantity}: {', '.join(f'{k} {a}' for k, a in sizes)}"


def _number(value: object) -> float:
    """Return a number that was given as text as a float, for drawing."""
    return float(exact_number(str(value), "value"))
