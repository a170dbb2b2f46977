#!/bin/sh
# Installs the official TypeScript SDK of the protocol and prints the path of its example agent,
# the counterpart in the tests that nobody here wrote.
set -eu
exec sh "$(dirname "$0")/npm.sh" sdk @agentclientprotocol/sdk 1.9.0 dist/examples/agent.js
