"""A mechanism as the data of a certificate: a table, orbits of messages, triples, or a budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import PairBound
from symamp.bounds.noise_table import Noise, shape_of
from symamp.bounds.reduction import Reduction, is_triple
from symamp.certificates.text import At, expression_text, fraction_text
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, Problem, UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.discrete_laplace import DiscreteLaplace
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.noise.additive_noise import Z
from symamp.randomizers.noise.density_mechanism import IntervalDensities
from symamp.randomizers.noise.distributions import Cauchy, DiscreteGaussian
from symamp.verifier import check as checks
from symamp.verifier import mechanisms as read

Weights = Iterable[tuple[str, Any]]
_BITS = 512
"""Of balls around entries that are irrational."""
_MARGIN = 1e-9
"""How near, relatively, logarithms in doubles must be for numbers to be compared in balls."""


@dataclass(frozen=True)
class Described:
    """A mechanism as data, and the numbers of its inputs."""

    data: dict[str, Any]
    inputs: tuple[str, ...]
    mechanism: Mechanism | None = field(default=None, compare=False)

    def pair(self, pair: tuple[str, str]) -> list[int]:
        """Return the numbers of a pair of inputs."""
        return [0, 1] if self.data["kind"] == "budget" else [self.inputs.index(x) for x in pair]

    def others(self, weights: Weights) -> list[list[Any]]:
        """Return the numbers of inputs with weights."""
        listed = tuple(weights)
        if self.data["kind"] == "triples":
            return [[self.inputs.index(mixture(listed)), "1"]] if listed else []
        return [[self.inputs.index(x), str(w)] for x, w in listed]

    def as_read(self) -> read.Mechanism:
        """Return the mechanism as the verifier reads it."""
        return read.read(checks.Check(10**12), self.data, "mechanism")


def mixture(weights: Weights) -> str:
    """Return the name of what other users hold."""
    return ", ".join(x if w == 1 else f"{x}: {w}" for x, w in weights)


# --- texts of numbers -------------------------------------------------------------------------------------------------


class Texts:
    """Texts of constants: the same for equal ones, and exp(eps)*(x) where one is proved to be e^eps times another.

    Only by its text does the verifier know two numbers that are no fractions to be equal.
    """

    def __init__(self, numbers: Iterable[Any], at: At | None) -> None:
        every = [x if isinstance(x, fmpq) else fmpq_of(x) if x.is_Rational else x for x in numbers]
        self._rational = {(int(x.p), int(x.q)): fraction_text(x) for x in every if isinstance(x, fmpq)}
        others = list(dict.fromkeys(x for x in every if not isinstance(x, fmpq)))
        self._texts: dict[Any, str] = {}
        exact = at is None or at.level is None or at.level.rational is not None
        if not others and (exact or at is None):
            return
        with at_precision(_BITS):
            rows = [(number(x)(), x, expression_text(x)) for x in others]
            rows += [(arb(fmpq(*x)), sp.Rational(*x), text) for x, text in self._rational.items() if x[0]]
            rows.sort(key=lambda row: float(row[0].log().mid()) if row[0] > 0 else -inf)
            known: list[tuple[float, arb, sp.Expr, str]] = []
            step = 0.0 if at is None or at.level is None else float(at.level.eps().mid())
            for ball, expr, text in rows:
                place = float(ball.log().mid()) if ball > 0 else -inf
                text = self._of_another(known, place, ball, expr, text, 0.0, None)
                if step > 0.0 and at is not None:
                    text = self._of_another(known, place, ball, expr, text, step, at)
                known.append((place, ball, expr, text))
                self._texts[expr] = text

    def _of_another(
        self, known: list[Any], place: float, ball: arb, expr: sp.Expr, text: str, step: float, at: At | None
    ) -> str:
        """Return the text by a known number that is e^step times smaller, if one is proved to be that."""
        margin = _MARGIN * (1.0 + abs(place)) if place > -inf else 0.0
        for near, smaller, other, its in known[bisect_left(known, place - step - margin, key=lambda k: k[0]) :]:
            if near > place - step + margin:
                break
            factor = arb(1) if at is None or at.level is None else at.level.exponential()
            if (ball - factor * smaller).contains(0):
                try:
                    if is_zero(expr - (other if at is None else sp.exp(at.eps) * other)):
                        return its if at is None else f"exp({at.text})*({its})"
                except UndecidedOrderError:
                    pass  # then the ball around the difference has to do
        return text

    def __call__(self, x: Any) -> str:
        """Return the text of one of the constants."""
        if not isinstance(x, fmpq):
            if not x.is_Rational:
                return self._texts[x]
            x = fmpq_of(x)
        expr = sp.Rational(int(x.p), int(x.q)) if self._texts else None
        return self._texts.get(expr) or self._rational[int(x.p), int(x.q)]


# --- kinds of mechanisms ----------------------------------------------------------------------------------------------


def of_table(
    table: NumericTable, at: At | None, rounded: fmpq | None = None, messages: Sequence[str] | None = None
) -> Described:
    """Return a table of numbers, with the messages in the order of the table or in a given one."""
    text = Texts(table.numbers, at)
    texts = [text(x) for x in table.numbers]
    order = [table.messages.index(y) for y in messages or table.messages]
    return Described(
        {
            "kind": "table",
            "inputs": list(table.inputs),
            "compared": [[i, j] for i, j in table.pairs if i < j] if table.is_restricted else None,
            "rows": [[texts[row[y]] for y in order] for row in table.ranks.tolist()],
            "rounded": None if rounded is None else fraction_text(rounded),
        },
        table.inputs,
    )


def of_orbits(mechanism: Mechanism, at: At | None, further: Iterable[str] = ()) -> Described:
    """Return the orbits of a mechanism as seen from each class of pairs, and from all inputs that others may hold."""
    pairs = list({frozenset(pair): pair for pair in reversed(mechanism.pairs())}.values())[::-1]
    covering = [_listed(mechanism, pair) for pair in pairs]
    inputs = tuple(dict.fromkeys([*(x for pair in pairs for x in pair), *mechanism.inputs]))
    entries, numbers = [], list[Any]()
    for pair, listed in zip(pairs, covering, strict=True):
        seen = tuple(dict.fromkeys([*pair, *mechanism.further_inputs(pair), *(listed or ()), *further]))
        orbits = [o for o in mechanism.orbits(seen) if not is_zero(o.measure)]
        numbers += [x for o in orbits for x in (*o.density, *(d for d, _ in o.rest))]
        entries.append((pair, seen, orbits))
    text = Texts(numbers, at)
    described = mechanism.lists_all_inputs and None not in covering
    return Described(
        {
            "kind": "orbits",
            "inputs": list(inputs),
            "stand_for": read.ALL if described else read.BLANKET if None in covering else read.ORDER,
            "pairs": [
                {
                    "pair": [inputs.index(x) for x in pair],
                    "inputs": [inputs.index(x) for x in seen],
                    "columns": [
                        {
                            "size": expression_text(o.measure),
                            "on": [text(d) for d in o.density],
                            "rest": [
                                [text(d), "any" if count is None else expression_text(count)]
                                for d, count in o.rest
                                if count != 0
                            ],
                        }
                        for o in orbits
                    ],
                }
                for pair, seen, orbits in entries
            ],
        },
        inputs,
        mechanism,
    )


def _listed(mechanism: Mechanism, pair: tuple[str, str]) -> tuple[str, ...] | None:
    """Return the inputs that stand for all others, None where they are no inputs of the description."""
    found = mechanism.covering_inputs(pair)
    return found if found is not None and all(x in mechanism.inputs for x in found) else None


def lists_others(mechanism: Mechanism) -> bool:
    """Return whether the description has the inputs that stand for all those of other users, for every pair."""
    return all(_listed(mechanism, pair) is not None for pair in mechanism.pairs())


def of_mechanism(
    mechanism: Mechanism,
    at: At | None,
    above: Sequence[PairBound] = (),
    below: Sequence[PairBound] = (),
    *,
    listed: bool = False,
) -> Described:
    """Return the data of one mechanism: its table, its orbits, or, of one made of others, the triples that are needed.

    ``listed`` says that evaluations are about the table of all inputs of one that is made of others. Data sets about a
    pair that its orbits do not list are triples, too.
    """
    table = mechanism.listed.numeric if listed else mechanism.numeric
    if table is not None:
        return of_table(table, at)
    triples = [part for part in below if is_triple(part)]
    if mechanism.is_composed or {part.pair for part in triples} - {*mechanism.ordered_pairs()}:
        return of_triples(above, below, at)
    return of_orbits(mechanism, at, (x for part in triples for x, _ in part.dataset))


def of_budget(ratio: sp.Expr, at: At | None) -> Described:
    """Return a budget alone, t = e^eps0."""
    text = expression_text(ratio)
    if at is not None and at.level is not None and at.level.rational is None and is_zero(sp.log(ratio) - at.eps):
        text = f"exp({at.text})"
    return Described({"kind": "budget", "ratio": text}, ("x0", "x1"))


def of_noise(noise: Noise) -> Described | None:
    """Return noise whose density the verifier knows, None for other noise."""
    if isinstance(noise, (Cauchy, DiscreteGaussian, DiscreteLaplace)):
        sizes = {name: expression_text(size) for name, size in noise.values.items()}
        return Described({"kind": noise.slug.replace("-", " ")} | sizes, noise.pairs()[0])
    shape, half = shape_of(noise), noise.half_density()
    if half is None or isinstance(noise, IntervalDensities):
        return None
    if shape.has_exponential_tail:
        data = {"kind": "laplace", "eps0": expression_text(shape.rate)}
    elif not shape.has_rate:
        data = {"kind": "gaussian", "sigma": expression_text(normal(1 / (sp.sqrt(2 * sp.pi) * half.subs(Z, 0))))}
    elif shape.is_logistic:
        data = {"kind": "logistic", "eps0": expression_text(shape.rate)}
    else:
        return None
    return Described(data, ("0", "1"))


def of_triples(
    above: Sequence[PairBound], below: Sequence[PairBound], at: At | None, exact: bool = False, mixed: bool = False
) -> Described:
    """Return the triples of some parts; ``exact`` ones are what the question is about."""
    found: dict[tuple[str, str], dict[str, Reduction]] = {}
    compared = {part.pair for part in above}
    for part in (*above, *below):
        listed = [part] if is_triple(part) else [t for t in part.fixed_background if is_triple(t)]
        for t in listed:
            found.setdefault(part.pair, {})[mixture(t.dataset)] = t
    inputs = tuple(dict.fromkeys(x for pair, laws in found.items() for x in (*pair, *laws) if x))
    if not inputs:
        wrong = Problem("no triple proves the upper end, and the verifier checks triples")
        raise ArgumentError("certificate", wrong, "ask without a method")
    return Described(
        {
            "kind": "triples",
            "inputs": list(inputs),
            "exact": exact,
            "mixed": mixed,
            "pairs": [
                {
                    "pair": [inputs.index(x) for x in pair],
                    "compared": pair in compared,
                    "above": _law(laws[""].decomposition, at) if "" in laws else None,
                    "others": [{"input": inputs.index(x), **_law(t.decomposition, at)} for x, t in laws.items() if x],
                }
                for pair, laws in found.items()
            ],
        },
        inputs,
    )


def _law(decomposition: Decomposition, at: At | None) -> dict[str, Any]:
    if decomposition.enclosing_laws is not None or not decomposition.is_listed:
        merged = Problem("the mechanism has too many components to list, or noise among its parts")
        raise ArgumentError("certificate", merged, "take fewer parts, or equal ones")
    rows = decomposition.components
    text = Texts((x for r0, r1, _ in rows for x in (r0, r1)), at)
    return {
        "components": [[text(r0), text(r1), expression_text(m)] for r0, r1, m in rows],
        "singular": [[expression_text(a), expression_text(b)] for a, b in decomposition.singular],
    }
