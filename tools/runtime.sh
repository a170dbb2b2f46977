#!/bin/sh
# Prints the runtime folder of a Neovim.
#
# Usage: tools/runtime.sh NVIM
set -eu

"$1" --headless --clean '+lua io.stdout:write(vim.env.VIMRUNTIME)' +qall </dev/null
