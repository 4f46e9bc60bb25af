# Everything here runs from a fresh clone: each target makes the environment it needs.
#   make demo                 train 30 agents, then a robot that learns to run; write their reports
#   make test                 the tests (PYTHON=python3.13 for another Python)
#   make test-full            the heavier checks too, more examples, every call's types; XLA compiles as for users
#   make test-durations       the tests, one at a time; those that take long for no reason told fail
#   make test-peers           other libraries' environments in the kernel, and distrax's distributions
#   make bench                measure the speed on this machine
#   make bench-ppo            and that of training, beside other libraries (they bring PyTorch)
#   make lint                 style, types and layers
#   make viewer               build the scripts of the report and the players (needs Node and npm)

PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv$(if $(filter python3,$(PYTHON)),,-$(VERSION))
BIN := $(VENV)/bin
# Python compiles what is imported; all of what is installed would take as long again.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-full test-durations test-peers bench bench-ppo lint format viewer clean

demo: $(VENV)/.installed
	$(BIN)/kousoku train q_learning GridWorld-v0 --steps 500_000 --seeds 30 --discount 0.9 --epsilon linear:1:0.1:300_000
	$(BIN)/kousoku train ppo HalfCheetah-v5 --steps 6_000_000 --eval-every 500_000

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not full and not exact"
	KOUSOKU_TEST_HASTE=exact $(BIN)/python -m pytest -n auto --dist worksteal -m "exact and not full" $$(grep -rl --include="*.py" "mark.exact" tests)

test-full: $(VENV)/.installed-test
	KOUSOKU_TEST_HASTE=off $(BIN)/python -m pytest -n auto --dist worksteal

test-durations: $(VENV)/.installed-test
	KOUSOKU_TEST_SECONDS=3 $(BIN)/python -m pytest -p no:xdist -m "not full" --durations 30

test-peers: $(VENV)/.installed-peers
	$(BIN)/python -c 'import distrax, gymnax'
	$(BIN)/python -m pytest -n auto --dist loadgroup tests/peers

bench: $(VENV)/.installed-bench
	$(BIN)/kousoku bench tabular --out benchmarks
	$(BIN)/kousoku bench kernel --out benchmarks
	$(BIN)/kousoku bench balls --out benchmarks

# PUREJAXRL=FOLDER, with a copy of its source, measures PureJaxRL too.
bench-ppo: $(VENV)/.installed-bench-ppo
	$(BIN)/kousoku bench ppo --out benchmarks $(if $(PUREJAXRL),--purejaxrl $(PUREJAXRL))

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

viewer:
	cd viewer && npm ci && npm run build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Kousoku needs Python 3.11 or newer; this is $(VERSION). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) --editable ".[test]"
	touch $(VENV)/.installed $@

$(VENV)/.installed-peers: $(VENV)/.installed
	$(INSTALL) --editable ".[test,peers]"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(INSTALL) --editable ".[bench]"
	touch $@

$(VENV)/.installed-bench-ppo: $(VENV)/.installed
	$(INSTALL) --editable ".[bench-ppo]"
	touch $@

clean:
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .hypothesis
