# What there is to do, each with all the set-up it needs. GNU make 3.81 or newer.
#
# Tools and the Neovims of `make matrix` are kept outside the checkout (TOOLS), so that a new
# clone finds them; what belongs to this checkout is under target/.

TARGET := $(or $(CARGO_TARGET_DIR),target)
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
TOOLS := $(or $(ACP_TOOLS),$(CACHE)/acp.nvim/tools)

NVIM := $(TARGET)/nvim/bin/nvim
NVIM_READY := $(TARGET)/nvim/ready
STYLUA := $(TOOLS)/stylua-2.6.0/bin/stylua
EMMYLUA := $(TOOLS)/emmylua_check-0.25.1/bin/emmylua_check
DENY := $(TOOLS)/cargo-deny-0.20.2/bin/cargo-deny
FUZZ := $(TOOLS)/cargo-fuzz-0.13.1/bin/cargo-fuzz
MATRIX := trixie testing
ZIG := $(TOOLS)/zig-0.15.2
OTHERS := aarch64-unknown-linux-gnu x86_64-apple-darwin aarch64-apple-darwin
# Empty where `make test` has just run on that one.
MATRIX_FIRST = '$(NVIM)'

.DELETE_ON_ERROR:
.PHONY: help build release dist cross cross-setup try test lives soak faults check bench matrix matrix-setup agents nvim \
	sdk-agent picture clean check-format check-clippy check-doc check-lua-format check-lua-types check-help check-deny fuzz

help:
	@echo 'make try      opens Neovim with the plugin and its tutor; nothing is installed'
	@echo 'make build    builds the plugin for development; make release: for daily use'
	@echo 'make dist     makes the archives of a release and pins their sums; TRIPLES names some systems'
	@echo 'make cross    compiles and links for macOS; CROSS names other systems'
	@echo 'make test     runs all tests'
	@echo 'make lives    runs the property tests again and again, each time with new random lives'
	@echo 'make soak     runs the end-to-end tests again and again on a loaded machine'
	@echo 'make faults   lets everything go wrong at every moment, FAULTS times, and prints a table'
	@echo 'make check    runs all that reads the code: formats, lints, types, help tags, licences'
	@echo 'make fuzz     feeds the pure code with random input, TIME seconds each (with nightly Rust)'
	@echo 'make picture  takes the picture of the README anew'
	@echo 'make bench    prints what the plugin costs, and what has become worse; see benches/budgets/main.rs'
	@echo 'make agents   runs real agents from their presets, with a scripted model, and prints what they do'
	@echo 'make matrix   runs the end-to-end tests on Neovim 0.10, 0.11 and 0.12'

# The end-to-end tests start the agents, and Cargo builds no other package's programs for a test.
build:
	cargo build --workspace

# What a user needs and nothing else, in lib/.
release:
	sh install.sh source

# In $(TARGET)/dist. On Linux, with GNU tar.
TRIPLES = x86_64-unknown-linux-gnu $(OTHERS)
dist: $(ZIG)/ready
	TOOLS='$(ZIG)' sh tools/dist.sh '$(TARGET)/dist' $(TRIPLES)

# Nothing of it runs here, so nothing is optimized. `make cross CROSS=...` compiles for others.
CROSS = aarch64-apple-darwin
cross: cross-setup
	for triple in $(CROSS); do \
		TOOLS='$(ZIG)' CARGO_TARGET_DIR='$(TARGET)/cross' sh tools/cross.sh $$triple zigbuild \
			--config 'profile.dev.package."*".opt-level=0' --config profile.dev.debug=0 \
			--config profile.dev.package.acp_core.opt-level=0 \
			-p acp-nvim -p acp-agents --lib --bin acp-mcp --bin acp-tutor --bin acp-agui || exit 1; \
	done

cross-setup: $(ZIG)/ready
	for triple in $(CROSS); do sh tools/component.sh --target $$triple || exit 1; done

$(ZIG)/ready: tools/zig.sh
	sh tools/zig.sh '$(ZIG)'

# In a release, its archive. Else a build of what the tutor needs, which is quick to make rather
# than to run.
TRY = -p acp-nvim -p acp-agents --no-default-features --lib --bin acp-mcp --bin acp-tutor
try:
	@if grep -q '"acp-nvim-' lua/acp/checksums.lua && sh install.sh; then :; else \
		{ command -v cargo >/dev/null || \
			{ echo 'make try: this needs Rust 1.88 or newer: see https://rustup.rs'; exit 1; }; } && \
		echo 'building the library and the tutor: some minutes the first time' && \
		CARGO_PROFILE_DEV_DEBUG=0 cargo build --config 'profile.dev.package."*".opt-level=1' \
			--config profile.dev.package.acp_core.opt-level=0 $(TRY); \
	fi
	@TARGET='$(TARGET)' sh tools/try.sh $(ARGS)

# Snapshots are compared, never written: `cargo insta` or INSTA_UPDATE=always writes them.
# Random lives are the same ones each time, so that a change is what makes the difference; `make
# lives` looks for new ones.
SEED = 1
# A test waits for most of its time.
test matrix: export RUST_TEST_THREADS = $(shell expr 2 '*' "$$(getconf _NPROCESSORS_ONLN)")
test: build $(NVIM_READY) sdk-agent
	PROPTEST_RNG_SEED=$(SEED) INSTA_UPDATE=no cargo test --workspace $(ARGS)

# The property tests with new seeds, so many times over; the first failure ends it.
ROUNDS = 20
lives:
	cargo test --workspace --lib --no-run
	for round in $$(seq $(ROUNDS)); do \
		INSTA_UPDATE=no PROPTEST_CASES=2000 cargo test -q --workspace --lib -- props:: random:: the_record_ || exit 1; \
	done

# The tests end to end and the host's while other processes keep the processors and the disk busy; all
# rounds must pass. `make soak ROUNDS=5 FILTER=disk_door::` runs some of them.
soak: build $(NVIM_READY) sdk-agent
	@sh tools/soak.sh $(ROUNDS) $(FILTER)

# All cells of the matrix of faults, each time with other delays; the log has the screens of those
# that failed.
FAULTS = 3
faults: build $(NVIM_READY)
	@cargo test -q --workspace --test e2e --no-run
	@ACP_FAULTS=$(FAULTS) INSTA_UPDATE=no cargo test --workspace --test e2e -- faults::while --nocapture \
		>'$(TARGET)/faults.log' 2>&1; status=$$?; \
	grep -e ' run, .* failed$$' -e '^FAILED' -e '^test result' '$(TARGET)/faults.log'; exit $$status

# Each fuzzer for TIME seconds; `make fuzz TIME=3600 FUZZERS=ledger` runs one for an hour. What one
# finds becomes a named test.
TIME = 60
FUZZERS = frames wire ends terminal markdown ledger files rules forms history kept lua
fuzz: $(FUZZ)
	@PATH="$(dir $(FUZZ)):$$PATH" sh tools/fuzz.sh '$(abspath $(TARGET))/fuzz' $(TIME) $(FUZZERS)

# The picture of the README, as the end-to-end tests' Neovim draws it.
picture: build $(NVIM_READY)
	@mkdir -p doc/img
	ACP_PICTURE='$(CURDIR)/doc/img/acp.svg' cargo test -q --test e2e picture::

sdk-agent:
	@sh tools/node.sh
	@sh tools/sdk-agent.sh >/dev/null
	@sh tools/mcp-sdk.sh >/dev/null
	@sh tools/agui-agent.sh >/dev/null
	@sh tools/agui-sdk.sh >/dev/null

nvim: $(NVIM_READY)

$(NVIM_READY): tools/nvim.sh tools/nvim.txt
	sh tools/nvim.sh '$(TARGET)/nvim'
	@touch '$@'

bench: $(NVIM_READY)
	cargo build --release --workspace
	cargo bench --workspace --bench budgets -- $(ARGS)

# Real agents, installed and started from their presets, and turns of some with a scripted model: what
# they do, as tables. AGENTS names some.
agents: build $(NVIM_READY)
	@sh tests/real/run.sh '$(TOOLS)/agents' '$(abspath $(NVIM))' $(AGENTS)

matrix: build matrix-setup
	sh tools/matrix.sh $(MATRIX_FIRST) $(MATRIX:%='$(TOOLS)/nvim-%/bin/nvim')

matrix-setup: $(NVIM_READY) sdk-agent $(MATRIX:%=$(TOOLS)/nvim-%/bin/nvim)

$(TOOLS)/nvim-%/bin/nvim:
	sh tools/nvim-debian.sh $* '$(TOOLS)/nvim-$*'

check: check-format check-clippy check-doc check-lua-format check-lua-types check-help check-deny

check-format:
	@sh tools/component.sh rustfmt fmt
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check

check-clippy:
	@sh tools/component.sh clippy clippy
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir '$(TARGET)/fuzz-check' -- -D warnings

check-doc:
	RUSTDOCFLAGS='-Dwarnings -Arustdoc::private-intra-doc-links' cargo doc --workspace --no-deps --document-private-items

check-lua-format: $(STYLUA)
	'$(STYLUA)' --check lua plugin tools agents

# Neovim's own Lua files say which types its functions have.
check-lua-types: $(EMMYLUA) $(NVIM_READY)
	VIMRUNTIME="$$(sh tools/runtime.sh '$(NVIM)')" '$(EMMYLUA)' --warnings-as-errors .

check-help: $(NVIM_READY)
	'$(NVIM)' --clean -l tools/help-tags.lua doc
	'$(NVIM)' --clean --headless -l tools/gen-help.lua --check

# Known vulnerabilities are looked up only where their database can be had.
check-deny: $(DENY)
	'$(DENY)' check bans licenses sources
	@if '$(DENY)' fetch db >/dev/null 2>&1; then \
		'$(DENY)' check --disable-fetch advisories; \
	else \
		echo 'advisories: not checked, their database is out of reach'; \
	fi

# Development builds: they run just as well on a few files and are ready in a third of the time.
INSTALL = CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR='$(TOOLS)/build' \
	cargo install --debug --locked --root '$(TOOLS)/$(1)-$(2)' '$(1)@$(2)' $(3) && \
	rm -rf '$(TOOLS)/build'

$(STYLUA):
	$(call INSTALL,stylua,2.6.0,--no-default-features --features luajit)

$(EMMYLUA):
	$(call INSTALL,emmylua_check,0.25.1)

$(DENY):
	$(call INSTALL,cargo-deny,0.20.2,--no-default-features)

$(FUZZ):
	$(call INSTALL,cargo-fuzz,0.13.1)

clean:
	cargo clean
