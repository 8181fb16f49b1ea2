"""Which data sets are tried for the lower bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from symamp.analyses.data_sets import mixed_datasets, pure_datasets
from symamp.analyses.reduction import Reduction
from symamp.analyses.subject import Subject
from symamp.derivation.pairs import pair_classes
from symamp.mechanisms.mechanism import Mechanism


def lower_reductions(subject: Subject, most_pairs: int = 12) -> Iterator[Reduction]:
    """Yield the data sets (x0, x*, ..., x*) whose divergence the mechanism has at least."""
    return chain.from_iterable(_of(m, pure_datasets(m, pair), subject) for m, pair in _pairs(subject, most_pairs))


def mixed_lower_reductions(subject: Subject, most_pairs: int = 4) -> Iterator[Reduction]:
    """Yield mixtures of two inputs for the other users: averages of data sets."""
    return chain.from_iterable(_of(m, mixed_datasets(m, pair), subject) for m, pair in _pairs(subject, most_pairs))


def _of(mechanism: Mechanism, reductions: Iterator[Reduction], subject: Subject) -> Iterator[Reduction]:
    if subject.mechanism is not None:
        return reductions
    return (replace(reduction, member=repr(mechanism)) for reduction in reductions)


def _pairs(subject: Subject, most: int) -> Iterator[tuple[Mechanism, tuple[str, str]]]:
    for mechanism in subject.members():
        for pair_class in pair_classes(mechanism)[:most]:
            yield mechanism, pair_class.pairs[0]
