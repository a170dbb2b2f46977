#!/bin/sh
# Runs the tests of processes, files and time so many times on a loaded machine (end to end, and the
# host's), and prints what failed how often.
#
# AT_ONCE runs compete with each other: most of what depends on the order of events shows only then.
# As many processes as there are cores compute, and one writes to the disk and syncs. What Neovim
# sends reaches the tests late at random (ACP_TEST_LATE), and so does what the plugin's threads send
# each other (ACP_TEST_SLOW). FILTER names some of the end-to-end tests.
#
#   [AT_ONCE=5] tools/soak.sh ROUNDS [FILTER]
set -eu

rounds=$1
filter=${2-}
at_once=${AT_ONCE:-5}
logs=${CARGO_TARGET_DIR:-target}/soak
rm -rf "$logs"
mkdir -p "$logs"

cargo test -q --test e2e --no-run
cargo test -q -p acp_host -p acp-agents --no-run

busy=
stop() {
	for pid in $busy; do
		kill "$pid" 2>/dev/null || true
	done
	rm -f "$logs/load"
}
trap stop EXIT
trap 'exit 130' INT TERM

cores=$(getconf _NPROCESSORS_ONLN)
while [ "$cores" -gt 0 ]; do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
	cores=$((cores - 1))
done
sh -c 'while :; do dd if=/dev/zero of="$0" bs=1M count=64 conv=fsync 2>/dev/null; done' "$logs/load" &
busy="$busy $!"

export logs filter
seq "$rounds" | xargs -P "$at_once" -n 1 sh -c '
	log=$logs/$1.log
	# shellcheck disable=SC2086 # No filter is no argument.
	if ACP_TEST_LATE=1 ACP_TEST_SLOW=random INSTA_UPDATE=no cargo test -q --test e2e -- $filter >"$log" 2>&1 &&
		{ [ "$filter" ] || cargo test -q -p acp_host -p acp-agents >>"$log" 2>&1; }; then
		echo "round $1: passed"
	else
		echo "round $1: FAILED, see $log"
		: >"$logs/$1.failed"
	fi' round

failed=$(find "$logs" -name '*.failed' | wc -l)
echo "$failed of $rounds rounds failed"
# The list of failures stands at the end of each log.
sed -n '/^failures:$/,$ s/^    \([a-z_0-9]*::[a-z_0-9:]*\)$/\1/p' "$logs"/*.log | sort | uniq -c | sort -rn
[ "$failed" -eq 0 ]
