# Needs: make, and Python 3.11, 3.12 or 3.13 with its venv module. `make help` lists the targets.

SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python
MUTMUT := .venv-mutmut/bin/mutmut
WORKERS := 2
INSTALL = $(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt
OURS := ragsite chat retrieval feedback tests benchmarks docs/examples docs/pictures.py manage.py

# Tests see neither ./var nor the services that the shell points at. They start some hundred processes, each of which
# would compile the whole project by itself where PYTHONDONTWRITEBYTECODE is set: seconds of processor time.
TEST_ENV = env -u PYTHONDONTWRITEBYTECODE -u DATABASE_URL -u REDIS_URL -u MILVUS_URI -u MILVUS_TOKEN -u MILVUS_LITE_PORT -u OLLAMA_BASE_URL \
	-u RAG_CHAT_MODEL -u RAG_FAST_MODEL -u RAG_EMBED_MODEL -u RAG_OFFLINE RAGSITE_DATA_DIR="$$data"

.DEFAULT_GOAL := help
.PHONY: help run check test test-js schemathesis mutation production-test lint format messages pictures clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 22

run: $(VENV)/.installed ## start the site: web, worker, scheduler and Milvus Lite; Ctrl-C stops it
	@exec $(PYTHON) manage.py up

check: ## everything that CI does: lint, scripts, all tests, PostgreSQL, the API against its schema
	@.ci/run

test: $(VENV)/.installed-dev ## run the whole test suite (ARGS="-k name" for a part; WORKERS=0: in one process)
	@data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && $(TEST_ENV) $(PYTHON) -m pytest -q -n $(WORKERS) $(ARGS)

test-js: ## test the site's scripts and check their types (needs Node.js 20.19, 22.10 or later; tsc where npm can install it)
	@node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test --test-reporter=spec tests/js/*.test.js
	@cd tests/js && if [ node_modules/.package-lock.json -nt package-lock.json ] \
		|| npm ci --prefer-offline --fetch-retries=0 --no-audit --no-fund >/dev/null 2>&1; \
		then node_modules/.bin/tsc -p . && echo "The types of the site's scripts hold."; \
		else echo "npm cannot install tsc: the type check of the site's scripts is left out." >&2; fi

schemathesis: $(VENV)/.installed-dev ## hold a running site against its own OpenAPI schema (minutes; ARGS="--examples 50")
	@$(PYTHON) -m tests.api_conformance $(ARGS)

mutation: $(MUTMUT) ## mutation tests of ranking and permissions (hours; ARGS="retrieval.engine.search.hybrid.*": of one module)
	@data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && $(TEST_ENV) $(MUTMUT) run --max-children $(WORKERS) $(ARGS)

production-test: $(VENV)/.installed-dev ## restart, kill and cut off a production set-up (ten minutes; needs nginx, PostgreSQL, Redis)
	@$(PYTHON) -m benchmarks.production $(ARGS)

lint: $(VENV)/.installed-dev ## style, types, directions of imports, missing and unsafe migrations
	$(PYTHON) -m ruff check $(OURS)
	$(PYTHON) -m ruff format --check $(OURS)
	$(PYTHON) -m mypy
	$(VENV)/bin/lint-imports
	@data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && $(TEST_ENV) $(PYTHON) manage.py makemigrations --check --dry-run && \
		$(TEST_ENV) DJANGO_SETTINGS_MODULE=tests.lint_settings $(PYTHON) manage.py lintmigrations --no-cache --ignore-initial-migrations \
		--include-apps ragsite retrieval chat feedback --sql-analyser postgresql --warnings-as-errors -q ignore

format: $(VENV)/.installed-dev ## format the code and mend what can be mended
	$(PYTHON) -m ruff check --fix $(OURS)
	$(PYTHON) -m ruff format $(OURS)

messages: $(VENV)/.installed-dev ## collect the texts of the interface into the catalogues, and compile what is translated
	$(call texts,django,chat feedback ragsite retrieval templates tests/library_texts.py)
	$(call texts,djangojs,ragsite/web/static/js)

define texts
	pot=$$(mktemp) && \
	$(PYTHON) -m babel.messages.frontend -q extract -F babel.cfg --add-location=file -o $$pot $(2) && \
	$(VENV)/bin/pybabel -q update -N --ignore-obsolete --ignore-pot-creation-date -w 110 -D $(1) -i $$pot -d ragsite/locale; \
	status=$$?; rm -f $$pot; exit $$status
	$(VENV)/bin/pybabel compile --statistics -D $(1) -d ragsite/locale
endef

pictures: $(VENV)/.installed-dev ## take the README's pictures of a running site (ARGS="http://127.0.0.1:8000 --password …")
	@$(PYTHON) docs/pictures.py $(ARGS)

clean: ## remove what was built: the environment and the caches; ./var, the data, stays
	rm -rf $(VENV) staticfiles .venv-mutmut .venv-milvus-lite-2.5 .venv-helm mutants tests/js/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are renewed when the dependencies change; .installed-dev holds all that .installed does.
$(VENV)/.installed: pyproject.toml constraints.txt | $(PYTHON)
	@echo "Installing the dependencies (once, a minute or two) ..."
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(PYTHON)
	@echo "Installing the dependencies and the tools for tests (once, a minute or two) ..."
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.installed $@

$(PYTHON):
	@for candidate in python3 python3.13 python3.12 python3.11; do \
		"$$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || continue; \
		"$$candidate" -m venv $(VENV) && exit 0; \
	done; \
	echo "Ragsite needs Python 3.11, 3.12 or 3.13 with its venv module (on Debian: apt install python3 python3-venv)." >&2; exit 1

# Beside the other environment, whose packages it sees: mutmut brings setproctitle, with which Celery renames processes,
# and the project itself must be found in the folder of mutants alone.
$(MUTMUT): | $(VENV)/.installed-dev
	@$(PYTHON) -m venv .venv-mutmut
	@.venv-mutmut/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt mutmut==3.8.1
	@$(PYTHON) -c "import sysconfig; print(sysconfig.get_path('purelib'))" > \
		"$$(.venv-mutmut/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/project.pth"
