"""Check a certificate: its claim, its settings with their mechanisms, or training, and the evidence for both ends.

PROVED, if valid: every setting is one (masses, ratios, groups); for every pair of inputs that it compares, and every
data set, what the evidence ``above`` says, and for some data sets what that ``below`` says. epsilon: D <= delta from
``upper`` on, D > delta up to ``lower``. delta: D <= ``upper`` and D >= ``lower`` at ``eps``. Ends do not cross, of the
claim or of what is proved above and below. What is not checked is told apart, as supposed (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import arb, fmpq

from . import rounds, training
from .check import INFINITY, MANY, MANY_PAIRS, MOST_WORK, Check, Number, working
from .claims import Claim, quoted
from .documents import CrossedEnds, Verdict, require, shaped
from .evidence import boxes_of_pairs, coordinates, groups, kinds
from .setting import At, Setting

FORMAT, VERSION = "symamp-certificate", 6
_MOST_SETTINGS, _MOST_SHOWN = 64, 32
"""Settings of one document, and sentences and points of a curve that a verdict names."""
_CERTIFICATE: dict[str, Any] = {"format": str, "version": int, "claim": dict, "settings": [dict], "supposed": [str]}
_SIDE: dict[str, Any] = {"eps": str, "precision": int, "evidence": [dict]}
Sides = dict[str, Any]


def verdict(data: Any, patience: int) -> Verdict:
    """Return the verdict on a certificate that proves its claim; a refusal is raised otherwise."""
    known = data.get("format") if isinstance(data, dict) else None
    said = f"has {known!a:.40}, version {data.get('version')!a:.20}" if isinstance(data, dict) else "is no object"
    is_known = known == FORMAT and data.get("version") == VERSION
    require(is_known, f"expected format {FORMAT!r}, version {VERSION}: the document {said}")
    if "training" in data:
        return training.verdict(data, patience)
    sides: Sides = {side: data.get(side) for side in ("above", "below")}
    shaped(data, _CERTIFICATE | {side: type(None) if x is None else dict for side, x in sides.items()}, "certificate")
    good = 0 < len(data["settings"]) <= _MOST_SETTINGS and len(data["supposed"]) <= _MOST_SHOWN
    require(good, "no settings, or too many, or of sentences")
    for name, side in sides.items():
        _opened(side, name)
    has_boxes = any(e.get("kind") == boxes_of_pairs.KIND for e in (sides["above"] or {}).get("evidence", ()))
    check = Check(patience * MOST_WORK * (MANY_PAIRS if has_boxes else 1 if _is_direct(sides) else MANY))
    announced = sum(map(_planned, sides.values()))
    require(announced <= check.most, f"too large: more than {check.most} operations are announced")
    with working(256):
        claim = Claim.of(check, data["claim"], INFINITY)
        settings = [Setting(check, item, f"settings[{i}]") for i, item in enumerate(data["settings"])]
        trivial = {"above": claim.upper >= (INFINITY if claim.is_epsilon else 1), "below": claim.lower == 0}
    claimed = {name: side for name, side in sides.items() if not trivial[name]}
    _prove(check, data["claim"], settings, claimed)
    return _told(check, data, settings, claimed, claim)


def _is_direct(sides: Sides) -> bool:
    return all(side is None or "evidence" in side for side in sides.values())


def _opened(side: Any, name: str) -> None:
    """Refuse a side of another shape: evidence about one round, or curves of many."""
    if side is None:
        return
    if "curves" in side:
        rounds.require_shape(side, name == "above", name)
        return
    shaped(side, _SIDE, name)
    kinds.require_shapes(side["evidence"], side["precision"], name == "above", name)


def _planned(side: Any) -> int:
    if side is None:
        return 0
    if "evidence" in side:
        return kinds.planned(side["evidence"], side["precision"])
    points = (p for c in side["curves"] for p in (*c["first"], *(c["second"] or ())))
    return rounds.planned(side) + sum(kinds.planned(p["evidence"], p["precision"]) for p in points)


def _prove(check: Check, claim: dict[str, str], settings: list[Setting], sides: Sides) -> None:
    """Refuse a claim that is not proved, on any of the sides that are not trivial."""
    is_epsilon, proved = claim["quantity"] == "epsilon", dict[str, tuple[Number, Number]]()
    curves: dict[str, dict[int, rounds.Curve]] = {}
    for name, side in sides.items():
        require(side is not None, f"nothing is listed {name}, and the bound is not trivial", "invalid")
        up, end = name == "above", claim["upper" if name == "above" else "lower"]
        there, bound = (end, claim["delta"]) if is_epsilon else (claim["eps"], end)
        with working(side["precision"] + 64 * ("curves" in side)):
            eps, value = check.number(side.get("eps", there)), check.number(bound)
            if "curves" in side:
                require(eps < INFINITY, f"{name}: an eps without a limit", "invalid")
                curves[name] = rounds.curves(check, settings, side, up)
                found = rounds.divergence(check, settings, curves[name], side, eps, up)
            else:
                direct = len(settings) == 1 and kinds.is_direct(settings[0])
                sums = settings[0].coordinates is not None  # of these evidence is about, or about messages
                direct = direct and all((e["kind"] == coordinates.KIND) == sums for e in side["evidence"])
                require(direct, f"{name}: no evidence about many rounds", "invalid")
                step, factor = _steps(check, settings[0].reports if up else 1, there)
                good = (side["eps"] == there and factor == 1) or (eps <= step if up else eps >= step)
                require(good and eps >= 0, f"{name}: eps is on the wrong side of the claim's", "invalid")
                several = settings[0].reports > 1 and {e["kind"] for e in side["evidence"]} != {groups.STEPS}
                require(up or not several, f"{name}: of several reports steps alone are proved", "invalid")
                at = At(check, settings[0], side["eps"], value / factor)
                found = (kinds.above if up else kinds.below)(at, side["evidence"], name) * factor
            good = found <= value if up else found > value if is_epsilon else found >= value
            require(good, f"{name}: the divergence is not proved to be as claimed", "invalid")
        settled = up and any(e["kind"] == kinds.TILT for e in side.get("evidence", ()))
        proved[name] = eps * (settings[0].reports if up else 1), value if settled else found
    if len(curves) == 2:
        for i, curve in curves["below"].items():
            rounds.require_no_crossing(curves["above"][i], curve)
    if len(proved) == 2:
        (high, most), (low, least) = proved["above"], proved["below"]
        with working(256):
            if low > high if is_epsilon else least > most:
                raise CrossedEnds("what is proved below is above what is proved above: different mechanisms")


def _steps(check: Check, reports: int, eps: str) -> tuple[Number, Number]:
    """Return the eps of one of so many steps, and the sum of e^(j eps) over them (docs/proofs/several_reports.md)."""
    step = check.number(eps)
    if reports == 1:
        return step, fmpq(1)
    require(step < INFINITY, "an eps without a limit", "invalid")
    step /= reports
    return step, arb(reports) if step == 0 else (reports * arb(step)).expm1() / arb(step).expm1()


# --- what is told -----------------------------------------------------------------------------------------------------


def _told(check: Check, data: Any, settings: list[Setting], sides: Sides, claim: Claim) -> Verdict:
    """Return the verdict: the whole claim with whose it is, what has been checked, and what is supposed."""
    one, several, (said, where) = settings[0], len(settings) > 1, claim.told(data["claim"])
    direct = _is_direct(sides) and not several and kinds.is_direct(one)
    if direct:
        said += f", n = {one.n}, {where}, {one.whose()}"
        checked = [f"ends rounded outward; evidence: {_listed(sides)}"]
    else:
        rounds_ = f"{sum(s.count for s in settings)} rounds"
        said += f", {where}, for {rounds_ if several or one.coordinates is None else _sums(one)}"
        checked = ["ends rounded outward"]
    supposed = list(kinds.supposed(settings, several))
    for i, s in enumerate(settings):
        kind = f"kind {i}: " if several else ""
        with working(256):
            checked += [f"{kind}{line}" for line in _mechanisms(check, s)]
        if not direct:
            (checked if _is_shown(i, sides) else supposed).append(_round(i, s, sides))
            supposed.append(f"kind {i}: that its users are sampled at that rate")
            if not s.everyone:
                supposed.append(f"kind {i}: that who takes part is drawn anew in each round, whatever happened before")
        if s.is_given:
            supposed += _given(i, s)
    if not direct:
        supposed.append("that rounds may be chosen one after another, which is a theorem")
    supposed += [f"stated: {quoted(sentence)}" for sentence in data["supposed"][:_MOST_SHOWN]]
    return Verdict("valid", said, tuple(checked), tuple(supposed))


def _sums(setting: Setting) -> str:
    many = "" if setting.count == 1 else f" of {setting.count} rounds"
    return f"the sums{many} of the {setting.coordinates} bits of a unary encoding, each by itself, n = {setting.n}"


def _listed(sides: Sides) -> str:
    kinds = {name: list(dict.fromkeys(e["kind"] for e in side["evidence"])) for name, side in sides.items()}
    told = [
        f"{len(sides[name]['evidence'])} {name}" + f" ({', '.join(found)})" * bool(found)
        for name, found in kinds.items()
    ]
    return " and ".join(told) or "none is needed"


def _mechanisms(check: Check, setting: Setting) -> Iterator[str]:
    """Yield what each mechanism is, as far as it has been read and checked."""
    for i, g in enumerate(setting.groups):
        group = f"group {i}: " if len(setting.groups) > 1 else ""
        yield f"{group}mechanism: {g.mechanism.told()}"
    yield from setting.who.told()
    if setting.coordinates is not None:
        coordinates.bits(check, setting.groups[0].mechanism, "mechanism")
        yield f"the mechanism is that of one bit of {setting.coordinates}, two of which differ; all are independent"


def _is_shown(i: int, sides: Sides) -> bool:
    return any(c["setting"] == i for side in sides.values() for c in side.get("curves", ()))


def _round(i: int, setting: Setting, sides: Sides) -> str:
    users = "a given profile" if setting.is_given else f"n = {setting.n}, {setting.whose()}"
    told = f"rounds of kind {i}: {setting.count}, with {users}, sampling rate {setting.rate}"
    return told + ", without evidence" * (not _is_shown(i, sides))


def _given(i: int, setting: Setting) -> Iterator[str]:
    points = setting.data["groups"][0]["mechanism"]["points"]
    shown = ", ".join(": ".join(map(quoted, row)) for row in points[:_MOST_SHOWN])
    more = f" and {len(points) - _MOST_SHOWN} more" if len(points) > _MOST_SHOWN else ""
    yield f"kind {i}: given bounds on delta at e^eps, {shown}{more}"
