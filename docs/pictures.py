"""The pictures of the site, drawn from the package when the site is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import symamp as sa
from symamp.randomizers.family import Family

FOLDER = Path(__file__).resolve().parent / "generated"
USERS = tuple(10**k for k in range(3, 9))
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
    ns = tuple(10**k for k in range(2, 6))
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
        ax.plot(USERS, [sa.epsilon(mech, n=n, delta=DELTA, gap=1e-2).upper for n in USERS], label=f"ε₀ = {budget}")
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
