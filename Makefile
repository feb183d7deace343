# idpool. `make help` lists the targets; a comment after `##` is what it prints.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

# Where .ci/tools keeps engines and tools; the tests look there too.
CACHE := $(or $(IDPOOL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/idpool)
SAM := $(CACHE)/sam-1.170.0/bin/sam

# Tools written in Go, pinned in a module file of their own so that go.mod stays short.
TOOL := go tool -modfile=tools.mod

FUNCTIONS := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))

# The Lambda architecture: arm64 or amd64.
ARCH ?= $(or $(GOARCH),arm64)
LAMBDA := CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w'

# Packages whose promise is about concurrency: their tests run under the race detector as well.
RACE := ./alloc/... ./infra/... ./web/...

say = @printf '\n== %s\n' "$(1)"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

## The main job

.PHONY: run
run: build-local ## start idpool on SQLite, data under .idpool (needs Go alone; options: ARGS="-addr …")
	@exec build/idpool $(ARGS)

.PHONY: run-dynamodb
run-dynamodb: dynoxide build-local ## the same on dynoxide, a DynamoDB-compatible server (its port: DYNAMODB_PORT=8000), data of its own
	@exec .ci/run-dynamodb $(ARGS)

## Tests

.PHONY: test
test: ## everything: engines, generated code, lint, vet, tests, race detector, functions, template
	@echo 'make test: 1 tools  2 generated code  3 lint  4 vet  5 functions for arm64 and amd64  6 tests on every engine'
	@echo '           7 the race detector  8 the template  9 schemathesis. It fails where an engine is missing; nothing is skipped.'
	@$(MAKE) --no-print-directory tools generate-check lint vet functions test-all test-race test-template test-schemathesis
	@printf '\nmake test: all of it passed\n'

.PHONY: test-go
test-go: ## the tests that need Go and nothing else; says what it leaves out
	$(call say,tests that need Go alone)
	@echo 'Left out: the DynamoDB engine (these files), the linters, the race detector, sam validate:'
	@grep -rl --include='*_test.go' '^//go:build !goonly' . | sed 's|^\./|  |' | sort
	go vet -tags goonly ./...
	go test -tags goonly ./...

.PHONY: test-all
test-all:
	$(call say,tests of all packages on every engine)
	go test -count=1 -timeout 30m ./...

# SQLite is C turned into Go: the checks of its pointers, which -race turns on, only double the time.
# A part of test-all, for whoever changes a page.
.PHONY: test-browser
test-browser: ## the dashboard in Chromium: whole days of work with and without scripts and through the function, accessibility, narrow screens, weights
	@.ci/tools browser
	$(call say,the dashboard in Chromium)
	go test -count=1 -timeout 15m -run 'Browser' ./local ./functions

.PHONY: screenshots
screenshots: ## the pictures of the README, of the sample data, light and dark
	@.ci/tools pictures
	$(call say,docs/screenshots)
	@mkdir -p docs/screenshots
	go test -count=1 -timeout 10m -run '^TestBrowserTakesThePictures$$' ./local -pictures $(CURDIR)/docs/screenshots

.PHONY: test-race
test-race:
	$(call say,the race detector over $(RACE))
	go test -race -gcflags='modernc.org/...=-d=checkptr=0' -count=1 -timeout 30m $(RACE)

.PHONY: test-template
test-template:
	$(call say,sam validate --lint)
	$(SAM) validate --lint
	$(SAM) validate --lint --template infra/observability.yaml

.PHONY: test-schemathesis
test-schemathesis: build-local ## schemathesis: the local program by its own contract, with requests that it makes up
	@.ci/tools schemathesis
	$(call say,schemathesis)
	@.ci/test-schemathesis

.PHONY: lint
lint: ## golangci-lint with gofumpt, by .golangci.yml (its first build takes minutes)
	$(call say,lint)
	$(TOOL) golangci-lint run ./...
	go mod tidy -diff

.PHONY: vet
vet:
	$(call say,vet with and without the engines)
	go vet ./...
	go vet -tags goonly ./...

.PHONY: vuln
vuln: ## govulncheck; needs the network, hence no part of `make test`
	$(TOOL) govulncheck ./...

.PHONY: bench
bench: ## cost and throughput: DynamoDB beside the raw engine (in memory), SQLite, next from memory, the page of pools; ratios, no verdict
	@$(MAKE) --no-print-directory dynoxide
	go test -run "^$$" -bench Dynamo -benchtime 1x -timeout 60m ./infra/dynamo
	go test -run "^$$" -bench . -benchmem ./infra/sql ./alloc ./web/api ./web/admin

## Code

.PHONY: generate
generate: ## make templates/*_templ.go, and from web/api/openapi.yaml its JSON and the client of the tests
	$(TOOL) templ generate -lazy=false -path templates
	$(TOOL) yq -o=json -I=0 --yaml-fix-merge-anchor-to-spec 'explode(.) | del(.x-common)' web/api/openapi.yaml >web/api/openapi.json
	$(TOOL) oapi-codegen -config web/api/apitest/oapi-codegen.yaml web/api/openapi.json

.PHONY: generate-check
generate-check:
	$(call say,generated code is what its source gives)
	@want=$$(go list -m -f '{{.Version}}' github.com/a-h/templ); got=$$($(TOOL) templ version); \
	[ "$$want" = "$$got" ] || { echo "templ is $$got in tools.mod and $$want in go.mod; they have to be one"; exit 1; }
	@sums() { find templates web/api \( -name '*_templ.go' -o -name '*.gen.go' -o -name openapi.json \) -print0 | sort -z | xargs -0 sha256sum; }; \
	before=$$(sums); $(MAKE) --no-print-directory generate; after=$$(sums); [ "$$before" = "$$after" ] || { \
		echo 'these were out of date; they have been made anew, commit them:'; \
		{ comm -13 <(echo "$$before") <(echo "$$after"); } | sed 's/^[^ ]*/ /'; exit 1; }

.PHONY: format
format: ## format all Go files and templates
	$(TOOL) gofumpt -w alloc functions infra local templates web *.go
	$(TOOL) templ fmt templates

.PHONY: build-local
build-local:
	@go build -trimpath -buildvcs=false -o build/idpool ./local

.PHONY: build
build: build-local ## build the local program and every function for ARCH (arm64, amd64) into build/
	@for f in $(FUNCTIONS); do echo "build/$(ARCH)/$$f/bootstrap"; \
		GOARCH=$(ARCH) $(LAMBDA) -o build/$(ARCH)/$$f/bootstrap ./functions/$$f; done

.PHONY: functions
functions:
	$(call say,functions for both architectures)
	@$(MAKE) --no-print-directory build ARCH=arm64
	@$(MAKE) --no-print-directory build ARCH=amd64

# `sam build` calls these in a copy of the source (BuildMethod: makefile); GOARCH names another architecture.
build-%Function:
	f=$*; GOARCH=$(ARCH) $(LAMBDA) -o "$(ARTIFACTS_DIR)/bootstrap" "./functions/$${f,,}"

## Tools

.PHONY: tools
tools: ## find or install what the tests need: dynoxide, Chromium, the SAM CLI, schemathesis
	$(call say,tools)
	@.ci/tools all

.PHONY: dynoxide
dynoxide:
	@.ci/tools dynoxide

.PHONY: clean
clean: ## remove what was built; data under .idpool and the tools stay
	rm -rf build .aws-sam
