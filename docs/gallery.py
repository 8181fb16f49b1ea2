"""The pages on named mechanisms, made from the code: one for each, and a table of all with tags."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sympy as sp

from symamp.accounting.privacy_profile import epsilon
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.printing import decomposition_latex, latex
from symamp.errors import SymampError
from symamp.questions.answer import Answer
from symamp.randomizers.catalogue import catalogue, named
from symamp.randomizers.family import Parametrised

FOLDER = Path(__file__).resolve().parent / "mechanisms"
USERS, DELTA = (10**4, 10**6, 10**8), "1e-8"
_SIZES: dict[str, object] = {"eps0": 1, "sigma": 2, "scale": 1, "B": 4}
"""Of noise: families have typical sizes of their own."""
_CLOSE = 1.01
"""Upper ends that are no further above the lower ones close on the truth."""
_PROOFS = re.compile(r"docs/(proofs/\w+\.md)")


def typical(cls: type[Parametrised]) -> Any:
    """Return the member that a page shows."""
    sizes = {name: _SIZES[name] for name in cls.names() if name in _SIZES}
    return cls(**getattr(cls, "typical", {}) | {k: v for k, v in sizes.items() if k == "eps0" or cls.slug in _noise()})


def _noise() -> set[str]:
    return set(named()) - set(catalogue())


def symbolic(cls: type[Parametrised]) -> Any:
    """Return the family with its parameters as symbols, as far as they may be."""
    try:
        return cls()
    except SymampError:
        return cls(**{name: _SIZES[name] for name in cls.names() if name != "eps0"})


def answers(member: Any) -> list[Answer]:
    """Return what is plotted: the central epsilon for a few numbers of users."""
    method = "worst_pair" if member.noise is not None else None
    return [epsilon(member, n=n, delta=DELTA, method=method) for n in USERS]


def tags(member: Any, found: list[Answer]) -> list[str]:
    """Return what is known of a mechanism, in a word or two each."""
    pair = _asked(member, "worst_pair")
    shape = _asked(member, "envelope")
    two = shape is not None and bool(getattr(shape, "two_level", False))
    close = all(a.upper <= _CLOSE * a.lower for a in found)
    known = {"two levels": two, "worst pair proved": bool(pair and pair.proved), "closes on the truth": close}
    known["estimator"] = _asked(member, "variance") is not None
    return [tag for tag, holds in known.items() if holds]


def _asked(member: Any, what: str) -> Any:
    """Return what a mechanism says, None where it says nothing."""
    try:
        return getattr(member, what)()
    except (SymampError, AttributeError):
        return None


def pages() -> Iterator[tuple[str, str, list[Answer]]]:
    """Yield (name, Markdown, answers) of each page, and that of the table of all last."""
    rows = []
    for slug, cls in named().items():
        member = typical(cls)
        found = answers(member)
        yield slug, "\n".join(page(cls, found)) + "\n", found
        budget, last = latex(member.local_epsilon()), found[1]
        told = ", ".join(tags(member, found))
        rows.append(f"| [`{slug}`]({slug}.md) | {cls.name} | {_sizes(member)} | ${budget}$ | {last:.4g} | {told} |")
    yield "index", "\n".join(index(rows)) + "\n", []


def index(rows: list[str]) -> Iterator[str]:
    """Yield the table of all named mechanisms."""
    yield from (
        "# Named mechanisms",
        "",
        "One page each, made from the code by `docs/gallery.py`: definition, ranges of the parameters, decomposition, "
        "worst pair, certified numbers. Brackets of the central epsilon are for "
        f"n = {USERS[1]:,} users and delta = {DELTA}.",
        "",
        "*two levels*: two inputs make a message equally likely, or one e^ε₀ times as likely as the other, and the "
        "envelope has four atoms. *worst pair proved*: one pair of inputs is worst for every n and ε. "
        f"*closes on the truth*: the ends are within a percent for n from {USERS[0]:,} to {USERS[-1]:,}. "
        "*estimator*: `estimate` and `variance` are there.",
        "",
        "| name | mechanism | shown for | local budget | central epsilon | tags |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "![Central epsilon by the blanket, times the root of the number of users, for every family over n]"
        "(../generated/amplification.svg)",
        "",
        "```{toctree}\n:hidden:\n",
        *named(),
        "```",
    )


def _sizes(member: Any) -> str:
    return ", ".join(f"{k} = {sp.sstr(v)}" for k, v in member.values.items())


def page(cls: type[Parametrised], found: list[Answer]) -> Iterator[str]:
    """Yield the page of a mechanism."""
    family, member = symbolic(cls), typical(cls)
    words = inspect.cleandoc(cls.__doc__ or "").split(">>>")[0].strip()
    yield from (f"# {cls.name}", "", f"`{cls.slug}`, `sa.families.{cls.__name__}`. {words}", "")
    yield f"*Source*: {getattr(cls, 'source', '') or 'any randomizer with this budget'}."
    ranges = [p.describe() for p in family.parameters]
    yield from ("", f"*Parameters*: {', '.join(ranges) or 'none is free'}.", "", "## Formulas", "")
    yield from (f"- local budget: ${latex(family.local_epsilon())}$",)
    for text, what in (("shuffle index χ", "shuffle_index"), ("γ, the mass of the blanket", "gamma")):
        value = _asked(family, what)
        if value is not None:
            yield f"- {text}: ${latex(value)}$"
    pair = _asked(family, "worst_pair")
    if pair is not None:
        reason = _PROOFS.sub(lambda m: f"[proof](../{m[1]})", pair.reason)
        proved = "proved for every n and ε" if pair.proved else "not proved, all pairs are compared"
        yield f"- worst pair of inputs: {pair.pair[0]} against {pair.pair[1]}, {proved}: {reason}"
    bits, variance = _asked(family, "message_bits"), _asked(family, "variance")
    if bits is not None:
        yield f"- bits of a message: ${latex(bits)}$"
    if variance is not None:
        yield f"- variance of the estimate from one report ({family.estimand}): ${latex(variance)}$"
    if member.mechanism is not None:
        yield from ("", "## Decomposition", "", "For each class of pairs of inputs; ratios are to the blanket m.")
        for pair_class in pair_classes(family):
            formula = decomposition_latex(pair_class.decomposition).replace(r"$\displaystyle ", "$$\n").rstrip("$")
            yield from ("", formula, "$$")
    elif (shown := getattr(family, "_repr_latex_", None)) is not None:
        yield from ("", "## Decomposition", "", "$$\n" + shown().strip("$").removeprefix(r"\displaystyle "), "$$")
    yield from ("", "## Central epsilon", "", f"For {_sizes(member) or 'the member shown'} and δ = {DELTA}, certified.")
    yield from ("", f"![Central epsilon over the number of users, both certified ends](../generated/of_{cls.slug}.svg)")
    yield from ("", "| n | lower | upper | by | worst data set found |", "| --- | --- | --- | --- | --- |")
    for answer in found:
        low, high = answer.decimals()
        yield f"| {answer.n:,} | {low} | {high} | `{answer.method}` | {answer.dataset or ''} |"
    call = ", ".join(f"{k}={v}" if v.is_Integer else f'{k}="{v}"' for k, v in member.values.items())
    yield from (
        "",
        "```python",
        f'sa.epsilon(sa.families.{cls.__name__}({call}), n={USERS[1]}, delta="{DELTA}")',
        "```",
    )


def write() -> Iterator[tuple[str, list[Answer]]]:
    """Write all pages; yield the answers that are plotted on each."""
    FOLDER.mkdir(exist_ok=True)
    for name, text, found in pages():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
        yield name, found
