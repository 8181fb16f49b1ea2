"""The page about densities: its program is run, and what it prints is compared."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "new_density.md").read_text(encoding="utf-8")


def test_the_ten_lines_run():
    program = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "new_density.md", "exec"), {})
    first, *answers = out.getvalue().splitlines()
    assert first == "log(3)"
    assert [re.search(r"; (\w+), proved", x)[1] for x in answers] == ["density_pairs", "interval"]


def test_the_program_of_the_page_prints_what_the_page_says():
    program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    expected = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL).group(1).splitlines()
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "new_density.md", "exec"), {})
    found = out.getvalue().splitlines()
    assert found[:3] == expected[:3]
    # The last digits of certified ends depend on how floats have planned.
    ends = [[float(v) for v in re.findall(r"\d\.\d+", line)[:2]] for line in (found[3], expected[3])]
    assert all(abs(a / b - 1) < 1e-6 for a, b in zip(*ends, strict=True))
