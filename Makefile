# Outcall: build, show and test. Two commands do everything: `make run` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

DIST := target/dist
MUSL := x86_64-unknown-linux-musl
FUZZ_SECONDS ?= 600

.PHONY: help setup build man run test bench bench-policy fuzz fuzz-api clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## Install what is missing (Debian packages, the musl target)
	@integration/scripts/setup build

build: setup ## Build outcalld, outcallctl and the static shim into target/dist
	cargo build --release --locked -p supervisor
	@integration/scripts/build-shim
	@mkdir -p $(DIST)
	install -m 0755 target/release/outcalld target/release/outcallctl $(DIST)/

man: build ## Write the man pages into target/man
	$(DIST)/outcallctl man target/man

run: build ## Show the main job: a script, supervised
	@integration/scripts/demo $(DIST)

test: build ## Run every tier; installs what is missing
	@integration/scripts/setup test
	@integration/scripts/test

bench: build ## Print what supervision costs, as ratios
	cargo bench --locked -p integration

bench-policy: ## Print what a decision of the rule engine costs, beside other engines (BENCH_QUICK=1: 20 s)
	cargo bench --locked --manifest-path integration/benches/policy/Cargo.toml --target-dir target/policy-bench

fuzz-api: build ## Drive the agent API from its OpenAPI document, FUZZ_SECONDS (300) long
	@integration/scripts/fuzz-api

fuzz: ## Fuzz the rule engine, FUZZ_SECONDS (600) a target; installs cargo-fuzz if it is missing
	# The long property test: the engine against its oracle.
	PROPTEST_CASES=100000 cargo test --release --locked -p policy oracle
	@FUZZ_SECONDS=$(FUZZ_SECONDS) integration/scripts/fuzz

clean: ## Remove what was built
	cargo clean
