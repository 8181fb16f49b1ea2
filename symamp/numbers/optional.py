"""Packages that are needed for some things only."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str, install: str) -> Any:
    """Return a module that may be missing; ``install`` is what pip installs it by.

    Raises ImportError, which says so. What else goes wrong while it is loaded, an interruption above all, is not
    taken for its absence.

    >>> optional("math", "symamp").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "symamp[export]")
    Traceback (most recent call last):
    ImportError: no_such_module is not installed: pip install "symamp[export]"
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # it is there, and cannot be loaded
            raise
        raise ImportError(f'{name} is not installed: pip install "{install}"') from None
