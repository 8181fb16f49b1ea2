"""The page on new analyses: its file works as it stands, and its examples run."""

import doctest
import re
from pathlib import Path

from symamp.amplification import answer, profile, question, search
from symamp.analyses import registry

PAGE = Path(__file__).parents[1] / "docs" / "new_analysis.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_the_file_of_the_page(monkeypatch):
    (source,) = blocks("python")
    module = {}
    exec(compile(source, "unshuffled.py", "exec"), module)
    known = {**registry.ANALYSES, "unshuffled": module["UNSHUFFLED"]}
    for place in (registry, answer, profile, question, search):
        if hasattr(place, "ANALYSES"):
            monkeypatch.setattr(place, "ANALYSES", known)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks("pycon")), {}, "page", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(examples).failed == 0
