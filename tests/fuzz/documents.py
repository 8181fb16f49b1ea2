"""Mechanism files, family files and certificates, whole and mutated."""

import copy
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import symamp as sa
from symamp.verifier import verify

_DOCS = Path(__file__).parents[2] / "docs"


def _documents(page):
    found = re.findall(r"```json\n(.*?)```", (_DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return tuple(document for document in map(_read, found) if isinstance(document, dict) and "format" in document)


def _read(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


TABLES = _documents("mechanism_format.md")
FAMILIES = _documents("family_format.md")

LEAVES = (
    0, 1, -1, 2, 7, 10**6, 10**18, 10**30, 0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), True, None, "",
    "0", "1", "-1", "1/0", "1/3", "0.1", "exp(eps0)", "exp(exp(exp(9)))", "log(0)", "log(-1)", "sqrt(-1)", "x", "k",
    "eps0", "2**k", "2**10000", "9**9**9", "1e999", "1e-4000", "k-2", "k-3", "binomial(k, 2)",
    "binomial(10**9, 10**8)", "exp(1e6)", "((((1))))", "(" * 70, "1+" * 600 + "1", "inf", "nan", "E", "pi",
    "__import__('os')", "\x00", "é", "x" * 300, [], {}, [1], [[]], {"a": 1}, ["x0", "x1"], "log(6)-log(2)-log(3)",
    "exp(log(3))", "1*2**(-2000)", "0x" + "f" * 400, "exp(-10**9)", "2**(-10**9)", "3**(10**12)", "exp(eps0/1000)",
    "eps0**100", "1-1", "2**(1/2)",
)  # fmt: skip


def _places(data, here=()):
    """Every place in nested lists and dictionaries, as the path that leads to it."""
    yield here
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _places(value, (*here, key))


def mutated_document(random, document, times):
    """A copy with so many changes: a value replaced, removed, doubled, swapped with another or wrapped."""
    data = copy.deepcopy(document)
    for _ in range(times):
        places = [place for place in _places(data) if place]
        if not places:
            return data
        place = random.choice(places)
        parent = data
        for key in place[:-1]:
            parent = parent[key]
        key, kind = place[-1], random.randrange(8)
        if kind <= 3:
            parent[key] = copy.deepcopy(random.choice(LEAVES))
        elif kind == 4:
            del parent[key]
        elif kind == 5 and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif kind == 6:
            parent[key] = nudged(random, parent[key])
        elif isinstance(parent, dict):
            parent[random.choice(("x", "", "eps0", "lower", key))] = parent.pop(key)
    return data


def nudged(random, value):
    """A value near the given one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return random.choice((value + 1, -value, value * 2, value * 10**6, str(value)))
    if isinstance(value, str) and value:
        at = random.randrange(len(value))
        middle = random.choice(("", "0", "9", "-", "*", "(", "e", " ", "x", value[at] * 2, "**"))
        return value[:at] + middle + value[at + 1 :]
    return [value]


@cache
def certificates():
    """Certificates of answers by each evaluator."""
    response = sa.RandomizedResponse(k=4, eps0="log(3)")
    answers = (
        sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**6, delta="1e-8", method="blanket"),
        sa.delta(sa.UnaryEncoding.rappor(D=16, eps0=1), n=10**4, eps="0.05", method="blanket"),
        sa.delta(response, n=40, eps="log(3/2)"),
        sa.delta(response, n=8, eps="log(3/2)", digits=20),
        sa.delta(sa.RandomizedResponse(k=3, eps0=1), n=100, eps=2),
        sa.delta(
            sa.FiniteMechanism({"a": {"0": "9/10", "1": "1/10"}, "b": {"0": "9/10", "2": "1/10"}}), n=50, eps="0.2"
        ),
    )
    return tuple(answer.certificate() for answer in answers)


def verified(seed):
    """The verdict on a mutated certificate."""
    return verify(mutated_certificate(seed))


def mutated_certificate(seed, among=()):
    """The text of a certificate, or one of these, with a few changes, drawn from the seed."""
    random = Random(seed)
    data = mutated_document(random, random.choice(among or certificates()), random.choice((0, 1, 1, 1, 2, 3, 5)))
    with suppress(LookupError, TypeError, AttributeError):
        group = data["settings"][0]["groups"][0]
        group["users"] = (
            group["users"] if random.random() > 0.3 else random.choice((1, 2, 9, 64, 65, 1000, 10**6, 10**12, 10**18))
        )
    text = json.dumps(data)
    if random.random() < 0.2:
        at = random.randrange(len(text))
        text = text[:at] + random.choice(("", "0", '"', "9", "{")) + text[at + 1 :]
    return text
