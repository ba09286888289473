# `make` lists the targets. Nothing here is needed to build or to test: `go build ./cmd/sidecar`, `go test -count=1 ./...`.
.DEFAULT_GOAL := help
.PHONY: help build test race lint fmt demo compose-demo k8s-e2e timing bench soak fuzz desync ci

FUZZTIME ?= 30s
SOAKTIME ?= 3m
SOAKREQUESTS ?= 1000000
BENCH ?=
E2E_RUN ?= .
export HELM ?= $(or $(shell command -v helm),go run helm.sh/helm/v3/cmd/helm@v3.22.0)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/sidecar, static and small
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/sidecar ./cmd/sidecar

test: ## run the tests, as README says
	go test -count=1 ./...

race: ## run the tests under the race detector, as CI does
	GOFLAGS=-race go test -count=1 ./...

lint: ## run golangci-lint, which must be installed
	golangci-lint run ./...

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

demo: ## start the demo shop
	go run ./demo

compose-demo: ## start the demo shop in containers, with docker compose
	go run ./demo --compose

k8s-e2e: ## try everything in the Kubernetes of KUBECONFIG, which must not have Graylane yet; with E2E_LOAD='kind load image-archive %s' the images are built and brought there before, E2E_RUN=ByChart runs a part; test/cluster/settings_test.go has the rest of the settings
	$(if $(E2E_LOAD),test/cluster/images)
	go test -tags cluster -count=1 -timeout 2h -v -run '/$(E2E_RUN)' ./test/cluster

timing: ## run the benchmarks of the packages
	go test -run '^$$' -bench . -benchmem ./...

bench: build ## measure the sidecar beside HAProxy, nginx and plain Go proxies; flags in BENCH (-tcp: raw TCP); see docs/performance.md
	cd bench && go build -o ../bin/bench .
	bin/bench -sidecar bin/sidecar $(BENCH)

soak: ## put all kinds of traffic through two sidecars for SOAKTIME (3m) under the race detector; then all tests of the relay, and SOAKREQUESTS (1000000) requests while everything fails, of which none may leak
	GRAYLANE_SOAK=$(SOAKTIME) go test -race -count=1 -timeout 1h -run Soak -v ./test/relay
	go test -race -count=3 -timeout 1h ./internal/http1 ./test/relay
	cd test/differential && go test -race -count=1 ./...
	GRAYLANE_LEAK_REQUESTS=$(SOAKREQUESTS) go test -count=1 -timeout 1h -run NoBaseRequestEverReachesGray -v ./test/e2e

fuzz: ## run every fuzz test for FUZZTIME (30s)
	@set -e; for package in $$(go list ./...); do \
	  for name in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$name"; \
	    go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
	  done; \
	done

desync: ## run the tables of http-desync-guardian, which lie in DIR
	GRAYLANE_DESYNC_DIR=$(abspath $(DIR)) go test -count=1 -run Desync -v ./internal/http1 ./test/relay

ci: ## run what a change must pass
	bash .ci/run
