"""Many questions at once: mechanisms by local budgets by users by deltas, resumable, on any executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from itertools import product
from os import PathLike
from threading import Lock
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from symamp.amplification.profile import Profile
from symamp.amplification.question import Question
from symamp.amplification.sweep_file import Finished, SweepFile, identity
from symamp.amplification.sweep_result import Sweep
from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError, shown
from symamp.numbers.arguments import asked, budget, failure_probability, relative_gap, users
from symamp.numbers.exact_number import exact_number

_MOST_POINTS = 1_000_000
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class Task:
    """All questions about one mechanism with one local budget and one number of users: its profile is made once."""

    subject: Any
    n: int
    quantity: str
    given: tuple[str, ...]
    method: str | None
    gap: float

    def solved(self) -> list[Finished]:
        """Return the bracket for each value that is given."""
        profile = Profile(Question.of(self.subject, self.n, self.method))
        ask = profile.epsilon if self.quantity == "epsilon" else profile.delta
        answers = (ask(value, gap=self.gap) for value in self.given)
        return [Finished(a.lower, a.upper, a.log10_lower, a.log10_upper, a.method) for a in answers]


def solve(task: Task) -> list[Finished]:
    """Return the brackets of a task: what an executor runs. Threads of one process take turns.

    Balls have one working precision for a whole process: two threads would change it for each other.
    """
    with _ONE_AT_A_TIME:
        return task.solved()


def sweep(
    mechanisms: Subject | Sequence[Subject] | Mapping[str, Subject],
    *,
    n: object,
    eps0: object = None,
    delta: object = None,
    eps: object = None,
    method: str | None = None,
    gap: float = 1e-4,
    executor: Executor | None = None,
    file: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Return certified brackets of epsilon (``delta`` given) or of delta (``eps`` given) for all combinations.

    ``mechanisms`` is one, a list, or {name: mechanism}; ``eps0``, ``n`` and ``delta`` or ``eps`` are numbers or lists.
    ``eps0`` is put into the mechanisms, which must have it free; it is left out for those that do not. ``file`` keeps
    finished points, one JSON object a line: they are never computed again, also after the process was killed.
    ``executor`` is any ``concurrent.futures`` executor: threads, processes, or Dask's ``Client.get_executor()``.
    ``progress`` shows a bar on standard error; by default if that is a terminal.

    Raises what the questions raise, and then keeps what was finished; ArgumentError for other arguments, FormatError
    for a file that is none of a sweep.

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
    counts = tuple(users(x) for x in _listed(n, "n"))
    budgets: tuple[object, ...] = (None,) if eps0 is None else _budgets(eps0)
    written = tuple(None if b is None else str(b) for b in budgets)
    axes = (tuple(named), written, counts, given)
    if np.prod([len(a) for a in axes]) > _MOST_POINTS:
        raise ArgumentError("sweep", "too many points", f"at most {_MOST_POINTS:,}")
    checked = relative_gap(gap)
    subjects = {(name, i): _at(m, b) for name, m in named.items() for i, b in enumerate(budgets)}
    kept = SweepFile(file)
    found: dict[tuple[int, ...], Finished] = {}
    open_tasks: list[tuple[tuple[int, int, int], list[int], Task]] = []
    for (j, name), (i, _), (k, count) in product(enumerate(named), enumerate(budgets), enumerate(counts)):
        subject = subjects[name, i]
        keys = [identity(subject, count, quantity, value, method, checked) for value in given]
        found.update({(j, i, k, g): kept.known[key] for g, key in enumerate(keys) if key in kept.known})
        left = [g for g, key in enumerate(keys) if key not in kept.known]
        if left:
            task = Task(subject, count, quantity, tuple(given[g] for g in left), method, checked)
            open_tasks.append(((j, i, k), left, task))
    with kept, _bar(progress) as bar:
        line = bar.add_task("points", total=sum(len(left) for _, left, _ in open_tasks))
        for place, results in _solved([t for *_, t in open_tasks], executor):
            (j, i, k), left, task = open_tasks[place]
            for g, result in zip(left, results, strict=True):
                found[j, i, k, g] = result
                kept.keep(identity(task.subject, task.n, quantity, given[g], method, checked), result)
            bar.advance(line, len(left))
    return Sweep.of(quantity, axes, found)


def curve(
    mechanism: Subject,
    *,
    n: object,
    eps: object = None,
    delta: object = None,
    method: str | None = None,
    gap: float = 1e-4,
) -> Sweep:
    """Return certified brackets of delta over a list of eps, or of epsilon over a list of delta, for each n of a list.

    The arguments, and what is raised, are those of ``sweep``.

    >>> import symamp as sa
    >>> found = sa.curve(sa.RandomizedResponse(k=3, eps0=1), n=[1000, 10000], eps=[0.05, 0.1])
    >>> found.upper[0, 0].shape, found.quantity
    ((2, 2), 'delta')
    """
    return sweep(mechanism, n=n, eps=eps, delta=delta, method=method, gap=gap, progress=False)


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
        raise ArgumentError(
            "mechanisms", f"{len(listed)}, {len(named)} of them different", "different names, or a dict"
        )
    return named


def _budgets(eps0: object) -> tuple[object, ...]:
    values = _listed(eps0, "eps0")
    for value in values:
        _ = exact_number(value, "eps0")  # also where no mechanism has it free
    return values


def _given(delta: object, eps: object) -> tuple[str, tuple[str, ...]]:
    quantity, given = asked(delta, eps)
    values = _listed(given, "eps" if delta is None else "delta")
    for value in values:
        _ = budget(value) if delta is None else failure_probability(value)
    return quantity, tuple(str(v) for v in values)


def _listed(values: Any, name: str) -> tuple[object, ...]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    accepted = "a number, or a list of different numbers"
    try:
        found = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else (values,)
        different = len({str(v) for v in found})
    except Exception:  # whatever an object does that is no list and no number
        raise ArgumentError(name, values, accepted) from None
    if not found or different < len(found):
        raise ArgumentError(name, f"{len(found)} values", accepted)
    return found


def _at(mechanism: Any, eps0: object) -> Subject:
    free = [p.name for p in getattr(mechanism, "parameters", ())]
    found: Subject = mechanism if eps0 is None or "eps0" not in free else mechanism.at(eps0=eps0)
    Question.of(found, 1, None)
    return found
