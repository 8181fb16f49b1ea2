"""The pictures of the site, drawn from the package when the site is built."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from math import comb
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import symamp as sa
from symamp.randomizers.family import Family

FOLDER = Path(__file__).resolve().parent / "generated"
USERS = tuple(10**k for k in range(3, 9))
MANY_USERS = tuple(round(10 ** (k / 4)) for k in range(12, 33))
"""The same range in finer steps, for lines that bend."""
DELTA = "1e-8"


def decomposition() -> Figure:
    """Draw two rows of randomized response over the part that they share."""
    table = sa.RandomizedResponse(k=4, eps0="log(3)").table()
    rows = [[float(p) for p in row] for row in table.rows]
    figure, ax = _axes()
    places = np.arange(4)
    common = np.min(rows, axis=0)
    for i, (shift, colour) in enumerate(((-0.2, "tab:blue"), (0.2, "tab:orange"))):
        ax.bar(places + shift, rows[i], 0.36, color=colour, alpha=0.45, label=f"R(x{i})")
        ax.bar(places + shift, common, 0.36, color="0.45", label="blanket" if i else None)
    ax.set(xlabel="message", ylabel="probability", xticks=places)
    ax.legend()
    return figure


def claims() -> Figure:
    """Draw both certified ends for one mechanism, and a published bound that knows its budget only."""
    figure, ax = _axes()
    ns = tuple(round(10 ** (k / 6)) for k in range(12, 31))
    known, unknown = sa.HadamardResponse(K=16, eps0=4), sa.PureLDP(eps0=4)
    answers = [sa.epsilon(known, n=n, delta="1e-6", gap=1e-2) for n in ns]
    ax.plot(ns, [a.upper for a in answers], color="tab:blue", label="certified upper bound")
    ax.plot(ns, [a.lower for a in answers], ":", color="tab:orange", label="certified lower bound")
    clone = [sa.epsilon(unknown, n=n, delta="1e-6", gap=1e-2, method="standard_clone").upper for n in ns]
    ax.plot(ns, clone, "--", color="0.3", label="standard clone")
    ax.set(xscale="log", yscale="log", xlabel="users n", ylabel="central ε")
    ax.legend()
    return figure


def curve() -> Figure:
    """Draw a certified privacy curve."""
    figure, ax = _axes()
    profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**4)
    profile.curve(eps=np.linspace(0.002, 0.05, 25)).plot(ax)
    ax.legend(["10-ary randomized response, n = 10⁴"], fontsize="small", loc="upper right")
    return figure


def deployment() -> Figure:
    """Draw the central budget over the number of users for a few local budgets."""
    figure, ax = _axes()
    for budget in (1, 2, 4):
        mech = sa.RandomizedResponse(k=10, eps0=budget)
        upper = [sa.epsilon(mech, n=n, delta=DELTA, gap=1e-2).upper for n in MANY_USERS]
        ax.plot(MANY_USERS, upper, label=f"ε₀ = {budget}")
    ax.set(xscale="log", yscale="log", xlabel="users n", ylabel="central ε")
    ax.legend()
    return figure


def amplification(members: dict[str, Family]) -> Figure:
    """Draw the blanket bound over n for the members, by name, times sqrt(n): else all lines are parallel."""
    figure, ax = _axes((8, 5))
    styles = ("-", "--", ":")
    for i, (slug, member) in enumerate(members.items()):
        answers = [sa.epsilon(member, n=n, delta=DELTA, gap=1e-2, method="blanket") for n in USERS]
        bounds = [a.upper * a.n**0.5 for a in answers]
        ax.plot(USERS, bounds, styles[i // 10 % 3], color=f"C{i % 10}", label=slug)
    ax.set(xscale="log", xlabel="users n", ylabel=f"central ε (blanket) times √n, δ = {DELTA}")
    figure.legend(loc="outside right", fontsize="x-small")
    return figure


def mechanism(found: list[sa.Answer]) -> Figure:
    """Draw both certified ends of the central epsilon of one mechanism over the number of users."""
    figure, ax = _axes()
    ns = [a.n for a in found]
    ax.plot(ns, [a.upper for a in found], "o-", color="tab:blue", label="certified upper end")
    ax.plot(ns, [a.lower for a in found], "x:", color="tab:orange", label="certified lower end")
    ax.set(xscale="log", yscale="log", xlabel="users n", ylabel="central ε")
    ax.legend()
    return figure


DOORS: dict[str, Callable[[], Figure]] = {f.__name__: f for f in (decomposition, claims, curve, deployment)}


def save(figure: Figure, name: str) -> None:
    """Write the figure as SVG; the same figure gives the same file."""
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def _axes(size: tuple[float, float] = (4.2, 2.8)) -> tuple[Figure, Axes]:
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


# ---------------------------------------------------------------- Findings, drawn from the tables of their own pages


def _table(page: str, start: str) -> list[list[str]]:
    """Return the rows of the first table of a page whose header begins so, as texts."""
    lines = (FOLDER.parent / "findings" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {start}"))
    rows = takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in rows]


def _ends(text: str) -> tuple[float, float]:
    """Return both numbers of a bracket such as [1, 2] or 1 to 2, or one number twice."""
    found = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", text)]
    return found[0], found[-1]


def _over_lower(labels: list[str], series: dict[str, list[float]]) -> Figure:
    """Draw what bounds say over the certified lower end, which is at 1, one row for each label."""
    figure, ax = _axes((7, 0.9 + 0.28 * len(labels)))
    places = range(len(labels))
    for (name, ratios), marker in zip(series.items(), "os^", strict=False):
        ax.plot(ratios, places, marker, label=name, alpha=0.8)
    ax.axvline(1, color="0.3", linewidth=0.8)
    ax.set(yticks=places, yticklabels=labels, xlabel="ε of the bound over the certified lower end", xscale="log")
    low, high = ax.get_xlim()
    marks = (1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4) if high < 1.6 else (0.2, 0.3, 0.5, 1, 1.5, 2, 3, 5, 10)
    ticks = [t for t in marks if low <= t <= high]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks], minor=False)
    ax.minorticks_off()
    ax.invert_yaxis()
    figure.legend(loc="outside upper right", ncols=len(series), fontsize="small")
    return figure


def laplace() -> Figure:
    """Draw the blanket and the least bound for Laplace noise on an interval."""
    rows = _table("laplace", "eps0 | n")
    labels = [f"ε₀ = {r[0]}, n = {int(r[1]):,}" for r in rows]
    return _over_lower(labels, {"blanket": [float(r[6]) for r in rows], "least bound": [float(r[5]) for r in rows]})


def lower_bounds() -> Figure:
    """Draw the blanket and the least bound for the mechanisms of the page."""
    rows = _table("lower_bounds", "mechanism")
    lower = [float(r[2]) for r in rows]
    shown = {"blanket": 3, "least bound": 4}
    return _over_lower(
        [r[0] for r in rows],
        {name: [float(r[k]) / x for r, x in zip(rows, lower, strict=True)] for name, k in shown.items()},
    )


def users_who_differ() -> Figure:
    """Draw the Gaussian approximation and the certified upper end for users with budgets of their own."""
    rows = _table("users_who_differ", "budgets")
    ends = [_ends(r[3]) for r in rows]
    gaussian = [float(r[2]) / low for r, (low, _) in zip(rows, ends, strict=True)]
    labels = [f"{r[0]}, δ = {'10⁻³' if '-3' in r[1] else '10⁻⁶'}" for r in rows]
    return _over_lower(labels, {"Gaussian approximation": gaussian, "upper end": [high / low for low, high in ends]})


def worst_randomizer() -> Figure:
    """Draw the stronger clone, and the bound on every randomizer, over the worst response that is known."""
    lines = (FOLDER.parent / "findings" / "worst_randomizer.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines[1:] if "1e+04, 1e-6" in line]
    labels = [f"ε₀ = {r[0].split(',')[0]} ({r[1]})" for r in rows]
    return _over_lower(
        labels, {"stronger clone": [float(r[6]) for r in rows], "every randomizer": [float(r[4]) for r in rows]}
    )


def parallel() -> Figure:
    """Draw the bounds on range queries over the number of leaves."""
    figure, ax = _axes()
    rows = [[float(x) for x in r] for r in _table("parallel", "d |")]
    for k, (name, style) in enumerate(
        {"basic": "--", "6.1, printed": "x", "corrected": "-", "lower": ":", "optimal": "-"}.items(), 1
    ):
        ax.plot([r[0] for r in rows], [r[k] for r in rows], style, label=name)
    ax.set(xscale="log", xlabel="leaves d", ylabel="central ε")
    figure.legend(loc="outside right", fontsize="small")
    return figure


def joint() -> Figure:
    """Draw the bracket of epsilon over the number of attributes, for both kinds of neighbours."""
    figure, ax = _axes()
    rows = [r for r in _table("joint", "mechanism") if r[2]][:3]  # 10-RR, total budget 1
    for name, column, colour in (("all may differ", 3, "tab:blue"), ("one may differ", 4, "tab:orange")):
        ends = [(int(r[2]), *_ends(r[column] or r[3])) for r in rows]
        ns, low, high = zip(*ends, strict=True)
        ax.fill_between(ns, low, high, alpha=0.4, color=colour)
        ax.plot(ns, high, "o-", color=colour, label=name)
    ax.set(xscale="log", yscale="log", xlabel="attributes", ylabel="central ε", xticks=[1, 4, 32])
    ax.set_xticklabels(["1", "4", "32"])
    ax.legend(fontsize="small")
    return figure


def sympy_assumptions() -> Figure:
    """Draw the absolute value of binomial(D, 3), and what SymPy 1.14 makes of it."""
    figure, ax = _axes()
    sizes = range(9)
    ax.plot(sizes, [comb(d, 3) for d in sizes], "o-", label="|binomial(D, 3)|")
    ax.plot(sizes, [-comb(d, 3) for d in sizes], "x--", label="by SymPy 1.14: -binomial(D, 3)")
    ax.set(xlabel="integer D", ylabel="value")
    ax.legend(fontsize="small")
    return figure


FINDINGS: dict[str, Callable[[], Figure]] = {
    f.__name__: f
    for f in (laplace, lower_bounds, users_who_differ, worst_randomizer, parallel, joint, sympy_assumptions)
}
