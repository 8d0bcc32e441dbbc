# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= demo

SECONDS ?= 60
SAMPLE ?= 180
START  ?= 0
RUNS   ?= 50
NAME   ?= ke
N      ?= 10000
SEED   ?= 1
LOG    ?= .forged.jsonl

.PHONY: demo app test docs pages flaky lint bench study judges fuzz forge graphs tables versions mutants clean

demo: $(VENV)/.demo
	$(BIN)/hedgerow demo $(OUT)

# The local web application on the demo's table.
app: $(VENV)/.dev
	$(BIN)/hedgerow demo $(OUT)
	$(BIN)/hedgerow app $(OUT)/recipe.toml

# Draws the same each time; flaky, below, draws anew.
test: export HEDGEROW_SAME_DRAWS = 1
test: $(VENV)/.dev
	@sh tools/system_tools.sh chromium java shells
	$(BIN)/pytest -n 2 --dist worksteal -m "not spark"
	$(BIN)/pytest -m spark

# Results are kept in .flaky, so that a run that was stopped goes on: make flaky RUNS=50
flaky: $(VENV)/.dev
	$(BIN)/python tools/flaky.py --runs $(RUNS)

# The site in docs/_site, which works from the folder: open docs/_site/index.html
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_site
	@echo "docs/_site/index.html"

# What the examples of pages print, and their figures, made again on the whole tables: make pages
pages: $(VENV)/.dev
	$(BIN)/python -m tools.pages $(PAGE)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# A paper's experiment, re-run: make study NAME=ke (ke, proximity, permutation, targets, robust, walk, graph)
study: $(VENV)/.dev
	$(BIN)/python -m studies $(NAME)

# Outside judges pin old versions, so each lives in an environment of its own.
judges: $(VENV)/.dev .judges/pycanon/.installed .judges/anonymeter/.installed
	$(BIN)/python tools/judges.py .judges/tables
	.judges/pycanon/bin/python tools/judge_pycanon.py .judges/tables
	$(BIN)/python tools/judge_rows.py .judges/rows
	.judges/anonymeter/bin/python tools/judge_anonymeter.py .judges/rows

.judges/pycanon/.installed: REQUIREMENT = pycanon==1.3.6
.judges/anonymeter/.installed: REQUIREMENT = anonymeter==1.1.0
.judges/%/.installed:
	$(PYTHON) -m venv .judges/$*
	.judges/$*/bin/pip install --quiet --disable-pip-version-check '$(REQUIREMENT)'
	@touch $@

# Bounded in time: make fuzz SECONDS=300. A finding is kept in .fuzz and ends the run with an error.
fuzz: $(VENV)/.dev
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS)

# Random hostile tables over all methods, from publish to answers: make tables N=10000. A finding ends it with an error.
tables: $(VENV)/.dev
	$(BIN)/python tools/tables.py --number $(N) --start $(START)

# The whole test suite with the oldest and the newest versions that pyproject allows: make versions PATHS=tests/query
versions: $(VENV)/.dev
	$(BIN)/python tools/versions.py $(PATHS)

# Tiny graphs against enumeration: make graphs N=5000 SEED=1. The first difference ends it with an error.
graphs: $(VENV)/.dev
	PYTHONPATH=src:. $(BIN)/python -m tests.support.graph_trials $(N) --seed $(SEED)

# Random questions of every form, asked of the release and of the table behind it: make questions N=100000
questions: $(VENV)/.dev
	PYTHONPATH=src:. $(BIN)/python -m tools.questions $(N)

# Bundles forged in every way, verified; counts are kept in .forged.jsonl: make forge N=100000 SEED=2
forge: $(VENV)/.dev
	$(BIN)/python -m tests.support.forge $(N) --seed $(SEED) --log $(LOG)

# Results are kept in .mutants, so that a run that was stopped goes on: make mutants SAMPLE=200
mutants: $(VENV)/.dev
	$(BIN)/python tools/mutants.py --sample $(SAMPLE) --seed 1

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[plot]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) .browser .judges .flaky .fuzz .forged.jsonl .mutants .trials .versions $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis
