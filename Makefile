# Two commands do everything; each sets itself up. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
HOSTILE ?= --seconds 600
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Three test processes on two cores, as many tests wait for a clock; and in them many ranks: a matrix product takes one thread.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Each thread would keep memory of its own after it has ended: a test process of 2 GB has 1 GB with this.
export MALLOC_ARENA_MAX ?= 2
# The tests start hundreds of processes. Without compiled files each would compile some 600 modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test slow simple deep hostile check parity bench notebooks-browser docs clean

demo: $(VENV)/.installed       ## four ranks train with DDP, as threads and over TCP; ends with a picture
	$(BIN)/mtd demo

test: $(VENV)/.installed-test  ## the tests that take a second or two each; some nine minutes
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow and not parity and not deep"

slow: $(VENV)/.installed-test  ## the others: whole lessons with their mutants, notebooks, jobs of many processes
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "slow and not parity and not deep"

simple: $(VENV)/.installed-test ## tensors, collectives and parallel training without the fast forms: with the same bits
	MINITORCH_DIST_SIMPLE=1 $(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow and not parity and not deep" \
		tests/tensors tests/nn tests/optim tests/distributed tests/parallel tests/sim/test_frozen_runs.py tests/sim/test_engines.py

deep: $(VENV)/.installed-test  ## half an hour: sweeps that repeat, and RPC on thousands of bad networks (DEEP_EXAMPLES=2000 of each kind)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "deep and not parity"
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n 2 --timeout=0 -o faulthandler_timeout=0 tests/rpc -m "not parity"

hostile: $(VENV)/.installed-test ## ten minutes of hostile input and faults (HOSTILE="--seconds 60 --seed 2")
	$(BIN)/python -m tests.hostile $(HOSTILE)

notebooks-browser: $(VENV)/.installed-browser ## a learner in JupyterLab, in a headless browser; needs chromium
	$(BIN)/python -m pytest tests/notebooks/test_browser.py

check: $(VENV)/.installed-test ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

parity: $(VENV)/.installed-parity ## the same expressions in torch and here
	$(BIN)/python -m pytest -n 3 --dist worksteal -m parity tests

bench: $(VENV)/.installed      ## training steps beside torch's, where torch is installed
	$(BIN)/mtd bench nn

docs: $(VENV)/.installed-docs  ## the documentation as a site: build/site/index.html; any warning is an error
	rm -rf build/site
	$(BIN)/python docs/generator
	$(BIN)/zensical build --strict --config-file build/mkdocs.yml

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python setup.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(BIN)/python setup.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.installed-browser: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	touch $@

$(VENV)/.installed-parity: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[parity]'  # a torch that is there is not replaced
	touch $@

$(VENV)/.installed-docs: $(BIN)/python setup.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@
