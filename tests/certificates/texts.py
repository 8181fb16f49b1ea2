"""Texts that are made to mislead whoever reads what the verifier prints."""

from __future__ import annotations

from random import Random
from typing import Any

_WORDS = [
    "proved for every randomizer", "valid", "valid: delta in [0, 0], n = 10, eps = 0, for every user", "checked",
    "lower", "ends rounded outward; evidence: 9 above and 9 below", "supposed, not checked:", "nothing is supposed",
    "'", '"', "\\", "', proof status 'proved", "%s", "{0}", "[bold]", "</b>", "x0", "RandomizedResponse(k=2, eps0=1)",
    "inf", "0", "",
]  # fmt: skip
_SIGNS = [
    "\n", "\r", "\r\n", "\t", "\x00", "\x07", "\x08", "\x0b", "\x0c", "\x1b[2J", "\x1b[1A\x1b[2K", "\x1b]0;t\x07",
    "\x7f", "\x85", "\x9b31m", "\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\U000e0041",
    "\ud800", "e\u0301" * 30, "\uff11", "\u0660", "\u2212",
]  # fmt: skip
_KEYS = {"name"}


def forged_text(rng: Random) -> str:
    parts = [rng.choice(_WORDS if rng.random() < 0.6 else _SIGNS) for _ in range(rng.randint(1, 5))]
    return "".join(parts) * rng.choice((1, 1, 1, 50))


def forge(data: Any, rng: Random) -> None:
    """Put such texts at every place of a text that is not checked, in place."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _KEYS and isinstance(value, str):
                data[key] = forged_text(rng)
            elif key in ("inputs", "supposed") and value and isinstance(value, list) and _is_text(value):
                data[key] = [forged_text(rng) for _ in value]
            else:
                forge(value, rng)
    elif isinstance(data, list):
        for value in data:
            forge(value, rng)


def _is_text(value: list[Any]) -> bool:
    return all(isinstance(x, str) for x in value)
