"""Every sign proved while the catalogue is derived, against z3: it may not find a point where the sign is another.

The translation shares nothing with the package: exponentials, symbolic powers and binomials become fresh unknowns with
true facts about them. A point that z3 finds there need not exist, so it is put into the expression itself; only a
wrong sign there is a contradiction. Limits are steps of the solver, not seconds.
"""

import math
import sys
from collections import Counter
from contextlib import suppress

import pytest
import sympy as sp

from symamp.decompositions.checks import check_probabilities
from symamp.decompositions.pairs import pair_classes
from symamp.errors import SymampError
from symamp.formulas import order
from symamp.formulas import order as sign_proof
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.catalogue import catalogue

z3 = pytest.importorskip("z3")

STEPS = 400_000


class Question:
    """``expr`` over the parameters for z3: unknowns by (base, core) stand for base**(core/q)."""

    def __init__(self, expr, parameters, integers):
        self.parameters, self.integers = parameters, integers
        self.symbols, self.units, self.unknowns, self.facts = {}, {}, {}, []
        whole = [expr, *(b for p in parameters for b in (p.lower, p.upper) if b is not None)]
        for node in {n for e in whole for n in sp.preorder_traversal(e)}:
            for base, core, c in powers(node):
                self.units[base, core] = math.lcm(self.units.get((base, core), 1), int(c.q))
        self.value = self.translate(expr)
        for p in parameters:
            x = self.translate(p.symbol)
            for bound, side in ((p.lower, 1), (p.upper, -1)):
                if bound is not None:
                    gap = side * (x - self.translate(bound))
                    self.facts.append(gap >= 0 if p.integer else gap > 0)

    def translate(self, e):
        if e.is_Rational:
            return z3.RealVal(f"{e.p}/{e.q}")
        if e.is_Symbol:
            if e not in self.symbols:
                whole = self.integers and e.is_integer
                self.symbols[e] = z3.ToReal(z3.Int(e.name)) if whole else z3.Real(e.name)
            return self.symbols[e]
        if e.is_Add or e.is_Mul:
            total, *rest = (self.translate(a) for a in e.args)
            for x in rest:
                total = total + x if e.is_Add else total * x
            return total
        if e.is_Pow and e.exp.is_Integer and e.base is not sp.E:
            return self.raised(self.translate(e.base), int(e.exp))
        if found := list(powers(e)):
            total = z3.RealVal(1)
            for base, core, c in found:
                total *= self.raised(self.unknown(base, core), int(c * self.units[base, core]))
            return total
        return self.function(e)

    def raised(self, x, n):
        if n < 0:
            self.facts.append(x != 0)
            return 1 / self.raised(x, -n)
        return math.prod([x] * n, start=z3.RealVal(1))

    def unknown(self, base, core):
        if (base, core) in self.unknowns:
            return self.unknowns[base, core]
        q = self.units[base, core]
        v = self.unknowns[base, core] = z3.Real(f"{base}^({core}/{q})")
        full = self.raised(v, q)
        self.facts.append(v > 0 if base is sp.E else v >= 0)
        if base is sp.E and core == 1:
            self.facts += [v > 0, full > z3.Q(2718281828, 10**9), full < z3.Q(2718281829, 10**9)]
        elif base is sp.E:
            x = self.translate(core)
            self.facts += [z3.Implies(x > 0, full > 1 + x), z3.Implies(x == 0, v == 1), z3.Implies(x < 0, v < 1)]
        elif core == 1:
            self.facts.append(full == self.translate(base))
        else:
            b, x = self.translate(base), self.translate(core)
            self.facts += [z3.Implies(b > 0, v > 0), z3.Implies(z3.And(b > 1, x > 0), v > 1)]
            for n in range(5):
                self.facts.append(z3.Implies(z3.And(b >= 1, x >= n), full >= self.raised(b, n)))
                self.facts.append(z3.Implies(z3.And(b > 0, b <= 1, x >= n), full <= self.raised(b, n)))
        return v

    def function(self, e):
        if e in self.unknowns:
            return self.unknowns[e]
        v = self.unknowns[e] = z3.Real(str(e))
        if isinstance(e, sp.binomial):
            n, k = (self.translate(a) for a in e.args)
            self.facts.append(z3.Implies(z3.And(k >= 0, n >= k), v >= 1))
            for other in [f for f in self.unknowns if isinstance(f, sp.binomial) and f.args[1] == e.args[1]]:
                m, w = self.translate(other.args[0]), self.unknowns[other]
                self.facts.append(z3.Implies(z3.And(k >= 0, n >= m, m >= k), v >= w))
                self.facts.append(z3.Implies(z3.And(k >= 0, m >= n, n >= k), w >= v))
        return v

    def point(self, model):
        """The parameters' values in a model; a budget is read off from its exponential."""
        values = {s: rational(model.eval(x, model_completion=True)) for s, x in self.symbols.items()}
        for (base, core), v in ((k, v) for k, v in self.unknowns.items() if isinstance(k, tuple)):
            if base is sp.E and core.is_Symbol:
                found = rational(model.eval(v, model_completion=True))
                values[core] = self.units[base, core] * sp.log(found) if found > 0 else sp.nan
        return values


def powers(e):
    """(base, core, c) whose powers base**(c*core) make an exponential or a power that is not an integer one."""
    if isinstance(e, sp.exp) or e is sp.E or (e.is_Pow and not e.exp.is_Integer):
        base, exponent = e.as_base_exp() if not isinstance(e, sp.exp) else (sp.E, e.args[0])
        for term in sp.Add.make_args(sp.expand(exponent)):
            c, core = term.as_coeff_Mul(rational=True)
            yield base, core, c


def rational(value):
    if z3.is_algebraic_value(value):
        value = value.approx(30)
    return (
        sp.Rational(value.numerator_as_long(), value.denominator_as_long()) if z3.is_rational_value(value) else sp.nan
    )


def against(outcome, value):
    """What must have no solution."""
    if outcome.sign == 0:
        return value != 0
    value = value * outcome.sign
    return value <= 0 if outcome.strict else value < 0


def verdict(expr, parameters, outcome):
    """Return "agreed", "undecided" or "contradiction"."""
    for integers in (False, True):
        question = Question(expr, parameters, integers)
        assert limited(question).check() != z3.unsat, "facts that exclude every point would agree with anything"
        solver = limited(question, against(outcome, question.value))
        found = solver.check()
        if found == z3.unsat:
            return "agreed"
        if found == z3.sat and is_counterexample(expr, parameters, outcome, question.point(solver.model())):
            return "contradiction"
    return "undecided"


def limited(question, *more):
    solver = z3.Solver() if question.integers else z3.SolverFor("QF_NRA")
    solver.set("rlimit", STEPS)
    solver.add(*question.facts, *more)
    return solver


def is_counterexample(expr, parameters, outcome, values):
    for p in parameters:
        x = values.get(p.symbol, sp.nan)
        gaps = [s * (x - b.subs(values)) for b, s in ((p.lower, 1), (p.upper, -1)) if b is not None]
        if x is sp.nan or (p.integer and not x.is_Integer):
            return False
        if not all(g.is_number and (g.evalf(50) >= 0 if p.integer else g.evalf(50) > 0) for g in gaps):
            return False
    at = expr.subs(values).evalf(50)
    if not at.is_real or abs(at) < 1e-40:
        return False
    return bool(at != 0 if outcome.sign == 0 else at * outcome.sign < 0)


def questions(families, monkeypatch):
    """Record all questions that the derivation of the families asks, with nothing remembered from before."""
    asked = {}
    proved = sign_proof.proved_sign

    def recorded(expr, parameters, *steps):
        outcome = proved(expr, parameters, *steps)
        if outcome.sign is not None and expr.free_symbols:
            asked[expr, parameters] = outcome
        return outcome

    for name, module in list(sys.modules.items()):
        if name.startswith("symamp."):
            for value in vars(module).values():
                if callable(value) and hasattr(value, "cache_clear"):
                    value.cache_clear()
    monkeypatch.setattr(sign_proof, "proved_sign", recorded)
    monkeypatch.setattr(order, "proved_sign", recorded)
    for family in families:
        member = family()
        check_probabilities(member)
        pair_classes(member)
        for derive in (member.local_epsilon, member.shuffle_index, member.variation_ratio):
            with suppress(SymampError):
                derive()
        for x, z in member.pairs():
            for other in member.further_inputs((x, z)):
                member.dataset(x, z, other)
    monkeypatch.undo()
    return asked


def compared(families, monkeypatch):
    counts = Counter()
    for (expr, parameters), outcome in questions(families, monkeypatch).items():
        found = verdict(expr, parameters, outcome)
        assert found != "contradiction", (expr, parameters, outcome)
        counts[found] += 1
    return counts


def test_signs_of_some_families(monkeypatch):
    counts = compared([catalogue()[slug] for slug in ("krr", "rappor", "subset-selection")], monkeypatch)
    assert counts["agreed"] > 4 * counts["undecided"]


@pytest.mark.slow
def test_signs_of_the_whole_catalogue(monkeypatch):
    counts = compared(catalogue().values(), monkeypatch)
    print(dict(counts))
    assert counts["agreed"] > 4 * counts["undecided"]


def test_a_wrong_sign_would_be_found():
    """The oracle itself: wrong claims are contradicted, also those that hold for all but a few points."""
    e, k = EPS0.symbol, sp.Symbol("k", integer=True)
    sizes = (Parameter("k", lower=sp.Integer(2), integer=True), EPS0)
    right = {
        (k - 2) * (k - 3): sign_proof.Outcome(1),
        sp.exp(e) - 1: sign_proof.Outcome(1, True),
        1 - k * sp.exp(e / 2): sign_proof.Outcome(-1, True),
        sp.exp(e) - sp.exp(e / 2): sign_proof.Outcome(1, True),
    }
    wrong = {
        sp.exp(e) - 3: sign_proof.Outcome(1),
        (k - 3) * (k - 5): sign_proof.Outcome(1),
        sp.exp(e) - k: sign_proof.Outcome(-1),
        k - 2 - sp.exp(e / 2): sign_proof.Outcome(-1, True),
    }
    for claims, expected in ((right, "agreed"), (wrong, "contradiction")):
        for expr, outcome in claims.items():
            assert verdict(expr, sizes, outcome) == expected, expr
