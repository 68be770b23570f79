# `make run` and `make test` need nothing before them: each installs what it needs and has not got.
.PHONY: setup run lab test fuzz check docs bench results example clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# stamps: what running needs is installed, and what tests and checks need
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
BENCH := .venv-bench

run: $(READY)  ## the ten folds of the paper, with the fast preset; ARGS="paper --folds 1" for others
	$(BIN)/unseen run $(ARGS)

lab: $(READY)  ## the lab: a page to choose what is never seen, watch it learn, and try it
	$(BIN)/unseen lab $(ARGS)

test: $(DEV_READY)
	$(BIN)/python -m pytest $(ARGS)

fuzz: $(DEV_READY)  ## 2,000 generated mutations of folders, pictures, names and settings; others each time; ARGS="--count 9000 --seed 5" chooses
	PYTHONPATH=tests/support $(BIN)/python tests/fuzz.py $(ARGS)

check: $(DEV_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(MAKE) --silent --no-print-directory $(AXE) || true
	@if [ -f $(AXE) ]; then $(NODE)/node_modules/.bin/tsc --project jsconfig.json; else \
	  echo "The modules of the lab's page are not type-checked: npm is not here, or could not fetch TypeScript."; \
	  [ "$$CI" != true ]; fi

docs: $(DEV_READY)  ## the site, in build/site: open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The page needs no build; TypeScript only checks the types that its comments say, and axe-core
# looks for what keeps people from using it, in the tests.
NODE := $(VENV)/node
AXE := $(NODE)/node_modules/axe-core/axe.min.js
$(AXE):
	@command -v npm >/dev/null && mkdir -p $(NODE) && \
	  npm install --silent --no-audit --no-fund --prefix $(NODE) typescript@5 axe-core@4 >$(NODE)/install.log 2>&1

RUN ?= fast
RUNS ?= runs
example: $(READY)  ## the example report of docs/, from a finished run: RUN=fast RUNS=runs
	$(BIN)/python scripts/make_example.py $(RUN) $(RUNS)

bench: $(READY)  ## ours against the notebook's in Keras; ARGS=--quick for 3 minutes
	@$(MAKE) --silent --no-print-directory $(BENCH)/.ready || echo "Keras and TensorFlow could not be installed; the next make bench tries again." >&2
	$(BIN)/python benchmarks/bench.py $$(test -f $(BENCH)/.ready && echo --keras $(BENCH)/bin/python) $(ARGS)

results: $(READY)  ## every row of docs/results.md, hours in all; ARGS="--only fast" for some
	$(BIN)/python scripts/results.py $(ARGS)

setup: $(DEV_READY)

# $(call install,environment,what it brings,size and time,what pip is told), none with a comma in it
# One line says what is to come, and one why it failed; the rest of pip's output is in install.log.
# The stamp is written last, so an install that was cut short is taken up again.
define install
@echo "Installing $(2) into $(1): $(3)."
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(1)
@$(1)/bin/python -m pip install --disable-pip-version-check $(4) >$(1)/install.log 2>&1 || { \
  why=$$(sed -n 's/^ *ERROR: //p' $(1)/install.log | tail -n 1); \
  ! grep -qi 'connection broken' $(1)/install.log || why="no connection to the package index$${why:+ ($$why)}"; \
  echo "Could not install $(2): $${why:-pip failed}. All of pip's output: $(1)/install.log" >&2; exit 2; }
@touch $@
endef

# Sizes and times as measured on two cores with a fast connection and torch's CPU build.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo "unseen needs Python 3.11 to 3.14; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	$(call install,$(VENV),what running needs,up to 320 MB to fetch and 1 to 2 minutes (gigabytes where pip takes the CUDA build of torch),--editable .)

$(DEV_READY): $(READY)
	$(call install,$(VENV),what tests and checks need,up to 300 MB to fetch and 1 to 2 minutes,--editable '.[dev]')

# Keras and TensorFlow keep an environment of their own; where they cannot be had, bench does without.
$(BENCH)/.ready: pyproject.toml
	@rm -f $@
	@mkdir -p $(BENCH)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")' > $(BENCH)/requirements.txt
	$(call install,$(BENCH),Keras and TensorFlow,up to 340 MB to fetch and about 1 minute,-r $(BENCH)/requirements.txt)

clean:
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
