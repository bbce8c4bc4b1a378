# What a person or CI runs here. Every target sets up what it needs in .venv first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# SpoonAI needs 3.12; pyenv's `python3.12` may be there and refuse to run.
PYTHON312 ?= $(shell for p in python3.12 "$$(pyenv prefix 3.12 2>/dev/null)/bin/python3.12"; do "$$p" --version >/dev/null 2>&1 && echo "$$p" && break; done)
BIN := .venv/bin
# Most tests wait for somebody, so there is one process more than there are cores.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# The lock file is also the constraint: without it, pip takes the newest version for a package that another one names with an extra,
# and then finds no hash for it.
INSTALL = -m pip install --quiet --disable-pip-version-check --require-hashes -r $< -c $<
PYTEST = -m pytest -q -n $(JOBS) --dist worksteal
# What needs neither a server nor a framework that is slow to import.
UNIT := $(addprefix tests/agent_adapter/,contract dialects test_gating.py test_function_schema.py test_cipher.py) \
	$(addprefix tests/bot/,domain listeners policy rendering text slack/test_manifest.py)
# Where another Python, or other versions of packages, make a difference: signatures, annotations, asyncio, processes, the frameworks.
SECOND := tests/agent_adapter $(addprefix tests/bot/,cli http runtime slack) \
	$(addprefix tests/acceptance/test_,deciding.py demo.py functions.py http_api.py langgraph.py openai_agents.py pydantic_ai.py spoon.py)
# With it, every process would compile the project and its tests anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help redis demo playground doctor up unit test format check versions claude faults bench pictures docs dist system lock clean

help:
	@awk -F ':.*## ' '/^##@/{printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+: .*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nA part of the tests: make test ARGS="tests/bot -k doctor". In one process, for a debugger: JOBS=0.\n'

# From Python 3.13 on, no package brings a Redis. Who has none reads it here, and not after a minute of installing.
redis:
	@python="$(or $(wildcard $(BIN)/python),$(PYTHON))"; "$$python" -c "import sys; sys.exit(sys.version_info >= (3, 13))" \
	|| "$$python" playground/redis_server.py >/dev/null

##@ Try it
demo: $(if $(REDIS_URL),,redis) .venv/demo.ok     ## See the main job: a page to click at a terminal, a played tour without one
	@$(BIN)/python -m playground.demo

playground: redis .venv/demo.ok     ## A page, a bot and a Redis for an agent of your own; shows the lines to paste
	@$(BIN)/python -m playground.demo own

doctor: .venv/demo.ok     ## Check settings, Redis, Slack, channel and approvers
	@$(BIN)/python -m bot doctor

up: .venv/demo.ok     ## Run the bot with the settings of .env
	@$(BIN)/python -m bot

##@ While you write
unit: JOBS = $(shell getconf _NPROCESSORS_ONLN)
unit: .venv/dev.ok     ## Pure tests, without servers and random input: half a minute
	@$(BIN)/python $(PYTEST) -m "not server and not hypothesis and not nightly" $(UNIT) $(ARGS)

test: redis .venv/dev.ok .venv/tools.ok .venv-server/server.ok     ## The whole suite, with real servers and frameworks (ON=sentinel or cluster for another Redis)
	@$(if $(ON),ASSENT_TESTS_ON=$(ON)) $(BIN)/python $(PYTEST) $(ARGS)

format: .venv/dev.ok     ## Format, and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

##@ Before you push
check: .venv/dev.ok     ## Format, lint, types, import contracts, then the whole suite: what CI runs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@if command -v luacheck >/dev/null; then luacheck --quiet agent_adapter bot; \
	elif test -n "$$ASSENT_REQUIRE_LANES"; then echo "luacheck is required here, but it is not on the PATH: make system"; exit 1; \
	else echo "luacheck was skipped: it is not on the PATH (make system installs it)"; fi
	@$(MAKE) --no-print-directory test

versions: redis .venv/tools.ok .venv-server/server.ok     ## What another Python can change, on 3.12 with SpoonAI, the lowest and the newest packages (ON=312 for one)
	@for each in $(or $(ON),312 lowest newest); do \
	$(MAKE) --no-print-directory .venv$$each/packages.ok && \
	.venv$$each/bin/python $(PYTEST) $(or $(ARGS),$(SECOND)) || exit 1; done

claude: redis .venv/dev.ok     ## Claude Code's real program, offline, and FastMCP's client; installs claude-agent-sdk, which has 360 MB
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check claude-agent-sdk==0.2.187 fastmcp==4.2.3
	@ASSENT_TESTS_CLAUDE=1 $(BIN)/python $(PYTEST) tests/agent_adapter/claude tests/agent_adapter/mcp $(ARGS)

faults: redis .venv/dev.ok     ## Kills, races and generated input in their full counts: 20 minutes
	@ASSENT_FAULTS=full $(BIN)/python $(PYTEST) -m "faults or hypothesis" tests/faults tests/agent_adapter tests/bot tests/playground tests/test_log_verifier.py $(ARGS)

bench: .venv/dev.ok     ## Measure against the floors, in one run
	@$(BIN)/python -m benchmarks $(ARGS)

##@ Documentation and releases
docs: .venv-docs/docs.ok     ## Build the documentation as a site, in .site
	@PYTHONPATH=docs/site .venv-docs/bin/zensical build --strict --clean
	@.venv-docs/bin/python docs/site/check.py .site
	@echo "Look at it: .venv-docs/bin/python -m http.server -d .site 8000, then http://localhost:8000"

pictures: redis .venv/dev.ok .venv/pictures.ok     ## Ask and decide what docs/gallery.md shows, and draw its pictures
	@$(BIN)/python -m tests.support.gallery

dist: .venv/tools.ok     ## Build what is published, the library and the bot, into dist/
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist .
	@$(BIN)/python -m build --no-isolation --outdir dist packages/assent-bot

##@ This machine
system:     ## Install what the tests need from the system: a Redis, a browser, PostgreSQL (Debian, Ubuntu, macOS)
	@.ci/system

COMPILE := $(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header -q
lock: .venv/tools.ok     ## Resolve the locked versions anew
	$(COMPILE) pyproject.toml --python-version 3.11 --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --python-version 3.11 --group demo --constraint requirements/dev.txt -o requirements/demo.txt
	$(COMPILE) pyproject.toml --python-version 3.11 --group bot --group calendar --group otel -o requirements/bot.txt
	$(COMPILE) pyproject.toml --python-version 3.12 --group spoon -o requirements/spoon.txt
	$(COMPILE) pyproject.toml --python-version 3.11 --group server -o requirements/server.txt
	$(COMPILE) --python-version 3.11 --group docs -o requirements/docs.txt
	$(COMPILE) --python-version 3.11 --group tools --constraint requirements/dev.txt -o requirements/tools.txt
	$(COMPILE) --python-version 3.11 --group pictures --constraint requirements/dev.txt -o requirements/pictures.txt

clean:     ## Remove what was set up
	rm -rf .venv .venv312 .venvlowest .venvnewest .venv-server .venv-docs .data .site .cache dist examples/node/node_modules examples/node/dist packages/assent-js/node_modules packages/assent-js/dist tests/node/node_modules

# A stamp names the lock file that the environment was made from.
.venv/%.ok: requirements/%.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing $< into .venv"
	@$(BIN)/python $(INSTALL)
	@touch $@

# A LangGraph server wants other versions than the bot.
.venv-server/%.ok: requirements/%.txt
	@test -x .venv-server/bin/python || $(PYTHON) -m venv .venv-server
	@echo "installing $< into .venv-server"
	@.venv-server/bin/python $(INSTALL)
	@touch $@

# Nothing of the library is imported to document it, so this one has neither the library nor what it needs.
.venv-docs/%.ok: requirements/%.txt
	@test -x .venv-docs/bin/python || $(PYTHON) -m venv .venv-docs
	@echo "installing $< into .venv-docs"
	@.venv-docs/bin/python $(INSTALL)
	@touch $@

.venv312/packages.ok: requirements/spoon.txt
	@test -n "$(PYTHON312)" || { echo "Python 3.12 is needed: install it, or name it: make versions PYTHON312=…"; exit 1; }
	@test -x .venv312/bin/python || $(PYTHON312) -m venv .venv312
	@echo "installing $< into .venv312"
	@.venv312/bin/python $(INSTALL)
	@touch $@

# Never there, so these two are resolved anew each time.
.venvlowest/packages.ok: RESOLUTION := lowest-direct
.venvnewest/packages.ok: RESOLUTION := highest
.venvlowest/packages.ok .venvnewest/packages.ok:
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "installing other versions into $(@D)"
	@$(BIN)/uv pip compile pyproject.toml --group dev --resolution $(RESOLUTION) --upgrade --python $(@D)/bin/python --no-header -q -o $(@D)/versions.txt
	@$(BIN)/uv pip sync -q --python $(@D)/bin/python $(@D)/versions.txt
