# Everything runs from a virtual environment in the checkout; only Python 3.11+ and make are needed.
# The first that runs: a version manager's shim may stand on PATH for a version that is not there.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: demo test check format lint types slow clean

demo: $(VENV)/run.stamp
	$(BIN)/codecpilot call $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest $(ARGS)

check: lint types test

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# mypy cannot follow the import hook of an editable install, so it is shown the mapped folders through links.
types: $(VENV)/dev.stamp
	mkdir -p $(VENV)/types/codecpilot
	for d in codecs eligibility ratecontrol rtc samples; do ln -sfn ../../../$$d $(VENV)/types/codecpilot/$$d; done
	MYPYPATH=$(VENV)/types $(BIN)/mypy -p codecpilot

slow: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m slow $(ARGS)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "codecpilot needs Python 3.11 or later"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev,evaluation]'
	touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) build *.egg-info
