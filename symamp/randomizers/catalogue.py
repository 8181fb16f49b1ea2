"""The catalogue of named mechanisms, found in their folders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from symamp import randomizers as mechanisms
from symamp.errors import UnknownMechanismError, one_of
from symamp.randomizers import families
from symamp.randomizers import noise as continuous
from symamp.randomizers.family import Family, Parametrised


@cache
def catalogue() -> dict[str, type[Family]]:
    """Return the families of the folder ``families`` by their ``slug``, in alphabetical order.

    >>> catalogue()["krr"].__name__
    'RandomizedResponse'
    """
    return dict(sorted((found.slug, found) for found in _declared(families) if issubclass(found, Family)))


def named() -> dict[str, type[Parametrised]]:
    """Return whatever has a name and parameters: the families, then noise, then any randomizer with a budget."""
    return {**catalogue(), **_others()}


def by_name(name: str) -> type[Parametrised]:
    """Return what has that name; UnknownMechanismError if there is nothing."""
    if name not in named():
        raise UnknownMechanismError("mechanism", repr(name), one_of(named(), name))
    return named()[name]


@cache
def _others() -> dict[str, type[Parametrised]]:
    return dict(sorted((found.slug, found) for folder in (continuous, mechanisms) for found in _declared(folder)))


def _declared(folder: ModuleType) -> Iterator[type[Parametrised]]:
    """Yield the classes of the folder's modules that have a slug of their own and parameters."""
    for module_info in iter_modules(folder.__path__):
        module = import_module(f"{folder.__name__}.{module_info.name}")
        for value in vars(module).values():
            own = isinstance(value, type) and value.__module__ == module.__name__ and "slug" in vars(value)
            if own and issubclass(value, Parametrised) and vars(value).get("declared", folder is families):
                yield value
