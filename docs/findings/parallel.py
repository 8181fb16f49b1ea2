"""Range queries by a hierarchy of levels: advanced parallel composition against the optimal decomposition.

Run: python docs/findings/parallel.py (a minute). Prints the tables of the page and writes parallel.txt.
"""

from pathlib import Path

import sympy as sp

import symamp as sa
from symamp.bounds.budget import corrected_reduction, printed_reduction
from symamp.decompositions.budget import VariationRatio

HERE = Path(__file__).parent
DELTA = "1e-6"


def levels(height, eps0):
    """Response over 2, 4, ..., 2^height blocks of leaves: each user is asked at one level, drawn uniformly."""
    asked = [sa.RandomizedResponse(k=2**h, eps0=eps0) for h in range(1, height + 1)]
    return sa.parallel([(sp.Rational(1, height), m) for m in asked])


def parameters(height, eps0):
    """(p, beta, q) of Theorem 6.1: beta is the mean of the levels' total variations."""
    t = sp.exp(sp.sympify(eps0))
    beta = sum((t - 1) / (t + 2**h - 1) for h in range(1, height + 1)) / height
    return VariationRatio(t, beta, t)


def row(height, eps0, n):
    """All bounds on eps: basic, Theorem 6.1 as printed (no bound), corrected, optimal with its lower end, separate."""
    known, mechanism = parameters(height, eps0), levels(height, eps0)
    best = sa.epsilon(mechanism, n=n, delta=DELTA)
    triples = [make(known).decomposition for make in (printed_reduction, corrected_reduction)]
    printed, corrected = (sa.epsilon(d, n=n, delta=DELTA).upper for d in triples)
    alone = [sa.epsilon(sa.RandomizedResponse(k=2**h, eps0=eps0), n=n // height, delta=DELTA) for h in (1, height)]
    basic = sa.epsilon(sa.PureLDP(eps0=eps0), n=n, delta=DELTA, method="generic").upper
    return {
        "d": 2**height, "eps0": eps0, "n": n, "basic": basic, "6.1": printed, "corrected": corrected,
        "lower": best.lower, "optimal": best.upper, "saved": 1 - best.upper / basic,
        "separate, coarse": alone[0].upper, "separate, fine": alone[1].upper,
    }  # fmt: skip


def table():
    """Yield the lines of the page's table."""
    for eps0 in ("1", "3"):
        for n in (10**4, 10**5):
            for height in range(6, 12):
                found = row(height, eps0, n)
                if height == 6:
                    yield f"eps0 = {eps0}, n = {n:,}"
                    yield "| " + " | ".join(k for k in found if k not in ("eps0", "n")) + " |"
                cells = [
                    f"{v:.5f}" if isinstance(v, float) else str(v) for k, v in found.items() if k not in ("eps0", "n")
                ]
                yield "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    lines = []
    for line in table():
        lines.append(line)
        print(line, flush=True)
    (HERE / "parallel.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
