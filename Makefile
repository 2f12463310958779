# Each target needs make and Python 3.11 to 3.13, and installs the rest into .venv and node_modules.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: book serve test solutions bench-site bench-grading
book: .venv/installed node_modules/installed
	$(BIN)/jupyter-book build . -W -n --keep-going

serve: book
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

test: .venv/installed node_modules/installed
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

bench-site: book
	$(BIN)/python -m tests.benchmarks.site

bench-grading: .venv/installed
	$(BIN)/python -m tests.benchmarks.grading

solutions: .venv/installed
	$(BIN)/python -m attnkit.notebooks solutions

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	mkdir -p .venv/etc/ipython # kernels warn at each start of what is no concern on one machine
	echo 'c.IPKernelApp.log_level = "ERROR"' > .venv/etc/ipython/ipython_kernel_config.py
	touch $@

node_modules/installed: package-lock.json .venv/installed
	$(BIN)/npm ci --loglevel=error --no-audit --no-fund
	touch $@
