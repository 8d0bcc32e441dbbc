# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= demo

.PHONY: demo test lint bench judges clean

demo: $(VENV)/.demo
	$(BIN)/hedgerow demo $(OUT)

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# Outside judges pin old versions, so they live in an environment of their own.
judges: $(VENV)/.dev .judges/bin/pycanon.installed
	$(BIN)/python tools/judges.py .judges/tables
	.judges/bin/python tools/judge_pycanon.py .judges/tables

.judges/bin/pycanon.installed:
	$(PYTHON) -m venv .judges
	.judges/bin/pip install --quiet --disable-pip-version-check 'pycanon==1.3.6'
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
	rm -rf $(VENV) .judges $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis
