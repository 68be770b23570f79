# `make run` and `make test` need nothing before them: the environment is made where it is missing.
.PHONY: setup run test check bench results example clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH := .venv-bench

run: $(READY)  ## the ten folds of the paper, with the fast preset; ARGS="paper --folds 1" for others
	$(BIN)/unseen run $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

RUN ?= fast
RUNS ?= runs
example: $(READY)  ## the example report of docs/, from a finished run: RUN=fast RUNS=runs
	$(BIN)/python scripts/make_example.py $(RUN) $(RUNS)

bench: $(READY)  ## ours against the notebook's in Keras; ARGS=--quick for 3 minutes
	@$(MAKE) --silent --no-print-directory $(BENCH)/.ready || echo "Keras and TensorFlow could not be installed; the next make bench tries again." >&2
	$(BIN)/python benchmarks/bench.py $$(test -f $(BENCH)/.ready && echo --keras $(BENCH)/bin/python) $(ARGS)

results: $(READY)  ## every row of docs/results.md, hours in all; ARGS="--only fast" for some
	$(BIN)/python scripts/results.py $(ARGS)

setup: $(READY)

# The stamp is written last, so an install that was cut short is taken up again.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo "unseen needs Python 3.11 to 3.14; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

# Keras and TensorFlow keep an environment of their own; where they cannot be had, bench does without.
$(BENCH)/.ready: pyproject.toml
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@rm -f $@
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")' > $(BENCH)/requirements.txt
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r $(BENCH)/requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
