"""Where a picture is drawn."""

from __future__ import annotations

from typing import Any

from symamp.numbers.optional import optional


def axes_for(ax: Any, **options: Any) -> Any:
    """Return the matplotlib Axes that are given, or new ones made with these options."""
    if ax is not None:
        return ax
    return optional("matplotlib.pyplot", "symamp[plot]").subplots(**options)[1]
