"""Random calls of the public surface, written as Python text: what fails can be read, shortened and kept.

A call is drawn from a seed. Arguments are valid, nearly valid or hostile, about half the calls are wholly valid so
that deep paths are reached. ``play`` (in ``play.py``) evaluates a call and checks what it gives.
"""

import json
from random import Random

import symamp as sa
from fuzz.documents import FAMILIES, TABLES, mutated_document
from symamp.mechanisms.catalogue import catalogue

METHODS = ("blanket", "generic", "standard_clone", "variation_ratio", "variation_ratio_2023")
CONTEXTS = ("flint", "numpy", "mpmath")

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
EPS0 = ("1", "0.1", "'log(3)'", "2", "'1/10'", "4", "0.5", "'log(9)'", "8", "1e-3", "sp.log(3)", "30", "1e-9", "100")
USERS = ("1", "2", "3", "8", "50", "1000", "10**4", "10**6", "'1e6'", "10**9", "10**12", "10**18", "np.int64(77)")
LEVELS = ("0", "0.1", "'log(3/2)'", "0.5", "1", "1e-3", "1e-9", "2", "'1/7'", "5", "0.01", "10", "999999", "1e-300")
DELTAS = ("1e-6", "'1e-8'", "0.01", "0.5", "'1e-30'", "'1e-400'", "0.999999", "Fraction(1, 1000)", "'1/3'", "5e-324")
GAPS = ("1e-6", "1e-3", "0.1", "1e-2", "1e-9", "1e-12", "Fraction(1, 100)")


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
        kind = self.random.random()
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

    # ------------------------------------------------------------------------------------------------------ calls

    def epsilon(self):
        asked = {"n": USERS, "delta": DELTAS}
        return f"sa.epsilon({self.argument(self.mechanism)}, {self.options(asked, self.settings())})"

    def delta(self):
        asked = {"n": USERS, "eps": LEVELS}
        more = self.settings() | {"digits": ("3", "20", "50"), "context": tuple(map(repr, CONTEXTS))}
        return f"sa.delta({self.argument(self.mechanism)}, {self.options(asked, more)})"

    def sum_law(self):
        asked = {"n": ("1", "2", "8", "50", "200", "1000"), "eps": LEVELS, "gap": ("0.1", "0.05", "1e-2")}
        more = {"context": ("'flint'", "'numpy'", "'mpmath'"), "step": ("0.5", "'1/3'", "1", "0.01", "1e-9")}
        more |= {"method": tuple(map(repr, METHODS)), "digits": ("5", "30")}
        found = f"sa.sum_law({self.argument(self.mechanism)}, {self.options(asked, more)})"
        return f"{found}.probability({self.argument(LEVELS)})" if self.chance(0.3) else found

    def method_check(self):
        asked = {"n": ("1", "5", "100", "10**4"), "eps": LEVELS}
        return f"sa.method_check({self.argument(self.mechanism)}, {self.options(asked, self.method())})"

    def method(self):
        return {"method": tuple(map(repr, METHODS))}

    def settings(self):
        return self.method() | {"gap": GAPS}

    def asked_of_mechanism(self):
        """A method of a mechanism or of its decomposition."""
        pair = self.argument(("", "'x0', 'x1'", "'x1', 'x0'", "'x0'", "'x0', 'x0'"))
        decomposition = f".blanket({pair if self.chance(0.5) else ''})"
        tail = self.one(
            (
                decomposition, decomposition + ".gamma", decomposition + f".gparv({self.argument(LEVELS)})",
                decomposition + f".lambdify({self.argument(tuple(map(repr, CONTEXTS)))})",
                decomposition + ".swapped()", ".local_epsilon()", ".shuffle_index()", ".variation_ratio()", ".table()",
                ".pairs()", f".at({self.options({}, {'eps0': EPS0, 'k': ('3', '10'), 'D': ('4',), 'd': ('8',)})})",
                ".orbits(('x0', 'x1'))", ".inputs", ".parameters", ".key()", ".general()", ".verify()",
                f".dataset('x0', 'x1', {self.argument(TEXTS)})", ".dataset('x0', 'x1', {'x0': '1/2', 'x1': '1/2'})",
                f".checked_pair({self.argument(TEXTS)}, {self.argument(TEXTS)})",
            )
        )  # fmt: skip
        return self.argument(self.mechanism) + tail

    def exact(self):
        small = self.one(("sa.RandomizedResponse(k=3, eps0='log(3)')", "sa.UnaryEncoding.rappor(D=2, eps0=1)"))
        subject = self.argument((small, f"sa.FiniteMechanism({self.table()})"))
        if self.chance(0.4):
            asked = f"{self.argument(('2', '3', '4', '6'))}, {self.argument(LEVELS)}"
            more = f", progress={self.value()}" if self.chance(0.3 * self.wild) else ""
            return f"sa.exact.worst_dataset({subject}, {asked}{more})"
        data = [[f"x{self.random.randrange(3)}" for _ in range(3)] for _ in range(2)]
        sets = (self.argument((repr(labels),)) for labels in data)
        return f"sa.exact.divergence({subject}, {', '.join(sets)}, {self.argument(LEVELS)})"

    def parameter(self):
        asked = {"lower": NUMBERS[:40], "upper": NUMBERS[:40], "integer": ("True", "False")}
        return f"sa.Parameter({self.argument(TEXTS)}, {self.options({}, asked)})"

    def document(self):
        document = mutated_document(self.random, self.one(TABLES + FAMILIES), self.random.randint(0, 4))
        reader = self.one(("from_text", "sa.mechanism_from_json"))
        if reader == "sa.mechanism_from_json":
            return f"{reader}({self.argument((repr(document),))})"
        text = list(json.dumps(document))
        for _ in range(self.random.choice((0, 0, 1, 3))):
            text[self.random.randrange(len(text))] = self.one(('"', "{", "9", "", "\x00", "é", "-", "e", "]", ","))
        return f"from_text({''.join(text)!r})"

    def loading(self):
        return f"sa.load_mechanism({self.value()})"

    def follow_up(self):
        """A question, then what an answer offers."""
        found = self.one((self.epsilon, self.delta))()
        tail = self.one((".certificate()", ".as_mpf()", ".decimals()", ".digits", ".log10_upper", ".parameters"))
        return found + tail

    def certificate(self):
        return f"verified({self.random.randrange(10**9)})"

    def command_line(self):
        """The words of a command, run in this process."""
        name, family = self.one(catalogue().items())
        words = [self.one(("derive", "epsilon", "delta", "verify", "mechanisms", "--version", "-h", "no"))]
        if self.chance(0.01):
            words = ["audit"]
        if words[0] == "audit":
            words.append("--json" if self.chance(0.5) else "--no")
        else:
            values = dict(self.one(family.small))
            words += [name] + [f"--{key}={value}" for key, value in values.items()]
            if words[0] == "epsilon":
                words += ["--n", self.plain(USERS), "--delta", self.plain(DELTAS)]
            if words[0] == "delta":
                words += ["--n", self.plain(USERS), "--eps", self.plain(LEVELS)]
            if self.chance(0.2):
                words += ["--method", self.one((*METHODS, "fft", "", "x"))]
            if self.chance(0.1):
                words += ["--gap", self.plain((*GAPS, *NUMBERS))]
            if self.chance(0.1):
                words += [
                    self.one(("--mechanism", "--certificate")),
                    self.one(("-", "/", "", "no/such", "/dev/null", "/proc/self/mem", "x\x00y", "--", ".", "~")),
                ]
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            match self.random.randrange(4):
                case 0:
                    words.pop(self.random.randrange(len(words)))
                case 1:
                    words.insert(self.random.randint(0, len(words)), self.one(words or ["x"]))
                case 2:
                    words.insert(
                        self.random.randint(0, len(words)),
                        self.one(
                            ("--json", "--", "-", "-x", "--n=", "--k", "--pair", "x0,x1", "--help", "\ud800", "é")
                        ),
                    )
                case _:
                    words.insert(
                        self.random.randint(0, len(words)), "--" + self.plain(TEXTS) + "=" + self.plain(NUMBERS)
                    )
            words = words or ["epsilon"]
        return f"command({words!r})"

    def plain(self, choices):
        """A choice as a word of the command line."""
        text = self.one(choices)
        return text.strip("'") if text.startswith("'") else text.replace("10**", "1e")

    def call(self):
        kinds = {
            self.epsilon: 4, self.delta: 10, self.sum_law: 8, self.method_check: 2, self.asked_of_mechanism: 16,
            self.exact: 14, self.parameter: 10, self.document: 20, self.loading: 4, self.follow_up: 3,
            self.certificate: 10, self.command_line: 8,
        }  # fmt: skip
        return self.random.choices(list(kinds), list(kinds.values()))[0]()


def random_call(seed):
    """The call of this seed, as text."""
    return Draw(seed).call()
