"""Whose guarantee a claim is, and whether all evidence can be about one mechanism, as far as the certificate tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flint import arb

from .claims import quoted, some
from .refusals import require

OF_GROUPS = 4
"""The version of certificates of users who differ."""
_ABOVE = {
    "components": "that every triple above is one of the mechanism, and that the pairs of inputs listed stand for all",
    "laws": "that the laws above are those of all inputs of the other users, for pairs of inputs that stand for all",
    "mixed": "that the law of each input of the other users, at each pair, is below a mixture of the laws listed above",
    "rounded": "that the laws above are as near to those of the mechanism as the certificate says",
    "rows": "that the rows of the table are those of the mechanism",
    "ratio": "that every user runs one and the same randomizer of this ratio",
    "positions": "that the laws above are those of the positions, for all pairs of inputs",
    "columns": "that the columns, with all further inputs, are those of the mechanisms, and the pairs stand for all",
}
_BELOW = {
    "components": "that the triple below is that of a data set of the mechanism",
    "laws": "that the laws below are those of a data set of the mechanism",
    "rows": "that the rows of the table are those of the mechanism",
    "positions": "that the laws below are those of a pair of data sets",
    "columns": "that the columns, with all further inputs, are those of the mechanisms",
    "signs": "that the steps below are those of a pair of data sets of the mechanisms",
}


def require_one_subject(check: Any, data: dict[str, Any]) -> None:
    """Refuse evidence about different mechanisms, or about other victims than those of the claim."""
    every = [*data["above"], *data["below"]]
    tables = [e["rows"] for e in every if "rows" in e]
    require(all(rows == tables[0] for rows in tables), "evidence about different tables", "invalid")
    for evidence in data["below"]:
        if "components" in evidence and "ratio" in (data["above"] or [{}])[0] and evidence["eps"] != "inf":
            _require_ratio(check, evidence, data["above"][0]["ratio"])
    if data["version"] != OF_GROUPS:
        return
    victims, counts = data["claim"]["victims"], [e["groups"] for e in every]
    good = 0 < len(victims) == len(set(victims)) and all(0 <= x < min(map(len, counts), default=64) for x in victims)
    require(good, "claim: victims are no groups, or one twice")
    require(all(x == counts[0] for x in counts), "evidence about different groups", "invalid")
    shuffled = {"data" if "positions" in e else "messages" for e in every}
    require(len(shuffled) < 2, "evidence about shuffled data and about shuffled messages", "invalid")
    kept = {e["kept"] for e in every if "kept" in e}
    require(len(kept) < 2, "evidence about different chances that a message arrives", "invalid")
    found, shown = ({e.get("victim") for e in data[side]} for side in ("above", "below"))
    if shuffled == {"messages"}:
        covered = not found or found >= set(victims)
        require(covered, "the evidence above does not cover all victims of the claim", "invalid")
        require(shown <= set(victims), "the evidence below is about a victim of whom nothing is claimed", "invalid")


def _require_ratio(check: Any, evidence: dict[str, Any], ratio: str) -> None:
    """Refuse a triple of which a message is proved to be more than t times as likely under one law as under another."""
    with check.working(evidence["precision"]):
        t = arb(check.number(ratio))
        rows = [[check.number(x) for x in row] for row in evidence["components"]]
        laws = [(a, b, 1) for a, b, m in rows if m != 0]
        laws += [(0, 0, 1)] if 1 - check.total(m for *_, m in rows) > 0 else []
        laws += [(check.number(a), check.number(b), 0) for a, b in evidence["singular"]]
        apart = any(x > t * y for law in laws for x in law for y in law)
        require(not apart, "the triple below has ratios above that of the budget above", "invalid")


def whose(data: dict[str, Any], sides: Sequence[str]) -> str:
    """Return for whom the claim holds, from the evidence that has been checked: that of the sides that are claimed."""
    above = data["above"] if "above" in sides else []
    if data["version"] == OF_GROUPS:
        counts = next((e["groups"] for side in sides for e in data[side]), None)
        victims = sorted(data["claim"]["victims"])
        if counts is None:
            return f"for the users of groups {_listed(victims)}"
        known = f"{len(counts)} groups of {_listed(counts)} users"
        if victims == list(range(len(counts))):
            return f"for every user of {known}"
        users = sum(counts[i] for i in victims)
        return f"for the {users} users of group{'s' * (len(victims) > 1)} {_listed(victims)} only, of {known}"
    if above and "ratio" in above[0]:
        return "for every user of any randomizer R with R(x) <= t R(x') for all inputs"
    if above and "compared" in above[0]:
        size, pairs = len(above[0]["rows"]), sorted({tuple(sorted(pair)) for pair in above[0]["compared"]})
        if len(pairs) < size * (size - 1) // 2:
            told = ", ".join(f"{i} and {j}" for i, j in pairs[:50]) + f" and {len(pairs) - 50} more" * (len(pairs) > 50)
            return f"for every user, for these pairs of {size} inputs only: {told}"
        return f"for every user, for all pairs of {size} inputs"
    return "for every user"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def supposed(data: dict[str, Any], sides: Sequence[str]) -> Iterator[str]:
    """Yield what the certificate says that is not checked; of the sides that are claimed only."""
    yield f"mechanism {quoted(data['mechanism'])}"
    status, source = quoted(data["proof_status"]), quoted(data["source"])
    yield f"method {quoted(data['method'])}, proof status {status}, source {source}"
    methods = [e["method"] for e in data["above"] if "above" in sides]
    if set(methods) - {data["method"]}:
        yield f"upper end by {some(methods)}"
    told = []
    for side, words in (("above", _ABOVE), ("below", _BELOW)):
        for evidence in data[side] if side in sides else ():
            told += [word for key, word in words.items() if key in evidence]
    yield from dict.fromkeys(told)
    for side in sides:
        pairs = [" and ".join(e["pair"]) for e in data[side] if "pair" in e]
        if pairs:
            yield f"pairs of inputs {side}: {some(pairs)}"
    same = all("rows" in e for side in sides for e in data[side])
    if len(sides) == 2 and not same:
        yield "that the evidence above and below is about one mechanism"
