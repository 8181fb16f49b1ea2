"""A bar on standard error while the pairs of a large table are settled, where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from symamp.analyses import bound


@contextmanager
def bar_of_pairs() -> Iterator[bound.Progress | None]:
    """Give the function that moves the bar; None where standard error is no terminal: then nothing is shown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("pairs of inputs", total=None)
        yield lambda done, every: bar.update(task, completed=done, total=every)
