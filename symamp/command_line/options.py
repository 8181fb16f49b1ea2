"""Shared arguments and options: mechanisms with parameters, groups of users, who takes part."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from symamp.accounting.coordinates import MESSAGES, VIEWS
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import Subject
from symamp.command_line.output import asked_of, bar_of_pairs, print_answer
from symamp.command_line.words import OPTION, groups_starting, mechanisms_starting, mentioned, starting
from symamp.errors import ArgumentError, FormatError, Problem, SymampError, UnknownMechanismError, one_of
from symamp.formulas.parameter import Parameter
from symamp.numbers.limits import EFFORTS
from symamp.numbers.reading import users
from symamp.questions.methods import methods
from symamp.questions.profile import OneRound
from symamp.randomizers.catalogue import by_name, named
from symamp.randomizers.files.load import load_mechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.settings.participation import Participation
from symamp.settings.saying import WORDS
from symamp.settings.saying import participation as made_participation

# ------------------------------------------------------------------------ What the words of a command mean, and numbers


def described(found: Subject) -> Mechanism:
    """Return the subject if it is a mechanism with a decomposition of its own."""
    if found.mechanism is None:
        raise ArgumentError("mechanism", Problem(f"{found!r} has no decomposition"), "see `symamp mechanisms`")
    return found.mechanism


def refuse_repeated(words: Sequence[str]) -> None:
    """Raise ArgumentError for an option that is given twice: click would take the last one in silence."""
    counts = Counter(word.partition("=")[0] for word in words if OPTION.match(word))
    for option, count in counts.items():
        if count > 1:
            raise ArgumentError("options", Problem(f"{option} occurs twice"), "give it once")


def read_neighbours(word: str) -> object:
    """Return what --neighbours says: "all", a distance, or pairs of inputs.

    >>> read_neighbours("1/2"), read_neighbours("a,b; b,c")
    ('1/2', [('a', 'b'), ('b', 'c')])
    """
    if "," not in word:
        return word
    return [tuple(x.strip() for x in pair.split(",")) for pair in word.split(";")]


def read_participation(words: str | dict[str, Any]) -> Participation:
    """Return who takes part, from words such as dropout=1/5,compared=removal or from a table.

    >>> read_participation("dropout=1/5,victim_drops=yes")
    participation(dropout=1/5, victim_drops=True)
    """
    if not isinstance(words, str | dict):
        raise ArgumentError("participation", words, "words such as dropout=1/5,leaks=1/10, or a table of them")
    given: dict[str, Any] = {}
    for key, equals, value in (
        ((w.strip(), "=", v) for w, v in words.items())
        if isinstance(words, dict)
        else (word.strip().partition("=") for word in words.split(","))
    ):
        if not equals or key in given:
            raise ArgumentError("participation", words, "words such as dropout=1/5,leaks=1/10, each once")
        given[key] = value
    if unknown := sorted(given.keys() - WORDS.keys()):
        raise ArgumentError("participation", unknown[0], one_of(WORDS, unknown[0]))
    return made_participation(**{k: WORDS[k].text(v) if isinstance(v, str) else v for k, v in given.items()})


def separated(words: str) -> list[str]:
    """Return the words of a list that is separated by commas."""
    return [word.strip() for word in words.split(",")]


# ---------------------------------------------------------------------------------- Options that several commands share

Command = Callable[..., Any]


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return what adds all of these options, in their order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def reads(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return the callback of an option that reads its word, where there is one."""
    return lambda context, parameter, word: None if word is None else read(word)


def _in_a_folder(_: click.Context, parameter: click.Parameter, file: Path | None) -> Path | None:
    """Return the file; ArgumentError if there is no folder that it could be written to."""
    if file is not None and not file.parent.is_dir():
        told = Problem(f"{file} cannot be written: there is no folder {file.parent}")
        raise ArgumentError(str(parameter.name), told, "name another file")
    return file


numbers = partial(click.option, type=separated, metavar="NUMBERS")
"""An option with a list that is separated by commas."""
whole = partial(click.option, type=str, metavar="NUMBER")
"""An option with a whole number, such as 100 or 1e4, that is read where it is used."""


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
written_to = partial(click.option, type=click.Path(path_type=Path), callback=_in_a_folder)
"""An option with a file that is written at the end: that its folder exists is checked before work is done."""
certificate = written_to("--certificate", help="Write a certificate for `symamp verify`; - prints it.")
gap = click.option("--gap", metavar="NUMBER", help="Relative width to aim at: of delta for one round, of eps for many.")
view = click.option(
    "--view",
    default=MESSAGES,
    metavar="WORD",
    shell_complete=lambda *words: starting(VIEWS)(*words),
    help=f"What the adversary sees: {' or '.join(VIEWS)} (each coordinate shuffled or summed by itself).",
)
effort = click.option(
    "--effort",
    default="default",
    metavar="WORD",
    shell_complete=starting(EFFORTS),
    help=f"Effort of the searches: {', '.join(EFFORTS)}.",
)
method = click.option(
    "--method", metavar="NAME", shell_complete=starting(BOUNDS), help="Use this bound of the list below."
)
neighbours = click.option(
    "--neighbours",
    default="all",
    metavar="DISTANCE",
    callback=reads(read_neighbours),
    help="Compare inputs at most this far apart, or pairs such as 'a,b; b,c'.",
)
participation = click.option(
    "--participation",
    metavar="WORDS",
    callback=reads(read_participation),
    help="Say who takes part, such as dropout=1/5,leaks=1/10; `sa.participation` lists the words.",
)
plot = written_to("--plot", help="Draw the brackets into a file, such as out.svg.")
csv = written_to("--csv", help="Write the points to this file, one a line.")
eps_or_delta = together(
    click.option("--delta", metavar="NUMBER", help="Bracket eps at this delta, in (0, 1)."),
    click.option("--eps", metavar="NUMBER", help="Bracket delta at this eps, a number >= 0."),
)
written = together(csv, plot, as_json)


def asks(command: Command) -> Command:
    """Add the options about an answer to a command that returns what is asked: a profile, rounds, several reports."""

    @wraps(command)
    def answer(
        gap: str | None,
        effort: str,
        certificate: Path | None,
        as_json: bool,
        delta: str | None = None,
        eps: str | None = None,
        **about: Any,
    ) -> None:
        whole = command(**about)
        with bar_of_pairs() as progress:
            whole = OneRound(whole.question, progress) if isinstance(whole, OneRound) else whole
            found = asked_of(whole, delta, eps, gap, effort)
        print_answer(found, certificate, as_json)

    return together(gap, effort, certificate, as_json)(answer)


# ----------------------------------- Mechanisms as words and as tables of TOML files: a name, or a file, and parameters

NAMES = tuple(named())
_MOST_BYTES = 2**20


class MechanismWord(click.ParamType):  # type: ignore[type-arg]
    """A mechanism such as krr:k=16,eps0=1, completed as far as it goes: the word itself, and what it stands for."""

    name = "mechanism"

    def __init__(self, *, of_attributes: bool = False) -> None:
        self._of_attributes = of_attributes

    def convert(self, value: str, param: Any, ctx: Any) -> tuple[str | int, Any]:
        """Return the word and its mechanism; with ``of_attributes``, of name=shape the name and the shape."""
        attribute, equal, shape = value.partition("=")
        if self._of_attributes and equal and ":" not in attribute:
            return value, (attribute, int(shape) if shape.isdecimal() else shape)
        name, _, rest = value.partition(":")
        pairs = [part.partition("=") for part in rest.split(",") if part]
        if not name or not all(equals for _, equals, _ in pairs):
            raise ArgumentError(self.name, value, "a name with parameters, such as krr:k=16,eps0=1")
        values: dict[str, str] = {}
        for key, _, given in pairs:
            if key.strip() in values:
                raise ArgumentError(self.name, Problem(f"{key.strip()} occurs twice in {value}"), "give it once")
            values[key.strip()] = given.strip()
        try:
            return value, member(by_name(name), values)
        except UnknownMechanismError:
            if not self._of_attributes or rest:
                raise
            told = f"give its shape, as in {name}=16 or {name}=number, or a name from `symamp mechanisms`"
            raise ArgumentError("candidate", Problem(f"{name!r} is no mechanism"), told) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names, or the parameters of the one that is named."""
        return mechanisms_starting(incomplete, {name: found.names() for name, found in named().items()})


class GroupWord(MechanismWord):
    """A number of users with their mechanism, such as 500:krr:k=10,eps0=1."""

    name = "group"

    def convert(self, value: str, param: Any, ctx: Any) -> tuple[str | int, Subject]:
        count, _, rest = value.partition(":")
        if not rest:
            raise ArgumentError("group", value, "a number and a mechanism, such as 500:krr:k=10,eps0=1")
        return users(count), super().convert(rest, param, ctx)[1]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return groups_starting(incomplete, {name: found.names() for name, found in named().items()})


def member(family: Any, values: Mapping[str, str]) -> Subject:
    """Return the member of a family of the catalogue, or of a mechanism from a file, with these values."""
    if isinstance(family, type):
        family.check_names(values)  # type: ignore[attr-defined]
    found: Subject = family(**values) if isinstance(family, type) else family.at(**values) if values else family
    return found


def listed_member(table: Any, folder: Path, named_by: str, own: Collection[str] = ()) -> Subject:
    """Return the mechanism of a table: a name or a file, with all keys but the ``own`` ones as parameters."""
    if not isinstance(table, dict) or (named_by in table) == ("file" in table):
        raise FormatError("mechanism", table, f"a table with {named_by} and its parameters, or with file")
    values = {key: str(value) for key, value in table.items() if key not in (named_by, "file", *own)}
    name = table.get(named_by)
    return member(load_mechanism(folder / str(table["file"])) if name is None else by_name(str(name)), values)


def read_toml(file: Path) -> dict[str, Any]:
    """Return what a TOML file holds, with numbers as they are written; FormatError for anything else."""
    try:
        if not file.is_file():
            raise FormatError("file", Problem(f"there is no file {file}"), "give the path of an existing TOML file")
        if file.stat().st_size > _MOST_BYTES:
            raise FormatError("file", Problem(f"{file} is too large"), "give a file of at most 1 MiB")
        return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except OSError as error:
        raise FormatError("file", Problem(f"{file} cannot be read: {error.strerror}"), "name another file") from None
    except UnicodeDecodeError as error:
        told = Problem(f"byte {error.start} of {file} is not UTF-8")
        raise FormatError("file", told, "save it in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError("file", Problem(f"{file} is no TOML: {error}"), "correct it there") from None


# ------------- A command about a mechanism: the parameters of the family named, or of the file given, are options of it

_OPTIONS, _PREFIX = f"{__name__}.options", "parameter_"


def _no_mechanism(told: str = "no mechanism is given") -> ArgumentError:
    return ArgumentError("mechanism", Problem(told), "give a name from `symamp mechanisms`, or --mechanism FILE")


class MechanismCommand(click.Command):
    """A command whose callback gets, as ``found``, the mechanism of the catalogue or of a file that was asked about.

    What is named is looked up before the words are read, so that its parameters are known as options: to --help, to
    completion, and to the refusal of those it does not have.
    """

    def __init__(self, name: str | None, *, params: Iterable[click.Parameter] = (), **kwargs: Any) -> None:
        what = click.Argument(["name"], required=False, metavar="[MECHANISM]", shell_complete=starting(NAMES))
        file = click.Option(
            ["--mechanism"], type=click.Path(path_type=Path), help="A mechanism file (JSON) instead of a name."
        )
        epilog = f"MECHANISM is one of {', '.join(NAMES)}; with its name, --help shows its parameters."
        super().__init__(name, params=[what, file, *params], epilog=epilog, **kwargs)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and, for a command that takes one, the methods in groups."""
        super().format_options(ctx, formatter)
        if "method" in {p.name for p in self.params}:
            for group, bounds in methods().groups.items():
                with formatter.section(f"Methods, {group}"):
                    formatter.write_dl([(bound.name, bound.summary) for bound in bounds])

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command and those of the mechanism that was named."""
        return [*ctx.meta.get(_OPTIONS, ()), *super().get_params(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look up what is named, read the words, and make the mechanism."""
        flags = {o for p in self.get_params(ctx) if isinstance(p, click.Option) and p.is_flag for o in p.opts}
        try:
            name, file = mentioned(args, flags)
            if name is not None and file is None and name.endswith(".json"):
                raise ArgumentError("mechanism", Problem(f"{name} is a file"), f"name it by --mechanism {name}")
            if name is not None and "=" in name.partition(":")[0]:
                told = Problem(f"{name} is an attribute with its shape")
                raise ArgumentError("mechanism", told, "`symamp choose` takes these; here, name one mechanism")
            family = load_mechanism(file) if file is not None else None if name is None else by_name(name)
            ctx.meta[_OPTIONS] = self._options(family)
        except SymampError:
            if not ctx.resilient_parsing:
                raise
            name = file = family = None  # half a line is completed as far as it goes
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if family is None:
                raise _no_mechanism() from None
            known = sorted(o for p in self.get_params(ctx) for o in p.opts if o.startswith("--"))
            raise ArgumentError("option", error.option_name, one_of(known, error.option_name)) from None
        if ctx.resilient_parsing:
            return rest
        if family is None or (name is not None and file is not None):
            raise _no_mechanism("both a name and --mechanism are given" if name else "no mechanism is given")
        values = {k.removeprefix(_PREFIX): ctx.params.pop(k) for k in list(ctx.params) if k.startswith(_PREFIX)}
        given = {k: v for k, v in values.items() if v is not None}
        del ctx.params["name"], ctx.params["mechanism"]
        ctx.params["found"] = member(family, given)
        return rest

    def _options(self, family: Any) -> list[click.Option]:
        """Return an option for each parameter of the family; one that the command uses itself stays what it is."""
        declared: dict[str, Parameter | None] = {}
        if isinstance(family, type):
            declared = dict.fromkeys(family.names()) | {p.name: p for p in family.declared}  # type: ignore[attr-defined]
        elif family is not None:
            declared = {p.name: p for p in family.parameters}
        used = {o for p in self.params for o in p.opts}
        return [_option(name, p) for name, p in declared.items() if f"--{name}" not in used]


def _option(name: str, parameter: Parameter | None) -> click.Option:
    kind = "INTEGER" if parameter is None or parameter.integer else "NUMBER"
    text = (
        "A parameter of the mechanism" if parameter is None else f"A parameter of the mechanism: {parameter.describe()}"
    )
    return click.Option([f"--{name}", f"{_PREFIX}{name}"], metavar=kind, help=f"{text}.")
