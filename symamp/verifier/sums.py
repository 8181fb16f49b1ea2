"""The sums E[S_+] of certificates: enumeration, kernel, binomial tails, large values one by one."""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import accumulate, product
from math import isqrt, prod
from operator import mul
from typing import Any

from flint import acb, acb_mat, arb, ctx, fmpq

from .check import working
from .documents import require

Number = Any  # an exact fraction (fmpq) where possible, else a ball (arb) at the working precision
Group = Any  # (values with their masses, mass of the null symbol or None, number of draws)
_EXACT_ZERO, _ZERO, _ONE = fmpq(0), arb(0), arb(1)
_MOST_KEPT = 2**17
"""Waves that are kept, of each group."""


KERNEL: dict[str, Any] = dict.fromkeys(("theta", "W", "theta_above", "theta_below"), str)
KERNEL |= {"N": int, "evaluated": [(int, int)], "dropped": [(int, int)]}
TAILS: dict[str, Any] = {"theta": str, "windows": [(int, int)]}
LARGE: dict[str, Any] = {"threshold": str, "plans": [{"plan": KERNEL}]}
_PLANS = {"binomial tails": TAILS, "large values": LARGE}


def shape(how: Any) -> dict[str, Any]:
    """Return the shape of an evaluator with its plan."""
    name = how.get("evaluator") if type(how) is dict else None
    return {"evaluator": str, "plan": _PLANS.get(name, KERNEL) if type(name) is str else KERNEL}


def evaluated(check: Any, how: dict[str, Any], groups: list[Group], up: bool, what: str) -> Number:
    """Return a number whose upper or lower end bounds E[S_+] of all draws, by an evaluator with its plan."""
    name, plan = how["evaluator"], how["plan"]
    numbers = [x for atoms, null, _ in groups for x in (null, *(y for atom in atoms for y in atom))]
    exact = all(isinstance(x, fmpq) and x.q.bit_length() < 999 for x in numbers)
    if not (exact and name == "exact" and sum(n for *_, n in groups) <= 64):
        groups = [([(arb(v), arb(m)) for v, m in atoms], arb(null), n) for atoms, null, n in groups]
    if name == "compact kernel" and plan is not None and "W" in plan:
        return kernel(check, groups, plan, up, what)
    if name == "binomial tails" and plan is not None and "windows" in plan and len(groups) == 1:
        return tails(check, groups[0], plan, up, what)
    if name == "large values" and plan is not None and "plans" in plan and len(groups) == 1:
        return large(check, groups[0], plan, up, what)
    check.require(name in ("enumeration", "exact"), f"{what}: unknown evaluator {name[:40]!a}")
    # From below the null symbol may be left out.
    seen = [null > 0 or (up and arb(null).rad() > 0) for _, null, _ in groups]
    return enumerated(check, [(a, null if s else None, n) for s, (a, null, n) in zip(seen, groups, strict=True)])


def enumerated(check: Any, groups: list[Group]) -> Number:
    """Return E[S_+], exact or as a ball: only sums proved to be <= 0 are left out (docs/proofs/enumeration.md)."""
    laws = [[*atoms, (0 * null, null)] if null is not None else atoms for atoms, null, _ in groups]
    laws = [sorted(law, key=lambda atom: float(arb(atom[0]).mid()), reverse=True) for law in laws]
    atoms, counts = [atom for law in laws for atom in law], [n for *_, n in groups]
    if not all(laws):
        return _EXACT_ZERO
    # Balls may be out of order: the largest value from an atom on, within its group.
    largest = [v for law in laws for v in list(accumulate((v for v, _ in law[::-1]), check.larger))[::-1]]
    first = [sum(map(len, laws[:g])) for g in range(len(laws) + 1)]
    group = [g for g, law in enumerate(laws) for _ in law]
    power = lru_cache(3 * 10**4)(lambda j, c: _power(atoms[j][1], c))
    size = sum(counts) * max((x.q.bit_length() for atom in atoms for x in atom if isinstance(x, fmpq)), default=0)
    node = 5 + ctx.prec // 512 + size // 100 + (size // 1000) ** 2
    later = [check.total(n * largest[first[h]] for h, n in enumerate(counts) if h > g) for g in range(len(laws))]

    def expected(j: int, left: int, partial: Number, reach: Number) -> Number:
        value, mass = atoms[j][0], power(j, 0)
        if j + 1 == first[group[j] + 1]:  # the last value of a group takes all that are left of it
            if j + 1 == len(atoms):
                return power(j, left) * (reach if reach > 0 else check.larger(reach))
            return power(j, left) * expected(j + 1, counts[group[j + 1]], partial + left * value, reach)
        result, binomial = _EXACT_ZERO, mass
        for c in range(left, -1, -1):
            check.spend(node)
            here = partial + c * value
            reach = here + (left - c) * largest[j + 1] + later[group[j]]
            if not reach <= 0:
                result += binomial * power(j, c) * expected(j + 1, left - c, here, reach)
            elif value >= largest[j + 1]:
                break  # what is within reach falls with c
            binomial = binomial * c / (left - c + 1)
        return result

    return expected(0, counts[0], _EXACT_ZERO, check.total(n * largest[first[g]] for g, n in enumerate(counts)))


def _power(x: Number, n: int) -> Number:
    """Return x^n; the library has no number for the power of a ball around 0."""
    around = n > 0 and isinstance(x, arb) and not x.is_zero() and x.contains(0)
    return x**n if not around else (most := abs(x).upper() ** n).union(-most)


def kernel(check: Any, groups: list[Group], plan: dict[str, Any], up: bool, what: str) -> arb:
    """Return a ball whose upper or lower end bounds E[S_+], for every plan (docs/proofs/kernel_sandwich.md).

    S is the sum of all draws of all groups (docs/proofs/users_who_differ.md, section 1).
    """
    return _kernel(check, [Tilted(group, arb(check.number(plan["theta"]))) for group in groups], plan, up, what)


def poisson(check: Any, group: Group, shift: arb, plan: dict[str, Any], up: bool, what: str) -> arb:
    """Return the same for a constant and a Poisson number of draws (docs/proofs/participation.md, section 3)."""
    return _kernel(check, [_Poisson(group, arb(check.number(plan["theta"])), shift)], plan, up, what)


def require_blocks(plan: dict[str, Any], what: str) -> int:
    """Return the number N of terms of a plan, after a check that its blocks are those of 1..N-1."""
    blocks, terms = sorted(plan["evaluated"] + plan["dropped"]), int(plan["N"])
    good = [a for a, _ in blocks] + [terms] == [1, *(b + 1 for _, b in blocks)] and all(a <= b for a, b in blocks)
    require(good, f"{what}: the blocks do not cover 1..N-1 without overlap", "invalid")
    return terms


def _kernel(check: Any, parts: list[Tilted], plan: dict[str, Any], up: bool, what: str) -> arb:
    theta, higher, lesser, w = (arb(check.number(plan[k])) for k in ("theta", "theta_above", "theta_below", "W"))
    terms = require_blocks(plan, what)
    good = 0 < lesser < theta < higher < arb("inf") and 0 < w < arb("inf")
    check.require(good, f"{what}: theta or W wrong", "invalid")
    values = sum(len(part.atoms) + 6 for part in parts)
    blocks = len(plan["evaluated"]) + len(plan["dropped"])
    check.spend((sum(b - a + 1 for a, b in plan["evaluated"]) + blocks + 4) * values, hard=True)
    d, step, null_n = w / terms, 2 * arb.pi() / w, product_of(x.null_n() for x in parts)
    lam, inverse = theta * d, -1 / (-theta * d).expm1()  # inverse = 1/(1 - q), here and below
    for part in parts:
        part.along(step / 2, 2 * terms)
    alpha, slope, over_t = 1 / lam - inverse + 1, (inverse - 1) * (lam * inverse - 1), d / (step * terms)
    at_zero = d / theta * (-lam * alpha).exp() * inverse if up else d * d * (inverse - 1) * inverse
    result = at_zero * (1 - null_n) / 2
    for j in (j for a, b in plan["evaluated"] for j in range(a, b + 1)):
        u = step * j
        power, x = product_of(part.phi_n(2 * j) for part in parts) - null_n, acb(-lam, -u * d)  # x = -s d
        inverse = -1 / x.expm1()
        z0 = (x * alpha).exp() * inverse if up else inverse - 1
        z1, z2 = ((alpha + inverse - 1) * z0, z0) if up else (z0 * inverse, slope + z0)
        result += ((acb(d - u * over_t, theta * over_t) * d * z1 - acb(0, over_t) * z2) * power).real
    excess = abs(at_zero - theta**-2)
    for a, b in plan["dropped"]:
        beta = product_of(part.modulus_n(check, a + b, b - a) for part in parts)
        most = (1 / abs(acb(theta, step * a)) ** 2 + excess) * (beta + null_n)
        result += most * (b - a + 1) if up else most * (a - b - 1)
    for y in () if up else (higher, lesser):  # aliasing
        ratio = product_of(part.growth(y) for part in parts)
        result -= w / 2 * ratio / (arb.const_e() * y * (abs(y - theta) * w).expm1())
    return check.larger(product_of(part.scale() for part in parts) * 2 / w * result)


class Tilted:
    """The law of one draw of a group, tilted by theta."""

    def __init__(self, group: Group, theta: arb) -> None:
        self.atoms, self.mass, self.n = group
        atoms, null, _ = group
        self.theta, self.mgf = theta, self.moment(theta)
        self.law, self.null = [(v, m * (theta * v).exp() / self.mgf) for v, m in atoms], null / self.mgf
        mean = sum((p * v for v, p in self.law), _ZERO)
        # The library has no number for the square of a ball around 0, and no root of a ball below it.
        self.deviation = (sum((p * v * v for v, p in self.law), _ZERO) - mean * mean).upper().max(_ZERO).sqrt()
        self.along(_ONE, 1)

    def along(self, unit: arb, last: int) -> None:
        """Say that frequencies are multiples of a unit, up to which: waves of near ones and of a far one are kept."""
        self.unit, self.hop = unit, max(1, min(isqrt(last), _MOST_KEPT // (len(self.law) + 1)))
        self.near, self.far = dict[int, acb_mat](), (-1, acb_mat(0, 0))

    def moment(self, x: arb) -> arb:
        """Return E[e^(xG)]."""
        return sum((m * (x * v).exp() for v, m in self.atoms), self.mass)

    def scale(self) -> arb:
        """Return that of the sum of the draws at theta."""
        return self.mgf**self.n

    def growth(self, x: arb) -> arb:
        """Return how much larger it is at x."""
        return (self.moment(x) / self.mgf) ** self.n

    def null_n(self) -> arb:
        """Return the tilted probability that all draws are null."""
        return self.null**self.n

    def phi(self, i: int) -> acb:
        """Return the characteristic function at i units: a row of far waves times a column of near ones."""
        if not self.law:
            return acb(self.null)
        far, near = divmod(i, self.hop)
        if far != self.far[0]:
            start = self.unit * (far * self.hop)
            self.far = far, acb_mat([[p * acb(0, start * v).exp() for v, p in self.law]])
        if near not in self.near:
            self.near[near] = acb_mat([[acb(0, self.unit * near * v).exp()] for v, _ in self.law])
        return (self.far[1] * self.near[near])[0, 0] + self.null

    def phi_n(self, i: int) -> acb:
        """Return that of the sum of the draws."""
        return raised(self.phi(i), self.n)

    def modulus_n(self, check: Any, middle: int, half: int) -> arb:
        """Return a bound on |phi|^n in a block, from its middle: sqrt(1 - |phi|^2) is Lipschitz."""
        root = check.larger(1 - abs(self.phi(middle)) ** 2).sqrt()
        distance = check.larger(root - self.deviation * self.unit * half).min(arb(1))
        return check.larger(1 - distance**2).sqrt() ** self.n


class _Poisson(Tilted):
    """A constant and a Poisson number of draws, n in the mean, tilted: of n E[e^(theta G)] tilted ones in the mean."""

    def __init__(self, group: Group, theta: arb, shift: arb) -> None:
        super().__init__(group, theta)
        self.shift, self.mean = shift, self.n * self.mgf
        self.spread = (sum((p * v * v for v, p in self.law), _ZERO) / 2).upper().max(_ZERO).sqrt()

    def scale(self) -> arb:
        return (self.n * (self.mgf - 1) + self.theta * self.shift).exp()

    def growth(self, x: arb) -> arb:
        return (self.n * (self.moment(x) - self.mgf) + (x - self.theta) * self.shift).exp()

    def null_n(self) -> arb:
        return (-self.mean * (1 - self.null)).exp() if self.shift.is_zero() else _ZERO

    def phi_n(self, i: int) -> acb:
        return (self.mean * (self.phi(i) - 1) + acb(0, self.unit * i * self.shift)).exp()

    def modulus_n(self, check: Any, middle: int, half: int) -> arb:
        """Return a bound on it in a block, from its middle: sqrt(1 - Re phi) is Lipschitz."""
        root = check.larger(1 - self.phi(middle).real).sqrt() - self.spread * self.unit * half
        return (-self.mean * check.larger(root) ** 2).exp()


def raised(x: Any, n: int) -> Any:
    """Return x^n for a ball, real or complex."""
    return (x.log() * n).exp() if x.real > 0 else x**n


def product_of(numbers: Any) -> Any:
    """Return the product of some balls."""
    return reduce(mul, numbers, arb(1))


# --- large values one by one -----------------------------------------------------------------------------------------


def large(check: Any, group: Group, plan: dict[str, Any], up: bool, what: str) -> arb:
    """Return a ball whose upper or lower end bounds E[S_+], large values one by one (docs/proofs/large_values.md)."""
    (atoms, null, n), threshold = group, arb(check.number(plan["threshold"]))
    is_large = [bool(v.mid() > threshold) for v, _ in atoms]
    apart = sorted((a for a, x in zip(atoms, is_large, strict=True) if x), key=lambda a: -float(a[0].mid()))
    rest = [a for a, x in zip(atoms, is_large, strict=True) if not x]
    plans = [x["plan"] for x in plan["plans"]]
    check.require(n >= 2 and len(plans) == len(apart) + 1, f"{what}: other large values", "invalid")

    def beside(k: int, offset: arb, how: Any) -> arb:
        moved = [(v + offset / k, m) for v, m in rest]
        left, whole = null, sum((m for _, m in rest), null)
        if not offset.is_zero():
            moved, left = [*moved, (offset / k, null)], _ZERO
        if how is not None:
            return kernel(check, [(moved, left, k)], how, up, what)
        gains = (m * (v.max(_ZERO) if up else v) for v, m in moved)
        return check.larger(k * whole ** (k - 1) * sum(gains, _ZERO))

    found = beside(n, _ZERO, plans[0])
    for (v, m), how in zip(apart, plans[1:], strict=True):
        found += n * m * beside(n - 1, v, how)
    if up:
        chance = sum((m for _, m in apart), _ZERO)
        gains = [sum((m * v.max(_ZERO) for v, m in some), _ZERO) for some in (apart, rest)]
        found += n * (n - 1) * chance * (gains[0] + gains[1] * chance * (n - 2) / 2)
    return check.larger(found)


# --- binomial tails --------------------------------------------------------------------------------------------------


def tails(check: Any, group: Group, plan: dict[str, Any], up: bool, what: str) -> arb:
    """Return a ball whose upper or lower end bounds E[S_+], by windows of counts (docs/proofs/binomial_tails.md)."""
    (atoms, null, n), theta = group, arb(check.number(plan["theta"]))
    check.require(0 < theta < arb("inf"), f"{what}: theta wrong", "invalid")
    law = [(v, m, m * (theta * v).exp()) for v, m in [*atoms, (_ZERO, null)]]
    law.sort(key=lambda atom: -float(atom[2].mid()))
    windows = [tuple(w) for w in plan["windows"]]
    check.require(len(law) >= 2 and len(windows) <= len(law) - 2, f"{what}: more windows than values", "invalid")
    check.require(all(0 <= low <= high <= n for low, high in windows), f"{what}: a window is not one", "invalid")
    windows += [(0, 0)] * (len(law) - 2 - len(windows))
    check.spend(min(prod(high - low + 1 for low, high in windows), 10**9) * 30, hard=True)
    grown = sum((g for *_, g in law), _ZERO)
    outside = sum((_outside(n, g / grown, *w) for (_, _, g), w in zip(law[2:], windows, strict=True)), _ZERO)
    (v0, m0, _), (v1, m1, _) = law[:2] if law[0][0] > law[1][0] else law[1::-1]
    check.require(v0 > v1, f"{what}: two values are not told apart", "invalid")
    listed, pair, result = law[2:], m0 + m1, _ZERO
    inner, span = (windows[0] if windows else (0, 0)), v0 - v1
    value, mass = (listed[0][:2]) if listed else (_ZERO, _ZERO)
    for counts in product(*(range(low, high + 1) for low, high in windows[1:])):
        left, weight, offset = n - sum(counts), _ONE, _ZERO
        users = n
        for count, (v, m, _) in zip(counts, listed[1:], strict=True):
            weight, offset, users = weight * binomial(users, count) * m**count, offset + v * count, users - count
        if left < inner[0]:
            continue
        tail, high = _Tail(check, m0 / pair), min(inner[1], left)
        weight *= binomial(left, high) * mass**high * pair ** (left - high)
        for count in range(high, inner[0] - 1, -1):
            k = left - count
            result += weight * tail.excess(k, -(offset + value * count + k * v1) / span) * span
            weight = weight * pair * count / (mass * (left - count + 1)) if count else weight
    return result + grown**n * outside / (theta * arb.const_e()) if up else result


def _outside(n: int, p: arb, low: int, high: int) -> arb:
    """Return a bound on the probability that a binomial (n, p) count is not within low..high."""
    if p.is_zero():  # the count is 0
        return _ONE if low > 0 else _ZERO
    q, result = 1 - p, _ZERO
    for k, odds, rest in ((high + 1, p / q, n - high - 1), (low - 1, q / p, low - 1)):
        if 0 <= k <= n:
            ratio = odds * rest / (n - rest + 1)
            result += binomial(n, k) * p**k * q ** (n - k) / (1 - ratio) if ratio < 1 else _ONE
    return result.min(_ONE) if result.is_finite() else _ONE


def binomial(n: int, k: int) -> arb:
    """Return how many ways there are to choose k of n."""
    with working(ctx.prec + 2 * n.bit_length() + 8):
        few = min(k, n - k)
        if few <= 64:
            return arb(prod(range(n - few + 1, n + 1)) // prod(range(1, few + 1)))
        return (arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()).exp()


class _Tail:
    """f = P(a = j) and t = P(a >= j) for a of the law binomial (k, p), moved by one draw or one count at a time."""

    def __init__(self, check: Any, p: arb) -> None:
        self.check, self.p, self.q, self.k, self.j = check, p, 1 - p, -1, 0
        self.f = self.t = _ZERO

    def excess(self, k: int, x: arb) -> arb:
        """Return E[(a - x)_+]; a threshold that is not told from an integer costs a ball."""
        if x < 0 or x > k:
            return k * self.p - x if x < 0 else _ZERO
        self.check.require(x.rad() < 1, "a threshold is not known well enough", "invalid")
        j = int(x.mid().floor().unique_fmpz()) + 1
        if j <= 0 or j > k:
            self.k = -1
            mean = k * self.p - x
            return mean + _ball(x) if j <= 0 else _ball(k - x)
        if self.k < 0 or abs(self.j - j) > 64 or k - self.k > 64 or self.j > k:
            self.restart(k, j)
        while self.k < k:
            below = self.f * self.j * self.q / ((self.k - self.j + 1) * self.p)
            self.t, self.f = self.t + self.p * below, self.f * (self.k + 1) * self.q / (self.k + 1 - self.j)
            self.k += 1
        while self.j != j:
            self.check.spend(4, hard=True)
            if self.j < j:
                self.t, self.f = self.t - self.f, self.f * (k - self.j) * self.p / ((self.j + 1) * self.q)
                self.j += 1
            else:
                self.f *= self.j * self.q / ((k - self.j + 1) * self.p)
                self.t, self.j = self.t + self.f, self.j - 1
        below = self.f * j * self.q / ((k - j + 1) * self.p)
        return (k * self.p - x) * self.t + self.q * j * self.f + self.f * _ball(x - j) + below * _ball(j - 1 - x)

    def restart(self, k: int, j: int) -> None:
        p, q, self.k, self.j = self.p, self.q, k, j
        self.f = binomial(k, j) * p**j * q ** (k - j)
        upward = j > k * float(p)
        term, total, i = self.f, _ZERO, j
        if not upward:
            i, term = j - 1, self.f * j * q / ((k - j + 1) * p)
        while 0 <= i <= k:
            self.check.spend(4, hard=True)
            total += term
            ratio = (k - i) * p / ((i + 1) * q) if upward else i * q / ((k - i + 1) * p)
            term *= ratio
            i += 1 if upward else -1
            if ratio < 1 and term < total * arb(2) ** -ctx.prec:
                total += _ball(term / (1 - ratio))
                break
        self.t = total if upward else 1 - total


def _ball(x: arb) -> arb:
    """Return a ball around 0 and x, if x is positive."""
    return x.max(_ZERO).union(_ZERO)
