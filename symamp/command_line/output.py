"""What the commands print: text for people, one JSON object for machines, a bar while they work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Column, Table

from symamp.bounds import bound
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.printing import decomposition_table, gamma_line, text
from symamp.errors import ArgumentError, Problem
from symamp.numbers.reading import asked
from symamp.questions.answer import Answer
from symamp.questions.bracket import outward_decimal
from symamp.randomizers.mechanism import MESSAGES, Mechanism
from symamp.randomizers.noise.additive_noise import AdditiveNoise, joined

# ----------------------- A bar on standard error, if it is a terminal, while the pairs of a large table are compared


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


# ----------------------------------------------- What the commands print: text for people, one JSON object for machines


def print_json(data: object) -> None:
    """Print the data on one line."""
    print(json.dumps(data))


def print_line(line: str) -> None:
    """Print one line as it is, however long."""
    Console().print(line, highlight=False, soft_wrap=True, markup=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    table = Table(*(Column(c, overflow="fold") for c in columns))  # no digit is cut off
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)


def print_decompositions(subject: Mechanism, found: Sequence[Decomposition], as_json: bool) -> None:
    """Print the decompositions of a mechanism with its local budget (and its shuffle index, for people)."""
    if as_json:
        decompositions = [_decomposition_json(d) for d in found]
        budget = str(subject.local_epsilon())
        print_json({"mechanism": repr(subject), "local_epsilon": budget, "decompositions": decompositions})
        return
    console = Console()
    for decomposition in found:
        console.print(decomposition_table(decomposition))
        console.print(gamma_line(decomposition), highlight=False, markup=False)
    console.print(f"local epsilon = {text(subject.local_epsilon())}", highlight=False, markup=False)
    console.print(f"shuffle index = {text(subject.shuffle_index())}", highlight=False, markup=False)


def print_pieces(noise: AdditiveNoise, as_json: bool) -> None:
    """Print the pieces of the blanket at the inputs 0 and 1, right of the middle: left of it the two change places."""
    pieces = [[text(e) for e in (s.start, s.end, s.density0, s.ratio)] for s in joined(noise.sides())]
    budget, gamma = text(noise.local_epsilon()), text(noise.gamma())
    if as_json:
        rows = [dict(zip(("start", "end", "blanket", "ratio1"), p, strict=True)) | {"ratio0": "1"} for p in pieces]
        print_json({"mechanism": repr(noise), "local_epsilon": budget, "gamma": gamma, "pieces": rows})
        return
    shown = [[f"({start}, {end})", density, "1", ratio] for start, end, density, ratio in pieces]
    print_table(("messages y", "blanket m(y)", "R(0)/m", "R(1)/m"), shown)
    print_line(f"gamma = {gamma}")
    print_line(f"local epsilon = {budget}")


def asked_of(whole: Any, delta: str | None, eps: str | None, gap: str | None, effort: str) -> Answer:
    """Return the answer for eps, or for delta, whichever is not given."""
    quantity, given = asked(delta, eps)
    answer: Answer = getattr(whole, quantity)(given, effort=effort, **({} if gap is None else {"gap": gap}))
    return answer


def print_answer(answer: Answer, certificate: Path | None, as_json: bool) -> None:
    """Write the certificate where a file is named for it; print the bracket, and what there is to say of it."""
    if certificate is not None and write_document("certificate", answer.certificate(), certificate):
        return
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    if answer.rounds:
        if answer.gaussian is not None:
            if answer.gap_limited_by:
                print_line(answer.gap_limited_by)
            print_line(f"Gaussian approximation, no bound: {answer.gaussian:.6g} ({answer.gaussian_place})")
        print_line(f"covered: {answer.covered}")
    elif answer.victims:  # the same for all groups where data are shuffled
        for group, (lower, upper) in answer.victims.items() if answer.question.subject.shuffled == MESSAGES else ():
            low, high = outward_decimal(lower, down=True), outward_decimal(upper, down=False)
            print_line(f"victims of group {group}: [{low}, {high}]")
    else:
        if answer.dataset is not None:
            print_line(f"lower bound: {answer.dataset}")
        if answer.tight:
            print_line("this is the worst of all data sets (proved): the width of the bracket is numerical only")


def print_found(
    found: Any,
    as_json: bool,
    *,
    csv: Path | None = None,
    plot: Path | None = None,
    draw: Callable[[], Any] | None = None,
    lines: Iterable[str] | None = None,
) -> None:
    """Write the points and the plot where files are named; print JSON, or the text line by line."""
    if csv is not None:
        with _writing("csv", csv):
            found.to_csv(csv)
    if plot is not None:
        save_plot(draw or found.plot, plot)
    if as_json:
        print_json(found.to_dict())
        return
    for line in str(found).split("\n") if lines is None else lines:
        print_line(line)


def write_document(name: str, document: dict[str, Any], file: Path) -> bool:
    """Write what an option of this name asks for to its file; return whether that is standard output."""
    text = json.dumps(document)
    if str(file) == "-":
        print(text)
        return True
    with _writing(name, file):
        file.write_text(text + "\n", encoding="utf-8")
    return False


@contextmanager
def _writing(argument: str, file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        told = Problem(f"{file} cannot be written: {error.strerror}")
        raise ArgumentError(argument, told, "name another file") from None


def save_plot(draw: Callable[[], Any], file: Path | None) -> None:
    """Draw on axes, without a screen, and save them to the file, if one is named."""
    if file is None:
        return
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        figure = draw().figure
        known = figure.canvas.get_supported_filetypes()
        if file.suffix and file.suffix[1:].lower() not in known:
            raise ArgumentError("plot", str(file), f"a file whose name ends in one of {', '.join(sorted(known))}")
        figure.savefig(file)
    except ModuleNotFoundError:
        raise ArgumentError("plot", Problem("matplotlib is not installed"), "pip install symamp[plot]") from None
    except ArgumentError:
        raise
    except (OSError, ValueError) as error:
        raise ArgumentError("plot", Problem(f"{file} cannot be written: {error}"), "name another file") from None


def _decomposition_json(decomposition: Decomposition) -> dict[str, Any]:
    return {
        "pair": list(decomposition.pair),
        "components": [[str(e) for e in c] for c in decomposition.components],
        "singular": [[str(a), str(b)] for a, b in decomposition.singular],
        "gamma": str(decomposition.gamma),
    }
