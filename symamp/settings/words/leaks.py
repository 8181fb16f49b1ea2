"""Reports that are seen with their senders."""

from dataclasses import replace

from symamp.settings.participation import Word, probability

LEAKS = Word(
    "leaks",
    "the adversary sees each report, the victim's, too, with its sender with this probability.",
    probability,
    lambda who, chance: replace(who, leaks=1 - (1 - who.leaks) * (1 - chance)),
)
UNSHUFFLED = Word(
    "unshuffled",
    "the adversary sees all reports with their senders with this probability.",
    probability,
    lambda who, chance: replace(who, unshuffled=1 - (1 - who.unshuffled) * (1 - chance)),
    refusals=(
        (
            lambda who: who.is_poisson and who.unshuffled,
            "no bound is known for a Poisson number of users",
            "take fixed arrivals",
        ),
    ),
)
