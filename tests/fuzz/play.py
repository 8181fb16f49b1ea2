"""Evaluate a call given as text, and check what every call promises.

Promised are: no exception but ``SymampError``, no NaN, no lower end above an upper one, a probability in [0, 1], and an
end within the limits of time and memory. A call that breaks a promise gives a ``Failure``.
"""

import contextlib
import importlib
import io
import json
import math
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest import mock

import flint
import mpmath
import numpy as np
import sympy as sp
from flint import arb, fmpq

import symamp as sa
from fuzz.documents import verified
from symamp.command_line.cli import main
from symamp.randomizers.catalogue import catalogue
from symamp.verifier import verify

SECONDS = 10
"""Of processor time: other work on the machine does not count."""
GIBIBYTE = 2**30
_LARGEST = 2 * GIBIBYTE
"""Of address space, libraries included."""
_PACKAGE = Path(sa.__file__).parent


class Odd:
    """An object whose every use fails."""

    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __eq__ = __bool__ = __float__ = __len__ = __iter__ = __lt__ = __repr__
    __hash__ = None


class TooLong(BaseException):
    """The time is over."""


@dataclass(frozen=True)
class Failure:
    """What went wrong: ``kind`` tells failures apart, ``call`` repeats this one."""

    kind: str
    call: str
    detail: str


def from_text(text):
    """The mechanism in a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return sa.load_mechanism(path)


def checked(answer):
    """The verdict on the certificate of an answer, which has to be valid."""
    verdict = verify(json.dumps(answer.certificate()))
    assert verdict.status == "valid", verdict
    return verdict


def evaluated(mechanism):
    """An answer about a mechanism, itself where it has parameters."""
    return mechanism if mechanism.parameters else sa.epsilon(mechanism, n=3, delta="1e-3", gap=1e-3)


def command(words, files=()):
    """The exit code of the command line in this process, beside some files; it may not fail in another way."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(contextlib.chdir(folder))
        for name, text in dict(files).items():
            Path(name).write_text(text, encoding="utf-8", errors="surrogatepass")
        stack.enter_context(mock.patch.object(sys, "argv", ["symamp", *words]))
        stack.enter_context(mock.patch("sys.stdin", io.StringIO()))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(errors))
        code = _exit_code()
    said = errors.getvalue()
    assert code in (0, 1, 2), code
    assert code != 2 or "verify" in words or said.count("\n") == 1, said
    assert "nan" not in out.getvalue().split(), out.getvalue()
    return code


def _exit_code():
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    raise AssertionError("no exit")


def _pandas():
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return np


NAMES = {
    "sa": sa, "sp": sp, "np": np, "mpmath": mpmath, "arb": arb, "fmpq": fmpq, "Fraction": Fraction, "Decimal": Decimal,
    "Odd": Odd, "catalogue": catalogue, "verified": verified, "from_text": from_text, "command": command,
    "checked": checked, "evaluated": evaluated, "pd": _pandas(), "X": sp.Symbol("x", real=True),
    "Y": sp.Symbol("y", real=True),
}  # fmt: skip


def play(call, seconds=SECONDS):
    """Evaluate the call; return a Failure, or None if it kept what is promised."""
    return played(call, seconds)[0]


def played(call, seconds=SECONDS):
    """Evaluate the call; return a Failure or None, and whether there was an answer rather than a refusal."""
    before = flint.ctx.prec, mpmath.mp.prec
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answered = False
    previous = signal.signal(signal.SIGPROF, _stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                _inspect(eval(call, dict(NAMES)))
                answered = True
        except sa.errors.SymampError as refusal:
            _refusal(refusal)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except TooLong:
        return Failure("over time", call, f"more than {seconds} s, in {_innermost(sys.exc_info()[2])}"), False
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if not any(_is_ours(f) for f in traceback.extract_tb(error.__traceback__)):
            return None, False  # the language's own refusal: a keyword that is missing, a value that Python cannot make
        if _of_another(error.__traceback__):
            return None, False
        return Failure(f"{type(error).__name__} in {_innermost(error.__traceback__)}", call, str(error)[:300]), False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        after, flint.ctx.prec, mpmath.mp.prec = (flint.ctx.prec, mpmath.mp.prec), *before
    if after != before:
        return Failure("a precision leaked", call, f"{before} became {after}"), answered
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
    return (Failure("over memory", call, f"{grown} bytes") if grown > GIBIBYTE else None), answered


def _stop(*_):
    raise TooLong


def _innermost(trace):
    """The last place of the package in a traceback, else the last place at all."""
    frames = traceback.extract_tb(trace)
    frame = ([f for f in frames if _is_ours(f)] or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.name}"


def _of_another(trace):
    """Whether a method was called on the class, with something else in place of an object of it."""
    frames = (f for f, _ in traceback.walk_tb(trace) if Path(f.f_code.co_filename).is_relative_to(_PACKAGE))
    first = next(frames, None)
    name, _, method = first.f_code.co_qualname.rpartition(".") if first else ("", "", "")
    if not name or "<locals>" in name or "self" not in first.f_locals or method.startswith("__"):
        return False
    return name not in (kind.__qualname__ for kind in type(first.f_locals["self"]).__mro__)


def _is_ours(frame):
    return Path(frame.filename).is_relative_to(_PACKAGE) or frame.name in (
        "_inspect",
        "_answer",
        "_refusal",
        "checked",
        "_law",
        "command",
        "_exit_code",
    )


def _inspect(found, depth=0):
    """Check a result: numbers that are numbers, ends in order, and representations that can be written."""
    if depth > 4 or found is None or isinstance(found, str | bytes | bool | type):
        return
    if isinstance(found, float):
        assert not math.isnan(found), "NaN"
        assert not (found == 0.0 and math.copysign(1.0, found) < 0), "-0.0"
    lower, upper = getattr(found, "lower", None), getattr(found, "upper", None)
    if isinstance(lower, float) and isinstance(upper, float):
        assert not math.isnan(lower), "NaN"
        assert not math.isnan(upper), "NaN"
        assert 0.0 <= lower <= upper, f"lower {lower!r}, upper {upper!r}"
        if getattr(found, "quantity", None) == "delta":
            assert upper <= 1.0, f"delta up to {upper!r}"
    if isinstance(lower, tuple | np.ndarray) and isinstance(upper, tuple | np.ndarray):
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        assert ((low >= 0.0) & (low <= high)).all(), f"lower {lower!r}, upper {upper!r}"
    if isinstance(found, np.ndarray) and found.dtype.kind == "f":
        assert not np.isnan(found).any(), "NaN"
    if isinstance(found, dict):
        for value in found.values():
            _inspect(value, depth + 1)
    elif isinstance(found, tuple | list):
        for value in found[:50]:
            _inspect(value, depth + 1)
    if type(found).__module__.startswith("symamp"):
        str(found), repr(found)
        if isinstance(found, sa.Answer | sa.Inverse | sa.Plan | sa.Sweep):
            assert "NaN" not in json.dumps(found.to_dict()), "NaN in a document"
        for name in ("_repr_latex_", "_repr_html_", "_repr_markdown_"):
            if hasattr(found, name):
                getattr(found, name)()
        if isinstance(found, sa.Answer):
            _answer(found)
        if isinstance(found, sa.SumLaw):
            _law(found)


def _refusal(refusal):
    assert refusal.argument and refusal.accepted and repr(refusal), f"refused without saying why: {refusal}"  # noqa: PT018
    assert len(str(refusal)) < 5000, "a long refusal"


def _answer(answer):
    low, high = answer.log10_lower, answer.log10_upper
    assert low <= high, f"log10 {low!r} above {high!r}"
    assert answer.as_mpf()[0] <= answer.as_mpf()[1]
    answer.decimals(), answer.parameters, answer.digits


def _law(law):
    if law.grid.size > 5000:
        return
    low, high = law.log_probabilities
    assert not np.isnan(low).any(), "NaN"
    assert not np.isnan(high).any(), "NaN"
    assert (low <= high).all(), "a probability with lower above upper"
    _inspect(law.outside)
    assert law.outside.upper <= 1.0


def main_loop():
    """For the driver: play calls from standard input, one JSON text a line, and answer with one line each."""
    resource.setrlimit(resource.RLIMIT_AS, (_LARGEST, _LARGEST))
    for line in sys.stdin:
        failure, answered = played(json.loads(line))
        found = None if failure is None else [failure.kind, failure.call, failure.detail]
        print(json.dumps([found, answered]), flush=True)


if __name__ == "__main__":
    main_loop()
