"""All certified evaluators by name, found in the files of this folder and its subfolders."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType

from symamp import sums as evaluation
from symamp.sums.evaluator import Evaluator


def _found() -> Mapping[str, Evaluator]:
    inside = f"{evaluation.__name__}."
    modules = sorted(m.name for m in walk_packages(evaluation.__path__, inside) if m.name != __name__)
    values = [v for name in modules for v in vars(import_module(name)).values()]
    found = {v.name: v for v in values if isinstance(v, Evaluator)}
    return MappingProxyType(dict(sorted(found.items())))


EVALUATORS = _found()
"""All evaluators by name."""
