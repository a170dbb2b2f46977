#!/bin/sh
# Runs the end-to-end tests on each of the Neovims named; all run, then the failures count.
#
# Usage: tools/matrix.sh NVIM ...
set -u

failed=
for nvim in "$@"; do
	version=$("$nvim" --version | head -n 1)
	echo "==== $version"
	nvim=$(cd "$(dirname "$nvim")" && pwd)/nvim
	ACP_TEST_NVIM=$nvim INSTA_UPDATE=no cargo test --test e2e || failed="$failed, $version"
done
[ -z "$failed" ] || {
	echo "the end-to-end tests failed on:${failed#,}" >&2
	exit 1
}
