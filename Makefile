PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# The pip of Python 3.11 knows no dependency groups (PEP 735).
GROUPS := "pip>=25.1"
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
OLDEST := .venv-oldest
# Each process begins with half of the files, so that what the tests of one file share is computed once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal -q
ALL := --nbmake --nbmake-timeout=300 notebooks tests symamp

# What is imported is compiled once, by the process that imports it first: pip would compile ten times as much.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests test-all test-oldest test-portable fuzz lint docs linkcheck bench package-check clean

demo: $(BASE)
	$(BIN)/python -m symamp.command_line.demo

# Side by side: one process would be idle while mypy runs.
test: $(DEV)
	$(MAKE) --no-print-directory -j2 lint tests

tests: $(DEV)
	$(PYTEST) --durations=10 $(ALL)

test-all: lint
	$(PIP) -e ".[dask,export]"
	$(PYTEST) -m "slow or not slow" $(ALL)

test-oldest: $(OLDEST)/.test
	$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal -q

test-portable: $(DEV)
	PYTHON=$(BIN)/python tests/portability.sh

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV)
	$(BIN)/python docs/deployments/figures.py
	$(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

linkcheck: $(DEV)
	$(BIN)/sphinx-build -b linkcheck docs docs/_build/linkcheck

bench: $(DEV)
	$(BIN)/python -m pytest benchmarks -q -p no:randomly -p no:xdist --benchmark-sort=name

package-check: $(DEV)
	$(BIN)/python -m pytest -q -p no:xdist -m slow tests/pages/test_package.py

fuzz: $(DEV)
	SYMAMP_FUZZ_SECONDS=$${SYMAMP_FUZZ_SECONDS:-600} $(BIN)/python -m pytest tests/fuzz -q -s -p no:xdist
	$(BIN)/python tests/fuzz/run.py

clean:
	rm -rf $(VENV) $(OLDEST) docs/_build docs/generated docs/mechanisms docs/notebooks docs/audit.md build dist *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BASE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $(BASE)

$(DEV): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(GROUPS)
	$(PIP) -e . --group dev
	touch $(BASE) $(DEV)

$(OLDEST)/.test: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check $(GROUPS)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e . --group test
	touch $@
