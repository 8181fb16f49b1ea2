"""Theorem 2 by exact comparisons, and what several attributes cost.

Run: python docs/findings/joint.py (some minutes). Writes joint.txt beside it.
"""

import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))

from oracle.joint import comparisons  # noqa: E402

import symamp as sa  # noqa: E402


def main():
    lines = []
    for counts in ((2, 3, 4), (8,)):
        found = Counter(holds for *_, holds in comparisons(counts, (0.1, 1, 4), 12))
        lines.append(f"m in {counts}: {found[True]} comparisons of distance d with d + 1 hold, {found[False]} fail")
    for name, part in (
        ("RAPPOR(16)", lambda e: sa.UnaryEncoding.rappor(D=16, eps0=e)),
        ("10-RR", lambda e: sa.RandomizedResponse(k=10, eps0=e)),
    ):
        for total in (1, 4):
            one = sa.epsilon(part(total), n=10**6, delta="1e-8")
            lines.append(f"{name}, 1 attribute with eps0 = {total}: epsilon in [{one.lower:.6g}, {one.upper:.6g}]")
            for m in (4, 32):
                for kind in ("all", "one_attribute"):
                    many = sa.joint([part(f"{total}/{m}")] * m, neighbours=kind)
                    a = sa.epsilon(many, n=10**6, delta="1e-8")
                    said = f"{name}, {m} attributes with eps0 = {total}/{m}, neighbours {kind}"
                    lines.append(f"{said}: epsilon in [{a.lower:.6g}, {a.upper:.6g}]")
    for name, parts in (
        ("2-RR, 2", [sa.RandomizedResponse(k=2, eps0="1/2")] * 2),
        ("2-RR and 3-RR, 2", [sa.RandomizedResponse(k=k, eps0="1/2") for k in (2, 3)]),
        ("3-RR, 2", [sa.RandomizedResponse(k=3, eps0="1/2")] * 2),
        ("2-RR, 4", [sa.RandomizedResponse(k=2, eps0="1/4")] * 4),
    ):
        for kind in ("all", "one_attribute"):
            few = sa.joint(parts, neighbours=kind)
            a, b = (sa.epsilon(few, n=10**6, delta="1e-8", method=m) for m in ("all_data_sets", "blanket"))
            said = f"{name} attributes, total eps0 = 1, neighbours {kind}: epsilon in [{a.lower:.6g}, {a.upper:.6g}]"
            lines.append(f"{said}, by the blanket at most {b.upper:.6g}")
    (HERE / "joint.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
