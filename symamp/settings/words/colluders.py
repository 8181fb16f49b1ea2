"""Users who tell the adversary what they sent: a number of them, a largest share, or each with a probability."""

from dataclasses import replace

from symamp.errors import ArgumentError, SymampError
from symamp.numbers.reading import users
from symamp.settings.participation import Word, below_one


def _number(colluders: object, name: str) -> int:
    try:
        return 0 if colluders in (0, "0") else users(colluders)
    except SymampError:
        wanted = "a number of colluders who are fixed beforehand; who depends on reports or data is not covered"
        raise ArgumentError(name, colluders, wanted) from None


COLLUDERS = Word(
    "colluders",
    "so many users tell the adversary their reports.",
    _number,
    lambda who, count: replace(who, colluders=count),
)
COLLUDING_SHARE = Word(
    "colluding_share",
    "at most this share of all users does.",
    below_one,
    lambda who, share: replace(who, colluding_share=share),
    refusals=(
        (
            lambda who: who.colluding_share and who.batches is not None,
            "a part of all users may all be in the victim's batch",
            "give colluders, or colluding, a probability of each user's own",
        ),
    ),
)
COLLUDING = Word(
    "colluding",
    "each other user, independently, does with this probability.",
    below_one,
    lambda who, chance: replace(who, honest=who.honest * (1 - chance)),
)
