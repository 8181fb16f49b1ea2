"""symamp: privacy amplification by shuffling, derived as formulas and evaluated with a guarantee.

``import symamp`` loads nothing else: each public name is loaded when it is first used. ``__init__.pyi`` lists where.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path

__version__ = "0.2.0"


def _homes() -> dict[str, str]:
    """Return the module of each public name, as the stub imports it for editors and type checkers."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


_HOMES = _homes()
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    home = _HOMES[name]
    found = import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
