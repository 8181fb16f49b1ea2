"""The gallery of the documentation, generated: every family with its formulas and certified numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import sympy as sp

from symamp.amplification.questions import epsilon
from symamp.derivation.pairs import pair_classes
from symamp.derivation.printing import decomposition_latex, latex
from symamp.mechanisms.catalogue import catalogue
from symamp.mechanisms.family import Family

BUDGETS = (1, 4)
N, DELTA = 10**6, "1e-8"


def gallery() -> Iterator[str]:
    """Yield the gallery as Markdown, line by line."""
    yield "# Gallery"
    yield ""
    yield "Generated from the catalogue by `docs/gallery.py`; nothing on this page is written by hand."
    yield f"Certified brackets of the central epsilon are for n = {N:,} users and delta = {DELTA}."
    for slug, family in catalogue().items():
        yield from _entry(slug, family)


def _entry(slug: str, cls: type[Family]) -> Iterator[str]:
    family = cls()
    summary = inspect.cleandoc(cls.__doc__ or "").split(">>>")[0].strip()
    yield from ("", f"## {cls.name}", "", f"`{slug}`. {summary} ({cls.source})", "")
    yield f"Parameters: {', '.join(p.describe() for p in family.parameters)}."
    for pair_class in pair_classes(family):
        yield from (
            "",
            decomposition_latex(pair_class.decomposition).replace(r"$\displaystyle ", "$$\n").rstrip("$"),
            "$$",
        )
    yield from (
        "",
        f"Local budget: ${latex(family.local_epsilon())}$; shuffle index $\\chi = {latex(family.shuffle_index())}$.",
    )
    yield from ("", "| parameters | lower | upper | worst data set found |", "| --- | --- | --- | --- |")
    for budget in BUDGETS:
        member = _typical(cls, budget)
        answer = epsilon(member, n=N, delta=DELTA)
        low, high = answer.decimals()
        sizes = ", ".join(f"{k} = {sp.sstr(v)}" for k, v in member.values.items())
        yield f"| {sizes} | {low} | {high} | {answer.dataset} |"
        if "eps0" not in member.values:
            break


def _typical(cls: type[Family], eps0: int) -> Family:
    budget = {"eps0": eps0} if any(p.name == "eps0" for p in cls.declared) else {}
    return cls(**cls.typical, **budget)


if __name__ == "__main__":
    print("\n".join(gallery()))
