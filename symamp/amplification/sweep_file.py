"""Finished points of a sweep in a file, one JSON object a line: what was written is never computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

from symamp.errors import FormatError

_VERSION = 1


class Finished(NamedTuple):
    """A bracket as it is kept: its ends, their decimal logarithms, and the analysis behind the upper end."""

    lower: float
    upper: float
    log10_lower: float
    log10_upper: float
    method: str


def identity(subject: Any, n: int, quantity: str, given: str, method: str | None, gap: float) -> str:
    """Return what a point is known by: equal for equal questions about equal mechanisms, in every process.

    >>> import symamp as sa
    >>> ask = (100, "epsilon", "1e-6", None, 1e-4)
    >>> identity(sa.RandomizedResponse(k=2, eps0=1), *ask) == identity(sa.RandomizedResponse(k=2, eps0=1), *ask)
    True
    """
    text = repr((_VERSION, _plain(subject), n, quantity, given, method, gap))
    return sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return the key of a mechanism with those of its parts: what it prints need not tell tables apart."""
    key = getattr(value, "key", None)
    if callable(key):
        return tuple(_plain(part) for part in key())
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, Mapping):
        return tuple(sorted((str(k), _plain(v)) for k, v in value.items()))
    decomposition = getattr(value, "decomposition", None)
    return repr(value if decomposition is None else (decomposition.components, decomposition.singular))


class SweepFile:
    """The points that a file holds, and the place to add others; without a file nothing is kept.

    Raises FormatError for a file that cannot be read or written, or holds anything else. A last line that is not
    complete was being written when the process ended: it is left out.
    """

    def __init__(self, file: str | PathLike[str] | None) -> None:
        self.path = None if file is None else Path(file)
        self.known: dict[str, Finished] = {}
        self._stream: IO[str] | None = None
        self._torn = False
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FormatError("file", str(path), f"a file that can be read ({type(error).__name__})") from None
        lines = text.split("\n")
        self._torn = lines[-1] != ""
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                row = json.loads(line)
                low, high, log_low, log_high = (float.fromhex(row[name]) for name in Finished._fields[:4])
                self.known[str(row["point"])] = Finished(low, high, log_low, log_high, str(row["method"]))
            except (ValueError, KeyError, TypeError):
                # A line that was torn stays as it is; what follows it starts on a line of its own.
                if number < len(lines) and not line.startswith('{"point": "'):
                    raise FormatError("file", f"line {number} of {path}", "the points of a sweep") from None

    def keep(self, point: str, found: Finished) -> None:
        """Add a point, at once on disk as far as the system promises that."""
        self.known[point] = found
        if self.path is None:
            return
        if self._stream is None:
            try:
                self._stream = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
            except OSError as error:
                raise FormatError("file", str(self.path), f"a file that can be written ({error.strerror})") from None
            if self._torn:
                self._stream.write("\n")
        ends = {name: float(value).hex() for name, value in zip(Finished._fields[:4], found[:4], strict=True)}
        self._stream.write(json.dumps({"point": point, **ends, "method": found.method}) + "\n")
        self._stream.flush()

    def __enter__(self) -> SweepFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
