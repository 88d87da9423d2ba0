# A convenience; each line also works by itself.
python := .venv/bin/python

.PHONY: setup check test docs dist bench size

setup:
	python3 -m venv .venv
	$(python) -m pip install -e '.[dev]'

check:
	$(python) -m ruff format --check .
	$(python) -m ruff check .
	$(python) -m mypy
	$(python) -m mypy tests/typing_api.py

test:
	$(python) -m pytest

docs:
	$(python) -m sphinx -n -W docs docs/_build

dist: # build/ goes first: setuptools would ship what it still holds of deleted modules
	rm -rf build dist
	$(python) -m build

bench:
	$(python) tests/benchmarks/core.py
	$(python) tests/benchmarks/run.py --quick

size:
	@for folder in graph backends maxhard tests docs; do \
		printf '%-10s' $$folder; find $$folder -name '*.py' | xargs cat | wc -l; done
