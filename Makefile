# Everything that contributors and CI run. `make` without a target lists it.

# A recipe with a pipe fails if any part of the pipe fails.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Debian's su keeps the PATH of the user, which lacks the directories of root's programs, such as runc, nft and those of
# dpkg.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
# Everything is built and tested without cgo, as it is shipped, so that nothing is compiled twice. Only the race
# detector needs cgo.
export CGO_ENABLED ?= 0
# The programs that are shipped name no directory of the machine that built them. Everything else is built the same way,
# for the same reason.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null)) -trimpath

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
VERSION_PACKAGE := github.com/storagebench/storagebench/internal/version
LDFLAGS := -s -w -X $(VERSION_PACKAGE).stamped=$(VERSION)
PROGRAMS := operator agent kubectl-storagebench

# The directory that `make demo-local` loads. It is created if it is missing, and left empty.
DEMO_DIR ?= bin/demo
# The sample that `make demo` runs; empty for the whole demo.
SAMPLE ?=
# REGISTRY is where `make push` pushes images, and where those of `make release` will be.
REGISTRY ?=
# RELEASE_URL is where users will download the files of `make release`, for the krew manifest; empty for the project's
# releases on GitHub.
RELEASE_URL ?=
# IOR_PROGRAMS is a directory with ARCH/ior and ARCH/mdtest, for the IOR image of `make push` and `make release`.
IOR_PROGRAMS ?=
# IOR_SOURCE is the directory that `make ior` builds IOR from.
IOR_SOURCE ?=
# VULN_DB is a copy of the database of vulnerabilities, for `make vulnerabilities` without the internet.
VULN_DB ?=
# Parts of the soak that `make soak` runs, such as "detect chaos"; empty for all.
PARTS ?=
# 1: `make soak` runs only the tests without a pass.
MISSING ?=
# A regular expression: `make soak` runs only the tests whose names match it.
TESTS ?=
# How long `make fuzz` spends on each target.
FUZZ_TIME ?= 30s
# Packages whose markers define what the operator may do in a cluster.
RBAC_PATHS := paths=./controllers/... paths=./internal/leader paths=./internal/installation
# Packages to test, and flags for `go test`.
PACKAGES ?= ./...
TEST_FLAGS ?= -timeout 30m

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Building

.PHONY: build
build: $(PROGRAMS:%=bin/%) ## Build operator, agent and kubectl-storagebench into bin/

# The go command knows better than make what is up to date.
.PHONY: $(PROGRAMS:%=bin/%)
$(PROGRAMS:%=bin/%): bin/%:
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/$*

.PHONY: images
images: bin/operator bin/agent ## Build the container images of VERSION into bin/images, without a daemon
	go run ./images/build operator -version '$(VERSION)'
	go run ./images/build fio -version '$(VERSION)'

.PHONY: image
image: images

# It uses the credentials of `docker login` or `podman login`.
.PHONY: push
push: bin/operator bin/agent ## Push the images of VERSION to REGISTRY=registry.example/storagebench, without a daemon, and print how to install them
	go run ./hack/push -registry '$(REGISTRY)' -version '$(VERSION)' $(if $(IOR_PROGRAMS),-ior '$(IOR_PROGRAMS)')

.PHONY: push-release
push-release: ## Push the images and the chart of bin/release to REGISTRY, as they are
	go run ./hack/push -registry '$(REGISTRY)' -release bin/release
	"$$(hack/tool helm)" push bin/release/storagebench-*.tgz 'oci://$(REGISTRY)/charts' 2>&1

.PHONY: image-lock
image-lock: ## Update images/lock: the Debian packages of released images, with their digests
	go run ./images/build lock

.PHONY: release
release: soak-status ## Build everything of a release, such as VERSION=v1.2.3 REGISTRY=ghcr.io/OWNER/storagebench, into bin/release (see RELEASE.md)
	go run ./hack/release -version '$(VERSION)' -registry '$(REGISTRY)' -url '$(RELEASE_URL)' -renew

.PHONY: release-archives
release-archives: ## Build the archives of the command line for linux and darwin, checksums and the krew manifest, into bin/release
	go run ./hack/release -version '$(VERSION)' -url '$(RELEASE_URL)' -only archives

.PHONY: generate
generate: ## Regenerate deepcopy code, CRDs, RBAC, the protocol's code, monitoring and the references
	hack/ensure-packages protobuf-compiler
	"$$(hack/tool controller-gen)" object paths=./api/...
	"$$(hack/tool controller-gen)" crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	go run ./config/crd/finish config/crd/bases
	"$$(hack/tool controller-gen)" rbac:roleName=storagebench-operator $(RBAC_PATHS) output:rbac:dir=config/rbac
	go run ./config/namespaced/build
	hack/generate-protocol
	hack/generate-api-reference
	go run ./hack/cli-reference >docs/reference/cli.md
	go run ./hack/monitoring
	hack/generate-chart
	go run ./hack/events
	go run ./hack/profiles

.PHONY: pictures
pictures: browser-packages ## Render the pictures of docs/architecture.md, and the report of README.md in Chromium
	hack/ensure-packages graphviz
	for picture in architecture run; do dot -Tsvg docs/pictures/$$picture.dot -o docs/pictures/$$picture.svg; done
	go test -count 1 -run '^TestPicture$$' ./test/browser -args -screenshots '$(CURDIR)/docs/pictures'

.PHONY: manifests
manifests: ## Write everything that a cluster needs, with images of VERSION, to bin/install.yaml
	go run ./hack/manifests -version '$(VERSION)' -output bin/install.yaml

##@ Checking

.PHONY: verify
verify: lint generate ## The gate: lint, generate, and fail if anything differs from what is committed
	go mod tidy -diff
	git diff --exit-code
	@test -z "$$(git ls-files --others --exclude-standard)" || { git ls-files --others --exclude-standard; echo 'These files are not committed.'; exit 1; }

.PHONY: lint
lint: ## Check the rules of .golangci.yml
	"$$(hack/tool golangci-lint)" config verify
	"$$(hack/tool golangci-lint)" run ./...

# It needs the database of known vulnerabilities, which is not among the modules, so it is no part of `make verify`.
.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the programs call, at vuln.go.dev or in a copy, VULN_DB=file:///DIRECTORY
	"$$(hack/tool govulncheck)" $(if $(VULN_DB),-db '$(VULN_DB)') ./cmd/...

.PHONY: fix
fix: ## Fix what the linter can fix by itself
	"$$(hack/tool golangci-lint)" run --fix ./...

# Tests delete all benchmarks of their cluster. So each checkout has a cluster for its tests, beside that of `make demo`.
TESTS_STATE = $(if $(filter /%,$(XDG_STATE_HOME)),$(XDG_STATE_HOME),/var/lib)/storagebench-test$(subst /,-,$(CURDIR))
test soak bench: export STORAGEBENCH_CLUSTER_STATE ?= $(TESTS_STATE)

.PHONY: test
test: packages mpi-packages browser-packages cluster-packages build programs ## Run all tests, with real fio and a real one-node Kubernetes (needs root)
	hack/test-all $(TEST_FLAGS) $(PACKAGES)

# It measures time, so it needs the machine for itself.
.PHONY: soak
soak: packages lab-packages mpi-packages browser-packages cluster-packages release-packages build programs ## Run the tests that need real time (hours), or PARTS of them, or those MISSING=1 a pass, or TESTS by name, and record them in docs/soak
	go run ./test/soak/cmd/soak run $(if $(MISSING),-missing) $(if $(TESTS),-run '$(TESTS)') $(PARTS)

.PHONY: lab
lab: lab-packages build ## Run the tests that need virtual machines: real kernels, SMB, NFS, throttled disks (a part of the soak)
	go run ./test/soak/cmd/soak run lab

.PHONY: soak-status
soak-status: ## Print the age of the last pass of each part of the soak; fail if one is too old for a release
	go run ./test/soak/cmd/soak status

.PHONY: unit
unit: packages mpi-packages ## Run the tests that need no API server and kill no processes
	hack/test -short $(TEST_FLAGS) ./api/... ./cmd/... ./config/... ./controllers/... ./internal/... ./test/manifests

.PHONY: race
race: packages mpi-packages ## Run the unit tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 hack/test -race -short $(TEST_FLAGS) ./internal/...

.PHONY: fuzz
fuzz: ## Fuzz each parser for FUZZ_TIME (30s); failing inputs stay in testdata
	hack/fuzz $(FUZZ_TIME)

.PHONY: mutate
mutate: ## List changes to the core packages that no test notices, of a sample (hours); MUTATE="-sample 5 ./internal/decide"
	go run ./hack/mutate $(MUTATE)

# It measures time, so it needs the machine for itself.
.PHONY: bench
bench: packages browser-packages cluster-packages build programs ## Measure what storagebench costs, beside bare fio and bare pods, and write the table of docs/performance.md (an hour)
	go run ./test/soak/cmd/soak run performance

##@ Trying out

.PHONY: demo
demo: root cluster-packages ## Run four clients in a real one-node Kubernetes on this machine and print the result, or run only SAMPLE (needs root)
	@echo 'Building the demo; the first time Go downloads modules'
	@go run ./hack/demo -version '$(VERSION)' -sample '$(SAMPLE)'

.PHONY: demo-local
demo-local: local-packages build ## The same without a cluster, on a local directory (DEMO_DIR)
	mkdir -p '$(DEMO_DIR)'
	bin/kubectl-storagebench run --local -f config/samples/quickstart.yaml --target 'data=$(DEMO_DIR)'

##@ A cluster to try things on

.PHONY: cluster-up
cluster-up: root cluster-packages ## Start a real one-node Kubernetes on this machine (needs root); the first time builds it
	go run ./test/cluster/cmd/cluster up

.PHONY: ior
ior: mpi-packages ## Build IOR and mdtest from IOR_SOURCE, a directory with their source, and an image with them; load it into the one-node cluster if that is up
	hack/build-ior '$(IOR_SOURCE)'
	go run ./images/build ior -version '$(VERSION)' -o bin/images/ior.tar -ior "$${XDG_CACHE_HOME:-$$HOME/.cache}/storagebench/ior/ior" -mdtest "$${XDG_CACHE_HOME:-$$HOME/.cache}/storagebench/ior/mdtest"
	@if go run ./test/cluster/cmd/cluster status >/dev/null 2>&1; then go run ./test/cluster/cmd/cluster load-image bin/images/ior.tar; fi

.PHONY: cluster-down
cluster-down: ## Stop the cluster, and one that tests of this checkout left up, and remove everything that they created
	go run ./test/cluster/cmd/cluster down
	go run ./test/cluster/cmd/cluster --state '$(TESTS_STATE)' down

.PHONY: cluster-status
cluster-status: ## Show which parts of the cluster run, and where its logs are
	go run ./test/cluster/cmd/cluster status

##@ Parts of the above

.PHONY: root
root:
	@((EUID == 0)) || { echo 'This needs root: it starts Kubernetes on this machine. `make demo-local` does not.' >&2; exit 1; }

.PHONY: local-packages
local-packages: ## Install fio with apt-get if permitted
	@hack/ensure-packages fio

.PHONY: packages
packages: ## Install fio, Prometheus, tmux, and the archivers that tests run as commands, with apt-get if permitted
	@hack/ensure-packages fio zip unzip lz4 tmux prometheus

.PHONY: mpi-packages
mpi-packages: ## Install Open MPI and the compiler for the tests' IOR stand-in, with apt-get if permitted
	@hack/ensure-packages gcc libopenmpi-dev openmpi-bin

.PHONY: lab-packages
lab-packages: ## Install what the tests' virtual machines are made of, with apt-get if permitted
	@hack/ensure-packages fio qemu-system-x86 samba busybox-static kmod

.PHONY: browser-packages
browser-packages: ## Install the browser in which tests open reports, with apt-get if permitted
	@hack/ensure-packages chromium

.PHONY: release-packages
release-packages: ## Install what runs arm64 programs on amd64 in tests, with apt-get if permitted
	@hack/ensure-packages qemu-user-static

.PHONY: cluster-packages
cluster-packages: ## Install what a one-node cluster needs in addition to its programs, with apt-get if permitted
	@hack/ensure-packages runc iproute2 nftables containernetworking-plugins

.PHONY: programs
programs: ## Build Kubernetes, and the programs that it needs, from their modules, once (10 to 15 minutes)
	go run ./test/binaries/cmd/build control-plane cluster

.PHONY: tools
tools: ## Build all development tools, once
	@hack/tool --list | while read -r name _; do hack/tool "$$name"; done

.PHONY: clean
clean: ## Remove what was built here (not the caches of tools and control plane)
	rm -rf bin
