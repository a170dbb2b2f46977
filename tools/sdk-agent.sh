#!/bin/sh
# Installs the official TypeScript SDK of the protocol and prints the path of its example agent,
# the counterpart in the tests that nobody here wrote. Does nothing where it is installed already.
# The cache is ${ACP_TEST_CACHE:-target/test-cache}/sdk; needs node and npm.
set -eu

version=1.9.0
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${ACP_TEST_CACHE:-$root/target/test-cache}/sdk
agent=$cache/$version/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js

if [ ! -f "$agent" ]; then
  command -v npm >/dev/null || {
    echo "sdk-agent: npm is missing; install Node.js 20 or newer" >&2
    exit 1
  }
  mkdir -p "$cache"
  # Built beside its place and moved there whole: a broken download leaves nothing behind, and of
  # two runs at once the second finds the first one's.
  part=$(mktemp -d "$cache/part.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  npm install --prefix "$part" --no-audit --no-fund --no-save --ignore-scripts --silent \
    "@agentclientprotocol/sdk@$version" >&2
  [ -f "$agent" ] || {
    rm -rf "${cache:?}/$version"
    mv "$part" "$cache/$version"
  }
fi
[ -f "$agent" ] || {
  echo "sdk-agent: $agent is missing after the installation" >&2
  exit 1
}
# Absolute, wherever the cache is named from.
echo "$(cd "$(dirname "$agent")" && pwd)/agent.js"
