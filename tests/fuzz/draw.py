"""What random calls are made of, as Python text: numbers, tables, members of families, and mechanisms made of them."""

from random import Random

import symamp as sa
from fuzz.documents import FAMILIES, TABLES, mutated_document
from symamp.randomizers.catalogue import catalogue

METHODS = ("blanket", "generic", "standard_clone", "variation_ratio", "variation_ratio_2023")
CONTEXTS = ("flint", "numpy")

NUMBERS = (
    "0", "1", "2", "-1", "3", "10", "100", "10**6", "10**18", "10**19", "10**400", "-10**400", "0.0", "-0.0", "0.5",
    "1.0", "1e-9", "1e-300", "5e-324", "1e308", "-1e-9", "float('nan')", "float('inf')", "-float('inf')", "'1'", "'0'",
    "'1e-8'", "'1e-1000'", "'1e99999'", "'1e-99999'", "'1e999999999'", "'1/3'", "'log(3)'", "'log(3/2)'", "'exp(1)'",
    "'sqrt(2)'", "'0/0'", "'nan'", "'inf'", "''", "' '", "'1,5'", "'１'", "'0x10'", "'1_0'", "'--1'", "'('",
    "'2**2**9'",
    "'9**9**9**9'", "'log(log(1))'", "'exp(exp(exp(9)))'", "'log(6)-log(2)-log(3)'", "'import os'", "'\\x00'",
    "Fraction(1, 3)", "Fraction(-1, 3)", "Decimal('0.1')", "Decimal('NaN')", "Decimal('1e-5000')",
    "Decimal('1E+999999')",
    "sp.Rational(1, 3)", "sp.log(3)", "sp.log(sp.Rational(3, 2))", "sp.pi", "sp.E", "sp.oo", "sp.nan", "sp.zoo", "sp.I",
    "sp.Symbol('x')", "sp.Float('0.1', 40)", "sp.true", "sp.Integer(5)", "sp.Matrix([1])", "sp.sqrt(2)/2",
    "np.float64(0.5)", "np.float32(0.5)", "np.int64(5)", "np.nan", "np.array([1.0, 2.0])", "np.array(0.5)",
    "np.array([], dtype=float)", "np.bool_(True)", "mpmath.mpf('0.1')", "mpmath.inf", "mpmath.mpc(1, 1)", "arb('0.1')",
    "fmpq(1, 3)", "1j", "True", "None", "object()", "[]", "[1]", "(1, 2)", "{}", "{1}", "{'a': 1}", "b'1'", "len",
    "range(3)", "...", "Odd()", "sa", "sa.RandomizedResponse", "'x'*10**5", "'1'*5000", "'('*500 + '1' + ')'*500",
)  # fmt: skip
TEXTS = (
    "'blanket'", "'generic'", "'fft'", "'x0'", "'x1'", "'x2'", "'numpy'", "'flint'", "'mpmath'", "''", "'no such'",
    "'\\n'", "'é'", "'x'*1000", "'\\ud800'", "'\\x00'", "'k'", "'a'", "'eps0'",
)  # fmt: skip
ODD = (
    "10**18 + 1", "10**5000", "2**5000", "complex(1, 0)", "complex('nan')", "Decimal('sNaN')", "Decimal('inf')",
    "Decimal('-0')", "Fraction(1, 10**400)", "Fraction(10**5000)", "Fraction(7)", "mpmath.mpf('nan')",
    "mpmath.mpf('-inf')", "mpmath.mpf('1e1000000')", "mpmath.mpc(1, 0)", "mpmath.iv.mpf([0, 1])", "mpmath.pi",
    "np.float16(0.5)", "np.longdouble(0.5)", "np.float32('inf')", "np.uint8(7)", "np.int8(-7)", "np.complex128(1)",
    "np.datetime64('2020')", "np.array([0.5])", "np.array('x')", "np.array([None])", "sp.Float('1e-1000')",
    "sp.Float('nan')", "sp.Float('inf')", "sp.Symbol('eps0', real=True)", "sp.Symbol('eps0', positive=True)",
    "sp.Symbol('k', integer=True)", "sp.Dummy()", "sp.Symbol('')", "sp.Symbol('a b')", "-sp.oo", "sp.GoldenRatio",
    "sp.EulerGamma", "sp.sqrt(-2)", "sp.log(-3)", "sp.exp(sp.I)", "sp.sin(1)", "sp.sqrt(2) - sp.sqrt(2)*(1 + sp.I)",
    "sp.log(6) - sp.log(2) - sp.log(3)", "sp.exp(1000)", "sp.exp(10**9)", "sp.exp(-(10**9))",
    "sp.exp(sp.exp(sp.exp(3)))", "sp.Matrix([[1, 0], [0, 1]])", "sp.zeros(0, 0)", "sp.EmptySet", "sp.Interval(0, 1)",
    "sp.Integral(X, (X, 0, 1))", "sp.Sum(X, (X, 1, 3))", "sp.Function('f')(1)", "sp.Piecewise((1, X > 0), (2, True))",
    "sp.Abs(X)/(1 + sp.Abs(X))", "sp.Max(0, X)", "sp.conjugate(sp.Symbol('x'))", "sp.MatrixSymbol('M', 2, 2)[0, 0]",
    "sp.Wild('w')", "X > 0", "sp.Eq(X, 1)", "sp.Tuple(1, 2)", "X**1000", "sp.binomial(X, 2)", "sp.factorial(X)",
    "X*sp.I", "X + sp.oo", "X + sp.nan", "'1e6'", "'+1'", "'1/0'", "'0**-1'", "'log(0)'", "'log(-1)'", "'sqrt(-1)'",
    "'exp(10**9)'", "'2**10**10'", "'binomial(9,3)'", "'eval(1)'", "'x'", "'1e-100001'", "'1+'*600 + '1'", "'1\\n2'",
    "'½'", "'٣'", "'1j'", "'None'", "'lambda: 1'", "'[1]'", "'{}'", "'1;2'", "'#'", "'BLANKET'", "'../x'",
    "'exp(log(6) - log(2) - log(3))'", "'1e-400'", "()", "bytearray(b'1')", "int", "print", "NotImplemented",
    "ValueError('x')", "slice(1)", "memoryview(b'1')", "iter([1])", "(i for i in range(2))", "sa.PureLDP",
    "sa.PureLDP()", "sa.RandomizedResponse()", "sa.ProofStatus.PROVED", "sa.Parameter('p')", "sa.errors",
)  # fmt: skip
EPS0 = ("1", "0.1", "'log(3)'", "2", "'1/10'", "4", "0.5", "'log(9)'", "8", "1e-3", "sp.log(3)", "30", "1e-9", "100")
USERS = ("1", "2", "3", "8", "50", "1000", "10**4", "10**6", "'1e6'", "10**9", "10**12", "10**18", "np.int64(77)")
LEVELS = ("0", "0.1", "'log(3/2)'", "0.5", "1", "1e-3", "1e-9", "2", "'1/7'", "5", "0.01", "10", "999999", "1e-300")
DELTAS = ("1e-6", "'1e-8'", "0.01", "0.5", "'1e-30'", "'1e-400'", "0.999999", "Fraction(1, 1000)", "'1/3'", "5e-324")
GAPS = ("1e-6", "1e-3", "0.1", "1e-2", "1e-9", "1e-12", "Fraction(1, 100)")
RATES = ("'1/10'", "1", "0", "'1/3'", "0.25", "'2'", "1e-9", "'1e-4000'")
LIGHT = (
    "sa.RandomizedResponse(k=2, eps0=1)", "sa.RandomizedResponse(k=3, eps0='log(3)')",
    "sa.RandomizedResponse(k=10, eps0=1)", "sa.RandomizedResponse(k=10, eps0='1/10')",
    "sa.RandomizedResponse(k=100, eps0=4)", "sa.UnaryEncoding.rappor(D=4, eps0=1)",
    "sa.UnaryEncoding.oue(D=100, eps0=2)", "sa.HadamardResponse(K=8, eps0=1)", "sa.LocalHashing(l=2, D=16, eps0=1)",
    "sa.SubsetSelection(d=6, k=2, eps0=1)", "sa.OneBitMean(eps0='log(3)')", "sa.PureLDP(eps0=1)",
)  # fmt: skip
CONTINUOUS = (
    "sa.Laplace(eps0=1)",
    "sa.Laplace(eps0='1/2')",
    "sa.Gaussian(sigma=2)",
    "sa.Logistic(eps0=1)",
    "sa.Cauchy(scale=2)",
)


class Draw:
    """Draws texts from a seed; ``wild`` is the chance that an argument is replaced by any value at all."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.wild = self.random.choice((0.0, 0.0, 0.1, 0.3, 0.6))

    def one(self, choices):
        return self.random.choice(tuple(choices))

    def chance(self, probability):
        return self.random.random() < probability

    def value(self):
        return self.one((*NUMBERS, *TEXTS)) if self.chance(0.9) else self.mechanism()

    def argument(self, good):
        """A good argument, or with the chance ``wild`` any value."""
        if self.chance(self.wild):
            return self.value()
        return good() if callable(good) else self.one(good)

    def options(self, required, optional=()):
        """Keyword arguments; now and then one is missing or unknown."""
        chosen = dict(required)
        chosen |= {name: good for name, good in dict(optional).items() if self.chance(0.3)}
        if chosen and self.chance(0.1 * self.wild):
            chosen.pop(self.one(chosen))
        if self.chance(0.1 * self.wild):
            chosen[self.one(("step", "gap", "x", "k", "eps0", "self", "digits"))] = self.value
        return ", ".join(f"{name}={self.argument(good)}" for name, good in chosen.items())

    # ------------------------------------------------------------------------------------------------- mechanisms

    def family(self):
        """A family's class, as text."""
        name, family = self.one(catalogue().items())
        return (f"sa.{family.__name__}" if family.__name__ in sa.__all__ else f"catalogue()[{name!r}]"), family

    def member(self):
        text, family = self.family()
        if family.__name__ == "UnaryEncoding" and self.chance(0.6):
            maker = self.one(("rappor", "oue"))
            return f"sa.UnaryEncoding.{maker}({self.options({'D': ('2', '5', '16', '1000'), 'eps0': EPS0})})"
        values = dict(self.one(family.small) if self.chance(0.6) else family.typical | {"eps0": 1})
        names = [p.name for p in family.declared]
        values = {name: values[name] for name in names if name in values and not self.chance(0.05)}
        required = {name: (repr(value),) for name, value in values.items()}
        if "eps0" in required and self.chance(0.7):
            required["eps0"] = EPS0
        for name in required:
            if self.chance(0.1):
                required[name] = ("2", "3", "4", "7", "64", "1000", "10**6", "10**12", "10**18", "'1/3'")
        return f"{text}({self.options(required)})"

    def table(self):
        """A table of rationals, of floats, or of formulas; rows may be off by a little."""
        inputs, messages = self.random.randint(1, 4), self.random.randint(1, 5)
        rows, odd = [], self.chance(0.3)
        for _ in range(inputs):
            weights = [self.random.choice((0, 1, 1, 2, 3, 7)) for _ in range(messages)]
            if self.chance(0.9):
                weights[0] += 1
            kind = self.one(("fraction", "fraction", "fraction", "float", "odd" if odd else "fraction"))
            total = sum(weights) or 1
            row = [f"'{w}/{total}'" for w in weights]
            if kind == "float":
                row = [repr(w / total) for w in weights]
            if kind == "odd":
                row[self.random.randrange(messages)] = self.value()
            rows.append(row)
        if self.chance(0.1) and not odd:
            return "sp.Matrix([" + ", ".join("[" + ", ".join(f"sp.S({x})" for x in row) + "]" for row in rows) + "])"
        if self.chance(0.1 * self.wild):
            return "np.array([" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "])"
        entries = (
            f"'x{i}': {{{', '.join(f'{j!r}: {x}' for j, x in zip('abcde', row, strict=False) if x != chr(39))}}}"
            for i, row in enumerate(rows)
        )
        return "{" + ", ".join(entries) + "}"

    def mechanism(self):
        """Any mechanism: of the catalogue, a table, from a file, or made of others."""
        kind = self.random.random()
        if kind < 0.05:
            return self.combined()
        if kind < 0.1:
            return self.one(CONTINUOUS)
        if kind < 0.5:
            return self.member()
        if kind < 0.6:
            return f"sa.PureLDP({self.options({'eps0': EPS0})})"
        if kind < 0.8:
            return f"sa.FiniteMechanism({self.argument(self.table)})"
        document = self.one(TABLES + FAMILIES)
        if self.chance(0.5):
            return f"sa.mechanism_from_json({document!r}).at(eps0=1, k=4, D=4, d=4, l=2, t=2)"
        return f"sa.mechanism_from_json({mutated_document(self.random, document, self.random.randint(0, 2))!r})"

    def light(self):
        """A mechanism about which questions are cheap."""
        return self.one(LIGHT) if self.chance(0.85) else f"sa.FiniteMechanism({self.table()})"

    def combined(self):
        """Several attributes at once, one of several, or a sample of the users."""
        parts = [self.argument(self.light) for _ in range(self.random.randint(1, 3))]
        more = {"neighbours": ("'all'", "'one_attribute'")}
        match self.random.randrange(4):
            case 0:
                return f"sa.joint({', '.join(parts)}, {self.options({}, more)})"
            case 1:
                weights = ("1/2", "1/3", "1/6") if self.chance(0.8) else (self.value(), "0", "1")
                pairs = ", ".join(f"('{w}', {p})" for w, p in zip(weights, parts, strict=False))
                return f"sa.parallel([{pairs}], {self.options({}, more)})"
            case 2:
                return f"sa.joint([{parts[0]}] * {self.argument(('2', '8', '1', '0', '100', '10**4'))})"
            case _:
                return f"sa.poisson_subsample({parts[0]}, {self.argument(RATES)})"

    def own_law(self):
        """A law of one's own: (ratio0, ratio1, mass), of mean one or nearly."""
        return self.one(
            (
                "[('3/2', '1/2', '1/2'), ('1/2', '3/2', '1/2')]", "[(3, 1, '1/4'), ('1/3', 1, '3/4')]",
                "[('1/2', '3/2', 0.5), ('3/2', '1/2', 0.5)]", "[(2, 0, '1/2'), (0, 2, '1/2')]", "[(1, 1, 1)]", "[]",
                f"[({self.argument(RATES)}, {self.argument(RATES)}, 1)]",
                "sa.RandomizedResponse(k=3, eps0=1).blanket()", "sa.RandomizedResponse(k=3).blanket()",
            )
        )  # fmt: skip

    def plain(self, choices):
        """A choice as a word of the command line."""
        text = self.one(choices)
        return text.strip("'") if text.startswith("'") else text.replace("10**", "1e")
