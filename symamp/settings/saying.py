"""Who takes part, as people say it: ``symamp.participation``, whose words are those of the folder ``words``."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter, Signature
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from symamp.errors import ArgumentError, Problem, checked_call
from symamp.numbers.optional import defined_in
from symamp.settings import words
from symamp.settings.participation import Participation, Word

WORDS = MappingProxyType({word.name: word for word in defined_in(words, Word)})
"""All words by name."""


def participation(**said: Any) -> Participation:
    """Return who takes part in a round, as ``epsilon``, ``delta``, ``profile`` and the other questions take it.

    {words}

    Probabilities are exact, as written. Raises ArgumentError for numbers out of range, and for a removal that the
    number of reports would reveal.

    >>> import symamp as sa
    >>> missing = sa.participation(dropout="1/5")
    >>> sa.delta(sa.RandomizedResponse(k=10, eps0=1), n=1000, eps="0.05", participation=missing).upper
    0.00022210...
    """
    if not said.keys() <= WORDS.keys():
        raise TypeError
    who, given = Participation(), []
    for name, word in WORDS.items():
        value = word.read(said.get(name, word.usual), name)
        if value != word.usual:
            who = word.makes(who, value)
            given.append((name, value))
    who = replace(who, words=tuple(given))
    for name, word in WORDS.items():
        for fails, why, remedy in word.refusals:
            if fails(who):
                raise ArgumentError(name, Problem(why), remedy)
    return who


def _with_words(told: str) -> str:
    items = (wrap(f"- ``{name}``: {word.told}", 116, subsequent_indent="  ") for name, word in WORDS.items())
    return told.replace("{words}", "\n    ".join(line for lines in items for line in lines))


participation.__doc__ = _with_words(participation.__doc__ or "")
vars(participation)["__signature__"] = Signature(
    [Parameter(name, Parameter.KEYWORD_ONLY, default=word.usual) for name, word in WORDS.items()],
    return_annotation=Participation,
)
participation = checked_call(participation)
