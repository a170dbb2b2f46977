#!/bin/sh
# Installs the official TypeScript SDK of AG-UI and prints the path of its client: its schemas check
# what the bridge sends.
set -eu
exec sh "$(dirname "$0")/npm.sh" agui-sdk @ag-ui/client 1.0.0 dist/index.js
