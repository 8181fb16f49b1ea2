"""Modules that are loaded by name: what a folder defines, and packages that are optional."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, TypeVar

from symamp.errors import MissingPackageError, Problem

# --------------------------------------------- What the files of a folder define: to add one to a list is to add a file

_Defined = TypeVar("_Defined")


def defined_in(folder: ModuleType, kind: type[_Defined], without: str = "") -> list[_Defined]:
    """Return what the modules of a folder and its subfolders, but one, define of a kind, by itself or in tuples."""
    names = (m.name for m in walk_packages(folder.__path__, f"{folder.__name__}.") if m.name != without)
    values = (v for name in names for v in vars(import_module(name)).values())
    return [x for v in values for x in (v if isinstance(v, tuple) else (v,)) if isinstance(x, kind)]


# ------------------------------------------------------------------------ Packages that are needed for some things only


def optional(name: str, install: str) -> Any:
    """Return a module that may be missing; ``install`` is what pip installs it by."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # it is there, and cannot be loaded
            raise
        wrong = Problem("the package is not installed")
        raise MissingPackageError(name.partition(".")[0], wrong, f'pip install "{install}"') from None
