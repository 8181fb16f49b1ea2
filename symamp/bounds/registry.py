"""The analyses by name: whatever the files of this folder define, found and not listed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from symamp import bounds as analyses
from symamp.bounds.analysis import Bound
from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, SupportMismatchError


def _found() -> Mapping[str, Bound]:
    modules = (m.name for m in iter_modules(analyses.__path__) if m.name != "registry")
    values = [v for name in modules for v in vars(import_module(f"{analyses.__name__}.{name}")).values()]
    found = {v.name: v for v in values if isinstance(v, Bound)}
    last = max((a.rank for a in found.values() if a.rank is not None), default=0) + 1

    def place(a: Bound) -> tuple[int, bool, str]:
        return last if a.rank is None else a.rank, not a.proof_status.is_guarantee, a.name

    order = sorted(found.values(), key=place)
    return MappingProxyType({a.name: a for a in order})


BOUNDS = _found()
"""All analyses by name, cheap defaults first, what is no guarantee last."""


def analysis(name: object, subject: Subject) -> Bound:
    """Return the analysis of that name, after checking that it supports the subject.

    Raises ArgumentError for an unknown name, SupportMismatchError with the reason if it does not apply.
    """
    if not isinstance(name, str) or name not in BOUNDS:
        raise ArgumentError("method", name, f"one of {', '.join(BOUNDS)}")
    BOUNDS[name].check(subject)
    return BOUNDS[name]


def by_default(subject: Subject) -> tuple[Bound, ...]:
    """Return the proved analyses among whose bounds the least is taken, cheap ones first.

    Raises SupportMismatchError if none applies.
    """
    ranked = [a for a in BOUNDS.values() if a.rank is not None and a.proof_status.is_guarantee]
    found = tuple(a for a in ranked if not a.skip_by_default(subject) and a.unsupported_reason(subject) is None)
    if not found:
        reasons = "; ".join(f"{a.name}: {a.unsupported_reason(subject)}" for a in ranked)
        raise SupportMismatchError("mechanism", repr(subject), reasons)
    return found
