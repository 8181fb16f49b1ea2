"""Counts what is evaluated: every sum of a triple, and every search over data sets, with the point it is asked for."""

import pickle
from collections import Counter
from contextlib import ExitStack, contextmanager
from unittest import mock

from symamp.bounds import reduction
from symamp.laws.law import Law
from symamp.sums.all_data_sets import search as all_data_sets_search

_EVALUATORS = (
    (reduction, "estimate_log_divergence"),
    (reduction, "enclose_divergence"),
    (all_data_sets_search, "search"),
)


@contextmanager
def counted():
    """Yield a Counter with one entry for each evaluator, law, level, number of users and accuracy."""
    found = Counter()

    def counting(function):
        def call(subject, *where):
            found[function.__name__, subject if isinstance(subject, Law) else pickle.dumps(subject), *where] += 1
            return function(subject, *where)

        return call

    with ExitStack() as patches:
        for module, name in _EVALUATORS:
            patches.enter_context(mock.patch.object(module, name, counting(getattr(module, name))))
        yield found
