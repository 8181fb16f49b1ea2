"""Modules that are loaded by name: what a folder defines; packages that are optional or slow to import."""

from __future__ import annotations

from collections.abc import Callable
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
    """Return a module that may be missing; ``install`` is what pip installs it by.

    Raises MissingPackageError, an ImportError, which says so. What else goes wrong while it is loaded, an interruption
    above all, is not taken for its absence.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # it is there, and cannot be loaded
            raise
        raise MissingPackageError(
            name.partition(".")[0], Problem("the package is not installed"), f'pip install "{install}"'
        ) from None


# ------------- Functions of SciPy, loaded at the first call: at the top they would double the time of ``import symamp``


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """Return the inverse of the regularized incomplete beta function: where it is p."""
    from scipy.special import betaincinv as found

    return found(a, b, p)


def lambertw(x: Any) -> Any:
    """Return the principal branch of Lambert's function."""
    from scipy.special import lambertw as found

    return found(x)


def ndtr(x: Any) -> Any:
    """Return the standard normal distribution function."""
    from scipy.special import ndtr as found

    return found(x)


def ndtri(p: Any) -> Any:
    """Return its inverse."""
    from scipy.special import ndtri as found

    return found(p)


def minimize_scalar(function: Callable[[float], float], **options: Any) -> Any:
    """Return SciPy's minimum of a function of one number."""
    from scipy.optimize import minimize_scalar as found

    return found(function, **options)
