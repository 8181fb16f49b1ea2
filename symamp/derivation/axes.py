"""Where a picture is drawn."""

from __future__ import annotations

from typing import Any


def axes_for(ax: Any, **options: Any) -> Any:
    """Return the matplotlib Axes that are given, or new ones made with these options."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(**options)[1]
