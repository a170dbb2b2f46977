#!/bin/sh
# Makes FOLDER/bin/nvim from the packages of a Debian suite, without root and without touching
# the system: they are unpacked, and run with their own C library by their own loader.
#
# Usage: tools/nvim-debian.sh SUITE FOLDER
set -eu

suite=$1
folder=$2
work=$folder.part

fail() {
	echo "tools/nvim-debian.sh: $1" >&2
	exit 1
}

for tool in apt-get dpkg-deb; do
	command -v "$tool" >/dev/null || fail "$tool is missing: this works on Debian and Ubuntu only."
done
[ "$(dpkg --print-architecture)" = amd64 ] || fail "this works on amd64 only."

rm -rf "$work"
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/root/bin"
work=$(cd "$work" && pwd)

# An apt of its own that thinks nothing is installed: so it fetches all that Neovim needs.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$' || true)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || fail "$keys is missing: please install debian-archive-keyring."
echo "deb [signed-by=$keys] ${mirror:-http://deb.debian.org/debian/} $suite main" >"$work/sources.list"
: >"$work/status"
cat >"$work/apt.conf" <<-END
	Dir::State "$work/state";
	Dir::State::status "$work/status";
	Dir::Cache "$work/cache";
	Dir::Etc::SourceList "$work/sources.list";
	Dir::Etc::SourceParts "/dev/null";
	Dir::Etc::Preferences "/dev/null";
	Dir::Etc::PreferencesParts "/dev/null";
	APT::Install-Recommends "false";
	APT::Sandbox::User "";
	Acquire::Languages "none";
END
export APT_CONFIG="$work/apt.conf"
apt-get -qq update
apt-get -qq -y --download-only install neovim >/dev/null
for package in "$work"/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done

# The loader becomes the program Neovim sees itself as, so it is told where its files are.
cat >"$work/root/bin/nvim" <<-'END'
	#!/bin/sh
	usr=$(cd "$(dirname "$0")/../usr" && pwd)
	export VIM="$usr/share/nvim" VIMRUNTIME="$usr/share/nvim/runtime"
	exec "$usr/lib64/ld-linux-x86-64.so.2" --library-path "$usr/lib/x86_64-linux-gnu" \
		"$usr/bin/nvim" --cmd "set runtimepath+=$usr/lib/nvim" "$@"
END
chmod +x "$work/root/bin/nvim"
rm -rf "$folder"
mv "$work/root" "$folder"
rm -rf "$work"
"$folder/bin/nvim" --version | head -n 1
