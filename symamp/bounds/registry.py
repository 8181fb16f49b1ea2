"""All bounds by name, found in the files of this folder and its subfolders."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType

from symamp import bounds
from symamp.bounds.bound import Bound
from symamp.bounds.subject import Setting, Subject
from symamp.errors import ArgumentError, Problem, SupportMismatchError, one_of

_ABOVE = (__name__, f"{bounds.__name__}.search")
"""The files of this folder that read the bounds from here."""


def _found() -> Mapping[str, Bound]:
    modules = (m.name for m in walk_packages(bounds.__path__, f"{bounds.__name__}.") if m.name not in _ABOVE)
    values = [v for name in modules for v in vars(import_module(name)).values()]
    found = {v.name: v for v in values if isinstance(v, Bound)}
    last = max((a.rank for a in found.values() if a.rank is not None), default=0) + 1

    def place(a: Bound) -> tuple[int, bool, str]:
        return last if a.rank is None else a.rank, not a.proof_status.is_guarantee, a.name

    order = sorted(found.values(), key=place)
    return MappingProxyType({a.name: a for a in order})


BOUNDS = _found()
"""All bounds by name: fast defaults first, bounds that are not proved last."""


def named(name: object, setting: Setting) -> Bound:
    """Return the bound of that name, after checking that the setting meets its hypotheses.

    Raises ArgumentError for an unknown name, SupportMismatchError with the reason if the setting does not.
    """
    if not isinstance(name, str) or name not in BOUNDS:
        raise ArgumentError("method", name, one_of(BOUNDS, name))
    BOUNDS[name].check(setting)
    return BOUNDS[name]


def by_default(subject: Subject) -> tuple[Bound, ...]:
    """Return the proved bounds of which the smallest is taken, fast ones first.

    Raises SupportMismatchError if none applies.
    """
    proved = [a for a in BOUNDS.values() if a.proof_status.is_guarantee and a.unsupported_reason(subject) is None]
    ranked = [a for a in BOUNDS.values() if a.rank is not None and a.proof_status.is_guarantee]
    found = tuple(a for a in proved if a.rank is not None and not a.skip_by_default(subject.randomizers[0]))
    if subject.participation is not None and subject.randomizers[0].mechanism is None:
        found = tuple(proved)  # where messages have a density, only bounds that are looser by themselves are triples
    if not found:
        reasons = "; ".join(f"{a.name}: {a.unsupported_reason(subject)}" for a in ranked)
        raise SupportMismatchError("mechanism", Problem(f"no bound applies to {subject!r}"), reasons)
    return found
