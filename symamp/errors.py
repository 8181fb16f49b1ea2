"""All errors: each refusal is typed and names the argument, what is wrong with it and what to do.

And the one error that is a fault of symamp itself: certified numbers that contradict each other.

>>> import symamp as sa
>>> try:
...     sa.RandomizedResponse(k=1)
... except sa.errors.SymampError as error:
...     print(type(error).__name__, error.argument, error.value, error.accepted, sep=" | ")
ArgumentError | k | 1 | an integer k >= 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

_SHOWN = 200  # characters of a value
_PARTS = 1000  # of a formula that is printed

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_Made = TypeVar("_Made")


class Problem(str):
    """A description of what is wrong; a refusal shows it as it is, followed by what to do."""

    __slots__ = ()


class SymampError(ValueError):
    """Base of all refusals; carries ``argument``, ``value`` and ``accepted``.

    ``value`` is what was given and ``accepted`` what would be, or a ``Problem`` and what to do about it.

    >>> raise SymampError("n", 0, "an integer from 1 to 10**18")
    Traceback (most recent call last):
    ...
    symamp.errors.SymampError: n: got 0, expected an integer from 1 to 10**18
    >>> raise SymampError("round", Problem("missing key 'n'"), "give n, rounds, and one of mechanism and file")
    Traceback (most recent call last):
    ...
    symamp.errors.SymampError: round: missing key 'n'; give n, rounds, and one of mechanism and file
    """

    argument: str
    value: object
    accepted: str

    def __init__(self, argument: str, value: object, accepted: str) -> None:
        self.argument = argument
        self.value = value
        self.accepted = accepted
        text, wanted = value if isinstance(value, str) else shown(value), _short(accepted, 10 * _SHOWN)
        if isinstance(value, Problem):
            told = f"{_short(argument)}: {_short(text, 10 * _SHOWN)}{'; ' * bool(wanted)}{wanted}"
        else:
            told = f"{_short(argument)}: got {_short(text)}, expected {wanted}"
        super().__init__(told.encode("utf-8", "backslashreplace").decode())  # lone surrogates cannot be printed

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.argument, self.value, self.accepted)


def one_of(names: Iterable[str], given: object = None) -> str:
    """Return that one of some names is accepted, and which of them was meant where it is spelt nearly so.

    >>> one_of(["blanket", "generic"], "blankt")
    'one of blanket, generic; did you mean blanket?'
    """
    listed = list(names)
    near = get_close_matches(given, listed, 1) if isinstance(given, str) else []
    near = [x for x in listed if isinstance(given, str) and x.lower() == given.lower()] or near
    return f"one of {', '.join(listed)}" + (f"; did you mean {near[0]}?" if near else "")


def shown(value: object) -> str:
    """Return the representation of anything, or its type where Python does not print it or a formula is long."""
    try:
        return f"a formula of more than {_PARTS} parts" if _is_long(value) else repr(value)
    except Exception:  # Python does not print integers of more than 4300 digits, and repr may raise
        return f"a value of type {type(value).__name__} that cannot be printed"


def _is_long(formula: object) -> bool:
    """Whether a SymPy expression would take seconds to print."""
    left, seen = [formula], 0
    while left and seen <= _PARTS:
        parts = getattr(left.pop(), "args", ())
        seen += 1
        left.extend(parts if isinstance(parts, tuple) else ())
    return seen > _PARTS


def _short(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else text[:most] + "..."


class ArgumentError(SymampError):
    """A number or option out of its range: eps0 <= 0, n < 1, delta outside (0, 1), not finite, unknown method."""


class MissingPackageError(SymampError, ImportError):
    """A package that only some questions need is not installed: charts, data frames, other accountants."""


class CallError(SymampError, TypeError):
    """A call that leaves an argument out, or gives one that the function does not take."""


class ExpressionError(SymampError):
    """An expression outside the whitelist, too large, too deep, or with an undeclared symbol."""


class FormatError(SymampError):
    """A mechanism file or table that does not have the documented shape."""


class RowSumError(SymampError):
    """A row of probabilities that does not sum to 1."""


class NegativeProbabilityError(SymampError):
    """An entry that is negative for some admissible parameters."""


class UndecidedOrderError(SymampError):
    """An order that cannot be proved under the stated assumptions; the message names the missing one."""


class UnknownInputError(SymampError):
    """An input that the mechanism does not have, or a pair of equal inputs."""


class UnknownMechanismError(SymampError):
    """A name that is not in the catalogue."""


class SupportMismatchError(SymampError):
    """A question that needs a finite local budget, asked of a mechanism that has none."""


class PrecisionError(SymampError):
    """An enclosure that did not become narrow enough at the largest working precision."""


class VerificationError(SymampError):
    """A derived formula that differs from the explicit table of the same mechanism."""


def checked_call(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Return the function, which raises CallError where its arguments do not fit its signature.

    >>> @checked_call
    ... def epsilon(mechanism, *, n, delta): ...
    >>> epsilon(1, n=10, delt=1)
    Traceback (most recent call last):
    ...
    symamp.errors.CallError: epsilon: missing a required argument: 'delta'; it takes mechanism, and by name n, delta; \
did you mean delta?
    """

    @wraps(function)
    def checked(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        try:
            return function(*given, **named)
        except TypeError:
            try:
                signature(function).bind(*given, **named)
            except TypeError as misfit:
                wrong = str(misfit)
            else:
                raise
        taken = [p for p in signature(function).parameters.values() if p.name != "self"]
        names = [p.name for p in taken if p.kind is p.KEYWORD_ONLY]
        places = ", ".join(p.name for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        accepted = places + ", and " * bool(places and names) + f"by name {', '.join(names)}" * bool(names)
        unknown = [name for name in named if name not in signature(function).parameters]
        meant = [near for name in unknown for near in get_close_matches(name, [p.name for p in taken], 1, 0.7)]
        asked = f"; did you mean {meant[0]}?" if meant else ""
        called = function.__qualname__.removesuffix(".__init__")
        raise CallError(called, Problem(wrong), f"it takes {accepted or 'nothing'}{asked}")

    return checked


def checked_class(made: type[_Made]) -> type[_Made]:
    """Return the class, which raises CallError where it is made of arguments that do not fit."""
    made.__init__ = checked_call(made.__init__)  # type: ignore[method-assign]
    return made


class ContradictionError(RuntimeError):
    """Certified numbers that cannot all be true: a fault of symamp, and none of the question's.

    No answer is given. The text names the question, what contradicts what and the evidence: please report it.

    >>> raise ContradictionError("epsilon of something", "lower 0.5 > upper 0.1", "blanket against generic")
    Traceback (most recent call last):
    ...
    symamp.errors.ContradictionError: internal error, please report it with this text: epsilon of something: lower 0.5 \
> upper 0.1; evidence: blanket against generic
    """

    def __init__(self, question: str, contradiction: str, evidence: str = "none") -> None:
        self.question = question
        self.contradiction = contradiction
        self.evidence = evidence
        told = f"{_short(question, 10 * _SHOWN)}: {contradiction}; evidence: {_short(evidence, 20 * _SHOWN)}"
        super().__init__(f"internal error, please report it with this text: {told}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.question, self.contradiction, self.evidence)
