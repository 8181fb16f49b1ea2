"""The blanket divergence of Laplace noise on [0, 1] at the pair (0, 1), in mpmath: nothing from the package.

Under the blanket m(y) = f(1/2 + |y - 1/2|) one arm has r1 = 1 and r0 = v in [1, t] with density v^(-3/2)/(4 sqrt t)
and an atom of mass 1/(2t) at v = t; the other arm is its mirror image; the rest is the null symbol. So the moment
generating function is a sum of error functions, and E[S_+] is one inversion integral on a vertical line, by the
trapezoidal rule (exponentially accurate for an analytic integrand). An estimate of many digits, not an enclosure.
"""

from __future__ import annotations

from mpmath import erfi, exp, findroot, log, mp, mpf, pi, quad, sqrt


def _arm(z, t):
    """Return the integral of e^(z v) v^(-3/2) over [1, t] by parts."""
    root = sqrt(z)

    def inner(v):
        return sqrt(pi) / root * erfi(root * sqrt(v))

    ends = 2 * exp(z) - 2 * exp(z * t) / sqrt(t)
    return ends + 2 * z * (inner(t) - inner(1))


def moment(z, e, t):
    """Return E e^(zG) for G = r0 - E r1."""
    s = sqrt(t)
    up = exp(-z * e) * (_arm(z, t) / (4 * s) + exp(z * t) / (2 * t))
    down = exp(z) * (_arm(-z * e, t) / (4 * s) + exp(-z * e * t) / (2 * t))
    return 1 - 1 / s + up + down


def blanket_divergence(eps0, n: int, eps, digits: int = 15):
    """Return delta of the blanket at (0, 1) as an mpmath number with about so many digits."""
    with mp.workdps(digits + 25 + len(str(n))):
        t, e = exp(mpf(eps0)), exp(mpf(eps))
        square = 2 * quad(lambda v: (v - 1) ** 2 * v ** mpf(-1.5), [1, t]) / (4 * sqrt(t)) + (t - 1) ** 2 / t

        def excess(theta):
            h = theta / 10**6
            slope = (log(moment(theta + h, e, t).real) - log(moment(theta - h, e, t).real)) / (2 * h)
            return n * theta * slope - 2

        guess = ((e - 1) + sqrt((e - 1) ** 2 + 8 * square / n)) / (2 * square)
        theta = findroot(excess, (guess, guess * mpf("1.1")), tol=mpf(10) ** -8)
        step, total, j = theta / digits, mpf(0), 0
        while True:
            s = theta + 1j * j * step
            term = (moment(s, e, t) ** n / s**2).real
            total += term if j else term / 2
            if j and abs(moment(s, e, t)) ** n < abs(total) * mpf(10) ** (-digits - 5) * theta**2:
                return total * step / pi / n
            j += 1
