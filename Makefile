# `make demo` and `make test` do everything on a fresh machine with Python (>= 3.11), git and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: venv dev demo dist docs test test-all test-browser test-keras test-oldest coverage check bench clean

venv: $(BIN)/.installed
dev: $(BIN)/.installed-dev

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(BIN)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .
	$(BIN)/python -m compileall -q situs  # as pip does for packages that are not installed in place
	touch $@

$(BIN)/.installed-dev: $(BIN)/.installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: venv
	$(BIN)/situs demo

# The site: guides, API reference, decisions, results. It can be opened and searched without a server.
docs: dev
	$(BIN)/python -m scripts.build_site build/site

# Both distributions, installed into an empty environment of every Python that is there, with the demo run from elsewhere.
# Each environment downloads PyTorch. `make dist DIST=--build-only` installs nothing.
DIST ?=
dist: dev
	$(BIN)/python scripts/dist.py $(DIST)

check: dev
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

# Several processes, each with one thread of its own; a fixed hash seed lets all of them collect the same tests.
test: check
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not slow"

# The slow ones too.
test-all: check
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# The report in a real browser: Chromium, or what SITUS_BROWSER names. `make test` runs these too, and skips them where
# there is none.
test-browser: dev
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

# The oldest Python and packages that pyproject.toml allows, in an environment of their own. pip may bring that torch with
# CUDA, which is 5 GB. `make test-oldest TESTS=tests/unit/eager` runs a part.
OLDEST_PYTHON ?= python3.11
TESTS ?= tests
$(VENV)-oldest/bin/.installed: pyproject.toml constraints-oldest.txt
	$(OLDEST_PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install -q --disable-pip-version-check -c constraints-oldest.txt -e '.[dev]'
	touch $@

test-oldest: $(VENV)-oldest/bin/.installed
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(VENV)-oldest/bin/python -m pytest -n auto $(TESTS)

# Keras' own tests, from its wheel, with Situs beneath: about half an hour on two cores. They import packages that Situs
# does not need, which go to a folder of their own. `make test-keras TESTS_OF_KERAS=trainers` runs a part.
KERAS_TESTS := build/keras_tests
TESTS_OF_KERAS ?=
$(KERAS_TESTS)/.installed: tests/keras/packages.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade --target $(KERAS_TESTS) -r $<
	touch $@

test-keras: dev $(KERAS_TESTS)/.installed
	$(BIN)/python -m tests.keras.run --with $(KERAS_TESTS) $(TESTS_OF_KERAS)

# Which lines the tests run, by file. What they run in processes of their own is not counted.
coverage: dev
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --cov --cov-report=term:skip-covered --cov-report=html $(TESTS)

# The peers live in environments of their own; one that cannot be installed is left out of the comparison.
PEERS := tensorflow jax
$(VENV)-%/bin/.installed:
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install -q --disable-pip-version-check $* numpy && touch $@

bench: dev
	for peer in $(PEERS); do $(MAKE) -s $(VENV)-$$peer/bin/.installed || echo "no $$peer"; done
	$(BIN)/python -m compileall -q situs  # importing is measured as of a package that is installed
	$(BIN)/python -m benchmarks --write benchmarks/RESULTS.md \
	  $(foreach peer,$(PEERS),$$(test -e $(VENV)-$(peer)/bin/.installed && echo --$(peer) $(VENV)-$(peer)/bin/python))

clean:
	rm -rf $(VENV) $(VENV)-* build *.egg-info
