# Every target is a line or two: scripts/setup makes the environment, and the tools do the work.
# Recipes `exec` what they start, so that a signal sent to make reaches it and not a shell in between.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup run api worker demo test test-long check synth deploy-check bench format openapi settings requirements clean

PYTHON_BIN := .venv/bin/python
PYTEST_ARGS ?=
STAGE ?= dev
BENCH_ARGS ?=
# The whole suite ends within this many seconds, whatever hangs (macOS has no `timeout`: there only
# the limit of a single test, in pyproject.toml, holds).
TEST_LIMIT_S ?= 1800
# One more than two cores have: many tests wait, for a lock, a time or a browser.
TEST_PROCESSES ?= 3
LIMITED := $(if $(shell command -v timeout 2>/dev/null),timeout --foreground --kill-after=30 $(TEST_LIMIT_S))

help: ## Show this list
	@colour=''; plain=''; \
	if [ -t 1 ] && [ -z "$${NO_COLOR:-}" ]; then colour=$$(printf '\033[36m'); plain=$$(printf '\033[0m'); fi; \
	awk -F ':.*## ' -v colour="$$colour" -v plain="$$plain" \
		'/^[a-z-]+:.*## / { printf "  %s%-19s%s%s\n", colour, "make " $$1, plain, $$2 }' Makefile

setup: ## Make the environment in .venv (every other target does so when needed)
	@exec scripts/setup dev

run: ## Start the whole system on 127.0.0.1 (PORT=8000; RESET=1 starts from nothing)
	@exec scripts/setup local
	@exec $(PYTHON_BIN) -m local run

api: ## Start the system without workers
	@exec scripts/setup local
	@exec $(PYTHON_BIN) -m local api

worker: ## Start the workers for a system that `make api` started
	@exec scripts/setup local
	@exec $(PYTHON_BIN) -m local worker

demo: ## Start, place some orders, follow each to its mail, stop
	@exec scripts/setup local
	@exec $(PYTHON_BIN) -m local demo

# A process that a hung test took down is not replaced: the others take over its work. Compiled tests are kept, whatever
# the environment says: otherwise every process would compile all of them in every run.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(LIMITED) $(PYTHON_BIN) -m pytest -n $(TEST_PROCESSES) --dist loadgroup \
	--max-worker-restart=0 --durations=15 --durations-min=1 $(if $(SEED),--seed=$(SEED))

test: ## Run the tests (PYTEST_ARGS='-k checkout' narrows them, SEED=7 repeats one)
	@exec scripts/setup dev
	@exec $(PYTEST) $(PYTEST_ARGS)

# One of these may take longer than a test that hangs is given.
test-long: ## Run the randomized tests many times instead of a few (SEED=7 repeats one)
	@exec scripts/setup dev
	@exec $(PYTEST) --long -o faulthandler_timeout=1200 $(PYTEST_ARGS)

check: ## Lint, format, types and layering, without changing a file
	@exec scripts/setup dev
	@exec .venv/bin/ruff check
	@exec .venv/bin/ruff format --check
	@exec .venv/bin/mypy
	@exec .venv/bin/lint-imports

# With the Node that .venv brings: no machine's own is asked for.
synth: ## Make the CloudFormation templates in cdk.out, without an account (STAGE=dev)
	@exec scripts/setup dev
	@exec scripts/cdk synth --quiet --no-lookups -c stage=$(STAGE)

# On an emulator of AWS on loopback, in an environment of its own: no account is asked for and none is reached.
deploy-check: ## Bootstrap, deploy, order, diff and destroy, on an emulator of AWS
	@exec scripts/setup dev
	@exec $(PYTHON_BIN) -m tests.deploy_check

bench: ## Measure, print a table and write bench/results.json (BENCH_ARGS='--quick --only checkout')
	@exec scripts/setup dev
	@exec $(PYTHON_BIN) -m bench $(BENCH_ARGS)

format: ## Format the code and fix what can be fixed
	@exec scripts/setup dev
	@exec .venv/bin/ruff check --fix
	@exec .venv/bin/ruff format

openapi: ## Write docs/openapi.json, and the TypeScript types and the table of routes made of it
	@exec scripts/setup dev
	@$(PYTHON_BIN) -m api.openapi > docs/openapi.json.new && mv docs/openapi.json.new docs/openapi.json
	@$(PYTHON_BIN) -m infra.routes_page
	@cd tests/typescript && npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel error && exec npm run --silent types

settings: ## Write docs/settings.md from the table of functions
	@exec scripts/setup dev
	@$(PYTHON_BIN) -m infra.settings_page > docs/settings.md.new && mv docs/settings.md.new docs/settings.md

requirements: ## Refresh the hashed requirement files (UPGRADE=1 takes newer versions too)
	@exec scripts/setup dev
	@exec scripts/lock-requirements

clean: ## Remove the environment and all caches; the data in .local stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache cdk.out node_modules
	find . -path ./.git -prune -o -name __pycache__ -prune -exec rm -rf {} +
