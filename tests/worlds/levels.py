"""Levels eps as they are written for the package, with fractions around E = e^eps; exponentials in fractions."""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

ONE = Fraction(1)
_DIGITS = 10**70


@dataclass(frozen=True)
class Level:
    """A text for eps, and fractions low <= e^eps <= high, equal where e^eps is a fraction."""

    text: str
    low: Fraction
    high: Fraction


def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^x, some 60 digits apart."""
    if x < 0:
        low, high = exponential(-x)
        return 1 / high, 1 / low
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    small = x / 2**halvings
    low, term, k = ONE, ONE, 0
    while term * _DIGITS > 1:
        k += 1
        term = term * small / k
        low += term
    high = low + 2 * term
    for _ in range(halvings):
        low, high = _floor(low * low), _floor(high * high) + Fraction(1, _DIGITS)
    return _floor(low), _floor(high) + Fraction(1, _DIGITS)


def _floor(x: Fraction) -> Fraction:
    return Fraction(x.numerator * _DIGITS // x.denominator, _DIGITS)


def of_order(E: Fraction) -> Level:
    """The level log(E)."""
    return Level("0" if E == 1 else f"log({E})", E, E)


def of_number(eps: str) -> Level:
    """A decimal number or a fraction."""
    low, high = exponential(Fraction(eps))
    return Level(eps, max(low, ONE), max(high, ONE))


def moved(E: Fraction, by: str, times: int = 1) -> Level:
    """The level times*log(E) + by, for a decimal number ``by``, which may be tiny."""
    low, high = exponential(Fraction(by))
    text = f"log({E})" if times == 1 else f"{times}*log({E})"
    text += by if by.startswith("-") else f"+{by}"
    return Level(text, max(E**times * low, ONE), max(E**times * high, ONE))


def draw(rng: Random, kinks: list[Fraction], budgets: list[tuple[Fraction, int]]) -> Level:
    """A level at, beside or between the places where something changes, or anywhere; budgets are powers of ratios."""
    kind = rng.random()
    if budgets and kind < 0.3:
        t, times = rng.choice(budgets)
        if times > 1 and rng.random() < 0.5:
            return moved(t, rng.choice(("-1e-19", "-1e-12", "-1e-25", "+1e-19")).removeprefix("+"), times)
        return beside(rng, t**times)
    if kinks and kind < 0.55:
        return beside(rng, rng.choice(kinks))
    if len(kinks) > 1 and kind < 0.7:
        a, b = sorted(rng.sample(kinks, 2))
        return of_order((a + b) / 2)
    if kind < 0.75:
        return of_order(ONE)
    if kind < 0.85:
        return of_number(rng.choice(("1/10", "1e-3", "1e-20", "0.5", "1", "5/4", "2", "3")))
    return of_order(1 + Fraction(rng.randint(0, 60), rng.choice((20, 30, 100))))


def beside(rng: Random, E: Fraction) -> Level:
    """The order itself, or one that is a little smaller or larger."""
    kind = rng.random()
    if kind < 0.4:
        return of_order(E)
    if kind < 0.7:
        tiny = Fraction(1, 10 ** rng.choice((4, 10, 19, 25)))
        return of_order(max(ONE, E * (1 + rng.choice((-1, 1)) * tiny)))
    if E > 1:
        return moved(E, rng.choice(("-1e-19", "-1e-12", "-1e-6", "+1e-19", "+1e-12")).removeprefix("+"))
    return of_number(rng.choice(("1e-19", "1e-9")))
