# Motif: every task of the project. `make test` and `make demo` set up what they need by themselves.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/.ready
FLINK := benchmarks/.envs/flink
JOBS ?= 2
N ?= 2000
PYTHON ?= python3.13
K ?= 30
PYTEST := $(PY) -m pytest -q -n $(JOBS) --dist loadfile

.PHONY: help venv lock java demo test test-fast test-random test-spark test-oldest test-newest lint format fuzz fuzz-text kills
.PHONY: bench bench-envs bench-compare bench-report docs clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

venv: $(READY) ## create .venv from requirements.lock, with Motif installed from this folder

$(READY): requirements.lock pyproject.toml
	@set -e; \
	if [ ! -x $(PY) ]; then \
	  python=; \
	  for candidate in python3 python3.13 python3.12 python3.11; do \
	    if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then echo "Motif needs Python 3.11 or newer: install python3.11 (or newer) and run make again."; exit 1; fi; \
	  echo "creating $(VENV) with $$($$python --version)"; \
	  $$python -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv module is missing: install it (Debian: python3-venv) and run make again."; exit 1; }; \
	fi
	@echo "installing the packages of requirements.lock"
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

lock: $(READY) ## resolve requirements.lock anew from pyproject.toml
	$(PY) -m pip install --quiet --disable-pip-version-check uv
	$(PY) -m uv pip compile pyproject.toml --upgrade --all-extras --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url --quiet --output-file requirements.lock

java: ## check for Java 17 or newer; install it where Debian's apt and root are at hand
	@set -e; \
	java_major() { java -version 2>&1 | sed -nE '1,3s/.*version "([0-9]+).*/\1/p' | head -n 1; }; \
	if command -v java >/dev/null 2>&1 && [ "$$(java_major || echo 0)" -ge 17 ] 2>/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "installing Java 17 (openjdk-17-jre-headless)"; \
	  if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1; then exit 0; fi; \
	fi; \
	echo "Spark needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless) and run make again."; exit 1

demo: $(READY) java ## four queries over a million trades, in process and on Spark, with a report
	@$(PY) demo/run.py

test: lint test-fast test-random test-spark ## everything that must hold before a change lands

test-fast: $(READY)
	$(PYTEST) -m "not spark and not random"

# Every test belongs to exactly one of the three; no test in this one (exit 5) means they ran in the others.
test-random: $(READY)
	$(PYTEST) -m "random and not spark" || [ $$? -eq 5 ]

test-spark: $(READY) java
	$(PYTEST) -m spark

# An environment of its own: build/NAME, by a Python and one of uv's resolutions; then the fast tests in it.
define test_in
	@$(PY) -m pip install --quiet --disable-pip-version-check uv
	@$(PY) -m uv venv --quiet --clear --python $(2) build/$(1)
	@$(PY) -m uv pip compile pyproject.toml --extra cli --extra spark --resolution $(3) --python build/$(1)/bin/python \
	  --no-header --no-annotate --quiet --output-file build/$(1)/requirements.txt
	@$(PY) -m uv pip install --quiet --python build/$(1)/bin/python -r build/$(1)/requirements.txt pytest hypothesis pytest-xdist polars
	@$(PY) -m uv pip install --quiet --python build/$(1)/bin/python --no-deps --editable .
	@build/$(1)/bin/python --version; cat build/$(1)/requirements.txt
	PATH="$(CURDIR)/build/$(1)/bin:$$PATH" build/$(1)/bin/python -m pytest -q -n $(JOBS) --dist loadfile -m "not spark and not random"
endef

test-oldest: $(READY) ## fast tests with the oldest packages that pyproject.toml allows
	$(call test_in,oldest,$(PY),lowest-direct)

test-newest: $(READY) ## fast tests with the newest packages, on PYTHON=python3.13
	$(call test_in,newest,$(PYTHON),highest)

lint: $(READY) ## ruff, mypy, import contracts, no dynamic code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(PY) tools/check_dynamic_code.py src/motif

format: $(READY) ## let ruff fix and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

fuzz: $(READY) ## N=... random queries against the reference matcher
	$(PY) -m motif.testing.fuzz --cases $(N)
	$(PY) -m motif.testing.event_fuzz --cases $(N)
	$(PY) -m motif.testing.stream_fuzz --cases $(N)
	$(PY) -m motif.testing.mutation_fuzz --cases $(N)
	$(PY) -m motif.testing.wide_fuzz --cases $(N)
	$(PY) -m motif.testing.event_wide_fuzz --cases $(N)
	MOTIF_PLANS=500 $(PY) -m pytest -q -n $(JOBS) tests/test_random_plans.py

fuzz-text: $(READY) java ## N=... random hostile texts, in process and on Spark: nothing is run, read, written or set
	$(PY) -m motif.testing.text_fuzz --cases $(N)
	$(PY) -m motif.testing.text_fuzz --spark --cases $(N)

kills: $(READY) java ## K=... times kill -9 a stream on Spark, for each kind of sink, and compare what it wrote
	for place in folder sqlite duckdb; do $(PY) -m motif.testing.kills --kills $(K) --to $$place || exit 1; done

bench: $(READY) java ## benchmarks (QUICK=1 for the short form, ONLY=... for some workloads); keeps what a clean tree gave, and writes the report
	$(PY) benchmarks/run.py $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

bench-envs: $(FLINK)/.ready ## environments of contenders that cannot share .venv: Apache Flink

# Flink's package and the versions it is tied to have no wheels for a Python newer than 3.12, nor older than 3.10.
$(FLINK)/.ready: benchmarks/contenders/flink.lock
	@set -e; \
	python=; \
	for candidate in python3.11 python3.12 python3.10 python3; do \
	  if $$candidate -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "Apache Flink needs Python 3.10, 3.11 or 3.12: install python3.12 with its venv module, and run make bench-envs again."; exit 1; fi; \
	echo "creating $(FLINK) with $$($$python --version)"; \
	$$python -m venv --clear $(FLINK)
	@echo "installing the packages of benchmarks/contenders/flink.lock"
	@$(FLINK)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/contenders/flink.lock
	@touch $@

# The benchmarks of this tree run old and new code, so a base may be as old as the functions they call.
bench-compare: $(READY) ## BASE=commit: what became faster or slower since, in turns (QUICK=1, ONLY=...; ONLY=spark/ starts Spark)
	$(PY) benchmarks/compare.py --base $(or $(BASE),HEAD) $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

bench-report: $(READY) ## benchmarks/REPORT.md, docs/benchmarks.md and their pictures, from the results that are kept
	$(PY) benchmarks/report.py --prune

docs: $(READY) ## build the documentation into site/
	$(PY) tools/limits_page.py --check
	$(PY) tools/decisions_page.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove everything that can be made again
	rm -rf $(VENV) benchmarks/.envs site demo-out build dist spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
