# `make demo` and `make test` do all the set-up on a machine that has Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests that share a fixture of their module stay together, all others go where there is time.
PARALLEL := --numprocesses auto --dist loadgroup --no-loadscope-reorder

# Tests start grader some hundred times: each start that compiles it anew takes half as long again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check test tests soak coverage lint style types docs audit bench figures reading nbgrader stubs wheel clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: $(STAMP) ## Install what is missing, grade the sample class and print its table
	@# our own files: they need no walls, which not every machine has
	@$(BIN)/grade batch tests/submissions -o build/class --public --isolation process > /dev/null
	@$(BIN)/grade report build/class --students

check: lint ## Lint, types, derived files, and the tests that need no answer key: some two minutes
	$(BIN)/pytest $(PARALLEL) -m "not key and not long" -q

test: style docs ## Install what is missing; lint, types, derived files, pages, and all tests but the long ones
	@$(MAKE) --no-print-directory --jobs 2 types tests  # types take one processor half a minute

tests: $(STAMP)
	$(BIN)/pytest $(PARALLEL) -m "not long"

soak: $(STAMP) ## Run the long tests: the audit of the whole course, random submissions, and their like
	$(BIN)/pytest $(PARALLEL) -m long

coverage: $(STAMP) ## Run all tests, slower; print which branches of grader they take, and fail below the floor
	$(BIN)/pytest $(PARALLEL) -q --cov --cov-report=term:skip-covered

lint: style types

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/grade derive --check

types: $(STAMP)
	$(BIN)/mypy

docs: $(STAMP) ## Build the pages in build/docs; a warning is an error
	@$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going --quiet docs build/docs

audit: $(STAMP) ## Test the courses' own tests, and judge the reports on 2,000 random submissions
	$(BIN)/grade audit
	$(BIN)/grade audit --course tests/courses/keras
	$(BIN)/grade audit --compose 2000

bench: $(STAMP) ## Measure the project's figures against their targets
	@$(BIN)/python benchmarks/run.py

figures: $(STAMP) ## Count the figures of the package's structure against their targets
	@$(BIN)/python benchmarks/structure.py

reading: $(STAMP) ## Print how easy lessons and hints are to read (Flesch)
	@$(BIN)/python benchmarks/reading.py

nbgrader: $(STAMP) ## Run nbgrader's own autograde tests with our executor configured (minutes)
	$(BIN)/python tests/nbgrader_own_tests.py

stubs: $(STAMP) ## Write the stubs in exercises/ from the solutions
	$(BIN)/grade derive

wheel: $(STAMP) ## Build dist/*.whl with the students' course in it, and no solution
	$(BIN)/grade release grader/bundle.zip
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	rm -rf build grader/bundle.zip  # in a source tree it would grow old

clean: ## Remove the virtual environment and all caches in this folder
	rm -rf $(VENV) *.egg-info build dist grader/bundle.zip .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp comes last: an install that was stopped is begun again.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "make: Python 3.11 or later is needed; name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "make: $(PYTHON) lacks the module venv; Debian has it in python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (some minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
