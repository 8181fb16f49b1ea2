"""Densities of noise: even, log-concave, smooth but at 0, as bounds for all inputs of [0, 1] ask for them.

f'' = c^2 f - q on either side of 0. For bounded ratios c is the rate at which f falls far out, and q >= 0; for Gaussian
noise c = 0 and q has either sign (docs/proofs/interval.md). Places z are at least 0.
"""

from __future__ import annotations

from flint import arb


class Laplace:
    """f = c e^(-c z)/2 with c = eps0: q = 0, and what interpolates f by e^(cz) and e^(-cz) is f itself."""

    name, parameter = "Laplace", "eps0"
    is_signed = False
    """Whether q has either sign."""

    def __init__(self, size: arb) -> None:
        self.size = self.rate = size

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
        """Return the mass beyond z, unless the tail goes on."""
        return arb(0)

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        """Return at least |q| between two places; ``top`` is f at the nearer one."""
        return arb(0)

    def steep(self, wide: arb) -> arb:
        """Return k for which f'' is at most k f, in units of what interpolation between messages multiplies by."""
        return self.rate**2

    def left_over(self, x: arb, wide: arb, near: arb, far: arb, top: arb) -> arb:
        """Return at least what interpolation between messages, so far apart, leaves of the density of the input x."""
        return wide**2 / 8 * self.bend(near, far, top)

    def halves(self, a: arb, b: arb) -> tuple[arb, arb]:
        """Return the integrals from a to b of what is 1 at one of them, 0 at the other and interpolates in between."""
        half = (self.rate * (b - a) / 2).tanh() / self.rate
        return half, half


class Logistic(Laplace):
    """f = c/4 / cosh(c z/2)^2 with c = eps0: q = 6 c f^2, which falls."""

    name = "logistic"

    @property
    def fall(self) -> arb:
        """By how much f' falls at 0."""
        return arb(0)

    @property
    def tail(self) -> arb:
        """0: messages end."""
        return arb(0)

    def density(self, z: arb) -> arb:
        """Return f(z)."""
        return self.size / (4 * (self.size * z / 2).cosh() ** 2)

    def beyond(self, z: arb) -> arb:
        """Return the mass beyond z."""
        return 1 / (1 + (self.size * z).exp())

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        """Return the largest q."""
        return 6 * self.size * top**2


class Gaussian(Logistic):
    """The normal density, a = 1/sigma^2: q = a (1 - a z^2) f, and c = 0.

    Densities of the inputs 0 and 1 interpolate between messages: sqrt(R(0) R(1)) times e^(ay/2) and e^(-ay/2).
    """

    name, parameter, is_signed = "Gaussian", "sigma", True

    def __init__(self, size: arb) -> None:
        self.size, self.rate, self.a = size, arb(0), 1 / size**2

    @property
    def ratio(self) -> arb:
        """Infinity."""
        return arb("inf")

    def density(self, z: arb) -> arb:
        """Return f(z)."""
        return (-self.a * z**2 / 2).exp() * (self.a / (2 * arb.pi())).sqrt()

    def beyond(self, z: arb) -> arb:
        """Return the mass beyond z."""
        return (z * (self.a / 2).sqrt()).erfc() / 2

    def bend(self, near: arb, far: arb, top: arb) -> arb:
        """Return the largest |q|: at one of the ends, or at the root of a z^2 = 3, where q is least."""
        a, root = self.a, (3 / self.a).sqrt()
        ends = (a * abs(1 - a * near**2) * top).max(a * abs(1 - a * far**2) * self.density(far))
        return ends if far < root or near > root else ends.max(2 * a * self.density(root))

    def steep(self, wide: arb) -> arb:
        """Return (a/2)^2, times what R(x)/sqrt(R(0) R(1)) may change by on a cell of messages."""
        return self.a**2 / 4 * (self.a * wide / 2).exp()

    def left_over(self, x: arb, wide: arb, near: arb, far: arb, top: arb) -> arb:
        """Return at least what interpolation between messages, so far apart, leaves of the density of the input x."""
        return wide**2 / 2 * x * (1 - x) * self.steep(wide) * top

    def halves(self, a: arb, b: arb) -> tuple[arb, arb]:
        """Return the integrals of combinations of the densities of 0 and 1; neither is between a and b."""
        (p, q), (r, t) = ([self.density(abs(y - x)) for y in (a, b)] for x in (0, 1))
        first, second = (abs(self.beyond(abs(a - x)) - self.beyond(abs(b - x))) for x in (0, 1))
        whole = p * t - q * r
        return (t * first - q * second) / whole, (p * second - r * first) / whole


NOISE: dict[str, type[Laplace]] = {"laplace": Laplace, "logistic": Logistic, "gaussian": Gaussian}
"""Noise that a certificate names."""
