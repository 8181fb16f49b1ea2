"""Random command lines: words near those that a command knows, and the files they name."""

from fuzz.documents import mutated_certificate
from fuzz.draw import DELTAS, GAPS, LEVELS, METHODS, NUMBERS, TEXTS, USERS, Draw
from symamp.randomizers.catalogue import catalogue

COMMANDS = (
    "derive", "derive", "epsilon", "delta", "verify", "verify", "mechanisms", "--version", "-h", "no", "compose",
    "renyi", "curve", "sweep", "plan", "choose", "compare", "schema",
)  # fmt: skip
FILES = ("-", "/", "", "no/such", "/dev/null", "/proc/self/mem", "--", ".", "~", "rounds.toml", "sweep.toml")
ROUNDS = '[[round]]\nmechanism = "krr"\nk = 3\neps0 = 1\nn = 1000\nrounds = 10\nmethod = "blanket"\n'
SWEEP = 'n = [100]\neps = [0.1]\nmethod = "blanket"\n[mechanisms.one]\nfamily = "krr"\nk = 3\neps0 = 1\n'
OPTIONS = {
    "epsilon": {"n": USERS, "delta": DELTAS}, "delta": {"n": USERS, "eps": LEVELS},
    "compose": {"n": ("20", "1e3"), "rounds": ("1", "10", "1e2", "nan", "inf", "1e400", "-1"), "delta": DELTAS},
    "renyi": {"n": ("20", "1e3"), "order": ("2", "2,8", "1", "", "x")}, "plan": {"eps": LEVELS, "delta": DELTAS},
    "curve": {"n": ("20", "20,1e3", ""), "eps": LEVELS, "csv": ("out.csv", "/", "no/out.csv")},
    "compare": {"n": ("20", "1e3"), "delta": DELTAS},
}  # fmt: skip
CHEAP = ("epsilon", "delta", "compose", "renyi", "curve")


class CommandLines(Draw):
    """Draws the words of a command."""

    def command_line(self):
        """The words of a command, run in this process, with the files beside it."""
        command = self.one(COMMANDS)
        words, files = [command], {}
        if command == "verify":
            files["c.json"] = mutated_certificate(self.random.randrange(10**9))
            words.append(self.one(("c.json", "c.json", "c.json", *FILES)))
        elif command == "sweep":
            files["sweep.toml"] = self.changed(SWEEP)
            words.append("sweep.toml")
        elif command in ("compose", "renyi") and self.chance(0.5):
            files["rounds.toml"] = self.changed(ROUNDS)
            words += ["rounds.toml", *(("--delta", "1e-6") if command == "compose" else ("--order", "2"))]
        elif command == "choose":
            words += [self.one(("krr:k=3", "krr:k=3,eps0=1", "krr", "x:y", "krr:k", "krr:=")), "--n", "1000"]
            words += ["--eps", self.plain(LEVELS), "--delta", self.plain(DELTAS)]
        elif command == "schema":
            words.append(self.one(("certificate", "mechanism", "x")))
        else:
            words += self.question(command)
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            self.disturb(words)
        return f"command({words!r}, {files!r})" if files else f"command({words!r})"

    def question(self, command):
        """A mechanism and the options of a command."""
        name, family = self.one(catalogue().items())
        values = {"k": 3, "eps0": 1} if self.chance(0.6) else dict(self.one(family.small))
        words = ["krr" if values == {"k": 3, "eps0": 1} else name]
        words += [f"--{key}={value}" for key, value in values.items()]
        for option, choices in OPTIONS.get(command, {}).items():
            words += [f"--{option}", self.plain(choices)]
        if command in CHEAP and self.chance(0.9):
            words += ["--method", self.one((*METHODS, "fft", "", "x")) if self.chance(0.3) else "blanket"]
        if self.chance(0.1):
            words += ["--gap", self.plain((*GAPS, *NUMBERS))]
        if self.chance(0.1):
            words += [self.one(("--mechanism", "--certificate")), self.one(FILES)]
        return words

    def changed(self, text):
        """The text of a file, now and then with another value, key or sign."""
        for _ in range(self.random.choice((0, 1, 1, 2))):
            if self.chance(0.5):
                lines = text.split("\n")
                at = self.random.randrange(len(lines))
                lines[at] = lines[at].partition("=")[0] + "= " + self.one(("1", "nan", "-1", '"x"', "[]", "{}", "true"))
                text = "\n".join(lines)
            else:
                at = self.random.randrange(len(text))
                text = text[:at] + self.one(("", '"', "[", "=", "9", "x", "\n", "\x00")) + text[at + 1 :]
        return text

    def disturb(self, words):
        """Take a word away, double one, or put in a foreign one."""
        at = self.random.randint(0, len(words))
        match self.random.randrange(4):
            case 0 if len(words) > 1:
                words.pop(self.random.randrange(len(words)))
            case 1:
                words.insert(at, self.one(words))
            case 2:
                foreign = ("--json", "--", "-", "-x", "--n=", "--k", "--pair", "x0,x1", "--help", "\udc80", "é")
                words.insert(at, self.one(foreign))
            case _:
                words.insert(at, "--" + self.plain(TEXTS) + "=" + self.plain(NUMBERS))
