# What a person or CI runs here. Every target sets up what it needs in .venv first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# SpoonAI needs 3.12; pyenv's `python3.12` may be there and refuse to run.
PYTHON312 ?= $(shell for p in python3.12 "$$(pyenv prefix 3.12 2>/dev/null)/bin/python3.12"; do "$$p" --version >/dev/null 2>&1 && echo "$$p" && break; done)
BIN := .venv/bin
# Most tests wait for somebody, so there is one process more than there are cores.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := -m pytest -q -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test312 check format faults bench doctor up lock clean

help:     ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9]+: .*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/demo.ok     ## See the main job: a page to click at a terminal, a played tour without one
	@$(BIN)/python -m bot demo

test: .venv/dev.ok .venv-server/server.ok     ## Run the whole suite
	@$(BIN)/python $(PYTEST) $(ARGS)

test312: .venv312/spoon.ok .venv-server/server.ok     ## Run the whole suite on Python 3.12, SpoonAI's tests too
	@.venv312/bin/python $(PYTEST) $(ARGS)

check: .venv/dev.ok     ## Format, lint, types, import contracts, tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test

format: .venv/dev.ok     ## Format and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

faults: .venv/dev.ok     ## Kills and races in their full counts, under 20 minutes
	@ASSENT_FAULTS=full $(BIN)/python $(PYTEST) tests/faults $(ARGS)

bench: .venv/dev.ok     ## Measure against the floors, in one run
	@$(BIN)/python -m benchmarks $(ARGS)

doctor: .venv/demo.ok     ## Check settings, Redis, Slack, channel and approvers
	@$(BIN)/python -m bot doctor

up: .venv/demo.ok     ## Run the bot with the settings of .env
	@$(BIN)/python -m bot

lock:     ## Resolve the locked versions anew (needs uv)
	uv pip compile pyproject.toml --group demo --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/demo.txt
	uv pip compile pyproject.toml --group bot --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/bot.txt
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/dev.txt
	uv pip compile pyproject.toml --group spoon --universal --python-version 3.12 --generate-hashes --no-strip-extras --no-emit-index-url --no-header -q -o requirements/spoon.txt
	uv pip compile pyproject.toml --group server --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url --no-header -q -o requirements/server.txt

clean:     ## Remove what was set up
	rm -rf .venv .venv312 .venv-server .data examples/node/node_modules examples/node/dist

# A stamp names the lock file that the environment was made from.
.venv/%.ok: requirements/%.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing $< into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# A LangGraph server wants other versions than the bot.
.venv-server/%.ok: requirements/%.txt
	@test -x .venv-server/bin/python || $(PYTHON) -m venv .venv-server
	@echo "installing $< into .venv-server"
	@.venv-server/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.venv312/%.ok: requirements/%.txt
	@test -n "$(PYTHON312)" || { echo "Python 3.12 is needed: install it, or name it: make test312 PYTHON312=…"; exit 1; }
	@test -x .venv312/bin/python || $(PYTHON312) -m venv .venv312
	@echo "installing $< into .venv312"
	@.venv312/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@
