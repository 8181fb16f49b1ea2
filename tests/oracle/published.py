"""Tiny members of every family as tables in fractions, written from the published definitions: nothing of the package.

Each function takes sizes and t = e^eps0, or s = e^(eps0/2) where the definition has a square root, and returns one row
for each input. Messages that are continuous are seen through cells on which all densities are constant; what is
equivalent for all inputs is put together by ``merged``. Inputs that mix others are left out: the divergence is convex
in each user's row, so that none of them makes a data set worse.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import prod

import mpmath

Rows = list[list[Fraction]]


def merged(rows: Iterable[Iterable[Fraction]]) -> Rows:
    """Different rows, with the messages put together whose columns are multiples of each other: they tell the same."""
    columns: dict[tuple[Fraction, ...], Fraction] = {}
    for column in zip(*rows, strict=True):
        if total := sum(column, Fraction(0)):
            direction = tuple(x / total for x in column)
            columns[direction] = columns.get(direction, Fraction(0)) + total
    return sorted(set(zip(*([x * mass for x in d] for d, mass in columns.items()), strict=True)))


def weighted(inputs: Iterable[object], messages: Iterable[object], weight: Callable[..., object]) -> Rows:
    """Rows proportional to weight(input, message)."""
    messages = list(messages)
    rows = [[Fraction(weight(x, y)) for y in messages] for x in inputs]
    return [[entry / sum(row) for entry in row] for row in rows]


def bits(chances: Iterable[Fraction]) -> list[Fraction]:
    """The law of independent bits that are 1 with these chances, over all words."""
    chances = list(chances)
    words = product((0, 1), repeat=len(chances))
    return [
        prod((p if bit else 1 - p for p, bit in zip(chances, word, strict=True)), start=Fraction(1)) for word in words
    ]


def mean(rows: Iterable[Iterable[Fraction]]) -> list[Fraction]:
    rows = list(rows)
    return [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]


def beside(rows: Iterable[Iterable[Fraction]]) -> list[Fraction]:
    """One of several channels, drawn uniformly and told."""
    rows = [list(row) for row in rows]
    return [x / len(rows) for row in rows for x in row]


def sign(x: int, y: int) -> bool:
    """Whether the Sylvester Hadamard entry is +1."""
    return (x & y).bit_count() % 2 == 0


# ------------------------------------------------------------------------------------------ one of k options


def krr(k, t):
    """Warner (1965), Kairouz, Bonawitz, Ramage (2016)."""
    return weighted(range(k), range(k), lambda x, y: t if x == y else 1)


def exponential(k, s):
    """McSherry, Talwar (2007): weight e^(-eps0 dist/2), all distances 1."""
    return weighted(range(k), range(k), lambda x, y: 1 if x == y else 1 / Fraction(s))


def one_bit_mean(t):
    """Ding, Kulkarni, Yekhanin (2017): the ends of the interval."""
    return [[1 / (t + 1), t / (t + 1)], [t / (t + 1), 1 / (t + 1)]]


def local_hashing(l, D, t):
    """Wang, Blocki, Li, Jha (2017): h of all functions from the options to l values, and the response on h(x)."""
    hashes = list(product(range(l), repeat=D))
    return [
        beside([t / (t + l - 1) if y == h[x] else 1 / (t + l - 1) for y in range(l)] for h in hashes) for x in range(D)
    ]


def unary(D, p, q):
    """Wang, Blocki, Li, Jha (2017): one bit for each option."""
    return [bits(p if i == x else q for i in range(D)) for x in range(D)]


def rappor(D, s):
    """Erlingsson, Pihur, Korolova (2014), one-time basic RAPPOR."""
    return unary(D, s / (s + 1), 1 / (s + 1))


def oue(D, t):
    return unary(D, Fraction(1, 2), 1 / (t + 1))


def d_bit_flip(k, d, s):
    """Ding, Kulkarni, Yekhanin (2017): d of k buckets, one bit for each."""
    drawn = list(combinations(range(k), d))
    return [beside(bits(s / (s + 1) if j == x else 1 / (s + 1) for j in some) for some in drawn) for x in range(k)]


def subset_selection(d, k, t):
    """Ye, Barg (2018), Wang et al. (2016)."""
    return weighted(range(d), combinations(range(d), k), lambda x, y: t if x in y else 1)


def hadamard_response(K, t):
    """Acharya, Sun, Zhang (2019): rows other than the first."""
    return weighted(range(1, K), range(K), lambda x, y: t if sign(x, y) else 1)


def block_hadamard(B, b, t):
    """Acharya, Sun, Zhang (2019), high privacy to low: a row of a block, messages of other blocks are not raised."""
    inputs = product(range(B), range(1, b))
    return weighted(inputs, product(range(B), range(b)), lambda x, y: t if x[0] == y[0] and sign(x[1], y[1]) else 1)


# ------------------------------------------------------------------------------------------ sketches


def cms(k, m, s):
    """Apple (2017): one of k hash functions and a noisy one-hot word; inputs are all lists of k hash values."""
    word = [bits(s / (s + 1) if i == place else 1 / (s + 1) for i in range(m)) for place in range(m)]
    return [beside(word[place] for place in places) for places in product(range(m), repeat=k)]


def hcms(k, m, t):
    """Apple (2017): one of k hash functions, one column of the matrix, one noisy sign."""
    high, low = t / (t + 1), 1 / (t + 1)
    row = [beside([high, low] if sign(place, l) else [low, high] for l in range(m)) for place in range(m)]
    return [beside(row[place] for place in places) for places in product(range(m), repeat=k)]


# ------------------------------------------------------------------------------------------ sets and pairs


def collision(s, l, t):
    """Wang, Li, Qian, Du, Lin, Yang (2021): sets of 1 to s buckets; what is left is spread over the other buckets."""
    high = t / (s * t + l - s)

    def row(some):
        return [high if z in some else (1 - high * len(some)) / (l - len(some)) for z in range(l)]

    return [row(some) for size in range(1, s + 1) for some in combinations(range(l), size)]


def wheel(s, cells, arc, t):
    """Wang, Qian, Du, Yang, Huang, Xu (2020) on a ring of cells: p = arc/cells, at starts of cells."""
    p = Fraction(arc, cells)
    high = t / (s * p * t + 1 - s * p) / cells

    def row(starts):
        covered = {(start + i) % cells for start in starts for i in range(arc)}
        return [high if z in covered else (1 - high * len(covered)) / (cells - len(covered)) for z in range(cells)]

    return [row(starts) for starts in product(range(cells), repeat=s)]


def subset_exponential(s, d, k, t):
    """Wang, Huang, Nie, Wang, Xu, Yang (2018), PrivSet: k options, raised where they meet the user's s."""
    options = range(d)
    return weighted(combinations(options, s), combinations(options, k), lambda x, y: t if {*x} & {*y} else 1)


def sampling_rappor(s, d, r):
    """Qin et al. (2016): one of the user's s items through basic RAPPOR, r = e^(eps0/2)."""
    single = rappor(d, r)
    return [mean(single[item] for item in items) for items in combinations(range(d), s)]


def pckv_grr(s, d, t):
    """Gu, Li, Cheng, Xiong, Cao (2020): a pair of the user's through the response on d keys and that on its sign."""
    a, P = (s * (t - 1) + 2) / (s * (t - 1) + 2 * d), (s * (t - 1) + 1) / (s * (t - 1) + 2)
    symbols = [(key, value) for key in range(d) for value in (1, -1)]

    def single(pair):
        return [
            (a * (P if y[1] == pair[1] else 1 - P)) if y[0] == pair[0] else (1 - a) / (2 * (d - 1)) for y in symbols
        ]

    return [
        mean(single(pair) for pair in zip(keys, values, strict=True))
        for keys in combinations(range(d), s)
        for values in product((1, -1), repeat=s)
    ]


def priv_kv(s, d, a):
    """Ye, Hu, Meng, Zheng (2019), equal budgets: presence and value of one of d keys, a = e^(eps0/2) for each."""
    keep, turn = a / (a + 1), 1 / (a + 1)
    channel = {  # present with +1, with -1, absent
        1: [keep * keep, keep * turn, turn],
        -1: [keep * turn, keep * keep, turn],
        0: [turn / 2, turn / 2, keep],
    }
    found = []
    for keys in combinations(range(d), s):
        for values in product((1, -1), repeat=s):
            held = dict(zip(keys, values, strict=True))
            found.append(beside(channel[held.get(key, 0)] for key in range(d)))
    return found


# ------------------------------------------------------------------------------------------ numbers, vectors


def harmony(d, t):
    """Nguyen et al. (2016): one coordinate and its noisy sign; corners of the cube."""
    high, low = t / (t + 1), 1 / (t + 1)
    return [beside([high, low] if v > 0 else [low, high] for v in x) for x in product((1, -1), repeat=d)]


def on_sides(d, chance, first, second):
    """A corner uniform where its product with x is in one range, else where it is in the other; ranges by sign."""
    corners = list(product((1, -1), repeat=d))
    rows = []
    for x in corners:
        side = [sum(u * v for u, v in zip(x, y, strict=True)) for y in corners]
        side = [(v > 0) - (v < 0) for v in side]
        one, other = (sum(v in some for v in side) for some in (first, second))
        rows.append([(v in first) * chance / one + (v in second) * (1 - chance) / other for v in side])
    return rows


def duchi_odd(d, t):
    """Duchi, Jordan, Wainwright (2013)."""
    return on_sides(d, t / (t + 1), {1}, {-1})


def duchi_even(d, t):
    """The same with ties, which belong to both sides."""
    return on_sides(d, t / (t + 1), {1, 0}, {-1, 0})


def duchi_corrected(d, t):
    """Nguyen et al. (2016): ties outside, the chance such that the budget is log t."""
    inside = sum(sum(y) > 0 for y in product((1, -1), repeat=d))
    return on_sides(d, t * inside / (t * inside + 2**d - inside), {1}, {0, -1})


def windows(cells, width, t, *, is_ring=False):
    """A window of some of the cells in a row, or in a ring, with density t times that elsewhere."""
    starts = range(cells if is_ring else cells - width + 1)
    return weighted(starts, range(cells), lambda x, y: t if (y - x) % cells < width else 1)


def square_wave(parts, t, step):
    """Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li (2020): b = 1/step of 1; 2 b + 1 in cells of b/parts."""
    return windows((2 + step) * parts, 2 * parts, t)


def piecewise(r, s, parts):
    """Wang et al. (2019): [-C, C], windows of C - 1, C = (s + 1)/(s - 1); the window is 1/(s + 1) of all."""
    assert Fraction(r) == Fraction(s) + 1
    return windows(r * parts, parts, Fraction(s) ** 2)


def noise_in_cells(places, cuts, below):
    """Rows of additive noise with the distribution function ``below``, between cuts and beyond them."""
    return [
        [b - a for a, b in zip([Fraction(0), *row], [*row, Fraction(1)], strict=True)]
        for row in ([below(cut - x) for cut in cuts] for x in places)
    ]


def staircase(parts, steps, t):
    """Geng, Viswanath (2014): g = steps/parts; messages a unit further out are 1/t as likely for all inputs."""
    g, unit = Fraction(steps, parts), Fraction(1, parts)
    a = (t - 1) / (2 * (g * t + 1 - g))

    def density(z):
        return a / t ** (0 if abs(z) < g else 1 + int(abs(z) - g))

    rows = []
    for x in (unit * i for i in range(parts + 1)):
        middles = [unit * (2 * j + 1) / 2 for j in range(-parts, 2 * parts)]
        rows.append([density(y - x) * unit * (1 if 0 < y < 1 else t / (t - 1)) for y in middles])
    return rows


def discrete_laplace(B, r):
    """Ghosh, Roughgarden, Sundararajan (2009): noise of weight r^-|z| on the integers, clipped to 0..B; r = t^(1/B)."""
    c = (r - 1) / (r + 1)

    def beyond(z):
        """P(Z >= z) for z >= 0 and z = 0 itself."""
        return c * r / (r - 1) / r**z

    rows = []
    for x in range(B + 1):
        row = [c / r ** abs(y - x) for y in range(B + 1)]
        row[0], row[B] = beyond(x), beyond(B - x)
        rows.append(row)
    return rows


def laplace_in_cells(parts, root):
    """Laplace noise on [0, 1], eps0 = parts log(root), through cells of the grid of inputs: what cells tell is less."""

    def below(z):
        steps = int(z * parts)
        return root**steps / 2 if z <= 0 else 1 - root**-steps / 2

    grid = [Fraction(i, parts) for i in range(parts + 1)]
    return noise_in_cells(grid, grid, below)


def logistic_in_cells(parts, root):
    """The same for logistic noise of scale 1/eps0."""

    def below(z):
        return 1 / (1 + root ** -int(z * parts))

    grid = [Fraction(i, parts) for i in range(parts + 1)]
    return noise_in_cells(grid, grid, below)


def in_cells(places, cuts, below):
    """Noise whose distribution function is no fraction: to forty digits."""
    with mpmath.workdps(60):
        rows = [[Fraction(mpmath.nstr(below(mpmath.mpf(cut) - x), 40)) for cut in cuts] for x in places]
    return [[b - a for a, b in zip([Fraction(0), *row], [*row, Fraction(1)], strict=True)] for row in rows]


def caps_on_a_circle(cells, width, t):
    """Bhowmick et al. (2018) in two dimensions: arcs of width/cells."""
    return windows(cells, width, t, is_ring=True)


def tiny() -> Iterator[tuple[str, dict[str, object], Rows]]:
    """The name in the catalogue, sizes as they are given there, and the table."""
    F = Fraction
    for k in (2, 3, 4):
        yield "krr", {"k": k, "eps0": "log(3)"}, krr(k, F(3))
        yield "exponential", {"k": k, "eps0": "log(9)"}, exponential(k, F(3))
    for t in ("3", "7/2"):
        yield "one-bit-mean", {"eps0": f"log({t})"}, one_bit_mean(F(t))
    for l, D in ((2, 2), (2, 3), (3, 3)):
        yield "local-hashing", {"l": l, "D": D, "eps0": "log(4)"}, local_hashing(l, D, F(4))
    for D in (2, 3):
        yield "unary-encoding", {"D": D, "p": "3/4", "q": "1/5"}, unary(D, F(3, 4), F(1, 5))
        yield "rappor", {"D": D, "eps0": "log(9)"}, rappor(D, F(3))
        yield "oue", {"D": D, "eps0": "log(3)"}, oue(D, F(3))
    for k, d in ((2, 1), (3, 2), (3, 3), (4, 2)):
        yield "d-bit-flip", {"k": k, "d": d, "eps0": "log(9)"}, d_bit_flip(k, d, F(3))
    for d, k in ((3, 1), (3, 2), (4, 2)):
        yield "subset-selection", {"d": d, "k": k, "eps0": "log(5)"}, subset_selection(d, k, F(5))
    for K in (4, 8):
        yield "hadamard-response", {"K": K, "eps0": "log(3)"}, hadamard_response(K, F(3))
    for B, b in ((2, 2), (3, 2), (2, 4)):
        yield "block-hadamard", {"B": B, "b": b, "eps0": "log(3)"}, block_hadamard(B, b, F(3))
    for k, m in ((1, 2), (2, 2), (1, 3)):
        yield "cms", {"k": k, "m": m, "eps0": "log(9)"}, cms(k, m, F(3))
    for k, m in ((1, 2), (2, 2), (1, 4)):
        yield "hcms", {"k": k, "m": m, "eps0": "log(5)"}, hcms(k, m, F(5))
    for s, l in ((1, 2), (1, 4), (2, 4), (2, 5)):
        yield "collision", {"s": s, "l": l, "eps0": "log(3)"}, collision(s, l, F(3))
    for s, l in ((2, 3), (3, 4), (3, 5)):
        yield "collision-narrow", {"s": s, "l": l, "eps0": "log(4)"}, collision(s, l, F(4))
    for s, cells, arc in ((1, 4, 1), (1, 5, 2), (2, 5, 1), (2, 9, 2)):
        yield "wheel", {"s": s, "p": F(arc, cells), "eps0": "log(3)"}, wheel(s, cells, arc, F(3))
    for s, d, k in ((1, 3, 1), (1, 4, 2), (2, 4, 1), (2, 4, 2), (2, 5, 2)):
        yield "subset-exponential", {"s": s, "d": d, "k": k, "eps0": "log(3)"}, subset_exponential(s, d, k, F(3))
    for s, d in ((1, 2), (1, 3), (2, 4)):
        yield "sampling-rappor", {"s": s, "d": d, "eps0": "log(9)"}, sampling_rappor(s, d, F(3))
    for s, d in ((1, 2), (1, 3), (2, 2), (2, 3)):
        yield "pckv-grr", {"s": s, "d": d, "eps0": "log(3)"}, pckv_grr(s, d, F(3))
    for s, d in ((1, 2), (1, 3), (2, 4)):
        yield "priv-kv", {"s": s, "d": d, "eps0": "log(9)"}, priv_kv(s, d, F(3))
    for d in (1, 2, 3):
        yield "harmony", {"d": d, "eps0": "log(3)"}, harmony(d, F(3))
    for m in (0, 1):
        yield "duchi-vector", {"m": m, "eps0": "log(3)"}, duchi_odd(2 * m + 1, F(3))
    for m in (1, 2):
        yield "duchi-vector-even", {"m": m, "eps0": "log(2)"}, duchi_even(2 * m, F(2))
        yield "duchi-vector-corrected", {"m": m, "eps0": "log(3)"}, duchi_corrected(2 * m, F(3))
    for parts, step in ((1, 4), (1, 3), (2, 3)):
        yield "square-wave", {"b": F(1, step), "eps0": "log(3)"}, square_wave(parts, F(3), step)
    for s, parts in ((2, 1), (2, 2), (3, 1), (3, 2)):
        yield "piecewise", {"eps0": f"2*log({s})"}, piecewise(s + 1, s, parts)
    for cells, width in ((4, 1), (5, 2), (6, 2), (8, 3)):
        yield "priv-unit", {"c": F(width, cells), "eps0": "log(4)"}, caps_on_a_circle(cells, width, F(4))
    for parts, steps in ((2, 1), (4, 1), (4, 3)):
        yield "staircase", {"g": F(steps, parts), "eps0": "log(2)"}, staircase(parts, steps, F(2))
    for B in (1, 2, 3):
        yield "discrete-laplace", {"B": B, "eps0": f"{B}*log(2)"}, discrete_laplace(B, F(2))


def coarse() -> Iterator[tuple[str, dict[str, object], Rows]]:
    """Noise with a density, seen through cells: no upper end may be below its divergences."""
    for parts in (1, 2, 3):
        yield "laplace", {"eps0": f"{parts}*log(2)"}, laplace_in_cells(parts, Fraction(2))
        yield "clipped-laplace", {"eps0": f"{parts}*log(2)"}, laplace_in_cells(parts, Fraction(2))
        yield "logistic", {"eps0": f"{parts}*log(3)"}, logistic_in_cells(parts, Fraction(3))
    for sigma in (1, 2):
        places, cuts = (0, 0.5, 1), (-1.5, 0, 0.5, 1, 2.5)
        yield "gaussian", {"sigma": sigma}, in_cells(places, cuts, lambda z, s=sigma: mpmath.ncdf(z / s))
    yield "cauchy", {"scale": 1}, in_cells((0, 0.5, 1), (-1, 0, 0.5, 1, 2), lambda z: 0.5 + mpmath.atan(z) / mpmath.pi)
