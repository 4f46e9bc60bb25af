# Everything here runs from a fresh clone: each target makes the environment it needs. `make` alone prints the targets.

PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv$(if $(filter python3,$(PYTHON)),,-$(VERSION))
BIN := $(VENV)/bin
CORES := $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 8))')
# What is imported is compiled once for all processes, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# Python compiles what is imported; all of what is installed would take as long again.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PIP_INSTALL := $(PIP) install --no-compile --constraint constraints.txt
# uv takes a third of pip's time. It knows nothing of pip's settings: where these name an index, and where it fails, pip installs.
UV_INSTALL := ! $(PIP) config list | grep -Eq '[.](index-url|no-index)=' && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt

.PHONY: help demo test test-full test-durations test-lowest test-peers bench bench-ppo lint style layers types format viewer clean

help: ## print these targets
	@echo "usage: make TARGET [PYTHON=python3.13]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## train 30 agents, then a robot that learns to run, by evolution and by PPO; write their reports
	$(BIN)/kousoku train q_learning GridWorld-v0 --steps 500_000 --seeds 30 --discount 0.9 --epsilon linear:1:0.1:300_000
	$(BIN)/kousoku train ars HalfCheetah-v5 --seeds 4 --eval-every 1_000_000
	$(BIN)/kousoku train ppo HalfCheetah-v5 --steps 6_000_000 --eval-every 500_000

test: $(VENV)/.installed-test ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not full"

test-full: $(VENV)/.installed-test ## run the heavier checks too, more examples, every call's types; XLA compiles as for users
	KOUSOKU_TESTS=full $(BIN)/python -m pytest -n auto --dist worksteal

test-durations: $(VENV)/.installed-test ## run tests one at a time; those that take long for no reason told fail
	KOUSOKU_TEST_SECONDS=3 $(BIN)/python -m pytest -p no:xdist -m "not full" --durations 30

test-lowest: $(VENV)/bin/python ## train with the oldest libraries that pyproject.toml allows
	rm -rf .venv-lowest && $(PYTHON) -m venv .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable .
	.venv-lowest/bin/python tools/short_runs.py

test-peers: $(VENV)/.installed-peers ## run other libraries' environments in the kernel, and compare with distrax
	$(BIN)/python -c 'import brax, bsuite, distrax, dm_env, gymnax, minatar'
	$(BIN)/python -m pytest -n auto --dist loadgroup -m peers tests

bench: $(VENV)/.installed-bench ## measure the speed on this machine
	$(BIN)/kousoku bench tabular --out benchmarks
	$(BIN)/kousoku bench kernel --out benchmarks
	$(BIN)/kousoku bench balls --out benchmarks

bench-ppo: $(VENV)/.installed-bench-ppo ## measure PPO beside other libraries (they bring PyTorch); PUREJAXRL=FOLDER for PureJaxRL too
	$(BIN)/kousoku bench ppo --out benchmarks $(if $(PUREJAXRL),--purejaxrl $(PUREJAXRL))

lint: $(VENV)/.installed-test ## check style, types and import layers, side by side
	@$(MAKE) --no-print-directory --jobs=3 style layers types

style: $(VENV)/.installed-test ## check style alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: $(VENV)/.installed-test ## check import layers alone
	$(BIN)/lint-imports

types: $(VENV)/.installed-test ## check types alone
	$(BIN)/pyright --threads $(CORES)

format: $(VENV)/.installed-test ## format, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

viewer: ## build the scripts of the report and the players (needs Node and npm)
	cd viewer && npm ci && npm run build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Kousoku needs Python 3.11 or newer; this is $(VERSION). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	-$(PIP_INSTALL) uv

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	{ $(UV_INSTALL) --editable .; } || $(PIP_INSTALL) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/bin/python pyproject.toml constraints.txt
	{ $(UV_INSTALL) --editable ".[test]"; } || $(PIP_INSTALL) --editable ".[test]"
	touch $(VENV)/.installed $@

$(VENV)/.installed-peers: $(VENV)/.installed
	$(PIP_INSTALL) --editable ".[test,peers]"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP_INSTALL) --editable ".[bench]"
	touch $@

$(VENV)/.installed-bench-ppo: $(VENV)/.installed
	$(PIP_INSTALL) --editable ".[bench-ppo]"
	touch $@

clean: ## remove the environments and the caches
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .hypothesis
