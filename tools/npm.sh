#!/bin/sh
# npm.sh FOLDER PACKAGE VERSION FILE: installs a package for the tests, with what it needs, and
# prints the path of one of its files. Does nothing where it is installed already.
# The cache is ${ACP_TEST_CACHE:-target/test-cache}/FOLDER; needs node and npm.
set -eu

package=$2
version=$3
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${ACP_TEST_CACHE:-$root/target/test-cache}/$1
file=$cache/$version/node_modules/$package/$4

if [ ! -f "$file" ]; then
  command -v npm >/dev/null || {
    echo "$package: npm is missing; install Node.js 20 or newer" >&2
    exit 1
  }
  mkdir -p "$cache"
  # Built beside its place and moved there whole: a broken download leaves nothing behind, and of
  # two runs at once the second finds the first one's.
  part=$(mktemp -d "$cache/part.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  npm install --prefix "$part" --no-audit --no-fund --no-save --ignore-scripts --silent \
    "$package@$version" >&2
  [ -f "$file" ] || {
    rm -rf "${cache:?}/$version"
    mv "$part" "$cache/$version"
  }
fi
[ -f "$file" ] || {
  echo "$package: $file is missing after the installation" >&2
  exit 1
}
# Absolute, wherever the cache is named from.
echo "$(cd "$(dirname "$file")" && pwd)/$(basename "$file")"
