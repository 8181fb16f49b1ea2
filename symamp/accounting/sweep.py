"""Sweeps: all combinations of mechanisms, budgets, numbers of users and deltas, resumable, on any executor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from symamp.accounting.coordinates import COORDINATES, MESSAGES
from symamp.accounting.privacy_profile import profile as profile_of
from symamp.bounds.subject import Subject
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, ContradictionError, FormatError, Problem, checked_call, one_of, shown
from symamp.numbers.limits import checked_effort
from symamp.numbers.reading import Count, Real, asked, budget, exact_number, failure_probability, relative_gap, users
from symamp.questions.bracket import APART, ShownAsTable
from symamp.settings.participation import Participation
from symamp.settings.question import Question

# --------------- Finished points of a sweep in a file, one JSON object a line: what was written is never computed again

_VERSION = 2
"""Of what a finished point holds: points of other versions are asked again."""


class Finished(NamedTuple):
    """A bracket as it is kept: its ends, their decimal logarithms, and the analysis behind the upper end."""

    lower: float
    upper: float
    log10_lower: float
    log10_upper: float
    method: str


def _plain(value: Any) -> Any:
    """Return the key of a mechanism with those of its parts: its text may be that of another table."""
    key = getattr(value, "key", None)
    if callable(key):
        return tuple(_plain(part) for part in key())
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, Mapping):
        return tuple(sorted((str(k), _plain(v)) for k, v in value.items()))
    decomposition = getattr(value, "decomposition", None)
    return repr(value if decomposition is None else (decomposition.components, decomposition.singular))


class SweepFile:
    """The points that a file holds, and the place to add others; without a file nothing is kept.

    Raises FormatError for a file that cannot be read or written, or holds anything else. A last line that is not
    complete was being written when the process ended: it is left out.
    """

    def __init__(self, file: str | PathLike[str] | None) -> None:
        if not isinstance(file, str | PathLike | None):
            raise FormatError("file", file, "a path, or None")
        self.path = None if file is None else Path(file)
        self.known: dict[str, Finished] = {}
        self._stream: IO[str] | None = None
        self._torn = False
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            wrong = Problem(f"{path} cannot be read: {type(error).__name__}")
            raise FormatError("file", wrong, "name another file") from None
        lines = text.split("\n")
        self._torn = lines[-1] != ""
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                row = json.loads(line)
                low, high, log_low, log_high = (float.fromhex(row[name]) for name in Finished._fields[:4])
                self.known[str(row["point"])] = Finished(low, high, log_low, log_high, str(row["method"]))
            except (ValueError, KeyError, TypeError):
                # A line that was torn stays as it is; what follows it starts on a line of its own.
                if number < len(lines) and not line.startswith('{"point": "'):
                    wrong = Problem(f"line {number} of {path} is no point of a sweep")
                    raise FormatError("file", wrong, "delete it, or name another file") from None

    def keep(self, point: str, found: Finished) -> None:
        """Add a point, at once on disk as far as the system promises that."""
        self.known[point] = found
        if self.path is None:
            return
        if self._stream is None:
            try:
                self._stream = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
            except OSError as error:
                wrong = Problem(f"{self.path} cannot be written: {error.strerror}")
                raise FormatError("file", wrong, "name another file") from None
            if self._torn:
                self._stream.write("\n")
        ends = {name: float(value).hex() for name, value in zip(Finished._fields[:4], found[:4], strict=True)}
        self._stream.write(json.dumps({"point": point, **ends, "method": found.method}) + "\n")
        self._stream.flush()

    def __enter__(self) -> SweepFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


# ------------------- The result of a sweep: brackets as arrays over mechanisms, local budgets, users and what was given

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

    _internal_names = "of"

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
                earlier = np.array([_number(x) * (1.0 + APART) < here for x in values])
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
            raise ArgumentError("x", x, one_of(known, x))
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
        return (self.quantity, [*self.rows()]) == (other.quantity, [*other.rows()])

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        sizes = zip(self.lower.shape, ("mechanisms", "eps0", "n", self.columns[3]), strict=True)
        return f"sweep of {len(self)} certified brackets of {self.quantity}: {', '.join(f'{k} {a}' for k, a in sizes)}"


def _number(value: object) -> float:
    """Return a number that was given as text as a float, for drawing."""
    return float(exact_number(str(value), "value"))


# ------------------- Many questions at once: mechanisms by local budgets by users by deltas, resumable, on any executor

_MOST_POINTS, _GAP = 1_000_000, 1e-4
"""Of a grid, which is kept in memory; and the relative gap where it is not said."""
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class Task:
    """All questions about one mechanism with one local budget and one number of users: its profile is made once."""

    subject: Any
    n: int
    quantity: str
    given: tuple[str, ...]
    method: str | None
    gap: Real | None
    effort: str = "default"
    setting: tuple[Participation | None, str] = (None, MESSAGES)

    def known_by(self, given: str) -> str:
        """Return what a point is known by: equal for equal questions about equal mechanisms, in every process.

        >>> import symamp as sa
        >>> one, two = (Task(sa.RandomizedResponse(k=2, eps0=1), 100, "epsilon", (), None, 1e-4) for _ in range(2))
        >>> one.known_by("1e-6") == two.known_by("1e-6")
        True
        """
        about = () if self.setting == (None, MESSAGES) else self.setting
        asked = self.n, self.quantity, given, self.method, self.gap, self.effort
        return sha256(repr((_VERSION, _plain(self.subject), *asked, *about)).encode()).hexdigest()

    def solved(self) -> list[Finished]:
        """Return the bracket for each value that is given."""
        taking, view = self.setting
        profile: Any = profile_of(self.subject, n=self.n, method=self.method, participation=taking, view=view)
        ask = profile.epsilon if self.quantity == "epsilon" else profile.delta
        answers = (ask(value, gap=self.gap, effort=self.effort) for value in self.given)
        return [Finished(a.lower, a.upper, a.log10_lower, a.log10_upper, a.method) for a in answers]


def solve(task: Task) -> list[Finished]:
    """Return the brackets of a task: what an executor runs. Threads of one process take turns.

    Balls have one working precision for a whole process: two threads would change it for each other.
    """
    with _ONE_AT_A_TIME:
        return task.solved()


@checked_call
def sweep(
    mechanisms: Subject | Sequence[Subject] | Mapping[str, Subject],
    *,
    n: Count | Sequence[Count],
    eps0: Real | Sequence[Real] | None = None,
    delta: Real | Sequence[Real] | None = None,
    eps: Real | Sequence[Real] | None = None,
    method: str | None = None,
    gap: Real | None = None,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
    executor: Executor | None = None,
    file: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Return certified brackets of epsilon (``delta`` given) or of delta (``eps`` given) for all combinations.

    ``mechanisms`` is one, a list, or {name: mechanism}; ``eps0``, ``n`` and ``delta`` or ``eps`` are numbers or lists.
    ``eps0`` fills in the free budget of the mechanisms; leave it out for mechanisms that have one. ``gap`` (1e-4 by
    default), ``effort``, ``participation`` and ``view`` are those of each question. ``file`` stores finished points,
    one JSON object a line; they are not computed again, even after the process was killed. ``executor`` is any
    ``concurrent.futures`` executor: threads, processes, or Dask's ``Client.get_executor()``. ``progress`` shows a bar
    on standard error, by default if that is a terminal.

    Raises what the questions raise, with finished points stored; ArgumentError for other arguments, FormatError for a
    file that is not of a sweep.

    Guarantee
    ---------
    Each bracket is that of ``symamp.epsilon`` or ``symamp.delta`` for its point.
    Proof: docs/proofs/blanket_reduction.md, docs/proofs/inversion.md.

    >>> import symamp as sa
    >>> found = sa.sweep([sa.RandomizedResponse(k=3), sa.RandomizedResponse(k=10)], eps0=[1, 2], n=[10**4], delta=1e-6)
    >>> found.upper.shape, bool((found.lower <= found.upper).all())
    ((2, 2, 1, 1), True)
    """
    named = _named(mechanisms)
    quantity, given = _given(delta, eps)
    counts = tuple(users(x) for x in listed_values(n, "n"))
    budgets: tuple[object, ...] = (None,) if eps0 is None else _budgets(eps0)
    written = tuple(None if b is None else str(b) for b in budgets)
    axes = (tuple(named), written, counts, given)
    if np.prod([len(a) for a in axes]) > _MOST_POINTS:
        raise ArgumentError("sweep", Problem("it has too many points"), f"ask for at most {_MOST_POINTS:,}")
    if gap is None and view != COORDINATES:
        gap = _GAP
    checked = None if gap is None else relative_gap(gap), checked_effort(effort), (participation, view)
    subjects = {(name, i): _at(m, b) for name, m in named.items() for i, b in enumerate(budgets)}
    if executor is not None and not hasattr(executor, "submit"):
        raise ArgumentError("executor", type(executor).__name__, "an executor of concurrent.futures, or None")
    kept = SweepFile(file)
    found: dict[tuple[int, ...], Finished] = {}
    open_tasks: list[tuple[dict[tuple[int, ...], str], Task]] = []
    for (j, name), (i, _), (k, count) in product(enumerate(named), enumerate(budgets), enumerate(counts)):
        task = Task(subjects[name, i], count, quantity, given, method, *checked)
        keys: dict[tuple[int, ...], str] = {(j, i, k, g): task.known_by(value) for g, value in enumerate(given)}
        found |= {place: kept.known[key] for place, key in keys.items() if key in kept.known}
        if left := {place: key for place, key in keys.items() if place not in found}:
            open_tasks.append((left, replace(task, given=tuple(given[place[-1]] for place in left))))
    with kept, _bar(progress) as bar:
        line = bar.add_task("points", total=sum(len(left) for left, _ in open_tasks))
        for number, results in _solved([task for _, task in open_tasks], executor):
            for (place, key), result in zip(open_tasks[number][0].items(), results, strict=True):
                found[place] = result
                kept.keep(key, result)
            bar.advance(line, len(results))
    return Sweep.of(quantity, axes, found)


@checked_call
def curve(
    mechanism: Subject,
    *,
    n: Count | Sequence[Count],
    eps: Real | Sequence[Real] | None = None,
    delta: Real | Sequence[Real] | None = None,
    method: str | None = None,
    gap: Real | None = None,
    effort: str = "default",
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Sweep:
    """Return certified brackets of delta over a list of eps, or of epsilon over a list of delta, for each n of a list.

    The arguments, and what is raised, are those of ``sweep``.

    >>> import symamp as sa
    >>> found = sa.curve(sa.RandomizedResponse(k=3, eps0=1), n=[1000, 10000], eps=[0.05, 0.1])
    >>> found.upper[0, 0].shape, found.quantity
    ((2, 2), 'delta')
    """
    asked: dict[str, Any] = {"method": method, "gap": gap, "effort": effort, "view": view}
    return sweep(mechanism, n=n, eps=eps, delta=delta, participation=participation, progress=False, **asked)


def _solved(tasks: Sequence[Task], executor: Executor | None) -> Iterator[tuple[int, list[Finished]]]:
    if executor is None:
        yield from ((place, solve(task)) for place, task in enumerate(tasks))
        return
    places = {executor.submit(solve, task): place for place, task in enumerate(tasks)}
    try:
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        for future in places:
            future.cancel()


def _bar(progress: bool | None) -> Progress:
    console = Console(stderr=True)
    shown = console.is_terminal if progress is None else progress
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not shown)


def _named(mechanisms: Any) -> dict[str, Subject]:
    if isinstance(mechanisms, Mapping):
        return {str(name): m for name, m in mechanisms.items()}
    listed = list(mechanisms) if isinstance(mechanisms, list | tuple) else [mechanisms]
    named = {shown(m): m for m in listed}
    if not listed or len(named) < len(listed):
        wrong = Problem("two of them have the same name" if listed else "none is given")
        raise ArgumentError("mechanisms", wrong, "give a dict {name: mechanism}")
    return named


def _budgets(eps0: object) -> tuple[object, ...]:
    values = listed_values(eps0, "eps0")
    for value in values:
        _ = exact_number(value, "eps0")  # also where no mechanism has it free
    return values


def _given(delta: object, eps: object) -> tuple[str, tuple[str, ...]]:
    quantity, given = asked(delta, eps)
    values = listed_values(given, "eps" if delta is None else "delta")
    for value in values:
        _ = budget(value) if delta is None else failure_probability(value)
    return quantity, tuple(str(v) for v in values)


def listed_values(values: Any, name: str) -> tuple[object, ...]:
    """Return the values of a list, an array or one value; ArgumentError for others, and for equal ones."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    accepted = "a number, or a list of different numbers"
    try:
        found = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else (values,)
        different = len({str(v) for v in found})
    except Exception:  # whatever an object does that is no list and no number
        raise ArgumentError(name, values, accepted) from None
    if isinstance(values, Mapping):
        raise ArgumentError(name, values, accepted)
    if not found or different < len(found):
        raise ArgumentError(name, f"{len(found)} values", accepted)
    return found


def _at(mechanism: Any, eps0: object) -> Subject:
    free = [p.name for p in getattr(mechanism, "parameters", ())]
    found: Subject = mechanism if eps0 is None or "eps0" not in free else mechanism.at(eps0=eps0)
    Question.of(found, 1, None)
    return found
