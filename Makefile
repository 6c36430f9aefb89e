# Two commands do all the set-up: `make demo` shows it at work, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXAMPLE ?= examples/vllm-disagg.yaml examples/vllm-lora.yaml

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit cluster bench clean

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## bring example graphs and a LoRA adapter to Ready in the in-memory cluster
	@$(BIN)/dynamo-hooks simulate $(EXAMPLE)

test: lint types unit cluster ## lint, types, every test that this machine can run

lint: $(VENV)/.tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.tested
	$(BIN)/mypy

unit: $(VENV)/.tested
	$(BIN)/pytest

cluster: $(VENV)/.tested ## tests on a real kube-apiserver, where Go and etcd are installed
	$(BIN)/pytest --cluster tests/cluster tests/test_chart.py tests/test_plain_manifests.py

bench: $(VENV)/.tested ## requests per second and latency against an echo on the same server
	$(BIN)/python -m bench
	$(BIN)/python -m bench.prober
	$(BIN)/python -m bench.admission
	$(BIN)/python -m bench.model

clean: ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/cluster/.bin bench/results dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed, $(PYTHON) is older: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "the module venv is missing: apt install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.tested: pyproject.toml | $(VENV)/bin/python
	@echo "installing with test tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[runtime]' \
		|| echo "ai-dynamo-runtime cannot be installed here: the prober is not tried on the real engine's server"
	@touch $@ $(VENV)/.installed
