"""``python -m published [--json]``: what the papers print against what is derived, with counterexamples."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.progress import Progress

from published.audit import Finding
from published.audit import audit as findings_of
from published.statements import Statement, statements
from published.table_three import TableThree, audit_table_three
from symamp.command_line.output import print_json, print_line, print_table
from symamp.decompositions.printing import text


def main(words: list[str] | None = None) -> None:
    """Compare what the papers print, formulas, tables and theorems, with what is derived; show counterexamples."""
    parser = argparse.ArgumentParser(prog="python -m published", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    as_json = parser.parse_args(words).json
    findings: list[Finding] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("comparing", total=None)
        for finding in findings_of():
            progress.advance(task)
            findings.append(finding)
        rows, others = list(audit_table_three()), list(statements())
    if as_json:
        print_json([*map(_finding, findings), *map(_protocol, rows), *map(_statement, others)])
        return
    print_table(
        ("where", "mechanism", "quantity", "verdict", "printed", "derived"),
        [
            (f.printed.place, repr(f.printed.family), f.printed.quantity, f.verdict, f.printed.formula, text(f.derived))
            for f in findings
        ],
    )
    for told in (*map(_finding, findings), *map(_protocol, rows), *map(_statement, others)):
        case = told["counterexample"]
        if case is not None or told["mechanism"] is None:
            end = "" if case is None else f"; {_at(case['at'])}: printed {case['printed']}, exact {case['exact']}"
            print_line(f"{told['place']}, {told['mechanism'] or ''} {told['quantity']}: {told['verdict']}{end}".strip())


def _at(at: object) -> str:
    return ", ".join(f"{k} = {v}" for k, v in at.items()) if isinstance(at, dict) else str(at)


def _told(place: str, mechanism: str | None, quantity: str, verdict: str, case: Any) -> dict[str, Any]:
    shown = None if case is None else dict(zip(("at", "printed", "exact"), case, strict=True))
    return {
        "place": place,
        "mechanism": mechanism,
        "quantity": quantity,
        "verdict": verdict,
        "counterexample": shown,
    }


def _finding(f: Finding) -> dict[str, Any]:
    case = None
    if f.counterexample is not None:
        sizes, printed, exact = f.counterexample
        case = {k: text(v) for k, v in sizes.items()}, text(printed), text(exact)
    told = _told(f.printed.place, f.printed.slug, f.printed.quantity, f.verdict, case)
    return {**told, "printed": f.printed.formula, "derived": str(f.derived)}


def _protocol(f: TableThree) -> dict[str, Any]:
    about = ", ".join([f.protocol.name, *(f"{k} = {v}" for k, v in f.protocol.parameters)])
    case = None
    if f.case is not None:
        blankets, order, exact, printed = (str(x) for x in f.case)
        case = {"blanket messages": blankets, "E": order}, printed, exact
    return _told("Wang (2023), Table 3", None, about, f.verdict, case)


def _statement(s: Statement) -> dict[str, Any]:
    return _told(s.place, None, s.about, s.verdict, (s.case, s.printed, s.exact) if s.exact else None)


if __name__ == "__main__":
    main()
