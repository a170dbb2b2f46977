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
MATRIX := trixie testing
# Empty where `make test` has just run on that one.
MATRIX_FIRST = '$(NVIM)'

.DELETE_ON_ERROR:
.PHONY: help build release try test lives soak check bench matrix matrix-setup agents nvim sdk-agent picture clean \
	check-format check-clippy check-doc check-lua-format check-lua-types check-help

help:
	@echo 'make try      opens Neovim with the plugin and its tutor; nothing is installed'
	@echo 'make build    builds the plugin for development; make release: for daily use'
	@echo 'make test     runs all tests'
	@echo 'make lives    runs the property tests again and again, each time with new random lives'
	@echo 'make soak     runs the end-to-end tests again and again on a loaded machine'
	@echo 'make check    runs all that reads the code: formats, lints, types, help tags'
	@echo 'make picture  takes the picture of the README anew'
	@echo 'make bench    prints what the plugin costs; see benches/budgets/main.rs'
	@echo 'make agents   starts real agents from their presets, unconfigured, and prints what they do'
	@echo 'make matrix   runs the end-to-end tests on Neovim 0.10, 0.11 and 0.12'

# The end-to-end tests start the agents, and Cargo builds no other package's programs for a test.
build:
	cargo build --workspace

# What a user needs and nothing else: the library, the proxy, the tutor and the bridge to AG-UI.
release:
	cargo build --release -p acp-nvim -p acp-agents --lib --bin acp-mcp --bin acp-tutor --bin acp-agui

# A development build: dependencies are optimized in it too, and it takes half the time.
try: build
	@TARGET='$(TARGET)' sh tools/try.sh $(ARGS)

# Snapshots are compared, never written: `cargo insta` or INSTA_UPDATE=always writes them.
# Random lives are the same ones each time, so that a change is what makes the difference; `make
# lives` looks for new ones.
SEED = 1
test: build $(NVIM_READY) sdk-agent
	PROPTEST_RNG_SEED=$(SEED) INSTA_UPDATE=no cargo test --workspace $(ARGS)

# The property tests with new seeds, so many times over; the first failure ends it.
ROUNDS = 20
lives:
	cargo test --workspace --lib --no-run
	for round in $$(seq $(ROUNDS)); do \
		INSTA_UPDATE=no PROPTEST_CASES=2000 cargo test -q --workspace --lib -- props:: random:: || exit 1; \
	done

# The end-to-end tests while other processes keep the processors and the disk busy; all rounds must
# pass. `make soak ROUNDS=5 FILTER=disk_door::` runs some of them.
soak: build $(NVIM_READY) sdk-agent
	@sh tools/soak.sh $(ROUNDS) $(FILTER)

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
	cargo bench --bench budgets -- $(ARGS)

# Real agents, installed and started from their presets: what they do, as a table. AGENTS names some.
agents: build $(NVIM_READY)
	@sh tests/real/run.sh '$(TOOLS)/agents' '$(abspath $(NVIM))' $(AGENTS)

matrix: build matrix-setup
	sh tools/matrix.sh $(MATRIX_FIRST) $(MATRIX:%='$(TOOLS)/nvim-%/bin/nvim')

matrix-setup: $(NVIM_READY) sdk-agent $(MATRIX:%=$(TOOLS)/nvim-%/bin/nvim)

$(TOOLS)/nvim-%/bin/nvim:
	sh tools/nvim-debian.sh $* '$(TOOLS)/nvim-$*'

check: check-format check-clippy check-doc check-lua-format check-lua-types check-help

check-format:
	@sh tools/component.sh rustfmt fmt
	cargo fmt --all --check

check-clippy:
	@sh tools/component.sh clippy clippy
	cargo clippy --workspace --all-targets -- -D warnings

check-doc:
	RUSTDOCFLAGS='-Dwarnings -Arustdoc::private-intra-doc-links' cargo doc --workspace --no-deps --document-private-items

check-lua-format: $(STYLUA)
	'$(STYLUA)' --check lua plugin tools agents

# Neovim's own Lua files say which types its functions have.
check-lua-types: $(EMMYLUA) $(NVIM_READY)
	VIMRUNTIME="$$(sh tools/runtime.sh '$(NVIM)')" '$(EMMYLUA)' --warnings-as-errors .

check-help: $(NVIM_READY)
	'$(NVIM)' --clean -l tools/help-tags.lua doc

# Development builds: they run just as well on a few files and are ready in a third of the time.
INSTALL = CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR='$(TOOLS)/build' \
	cargo install --debug --locked --root '$(TOOLS)/$(1)-$(2)' '$(1)@$(2)' $(3) && \
	rm -rf '$(TOOLS)/build'

$(STYLUA):
	$(call INSTALL,stylua,2.6.0,--no-default-features --features luajit)

$(EMMYLUA):
	$(call INSTALL,emmylua_check,0.25.1)

clean:
	cargo clean
