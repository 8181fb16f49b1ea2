"""The names that completion offers: those for users, without those that only symamp itself calls."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable
from inspect import isfunction
from typing import Any

from symamp.errors import checked_call


class _ListedNames(ABCMeta):
    """``dir`` of a class leaves out what ``dir`` of its instances does."""

    def __dir__(cls) -> Iterable[str]:
        internal = _internal(cls)
        return [name for name in super().__dir__() if name not in internal]


class PublicNames(metaclass=_ListedNames):
    """A base class: ``dir`` leaves out the names that a class lists in ``_internal_names``, for itself and below.

    Such names can be called as before, and are documented for those who describe a mechanism or a bound. All other
    methods, and ``__init__``, refuse arguments that they do not take by CallError.

    >>> class Mechanism(PublicNames):
    ...     _internal_names = "fingerprint"
    ...     fingerprint, blanket = 1, 2
    >>> [name for name in dir(Mechanism()) if not name.startswith("_")]
    ['blanket']
    """

    _internal_names: str = ""

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        internal = _internal(cls)
        for name, found in list(vars(cls).items()):
            if isfunction(found) and (name == "__init__" or not (name.startswith("_") or name in internal)):
                setattr(cls, name, checked_call(found))

    def __dir__(self) -> Iterable[str]:
        internal = _internal(type(self))
        return [name for name in super().__dir__() if name not in internal]


def _internal(kind: type) -> set[str]:
    return {name for c in kind.__mro__ for name in vars(c).get("_internal_names", "").split()}
