"""All closed forms by name: those that the files of the folder ``forms`` define."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from symamp.literature import forms
from symamp.literature.closed_form import ClosedForm


def _found() -> Mapping[str, ClosedForm]:
    modules = (m.name for m in iter_modules(forms.__path__))
    values = [v for name in modules for v in vars(import_module(f"{forms.__name__}.{name}")).values()]
    listed = [f for v in values for f in (v if isinstance(v, tuple) else (v,)) if isinstance(f, ClosedForm)]
    return MappingProxyType(
        {f.name: f for f in sorted(listed, key=lambda f: (not f.proof_status.is_guarantee, f.name))}
    )


CLOSED_FORMS = _found()
"""All closed forms by name, what is no guarantee last."""
