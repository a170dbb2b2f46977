#!/bin/sh
# Installs the library and its programs in lib/.
#
# Usage: ./install.sh           downloads the archive of this version for this system; where none
#                               was published, builds from source
#        ./install.sh source    builds from source, which needs Rust
#
# ACP_RELEASE_URL is the folder with the archives (http, https or file); without it, the releases of
# the repository this clone came from. curl and wget read the usual variables for a proxy.
#
# Invariant: each file in lib/ is replaced by a rename, after all were downloaded, checked and tried.
# So a failure leaves the library that was there, and a running Neovim keeps the one it has loaded.
set -eu

root=$(cd "$(dirname "$0")" && pwd)
lib=$root/lib
programs="acp-mcp acp-tutor acp-agui"

fail() {
	echo "acp.nvim: $1" >&2
	exit 1
}

# Prints the Rust target of this system, or what is nearest to one.
find_triple() {
	machine=$(uname -m)
	[ "$machine" != arm64 ] || machine=aarch64
	case $(uname -s) in
	Linux)
		# Neovim's own C library is the one that counts; a system has one in nearly all cases.
		case $(ldd --version 2>&1 || true) in
		*musl*) echo "$machine-unknown-linux-musl" ;;
		*) echo "$machine-unknown-linux-gnu" ;;
		esac
		;;
	Darwin) echo "$machine-apple-darwin" ;;
	*) echo "$machine-$(uname -s)" ;;
	esac
}

# Prints the folder with the archives.
find_release() {
	if [ -n "${ACP_RELEASE_URL:-}" ]; then
		echo "${ACP_RELEASE_URL%/}"
		return
	fi
	origin=$(git -C "$root" config --get remote.origin.url 2>/dev/null) || origin=
	case $origin in
	https://* | http://* | file://*) ;;
	ssh://*) origin=https://$(echo "${origin#ssh://}" | sed 's/^[^@/]*@//; s/^\([^:/]*\):[0-9]*/\1/') ;;
	*@*:*) origin=https://$(echo "${origin#*@}" | sed 's/:/\//') ;;
	/*) origin=file://$origin ;;
	*) fail "the address of the releases is unknown, because this folder is not a clone: set ACP_RELEASE_URL to the folder with $archive, or run \`./install.sh source\` in $root." ;;
	esac
	origin=${origin%/}
	echo "${origin%.git}/releases/download/v$version"
}

# Usage: fetch URL FILE
fetch() {
	case $1 in
	file://*) cp "${1#file://}" "$2" ;;
	*)
		if command -v curl >/dev/null; then
			curl -fsSL --connect-timeout 20 --speed-limit 1 --speed-time 30 -o "$2" "$1"
		elif command -v wget >/dev/null; then
			wget -q -T 30 -O "$2" "$1" || {
				status=$?
				echo "wget: status $status"
				return "$status"
			}
		else
			echo "neither curl nor wget is installed"
			return 1
		fi
		;;
	esac
}

# Prints a file's SHA-256.
sum_of() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 <"$1"
	else
		openssl dgst -sha256 -r <"$1"
	fi | cut -d ' ' -f 1
}

# The folder in lib/ for what is not complete yet, so that its files can be renamed.
make_part() {
	part=$(mkdir -p "$lib" 2>/dev/null && mktemp -d "$lib/.part.XXXXXX" 2>/dev/null) ||
		fail "nothing can be written to $lib: make the plugin's folder writable, or install the plugin in another one."
	find "$lib" -maxdepth 1 -name '.part.*' -mtime +0 -exec rm -rf {} +
	trap 'rm -rf "$part"' EXIT
	trap 'exit 1' HUP INT TERM
}

# Usage: no_space REASON
no_space() {
	fail "the files cannot be written to $lib ($1): free some space and run \`./install.sh\` again."
}

# Usage: put FOLDER FROM
# FROM is "source", or the sum of the archive.
put() {
	# What does not run here is not installed: another system's, or too new for this one.
	"$1/acp-tutor" </dev/null >/dev/null 2>&1 ||
		fail "the programs for $triple do not run on this system: run \`./install.sh source\` in $root."
	printf 'version %s\ntriple %s\nfrom %s\n' "$version" "$triple" "$2" >"$1/installed" || no_space "see above"
	for file in $programs "$library" installed; do
		mv -f "$1/$file" "$lib/$file" ||
			fail "$lib/$file cannot be replaced: correct what the line above says and run \`./install.sh\` again."
	done
}

from_archive() {
	url=$(find_release)/$archive
	make_part
	echo "acp.nvim: downloading $url"
	reason=$(fetch "$url" "$part/$archive" 2>&1) || {
		reason=$(echo "$reason" | tail -n 1)
		case $reason in
		# curl and wget say by their number that they could not write.
		*'(23)'* | *'status 3' | *'No space left'* | *'File too large'*) no_space "$reason" ;;
		esac
		fail "$url could not be downloaded ($reason): check the address, the connection and the proxy and run \`./install.sh\` again, or \`./install.sh source\` in $root."
	}
	sum=$(sum_of "$part/$archive")
	if [ "$sum" != "$expected" ]; then
		if head -c 512 "$part/$archive" | grep -qi '<html\|<!doctype'; then
			fail "$url is a web page, not an archive: log in to the proxy, or set ACP_RELEASE_URL, and run \`./install.sh\` again."
		elif ! gzip -t "$part/$archive" 2>/dev/null; then
			fail "$url is incomplete or damaged: run \`./install.sh\` again."
		fi
		fail "$url is not the archive that was released: its SHA-256 is $sum, not $expected; report this, and run \`./install.sh source\` in $root."
	fi
	reason=$(tar -xzmof "$part/$archive" -C "$part" 2>&1) || no_space "$(echo "$reason" | head -n 1)"
	for file in $programs "$library"; do
		[ -f "$part/$name/$file" ] ||
			fail "$url is not for version $version and $triple: set ACP_RELEASE_URL to the folder with the right one and run \`./install.sh\` again."
	done
	put "$part/$name" "$sum"
	echo "acp.nvim: installed $name in $lib"
}

from_source() {
	command -v cargo >/dev/null ||
		fail "$1 needs Rust 1.88 or newer, and cargo was not found: install Rust (https://rustup.rs) and run \`./install.sh\` again in $root."
	echo "acp.nvim: building from source; this takes some minutes"
	cd "$root"
	set -- -p acp-nvim -p acp-agents --lib
	for program in $programs; do
		set -- "$@" --bin "$program"
	done
	# The user's config may name another folder.
	target=${CARGO_TARGET_DIR:-target}
	cargo build --release --locked --target-dir "$target" "$@" ||
		fail "the build has failed: correct what Cargo says above and run \`./install.sh source\` again in $root."
	make_part
	for file in $programs "$library"; do
		cp "$target/release/$file" "$part/$file" || no_space "see above"
	done
	put "$part" source
	echo "acp.nvim: installed the build in $lib"
}

version=$(sed -n 's/^return "\(.*\)"$/\1/p' "$root/lua/acp/version.lua")
triple=$(find_triple)
name=acp-nvim-$version-$triple
archive=$name.tar.gz
case $triple in
*-apple-*) library=libacp_nvim.dylib ;;
*) library=libacp_nvim.so ;;
esac
expected=$(sed -n "s/^ *\\[\"$archive\"\\] = \"\\([0-9a-f]*\\)\",\$/\\1/p" "$root/lua/acp/checksums.lua")

case ${1-} in
source) from_source "A build" ;;
'')
	if [ -n "$expected" ]; then
		from_archive
	else
		echo "acp.nvim: no archive of version $version was published for $triple"
		from_source "Without an archive for $triple, a build"
	fi
	;;
*) fail "\`./install.sh $1\` is unknown: run \`./install.sh\` or \`./install.sh source\`." ;;
esac
