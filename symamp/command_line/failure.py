"""How the command line fails: exit code 2 and one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Never

import click

from symamp.errors import ContradictionError, SymampError


def one_line(message: str) -> str:
    """Return the message on one line, with control characters written out.

    >>> one_line("no such file: a\\tb")
    'no such file: a\\\\tb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message.replace("\n", " "))


def guarded(run: Callable[[list[str]], object], words: list[str]) -> Never:
    """Run the command on the words; refusals end with exit code 2 and one line on standard error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # tables on terminals that know no lines
    for word in words:
        if not _can_name_a_file(word):
            _fail(f"{word}: not a word that a terminal can pass on")
    try:
        code = run(words)
        print(end="", flush=True)  # a full disk is found out here, not when the interpreter ends
    except SymampError as error:
        _fail(str(error))
    except ContradictionError as error:
        _fail(str(error), 70)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"cannot write: {error.strerror or error}")
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context is not None else ""
        _fail(error.format_message().rstrip(".") + hint)
    sys.exit(code if isinstance(code, int) else 0)


def _can_name_a_file(word: str) -> bool:
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not fail on it when it ends."""
    with suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int = 2) -> Never:
    print(f"symamp: {one_line(message)}", file=sys.stderr)
    sys.exit(code)
