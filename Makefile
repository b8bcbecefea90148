# Every command of this house; `make` alone lists them. Needs Python 3.11 or newer, pip and make.
PYTHON ?= python3
PORT ?= 8000
FRESH ?=
UPGRADE ?=
export PORT

RUN := $(PYTHON) apps/config/bootstrap.py run --
# What is compiled is kept, even where the shell says otherwise: tests start hundreds of programs.
TEST := env -u PYTHONDONTWRITEBYTECODE $(PYTHON) apps/config/bootstrap.py test --
# A core's half of the tests is taken in a row, so that what a module has set up once serves it all. Browser tests are
# dealt out by the file: each core has a demo of its own, and one that is killed is missed by nobody else.
BOTH := $(TEST) -m pytest -n 2 --dist worksteal --ignore tests/e2e
BROWSERS := $(TEST) -m pytest -n 2 --dist loadfile tests/e2e
UV = $(or $(shell command -v uv),.venv/bin/uv)
COMPILE = $(UV) pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help demo test unit lint types bench lock clean
.NOTPARALLEL:

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: ## everything, running, with sample data (PORT=8000; FRESH=1 deletes the demo's data first)
	@$(RUN) -m apps.demo $(if $(FRESH),--fresh)

test: ## set up and run everything: lint, types, tests against real servers, a real browser
	@$(PYTHON) apps/config/bootstrap.py test --browser --mailbox -- -m ruff check .
	@$(TEST) -m ruff format --check .
	@$(TEST) -m mypy
	@trap '$(TEST) -m apps.core.embedded stop var/test' EXIT; trap 'exit 130' INT TERM; \
		$(BOTH) && $(BROWSERS)

unit: ## the fast tests only: no browser, nothing killed; their servers stay up for the next run
	@$(BOTH) -m "not chaos and not slow"

lint: ## ruff, as rules and as format
	@$(TEST) -m ruff check .
	@$(TEST) -m ruff format --check .

types: ## mypy, strict
	@$(TEST) -m mypy

bench: ## measure; the last line is one JSON object
	@$(RUN) -m apps.demo.bench

lock: ## write both lock files from pyproject.toml (UPGRADE=1 takes newer releases); needs uv
	@test -x "$(UV)" || { echo "make lock needs uv: pip install uv, or put it on the PATH." >&2; exit 1; }
	@$(COMPILE) -o requirements.lock
	@$(COMPILE) --group test -c requirements.lock -o .requirements-test.lock

clean: ## stop the embedded servers and delete var/ (all demo data), .venv and caches
	@for folder in var/test var; do \
		test ! -d $$folder || $(PYTHON) -m apps.core.embedded erase $$folder || exit 1; done
	@rm -rf var .venv staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find apps tests -name __pycache__ -type d -prune -exec rm -rf {} +
