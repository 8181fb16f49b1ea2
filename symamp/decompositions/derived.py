"""A decorator for steps of the derivation: done once for a family, then numbers are put in for its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, TypeVar, TypeVarTuple, cast

import sympy as sp

from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.formulas.parameter import Parameter
from symamp.numbers.substitution import put

Ts = TypeVarTuple("Ts")
R = TypeVar("R")


def derived(step: Callable[[LocalRandomizer, *Ts], R]) -> Callable[[LocalRandomizer, *Ts], R]:
    """Return the step with a memory: done for ``mechanism.general()``, then with its values put in.

    Powers with large exponents are so never multiplied out. Results are expressions, tuples of them, decompositions.
    """

    @lru_cache(maxsize=8192)
    @wraps(step)
    def found(mechanism: LocalRandomizer, *args: Any) -> Any:
        general, values = mechanism.general()
        return _put(found(general, *args), values, mechanism.parameters) if values else step(mechanism, *args)

    return cast("Callable[[LocalRandomizer, *Ts], R]", found)


def _put(result: Any, values: Mapping[sp.Symbol, sp.Expr], parameters: tuple[Parameter, ...]) -> Any:
    match result:
        case Decomposition():
            return result.put(values, parameters)
        case tuple():
            return type(result)(*(put(e, values) for e in result))
    return put(result, values)
