"""The mechanism as data: the laws of every compared pair, and of every input that other users hold, made from it.

A ``table`` lists the probability of each message on each input, and which pairs are compared. ``orbits`` list, for each
class of pairs of inputs, messages alike: how many, their probability on the pair and on further inputs, and those of
the rest of the inputs. ``triples`` list laws (A0, A1, A2) themselves, ``budget`` a ratio t alone, ``given`` bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from functools import reduce
from itertools import permutations
from operator import add
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

from .check import INFINITY, NEARLY, TINY, ZERO, Check, Number, is_at_most, is_one, larger, lesser, positive_part
from .claims import given
from .documents import require, shaped
from .noise import NOISE, DiscreteLaplace

ALL, ORDER, BLANKET = "all", "convex order", "blanket"
"""What the inputs that orbits list stand for: all there are, those with the largest laws, or the least messages."""
_MOST_INPUTS, _MOST_ENTRIES, _MOST_MERGED = 400, 2**16, 160
"""Inputs and entries of a table that is read, and components among which balls that overlap are looked for."""
_LAW: dict[str, Any] = {"components": [(str, str, str)], "singular": [(str, str)]}
_COLUMN: dict[str, Any] = {"size": str, "on": [str], "rest": [(str, str)]}
Pair = tuple[int, int]


_EQUAL = "="


def mark(text0: str, text1: str) -> str:
    """Return "=" for equal texts, x for "exp(x)*(text)" against "text", else nothing: what is known without balls."""
    end = f")*({text1})"
    if text0 == text1:
        return _EQUAL
    return text0[4 : -len(end)] if text0.startswith("exp(") and text0.endswith(end) else ""


class Component(NamedTuple):
    """Messages of one ratio: what their texts tell of it, A0/A2, A1/A2, and their mass under A2."""

    mark: str
    ratio0: Number
    ratio1: Number
    mass: Number


class Triple(NamedTuple):
    """Laws A0, A1 and A2; (mark, A0, A1) where A2 has no mass; the mass of the null symbol."""

    components: list[Component]
    singular: list[tuple[str, Number, Number]]
    null: Number

    def sampled(self, rate: fmpq) -> Triple:
        """Return the triple where a user who is not drawn leaves the law of the others."""
        if rate == 1:
            return self
        rest = 1 - rate
        found = [
            Component(_EQUAL * (s == _EQUAL), rest + rate * a, rest + rate * b, m) for s, a, b, m in self.components
        ]
        found += [] if self.null == 0 else [Component(_EQUAL, rest, rest, self.null)]
        return Triple(found, [(_EQUAL * (s == _EQUAL), rate * a, rate * b) for s, a, b in self.singular], fmpq(0))


class Law(NamedTuple):
    """The nonzero values of G = (A0 - e^eps A1)/A2 with their masses, the mass of 0, and what A2 does not hide."""

    atoms: list[tuple[Number, Number]]
    null: Number
    visible: Number

    def alone(self, check: Check) -> Number:
        """Return E[G_+], the divergence of one user."""
        return check.total(m * positive_part(v) for v, m in self.atoms) + self.visible


def law(check: Check, triple: Triple, eps: str) -> Law:
    """Return the law of a triple at a level."""
    e, minus = check.exponential(eps)

    def gain(mark: str, a: Number, b: Number) -> Number:
        # Then the difference is exact where balls would only see a small one.
        if b == 0:
            return a
        return a * minus if mark == _EQUAL else ZERO if mark == eps else a - e * b

    null, atoms = triple.null, []
    for mark, r0, r1, mass in triple.components:
        value = gain(mark, r0, r1)
        null += mass if value == 0 else 0
        atoms += [] if value == 0 or mass == 0 else [(value, mass)]
    return Law(atoms, null, check.total(positive_part(gain(*row)) for row in triple.singular))


def merged(components: Iterable[Component]) -> list[Component]:
    """Return components with the same ratios as one.

    Balls that overlap become one ball: its law is between those of its ends, as a sum of positive parts is.
    """
    first: dict[Hashable, Component] = {}
    for c in components:
        key = str(c.ratio0), str(c.ratio1)
        known = first.get(key)
        first[key] = c if known is None else _joined(known, c)
    if len(first) > _MOST_MERGED or all(isinstance(x, fmpq) for c in first.values() for x in c[1:3]):
        return list(first.values())
    found = list[Component]()
    for c in first.values():
        k = next((k for k, d in enumerate(found) if _overlap(c, d)), None)
        if k is None:
            found.append(c)
        else:
            found[k] = _joined(found[k], c)
    return found


def _overlap(c: Component, d: Component) -> bool:
    return all(
        arb(x).overlaps(arb(y)) and arb(x - y).rad() <= arb(2) ** -NEARLY * (1 + abs(arb(y)))
        for x, y in zip(c[1:3], d[1:3], strict=True)
    )


def _joined(c: Component, d: Component) -> Component:
    r0, r1 = (
        x if isinstance(x, fmpq) and isinstance(y, fmpq) else arb(x).union(arb(y))
        for x, y in zip(c[1:3], d[1:3], strict=True)
    )
    return Component(c.mark if c.mark == d.mark else "", r0, r1, c.mass + d.mass)


# --- columns of messages as seen from some inputs ---------------------------------------------------------------------


class Column(NamedTuple):
    """Equivalent messages: their number, their probability on the listed inputs, and the least on any input."""

    size: Number
    on: list[Number]
    low: Number


class View:
    """Equivalent messages: the texts of their number, of the probabilities on some inputs and on the rest."""

    def __init__(self, check: Check, inputs: list[int], columns: list[tuple[str, list[str], list[list[str]]]]) -> None:
        self.check, self.inputs, self.texts = check, inputs, columns
        self._known: dict[int, list[Column]] = {}
        self._keys: list[str] = []
        self._numbered: list[list[int]] = []

    @property
    def columns(self) -> list[Column]:
        """The columns as numbers at the working precision."""
        found = self._known.get(ctx.prec)
        if found is None:
            found = self._known[ctx.prec] = list(map(self._column, self.texts))
        return found

    def _column(self, texts: tuple[str, list[str], list[list[str]]]) -> Column:
        size, on, rest = texts
        numbers = list(map(self.check.number, on))
        every = [*numbers, *(self.check.number(d) for d, _ in rest)]
        good = all(0 <= x < INFINITY for x in every)
        require(good, "mechanism: a probability is not proved to be finite and >= 0", "invalid")
        low = ZERO if any(x == 0 for x in every) else reduce(lesser, every)
        require(low == 0 or low > 0, "mechanism: a least probability is not told from 0", "invalid")
        return Column(self.check.number(size), numbers, low)

    def require_laws(self, what: str) -> None:
        """Refuse rows that are no laws: those of the listed inputs, and the mean of the rest."""
        check, columns = self.check, self.columns
        require(all(0 < c.size < INFINITY for c in columns), f"{what}: a number of messages is not positive", "invalid")
        for i in range(len(self.inputs)):
            whole = check.total(c.size * c.on[i] for c in columns)
            require(is_one(whole), f"{what}: the probabilities of an input do not sum to 1", "invalid")
        if any(number == "any" for _, _, rest in self.texts for _, number in rest):
            return
        rest = [[(check.number(d), check.number(k)) for d, k in rest] for *_, rest in self.texts]
        require(all(k >= 0 for row in rest for _, k in row), f"{what}: a negative number of inputs", "invalid")
        counts = [check.total(k for _, k in row) for row in rest]
        good = all(arb(x - counts[0]).contains(0) and (x == counts[0] or not isinstance(x, fmpq)) for x in counts)
        whole = check.total(c.size * check.total(d * k for d, k in row) for c, row in zip(columns, rest, strict=True))
        good = good and (counts[0] == whole == 0 or (counts[0] > 0 and is_one(whole / counts[0])))
        require(good, f"{what}: the rest of the inputs have not the mass 1 each", "invalid")

    def require_all_listed(self, pair: Pair, what: str) -> None:
        """Refuse a density of the rest of the inputs that no listed input has beside the same ones of the pair."""
        i, j = self.places(pair)
        seen = {(on[i], on[j], d) for _, on, _ in self.texts for d in on}
        good = all((on[i], on[j], d) in seen for _, on, rest in self.texts for d, k in rest if k != "0")
        require(good, f"{what}: an input of another class is not listed", "invalid")

    def places(self, pair: Pair) -> Pair:
        """Return where the inputs of a pair stand among those listed."""
        require(all(x in self.inputs for x in pair), f"mechanism: no such inputs, {pair}")
        return self.inputs.index(pair[0]), self.inputs.index(pair[1])

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None) -> Triple:
        """Return (R(x0), R(x1), A2): A2 is the least probability of each message, or a mixture of other inputs."""
        i, j = self.places(pair)
        weights = None if others is None else [(self.places((x, x))[0], w) for x, w in others]
        self.check.spend(2 * len(self.texts) * (1 + len(weights or ())), hard=True)
        components, singular = list[Component](), list[tuple[str, Number, Number]]()
        for c, (_, texts, _) in zip(self.columns, self.texts, strict=True):
            a, b = c.on[i], c.on[j]
            hidden = c.low if weights is None else sum((w * c.on[x] for x, w in weights), ZERO)
            require(hidden == 0 or hidden > 0, "mechanism: a probability is not told from 0", "invalid")
            if hidden == 0:
                singular += [] if a == b == 0 else [(mark(texts[i], texts[j]), c.size * a, c.size * b)]
            else:
                known = mark(texts[i], texts[j])
                components.append(Component(known, a / hidden, b / hidden, c.size * hidden))
        null = ZERO if weights is not None else larger(1 - self.check.total(c.mass for c in components))
        return Triple(merged(components), singular, null)

    def kinds(self) -> list[str]:
        """Return a text for the least probability of each column: equal texts are equal numbers."""
        if not self._keys:
            with self.check.working(256):
                for c, (_, on, rest) in zip(self.columns, self.texts, strict=True):
                    same = sorted({*on, *(d for d, _ in rest)})
                    self._keys.append(str(c.low) if isinstance(c.low, fmpq) else " ".join(same))
        return self._keys

    def key(self, pair: Pair, laws: bool) -> Hashable:
        """Return what pairs share only if their blankets are the same, or the sets of laws of other inputs."""
        i, j = self.places(pair)
        (rows, least), several = self._ids(), 1 + max(len(self.texts) * (len(self.inputs) + 2), 2)
        ends = [several * (several * a + b) for a, b in zip(rows[i], rows[j], strict=True)]
        self.check.spend(len(ends) * (len(rows) if laws else 1))
        every = rows if laws else [least]
        return self, frozenset(tuple(sorted(map(add, ends, row))) for row in every)

    def _ids(self) -> tuple[list[list[int]], list[int]]:
        """Return numbers for the texts of each input, and for those of the least probabilities, with those of sizes."""
        if not self._numbered:
            known: dict[Hashable, int] = {}
            for k in range(len(self.inputs)):
                row = [(size, on[k]) for size, on, _ in self.texts]
                self._numbered.append([known.setdefault(x, len(known)) for x in row])
            kinds = zip((size for size, *_ in self.texts), self.kinds(), strict=True)
            self._numbered.append([known.setdefault(("least", x), len(known)) for x in kinds])
        return self._numbered[:-1], self._numbered[-1]

    def ratio(self, pair: Pair | None) -> Number:
        """Return the largest ratio of two inputs, of the pair or of any; infinite if one message names its sender."""
        result: Number = fmpq(1)
        for c, (_, _, rest) in zip(self.columns, self.texts, strict=True):
            if pair is None:
                top, low = reduce(larger, [*c.on, *(self.check.number(d) for d, _ in rest)]), c.low
            else:
                i, j = self.places(pair)
                top, low = larger(c.on[i], c.on[j]), lesser(c.on[i], c.on[j])
            if top == 0:
                continue
            if not low > 0:
                return INFINITY
            result = larger(result, top / low)
        return result


# --- kinds of mechanisms ----------------------------------------------------------------------------------------------


class Mechanism:
    """A mechanism of which nothing is known; ``pairs`` are the ordered pairs of inputs that have to be covered."""

    supposed = ""
    whose = ""
    """For which of its users, or pairs of inputs, a claim holds; empty for all."""
    stands_for = ALL
    mixed = False
    """Whether the laws of other inputs are below mixtures of those that are listed, for one pair or for several."""

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        self.check, self.data, self.what, self.pairs = check, data, what, list[Pair]()
        self._keys: dict[tuple[Pair, bool], Hashable] = {}

    def told(self) -> str:
        """Return what has been read, in words."""
        return "given bounds on delta"

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None = None) -> Triple:
        """Return (R(x0), R(x1), A2): the blanket, or what others hold in a data set."""
        require(False, f"{self.what}: of this mechanism no laws are known")
        raise AssertionError

    def laws(self, pair: Pair) -> list[tuple[int, Triple]]:
        """Return the triples (R(x0), R(x1), R(x)) of all inputs x that another user may hold."""
        return []

    def blanket(self, pair: Pair) -> Triple:
        """Return a triple that is above those of all inputs that other users may hold."""
        return self.triple(pair)

    def listed(self, pair: Pair) -> list[Triple]:
        """Return triples that have all that is known of R(x0) and R(x1)."""
        return [self.triple(pair)]

    def is_compared(self, pair: Pair) -> bool:
        """Return whether a bound from below may be about a pair: it is compared, or stands for one."""
        return pair in self.pairs

    def key(self, pair: Pair, laws: bool = False) -> Hashable:
        """Return what pairs share only if their blankets are the same, or the sets of laws of other inputs."""
        if (pair, laws) not in self._keys:
            self._keys[pair, laws] = self._key(pair, laws)
        return self._keys[pair, laws]

    def _key(self, pair: Pair, laws: bool) -> Hashable:
        return pair

    def view(self, pair: Pair) -> View:
        """Return the messages as seen from the inputs of a pair."""
        require(False, f"{self.what}: of this mechanism no messages are listed")
        raise AssertionError

    def is_between(self, pairs: list[Pair]) -> bool:
        """Return whether the laws of every pair are between those of these pairs, so that no divergence is larger."""
        return False

    def is_symmetric(self, pair: Pair, others: list[int]) -> bool:
        """Return whether both orders of the pair have, by their texts, the same law where others hold some inputs."""
        view = self.view(pair)
        i, j = view.places(pair)
        held = [view.inputs.index(x) for x in others]
        rows = [
            Counter((on[a], on[b], size, *(on[x] for x in held)) for size, on, _ in view.texts)
            for a, b in ((i, j), (j, i))
        ]
        return rows[0] == rows[1]

    def ratio(self, compared: bool) -> Number:
        """Return the largest ratio of the probabilities of two inputs: compared ones, or any."""
        raise NotImplementedError

    @property
    def rounded(self) -> Number:
        """The total variation between the laws that are listed and those of the mechanism, at most."""
        return ZERO


class _Listed(Mechanism):
    """Messages with their probabilities, as seen from the inputs of each pair."""

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None = None) -> Triple:
        return self.view(pair).triple(pair, others)

    def laws(self, pair: Pair) -> list[tuple[int, Triple]]:
        return [(x, self.triple(pair, [(x, fmpq(1))])) for x in self.view(pair).inputs]

    def _key(self, pair: Pair, laws: bool) -> Hashable:
        return self.view(pair).key(pair, laws)


class Table(_Listed):
    """The probability of each message on each input; ``compared`` lists pairs of inputs, or is null for all."""

    supposed = "that its table is that of the mechanism"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        compared, rounded = data.get("compared"), data.get("rounded")
        optional = {
            "compared": type(None) if compared is None else [(int, int)],
            "rounded": type(None) if rounded is None else str,
        }
        shaped(data, {"kind": str, "inputs": [str], "rows": [[str]]} | optional, what)
        rows, size = data["rows"], len(data["rows"])
        good = 2 <= size == len(data["inputs"]) <= _MOST_INPUTS and len({len(row) for row in rows}) == 1
        require(good, f"{what}: too large: a table of 2 to {_MOST_INPUTS} rows of the same length")
        require(0 < size * len(rows[0]) <= _MOST_ENTRIES, f"{what}: too large: more than {_MOST_ENTRIES} entries")
        self.all_compared = compared is None
        both = (x for i, j in compared or () for x in ((i, j), (j, i)))
        self.pairs = sorted(set(permutations(range(size), 2) if compared is None else both))
        good = bool(self.pairs) and all(i != j and 0 <= i < size and 0 <= j < size for i, j in self.pairs)
        require(good, f"{what}: no pair of rows, or a row compared with itself", "invalid")
        self._view = View(check, list(range(size)), [("1", list(column), []) for column in zip(*rows, strict=True)])
        self._view.require_laws(what)

    @property
    def whose(self) -> str:  # type: ignore[override]
        """The pairs that are compared."""
        size, pairs = len(self.data["rows"]), sorted({(min(p), max(p)) for p in self.pairs})
        if len(pairs) == size * (size - 1) // 2:
            return f", for all pairs of {size} inputs"
        told = ", ".join(f"{i} and {j}" for i, j in pairs[:50]) + f" and {len(pairs) - 50} more" * (len(pairs) > 50)
        return f", for these pairs of {size} inputs only: {told}"

    @property
    def rounded(self) -> Number:
        found = ZERO if self.data["rounded"] is None else self.check.number(self.data["rounded"])
        require(0 <= found <= 1, f"{self.what}: rounded is no number from 0 to 1", "invalid")
        return found

    def told(self) -> str:
        return f"a table of {len(self.data['rows'])} inputs and {len(self.data['rows'][0])} messages"

    def view(self, pair: Pair) -> View:
        return self._view

    def is_between(self, pairs: list[Pair]) -> bool:
        """Return whether there are two messages, and the inputs of least and largest probability are among the pairs.

        The laws of any two inputs are mixtures of those two, and divergences are convex in both laws together.
        """
        if len(self._view.texts) != 2 or not self.all_compared:
            return False
        on, texts = self._view.columns[0].on, self._view.texts[0][1]

        def is_least(i: int, sign: int) -> bool:
            return all(s == texts[i] or sign * on[i] <= sign * x for x, s in zip(on, texts, strict=True))

        return any((j, i) in pairs and is_least(i, 1) and is_least(j, -1) for i, j in pairs)

    def ratio(self, compared: bool) -> Number:
        if not compared or self.all_compared:
            return self._view.ratio(None)
        return reduce(larger, (self._view.ratio(pair) for pair in self.pairs))


class Orbits(_Listed):
    """For each class of pairs of inputs: equivalent messages, as seen from the pair, further inputs and the rest."""

    supposed = "that its pairs and inputs, with their messages, stand for all those of the mechanism"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        one = {"pair": (int, int), "inputs": [int], "columns": [_COLUMN]}
        shaped(data, {"kind": str, "inputs": [str], "stand_for": str, "pairs": [one]}, what)
        self.stands_for, self._views = data["stand_for"], dict[Pair, View]()
        require(self.stands_for in (ALL, ORDER, BLANKET), f"{what}: stand_for is not known")
        for entry in data["pairs"]:
            (i, j), inputs = entry["pair"], entry["inputs"]
            good = i != j and {i, j} <= set(inputs) and len(set(inputs)) == len(inputs) <= _MOST_INPUTS
            good = good and all(0 <= x < len(data["inputs"]) for x in inputs)
            require(good, f"{what}: a pair of no two inputs, or inputs that are not listed")
            columns = [(c["size"], c["on"], c["rest"]) for c in entry["columns"]]
            good = bool(columns) and all(len(on) == len(inputs) for _, on, _ in columns)
            good = good and len(columns) * len(inputs) <= _MOST_ENTRIES
            require(good, f"{what}: columns of another length, or too large")
            found = View(check, inputs, columns)
            found.require_laws(what)
            if self.stands_for == ALL:
                found.require_all_listed((i, j), what)
            for pair in ((i, j), (j, i)):
                require(pair not in self._views, f"{what}: a pair twice")
                self._views[pair] = found
        self.pairs = list(self._views)
        require(self.pairs, f"{what}: no pairs", "invalid")

    def told(self) -> str:
        sizes = ", ".join(str(len(entry["columns"])) for entry in self.data["pairs"][:8])
        return f"{len(self.data['inputs'])} inputs in {len(self.data['pairs'])} pairs, with {sizes} classes of messages"

    def view(self, pair: Pair) -> View:
        require(pair in self._views, f"{self.what}: no such pair of inputs, {pair}")
        return self._views[pair]

    def ratio(self, compared: bool) -> Number:
        return reduce(larger, (view.ratio(None) for view in self._views.values()))


class Triples(Mechanism):
    """Triples themselves: for each ordered pair one above all data sets, or null, and those of other inputs.

    Where they are ``exact`` the question is about them, and about no mechanism.
    """

    _above = "that its triples are those of the mechanism, or above them, for pairs and inputs that stand for all"
    _mixtures = "that the law of each input of the other users, at each pair, is below a mixture of its triples"
    _of_question = "that the question is about its triples"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        shaped(data, {"kind": str, "inputs": [str], "exact": bool, "mixed": bool, "pairs": [dict]}, what)
        self.mixed = data["mixed"]
        self.supposed = self._of_question if data["exact"] else self._mixtures if self.mixed else self._above
        require(not (data["exact"] and self.mixed), f"{what}: a question about mixtures")
        self._found: dict[Pair, dict[int | None, Any]] = {}
        for entry in data["pairs"]:
            above = type(None) if entry.get("above") is None else _LAW
            shape = {"pair": (int, int), "compared": bool, "above": above, "others": [{"input": int} | _LAW]}
            shaped(entry, shape, f"{what}.pairs")
            laws = {x["input"]: x for x in entry["others"]} | ({} if entry["above"] is None else {None: entry["above"]})
            pair = (entry["pair"][0], entry["pair"][1])
            good = pair not in self._found and len(laws) == len(entry["others"]) + (entry["above"] is not None)
            good = good and all(0 <= x < len(data["inputs"]) for x in (*pair, *laws) if x is not None)
            good = good and sum(len(x["components"]) for x in laws.values()) <= _MOST_ENTRIES
            require(good, f"{what}: a pair or input twice, or too large")
            self._found[pair] = laws
            for x in laws:
                self._read(pair, x)
        self.pairs = [(e["pair"][0], e["pair"][1]) for e in data["pairs"] if e["compared"]]
        require(all(self._found[pair] for pair in self.pairs), f"{what}: a pair without a triple")

    def told(self) -> str:
        return f"triples of {len(self._found)} ordered pairs, of which {len(self.pairs)} have to be covered"

    def _read(self, pair: Pair, other: int | None) -> Triple:
        """Return a listed triple, after a check that it is one, with a law of messages as A2 where that is an input."""
        check, what = self.check, self.what
        require(other in self._found.get(pair, {}), f"{what}: no such pair or input, {pair}, {other}")
        data = self._found[pair][other]
        components, singular = ([tuple(map(check.number, row)) for row in data[k]] for k in ("components", "singular"))
        good = all(0 <= x < INFINITY for row in components + singular for x in row)
        require(good, f"{what}: a ratio or mass is not proved to be finite and >= 0", "invalid")
        hidden = check.total(m for *_, m in components)
        whole = [check.total([*(r[b] * r[2] for r in components), *(s[b] for s in singular)]) for b in (0, 1)]
        good = all(map(is_one, whole)) and not hidden > 1 and arb(hidden).rad() < arb(2) ** -TINY
        require(good, f"{what}: the masses of A0 and A1 are not 1, or that of A2 is above 1", "invalid")
        require(other is None or is_one(hidden), f"{what}: a law of other users has not the mass 1", "invalid")
        found = [Component(mark(s, t), *row) for (s, t, _), row in zip(data["components"], components, strict=True)]
        alone = [(mark(s, t), *row) for (s, t), row in zip(data["singular"], singular, strict=True)]
        return Triple(found, alone, ZERO if other is not None else larger(1 - hidden))

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None = None) -> Triple:
        require(others is None or len(others) == 1, f"{self.what}: a mixture of inputs")
        return self._read(pair, None if others is None else others[0][0])

    def blanket(self, pair: Pair) -> Triple:
        """Return the triple above all others, or the only one that is listed."""
        found = self._found.get(pair, {})
        good = None in found or len(found) == 1
        require(good, f"{self.what}: no triple is above those of all other users", "invalid")
        return self._read(pair, None if None in found else next(iter(found)))

    def listed(self, pair: Pair) -> list[Triple]:
        return [self._read(pair, x) for x in self._found.get(pair, {})]

    def is_compared(self, pair: Pair) -> bool:
        return pair in self._found

    def itself(self, pair: Pair) -> Triple:
        """Return the triple that the question is about."""
        told = f"{self.what}: no input of other users, and the question is not about a triple"
        require(self.data["exact"], told, "invalid")
        return self._read(pair, None)

    def laws(self, pair: Pair) -> list[tuple[int, Triple]]:
        found, exact = self._found.get(pair, {}), self.data["exact"]
        require(not (exact and None in found), f"{self.what}: the question is about a triple, not inputs", "invalid")
        return [(x, self._read(pair, x)) for x in self._found.get(pair, {}) if x is not None]

    def is_symmetric(self, pair: Pair, others: list[int]) -> bool:
        found = self._found[pair][others[0]]
        rows = Counter(tuple(row) for key in ("components", "singular") for row in found[key])
        return rows == Counter({(row[1], row[0], *row[2:]): count for row, count in rows.items()})

    def ratio(self, compared: bool) -> Number:
        """Return the largest ratio of A0 and A1 in what is listed above; infinite where any inputs are asked for."""
        result: Number = fmpq(1) if compared and self.pairs else INFINITY
        for triple in (x for pair in self.pairs for x in self.listed(pair)):
            rows = [(c.ratio0, c.ratio1) for c in triple.components] + [(a, b) for _, a, b in triple.singular]
            for a, b in rows:
                if not a == b == 0:
                    top, low = larger(a, b), lesser(a, b)
                    result = larger(result, top / low) if low > 0 else INFINITY
        return result


class Budget(Mechanism):
    """Every randomizer with R(x) <= t R(x') for all inputs, t = ``ratio``."""

    supposed = "that every user runs a randomizer of this ratio, all the same one where messages are shuffled"
    whose = " of any randomizer R with R(x) <= t R(x') for all inputs"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        shaped(data, {"kind": str, "ratio": str}, what)
        require(1 <= check.number(data["ratio"]) < INFINITY, f"{what}: a ratio below 1", "invalid")
        self.pairs = [(0, 1)]

    def told(self) -> str:
        return f"t = {given(self.data['ratio'], self.check.number(self.data['ratio']))}"

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None = None) -> Triple:
        """Return the generic triple, that of binary randomized response (docs/proofs/generic_bound.md)."""
        require(pair == (0, 1) and others is None, f"{self.what}: of a budget no data sets are known, and no inputs")
        t = self.check.number(self.data["ratio"])
        require(t > 1, f"{self.what}: a ratio that is not above 1", "invalid")
        mass = 1 / (t + 1)
        known = mark(f"{self.data['ratio']}*(1)", "1")
        rows = [Component(known, t, fmpq(1), mass), Component("", fmpq(1), t, mass)]
        return Triple(rows, [], larger(1 - 2 * mass))

    def ratio(self, compared: bool) -> Number:
        return self.check.number(self.data["ratio"])


class NoiseOnInterval(Mechanism):
    """Noise with a density that is known, on the inputs of an interval from 0 to 1."""

    supposed = "that every user adds this noise to an input of the interval, or sends what is made of such a message"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        self.kind = NOISE[data["kind"]]
        shaped(data, {"kind": str} | dict.fromkeys(self.kind.parameters, str), what)
        self.sizes = {name: data[name] for name in self.kind.parameters}
        for name, size in self.sizes.items():
            require(0 < check.number(size) < INFINITY, f"{what}: {name} is not positive", "invalid")
        self.whose, self.pairs = f" of {self.kind.name} noise on an interval of inputs", [(0, 1)]

    def noise(self) -> Any:
        """Return the density, at the working precision."""
        return self.kind(*(arb(self.check.number(size)) for size in self.sizes.values()))

    def told(self) -> str:
        known = ", ".join(f"{name} = {given(x, self.check.number(x))}" for name, x in self.sizes.items())
        return f"{self.kind.name} noise, {known}, on an interval of inputs"

    def triple(self, pair: Pair, others: list[tuple[int, Number]] | None = None) -> Triple:
        """Return (R(x0), R(x1), A2) of the ends where they are probabilities and others hold an end, for a data set."""
        noise = self.noise()
        if others is None or not isinstance(noise, DiscreteLaplace):
            return super().triple(pair, others)
        return View(self.check, [0, 1], noise.columns(self.sizes["eps0"])).triple(pair, others)

    def ratio(self, compared: bool) -> Number:
        return self.noise().ratio


class Given(Mechanism):
    """Upper bounds on delta at some e^eps, for both orders of the data sets, as they were given."""

    supposed = "the bounds on delta that were given"

    def __init__(self, check: Check, data: dict[str, Any], what: str) -> None:
        super().__init__(check, data, what)
        shaped(data, {"kind": str, "points": [(str, str)]}, what)
        self.points = [(check.fraction(e), check.fraction(d)) for e, d in data["points"]]
        good = bool(self.points) and all(e >= 1 and 0 <= d <= 1 for e, d in self.points)
        require(good, f"{what}: no points, a level below 1, or a bound on delta that is none", "invalid")

    def ratio(self, compared: bool) -> Number:
        return min((e for e, d in self.points if d == 0), default=INFINITY)


KINDS: dict[str, type[Mechanism]] = {
    "table": Table, "orbits": Orbits, "triples": Triples, "budget": Budget, "given": Given,
    **dict.fromkeys(NOISE, NoiseOnInterval),
}  # fmt: skip


def read(check: Check, data: Any, what: str) -> Mechanism:
    """Return a mechanism from data that are proved to describe one."""
    require(type(data) is dict and data.get("kind") in KINDS, f"{what}: a mechanism of no known kind")
    with check.working(256):
        return KINDS[data["kind"]](check, data, what)


def members(check: Check, data: Iterable[Any], owners: Iterable[Mechanism], what: str) -> Iterator[Mechanism]:
    """Yield mechanisms that stand for budgets: none of their probabilities has a larger ratio."""
    for item, owner in zip(data, owners, strict=True):
        found = read(check, item, what)
        with check.working(256):
            t, ratio = owner.ratio(False), found.ratio(False)
            require(is_at_most(ratio, t), f"{what}: a member has ratios above that of the budget", "invalid")
        yield found
