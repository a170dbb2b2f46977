#!/bin/sh
# Runs fuzzers, each for so many seconds, and prints a line about each; fails if one has found
# something.
#
#   tools/fuzz.sh TARGET SECONDS FUZZER...
#
# It starts from fuzz/corpus; what it learns beyond that stays in TARGET. An input that fails is in
# fuzz/artifacts, and what it made the program say is in TARGET's log.
set -eu

target=$1 seconds=$2
shift 2

cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
cargo +nightly fuzz build --target-dir "$target"

status=0
for name; do
	mkdir -p "$target/corpus/$name" "fuzz/corpus/$name" "fuzz/artifacts/$name"
	log=$target/$name.log
	say="nothing found"
	"$target/$host/release/$name" "$target/corpus/$name" "fuzz/corpus/$name" \
		-artifact_prefix="fuzz/artifacts/$name/" -max_total_time="$seconds" -timeout=20 \
		-max_len=2048 -len_control=0 -print_final_stats=1 >"$log" 2>&1 || {
		status=1
		say="FOUND $(sed -n 's/^.*Test unit written to //p' "$log" | tail -n 1); see $log"
	}
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	echo "$name: ${runs:-no} inputs, $say"
done
exit $status
