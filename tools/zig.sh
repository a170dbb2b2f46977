#!/bin/sh
# Makes FOLDER with what links for other systems: cargo-zigbuild, and zig from a Python wheel.
#
# Usage: tools/zig.sh FOLDER
set -eu

folder=$1

python3 -c 'import ensurepip, venv' 2>/dev/null ||
	sh "$(dirname "$0")/need.sh" "python3 python3-venv" "Python with venv"
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
	cargo-zigbuild==0.24.0 ziglang==0.15.2
touch "$folder/ready"
