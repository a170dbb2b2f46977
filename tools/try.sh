#!/bin/sh
# Opens Neovim with the plugin, its tutor and a file to practise on; nothing is installed, and
# nothing of the user's config is read or written. Arguments go to Neovim.
#
# Usage: TARGET=FOLDER tools/try.sh [ARGUMENT ...]
set -eu

if ! [ -t 0 ] || ! [ -t 1 ]; then
	echo "make try opens Neovim: please run it in a terminal." >&2
	exit 1
fi

checkout=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$TARGET/try"
try=$(cd "$TARGET/try" && pwd)

if ! nvim=$(sh "$checkout/tools/find-nvim.sh"); then
	echo "there is no Neovim 0.10 or newer on PATH: getting one to try this with"
	make -s -C "$checkout" nvim
	nvim=$try/../nvim/bin/nvim
fi

# The practice file is new each time, and has no review of the last one's changes, so that every
# lesson finds what it expects.
rm -rf "$try/practice" "$try/xdg/STATE/nvim/swap" "$try/xdg/STATE/nvim/acp.nvim/projects"
mkdir "$try/practice"
cp "$checkout/agents/src/bin/acp-tutor/acp-practice.lua" "$try/practice/"
# A project of its own, not a part of this one; where there is no git it is nobody's part.
git init --quiet "$try/practice" 2>/dev/null || true
for kind in CONFIG DATA STATE CACHE; do
	export "XDG_${kind}_HOME=$try/xdg/$kind"
done
unset NVIM VIMRUNTIME VIM

# So that `:help acp` is there, too.
"$nvim" --clean --headless -c "helptags $(echo "$checkout/doc" | sed 's/ /\\ /g')" -c quit 2>/dev/null || true

cd "$try/practice"
exec "$nvim" --clean --cmd "set runtimepath^=$(echo "$checkout" | sed 's/\\/\\\\/g; s/,/\\\\,/g; s/ /\\ /g')" \
	-c 'AcpChat tutor' -c startinsert "$@" acp-practice.lua
