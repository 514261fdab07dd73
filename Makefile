# `make demo` and `make test` set up all they need in .venv; a second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than there are cores: tests of deployments wait for other processes most of their time.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
# Results are written so that they outlast a crash, which keeps a slow disk busy for minutes: tests write into memory.
MEMORY := $(shell df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 && $$4 > 4000000 {print "/dev/shm"}')
# Most of what is installed is never imported: what is, is compiled then, and kept.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt

# Tests start many processes: what one of them has compiled is there for the others.
export PYTHONDONTWRITEBYTECODE :=

# Two goals at once would install into one environment at once; only checks run beside each other, in a make of their own.
ifndef BESIDE
.NOTPARALLEL:
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test checks lint types contracts site compiled tests format page pictures bench clean

help:
	@echo "make demo    set up the light core and show what comity does"
	@echo "make test    set up everything the tests need, then lint, types, import contracts, the documentation and all tests"
	@echo "make setup   set up everything for development, with all extras"
	@echo "make bench   measure (see docs/benchmarks.md)"
	@echo "make site    build the documentation into build/site"
	@echo "make page    write docs/reproduction.md from the results in docs/results"
	@echo "make format  put the code in its usual form"
	@echo "make clean   remove what the others made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "comity needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "==> making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip --version > /dev/null || \
		{ rm -rf $(VENV); echo "$(PYTHON) cannot make an environment with pip (Debian: install python3-venv)"; exit 1; }

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> installing comity (the light core) into $(VENV)"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> installing comity and what the tests need into $(VENV)"
	@$(INSTALL) --editable '.[dev]'
	@touch $(VENV)/.core $@

demo: $(VENV)/.core
	@echo "==> comity demo"
	@$(BIN)/comity demo

setup: $(VENV)/.dev

test: checks tests

# Each of them has one thread, and types take as long as all others.
checks: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target BESIDE=1 types site lint contracts compiled

lint: $(VENV)/.dev
	@echo "==> lint (ruff)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.dev
	@echo "==> types (mypy)"
	@$(BIN)/mypy

contracts: $(VENV)/.dev
	@echo "==> import contracts (import-linter)"
	@$(BIN)/lint-imports

site: $(VENV)/.dev
	@echo "==> documentation (mkdocs)"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# All modules and tests imported once, else every worker compiles all of them; what fails here, the tests tell.
compiled: $(VENV)/.dev
	@$(BIN)/pytest --collect-only --quiet > /dev/null || true

tests: $(VENV)/.dev
	@echo "==> tests (pytest)"
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(MEMORY:%=PYTEST_DEBUG_TEMPROOT=%) \
		$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

page: $(VENV)/.dev
	@$(BIN)/python -m comity.research.experiments.page docs/results docs/reproduction.md

pictures: $(VENV)/.dev
	@$(BIN)/python docs/pictures/make.py

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist
