# From a fresh clone: `make lab` opens the course, `make serve` serves its engine, `make docs` builds its site, `make class` serves a class,
# `make test` tests it in some minutes, `make test-all` tests all of it, as CI does. All do their own set-up.

SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# Two processes, each with one file of tests at a time, in the order of tests/conftest.py.
# A third one saves minutes on two cores, but tests that measure processor time then fail now and then.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder
NOT_SLOW := not slow and not browser
ONLY_FAILED := --last-failed --last-failed-no-failures none
# Processes with two threads each on two cores would wait for each other, at full speed.
ONE_THREAD := OMP_NUM_THREADS=1
# Some containers set it: then every process compiles the course, and pytest its tests, anew. Empty means that compiled modules are kept.
export PYTHONDONTWRITEBYTECODE :=
# Jupyter refuses to start for root, which is whom one is in most containers.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: lab serve class docs test test-all quick generate gpu demo doctor build wheel lint certify lock clean model FORCE

lab: $(VENV)/course.done model
	@$(BIN)/autograder work
	@JUPYTER_CONFIG_PATH=course/lab $(BIN)/jupyter lab $(AS_ROOT) --LabApp.default_url=/lab/tree/work/start_here.ipynb --FileContentsManager.preferred_dir=work

# The engine behind OpenAI's API, and a chat page: `make serve MODEL=tiny PORT=8001`. MODEL: smollm2, tiny, or a path; ENGINE: reference, or mine.
# REPLICAS=2: two of them, and HAProxy in front. VLLM_API_KEY: the key that clients must send. CORS: sites whose pages may use the server.
# HOST counts only where it is given to make itself: some shells have a variable of that name, and 0.0.0.0 opens the port to others.
serve: $(VENV)/course.done model
	@$(BIN)/autograder serve $(if $(MODEL),--model "$(MODEL)") $(if $(PORT),--port "$(PORT)") $(if $(ENGINE),--engine "$(ENGINE)") \
		$(if $(REPLICAS),--replicas "$(REPLICAS)") $(if $(DTYPE),--dtype "$(DTYPE)") $(if $(ROUTE),--route "$(ROUTE)") \
		$(foreach site,$(CORS),--cors "$(site)") $(if $(filter command line,$(origin HOST)),--host "$(HOST)")

# JupyterHub for a class: a log-in for each line of CLASS/roster.csv. `make class CLASS=../class2026 PORT=8000 INSTRUCTOR=grace`.
# ACCOUNTS=1, as root: an account of this machine for each student. Without it, all servers run as you: for a trial.
CLASS ?= class
class: $(VENV)/hub.done model
	@[ -e "$(CLASS)/nbgrader_config.py" ] || $(BIN)/autograder class "$(CLASS)"
	@$(BIN)/autograder hub "$(CLASS)" $(if $(PORT),--port "$(PORT)") $(if $(INSTRUCTOR),--instructor "$(INSTRUCTOR)") \
		$(if $(ACCOUNTS),--accounts) $(if $(filter command line,$(origin HOST)),--host "$(HOST)")

# The site, in build/site/: every lesson with its outputs. `make docs ANSWERS=0` leaves the answers out.
docs: $(VENV)/docs.done model
	@$(BIN)/python -m autograder.site$(if $(filter 0,$(ANSWERS)), --no-answers)

# Everything but slow tests and certification. Its last lines say what it left out.
test: lint model
	$(BIN)/python -m autograder.generate --tables none --check
	$(ONE_THREAD) $(BIN)/pytest $(SIDE_BY_SIDE) -m "$(NOT_SLOW)"
	@echo "Left out: the tests that pytest names above, and the specimens of a change (autograder certify --changed). make test-all runs both."

# What CI runs: every test, the specimens that a change concerns, and the comparison of generated files.
# A test that fails beside others is run once more, alone: if it fails there, too, so does the run. Both are shown.
test-all: lint model
	$(BIN)/python -m autograder.generate --tables none --check
	$(ONE_THREAD) $(BIN)/pytest $(SIDE_BY_SIDE) --durations=40 --durations-min=10 || { echo "Once more, alone: what failed beside other tests"; $(ONE_THREAD) $(BIN)/pytest $(ONLY_FAILED); }
	$(BIN)/autograder certify --changed --minutes 3

# Writes the files in git that are made from others; docs/contributing.md lists them. TABLES=all: the tables of mistakes of all topics.
generate: $(VENV)/course.done
	@$(BIN)/python -m autograder.generate $(if $(TABLES),--tables $(TABLES))

# What needs no process besides pytest's own: no worker, no command, no kernel.
quick: $(VENV)/dev.done
	$(ONE_THREAD) $(BIN)/pytest $(SIDE_BY_SIDE) -m "$(NOT_SLOW)" --one-process

# Every check and measurement that needs a CUDA device; where there is none, one line for each that says so.
gpu: $(VENV)/course.done
	@$(BIN)/python benchmarks/gpu.py

demo: $(VENV)/course.done
	@$(BIN)/autograder demo

doctor: $(VENV)/course.done
	@$(BIN)/autograder doctor

build: $(VENV)/course.done
	@$(BIN)/autograder release

# The course as a package, in dist/, for people without a checkout: docs/contributing.md says what is in it.
wheel: $(VENV)/course.done
	@$(BIN)/python -m autograder.wheel

certify: $(VENV)/course.done
	@$(BIN)/autograder certify

lint: $(VENV)/dev.done
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports --no-cache --no-logo

# SmolLM2, once. Without network this prints one line and the course works without it.
model: $(VENV)/course.done
	@$(BIN)/python -m course.kit.fetch

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; found: $$($(PYTHON) --version 2>&1). Try: make PYTHON=/path/to/python3.11"; exit 2; }
	@echo "Making the environment in $(VENV)/ (about 2 GB; several more with CUDA)"
	@$(PYTHON) -m venv $(VENV)

# An environment's stamp says what it was made of and whose course it imports: file times say neither, where checkouts share one.
# $(call unless_made_of,FILES): goes on where the stamp says something else.
define unless_made_of
now="$$(cat $(1) | cksum) $(CURDIR)"; was="$$(cat $@ 2>/dev/null)"; [ "$$now" != "$$was" ] || exit 0; of="$${was#* * }"; \
[ -z "$$was" ] || [ "$$of" = "$(CURDIR)" ] || echo "The environment in $(VENV) imported the course from $$of; from now on it does from $(CURDIR)"
endef

# torch first, in the build that this machine can use: on Linux PyPI's brings CUDA, 2.7 GB. TORCH=cpu and TORCH=cuda decide it.
$(VENV)/course.done: FORCE | $(VENV)/bin/python
	@$(call unless_made_of,requirements.lock pyproject.toml); set -e; echo "Installing what requirements.lock names"; \
	$(BIN)/python course/kit/torch_build.py "$$(sed -n 's/^torch==//p' requirements.lock)"; \
	$(PIP) install -q --progress-bar on -r requirements.lock; \
	$(PIP) install -q --no-deps --no-build-isolation -e .; \
	echo "$$now" > $@

$(VENV)/docs.done: FORCE $(VENV)/course.done
	@$(call unless_made_of,requirements-docs.lock); set -e; \
	$(PIP) install -q --progress-bar on -r requirements-docs.lock; \
	echo "$$now" > $@

$(VENV)/hub.done: FORCE $(VENV)/course.done
	@$(call unless_made_of,requirements-hub.lock); set -e; \
	$(PIP) install -q --progress-bar on -r requirements-hub.lock; \
	echo "$$now" > $@

$(VENV)/dev.done: FORCE $(VENV)/course.done
	@$(call unless_made_of,requirements-dev.lock); set -e; \
	$(PIP) install -q --progress-bar on -r requirements-dev.lock; \
	echo "$$now" > $@

FORCE:

# Renews the locks from what pyproject.toml asks for today.
lock:
	bash requirements.sh

clean:
	rm -rf build dist demo .pytest_cache .mypy_cache .ruff_cache
