"""The grid of literature.csv once more, in doubles, without any code of symamp.

Run: python docs/findings/recomputed.py [every which cell]. Data sets and blankets are written
down from the definitions of the mechanisms, closed forms from the papers; E[S_+] is a contour integral by the rule of
the trapezium, or a sum over all outcomes for up to 100 users. Prints how many numbers were compared, and which differ.
"""

import csv
import sys
from math import comb, exp, expm1, inf, log, log1p, sqrt
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize_scalar

HERE = Path(__file__).parent
POINTS = 1 << 14


def divergence(law, E, n):
    """D_E of a triple (r0, r1, mass), the rest of the mass at 0; about six digits."""
    law = [(r0 - E * r1, m) for r0, r1, m in law if m > 0]
    v, m = (np.array(x, float) for x in zip(*law, strict=True))
    null = max(1.0 - m.sum(), 0.0)
    if v.max() <= 0:
        return 0.0
    if n <= 100 and len(v) <= 4:
        return outcomes(np.append(v, 0.0), np.append(m, null), n) / n

    def moments(z):
        e = np.exp(np.multiply.outer(z, v)) * m
        return e.sum(-1) + null, e @ v, e @ v**2

    def height(x):
        with np.errstate(over="ignore"):
            value = n * np.log(moments(exp(x))[0]) - 2.0 * x
        return value if np.isfinite(value) else 1e300

    top = log(600.0 / v.max())
    theta = exp(minimize_scalar(height, bounds=(top - 40.0, top), method="bounded", options={"xatol": 1e-6}).x)
    m0, m1, m2 = moments(theta)
    spread = sqrt(n * max(m2 / m0 - (m1 / m0) ** 2, 0.0) + 2.0 / theta**2)
    total, step, last = 0.0, 0.05 / spread, 0
    while last < 64 * POINTS:
        j = np.arange(last, last + POINTS)
        z = theta + 1j * step * j
        terms = np.exp(n * (np.log(moments(z)[0]) - log(m0))) / z**2
        total += terms.real.sum() - (0.5 * terms[0].real if last == 0 else 0.0)
        last += POINTS
        if abs(terms).max() * last < 1e-4 * abs(total):
            break
    return total * step / np.pi * exp(n * log(m0)) / n


def outcomes(v, m, n):
    """E[S_+], all counts one by one; the last two values by an inner sum."""
    keep = [i for i in range(len(v)) if m[i] > 0]
    v, m = v[keep], m[keep]

    def rest(i, left, s):
        if i == len(v) - 1:
            return m[i] ** left * max(s + left * v[i], 0.0)
        if i == len(v) - 2:
            c = np.arange(left + 1)
            weights = np.array([float(comb(left, int(x))) for x in c]) * m[i] ** c * m[i + 1] ** (left - c)
            return float(weights @ np.maximum(s + c * v[i] + (left - c) * v[i + 1], 0.0))
        return sum(comb(left, c) * m[i] ** c * rest(i + 1, left - c, s + c * v[i]) for c in range(left + 1))

    return rest(0, n, 0.0)


def responses(k, t):
    """(data sets, blanket) of k-ary response: x* = x0, x1 or another input."""
    low = 1 / (t + k - 1)
    sets = [
        [(1, 1 / t, t * low), (1, t, low), (1, 1, (k - 2) * low)],
        [(t, 1, low), (1 / t, 1, t * low), (1, 1, (k - 2) * low)],
    ]
    if k > 2:
        sets.append([(t, 1, low), (1, t, low), (1 / t, 1 / t, t * low), (1, 1, (k - 3) * low)])
    return sets, [(t, 1, low), (1, t, low), (1, 1, (k - 2) * low)]


def unary(t, size):
    """The same of RAPPOR: the bits of x0, x1 and x* are all that is seen; the blanket by the number of ones."""
    s = sqrt(t)
    p, q = s / (s + 1), 1 / (s + 1)

    def chance(bits, place):
        return np.prod([(p if i == place else q) if b else (1 - p if i == place else 1 - q) for i, b in bits.items()])

    sets = []
    for other in (0, 1, 2):
        places = sorted({0, 1, other})
        law = []
        for code in range(2 ** len(places)):
            bits = {x: code >> i & 1 for i, x in enumerate(places)}
            there = chance(bits, other)
            law.append((chance(bits, 0) / there, chance(bits, 1) / there, there))
        sets.append(law)
    blanket = []
    for b0, b1 in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for ones in range(size - 1):
            k = ones + b0 + b1
            hit, missed = p * q ** (k - 1) * (1 - q) ** (size - k), q**k * (1 - p) * (1 - q) ** (size - k - 1)
            least = min([hit] * (k > 0) + [missed] * (k < size))
            ratios = [(hit if b else missed) / least for b in (b0, b1)]
            blanket.append((*ratios, comb(size - 2, ones) * least))
    return sets, blanket


def pair_4_7(n, p, b, q, delta, theorem):
    """Theorem 4.7, or 4.8, of Wang (2023); None outside the conditions, inf where there is no value."""
    a = b / (p - 1)
    r, four, two = a * p / q, log(4 / delta), log(2 / delta)
    rest = 1 - a - a * p
    if theorem == 8:
        if n < 8 * two / r:
            return None
        c = 0.0 if abs(rest) < 1e-12 else max(0.0, 4 / 9 * (1 - 3 * r) / (1 - 2 * r))
        below = (1 - c) * (1 + p) * b / (p - 1) + c
        return log(1 + b / below * (sqrt(32 * four / (r * (n - 1))) + 4 / (r * n)))
    k = 0.0 if abs(rest) < 1e-12 else rest * r / (1 - 2 * r)
    least = 2 * r * (n - 1) - sqrt(min(6 * r, 0.5) * (n - 1) * four)
    if least <= 0:
        return None
    printed = (2 * p * (b + 1 + (b - 1) * p) * (n - 1) + b) / (q + p * (b - 1 + (b + 1) * p) - p * q)
    if (p + 1) * a / 2 - k < 0 or least < printed:
        return None
    s = sqrt(least * four / 2)
    below = a * least + b * (least / 2 - s) + k * (n - 1 - least)
    return inf if below <= 0 else log(1 + b * (2 * s + 1) / below)


def closed(name, eps0, n, delta):
    """A closed form for every randomizer of the budget; None outside its conditions."""
    t, four, two = exp(eps0), log(4 / delta), log(2 / delta)
    if name == "efmrtt_2019":
        return 12 * eps0 * sqrt(log(1 / delta) / n) if eps0 < 0.5 and n >= 1000 and delta < 0.01 else None
    if name == "fmt_2022":
        good = eps0 <= log(n / (16 * two))
        return log(1 + (t - 1) / (t + 1) * (8 * sqrt(t * four / n) + 8 * t / n)) if good else None
    if name == "fmt_2022_code":
        a = 8 * sqrt(t * four / n) + 8 * t / n
        return log(1 + (1 - 1 / t) / (1 + exp(-eps0) / (1 + a)) * a) if eps0 <= log(n / (16 * four)) else None
    if name == "fmt_2023":
        inner = n / (8 * two) - 1
        good = inner > 0 and eps0 <= log(inner)
        return log(1 + (t - 1) * (4 * sqrt(2 * four / ((t + 1) * n)) + 4 / n)) if good else None
    return pair_4_7(n, t, (t - 1) / (t + 1), t, delta, 7)


def tails(law_of, g, n, delta, which, eps0):
    """Hoeffding's or Bennett's closed sum, solved for eps; ``law_of`` gives rho, b and c at a level E."""

    def value(eps):
        a, (rho, b, c) = expm1(eps), law_of(exp(eps))
        if which == "hoeffding":
            return rho**2 / (4 * a * g * n) * exp(n * log1p(g * expm1(-2 * a**2 / rho**2)))
        if b <= 0:
            return 0.0
        u = a * b / c
        tail = exp(n * log1p(g * expm1(-c / b**2 * ((1 + u) * log1p(u) - u)))) - (1 - g) ** n
        return b / (g * n * log1p(u)) * tail

    tried = [(2 * eps0 + 10) * 2 ** (-k / 4) for k in range(200)]
    good = next((k for k, x in enumerate(tried) if value(x) <= delta), None)
    if good is None:
        return None
    while value(tried[good + 1]) <= delta:
        good += 1
    return brentq(lambda eps: log(max(value(eps), 1e-300)) - log(delta), tried[good + 1], tried[good], rtol=1e-10)


def written(k):
    """rho, b and c of k-ary response."""

    def law_of(t):
        g = k / (t + k - 1)

        def at(E):
            square = g * (2 - g) * (E - 1) ** 2 + (1 - g) ** 2 * k * (E * E + 1)
            return (1 - g) * k * (E + 1), g * (1 - E) + (1 - g) * k, square

        return g, at

    return law_of


def claims_of(r, eps0, n, delta):
    """The closed forms at a cell, by the names of the columns."""
    t, name = exp(eps0), r["mechanism"]
    names = ("efmrtt_2019", "fmt_2022", "fmt_2022_code", "fmt_2023", "wang_4_7_generic")
    forms = {form: closed(form, eps0, n, delta) for form in names}
    if "RR" in name:
        k = int(name.split("-")[0])
        forms |= {f"wang_4_{i}": pair_4_7(n, t, (t - 1) / (t + k - 1), t, delta, i) for i in (7, 8)}
        g, at = written(k)(t)
        forms |= {w: tails(at, g, n, delta, w, eps0) for w in ("hoeffding", "bennett")}
    return forms


def cell(r):
    """Return what was compared at a cell: (name, agrees), and the claims: (name, below the certified lower end)."""
    eps0, n, delta, low = float(r["eps0"]), int(r["n"]), float(r["delta"]), float(r["lower"])
    sets, blanket = (
        unary(exp(eps0), 16) if "RAPPOR" in r["mechanism"] else responses(int(r["mechanism"].split("-")[0]), exp(eps0))
    )

    def worst(laws, eps):
        return max(divergence(law, exp(eps), n) for law in laws)

    compared, claims = [("upper", worst(sets, float(r["upper"])) <= delta * 1.001)], []
    if low > 0:
        compared.append(("lower", worst(sets, low * 0.98) >= delta))  # mixtures of inputs may be a little worse
    if 0 < float(r["blanket"]) < eps0 * (1 - 1e-4):
        compared.append(("blanket", 0.9 < worst([blanket], float(r["blanket"])) / delta < 1.1))
    for form, value in claims_of(r, eps0, n, delta).items():
        text = r[form].rstrip("!*")
        inside = text and not r[form].endswith("*")
        if value is None or value == inf:
            compared.append((form, not inside))
            continue
        compared.append((form, bool(text) and abs(float(text) / value - 1) < 1e-5))
        if inside and low > 0:
            claims.append((form, value < low))
            compared.append((f"{form}, refuted", claims[-1][1] == r[form].endswith("!")))
    return compared, claims


def grid(every):
    """Return (cells, comparisons, those that fail, claims, those below), with the cells."""
    with (HERE / "literature.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))[::every]
    found = [(tuple(r[key] for key in ("mechanism", "eps0", "n", "delta")), *cell(r)) for r in lines]
    compared = [(at, *entry) for at, entries, _ in found for entry in entries]
    claims = [(at, *entry) for at, _, entries in found for entry in entries]
    return len(lines), len(compared), [x for x in compared if not x[2]], len(claims), [x for x in claims if x[2]]


if __name__ == "__main__":
    cells, compared, wrong, claims, below = grid(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print(f"{cells} cells, {compared} numbers compared, {len(wrong)} do not agree")
    for row in wrong:
        print("  ", row)
    print(f"{claims} claims within their conditions; below the certified lower end:")
    for form in sorted({row[1] for row in below}):
        print("  ", form, sum(row[1] == form for row in below))
