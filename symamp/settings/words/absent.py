"""Reports that are lost."""

from dataclasses import replace

from symamp.settings.participation import Word, below_one, yes_or_no

DROPOUT = Word(
    "dropout",
    "each other user, independently, sends nothing with this probability. The adversary sees how many reports arrive.",
    below_one,
    lambda who, chance: replace(who, present=who.present * (1 - chance)),
)
VICTIM_DROPS = Word(
    "victim_drops",
    "``True``: the victim's report is lost with the same probability.",
    yes_or_no,
    lambda who, drops: replace(who, victim_drops=drops),
    False,
    text=lambda word: {"yes": True, "no": False}.get(word, word),
)
