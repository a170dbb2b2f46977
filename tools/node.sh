#!/bin/sh
# Makes sure that Node.js and npm are there: one of the agents of the tests is written for them.
set -eu

if ! node --version >/dev/null 2>&1 || ! npm --version >/dev/null 2>&1; then
	sh "$(dirname "$0")/need.sh" "nodejs npm" "Node.js with npm"
fi
