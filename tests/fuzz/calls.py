"""Random calls of the public surface, written as Python text: what fails can be read, shortened and kept.

A call is drawn from a seed. Arguments are valid, nearly valid or hostile, about half the calls are wholly valid so
that deep paths are reached; most ask for little, so that many can be played. ``play`` (in ``play.py``) evaluates a
call and checks what it gives.
"""

import json

from fuzz.documents import FAMILIES, TABLES, mutated_document
from fuzz.draw import CONTEXTS, CONTINUOUS, DELTAS, EPS0, GAPS, LEVELS, METHODS, NUMBERS, RATES, TEXTS, USERS
from fuzz.words import CommandLines

VALUES = (
    "[0, 1, 0]", "[0]", "[]", "[[0, 1], [1, 0]]", "[[0, 1, 1]] * 3", "[0.5, 1]", "[-1]", "[10**400]", "['a']", "None",
    "[float('nan')]", "np.zeros((2, 0))", "[[0], [0, 1]]", "np.zeros(3, dtype=complex)", "[True, False]", "3",
    "[10**18]",
)  # fmt: skip
FEW = ("1", "2", "3", "20", "50", "200", "1000", "10**4")


class Calls(CommandLines):
    """Draws calls."""

    def subject(self):
        """What is asked about: mostly something cheap."""
        return self.argument(self.light if self.chance(0.8) else self.mechanism)

    def asked(self, given, more=()):
        """The arguments of a question: one method in four times of five, else the least of all bounds."""
        if self.chance(0.8):
            given = given | {"method": ("'blanket'",) if self.chance(0.7) else tuple(map(repr, METHODS))}
        return self.options(given, {"gap": GAPS} | dict(more))

    def users(self):
        return USERS if self.chance(0.2) else FEW

    def epsilon(self):
        subject = self.own_law() if self.chance(0.05) else self.subject()
        asked = self.asked({"n": self.users(), "delta": DELTAS}, {"digits": ("3", "6", "14", "20")})
        return f"sa.epsilon({subject}, {asked})"

    def delta(self):
        subject = self.own_law() if self.chance(0.05) else self.subject()
        asked = self.asked({"n": self.users(), "eps": LEVELS}, {"digits": ("3", "20", "50")})
        return f"sa.delta({subject}, {asked})"

    def profile(self):
        """A profile, and what is asked of it: curves, many rounds, Renyi divergences, documents."""
        method = {"method": ("'blanket'",)} if self.chance(0.9) else {}
        found = f"sa.profile({self.subject()}, {self.options({'n': self.users()} | method)})"
        return found + self.of_profile()

    def given(self):
        """The profile of a round that was analysed elsewhere, and what is asked of it."""
        points = [
            f"({self.argument(LEVELS)}, {self.argument((*DELTAS, '0', '1'))})"
            for _ in range(self.random.choice((0, 1, 1, 2, 3)))
        ]
        return f"sa.from_privacy_profile([{', '.join(points)}])" + self.of_profile()

    def of_profile(self):
        gap = self.options({}, {"gap": ("1e-2", "1e-3")})
        eps, delta = self.argument(LEVELS), self.argument(DELTAS)
        order = self.argument(("2", "[2, 8]", "'3/2'", "1", "0", "100"))
        rounds = f".rounds({self.argument(('1', '2', '10', '100', '10**5'))})" if self.chance(0.6) else ""
        tails = [f".epsilon({delta}, {gap})", f".delta({eps}, {gap})"] * 2
        tails += [f".curve([{eps}, {self.argument(LEVELS)}])", f".renyi({order})", ".to_dict()", "", ".epsilon()"]
        tails += [
            f".tradeoff().at({self.argument(RATES)})",
            f".to_callable()({eps})",
            ".mu",
            f".renyi_epsilon({delta})",
        ]
        tails += [f".sampled(n={self.argument(FEW)}, of={self.argument(USERS)}).epsilon({delta})", ".to_dp_event()"]
        return rounds + self.one(tails)

    def composed(self):
        parts = [
            f"sa.profile({self.subject()}, n={self.argument(FEW)}, method='blanket')"
            f".rounds({self.argument(('1', '2', '30'))})"
            for _ in range(self.random.randint(0, 2))
        ]
        end = self.one((f".epsilon({self.argument(DELTAS)})", f".delta({self.argument(LEVELS)})", "", ".count"))
        return f"sa.compose([{', '.join(parts)}]){end}"

    def inverse(self):
        """Which budget, or how many users; which mechanism."""
        asked = {"eps": LEVELS, "delta": DELTAS, "method": ("'blanket'", "'generic'")}
        free = self.one(
            ("sa.RandomizedResponse(k=3)", "sa.RandomizedResponse(k=100)", "sa.PureLDP()", "sa.OneBitMean()")
        )
        match self.random.randrange(4):
            case 0:
                return f"sa.least_n({self.subject()}, {self.options(asked)})"
            case 1:
                return f"sa.largest_eps0({self.argument((free,))}, {self.options({'n': FEW} | asked)})"
            case 2:
                return f"sa.most_rounds({self.subject()}, {self.options({'n': FEW} | asked)})"
            case _:
                several = {"rounds": ("1", "3")}
                return f"sa.plan({{'x': [{self.argument((free,))}]}}, {self.options({'n': FEW} | asked, several)})"

    def many(self):
        """Many questions at once, and the bounds of the literature at one."""
        eps = f"[{self.argument(LEVELS)}, {self.argument(LEVELS)}]"
        number = self.argument(FEW)
        match self.random.randrange(4):
            case 0:
                more = self.options({}, {"eps0": ("1", "[1, 2]")})
                return f"sa.sweep({self.subject()}, n=[{number}], eps={eps}, method='blanket', progress=False, {more})"
            case 1:
                return f"sa.curve({self.subject()}, n={number}, delta={self.argument(DELTAS)}, method='blanket')"
            case 2:
                names = self.one(("['fmt_2023']", "['wang_4_7']", "'blanket'", "[]", "['x']", "['generic']"))
                asked = self.options({self.one(("eps", "delta")): LEVELS[1:4]}, {"n": FEW})
                return f"sa.compare({self.subject()}, n={number}, names={names}, {asked})"
            case _:
                system = {"system": ("'numpy'", "'mpmath'", "'flint'"), "digits": ("15", "30")}
                return f"sa.estimate({self.subject()}, n={number}, {self.options({'eps': LEVELS}, system)})"

    def crowd(self):
        """Users who differ."""
        how = self.one(("'data'", "'messages'", "'messages'", "'x'"))
        makers = {
            "'data'": lambda: f"sa.PureLDP(eps0={self.argument(EPS0)})",
            "'x'": lambda: "sa.PureLDP(eps0=1)",
            "'messages'": lambda: f"sa.RandomizedResponse(k=3, eps0={self.argument(EPS0)})",
        }
        counts = ("0", "1", "2", "5", "20", "100")
        groups = [f"({self.argument(counts)}, {makers[how]()})" for _ in range(self.random.randint(1, 3))]
        more = self.options({}, {"dropout": RATES, "honest": (f"[{', '.join('1' for _ in groups)}]", "[]")})
        found = f"sa.heterogeneous([{', '.join(groups)}], shuffled={how}, {more})"
        victim = self.options({}, {"victim": ("0", "1", "7")})
        if self.chance(0.5):
            return f"sa.delta({found}, eps={self.argument(LEVELS)}, {victim})"
        return f"sa.epsilon({found}, delta={self.argument(DELTAS)}, {victim})"

    def arrays(self):
        """Tables as other packages hold them, and lists."""
        rows = self.one(
            ("[[.9, .1], [.1, .9]]", "[[.7, .2, .1], [.1, .2, .7]]", "[[1, 0], [0, 1]]", "[[1.5, .5]]", "[]")
        )
        wrap = self.one(("{}", "np.array({})", "np.array({}, dtype='f4')", "pd.DataFrame({})", "sp.Matrix({})", "[{}]"))
        more = self.options({}, {"normalise": ("True", "True", "False", "1"), "name": ("'mine'", "''")})
        return f"sa.FiniteMechanism({wrap.format(rows)}, {more})" + self.one(
            ("", ".blanket().gamma", ".local_epsilon()")
        )

    def density(self):
        formula = self.one(
            ("sp.exp(-sp.Abs(Y - X)) / 2", "sp.exp(-sp.Abs(Y - X))", "sp.exp(Y)", "X + Y", "1/(1 + (Y-X)**2)")
        )
        return f"sa.DensityMechanism({self.argument((formula,))}, {self.argument(('X',))}, {self.argument(('Y',))})"

    def continuous(self):
        asked = self.options({"n": ("1", "5", "100"), "eps": LEVELS, "method": ("'blanket'",), "gap": ("0.1",)})
        tail = self.one((".local_epsilon()", ".blanket()", ".inputs", ".pairs()", ".key()", ".table()", ".general()"))
        subject = self.one(CONTINUOUS)
        return subject + tail if self.chance(0.9) else f"sa.delta({subject}, {asked})"

    def sum_law(self):
        asked = {"n": ("1", "2", "8", "50", "200", "1000"), "eps": LEVELS, "gap": ("0.1", "0.05", "1e-2")}
        more = {"context": ("'flint'", "'numpy'"), "step": ("0.5", "'1/3'", "1", "0.01", "1e-9")}
        more |= {"method": tuple(map(repr, METHODS)), "digits": ("5", "30")}
        found = f"sa.sum_law({self.subject()}, {self.options(asked, more)})"
        return f"{found}.probability({self.argument(LEVELS)})" if self.chance(0.3) else found

    def method_check(self):
        asked = {"n": ("1", "5", "100", "10**4"), "eps": LEVELS}
        return f"sa.method_check({self.subject()}, {self.options(asked, {'method': tuple(map(repr, METHODS))})})"

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
                f".randomize({self.argument(VALUES)}, {self.argument(('0', '1', 'None', '-1', '[]'))})",
                f".estimate({self.argument(VALUES)})", f".variance({self.argument(NUMBERS)})",
                ".variance().free_symbols", f".variance(frequency={self.argument(NUMBERS)})", ".estimand",
            )
        )  # fmt: skip
        return self.argument(self.mechanism) + tail

    def exact(self):
        small = self.one(("sa.RandomizedResponse(k=3, eps0='log(3)')", "sa.UnaryEncoding.rappor(D=2, eps0=1)"))
        subject = self.argument((small, f"sa.FiniteMechanism({self.table()})"))
        if self.chance(0.4):
            asked = f"{self.argument(('2', '3', '4', '6'))}, {self.argument(LEVELS)}"
            shown = self.one(("True", "None", "3", "'on'", "max", "[]"))  # what another function raises is its own
            more = f", progress={shown}" if self.chance(0.3 * self.wild) else ""
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
        if self.chance(0.5):
            return f"checked({found})"
        tail = self.one(
            (".certificate()", ".to_dict()", ".as_mpf()", ".decimals()", ".digits", ".log10_upper", ".parameters")
        )
        return found + tail

    def certificate(self):
        return f"verified({self.random.randrange(10**9)})"

    def call(self):
        kinds = {
            self.epsilon: 2, self.delta: 4, self.sum_law: 3, self.method_check: 0.3, self.asked_of_mechanism: 12,
            self.exact: 14, self.parameter: 14, self.document: 28, self.loading: 6, self.follow_up: 1,
            self.certificate: 12, self.command_line: 6, self.profile: 1, self.given: 2, self.composed: 0.5,
            self.inverse: 0.5, self.many: 1.5, self.crowd: 3, self.arrays: 10, self.density: 0.5, self.continuous: 3,
            self.combined: 4,
        }  # fmt: skip
        return self.random.choices(list(kinds), list(kinds.values()))[0]()


def random_call(seed):
    """The call of this seed, as text."""
    return Calls(seed).call()
