#!/bin/sh
# Makes sure that a component of the Rust toolchain is there, or what it needs to build for a target.
#
# Usage: tools/component.sh COMPONENT CARGO-COMMAND
#        tools/component.sh --target TRIPLE
set -eu

if [ "$1" = --target ]; then
	[ -d "$(rustc --print sysroot)/lib/rustlib/$2/lib" ] && exit 0
	command -v rustup >/dev/null && rustup target add "$2" && exit 0
	echo "Rust cannot build for $2: please install its standard library for it." >&2
	exit 1
fi
cargo "$2" --version >/dev/null 2>&1 && exit 0
command -v rustup >/dev/null && rustup component add "$1" && exit 0
echo "cargo $2 is missing: please install the component $1 of Rust." >&2
exit 1
