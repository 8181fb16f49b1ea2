"""Of many parameters of one test some are tried by ``make test``, all of them by ``make test-all``."""

import pytest


def some(values, quick):
    """Every parameter; slow are all but ``quick`` of them (a number: evenly spread), or all that ``quick`` refuses."""
    values = list(values)
    kept = {len(values) * i // quick for i in range(quick)} if isinstance(quick, int) else None
    found = []
    for i, x in enumerate(values):
        is_named = hasattr(x, "values") and hasattr(x, "marks")
        each = x.values if is_named else x if isinstance(x, tuple) else (x,)
        is_quick = i in kept if kept is not None else quick(each if len(each) > 1 else each[0])
        found.append(pytest.param(*each, id=x.id if is_named else None, marks=() if is_quick else pytest.mark.slow))
    return found


def chunks(quick, of, bulk=range(0), of_bulk=1):
    """Seeds of one test, so many at once: those of ``make test``, and those of all others, which are slow."""
    slow = (bulk[i : i + of_bulk] for i in range(0, len(bulk), of_bulk))
    return [
        *(quick[i : i + of] for i in range(0, len(quick), of)),
        *(pytest.param(x, marks=pytest.mark.slow) for x in slow),
    ]
