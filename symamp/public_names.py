"""What completion offers of an object: the names that a user needs, without those that serve symamp itself."""

from __future__ import annotations

from collections.abc import Iterable


class PublicNames:
    """A base class: ``dir`` leaves out the names that a class lists in ``_internal_names``, for itself and below.

    Such names can be called as before, and are documented for those who describe a mechanism or a bound.

    >>> class Mechanism(PublicNames):
    ...     _internal_names = "fingerprint"
    ...     fingerprint, blanket = 1, 2
    >>> [name for name in dir(Mechanism()) if not name.startswith("_")]
    ['blanket']
    """

    _internal_names: str = ""

    def __dir__(self) -> Iterable[str]:
        internal = {name for c in type(self).__mro__ for name in vars(c).get("_internal_names", "").split()}
        return [name for name in super().__dir__() if name not in internal]
