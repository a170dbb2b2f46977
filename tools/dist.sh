#!/bin/sh
# Makes the archives of a release in FOLDER, and pins their sums in lua/acp/checksums.lua.
#
# For each TRIPLE: acp-nvim-VERSION-TRIPLE.tar.gz, which install.sh installs, and the same with
# -debug, the line tables for those who report a crash. (On macOS they would need Apple's dsymutil:
# there it is the library with the names of its functions.) Two runs on one commit with one Rust
# give the same bytes, so the sums also say which Rust that was.
#
# Usage: TOOLS=FOLDER tools/dist.sh FOLDER TRIPLE ...
set -eu

out=$1
shift
here=$(dirname "$0")
root=$(cd "$here/.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^return "\(.*\)"$/\1/p' "$root/lua/acp/version.lua")
programs="acp-mcp acp-tutor acp-agui"

fail() {
	echo "tools/dist.sh: $1" >&2
	exit 1
}

# LLVM's, which knows the files of all systems, comes with Rust.
sysroot=$(rustc --print sysroot)
host=$(rustc -vV | sed -n 's/^host: //p')
objcopy() {
	LD_LIBRARY_PATH="$sysroot/lib" "$sysroot/lib/rustlib/$host/bin/rust-objcopy" "$@"
}

# Usage: pack NAME
# Packs the folder NAME of $part; neither its files' times nor their owners are in the archive.
pack() {
	tar -C "$part" --sort=name --format=ustar --mtime=@315532800 --owner=0 --group=0 \
		--numeric-owner --mode=a=rX,u+w -cf - "$1" | gzip -9n >"$out/$1.tar.gz"
}

# Fails if a program needs a newer C library than was promised.
check_glibc() {
	newest=$(readelf -W --dyn-syms "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	[ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] ||
		fail "$1 needs $newest, and 2.17 was promised."
}

part=$out/part
cd "$root"
rm -rf "$part" "$out"/acp-nvim-*.tar.gz "$out/SHA256SUMS"
for triple; do
	case $triple in
	*-apple-*) library=libacp_nvim.dylib ;;
	*) library=libacp_nvim.so ;;
	esac
	# Cargo optimizes a library as a whole only if nothing else is made of it, as the tests' `rlib`.
	# Alone, it also has only those features of its dependencies that it uses itself. The programs
	# come with another library, hence two folders.
	CARGO_TARGET_DIR=$out/library sh "$here/cross.sh" "$triple" rustc --profile dist -p acp-nvim \
		--lib --crate-type cdylib
	set -- -p acp-nvim -p acp-agents
	for program in $programs; do
		set -- "$@" --bin "$program"
	done
	CARGO_TARGET_DIR=$out/programs sh "$here/cross.sh" "$triple" zigbuild --profile dist "$@"

	name=acp-nvim-$version-$triple
	mkdir -p "$part/$name" "$part/$name-debug"
	case $triple in
	*-linux-gnu)
		built=$out/library/$triple/dist
		readelf -Wd "$built/$library" | grep -q 'NEEDED.*libgcc_s' ||
			fail "$built/$library has an unwinder of its own: see tools/gcc_s.c."
		;;
	esac
	for file in $library $programs; do
		case $file in
		"$library") built=$out/library/$triple/dist ;;
		*) built=$out/programs/$triple/dist ;;
		esac
		case $triple in
		*-apple-*)
			cp "$built/$file" "$part/$name-debug/$file"
			objcopy --discard-all --strip-debug "$built/$file" "$part/$name/$file"
			;;
		*)
			check_glibc "$built/$file"
			objcopy --only-keep-debug "$built/$file" "$part/$name-debug/$file.debug"
			objcopy --strip-all "$built/$file" "$part/$name/$file"
			;;
		esac
	done
	if grep -rlaF "$root/" "$part/$name"; then
		fail "the files above have a path of this machine in them."
	fi
	pack "$name"
	pack "$name-debug"
done
rm -rf "$part"

cd "$out"
sha256sum acp-nvim-*.tar.gz >SHA256SUMS
{
	sed -n '1,/^---@type/p' "$root/lua/acp/checksums.lua"
	echo "-- rustc $(rustc -V | cut -d ' ' -f 2)"
	echo "return {"
	sed -n '/-debug\./!s/^\([0-9a-f]*\)  \(.*\)$/  ["\2"] = "\1",/p' SHA256SUMS
	echo "}"
} >checksums.part
mv checksums.part "$root/lua/acp/checksums.lua"
cat SHA256SUMS
