PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
BASE := $(VENV)/.base
DEV := $(VENV)/.dev

.PHONY: demo test test-all lint docs bench clean

demo: $(BASE)
	$(BIN)/python -m symamp.command_line.demo

test: lint
	$(BIN)/python -m pytest -n 2 -q --durations=10
	$(BIN)/python -m pytest -q --nbmake --nbmake-timeout=300 notebooks

test-all: lint
	$(BIN)/python -m pytest -n 2 -q -m "slow or not slow"
	$(BIN)/python -m pytest -q --nbmake --nbmake-timeout=300 notebooks

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV)
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(DEV)
	$(BIN)/python -m pytest benchmarks -q -p no:randomly -p no:xdist --benchmark-sort=name

clean:
	rm -rf $(VENV) docs/_build docs/gallery.md docs/audit.md .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BASE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $(BASE)

$(DEV): $(BASE)
	$(PIP) -e ".[dev]"
	touch $(DEV)
