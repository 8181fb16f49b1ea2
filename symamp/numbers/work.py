"""Work that is counted: what the evaluations of one question may take, the same on every machine.

Units are about a microsecond of an idle core, taken from the sizes of what is computed and never from a clock. What
ends by it is a search, never an evaluation: bounds are as certified as before, and wider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, update_wrapper
from math import inf
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

QUESTION = 1e7
"""What one question may take, about."""


@dataclass
class _Account:
    """What was spent, what may be spent in the stage that is under way and in all, and whether that was ever met."""

    most: float = inf
    stage: float = inf
    spent: float = 0.0
    is_met: bool = False


_OPEN: ContextVar[_Account] = ContextVar("work")


def _account() -> _Account:
    found = _OPEN.get(None)
    if found is None:
        found = _Account()
        _OPEN.set(found)
    return found


def spend(units: float) -> None:
    """Count some work of the question that is under way."""
    _account().spent += units


def spent() -> float:
    """Return what the question that is under way has taken."""
    return _account().spent


def work_left() -> float:
    """Return what the question that is under way may still take: inf outside of questions."""
    found = _account()
    return max(found.most - found.spent, 0.0)


def is_spent() -> bool:
    """Return whether the stage that is under way has taken what it may: never outside of questions."""
    found = _account()
    if found.spent < found.stage:
        return False
    found.is_met = True
    return True


def was_limited() -> bool:
    """Return whether some search of the question that is under way ended for what it had taken."""
    return _account().is_met


@contextmanager
def question(most: float = QUESTION) -> Iterator[None]:
    """Count the work of one question from 0; what it takes is work of the one around it, too."""
    outer, own = _account(), _Account(most, most)
    token = _OPEN.set(own)
    try:
        yield
    finally:
        _OPEN.reset(token)
        outer.spent += own.spent


@contextmanager
def stage(share: float) -> Iterator[None]:
    """Let searches end when so much of what the question may take is spent, whatever came before."""
    found = _account()
    before, found.stage = found.stage, share * found.most
    try:
        yield
    finally:
        found.stage = before


def kept(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that keeps results as ``lru_cache`` does; each time they are charged what they took."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @lru_cache(maxsize=maxsize)
        def found(*args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
            with question(inf):
                return function(*args, **kwargs), spent()

        def charged(*args: P.args, **kwargs: P.kwargs) -> T:
            account = _account()
            before = account.spent
            result, taken = found(*args, **kwargs)  # type: ignore[arg-type]
            account.spent = before + taken
            return result

        vars(charged)["cache_clear"] = found.cache_clear
        return update_wrapper(charged, function)

    return decorated
