# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUTPUT ?= demo-output
PYTEST ?= -n 2

.PHONY: help demo test lint types contracts docs bench clean

help:
	@echo "make demo   set up and run the main job on a synthetic archive (report in $(OUTPUT))"
	@echo "make test   set up and run the tests"
	@echo "make lint types contracts   static checks"
	@echo "make docs   build the documentation into docs/_build/html"
	@echo "make bench  run every benchmark"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "climanchor needs Python >= 3.11; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(VENV)/.core $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs]"
	@touch $(VENV)/.core $(VENV)/.dev $@

demo: $(VENV)/.core
	$(BIN)/climanchor demo --output $(OUTPUT)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.dev
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

clean:
	rm -rf $(VENV) $(OUTPUT) docs/_build docs/gallery docs/reference/generated build dist .pytest_cache .mypy_cache .ruff_cache
