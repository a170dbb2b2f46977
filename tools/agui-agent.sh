#!/bin/sh
# Installs pydantic-ai, the counterpart in the tests of the bridge to AG-UI that nobody here wrote,
# and prints the path of a Python that has it. Does nothing where it is installed already.
# The cache is ${ACP_TEST_CACHE:-target/test-cache}/agui; needs Python 3.10 or newer.
set -eu

set -- 'pydantic-ai-slim[ag-ui]==2.68.0' uvicorn==0.54.0
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${ACP_TEST_CACHE:-$root/target/test-cache}/agui
folder=$cache/$(printf '%s ' "$@" | cksum | cut -d ' ' -f 1)

if [ ! -f "$folder/ready" ]; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || sh "$root/tools/need.sh" "python3 python3-venv" "Python with venv"
  mkdir -p "$cache"
  # Built beside its place and moved there whole, as npm.sh does.
  part=$(mktemp -d "$cache/part.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  python3 -m venv "$part" >&2
  "$part/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
  touch "$part/ready"
  [ -f "$folder/ready" ] || {
    rm -rf "${folder:?}"
    mv "$part" "$folder"
  }
fi
echo "$(cd "$folder" && pwd)/bin/python"
