"""Of many parameters of one test some are tried by ``make test``, all of them by ``make test-all``."""

import pytest


def some(values, quick):
    """Every parameter; slow are all but ``quick`` of them (a number: evenly spread), or all that ``quick`` refuses."""
    values = list(values)
    kept = {len(values) * i // quick for i in range(quick)} if isinstance(quick, int) else None
    return [
        pytest.param(
            *(x if isinstance(x, tuple) else (x,)),
            marks=() if (i in kept if kept is not None else quick(x)) else pytest.mark.slow,
        )
        for i, x in enumerate(values)
    ]
