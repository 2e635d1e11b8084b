# `make demo` and `make test` do all of their own set-up: a virtual environment in .venv, pinned by constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint format bench clean

demo: .venv/installed  ## train a model on this machine and see which unseen combinations it learns to draw
	env -u OMP_NUM_THREADS $(BIN)/recombine run concept-graphs/emergence --budget laptop

test: .venv/installed-dev  ## all tests with coverage
	rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered --cov-fail-under=85

lint: .venv/installed-dev  ## style, types, and the direction of imports
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: .venv/installed  ## speed of this machine, as ratios
	env -u OMP_NUM_THREADS $(BIN)/recombine bench

clean:  ## forget the virtual environment and caches; never the store
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage*

.venv/created:
	$(PYTHON) -c 'import sys; sys.exit("recombine needs Python 3.11 or newer: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/created pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-dev: .venv/created pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ .venv/installed
