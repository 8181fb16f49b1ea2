"""A search for a violation of the Rényi bounds of Girgis et al. (2021), without any code of symamp.

Run: python docs/findings/girgis.py [draws]. The pair of Theorem B dominates the shuffled reports of every eps0-LDP
randomizer in every divergence: if its moment, the sum of P^order Q^(1-order), is at most what a formula says, the
formula holds for every randomizer. Prints, for both formulas, the least (formula - 1)/(moment - 1) over random
budgets, numbers of users and orders, and over climbs from the least; doubles, sums over all outcomes.
"""

import sys
from math import comb, exp, lgamma, log
from random import Random

import numpy as np
from scipy.special import gammaln, logsumexp

MOST = 3000


def log_binomial(n, p):
    """Return the log probabilities of a binomial law."""
    k = np.arange(n + 1)
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(p) + (n - k) * np.log1p(-p)


def log_moment(t, n, order):
    """Return the log of the moment of the pair: m messages are of the blanket, a of them of the first kind."""
    terms = []
    for m, weight in enumerate(log_binomial(n - 1, 2 / (t + 1)), 1):
        if weight > -60:
            a = np.arange(m + 1)
            law = log_binomial(m, 0.5) + order * np.log(t * a + m - a) + (1 - order) * np.log(a + t * (m - a))
            terms.append(weight + log(2 / ((t + 1) * m)) + logsumexp(law))
    return logsumexp(terms)


def log_formulas(t, n, order):
    """Return the logs of the two formulas, CCS 2021 and NeurIPS 2021 with all users sampled."""
    clones, fall = (n - 1) // (2 * t) + 1, -(n - 1) / (8 * t)
    step = log(2 * (t * t - 1) ** 2 / (clones * t * t)) / 2
    log_comb = [lgamma(order + 1) - lgamma(j + 1) - lgamma(order - j + 1) for j in range(order + 1)]
    common = [log_comb[j] + log(j) + lgamma(j / 2) + j * step for j in range(3, order + 1)]
    second = log(comb(order, 2)) + 2 * log(t - 1) - log(clones * t)
    x = (t * t - 1) / (2 * t)
    rest = [log_comb[j] + j * log(x) + fall for j in range(2, order + 1)]
    first = logsumexp([0.0, second, *common, log(t) * order + fall])
    return first, logsumexp([0.0, second + log(4), *common, *rest])


def ratios(point):
    """Return (formula - 1)/(moment - 1) for both, by logs."""
    t, n, order = exp(point[0]), max(2, round(exp(point[1]))), max(2, round(exp(point[2])))
    least = [log(np.expm1(min(f, 700))) for f in (log_moment(t, n, order), *log_formulas(t, n, order))]
    return [exp(min(x - least[0], 700)) for x in least[1:]]


def main(draws=1500):
    """Print what was found."""
    random, low, high = Random(5), (0.02, log(2), log(2)), (8.0, log(MOST), log(64))
    for which, name in enumerate(("CCS 2021", "NeurIPS 2021")):
        points = [[random.uniform(a, b) for a, b in zip(low, high, strict=True)] for _ in range(draws)]
        best, v = min((ratios(point)[which], point) for point in points)
        size = 1.0
        for _ in range(150):
            moved = [min(max(x + size * random.gauss(0, 1), a), b) for x, a, b in zip(v, low, high, strict=True)]
            if (found := ratios(moved)[which]) < best:
                best, v = found, moved
            else:
                size = max(size * 0.97, 0.02)
        print(f"{name}: {best:.4g} at e^eps0 {exp(v[0]):.4g}, n {round(exp(v[1]))}, order {round(exp(v[2]))}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
