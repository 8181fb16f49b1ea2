"""Questions about a world: what the package answers, against the truth."""

import importlib.util
import json
import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from types import SimpleNamespace

import mpmath

import symamp as sa
from symamp.verifier import verify
from tests.oracle.world import (
    Adaptive,
    AnyTwo,
    Chosen,
    Coordinates,
    Curve,
    Data,
    Days,
    Drawn,
    Everyone,
    Joint,
    Listed,
    OneAttribute,
    OthersLost,
    Poisson,
    Removed,
    Runs,
    Silent,
    Table,
    Truth,
    Unary,
    Within,
    World,
)
from tests.worlds import draw, noise
from tests.worlds.levels import Level, exponential, of_number, of_order
from tests.worlds.levels import draw as draw_level
from tests.worlds.subjects import budget, is_crowd, subject, taking

TABLE_METHODS = [
    "blanket",
    "generic",
    "variation_ratio",
    "worst_pair",
    "every_data_set",
    "envelope",
    "two_messages",
    "few_messages",
    "all_data_sets",
    "generic_all_data_sets",
    "finite_sandwich",
    "standard_clone",
    "two_level",
    "variation_ratio_2023",
]
REFUTED = ("variation_ratio_2023",)
"""Methods that are no guarantee: what takes them for upper ends may be below the truth."""
HAS_EXPORTS = all(importlib.util.find_spec(name) is not None for name in ("dp_accounting", "opendp"))
SLOW = 5.0
"""Seconds of processor time from which on an answer counts as slow."""


@dataclass(frozen=True)
class Outcome:
    """What came of one question: answered, refused, or a finding (false, crash, slow)."""

    setting: str
    question: str
    method: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    reason: str = ""

    @property
    def is_finding(self) -> bool:
        return self.status not in ("answered", "refused")


class FalseAnswerError(Exception):
    """An answer that the truth contradicts."""


# ------------------------------------------------------------------------------------------------------------- checks


def exact(value: object) -> Fraction | None:
    """A double or an mpmath number as the fraction it is, None if infinite; FalseAnswerError for a NaN."""
    if isinstance(value, mpmath.mpf):
        sign, mantissa, exponent, _ = value._mpf_
        if mantissa or not exponent:
            return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        value = float(value)
    if math.isnan(value):
        raise FalseAnswerError("NaN")
    return None if math.isinf(value) else Fraction(value)


def ends(answer: object) -> tuple[Fraction, Fraction | None]:
    """The sharpest ends that an answer states, after the doubles around them; an upper end of None is infinite."""
    low, high = exact(answer.lower), exact(answer.upper)
    if low is None:
        raise FalseAnswerError(f"an infinite lower end: {answer}")
    if high is not None and low > high:
        raise FalseAnswerError(f"ends that cross: {answer.lower} > {answer.upper}")
    sharp_low, sharp_high = (exact(end) for end in answer.as_mpf())
    if sharp_low is None or (sharp_low < low and sharp_low >= 0 and low - sharp_low > abs(low) / 2**50):
        raise FalseAnswerError(f"a double that is inside: {answer.lower}, {answer.as_mpf()[0]}")
    low = max(low, sharp_low)
    if sharp_high is not None and high is not None:
        high = min(high, sharp_high)
    if high is not None and low > high:
        raise FalseAnswerError(f"ends that cross: {low} > {high}")
    return low, high


def check_delta(answer: object, least: Fraction, most: Callable[[], Fraction], slack: Fraction | None = None) -> None:
    """The bracket must reach ``least`` from above, and must not begin beyond ``most``.

    With a ``slack`` only the upper end is compared, up to it.
    """
    low, high = ends(answer)
    if high is None or high > 1 or low < 0:
        raise FalseAnswerError(f"no probability: [{answer.lower}, {answer.upper}]")
    if high < least - (slack or 0):
        raise FalseAnswerError(f"upper {answer.upper!r} below the truth {float(least)!r} = {_short(least)}")
    if slack is None and low and low > (greatest := most()):
        raise FalseAnswerError(f"lower {answer.lower!r} above the truth {float(greatest)!r} = {_short(greatest)}")


def check_epsilon(
    answer: object,
    delta: Fraction,
    truth: Callable[[Fraction], Fraction],
    unbounded: Fraction,
    slack: Fraction | None = None,
) -> None:
    """Private at the upper end, and not below the lower one; with a ``slack`` the latter is not compared."""
    high = exact(answer.upper)
    low = exact(answer.lower)
    if high is not None and low is not None and low > high:
        raise FalseAnswerError(f"ends that cross: {answer.lower} > {answer.upper}")
    if high is not None and high < 700:
        found = truth(exponential(high)[1])
        if found > delta + (slack or 0):
            raise FalseAnswerError(f"upper {answer.upper!r}: delta is {float(found)!r} there, not {float(delta)!r}")
    if slack is not None:
        return
    if low is None:
        if unbounded < delta:
            raise FalseAnswerError(f"lower inf: delta falls to {float(unbounded)!r} < {float(delta)!r}")
    elif 0 < low < 700:
        found = truth(exponential(low)[0])
        if found < delta:
            raise FalseAnswerError(f"lower {answer.lower!r}: delta is {float(found)!r} there, not {float(delta)!r}")


def _short(x: Fraction) -> str:
    return str(x) if len(str(x)) < 60 else "a long fraction"


# -------------------------------------------------------------------------------------------------------------- a case


class Case:
    """A world, its truth, and the package's subject; questions add their outcomes.

    With noise the truth is that of cells of messages, up to the slack: only upper ends are compared with it.
    """

    def __init__(self, world: World, rng: Random, *, methods: int = 1) -> None:
        self.world, self.rng, self.methods = world, rng, methods
        self.outcomes: list[Outcome] = []
        self.setting = setting(world)
        self.slack = noise.ROUNDED if noise.has_noise(world) else None

    @cached_property
    def truth(self) -> Truth:
        return Truth(self.world)

    @cached_property
    def subject(self):
        return subject(self.world, self.rng)

    @property
    def n(self) -> int:
        """The number of users who send messages, silent ones included."""
        takes_part = self.world.takes_part
        return takes_part.n if isinstance(takes_part, Chosen) else self.world.people

    @cached_property
    def profile(self):
        """The profile of a round."""
        return sampled(self)

    def level(self, rounds: int = 1) -> Level:
        """A level for so many rounds."""
        kinks = self.kinks
        if rounds > 1:
            kinks = [a * b for a, b in zip(kinks, self.rng.sample(kinks, len(kinks)), strict=True)]
        t = budget(self.world)
        budgets = [] if t is None else [(t, 1), (t, rounds)]
        if kinks:
            budgets.append((self.kinks[-1], rounds))
        return draw_level(self.rng, kinks, budgets)

    @cached_property
    def kinks(self) -> list[Fraction]:
        pairs = self.truth.pairs
        some = pairs if len(pairs) < 12 else self.rng.sample(pairs, 12)
        return sorted({Fraction(max(p, q), min(p, q)) for views, _ in some for p, q in views if p and q})

    def ask(self, question: str, method: str, call: Callable[[], object], check: Callable[[object], None]) -> object:
        """Call, check, and note what came of it; the answer, or None."""
        start, text, reason = time.process_time(), "", ""
        answer = None
        try:
            answer = call()
            seconds = time.process_time() - start
            check(answer)
            status = "slow" if seconds > SLOW else "answered"
        except sa.errors.SymampError as error:
            status, text = "refused", f"{type(error).__name__}: {error}"
            reason = f"`{error.argument}`: {error.accepted}"
        except FalseAnswerError as error:
            status, text = "false", str(error)
        except Exception as error:  # anything untyped is a finding
            status, text = "crash", f"{type(error).__name__}: {error}"
        taken = time.process_time() - start
        self.outcomes.append(Outcome(self.setting, question, method, status, text, taken, reason))
        return answer


_RELATIONS = {
    Listed: "pairs of a list",
    Within: "within a distance",
    OneAttribute: "one attribute",
    Removed: "removal",
}


def setting(world: World) -> str:
    """The setting of a world in words."""
    parts = [_runs(world.groups[0].runs)]
    relation = world.groups[0].neighbours
    if not isinstance(relation, AnyTwo):
        parts.append(_RELATIONS[type(relation)])
    if world.leaks:
        parts.append("leaks")
    if world.colluding:
        parts.append("some collude")
    if taking(world) is not None and isinstance(world.takes_part, OthersLost):
        parts.append("others lost")
    if is_crowd(world):
        parts.append("users who differ, " + ("data" if isinstance(world.seen, Data) else "messages"))
        if isinstance(world.takes_part, OthersLost):
            parts.append("some lost")
        if any(group.honest is not None for group in world.groups):
            parts.append("some dishonest")
    if isinstance(world.takes_part, Chosen):
        parts.append("n of N")
    if isinstance(world.takes_part, Poisson):
        parts[0] = f"Poisson sample of a {parts[0]}"
    return ", ".join(parts)


def _runs(runs: Runs) -> str:
    if isinstance(runs, noise.Cells):
        return runs.made[0]
    if isinstance(runs, Silent):
        return f"Poisson sample of a {_runs(runs.part)}"
    return {Table: "table", Joint: "joint", Drawn: "parallel", Unary: "unary encoding"}[type(runs)]


# ----------------------------------------------------------------------------------------------------------- questions


def ask_delta(case: Case, method: str | None = None, level: Level | None = None) -> None:
    """delta at a level, by a method."""
    at = level or case.level()
    truth = case.truth

    def check(answer: object) -> None:
        is_bound = method not in REFUTED or not isinstance(case.world.takes_part, Chosen)
        least = truth.delta(at.high) if is_bound else Fraction(0)
        check_delta(answer, least, lambda: truth.delta(at.low), case.slack)

    if is_crowd(case.world):
        case.ask(
            f"delta({at.text})",
            method or "default",
            lambda: sa.delta(case.subject, eps=at.text, victim=case.world.victim, method=method),
            check,
        )
    elif isinstance(case.world.takes_part, Chosen):
        case.ask(f"delta({at.text})", method or "default", lambda: sampled(case, method).delta(at.text), check)
    else:
        case.ask(
            f"delta({at.text})",
            method or "default",
            lambda: sa.delta(case.subject, n=case.n, eps=at.text, method=method),
            check,
        )


def sampled(case: Case, method: str | None = None) -> object:
    """The profile of a round, of people drawn if they are."""
    if is_crowd(case.world):
        return sa.profile(case.subject, victim=case.world.victim, method=method)
    found = sa.profile(case.subject, n=case.n, method=method)
    if isinstance(case.world.takes_part, Chosen):
        found = found.sampled(n=case.n, of=case.world.people)
    return found


def ask_epsilon(case: Case, method: str | None = None) -> None:
    """eps at a delta: one that is reached at a kink, or any."""
    delta = level_of_delta(case, case.truth)
    if delta is not None:
        ask_epsilon_at(case, delta, method)


def ask_epsilon_at(case: Case, delta: Fraction, method: str | None = None) -> None:
    """eps at this delta."""
    truth = case.truth

    def check(answer: object) -> None:
        check_epsilon(answer, delta, truth.delta, truth.unbounded(), case.slack)

    if is_crowd(case.world):
        case.ask(
            f"epsilon({delta})",
            method or "default",
            lambda: sa.epsilon(case.subject, delta=delta, victim=case.world.victim, method=method),
            check,
        )
    else:
        case.ask(f"epsilon({delta})", method or "default", lambda: sampled(case, method).epsilon(delta), check)


def level_of_delta(case: Case, truth: Truth) -> Fraction | None:
    """A delta in (0, 1) that is of interest."""
    rng = case.rng
    found = rng.choice((Fraction(1, 100), Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 3), Fraction(1, 10**20)))
    if rng.random() < 0.6:
        found = truth.delta(case.level().low) * rng.choice((1, 1, 1 - Fraction(1, 10**15), 1 + Fraction(1, 10**15)))
    elif rng.random() < 0.2:
        found = truth.unbounded()
    return found if 0 < found < 1 else None


def ask_rounds(case: Case) -> None:
    """delta, eps, a Renyi divergence or a trade-off after a few rounds."""
    rng = case.rng
    count = rng.choice((1, 2, 2, 2, 3)) if len(case.truth.pairs) < 60 else 2
    question = rng.choice(("delta", "delta", "epsilon", "renyi", "tradeoff"))
    method = None if is_crowd(case.world) else rng.choice((None, None, *TABLE_METHODS))
    rounds_of(case, count, question, method, rng.choice((None, 0.1, 0.1, 0.01)))


_FEW_PAIRS = 20
"""So many pairs of data sets may be chosen anew in each round in little time."""


def rounds_of(case: Case, count: int, question: str, method: str | None = None, gap: float | None = 0.1) -> None:
    """A question after so many rounds, with so wide a bracket."""
    once = case.truth
    many = Truth(replace(case.world, rounds=count))
    adaptive = Adaptive([once] * count)
    name, by = f"{count} rounds: {question}", method or "default"

    def rounds() -> object:
        return sampled(case, method).rounds(count)

    if question == "delta":
        at = case.level(count)

        def check(answer: object) -> None:
            least = Fraction(0) if method in REFUTED else many.delta(at.high)
            if is_crowd(case.world) and len(once.pairs) < _FEW_PAIRS:  # whoever is the victim in each round
                least = max(least, adaptive.delta(at.high))
            check_delta(answer, least, lambda: max(many.delta(at.low), adaptive.delta(at.low)), case.slack)

        case.ask(f"{name}({at.text})", by, lambda: rounds().delta(at.text, gap=gap), check)
    elif question == "epsilon":
        delta = level_of_delta(case, many)
        if delta is not None and method not in REFUTED:

            def check_eps(answer: object) -> None:
                unbounded = max(many.unbounded(), 1 - (1 - once.unbounded()) ** count)
                check_epsilon(answer, delta, many.delta, unbounded, case.slack)

            case.ask(f"{name}({delta})", by, lambda: rounds().epsilon(delta, gap=gap), check_eps)
    elif method in REFUTED or case.slack is not None:
        return
    elif question == "renyi":
        order = case.rng.choice((2, 3, 5))
        moment = many.moment(order)
        case.ask(
            f"{name}({order})", by, lambda: rounds().renyi(order, gap=gap), lambda a: check_renyi(a, moment, order)
        )
    else:
        level = case.rng.choice((Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1, 1000), Fraction(1)))
        least = many.tradeoff(level)
        case.ask(f"{name}({level})", by, lambda: rounds().tradeoff(level, gap=gap), lambda a: check_tradeoff(a, least))


def check_renyi(answer: object, moment: Fraction | None, order: int) -> None:
    """The Renyi divergence is the logarithm of the moment over order - 1."""
    low, high = exact(answer.lower[0]), exact(answer.upper[0])
    if low is not None and high is not None and low > high:
        raise FalseAnswerError(f"ends that cross: {answer.lower[0]} > {answer.upper[0]}")
    if high is not None and (moment is None or (high < 500 and exponential(high * (order - 1))[1] < moment)):
        raise FalseAnswerError(f"upper {answer.upper[0]!r} below the truth {_log(moment, order)}")
    if moment is not None and (low is None or (low < 500 and exponential(low * (order - 1))[0] > moment)):
        raise FalseAnswerError(f"lower {answer.lower[0]!r} above the truth {_log(moment, order)}")


def _log(moment: Fraction | None, order: int) -> str:
    return "inf" if moment is None else repr(math.log(moment) / (order - 1))


def check_tradeoff(answer: object, least: Fraction) -> None:
    """The least error of the second kind."""
    low, high = exact(answer.lower[0]), exact(answer.upper[0])
    if low is None or high is None or not 0 <= low <= high <= 1:
        raise FalseAnswerError(f"ends that cross: {answer.lower[0]!r}, {answer.upper[0]!r}")
    if low > least:
        raise FalseAnswerError(f"lower {answer.lower[0]!r} above the truth {float(least)!r}")
    if high < least:
        raise FalseAnswerError(f"upper {answer.upper[0]!r} below the truth {float(least)!r}")


def ask_least_n(case: Case) -> None:
    """The least number of users."""
    if isinstance(case.world.takes_part, Chosen) or case.world.victim is not None:
        return
    delta = level_of_delta(case, case.truth)
    if delta is not None:
        method = None if is_crowd(case.world) else case.rng.choice((None, None, *TABLE_METHODS))
        least_n_at(case, case.level(), delta, method)


def least_n_at(case: Case, at: Level, delta: Fraction, method: str | None = None) -> None:
    """The least number of users at a level and a delta."""
    smaller = [sized(case.world, n) for n in range(1, 5)]
    sizes = {found.people: found for found in smaller if draw.work(found) <= 4000}

    def check(found: object) -> None:
        if math.isnan(found.lower) or math.isnan(found.upper) or found.lower > found.upper:
            raise FalseAnswerError(f"ends that cross: {found}")
        for n, world in sizes.items():
            truth = Truth(world)
            if n >= found.upper and truth.delta(at.high) > delta:
                raise FalseAnswerError(f"n = {n} >= {found.upper} is not private: {float(truth.delta(at.high))!r}")
            if n < found.lower and truth.delta(at.low) <= delta:
                raise FalseAnswerError(f"n = {n} < {found.lower} is private: {float(truth.delta(at.low))!r}")

    call = f"least_n({at.text}, {delta})"
    case.ask(
        call, method or "default", lambda: sa.least_n(case.subject, eps=at.text, delta=delta, method=method), check
    )


def sized(world: World, n: int) -> World:
    """The same world with another number of users; of users who differ so many copies of all groups."""
    if not is_crowd(world):
        return replace(world, groups=(replace(world.groups[0], users=n),))
    honest = [None if g.honest is None else n * g.honest for g in world.groups]
    groups = (replace(g, users=n * g.users, honest=h) for g, h in zip(world.groups, honest, strict=True))
    return replace(world, groups=tuple(groups))


def ask_most_rounds(case: Case) -> None:
    """The most rounds, of which one, two and three are known."""
    delta, at = level_of_delta(case, case.truth), case.level(2)
    if delta is None or len(case.truth.pairs) > _FEW_PAIRS:
        return

    def check(found: object) -> None:
        for count in (1, 2, 3):
            truth = Truth(replace(case.world, rounds=count))
            if count <= found.lower and truth.delta(at.high) > delta:
                raise FalseAnswerError(f"{count} <= {found.lower} rounds: {float(truth.delta(at.high))!r}")
            if count > found.upper and Adaptive([case.truth] * count).delta(at.low) <= delta:
                raise FalseAnswerError(f"{count} > {found.upper} rounds are private")

    call = lambda: sa.most_rounds(sampled(case), eps=at.text, delta=delta)  # noqa: E731
    case.ask(f"most_rounds({at.text}, {delta})", "default", call, check)


def ask_budget_alone(case: Case) -> None:
    """What holds for every randomizer of the budget holds for this one."""
    t = budget(case.world)
    if t is None or t == 1 or isinstance(case.world.seen, Data) or is_crowd(case.world):
        return
    at = case.level()
    method = case.rng.choice((None, "generic", "generic_all_data_sets", "standard_clone"))
    least = case.truth.delta(at.high)

    def call() -> object:
        who = taking(case.world)
        profile = sa.profile(sa.PureLDP(eps0=f"log({t})"), n=case.n, method=method, participation=who)
        if isinstance(case.world.takes_part, Chosen):
            profile = profile.sampled(n=case.n, of=case.world.people)
        return profile.delta(at.text)

    case.ask(f"budget alone: delta({at.text})", method or "default", call, lambda a: check_delta(a, least, lambda: 1))


def ask_budgets_alone(case: Case) -> None:
    """Data shuffled: the budgets of the positions are enough."""
    if not isinstance(case.world.seen, Data):
        return
    budgets = [budget(World((group,))) for group in case.world.groups]
    if None in budgets or 1 in budgets:
        return
    at = case.level()
    groups = [(g.counted, sa.PureLDP(eps0=f"log({t})")) for g, t in zip(case.world.groups, budgets, strict=True)]
    least = case.truth.delta(at.high)
    case.ask(
        f"budgets alone: delta({at.text})",
        "default",
        lambda: sa.delta(sa.heterogeneous([g for g in groups if g[0]], shuffled="data"), eps=at.text),
        lambda a: check_delta(a, least, lambda: 1),
    )


def ask_exact(case: Case, level: Level | None = None) -> None:
    """sa.exact: the truth itself."""
    world = case.world
    if is_crowd(world) or not isinstance(world.takes_part, Everyone) or taking(world) is not None:
        return
    at = level or case.level()
    if at.low != at.high or not isinstance(world.groups[0].neighbours, AnyTwo):
        return
    truth = case.truth.delta(at.low)

    def check(found: object) -> None:
        if found.value.exact is not None and Fraction(str(found.value.exact)) != truth:
            raise FalseAnswerError(f"worst_dataset says {found.value.exact}, the truth is {truth}")
        if not Fraction(found.value.lower) <= truth <= Fraction(found.value.upper):
            raise FalseAnswerError(f"worst_dataset says {found.value}, the truth is {truth}")

    def call() -> object:
        table = case.subject if isinstance(case.subject, sa.FiniteMechanism) else case.subject.table()
        return sa.exact.worst_dataset(table, case.n, at.text)

    case.ask(f"exact({at.text})", "every_data_set", call, check)


def ask_compare(case: Case) -> None:
    """All bounds side by side: those that are proved."""
    if isinstance(case.world.takes_part, Chosen) or case.world.victim is not None:
        return
    at = case.level()
    least, most = case.truth.delta(at.high), case.truth.delta(at.low)

    def check(table: object) -> None:
        check_delta(table.truth, least, lambda: most)
        for row in table.rows:
            value = None if row.value is None else exact(row.value)
            proved = (
                row.proof_status.is_guarantee
                if hasattr(row.proof_status, "is_guarantee")
                else row.proof_status == "proved"
            )
            if proved and "lower" not in str(row.proof_status) and value is not None and value < least:
                raise FalseAnswerError(
                    f"row {row.name} ({row.proof_status}): {row.value!r} below the truth {float(least)!r}"
                )
            if "lower" in str(row.proof_status) and value is not None and value > most:
                raise FalseAnswerError(
                    f"row {row.name} ({row.proof_status}): {row.value!r} above the truth {float(most)!r}"
                )

    n = None if is_crowd(case.world) else case.n
    case.ask(f"compare({at.text})", "all", lambda: sa.compare(case.subject, n=n, eps=at.text), check)


def ask_tables(case: Case) -> None:
    """The same as a plain table: of all neighbours only, unless it keeps what is compared."""
    (group, *_), takes_part = case.world.groups, case.world.takes_part
    if is_crowd(case.world) or not isinstance(group.neighbours, AnyTwo) or taking(case.world) is not None:
        return
    if isinstance(group.runs, Table) and not isinstance(takes_part, Poisson):
        return
    at = case.level()
    truth = case.truth
    method = case.rng.choice((None, *TABLE_METHODS))

    def call() -> object:
        found = case.subject if isinstance(case.subject, sa.FiniteMechanism) else case.subject.table()
        profile = sa.profile(found, n=case.n, method=method)
        if isinstance(case.world.takes_part, Chosen):
            profile = profile.sampled(n=case.n, of=case.world.people)
        return profile.delta(at.text)

    case.ask(
        f"as a table: delta({at.text})",
        method or "default",
        call,
        lambda a: check_delta(a, truth.delta(at.high), lambda: truth.delta(at.low)),
    )


def ask_exports(case: Case) -> None:
    """What other accountants are given: upper bounds."""
    rng = case.rng
    kind = rng.choice(("callable", "dict", *("dp_accounting", "opendp") * HAS_EXPORTS, "points", "points"))
    if kind == "points":
        given_points(case, rng.choice((1, 2)))
    else:
        export_of(case, kind, rng.choice((0.01, 0.1, 0.5, 1.0, 2.0)))


def export_of(case: Case, kind: str, eps: float) -> None:
    """One export, read back at a double."""
    at = of_number(str(Fraction(eps)))
    least = case.truth.delta(at.high)

    def check(value: float) -> None:
        slack = 0 if kind in ("callable", "dict") else least / 10**9 + Fraction(1, 10**12)
        found = exact(value)
        if found is None or found > 1 + slack or found + slack < least:
            raise FalseAnswerError(f"{value!r} below the truth {float(least)!r}")

    def call() -> float:
        if kind == "callable":
            return case.profile.to_callable()(eps)
        if kind == "dict":
            return sa.GivenProfile.from_dict(case.profile.to_dict()).delta(at.text).upper
        if kind == "opendp":
            return case.profile.to_opendp().delta(eps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return case.profile.to_dp_accounting().get_delta_for_epsilon(eps)

    case.ask(f"{kind}({eps})", "default", call, check)


def given_points(case: Case, rounds: int) -> None:
    """A profile from true points of this world, and what it allows at most between them."""
    rng = case.rng
    levels = [case.level() for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.4:  # two points that doubles do not tell apart
        levels.append(of_order(levels[0].high * (1 + Fraction(1, 10**20))))
    more = Fraction(1, 10 ** rng.choice((2, 8, 30))) if rng.random() < 0.3 else Fraction(0)
    points = [(level, min(case.truth.delta(level.low) + more, Fraction(1))) for level in levels]
    at = case.level(rounds)
    many = Truth(replace(case.world, rounds=rounds))
    least = many.delta(at.high)
    hull = Curve((level.low, d) for level, d in points).rounds(rounds, at.high)
    least = least if hull is None else max(least, hull)
    written = [(level.text, d) for level, d in points]
    case.ask(
        f"given {written}, {rounds} rounds: delta({at.text})",
        "default",
        lambda: sa.from_privacy_profile(written).rounds(rounds).delta(at.text),
        lambda a: check_delta(a, least, lambda: 1),
    )


def ask_composed(case: Case) -> None:
    """Two kinds of rounds, one after the other."""
    other = draw.world(case.rng, 300)
    second = Case(other, case.rng)
    at = case.level(2)
    adaptive = Adaptive([case.truth, second.truth]), Adaptive([second.truth, case.truth])
    least = max(a.delta(at.high) for a in adaptive)

    def call() -> object:
        return sa.compose([sampled(case).rounds(1), sampled(second).rounds(1)]).delta(at.text)

    case.ask(
        f"composed with {other}: delta({at.text})",
        "default",
        call,
        lambda a: check_delta(a, least, lambda: max(b.delta(at.low) for b in adaptive)),
    )


def ask_curve(case: Case) -> None:
    """A curve of several levels at once."""
    if isinstance(case.world.takes_part, Chosen):
        return
    levels = [case.level() for _ in range(4)]

    def check(answers: Iterable[object]) -> None:
        for at, answer in zip(levels, answers, strict=True):
            check_delta(answer, case.truth.delta(at.high), lambda at=at: case.truth.delta(at.low))

    texts = [at.text for at in levels]
    case.ask(f"curve({texts})", "default", lambda: case.profile.curve(eps=texts).answers, check)


def ask_largest_eps0(case: Case) -> None:
    """The largest budget of responses, joint and parallel ones: all grow with it."""
    if is_crowd(case.world) or not isinstance(case.world.takes_part, Everyone) or taking(case.world) is not None:
        return
    delta = level_of_delta(case, case.truth)
    if delta is not None:
        largest_eps0_at(case, case.level(), delta, case.rng.choice((None, None, *TABLE_METHODS)))


def largest_eps0_at(case: Case, at: Level, delta: Fraction, method: str | None = None) -> None:
    """The largest budget at a level and a delta, where all parts are responses."""
    (group,) = case.world.groups
    what, relation = group.runs, group.neighbours
    if not _all_responses(what) or not isinstance(relation, AnyTwo | OneAttribute):
        return
    family = _family(what, relation)

    def check(found: object) -> None:
        low, high = exact(found.lower), exact(found.upper)
        if high is not None and low is not None and low > high:
            raise FalseAnswerError(f"ends that cross: {found.lower} > {found.upper}")
        if low:
            t = exponential(low)[0]
            value = Truth(replace(case.world, groups=(replace(group, runs=_with_ratio(what, t)),))).delta(at.high)
            if value > delta:
                raise FalseAnswerError(f"eps0 = {found.lower} is not private: {float(value)!r} > {float(delta)!r}")
        if high is not None and high < 60:
            t = exponential(high)[1]
            value = Truth(replace(case.world, groups=(replace(group, runs=_with_ratio(what, t)),))).delta(at.low)
            if value < delta:
                raise FalseAnswerError(f"eps0 = {found.upper} is private: {float(value)!r} < {float(delta)!r}")

    case.ask(
        f"largest_eps0({at.text}, {delta})",
        method or "default",
        lambda: sa.largest_eps0(family, n=case.n, eps=at.text, delta=delta, method=method),
        check,
    )


def _all_responses(what: Runs) -> bool:
    from tests.worlds.subjects import response_ratio

    if isinstance(what, Table):
        return response_ratio(what) is not None
    if isinstance(what, Silent):
        return _all_responses(what.part)
    if isinstance(what, Unary):
        return False
    parts = what.parts if isinstance(what, Joint) else [part for _, part in what.parts]
    return all(_all_responses(part) for part in parts)


def _family(what: Runs, relation: object) -> object:
    among = "one_attribute" if isinstance(relation, OneAttribute) else "all"
    if isinstance(what, Table):
        return sa.RandomizedResponse(k=len(what.rows))
    if isinstance(what, Silent):
        return sa.poisson_subsample(_family(what.part, relation), str(what.rate))
    if isinstance(what, Joint):
        return sa.joint([_family(part, AnyTwo()) for part in what.parts], neighbours=among)
    return sa.parallel([(str(w), _family(part, AnyTwo())) for w, part in what.parts], neighbours=among)


def _with_ratio(what: Runs, t: Fraction) -> Runs:
    if isinstance(what, Table):
        return draw.response(len(what.rows), t)
    if isinstance(what, Silent):
        return Silent(_with_ratio(what.part, t), what.rate)
    if isinstance(what, Joint):
        return Joint(tuple(_with_ratio(part, t) for part in what.parts))
    return Drawn(tuple((w, _with_ratio(part, t)) for w, part in what.parts))


# ------------------------------------------------------------------------------------ several reports, and coordinates


def ask_several_reports(case: Case) -> None:
    """Several reports of each user: shuffled together, in rounds, bundled, or kept for several days."""
    world, rng = case.world, case.rng
    if is_crowd(world) or not isinstance(world.takes_part, Everyone) or taking(world) is not None:
        return
    seen, count = rng.choice(("shuffled", "shuffled", "rounds", "bundled", "kept")), rng.choice((1, 2, 2, 3))
    few = sized(world, min(world.people, 3 if count < 3 else 2))
    group, words = few.groups[0], {"seen": seen}
    if seen == "kept":
        sets = [tuple(day for day in range(count) if rng.random() < 0.7) for _ in range(few.people - 1)]
        attends = (tuple(sorted(rng.sample(range(count), rng.randint(1, count)))), *sets)
        words = {"kept": True, "attending": attends.count(attends[0])}
        seen_by = replace(few, seen=Days(attends))
    elif seen == "bundled":
        seen_by = replace(few, groups=(replace(group, runs=Joint((group.runs,) * count)),))
    else:
        seen_by = replace(few, reports=count) if seen == "shuffled" else replace(few, rounds=count)
    if draw.work(seen_by) > _MOST_SEVERAL or (seen == "bundled" and not isinstance(group.neighbours, AnyTwo)):
        return
    truth, at = Truth(seen_by), case.level(count)
    adaptive = [Adaptive([Truth(few)] * count)] if seen == "rounds" else []
    name = f"{count} reports, {words}, n = {few.people}"

    def asked() -> object:
        return sa.several_reports(case.subject, n=few.people, reports=count, **words)

    if seen != "rounds" and rng.random() < 0.3:
        delta = level_of_delta(Case(seen_by, rng), truth)
        if delta is not None:
            ask = lambda: asked().epsilon(delta, gap=0.1)  # noqa: E731
            case.ask(f"{name}: epsilon({delta})", "default", ask,
                     lambda a: check_epsilon(a, delta, truth.delta, truth.unbounded()))  # fmt: skip
        return
    case.ask(
        f"{name}: delta({at.text})",
        "default",
        lambda: asked().delta(at.text, gap=0.1),
        lambda a: check_delta(a, truth.delta(at.high), lambda: max(t.delta(at.low) for t in (truth, *adaptive))),
    )


_MOST_SEVERAL = 1000
"""The work of a truth: each question takes some tenths of a second by itself."""


def ask_coordinates(case: Case) -> None:
    """The view by coordinates: of the case itself if it is a joint, or else of a unary encoding."""
    world, rng = case.world, case.rng
    (group, *_), found = world.groups, None
    plain = not is_crowd(world) and isinstance(world.takes_part, Everyone) and taking(world) is None
    plain = plain and isinstance(group.runs, Joint) and isinstance(group.neighbours, AnyTwo)
    if plain and len(group.runs.parts) > 1 and not any(isinstance(part, Joint) for part in group.runs.parts):
        seen_by, found = replace(world, seen=Coordinates()), case.subject
    else:
        q = rng.choice((Fraction(1, 5), Fraction(1, 3), Fraction(1, 10**9), Fraction(9, 20)))
        p = rng.choice((Fraction(1, 2), Fraction(3, 4), 1 - q))
        runs = Unary(rng.choice((2, 3)), p, q)
        seen_by = World((draw.Group(rng.choice((1, 2, 3, 4)), runs),), seen=Coordinates())
        found = sa.UnaryEncoding(p=str(p), q=str(q), D=runs.size)
    if draw.work(seen_by) > 4000:
        return
    again = Case(seen_by, rng)
    truth, at, n = again.truth, again.level(), seen_by.people
    more = rng.choice((0, 0, 1, 5))  # users of whom it is only said that they do not count
    who = rng.choice(({}, {"colluders": more}, {"batches": n}))
    words = {"n": n + more * bool(who), "view": "coordinates", "participation": sa.participation(**who)}
    name = f"{found!r}, {who}, n = {words['n']}, coordinates"
    if rng.random() < 0.3:
        delta = level_of_delta(again, truth)
        if delta is not None:
            ask = lambda: sa.epsilon(found, delta=delta, gap=0.1, **words)  # noqa: E731
            case.ask(f"{name}: epsilon({delta})", "default", ask,
                     lambda a: check_epsilon(a, delta, truth.delta, truth.unbounded()))  # fmt: skip
        return
    door = rng.choice((
        lambda: sa.delta(found, eps=at.text, gap=0.1, **words),
        lambda: sa.compare(found, eps=at.text, names=["data_set"], **words).truth,
        lambda: sa.sweep({"one": found}, eps=[at.text], gap=0.1, progress=False, **words),
    ))  # fmt: skip
    case.ask(
        f"{name}: delta({at.text})",
        "default",
        door,
        lambda a: check_delta(_single(a), truth.delta(at.high), lambda: truth.delta(at.low)),
    )


def _single(answer: object) -> object:
    """An answer, or the only point of a sweep as one."""
    if not isinstance(answer, sa.Sweep):
        return answer
    low, high = answer.lower.item(), answer.upper.item()
    return SimpleNamespace(lower=low, upper=high, as_mpf=lambda: (mpmath.mpf(low), mpmath.mpf(high)))


def ask_certificate(case: Case) -> None:
    """The certificate of a few rounds, or of several reports: it is valid, and its claim is true."""
    world, rng = case.world, case.rng
    if not isinstance(world.takes_part, Everyone | OthersLost | Poisson):
        return
    several = (
        not is_crowd(world) and taking(world) is None and isinstance(world.takes_part, Everyone) and rng.random() < 0.5
    )
    found = replace(sized(world, min(world.people, 2)), reports=2) if several else replace(world, rounds=2)
    if draw.work(found) > _MOST_SEVERAL or case.truth.kinks() == []:
        return
    truth, at = Truth(found), case.level(2)
    adaptive = truth if several else Adaptive([case.truth] * 2)

    def certified() -> dict[str, object]:
        if several:
            answer = sa.several_reports(case.subject, n=found.people, reports=2).delta(at.text, gap=0.1)
        else:
            answer = sampled(case).rounds(2).delta(at.text, gap=0.1)
        return answer.certificate()

    def check(data: dict[str, object]) -> None:
        verdict = verify(json.dumps(data))
        if verdict.status != "valid":
            raise FalseAnswerError(f"a certificate that is {verdict.status}: {verdict.reason}")
        low, high = (Fraction(data["claim"][end]) for end in ("lower", "upper"))
        if high < truth.delta(at.high) or low > max(truth.delta(at.low), adaptive.delta(at.low)):
            raise FalseAnswerError(f"a certificate of [{float(low)!r}, {float(high)!r}]")

    case.ask(f"certificate of {'2 reports' if several else '2 rounds'}: delta({at.text})", "default", certified, check)


CHEAP = ((ask_exact, 0.06), (ask_epsilon, 0.08), (ask_budget_alone, 0.03), (ask_budgets_alone, 0.3), (ask_tables, 0.15))
RARELY = (
    (ask_rounds, 0.02),
    (ask_least_n, 0.004),
    (ask_most_rounds, 0.002),
    (ask_compare, 0.015),
    (ask_exports, 0.006),
    (ask_composed, 0.002),
    (ask_curve, 0.006),
    (ask_largest_eps0, 0.02),
    (ask_several_reports, 0.004),
    (ask_coordinates, 0.004),
    (ask_certificate, 0.004),
)
"""Which share of the worlds a question is asked of: slow ones rarely."""


NOISE_METHODS = (*(None,) * 3, "blanket", "worst_pair", "interval", "finite_sandwich", "generic", "all_data_sets")
"""Methods that are asked of noise."""


def examine_noise(seed: int, index: int, *, slow: float = 1.0) -> Case:
    """Draw a world with noise in place of tables, and ask about it."""
    rng = Random(f"noise {seed} {index}")
    found = noise.with_noise(draw.world(rng, 1500), rng)
    while not noise.has_noise(found):
        found = noise.with_noise(draw.world(rng, 1500), rng)
    case = Case(found, rng)
    ask_delta(case)
    if rng.random() < 0.25:
        ask_epsilon(case)
    if rng.random() < 0.3 and not is_crowd(case.world):
        ask_delta(case, rng.choice(NOISE_METHODS))
    if rng.random() < 0.08 * slow:
        rounds_of(case, 2, rng.choice(("delta", "epsilon")))
    return case


def examine(seed: int, index: int, *, slow: float = 1.0) -> Case:
    """Draw the world of this number, and ask about it."""
    rng = Random(f"{seed} {index}")
    case = Case(draw.world(rng), rng)
    ask_delta(case)
    slow_methods = ("all_data_sets", "generic_all_data_sets", "two_messages", "few_messages", "envelope")
    if not is_crowd(case.world):
        quick = not isinstance(case.world.takes_part, Chosen)
        for _ in range(1 if quick else 0):
            method = rng.choice(TABLE_METHODS)
            if method not in slow_methods or rng.random() < 0.3 * slow:
                ask_delta(case, method)
        if not quick and rng.random() < 0.3:
            ask_delta(case, rng.choice(TABLE_METHODS))
    for question, share in CHEAP:
        if rng.random() < share:
            question(case)
    for question, share in RARELY:
        if rng.random() < share * slow:
            question(case)
    return case
