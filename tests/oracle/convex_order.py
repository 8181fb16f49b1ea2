"""Which of two triples of rational numbers is worse for every number of users, by exact stop-loss transforms."""

from fractions import Fraction
from typing import Any

from .laws import merged


def is_worse(worse: Any, better: Any, E: Fraction) -> bool:
    """Whether the divergence of ``better`` at E is at most that of ``worse`` for every n.

    It is enough to compare E(G - u)_+ and the singular parts at the values of the larger law
    (docs/proofs/convex_order.md, Lemma 1).
    """
    (large, of_large), (small, of_small) = (_law(d, E) for d in (worse, better))
    return all(_above(small, u) + of_small <= _above(large, u) + of_large for u in large)


def _law(triple: Any, E: Fraction) -> tuple[dict[Fraction, Fraction], Fraction]:
    """The masses of G = r0 - E r1, what is missing at 0, and the singular part."""
    atoms = [tuple(map(Fraction, map(str, c))) for c in triple.components]
    law = merged([(Fraction(0), 1 - sum(m for *_, m in atoms)), *((r0 - E * r1, m) for r0, r1, m in atoms)])
    alone = ((Fraction(str(a)), Fraction(str(b))) for a, b in triple.singular)
    return law, sum((max(a - E * b, Fraction(0)) for a, b in alone), Fraction(0))


def _above(law: dict[Fraction, Fraction], u: Fraction) -> Fraction:
    return sum((mass * max(value - u, Fraction(0)) for value, mass in law.items()), Fraction(0))
