"""Noise with a density as a part of a combined mechanism: two finite laws around it take the place of components."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp
from flint import arb

from symamp.derivation.decomposition import Decomposition
from symamp.derivation.orbit import Orbit
from symamp.derivation.unlisted import Unlisted
from symamp.errors import SupportMismatchError
from symamp.evaluation.law import Atom, Law
from symamp.evaluation.sandwich import even_cuts, finite_sandwich
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise
from symamp.mechanisms.continuous.noise_law import cut_laws
from symamp.mechanisms.mechanism import Mechanism

_CELLS, _BITS = 96, 256
_END = "1"


class NoiseTriple(Unlisted):
    """R(x0), R(x1) and the blanket, or R(other), of noise at the ends of the interval: enclosed, not listed."""

    def __init__(self, noise: AdditiveNoise, pair: tuple[str, str], other: str | None) -> None:
        vars(self).update(noise=noise, parameters=noise.parameters, pair=pair, other=other)

    noise: AdditiveNoise
    other: str | None

    @property
    def gamma(self) -> sp.Expr:
        """Total mass of A2 outside the null symbol."""
        return self.noise.gamma() if self.other is None else sp.Integer(1)

    @property
    def numeric_law(self) -> Law | None:
        """The law above the blanket, below a data set; None with symbols."""
        around = self.enclosing_laws
        return None if around is None else around[1 if self.other is None else 0]

    @property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """(below, above): finite laws whose divergences enclose that of the triple; None with symbols.

        Guarantee
        ---------
        They lie below and above the law of the ratios in planar convex order. Proof: docs/proofs/joint.md.
        """
        if self.parameters:
            return None
        below, above = (_seen(law, self.pair, self.other) for law in _around(self.noise))
        return below, above

    def swapped(self) -> NoiseTriple:
        """Return the triple of the other order of the pair."""
        return NoiseTriple(self.noise, (self.pair[1], self.pair[0]), self.other)

    def signature(self) -> tuple[frozenset[object], frozenset[object]]:  # type: ignore[override]
        """Return what is the same for the mirror image, too: its messages are those of 1 - y."""
        seen = (*self.pair, self.other)
        turned = tuple(x if x is None else "1" if x == "0" else "0" for x in seen)
        return frozenset((self.noise, x) for x in (seen, turned)), frozenset()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoiseTriple) and self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash((self.noise, self.pair, self.other))

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("noise", "parameters", "pair", "other")}

    def __str__(self) -> str:
        return f"{self.noise!r}: a density, gamma = {self.gamma}"

    def _repr_latex_(self) -> str:
        return self.noise._repr_latex_()


class NoisePart(Mechanism):
    """Additive noise as a part: its inputs are the ends of the interval, which are the worst pair."""

    is_composed = first_input_stands_for_all = True  # no input is easier to tell from the others than an end
    lists_all_inputs = False  # nor inputs between the ends
    inputs = ("0", _END)

    def __init__(self, noise: AdditiveNoise) -> None:
        self.sent, self.name, self.parameters = noise, noise.name, noise.parameters

    @staticmethod
    def of(noise: AdditiveNoise) -> NoisePart:
        """Return noise as a part; SupportMismatchError where its ratios are unbounded: no cut fits all n and levels."""
        if noise.local_ratio() is sp.oo:
            raise SupportMismatchError("mechanism", repr(noise), "a part with a finite local budget")
        return NoisePart(noise)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the ends."""
        return (("0", _END),)

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """None: other users hold one of the ends."""
        return ()

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Refuse: no messages are listed."""
        raise SupportMismatchError("mechanism", repr(self), "a mechanism that lists its messages")

    def key(self) -> tuple[object, ...]:
        """Return the noise."""
        return ("noise", self.sent.key())

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return the triple of two ends, equal ones included."""
        return NoiseTriple(self.sent, pair, other)

    def dominating(self) -> tuple[str, str]:
        """Return the ends of the interval.

        Guarantee
        ---------
        For all inputs x, x', equal ones included, and all E >= 0: r_x - E r_x' is at most r_0 - E r_1 in convex order.
        Proof: docs/proofs/joint.md.
        """
        return "0", _END

    def composed_ratio(self) -> sp.Expr:
        """Return e^eps0 of the noise."""
        return self.sent.local_ratio()

    def at(self, /, **values: object) -> NoisePart:
        """Return the part with some parameters fixed."""
        return NoisePart(self.sent.at(**values))

    def __repr__(self) -> str:
        return repr(self.sent)


@lru_cache(maxsize=64)
def _around(noise: AdditiveNoise) -> tuple[Law, Law]:
    """Return finite laws below and above the blanket of (0, 1)."""
    law = noise.exact_law()
    lower, upper = (law, law) if law is not None else cut_laws(noise, 1.0, 1.0)
    return finite_sandwich(lower, _CELLS, _BITS, even_cuts)[0], finite_sandwich(upper, _CELLS, _BITS, even_cuts)[1]


def _seen(law: Law, pair: tuple[str, str], other: str | None) -> Law:
    """Return the law of (R(x0), R(x1), R(other)), or the blanket, from that of (R(0), R(1), blanket)."""
    i, j = (int(x) for x in pair)
    atoms = tuple(_seen_atom(a, i, j, None if other is None else int(other)) for a in law.atoms)
    singular = tuple((both[i], both[j]) for both in law.singular)
    return Law(atoms, singular, other is not None or law.complete)


def _seen_atom(atom: Atom, i: int, j: int, k: int | None) -> Atom:
    ratios = atom.ratio0, atom.ratio1
    if k is None:
        return Atom(ratios[i], ratios[j], atom.mass, i == j or atom.equal_ratios)
    hidden = ratios[k]
    return Atom(
        _one if i == k else lambda: ratios[i]() / hidden(),
        _one if j == k else lambda: ratios[j]() / hidden(),
        lambda: atom.mass() * hidden(),
        i == j or atom.equal_ratios,
    )


def _one() -> arb:
    return arb(1)
