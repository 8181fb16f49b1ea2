"""What a notebook shows of a subject of questions: its name, the ranges of what is still free, its local budget."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import Any

import sympy as sp

from symamp.derivation.printing import text
from symamp.errors import SymampError


class NotebookView:
    """The view in HTML of a subject with a name and a local budget.

    >>> import symamp as sa
    >>> sa.PureLDP(eps0=1)._repr_html_()
    '<b>any eps0-LDP randomizer</b>: <code>PureLDP(eps0=1)</code><br>local ε = 1'
    """

    name: str
    parameters: Any  # tuple[Parameter, ...]

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0."""
        raise NotImplementedError

    def local_epsilon(self) -> sp.Expr:
        """Return the local budget eps0."""
        return sp.log(self.local_ratio())

    def _repr_html_(self) -> str:
        free = ", ".join(p.describe() for p in self.parameters)
        lines = [f"<b>{escape(self.name)}</b>: <code>{escape(repr(self))}</code>"]
        if free:
            lines.append(f"for {escape(free)}")
        with suppress(SymampError):  # an order that is not proved for all parameters
            lines.append(f"local ε = {escape(text(self.local_epsilon()))}")
        return "<br>".join(lines)
