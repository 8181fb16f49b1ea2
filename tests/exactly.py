"""Fractions of an oracle as what symamp takes, and back: numbers, levels, laws, and documents that are changed."""

import copy
import json
from fractions import Fraction

import sympy as sp
from flint import arb, fmpq

from symamp.laws.law import Atom, Law, Level
from symamp.verifier import verify


def as_fmpq(x):
    return x if isinstance(x, fmpq) else fmpq(x.numerator, x.denominator)


def as_ball(x):
    return arb(as_fmpq(x))


def as_number(x):
    """A number that crosses to the evaluation."""
    return lambda: as_ball(x)


def as_fraction(x):
    """The fraction that a number of flint or of SymPy is."""
    return Fraction(int(x.p), int(x.q))


def log_of(E):
    return sp.log(sp.Rational(E.numerator, E.denominator))


def level_of(E):
    """The level eps = log E."""
    return Level(lambda: as_ball(E).log(), lambda: f"log({E})", as_fmpq(E))


def law_of(rational):
    """A law of rational numbers as it crosses to the evaluation."""
    atoms = tuple(Atom(*map(as_number, (a, b, m)), a == b) for a, b, m in rational.atoms)
    singular = tuple((as_number(a), as_number(b)) for a, b in rational.singular)
    return Law(atoms, singular, sum((m for *_, m in rational.atoms), fmpq(0)) == 1, rational)


def law_of_response(k, eps0=1):
    """The blanket of k-ary randomized response."""

    def t():
        return arb(eps0).exp()

    def mass(m):
        return lambda: arb(m) / (t() + k - 1)

    one = as_number(1)
    atoms = [Atom(t, one, mass(1)), Atom(one, t, mass(1)), Atom(one, one, mass(k - 2), True)]
    return Law(tuple(atoms[: 3 if k > 2 else 2]))


def as_read(answer):
    """The certificate of an answer, as it is read from a file."""
    return json.loads(json.dumps(answer.certificate()))


def status(document):
    return verify(json.dumps(document)).status


def mechanism_in(document):
    return document["settings"][0]["groups"][0]["mechanism"]


def tightened(certificate, end, factor):
    return replaced(certificate, "claim", end, to=f"({certificate['claim'][end]})*{factor}")


def replaced(document, *path, to):
    """A copy with another value at a place."""
    found = copy.deepcopy(document)
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return found
