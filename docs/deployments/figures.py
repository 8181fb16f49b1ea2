"""What the scripts of this folder share: rows of certified figures, written as a table beside the page.

A row is a description and two ends; with one end twice the figure is exact up to its digits. Ends are rounded outward.

Run: python docs/deployments/figures.py (about a minute; ``make docs`` does). Computes all figures anew, and fails where
the tables say something else.
"""

import json
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DIGITS = 6


class Row(NamedTuple):
    """A figure and what it is."""

    said: str
    lower: float
    upper: float


def of(said, answer):
    """The row of an answer."""
    return Row(said, answer.lower, answer.upper)


def decimals(row):
    """Both ends with six digits, rounded outward."""
    low, high = (
        Context(DIGITS, rounding=way).create_decimal(x)
        for x, way in ((row.lower, ROUND_FLOOR), (row.upper, ROUND_CEILING))
    )
    return tuple(f"{x:e}" if x and not 1e-5 < abs(x) < 10**DIGITS else f"{x:f}" for x in (low, high))


def write(name, rows, certificate=None):
    """Write the table of a page, and a certificate to download."""
    lines = ["| question | at least | at most |", "| --- | --- | --- |"]
    lines += [f"| {row.said} | {' | '.join(decimals(row))} |" for row in rows]
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if certificate is not None:
        (HERE / f"{name}.json").write_text(json.dumps(certificate) + "\n", encoding="utf-8")


def read(name):
    """The recorded rows of a page."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    return [Row(said, float(low), float(high)) for said, low, high in cells]


def differences(name, found):
    """What the recorded table of a page says otherwise than rows that were computed anew, in words.

    Both brackets contain the truth, so they overlap; and neither is much wider than the other.
    """
    found, rows = {row.said: row for row in found}, {row.said: row for row in read(name)}
    if list(found) != list(rows):
        yield f"{name}: the rows are {list(found)}, recorded are {list(rows)}"
    for said in found.keys() & rows.keys():
        row, (low, high) = rows[said], (float(x) for x in found[said][1:])
        apart = row.lower > high * (1 + 1e-9) or low > row.upper * (1 + 1e-9)
        if apart or abs(row.upper - high) > 2e-3 * high:
            yield f"{name}: {said}: [{low}, {high}], recorded is [{row.lower}, {row.upper}]"


if __name__ == "__main__":
    scripts = sorted(path.stem for path in HERE.glob("*.py") if path != Path(__file__))
    wrong = [found for name in scripts for found in differences(name, import_module(name).rows())]
    sys.exit("\n".join(wrong) or None)
