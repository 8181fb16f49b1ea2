"""The view of an aggregator that sees each coordinate of the messages by itself: sums, or one histogram for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np
from flint import arb, fmpq

from symamp.accounting.composition import Composition
from symamp.accounting.round import ShuffledRound
from symamp.bounds.reduction import Reduction
from symamp.decompositions.to_law import level_of, number
from symamp.errors import Problem, SupportMismatchError
from symamp.laws.law import Floats, Level, Number
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.optional import brentq
from symamp.numbers.reading import users
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.questions.answer import Answer, ProofOfRounds
from symamp.randomizers.combined import Joint
from symamp.randomizers.families.unary_encoding import _Unary as Unary
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings.question import Query, Question, checked_subject
from symamp.settings.rounds import Rounds

VIEWS = MESSAGES, COORDINATES = "messages", "coordinates"
"""What the aggregator sees of messages: each as a whole, or each of its coordinates by itself."""
_BITS, _DEVIATIONS, _MORE, _MOST_COUNTS = 192, 14.0, 60, 200_000
"""The precision of a lower end; counts this many deviations around the mean, and more, up to so many."""
_NEARER = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""How far below its estimate an eps is tried, relatively."""


@dataclass(frozen=True)
class OneSided(ShuffledRound):
    """A round of which only upper bounds are used."""

    def below(self, eps: float) -> tuple[Reduction, int] | None:
        """Return nothing: data sets of one coordinate need not be those of the others."""
        return None


@dataclass(frozen=True)
class _AboveOnly:
    """The proof of the upper end; the lower one is proved by data sets of all coordinates."""

    proof: ProofOfRounds
    shown: str

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> dict[str, Any]:
        """Return the certificate of the upper end alone."""
        return self.proof.certificate(asked, ZERO, most, rounds)


@dataclass(frozen=True)
class CoordinateSums:
    """What is told by the coordinates of n messages, each shuffled, or summed, by itself.

    The upper end composes the curves of the coordinates in which two inputs may differ. Of unary encodings the lower
    end is the divergence of two data sets itself, by all their counts; certificates claim the upper end alone. Of
    ``joint`` mechanisms both ends are those of rounds of the parts.

    >>> import symamp as sa
    >>> coin = sa.RandomizedResponse(k=2, eps0=1)
    >>> seen = sa.profile(sa.joint([coin, coin]), n=100, view="coordinates")
    >>> seen.delta("0.5", gap=0.05).upper < sa.delta(sa.joint([coin, coin]), n=100, eps="0.5").upper
    True
    """

    mechanism: Any
    n: int

    @cached_property
    def parts(self) -> tuple[tuple[ShuffledRound, int], ...]:
        """The coordinates in which two inputs may differ, as rounds."""
        found = self.mechanism
        if isinstance(found, Unary):
            p, q = found.probabilities()
            bit = FiniteMechanism([[1 - p, p], [1 - q, q]], name=f"a bit of {found!r}")
            return ((OneSided(Question.of(bit, self.n, None)), 2),)
        return tuple((ShuffledRound(Question.of(part, self.n, None)), 1) for part in found.parts)

    def rounds(self, count: int) -> Composition:
        """Return ``count`` such rounds, adaptively composed; of unary encodings only the upper end is known."""
        return Composition.of((found, count * times) for found, times in self.parts)

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of the least eps for delta.

        Guarantee
        ---------
        All coordinates together are (``upper``, delta)-private, and not (eps, delta)-private for eps < ``lower``.
        Proof: docs/proofs/coordinates.md.
        """
        answer = self.rounds(1).epsilon(delta, gap=gap, effort=effort)
        sums = self._sums
        if sums is None:
            return answer
        eps = sums.epsilon(answer.asked.given, answer.upper)
        return self._with_lower(answer, Dyadic.of_float(eps))

    @undisturbed()
    def delta(self, eps: object, *, gap: float | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at eps.

        Guarantee
        ---------
        All coordinates together are (eps, ``upper``)-private, and not (eps, < ``lower``)-private.
        Proof: docs/proofs/coordinates.md.
        """
        answer = self.rounds(1).delta(eps, gap=gap, effort=effort)
        sums = self._sums
        if sums is None:
            return answer
        with at_precision(_BITS):
            found = Dyadic.of(sums.divergence(level_of(answer.asked.given)).lower())
        return self._with_lower(answer, found)

    @property
    def _sums(self) -> UnarySums | None:
        if not isinstance(self.mechanism, Unary):
            return None
        p, q = self.mechanism.probabilities()
        return UnarySums(number(p), number(q), self.n)

    def _with_lower(self, answer: Answer, least: Dyadic) -> Answer:
        if not least.mantissa > 0 or not answer.least < least:
            return answer
        proof = answer.proof
        if proof is None:
            return replace(answer, least=least)
        shown = f"{proof.shown}; below: all other users hold the victim's first input, all counts"
        return replace(answer, least=least, proof=_AboveOnly(proof, shown))


@dataclass(frozen=True)
class UnarySums:
    """The two sums of a unary encoding in which x0 and x1 differ, where all n - 1 other users hold x0."""

    p: Number
    q: Number
    n: int

    @property
    def _in_doubles(self) -> tuple[float, float]:
        with at_precision(64):
            return float(self.p()), float(self.q())

    def _window(self, share: float) -> tuple[int, int]:
        """Return the first and the last count of ones that is looked at, of n bits with this share of ones."""
        mean, spread = self.n * share, _DEVIATIONS * sqrt(self.n * share * (1.0 - share)) + _MORE
        return max(int(mean - spread), 0), min(int(mean + spread) + 1, self.n)

    def _ratios(self, share: float, first: int, last: int) -> Floats:
        """Return, in doubles, the ratio of the laws of a sum at each count: the victim's bit with chance p, and q."""
        p, q = self._in_doubles
        k = np.arange(first, last + 1, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = k * (1.0 - share) / ((self.n - k) * share)  # of the chances of k - 1 and of k ones among the others
            found = np.where(np.isinf(s), p / q if q > 0.0 else inf, (p * s + 1.0 - p) / (q * s + 1.0 - q))
        return np.asarray(found)

    def divergence(self, level: Level) -> arb:
        """Return a ball whose lower end is at most the divergence of the two sums of the data sets, at any precision.

        Guarantee
        ---------
        It is P(B) - e^eps Q(B) for a set B of counts, which doubles have chosen. Proof: docs/proofs/coordinates.md.
        """
        p, q = self._in_doubles
        with at_precision(64):
            e = float(level.exponential())
        (low, high), (first, last) = self._window(p), self._window(q)
        if high - low + last - first > _MOST_COUNTS:
            return arb(0)
        own, other = self._ratios(p, low, high), 1.0 / self._ratios(q, first, last)
        # The second ratio falls with the count: B has all counts below one that depends on the first sum.
        ends = len(other) - np.searchsorted(other[::-1], e / own, side="right")
        with at_precision(_BITS):
            chances = self.p(), self.q()
            up, down = (self._law(self.p, low, high, x) for x in chances)
            sums = [_summed(self._law(self.q, first, last, x)) for x in chances[::-1]]
            result, factor = arb(0), level.exponential()
            for a, b, end in zip(up, down, ends.tolist(), strict=True):
                if end:
                    result += a * sums[0][end] - factor * b * sums[1][end]
            return result

    def _law(self, share: Number, first: int, last: int, victim: arb) -> list[arb]:
        """Return the chances of the counts: n - 1 bits with this chance of a one, and one with the victim's."""
        m, x = self.n - 1, share()
        mode = min(max(int(m * float(x)), max(first - 1, 0)), last)
        found = {-1: arb(0), m + 1: arb(0)}
        found[mode] = (
            (arb(m + 1).lgamma() - arb(mode + 1).lgamma() - arb(m - mode + 1).lgamma()).exp()
            * x**mode
            * (1 - x) ** (m - mode)
        )
        odds = x / (1 - x)
        for k in range(mode, min(last, m)):
            found[k + 1] = found[k] * (m - k) / (k + 1) * odds
        for k in range(mode, max(first - 1, 0), -1):
            found[k - 1] = found[k] * k / (m - k + 1) / odds
        return [victim * found[k - 1] + (1 - victim) * found[k] for k in range(first, last + 1)]

    def epsilon(self, delta: fmpq, most: float) -> float:
        """Return an eps at which the divergence of the two data sets is proved to be above delta; 0 if none is."""

        def miss(eps: float) -> float:
            with at_precision(_BITS):
                return float(self.divergence(Level.of_float(eps)) - arb(delta)) / float(arb(delta))

        with at_precision(_BITS):
            top = most if most < inf else float(number_of_log(self.p(), self.q()))
            if not miss(0.0) > 0.0:
                return 0.0
            root = top if miss(top) > 0.0 else brentq(miss, 0.0, top, xtol=1e-18, rtol=1e-11)
            for nearer in _NEARER:
                eps = root * (1.0 - nearer)
                if self.divergence(Level.of_float(eps)) > arb(delta):
                    return eps
        return 0.0


def number_of_log(p: arb, q: arb) -> arb:
    """Return the largest loss of both coordinates together."""
    return (p * (1 - q) / (q * (1 - p))).log()


def _summed(masses: list[arb]) -> list[arb]:
    found = [arb(0)]
    for x in masses:
        found.append(found[-1] + x)
    return found


def coordinate_sums(mechanism: Any, n: object) -> CoordinateSums:
    """Return the view by coordinates of a mechanism.

    Raises SupportMismatchError where the coordinates of a message are not known to be independent given the input: then
    nothing is proved but what holds for whole messages.
    """
    checked_subject(mechanism)
    is_known = isinstance(mechanism, Unary) or (isinstance(mechanism, Joint) and mechanism.neighbours == "all")
    if not is_known:
        told = Problem(f"the coordinates of {mechanism!r} are not known to be independent given the input")
        remedy = f"take view={MESSAGES!r}, which holds for sums, too; a unary encoding; or sa.joint of any two inputs"
        raise SupportMismatchError("view", told, remedy)
    return CoordinateSums(mechanism, users(n))
