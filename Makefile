# `make demo` shows Warplint on a small training program; `make test` is what CI runs.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Hundreds of processes import the same modules, and an environment's are compiled as they are first imported.
unexport PYTHONDONTWRITEBYTECODE

TORCH := torch==2.13.0
DEVELOP := --requirement requirements/dev.txt --editable .
# In the order of their names: capture, whose files are few and long, comes early, and short ones end together.
PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder
NODE_PACKAGES := node_modules/.package-lock.json

help: ## List what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## Check, run and show examples/unet3d in an environment of its own (.venv)
	@.ci/demo-environment .venv $(TORCH)
	@echo '$$ warplint check examples/unet3d'; .venv/bin/warplint check examples/unet3d || test $$? -eq 1
	@echo '$$ warplint run examples/unet3d/train.py'; .venv/bin/warplint run examples/unet3d/train.py
	@echo '$$ warplint show --top 12'; .venv/bin/warplint show --top 12

test: ## Everything, as CI runs it
	@.ci/free-space
	@$(MAKE) --jobs=4 --output-sync=target environment-3.12 vscode-host vsix neovim format-check lint types wheel extension
	@EXTENSION_PACKAGES=$(CURDIR)/build/vsix $(MAKE) tests vscode

format-check: environment-3.11 ## Is every file formatted?
	.venv-3.11/bin/ruff format --check .

format: environment-3.11 $(NODE_PACKAGES) ## Format every file, and sort imports
	.venv-3.11/bin/ruff check --select I --fix .
	.venv-3.11/bin/ruff format .
	.ci/node npm run format

# Without a cache: ruff keeps what it said of a file when a module that the file imports appears.
lint: environment-3.11 ## Ruff's rules
	.venv-3.11/bin/ruff check --no-cache .

rule-pages: environment-3.11 ## Write docs/rules from the rules
	.venv-3.11/bin/python docs/make_rules.py
	.venv-3.11/bin/python docs/make_schema.py

types: environment-3.11 ## mypy, strict
	.venv-3.11/bin/mypy

wheel: environment-3.11 ## Build the wheel and use it from a clean environment
	.ci/wheel .venv-3.11/bin/python

# What reads and shows captures, and the server, is the same on every Python: its suites run on one.
ON_ONE_PYTHON := advice docs doctor e2e profile report server
tests: environment-3.11 environment-3.12 neovim built ## The tests, on Python 3.11 and on one of 3.12 or later
	.ci/node .venv-3.11/bin/python -m pytest $(PARALLEL) $(ON_ONE_PYTHON:%=--ignore tests/%)
	.venv-3.12/bin/python -m pytest $(PARALLEL) --ignore tests/packaging

# Every Python that is supported, each with the torch of requirements/dev.txt.
test-all: suites-3.10 suites-3.11 suites-3.12 suites-3.13 ## The Python suites on each Python, 3.10 to 3.13

suites-%:
	@python=$$(.ci/find-python $* "$(WARPLINT_PY$(subst .,,$*))") && .ci/environment .venv-$* "$$python" -- $(DEVELOP)
	.venv-$*/bin/python -m pytest $(PARALLEL) --ignore tests/e2e --ignore tests/packaging

e2e: environment-3.12 neovim ## The language server in a real editor
	.venv-3.12/bin/python -m pytest tests/e2e

neovim:
	@.ci/neovim

extension: built ## Lint, type-check, build and unit-test the VS Code extension
	.ci/node npm run lint
	.ci/node npm run types
	.ci/node npm run unit

built: $(NODE_PACKAGES)
	.ci/node npm run build

vsix: built ## Make the extension files of all platforms (build/vsix)
	PYTHON=$$(.ci/find-python 3.11 "$$WARPLINT_PY311") .ci/node node vscode-extension/scripts/package.mjs

packaging: environment-3.11 built ## Install extension files beside all kinds of environments
	.ci/node .venv-3.11/bin/python -m pytest $(PARALLEL) tests/packaging

vscode: environment-3.11 environment-3.12 vscode-host $(NODE_PACKAGES) ## The extension in a real VS Code (build/screenshots)
	.ci/node npm run e2e

vscode-host: | node
	@.ci/node vscode-extension/e2e/install

$(NODE_PACKAGES): package.json package-lock.json vscode-extension/package.json | node
	.ci/node npm ci
	@touch $@

node:
	@.ci/node true

environment-3.11:
	@python=$$(.ci/find-python 3.11 "$$WARPLINT_PY311") && .ci/environment .venv-3.11 "$$python" -- $(DEVELOP)

environment-3.12:
	@python=$$(.ci/find-python 3.12+ "$$WARPLINT_PY312") && .ci/environment .venv-3.12 "$$python" -- $(DEVELOP)

clean: ## Remove environments and caches
	rm -rf .venv .venv-3.1? .mypy_cache .pytest_cache .ruff_cache build dist
	rm -rf .node node_modules vscode-extension/dist vscode-extension/out vscode-extension/e2e/node_modules \
		vscode-extension/e2e/floor/node_modules

.PHONY: help demo test test-all format-check format lint rule-pages types wheel tests e2e neovim extension built vsix packaging \
	vscode vscode-host node environment-3.11 environment-3.12 clean
