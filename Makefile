# `make help` lists what there is.
GO      ?= go
BIN     := $(CURDIR)/bin
TOOLS   := $(BIN)/tools
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

GOLANGCI_LINT := v2.15.0
WORKFLOWCHECK := v0.6.0

.DEFAULT_GOAL := help
.PHONY: help build demo dev test check bench conformance long faults upgrade-test histories postgres clean

SEED     ?= 7
DURATION ?= 10m
FROM     ?= HEAD~1
SET      ?= $(VERSION)

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/agentprocess
	$(GO) build -trimpath -ldflags '-X main.buildVersion=$(VERSION)' -o $(BIN)/agentprocess ./cmd/agentprocess

postgres: ## Install PostgreSQL from the system's packages if it is missing
	@scripts/postgres.sh

demo: postgres build ## Watch a supplier go from a file to onboarded
	$(BIN)/agentprocess demo

dev: postgres build ## Run a development stack in .dev until Ctrl-C
	$(BIN)/agentprocess dev --data .dev

test: postgres ## Run every test, on real Temporal and real Postgres that it starts
	$(GO) run ./internal/teststack -- $(GO) test -timeout 40m ./...

check: $(TOOLS)/golangci-lint-$(GOLANGCI_LINT) $(TOOLS)/workflowcheck-$(WORKFLOWCHECK) ## Check format, vet, lint and workflow determinism
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt would change:"; echo "$$files"; exit 1; }
	$(GO) vet ./...
	$(TOOLS)/golangci-lint-$(GOLANGCI_LINT) run
	$(TOOLS)/workflowcheck-$(WORKFLOWCHECK) -config workflows/workflowcheck.yaml ./workflows

bench: postgres ## Measure against bare Temporal; prints ratios, writes bench.json
	$(GO) run ./internal/bench

conformance: postgres ## Run the conformance suite on the server, its slow checks too (about three minutes)
	AGENTPROCESS_CONFORMANCE_SLOW=1 $(GO) run ./internal/teststack -- $(GO) test -timeout 40m -run TestOurServerConforms ./conformance

long: postgres ## Work one run through 3,000 writes, and restart everything under 10,000 open runs (some minutes)
	AGENTPROCESS_LONG=1 $(GO) run ./internal/teststack -- $(GO) test -count=1 -timeout 30m -v -run 'ThreeThousandWrites|TenThousandOpenRuns' ./internal/server ./internal/stack

faults: postgres ## Break everything for DURATION, from a SEED, and see that nothing is lost
	$(GO) run ./internal/faults -seed $(SEED) -duration $(DURATION)

upgrade-test: postgres ## Upgrade a live stack from the commit FROM for DURATION, under faults from a SEED
	$(GO) run ./internal/faults -from $(FROM) -seed $(SEED) -duration $(DURATION)

histories: postgres ## Record a further SET of workflow histories, which the tests replay from then on
	$(GO) run ./internal/teststack -- $(GO) test -count=1 -timeout 20m -run TestRecordHistories ./workflows -record $(SET)

clean: ## Remove what was built
	rm -rf $(BIN)

$(TOOLS)/golangci-lint-$(GOLANGCI_LINT):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	mv $(TOOLS)/golangci-lint $@

$(TOOLS)/workflowcheck-$(WORKFLOWCHECK):
	GOBIN=$(TOOLS) $(GO) install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK)
	mv $(TOOLS)/workflowcheck $@
