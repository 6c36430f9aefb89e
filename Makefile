# Two commands do all the set-up: `make demo` shows it at work, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLUSTER_TESTS := tests/cluster tests/test_chart.py tests/test_plain_manifests.py
# Without the long modules in which no kind of another project takes part.
ALONE_TESTS := tests/cluster tests/test_third_party.py tests/component/test_third_party_schemas.py \
	tests/graph/test_grove_schema.py tests/graph/test_topology.py \
	$(foreach module,mutations v1beta1 conversion planner migration faults,--ignore=tests/cluster/test_$(module).py)
# One of its dependencies is on NVIDIA's own index alone; the extra `planner` has those that its planner needs here.
PLANNER := ai-dynamo==1.6.1
LOCK = $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --custom-compile-command "make lock"
IN_IMAGE := --python-version 3.13 --python-platform linux
ANYWHERE := --universal --python-version 3.11
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED := $(PIP) --require-hashes --only-binary :all:

# $(call INSTALL,LOCK,EXTRA) links the checkout into .venv, with what the extra needs. In CI every download has a hash of
# requirements/, also the tools that build the project; at home pip takes the newest versions.
ifeq ($(CI),true)
INSTALL = $(LOCKED) --requirement requirements/build.txt --requirement requirements/$(1).txt \
	&& $(PIP) --no-deps --no-index --no-build-isolation --editable .
RUNTIME := $(LOCKED) --no-deps --requirement requirements/dynamo.txt
WITH_PLANNER := $(RUNTIME)
else
INSTALL = $(PIP) --editable '.$(2)'
RUNTIME := $(PIP) --editable '.[runtime]'
WITH_PLANNER := $(PIP) --editable '.[planner]' && $(PIP) --no-deps $(PLANNER)
endif
GRAPHS ?= 10
RELEASES ?= 0.9.1 1.6.1
EXAMPLE ?= examples/vllm-disagg.yaml examples/vllm-lora.yaml

# `make image`, `push`, `deploy` and `undeploy`: REGISTRY=registry.example.com/ai, and what else differs from here.
REGISTRY ?=
IMAGE ?= $(if $(REGISTRY),$(REGISTRY)/)dynamo-hooks
TAG ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BUILD_OPTIONS ?=
NAMESPACE ?= dynamo-system
DEPLOY_OPTIONS ?= --wait
# The first of them that works, a Docker without its daemon does not: BUILDER=podman takes another.
BUILDER ?= $(shell for program in docker podman buildah; do $$program version >/dev/null 2>&1 && echo $$program && break; done)
NEED_BUILDER = [ -n "$$builder" ] || { echo "make $@ needs docker, podman or buildah, and none of them works here: install one (apt install buildah) or start its daemon"; exit 1; }
# Helm if it is there, else kubectl with the plain manifests.
DEPLOYER ?= $(shell for program in helm kubectl; do command -v $$program >/dev/null && echo $$program && break; done)
NEED_DEPLOYER = [ -n "$$deployer" ] || { echo "make $@ needs helm or kubectl, and neither is here"; exit 1; }
PLAIN = kubectl kustomize metacontroller | sed 's|dynamo-hooks:[0-9][0-9A-Za-z.-]*$$|$(IMAGE):$(TAG)|'

# FULL=1, as CI=true, lets the tests try all generated cases: tests/effort.py reads it.
export FULL

# Tests start the project's programs hundreds of times: without bytecode each compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint types tests unit golden docs cluster alone bench bench-cluster faults compatibility e2e lock sbom audit schemas image push deploy undeploy \
	deploy-by-helm undeploy-by-helm deploy-by-kubectl undeploy-by-kubectl clean

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## bring example graphs and a LoRA adapter to Ready in the in-memory cluster
	$(BIN)/dynamo-hooks simulate --given Secret/hf-token-secret $(EXAMPLE)

test: $(VENV)/.tested ## lint, types, every test that this machine can run; generated cases are sampled unless FULL=1
	$(BIN)/python -m tests.checks lint types tests

lint: $(VENV)/.tested
	$(BIN)/python -m tests.checks lint

types: $(VENV)/.tested
	$(BIN)/python -m tests.checks types

tests: $(VENV)/.tested
	$(BIN)/python -m tests.checks tests

unit: $(VENV)/.tested ## tests that need no cluster
	$(BIN)/pytest -n auto

# The table of child kinds comes first: what else is written may depend on it.
golden: $(VENV)/.tested ## rewrite what is generated: golden answers, CRDs, the chart's copies, the reference
	$(BIN)/pytest -q --update-golden tests/wire/metacontroller/test_controllers.py::test_table_is_what_the_files_say
	$(BIN)/pytest -q --update-golden tests/test_crds.py tests/test_chart.py tests/test_platform_chart.py tests/test_pages.py \
		tests/test_golden.py tests/test_rendering_revision.py tests/request/test_profiling_job.py \
		tests/docs/test_reference.py tests/docs/test_argocd_health.py tests/tools/offline/picture/test_forms.py tests/monitoring/test_dashboards.py

# Every page is read again: Sphinx warns of a fault only when it reads the page.
docs: $(VENV)/.tested ## build the pages in docs/ as a site, into site/
	@$(call INSTALL,test,[docs])
	$(BIN)/python -m sphinx -W --keep-going --quiet --fresh-env --write-all --conf-dir docs/.site -d site/.read docs site
	@echo "wrote site/index.html"

.PHONY: pictures
pictures: $(VENV)/.tested ## draw the pictures of the pages again: casts, a graph, dashboards; needs Graphviz and Prometheus
	$(BIN)/python -m tests.docs.pictures

cluster: $(VENV)/.tested ## tests on a real kube-apiserver, where Go and etcd are installed
	$(BIN)/pytest -n auto --cluster $(CLUSTER_TESTS)

alone: $(VENV)/.tested ## cluster tests of what is committed, in a clone that has nothing beside it
	@clone=$$(mktemp -d) && trap 'rm -rf "$$clone"' EXIT && git clone --quiet . "$$clone/project" \
		&& cd "$$clone/project" && CLUSTER_PROGRAMS=$${CLUSTER_PROGRAMS:-$(CURDIR)/tests/cluster/.bin} \
		PYTHONPATH="$$PWD" $(CURDIR)/$(BIN)/python -m tests.run $(ALONE_TESTS)

bench: $(VENV)/.tested ## processor of a graph until it is ready, and of graphs at rest; calls beside an echo
	$(BIN)/python -m bench.replayed
	$(BIN)/python -m bench
	$(BIN)/python -m bench.resync
	$(BIN)/python -m bench.prober
	$(BIN)/python -m bench.admission
	$(BIN)/python -m bench.conversion
	$(BIN)/python -m bench.model
	$(BIN)/python -m bench.commands --page

faults: $(VENV)/.tested ## what each fault does to a running graph, and how long it needs to recover: docs/reliability.md
	$(BIN)/python -m tests.faults

e2e: $(VENV)/.tested ## graphs as processes of the real runtime on a real control plane, to a chat completion: RELEASES="0.9.1 1.6.1"
	$(BIN)/python -m tests.e2e $(foreach release,$(RELEASES),--release $(release)) $(if $(SCENARIOS),-- -k "$(SCENARIOS)")

compatibility: $(VENV)/.tested ## graphs as processes of each release of Dynamo, into docs/compatibility.md: 15 minutes, downloads 5 GB
	$(BIN)/python -m tests.compatibility

bench-cluster: $(VENV)/.tested ## many graphs on a real control plane, beside a floor: GRAPHS=100 (10)
	$(BIN)/python -m bench.cluster $(GRAPHS)

lock: $(VENV)/.released ## newest versions of what the image, CI and the action install, with hashes: requirements/
	@$(LOCK) $(IN_IMAGE) --output-file requirements/image.txt pyproject.toml
	@printf '%s\n' hatchling editables | $(LOCK) $(ANYWHERE) --output-file requirements/build.txt -
	@$(LOCK) $(ANYWHERE) --constraint requirements/image.txt --output-file requirements/package.txt pyproject.toml
	@$(LOCK) $(ANYWHERE) --constraint requirements/package.txt --constraint requirements/build.txt \
		--extra test --extra docs --output-file requirements/test.txt pyproject.toml
	@$(LOCK) $(ANYWHERE) --constraint requirements/test.txt --extra release --output-file requirements/release.txt pyproject.toml
	@echo $(PLANNER) | $(LOCK) $(ANYWHERE) --override requirements/package.txt --constraint requirements/test.txt \
		--extra runtime --extra planner --output-file requirements/dynamo.txt pyproject.toml -

sbom: $(VENV)/.released ## what the image installs, as CycloneDX: dist/sbom.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.json \
		requirements/image.txt
	@echo "wrote dist/sbom.json"

# Without --strict, a package that the index knows nothing about would count as one without advisories.
audit: $(VENV)/.released ## published advisories about what the image installs; asks pypi.org, so it needs the Internet
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement requirements/image.txt

schemas: $(VENV)/.installed ## JSON Schemas of all kinds and versions, for editors: dist/schemas.tar.gz
	@$(BIN)/dynamo-hooks schema --directory dist/schemas
	@tar -czf dist/schemas.tar.gz -C dist schemas && rm -r dist/schemas
	@echo "wrote dist/schemas.tar.gz"

image: ## build the image by docker, podman or buildah: REGISTRY=registry.example.com/ai TAG=0.1.0
	@builder='$(BUILDER)'; $(NEED_BUILDER); set -x; $$builder build $(BUILD_OPTIONS) --tag $(IMAGE):$(TAG) .

push: ## push the image that `make image` built: REGISTRY=registry.example.com/ai
	@case '$(IMAGE)' in */*) ;; *) echo "make push needs to know where to: make push REGISTRY=registry.example.com/ai"; exit 1;; esac
	@builder='$(BUILDER)'; $(NEED_BUILDER); set -x; $$builder push $(IMAGE):$(TAG)

deploy: ## install or upgrade the hooks by helm, or else kubectl, in the cluster of your kubeconfig
	@deployer='$(DEPLOYER)'; $(NEED_DEPLOYER); $(MAKE) --no-print-directory deploy-by-$$deployer

undeploy: ## remove what `make deploy` installed; CRDs, graphs and their pods stay
	@deployer='$(DEPLOYER)'; $(NEED_DEPLOYER); $(MAKE) --no-print-directory undeploy-by-$$deployer

deploy-by-helm:
	helm upgrade --install dynamo-hooks chart/ --namespace $(NAMESPACE) --create-namespace \
		--set image.repository=$(IMAGE),image.tag=$(TAG) $(DEPLOY_OPTIONS)

undeploy-by-helm:
	helm uninstall dynamo-hooks --namespace $(NAMESPACE) --wait

# Their namespace is fixed. Metacontroller reads its token when a controller starts, so the Secrets come first.
deploy-by-kubectl:
	kubectl create namespace dynamo-system --dry-run=client --output yaml | kubectl apply --filename -
	@for name in dynamo-hooks-callers dynamo-hooks-relay; do \
		kubectl --namespace dynamo-system get secret $$name >/dev/null 2>&1 \
		|| head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' \
		| kubectl --namespace dynamo-system create secret generic $$name --from-file=token=/dev/stdin || exit 1; \
	done
	$(PLAIN) | kubectl apply --filename -
	kubectl --namespace dynamo-system rollout status deployment/dynamo-hooks

# Never the CRDs, with which all graphs would go, nor the namespace, in which other things may be.
undeploy-by-kubectl: $(VENV)/.installed
	$(BIN)/dynamo-hooks prepare-uninstall
	$(PLAIN) | awk -v RS='---\n' '!/(^|\n)kind: (CustomResourceDefinition|Namespace)\n/ { printf "---\n%s", $$0 }' \
		| kubectl delete --ignore-not-found --filename -

clean: ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/cluster/.bin bench/results dist site

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here: install Python 3.11 or later, or name one: make $(MAKECMDGOALS) PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed, but $(PYTHON) is $$($(PYTHON) --version 2>&1): name a newer one: make $(MAKECMDGOALS) PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "the module venv is missing: apt install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV) …"
	@$(call INSTALL,package,)
	@touch $@

$(VENV)/.tested: pyproject.toml requirements/test.txt requirements/dynamo.txt | $(VENV)/bin/python
	@echo "installing with test tools into $(VENV) …"
	@$(call INSTALL,test,[test])
	@$(RUNTIME) \
		|| echo "ai-dynamo-runtime cannot be installed here: the prober is not tried on the real engine's server"
	@$(WITH_PLANNER) \
		|| echo "$(PLANNER) cannot be installed here: its planner does not read what the hooks report"
	@touch $@ $(VENV)/.installed

$(VENV)/.released: pyproject.toml | $(VENV)/bin/python
	@$(call INSTALL,release,[release])
	@touch $@
