"""Densities of noise, as bounds for all inputs of [0, 1] ask for them: a message y, a node, has ``at(y, x)``.

Noise is even, log-concave and smooth but at 0: f'' = c^2 f - q on either side of 0. For bounded ratios c is the rate at
which f falls far out, and q >= 0; for Gaussian noise c = 0 and q has either sign (docs/proofs/interval.md). Places z
are at least 0. Cauchy noise is seen on a circle; discrete noise has messages and inputs at multiples of 1/B alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import arb, ctx, fmpq

from .documents import require


class Laplace:
    """f = c e^(-c z)/2 with c = eps0: q = 0, and what interpolates f by e^(cz) and e^(-cz) is f itself."""

    name: str = "Laplace"
    parameters: tuple[str, ...] = ("eps0",)
    is_signed = False
    """Whether q has either sign."""
    is_translated = True
    """Whether messages are places as inputs are, which then are nodes."""
    steps = 0
    """The number of steps from 0 to 1 where inputs and messages are integers, else 0."""
    skips = True
    """Whether inputs and messages may be between those that are named."""

    def __init__(self, size: arb) -> None:
        self.size = self.rate = size

    def check(self, nodes: Sequence[fmpq], what: str) -> None:
        """Refuse nodes that are no messages."""

    @property
    def step(self) -> fmpq:
        """The least distance of inputs: 0 unless they are integers."""
        return fmpq(1, self.steps) if self.steps else fmpq(0)

    @property
    def curve(self) -> arb:
        """At most f''/f: mixtures of two inputs at the distance h miss a mass of at most h^2/8 times that."""
        return self.rate**2

    def length(self, y: fmpq, z: fmpq) -> arb:
        """Return how far apart two messages are."""
        return arb(z - y)

    def at(self, y: fmpq, x: fmpq) -> arb:
        """Return the density of a message on an input."""
        return self.density(arb(abs(y - x)))

    @property
    def ratio(self) -> arb:
        """The largest ratio of the densities of two inputs."""
        return self.size.exp()

    @property
    def fall(self) -> arb:
        """By how much f' falls at 0."""
        return self.size**2

    @property
    def tail(self) -> arb:
        """The integral of what goes on beyond the last message, in units of its value there; 0 where nothing does."""
        return 1 / self.size

    def density(self, z: arb) -> arb:
        """Return f(z)."""
        return self.size / 2 * (-self.size * z).exp()

    def beyond(self, z: arb) -> arb:
        """Return the mass beyond z."""
        return (-self.size * z).exp() / 2

    def outside(self, z: arb) -> arb:
        """Return the mass beyond z, unless the tail goes on, or comes back."""
        return arb(0)

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        """Return at least |q| between two places; ``top`` is f at the nearer one."""
        return arb(0)

    def steep(self, wide: arb) -> arb:
        """Return k for which f'' is at most k f, in units of what interpolation between messages multiplies by."""
        return self.rate**2

    def left_over(self, x: fmpq, y: fmpq, z: fmpq, top: arb) -> arb:
        """Return at least what interpolation between two messages leaves of an input, whose larger density is given."""
        return arb(z - y) ** 2 / 8 * self.bend(*_sorted(abs(y - x), abs(z - x)), top)

    def between(self, start: fmpq, end: fmpq, y: fmpq, z: fmpq, top: arb) -> arb:
        """Return the same of interpolation between two inputs at messages from y to z, but for the kink.

        ``top`` is the largest density of both inputs at both messages.
        """
        low, high = y - end, z - start
        inside = low < 0 < high
        ends = (fmpq(0), max(-low, high)) if inside else (abs(low), abs(high))
        return arb(end - start) ** 2 / 8 * self.bend(*_sorted(*ends), self.density(arb(0)) if inside else top)

    def kept(self, first: arb, second: arb, h: fmpq) -> arb:
        """Return what mixtures of two inputs are multiplied by, at a message, to be below all between: e^(-L^2/8)."""
        if h == self.step:
            return arb(1)  # nobody is between
        size = (first / second).log()
        return (-size * size / 8).exp()

    def weights(self, nodes: Sequence[fmpq]) -> list[arb]:
        """Return the integrals of the functions that are 1 at a node and 0 at its neighbours."""
        after, before = zip(*(self.halves(arb(a), arb(b)) for a, b in pairwise(nodes)), strict=True)
        return [a + b for a, b in zip([self.tail, *before], [*after, self.tail], strict=True)]

    def halves(self, a: arb, b: arb) -> tuple[arb, arb]:
        """Return the integrals from a to b of what is 1 at one of them, 0 at the other and interpolates in between."""
        half = (self.rate * (b - a) / 2).tanh() / self.rate
        return half, half


class Logistic(Laplace):
    """f = c/4 / cosh(c z/2)^2 with c = eps0: q = 6 c f^2, which falls."""

    name = "logistic"
    fall, tail = arb(0), arb(0)

    def density(self, z: arb) -> arb:
        return self.size / (4 * (self.size * z / 2).cosh() ** 2)

    def beyond(self, z: arb) -> arb:
        return 1 / (1 + (self.size * z).exp())

    def outside(self, z: arb) -> arb:
        return self.beyond(z)

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        return 6 * self.size * top**2


class Gaussian(Logistic):
    """The normal density, a = 1/sigma^2: q = a (1 - a z^2) f, and c = 0.

    Densities of the inputs 0 and 1 interpolate between messages: sqrt(R(0) R(1)) times e^(ay/2) and e^(-ay/2).
    """

    name, is_signed, ratio = "Gaussian", True, arb("inf")
    parameters: tuple[str, ...] = ("sigma",)

    def __init__(self, size: arb) -> None:
        self.size, self.rate, self.a = size, arb(0), 1 / size**2

    def density(self, z: arb) -> arb:
        return (-self.a * z**2 / 2).exp() * (self.a / (2 * arb.pi())).sqrt()

    def beyond(self, z: arb) -> arb:
        return (z * (self.a / 2).sqrt()).erfc() / 2

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        """Return the largest |q|: at one of the ends, or at the root of a z^2 = 3, where q is least."""
        a, root = self.a, (3 / self.a).sqrt()
        ends = (a * abs(1 - a * near**2) * top).max(a * abs(1 - a * far**2) * self.density(far))
        return ends if far < root or near > root else ends.max(2 * a * self.density(root))

    def steep(self, wide: arb) -> arb:
        """Return (a/2)^2, times what R(x)/sqrt(R(0) R(1)) may change by on a cell of messages."""
        return self.a**2 / 4 * (self.a * wide / 2).exp()

    def left_over(self, x: fmpq, y: fmpq, z: fmpq, top: arb) -> arb:
        return arb(z - y) ** 2 / 2 * arb(x * (1 - x)) * self.steep(arb(z - y)) * top

    def halves(self, a: arb, b: arb) -> tuple[arb, arb]:
        """Return the integrals of combinations of the densities of 0 and 1; neither is between a and b."""
        (p, q), (r, t) = ([self.density(abs(y - x)) for y in (a, b)] for x in (0, 1))
        first, second = (abs(self.beyond(abs(a - x)) - self.beyond(abs(b - x))) for x in (0, 1))
        whole = p * t - q * r
        return (t * first - q * second) / whole, (p * second - r * first) / whole


class Cauchy(Laplace):
    """s/(pi (s^2 + z^2)), s the scale: nodes are angles, 1/2 + tau tan(psi) in units of the angle of the interval.

    tau^2 = s^2 + 1/4. The first and the last node are the ends of the circle, -pi/2 and pi/2.
    """

    name, parameters, is_translated = "Cauchy", ("scale",), False
    tail, fall = arb(0), arb(0)

    def __init__(self, size: arb) -> None:
        self.size, self.tau = size, (size**2 + arb(1) / 4).sqrt()
        self.wide = 2 * (1 / (2 * self.tau)).atan()
        square = 9 * self.tau**2 / (2 * size**2) - 4
        self.rate, self.missed = square.sqrt() * self.wide, (square + 4 / (2 * self.tau - 1)) * self.wide**2
        self.ends: tuple[fmpq, ...] = ()

    def check(self, nodes: Sequence[fmpq], what: str) -> None:
        """Refuse nodes beyond the circle."""
        self.ends = nodes[0], nodes[-1]
        inside = all(abs(self._angle(y)) < arb.pi() / 2 for y in nodes[1:-1])
        require(inside, f"{what}: nodes beyond the circle", "invalid")

    @property
    def ratio(self) -> arb:
        square = self.size**2
        return (2 * square + 1 + (4 * square + 1).sqrt()) / (2 * square)

    @property
    def curve(self) -> arb:
        return 9 / (8 * self.size**2)

    def _angle(self, y: fmpq) -> arb:
        if y in self.ends:
            return arb.pi() / (2 if y > 0 else -2)
        return arb(y - fmpq(1, 2)) * self.wide

    def length(self, y: fmpq, z: fmpq) -> arb:
        """Return how far apart two angles are, in units of that of the interval."""
        return (self._angle(z) - self._angle(y)) / self.wide

    def at(self, y: fmpq, x: fmpq) -> arb:
        sine, cosine = self._angle(y).sin_cos()
        near, away = self.size * cosine, arb(fmpq(1, 2) - x) * cosine + self.tau * sine
        # products, not powers: a power of a ball around 0 is no number
        return self.size * self.tau * self.wide / (arb.pi() * (near * near + away * away))

    def weights(self, nodes: Sequence[fmpq]) -> list[arb]:
        halves = [(self.rate * self.length(a, b) / 2).tanh() / self.rate for a, b in pairwise(nodes)]
        return [a + b for a, b in zip([arb(0), *halves], [*halves, arb(0)], strict=True)]

    def left_over(self, x: fmpq, y: fmpq, z: fmpq, top: arb) -> arb:
        h = self.length(y, z)
        return h**2 / 8 * self.missed * top * (self.wide * h / self.size).exp()

    def between(self, start: fmpq, end: fmpq, y: fmpq, z: fmpq, top: arb) -> arb:
        """Return the same of interpolation between two inputs at messages from y to z."""
        h, far = arb(end - start), arb(end - start) + self.wide * self.length(y, z)
        return h**2 / 8 * 25 / (8 * self.size**2) * top * (far / self.size).exp()

    def kept(self, first: arb, second: arb, h: fmpq) -> arb:
        """Return what mixtures of two inputs are multiplied by to be below all between: e^(-5 h^2/(32 s^2))."""
        return (-5 * (arb(h) / self.size) ** 2 / 32).exp()


class DiscreteLaplace(Laplace):
    """Two-sided geometric noise on 0..B, clipped to it: densities of Laplace noise, at multiples of 1/B alone.

    With the weights of all those messages they are its probabilities.
    """

    name = "discrete Laplace"
    parameters: tuple[str, ...] = ("B", "eps0")

    def __init__(self, most: arb, size: arb) -> None:
        super().__init__(size)
        self.steps = _whole(most)

    def check(self, nodes: Sequence[fmpq], what: str) -> None:
        """Refuse nodes that are no messages, or leave out the first or the last one."""
        good = nodes[0] == 0 and nodes[-1] == 1 and all((y * self.steps).q == 1 for y in nodes)
        require(good, f"{what}: nodes are no messages, or leave out an end", "invalid")

    def steep(self, wide: arb) -> arb:
        """Return the same, 0 where no message is between."""
        return arb(0) if wide * self.steps < 1.5 else super().steep(wide)

    def columns(self, eps0: str) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return the probabilities of each message on the inputs 0 and B as texts."""
        a = f"exp(-({eps0})/{self.steps})"
        heads = [f"1/(1+{a})", *[f"(1-{a})/(1+{a})"] * (self.steps - 1), f"1/(1+{a})"]
        both = [
            [f"{head}*exp(-({eps0})*{z}/{self.steps})" for z in (y, self.steps - y)] for y, head in enumerate(heads)
        ]
        return [("1", texts, []) for texts in both]


class DiscreteGaussian(Gaussian):
    """Multiples of e^(-z^2/(2 sigma^2)) on integers, for inputs 0..B: nodes are integers over B."""

    name, skips = "discrete Gaussian", False
    parameters: tuple[str, ...] = ("B", "sigma")

    def __init__(self, most: arb, size: arb) -> None:
        self.size, self.rate, self.steps = size, arb(0), _whole(most)
        self._total = self._at_least(0) + self._at_least(1)

    def _at_least(self, z: int) -> arb:
        """Return the sum of all weights from z >= 0 on: beyond the last each is at most a part of the one before."""
        found, square = arb(0), 2 * self.size**2
        for k in range(z, z + _MOST_TERMS):
            weight = (-arb(k * k) / square).exp()
            if weight < found * arb(2) ** -ctx.prec:
                return found + arb(0).union(weight / (1 - (-arb(2 * k + 1) / square).exp()))
            found += weight
        require(False, "sigma: too large")
        return arb("inf")

    def check(self, nodes: Sequence[fmpq], what: str) -> None:
        """Refuse nodes that are not all integers of a range."""
        good = (nodes[0] * self.steps).q == 1 and all((b - a) * self.steps == 1 for a, b in pairwise(nodes))
        require(good, f"{what}: nodes are not the integers of a range", "invalid")

    def at(self, y: fmpq, x: fmpq) -> arb:
        return (-arb(((y - x) * self.steps) ** 2) / (2 * self.size**2)).exp() / self._total

    def beyond(self, z: arb) -> arb:
        return self._at_least(int((z * self.steps).unique_fmpz()) + 1) / self._total

    def weights(self, nodes: Sequence[fmpq]) -> list[arb]:
        return [arb(1)] * len(nodes)


def _whole(most: arb) -> int:
    """Return the largest input as an integer."""
    whole = most.unique_fmpz()
    require(whole is not None and 1 <= whole <= _MOST_INTEGERS, "B: no integer, or too large", "invalid")
    return int(whole)


def _sorted(a: fmpq, b: fmpq) -> tuple[arb, arb]:
    return arb(min(a, b)), arb(max(a, b))


_MOST_INTEGERS, _MOST_TERMS = 2000, 100_000
NOISE: dict[str, type[Laplace]] = {
    "laplace": Laplace,
    "logistic": Logistic,
    "gaussian": Gaussian,
    "cauchy": Cauchy,
    "discrete laplace": DiscreteLaplace,
    "discrete gaussian": DiscreteGaussian,
}
"""Noise that a certificate names."""
