"""Packages that are needed for some things only."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str, install: str) -> Any:
    """Return a module that may be missing; ``install`` is what pip installs it by.

    Raises ImportError, which says so.

    >>> optional("math", "symamp").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "symamp[export]")
    Traceback (most recent call last):
    ImportError: no_such_module is not installed: pip install "symamp[export]"
    """
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f'{name} is not installed: pip install "{install}"') from None
