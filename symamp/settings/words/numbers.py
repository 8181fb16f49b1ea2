"""How many users there are: a fixed or a Poisson number, and the batches that are shuffled."""

from collections.abc import Mapping
from dataclasses import replace

from symamp.errors import ArgumentError, SymampError
from symamp.numbers.reading import users
from symamp.settings.participation import DRAWN, Batches, Word, one_word

FIXED, POISSON = "fixed", "poisson"
_MOST_SIZES = 64


def _batches(given: object, name: str) -> Batches:
    if given is None or given == DRAWN:
        return None if given is None else DRAWN
    if isinstance(given, Mapping) and not 0 < len(given) <= _MOST_SIZES:
        raise ArgumentError(name, f"{len(given)} sizes", f"from 1 to {_MOST_SIZES} sizes")
    try:
        if isinstance(given, Mapping):
            return tuple(sorted((users(size), users(count)) for size, count in given.items()))
        return users(given)
    except SymampError:
        wanted = "the users of the victim's batch, {users: number of batches}, or 'drawn'; data must not decide them"
        raise ArgumentError(name, given, wanted) from None


ARRIVALS = Word(
    "arrivals",
    '"poisson": the number of the other users is a Poisson number with mean n.',
    one_word((FIXED, POISSON), "the number of users must not depend on the data"),
    lambda who, word: replace(who, is_poisson=word == POISSON),
    FIXED,
    refusals=(
        (
            lambda who: (
                who.is_poisson and (isinstance(who.batches, int | tuple) or who.colluding_share or who.colluders)
            ),
            "a Poisson number of users has no batches, shares or colluders of a fixed size",
            "take colluding, or fixed arrivals",
        ),
    ),
)
BATCHES = Word(
    "batches",
    "the number of users in the victim's batch; or {size: number of batches}, which the adversary sees; or "
    '"drawn", if the shuffler divides the shuffled reports by itself, which reveals nothing.',
    _batches,
    lambda who, batches: replace(who, batches=batches),
    None,
    # 100:5;500:1 are sizes and numbers of batches
    text=lambda word: dict(b.partition(":")[::2] for b in word.split(";")) if ":" in word else word,
    refusals=(
        (
            lambda who: isinstance(who.batches, tuple) and (who.colluding_share or who.colluders),
            "the colluders may be in any of the batches",
            "take the victim's batch alone",
        ),
    ),
)
