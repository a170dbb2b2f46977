#!/bin/sh
# Makes sure that a component of the Rust toolchain is there.
#
# Usage: tools/component.sh COMPONENT CARGO-COMMAND
set -eu

cargo "$2" --version >/dev/null 2>&1 && exit 0
command -v rustup >/dev/null && rustup component add "$1" && exit 0
echo "cargo $2 is missing: please install the component $1 of Rust." >&2
exit 1
