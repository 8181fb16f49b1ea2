"""``python -m tests.words`` lists the words of the command line anew, for completion in a shell."""

import json

import click

from symamp.command_line.cli import app
from symamp.command_line.options import GroupWord, MechanismCommand, MechanismWord
from symamp.command_line.words import WORDS
from symamp.randomizers.catalogue import named


def values(context, param):
    """What may stand for a parameter: "file", or a list of names."""
    if isinstance(param.type, click.Path):
        return "file"
    if isinstance(param.type, MechanismWord):
        return "groups" if isinstance(param.type, GroupWord) else "mechanisms"
    return [item.value for item in param.shell_complete(context, "")]


def options_of(context, params):
    return {o: p.help for p in params if isinstance(p, click.Option) for o in [*p.opts, *p.secondary_opts]}


def described(command, context):
    params = command.get_params(context)
    taking = [p for p in params if isinstance(p, click.Option) and not p.is_flag and p.name != "help"]
    arguments = [p for p in params if isinstance(p, click.Argument)]
    argument = [] if not arguments else values(context, arguments[0])
    return {
        "help": command.get_short_help_str(100),
        "options": options_of(context, params),
        "values": {o: values(context, p) for p in taking for o in p.opts},
        "argument": "name" if isinstance(command, MechanismCommand) else argument,
    }


def words():
    """The words, from the commands and the catalogue."""
    whole = click.Context(app, info_name="symamp", **app.context_settings)
    derive = app.commands["derive"]
    parameters = {name: {o.opts[0][2:]: o.help for o in derive._options(found)} for name, found in named().items()}
    commands = {
        name: described(app.commands[name], click.Context(app.commands[name], whole, name))
        for name in app.list_commands(whole)
    }
    return {"options": options_of(whole, app.get_params(whole)), "commands": commands, "mechanisms": parameters}


def written():
    """As lines of a JSON file, one for each command and each mechanism."""
    found = words()
    parts = [f' "options": {json.dumps(found["options"])}']
    for kind in ("commands", "mechanisms"):
        lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in found[kind].items())
        parts.append(f' "{kind}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    WORDS.write_text(written(), encoding="utf-8")
