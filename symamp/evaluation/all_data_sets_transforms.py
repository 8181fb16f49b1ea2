"""The transforms M_x, and P, Q, R of A_x = G+ P + Q R, of one term and one class of inputs, with derivatives in u."""

from __future__ import annotations

from dataclasses import dataclass

from flint import acb, arb, arb_mat

from symamp.evaluation.all_data_sets_plan import Term
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import total


@dataclass(frozen=True)
class Derivatives:
    """A function of u, and its first two derivatives, at one ball."""

    f0: acb
    f1: acb
    f2: acb

    def log_modulus(self) -> tuple[arb, arb, arb] | None:
        """Return log|f| and its first two derivatives in u; None where f is not seen to be nonzero."""
        size = abs(self.f0)
        if not size > 0:
            return None
        ratio = self.f1 / self.f0
        return size.log(), ratio.real, (self.f2 / self.f0 - ratio * ratio).real

    def __add__(self, other: Derivatives) -> Derivatives:
        return Derivatives(self.f0 + other.f0, self.f1 + other.f1, self.f2 + other.f2)

    def __mul__(self, other: Derivatives) -> Derivatives:
        second = self.f2 * other.f0 + 2 * self.f1 * other.f1 + self.f0 * other.f2
        return Derivatives(self.f0 * other.f0, self.f1 * other.f0 + self.f0 * other.f1, second)

    def scaled(self, factor: arb) -> Derivatives:
        """Return a multiple."""
        return Derivatives(factor * self.f0, factor * self.f1, factor * self.f2)


@dataclass(frozen=True)
class Transforms:
    """M_x and the three factors of A_x = G+ P + Q R at one ball of frequencies."""

    m: Derivatives
    p: Derivatives
    q: Derivatives
    r: Derivatives


class ClassTransforms:
    """One class of inputs on the line s + iu of one term."""

    def __init__(self, g: BallGparv, term: Term, p_lo: float) -> None:
        s, lam, sigma = arb(term.s), arb(term.lam), arb(term.sigma)
        self.s, self.square, self.null = s, sigma * sigma, g.null_mass
        positive = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z > 0]
        negative = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z < 0]
        self.values = [z for z, _ in positive + negative]
        tilted, slow, plain = [], [], []
        for z, p in positive:
            beta = 1 / (1 + (1 + z / arb(p_lo)).sqrt())
            plain.append(p * z * (-lam * beta * z).exp())
            slow.append(plain[-1] * (s * z).exp())
            tilted.append(p * ((s - lam) * z).exp())
        below = [p * (s * z).exp() for z, p in negative]
        zero = [arb(0)] * len(negative)
        zeros = [arb(0)] * len(positive)
        rows = []
        for k in range(4):  # E[z^k e^(..)] over the positive values
            rows.append([w * z**k for (z, _), w in zip(positive, tilted, strict=True)] + zero)
        for k in range(3):
            rows.append([w * z**k for (z, _), w in zip(positive, slow, strict=True)] + zero)
        for k in range(4):
            rows.append(zeros + [w * z**k for (z, _), w in zip(negative, below, strict=True)])
        self.weights = arb_mat(rows)
        whole = [a + b for a, b in zip(rows[0], rows[7], strict=True)]
        self.whole = arb_mat([whole])
        self.plain = total(plain)
        self.mgf = self.null + total(whole)
        mean = total([w * z for w, z in zip(whole, self.values, strict=True)]) / self.mgf
        second = total([w * z * z for w, z in zip(whole, self.values, strict=True)]) / self.mgf
        self.deviation = (second - mean * mean).max(arb(0)).sqrt()
        self.positive = total(rows[1])  # E[z+ e^((s - lam) z+)], at least |P|
        self.mixed = total(rows[4]) + self.plain  # with square |zeta|^2 plain at least |Q|
        self.lost = -total(rows[8])  # E[z- e^(-s z-)], at least |R|

    def relative_modulus(self, lo: arb, hi: arb) -> arb:
        """Return a bound on |M(s + iu)|/M(s) for lo <= u <= hi."""
        middle = (lo + hi) / 2
        ((im, re),) = (self.whole * arb_mat([(middle * z).sin_cos() for z in self.values])).tolist()
        re += self.null
        modulus2 = (re * re + im * im) / (self.mgf * self.mgf)
        distance = (1 - modulus2).max(arb(0)).sqrt() - self.deviation * (hi - lo) / 2
        distance = distance.max(arb(0)).min(arb(1))
        return (1 - distance * distance).max(arb(0)).sqrt()

    def at(self, *frequencies: arb) -> list[Transforms]:
        """Return the transforms at some balls of frequencies."""
        columns = []
        for z in self.values:
            row = []
            for u in frequencies:
                sine, cosine = (u * z).sin_cos()
                row += [cosine, sine]
            columns.append(row)
        sums = (self.weights * arb_mat(columns)).tolist()
        return [
            self._assembled(u, [acb(row[2 * j], row[2 * j + 1]) for row in sums]) for j, u in enumerate(frequencies)
        ]

    def _assembled(self, u: arb, e: list[acb]) -> Transforms:
        i = acb(0, 1)
        zeta, square, plain = acb(self.s, u), self.square, self.plain
        m = Derivatives(self.null + e[0] + e[7], i * (e[1] + e[8]), -(e[2] + e[9]))
        p = Derivatives(e[1], i * e[2], -e[3])
        q0 = e[4] + plain * (square * zeta * zeta - 1)
        q = Derivatives(q0, i * (e[5] + 2 * square * plain * zeta), -(e[6] + 2 * square * plain))
        r = Derivatives(-e[8], -i * e[9], e[10])
        return Transforms(m, p, q, r)
