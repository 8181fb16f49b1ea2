"""The gallery of the documentation, generated: every family with its formulas and certified numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import sympy as sp

from symamp.accounting.privacy_profile import epsilon
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.printing import decomposition_latex, latex
from symamp.randomizers.catalogue import catalogue
from symamp.randomizers.family import Family

BUDGETS = (1, 4)
N, DELTA = 10**6, "1e-8"


def gallery() -> Iterator[str]:
    """Yield the gallery as Markdown, line by line."""
    yield from (
        "# Gallery",
        "",
        "Generated from the catalogue by `docs/gallery.py`; nothing on this page is written by hand.",
        f"Certified brackets of the central epsilon are for n = {N:,} users and delta = {DELTA}.",
        "",
        "![central epsilon times the root of the number of users, for every family](generated/amplification.svg)",
        "",
        "| name | mechanism | parameters | local budget | central epsilon |",
        "| --- | --- | --- | --- | --- |",
    )
    entries = []
    for slug, cls in catalogue().items():
        rows = []
        for budget in BUDGETS:
            member = typical(cls, budget)
            answer = epsilon(member, n=N, delta=DELTA)
            low, high = answer.decimals()
            sizes = ", ".join(f"{k} = {sp.sstr(v)}" for k, v in member.values.items())
            rows.append(f"| {sizes} | {low} | {high} | {answer.dataset} |")
            if budget == BUDGETS[0]:
                local = latex(member.local_epsilon())
                yield f"| [`{slug}`](#{slug}) | {cls.name} | {sizes} | ${local}$ | {answer.upper:.4g} |"
            if "eps0" not in member.values:
                break
        entries.append(_entry(slug, cls, rows))
    for entry in entries:
        yield from entry


def typical(cls: type[Family], eps0: int) -> Family:
    """Return the member of the family that the gallery shows."""
    budget = {"eps0": eps0} if any(p.name == "eps0" for p in cls.declared) else {}
    return cls(**cls.typical, **budget)


def _entry(slug: str, cls: type[Family], rows: list[str]) -> Iterator[str]:
    family = cls()
    summary = inspect.cleandoc(cls.__doc__ or "").split(">>>")[0].strip()
    yield from ("", f"({slug})=", f"## {cls.name}", "", f"`{slug}`. {summary} ({cls.source})", "")
    yield f"Parameters: {', '.join(p.describe() for p in family.parameters)}."
    for pair_class in pair_classes(family):
        formula = decomposition_latex(pair_class.decomposition).replace(r"$\displaystyle ", "$$\n").rstrip("$")
        yield from ("", formula, "$$")
    budget, index = latex(family.local_epsilon()), latex(family.shuffle_index())
    yield from ("", f"Local budget: ${budget}$; shuffle index $\\chi = {index}$.")
    yield from ("", "| parameters | lower | upper | worst data set found |", "| --- | --- | --- | --- |", *rows)


if __name__ == "__main__":
    print("\n".join(gallery()))
