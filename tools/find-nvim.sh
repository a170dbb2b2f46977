#!/bin/sh
# Prints the path of the Neovim on PATH, if there is one and it is 0.10 or newer.
set -eu

nvim=$(command -v nvim) || exit 1
"$nvim" --headless --clean '+execute has("nvim-0.10") ? "qall!" : "cquit"' </dev/null >/dev/null 2>&1 || exit 1
echo "$nvim"
