"""Which eps0-LDP randomizer is worst? The bound on all of them, and the best response below it.

Run: python docs/findings/worst_randomizer.py (half a minute). Writes worst_randomizer.txt beside it.
"""

from collections.abc import Iterator
from pathlib import Path

import symamp as sa

HERE = Path(__file__).parent
BUDGETS = ("0.1", "0.3", "0.5", "log(2)", "1", "2", "4")
QUESTIONS = ((10**3, "1e-6"), (10**4, "1e-6"), (10**6, "1e-6"), (10**4, "1e-12"), (10**6, "1e-12"))
HEADING = "eps0, n, delta | worst response | its eps | every randomizer | ratio | stronger clone | ratio"


def row(eps0, n, delta):
    subject = sa.PureLDP(eps0=eps0)
    every = sa.epsilon(subject, n=n, delta=delta, gap=1e-4)
    clone = sa.epsilon(subject, n=n, delta=delta, method="generic", gap=1e-4).upper
    size = every.dataset.member.split("k=")[1].split(",")[0]
    return (
        f"{eps0}, {n:.0e}, {delta} | {size}-ary | {every.lower:.6g} | {every.upper:.6g} | "
        f"{every.upper / every.lower:.4f} | {clone:.6g} | {clone / every.lower:.4f}"
    )


def rows() -> Iterator[str]:
    yield HEADING
    for eps0 in BUDGETS:
        for n, delta in QUESTIONS:
            yield row(eps0, n, delta)


def main():
    lines = []
    for line in rows():
        print(line, flush=True)
        lines.append(line)
    (HERE / "worst_randomizer.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
