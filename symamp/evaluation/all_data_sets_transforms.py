"""The transforms M_x and A_x of one term and one class of inputs in balls, with their derivatives along the line."""

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


class ClassTransforms:
    """One class of inputs on the line s + iu of one term."""

    def __init__(self, g: BallGparv, gain: arb, term: Term, p_lo: float) -> None:
        s, lam, sigma = arb(term.s), arb(term.lam), arb(term.sigma)
        self.s, self.square, self.gain, self.null = s, sigma * sigma, gain, g.null_mass
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
        lost = -total(rows[8])  # E[z- e^(-s z-)]
        self.size = gain * total(rows[1]) + (total(rows[4]) + self.plain) * lost
        self.growth = self.plain * lost

    def largest_size(self, modulus2: arb) -> arb:
        """Return a bound on |A_x| where |s + iu|^2 is at most ``modulus2``."""
        return self.size + self.square * modulus2 * self.growth

    def relative_modulus(self, lo: arb, hi: arb) -> arb:
        """Return a bound on |M(s + iu)|/M(s) for lo <= u <= hi."""
        middle = (lo + hi) / 2
        ((im, re),) = (self.whole * arb_mat([(middle * z).sin_cos() for z in self.values])).tolist()
        re += self.null
        modulus2 = (re * re + im * im) / (self.mgf * self.mgf)
        distance = (1 - modulus2).max(arb(0)).sqrt() - self.deviation * (hi - lo) / 2
        distance = distance.max(arb(0)).min(arb(1))
        return (1 - distance * distance).max(arb(0)).sqrt()

    def at(self, *frequencies: arb) -> list[tuple[Derivatives, Derivatives]]:
        """Return M_x and A_x at some balls of frequencies."""
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

    def _assembled(self, u: arb, e: list[acb]) -> tuple[Derivatives, Derivatives]:
        i = acb(0, 1)
        zeta, square, plain = acb(self.s, u), self.square, self.plain
        m = Derivatives(self.null + e[0] + e[7], i * (e[1] + e[8]), -(e[2] + e[9]))
        q0 = e[4] + plain * (square * zeta * zeta - 1)
        q1 = i * (e[5] + 2 * square * plain * zeta)
        q2 = -(e[6] + 2 * square * plain)
        r0, r1, r2 = -e[8], -i * e[9], e[10]
        a = Derivatives(
            self.gain * e[1] + q0 * r0,
            self.gain * i * e[2] + q1 * r0 + q0 * r1,
            -self.gain * e[3] + q2 * r0 + 2 * q1 * r1 + q0 * r2,
        )
        return m, a
