#!/bin/sh
# Installs the official TypeScript SDK of the Model Context Protocol and prints the path of its
# client, by which the tests reach Neovim's tools: nobody here wrote it.
set -eu
exec sh "$(dirname "$0")/npm.sh" mcp-sdk @modelcontextprotocol/sdk 1.32.2 dist/esm/client/index.js
