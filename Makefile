# The two commands of a newcomer: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PACKAGES := event_schemas infra projections consumers producers outbox_relay caseops
FULL := $(VENV)/.installed-dev
LIGHT := $(VENV)/.installed-local

.DEFAULT_GOAL := help
.PHONY: help install demo up down test check bench sizes schemas released lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

install: $(FULL) ## everything, from the lock, into .venv

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "CaseOps needs Python 3.11 or newer: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(FULL): requirements/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --require-hashes -r requirements/build.txt
	$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $(FULL) $(LIGHT)

# What the demo needs and no more; a full install satisfies it.
$(LIGHT): requirements/local.txt | $(BIN)/python
	@echo "installing what the demo needs into $(VENV), from requirements/local.txt ..."
	$(PIP) install --quiet --require-hashes -r requirements/build.txt
	$(PIP) install --quiet --require-hashes -r requirements/local.txt
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $(LIGHT)

demo: $(LIGHT) ## the payment incident on a real Kafka and a real PostgreSQL, then clean up
	$(BIN)/caseops demo

up: $(LIGHT) ## start the local stack and leave it running
	$(BIN)/caseops up --detach

down: $(LIGHT) ## stop the local stack
	$(BIN)/caseops down

test: $(FULL) ## every test but the long drills; starts its own stack
	$(BIN)/pytest -m "not drill"

check: $(FULL) ## lint, types, import contracts, fast tests, generated files: under a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES) tests $(wildcard benchmarks)
	$(BIN)/lint-imports
	$(BIN)/python -m event_schemas.published check
	$(BIN)/pytest -q tests/unit tests/architecture

bench: $(FULL) ## measure each promise, medians of five, and name the machine
	$(BIN)/python -m benchmarks

sizes: $(FULL) ## report the sizes of files and functions
	$(BIN)/python -m tests.support.sizes

schemas: $(FULL) ## write the JSON Schemas and the AsyncAPI document
	$(BIN)/python -m event_schemas.published write

released: schemas ## at a release: make today's schemas the baseline, if compatible
	$(BIN)/pytest -q tests/contract/test_schemas_compatible.py -k "not has_a_released_schema"
	cp event_schemas/json/*.json tests/contract/released/

LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: | $(FULL) ## resolve the dependencies again and write the lock files
	$(LOCK) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	$(LOCK) pyproject.toml -c requirements/dev.txt -o requirements/core.txt
	$(LOCK) pyproject.toml --extra local -c requirements/dev.txt -o requirements/local.txt
	$(LOCK) requirements/build.in -o requirements/build.txt

clean: ## remove caches; .venv and .caseops stay
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
