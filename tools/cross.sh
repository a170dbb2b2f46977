#!/bin/sh
# Runs Cargo for another system, with zig as its C compiler and linker.
#
# Usage: TOOLS=FOLDER CARGO_TARGET_DIR=FOLDER tools/cross.sh TRIPLE COMMAND CARGO-ARGUMENT ...
#
# COMMAND is zigbuild, or rustc.
set -eu

triple=$1
command=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
export PATH="$TOOLS/bin:$PATH" CARGO_INCREMENTAL=0
sh "$here/component.sh" --target "$triple"

# No path of this machine is in what is built: neither in panics nor in line tables.
maps="$root=/acp.nvim"
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
	maps="$maps $crates=/crates"
done
RUSTFLAGS= CFLAGS=
for map in $maps; do
	RUSTFLAGS="${RUSTFLAGS:+$RUSTFLAGS }--remap-path-prefix=$map"
	CFLAGS="${CFLAGS:+$CFLAGS }-ffile-prefix-map=$map"
done
case $triple in
# The C library of CentOS 7; Rust itself needs that one.
*-linux-gnu)
	target=$triple.2.17
	mkdir -p "$CARGO_TARGET_DIR/$triple"
	export ACP_UNWINDER="$(cd "$CARGO_TARGET_DIR/$triple" && pwd)/libgcc_s.so.1"
	"$TOOLS/bin/python" -m ziglang cc -target "${triple%%-*}-linux-gnu.2.17" -shared -nostdlib \
		-Wl,-soname,libgcc_s.so.1 -o "$ACP_UNWINDER" "$here/gcc_s.c"
	;;
*-apple-*)
	target=$triple
	# Without the table of object files, whose paths and times would be in the program's UUID.
	RUSTFLAGS="$RUSTFLAGS -Clink-arg=-F$here/frameworks -Clink-arg=-Wl,-S"
	;;
esac
export RUSTFLAGS CFLAGS
exec cargo-zigbuild "$command" --locked --target "$target" "$@"
