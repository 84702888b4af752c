# Everything needs only Python 3.11 or newer and make: the environment is made when it is first wanted,
# and brought up to date when pyproject.toml changes.

PYTHON ?= python3
# In which order the tests run, and what chance gives them; another number, or none, looks for other failures.
CHANCE ?= 1
# How many processes run the tests: more than a small machine has cores, because many tests wait.
PROCESSES ?= 4
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed-core
DEV := $(VENV)/.installed-dev
LLM := $(VENV)/.installed-llm
TYPES := $(VENV)/.installed-types
DOCS := $(VENV)/.installed-docs
CONSOLE := $(VENV)/.installed-console
# The versions a developer gets; `make LOCK= test` takes the newest that pyproject.toml allows.
LOCK ?= dev.lock
# What pip says is followed by a script: short lines, one every few seconds at least.
PIP := -m pip install --disable-pip-version-check --retries 10 --progress-bar off
INSTALL = $(BIN)/python scripts/progress.py "$(1)" $(BIN)/python $(PIP)
DEV_PACKAGES := $(if $(LOCK),--constraint $(LOCK)) --group dev
EXTRAS := encryption,faiss,falkordb,keyring,mcp,multilingual,neo4j,postgres,redis,server,static,tiktoken

.DEFAULT_GOAL := help
.PHONY: help run chat demo test test-system test-llm lint types docs bench quality requirements size clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | while IFS='|' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

run: $(CORE)  ## the service; prints its address and lines to paste; ARGS="--upstream openai" makes clients remember
	@$(BIN)/memstone serve $(ARGS)

chat: $(CORE)  ## talk in the terminal and see what is learned; ARGS="--upstream ollama" for answers
	@$(BIN)/memstone chat $(ARGS)

demo: $(CORE)  ## a short demonstration in the terminal, on a memory of its own
	@$(BIN)/memstone demo

# Compiled code is stored even where it is not wanted otherwise: the tests start hundreds of processes.
test: $(DEV)  ## the tests, and whether they name every requirement that is due
	@PYTHONDONTWRITEBYTECODE= PYTHONHASHSEED=$(CHANCE) $(BIN)/python -m pytest -p tests.coverage_plugin \
	  --numprocesses=$(PROCESSES) --dist=worksteal $(if $(CHANCE),--randomly-seed=$(CHANCE)) -m "not system and not llm"
	@$(MAKE) --no-print-directory requirements

test-system: $(CONSOLE)  ## all scenarios on every store, then the long tests with real processes; writes docs/test-system.md
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --quiet --whole --numprocesses=3 --dist=worksteal \
	  -m "not system and not llm" tests/conformance tests/faces tests/stores
	@$(BIN)/python scripts/system_report.py

test-llm: $(LLM)  ## the tests with real language models on this machine; fetches 1.2 GB once
	@$(BIN)/python scripts/fetch_models.py
	@$(BIN)/python -m pytest -m llm tests/llm

lint: $(DEV)  ## style, format, types, import rules, dependencies, names, sizes
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry src
	@$(BIN)/python scripts/name_lint.py
	@$(MAKE) --no-print-directory size

types: $(TYPES)  ## what pyright sees of the public names, and how much of the package is typed
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright
	@$(BIN)/python scripts/type_report.py

docs: $(DOCS)  ## these pages as a site with search, in site/
	@$(BIN)/python scripts/build_docs.py

bench: $(CORE)  ## the speed of everyday calls, with a ratio against something real
	@$(BIN)/python -m benchmarks.speed

quality: $(CORE)  ## whether answers are found; DATA= a file in the FORMAT= locomo or longmemeval
ifdef DATA
	@$(BIN)/python -m benchmarks.quality retrieval --format $(or $(FORMAT),locomo) --data '$(DATA)'
else
	@$(BIN)/python -m benchmarks.quality --help
endif

requirements: $(BIN)/python  ## which requirements the tests name
	@$(BIN)/python scripts/requirements.py

size: $(BIN)/python  ## how long files and functions are
	@$(BIN)/python scripts/size_report.py

clean:  ## remove the environment, caches and builds
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests scripts benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# A version check first, because the error of a too old Python would come late and say something else.
# A half-made environment is removed, so that the next call starts afresh.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "Memstone needs Python 3.11 or newer, and $(PYTHON) is %d.%d: say make PYTHON=python3.11 ..." % v[:2])'
	@$(PYTHON) scripts/progress.py "Making $(VENV) (once)" $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Running the product does not need the developer's tools; whoever has them has the core as well.
$(CORE): pyproject.toml | $(BIN)/python
	@$(call INSTALL,Installing Memstone) --editable '.[mcp,server]'
	@touch $@

# Groups need a newer pip than an older Python brings along.
$(DEV): pyproject.toml $(LOCK) | $(BIN)/python
	@$(call INSTALL,Bringing pip up to date) 'pip>=25.1'
	@$(call INSTALL,Installing Memstone and the tools for developers) $(DEV_PACKAGES) --editable '.[$(EXTRAS)]'
	@touch $(CORE) $@

$(TYPES): $(DEV)
	@$(call INSTALL,Installing pyright) $(DEV_PACKAGES) --group types
	@touch $@

$(DOCS): pyproject.toml | $(BIN)/python
	@$(call INSTALL,Bringing pip up to date) 'pip>=25.1'
	@$(call INSTALL,Installing what builds the documentation) --group docs
	@touch $@

$(CONSOLE): $(DEV)
	@$(call INSTALL,Installing what drives a browser) $(DEV_PACKAGES) --group console-tests
	@touch $@

$(LLM): $(DEV)
	@$(call INSTALL,Installing a runtime for language models) $(DEV_PACKAGES) --editable '.[$(EXTRAS),local-llm]'
	@touch $@
