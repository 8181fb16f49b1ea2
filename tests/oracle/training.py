"""Training with noise on finitely many messages, by enumeration: every sequence of messages, exact fractions.

Nothing is imported from symamp. A step publishes a message; its law is ``example``, ``without`` or ``other``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

from tests.oracle.laws import above, together


def allocation(steps, selected, example, without):
    """Return the law of all messages if the example is in a uniformly drawn set of so many steps."""
    sets = list(combinations(range(steps), selected))
    messages = range(len(without))
    return {
        y: sum(prod((example if i in s else without)[m] for i, m in enumerate(y)) for s in sets)
        * Fraction(1, len(sets))
        for y in product(messages, repeat=steps)
    }


def poisson(steps, rate, example, without):
    """Return the law of all messages if the example is in each step with a probability."""
    mixed = [(1 - rate) * q + rate * p for p, q in zip(example, without, strict=True)]
    return {y: prod(mixed[m] for m in y) for y in product(range(len(without)), repeat=steps)}


def shuffled(batches, first, others):
    """Return the law of messages of batches of one, whose laws are ``first`` and those of others, in a random order."""
    laws = [first, *others]
    orders = list(permutations(range(batches)))
    return {
        y: sum(prod(laws[o[i]][m] for i, m in enumerate(y)) for o in orders) * Fraction(1, len(orders))
        for y in product(range(len(first)), repeat=batches)
    }


def in_both_directions(with_example, without, epochs, level):
    """Return the divergences with the example first, and second, after so many independent epochs."""
    p, q = together(*[with_example] * epochs), together(*[without] * epochs)
    return above(p, q, level), above(q, p, level)
