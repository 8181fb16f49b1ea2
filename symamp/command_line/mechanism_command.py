"""A command about a mechanism: the parameters of the family named, or of the file given, are options of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from symamp.command_line.options import NAMES, member, mentioned, starting
from symamp.errors import ArgumentError, Problem, SymampError
from symamp.formulas.parameter import Parameter
from symamp.randomizers.catalogue import by_name
from symamp.randomizers.files.load import load_mechanism

_OPTIONS, _PREFIX = f"{__name__}.options", "parameter_"


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

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command and those of the mechanism that was named."""
        return [*ctx.meta.get(_OPTIONS, ()), *super().get_params(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look up what is named, read the words, and make the mechanism."""
        flags = {o for p in self.get_params(ctx) if isinstance(p, click.Option) and p.is_flag for o in p.opts}
        try:
            name, file = mentioned(args, flags)
            family = load_mechanism(file) if file is not None else None if name is None else by_name(name)
            ctx.meta[_OPTIONS] = self._options(family)
        except SymampError:
            if not ctx.resilient_parsing:
                raise
            name = file = family = None  # half a line is completed as far as it goes
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = sorted(o for p in self.get_params(ctx) for o in p.opts if o.startswith("--"))
            raise ArgumentError("option", error.option_name, f"one of {', '.join(known)}") from None
        if ctx.resilient_parsing:
            return rest
        if family is None or (name is not None and file is not None):
            wrong = Problem("a name and --mechanism are given" if name else "none is given")
            raise ArgumentError("mechanism", wrong, "give a name from `symamp mechanisms`, or --mechanism FILE")
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
