"""Every test runs at some global precision, and must leave it as it was; what is drawn is the same in every run.

``HYPOTHESIS_PROFILE=explore`` (as ``make fuzz`` sets it) draws anew each time.
"""

import gc
import os
from importlib.util import find_spec
from random import Random

import flint
import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
settings.load_profile(PROFILE)


def needs_dp_accounting(item):
    source = "".join(example.source for example in item.dtest.examples)
    return any(name in source for name in ("dp_accounting", "pld_accountant", "event_classes"))


def pytest_collection_modifyitems(config, items):
    """Leave out the examples that need a package which only ``make test-all`` installs.

    They are not marked: on Python 3.13 an example of a wrapped function has no line that a skip could be reported at.
    """
    if find_spec("dp_accounting") is None:
        needing = [x for x in items if isinstance(x, pytest.DoctestItem) and needs_dp_accounting(x)]
        items[:] = [x for x in items if x not in needing]
        config.hook.pytest_deselected(items=needing)


def pytest_collection_finish():
    """What is there before the first test stays: it need not be searched for garbage again and again."""
    gc.freeze()
    gc.set_threshold(300_000, 20, 1000)


@pytest.fixture(autouse=True)
def random_precision(request):
    """Nothing in the package may depend on the global precision of python-flint, or change it."""
    before = flint.ctx.prec
    precision = Random(request.node.nodeid if PROFILE == "same" else None).choice([30, 53, 64, 113, 300])
    flint.ctx.prec = precision
    yield
    after, flint.ctx.prec = flint.ctx.prec, before
    assert after == precision, "a precision leaked"
