"""The certified evaluators by name: whatever the files of this folder define, found and not listed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from symamp import sums as evaluation
from symamp.sums.evaluator import Evaluator


def _found() -> Mapping[str, Evaluator]:
    modules = sorted(m.name for m in iter_modules(evaluation.__path__) if m.name != "evaluators")
    values = [v for name in modules for v in vars(import_module(f"{evaluation.__name__}.{name}")).values()]
    found = {v.name: v for v in values if isinstance(v, Evaluator)}
    return MappingProxyType(dict(sorted(found.items())))


EVALUATORS = _found()
"""All evaluators by name."""
