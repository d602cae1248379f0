# `make demo` and `make test` do everything on a fresh machine with Python (>= 3.11), git and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: venv dev demo test check bench clean

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

check: dev
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

# Several processes, each with one thread of its own; a fixed hash seed lets all of them collect the same tests.
test: check
	PYTHONHASHSEED=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

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
