#!/bin/sh
# Installs Debian packages where that can be done without asking, else says what is missing.
#
# Usage: tools/need.sh "PACKAGES" "what they are, for the message"
set -eu

packages=$1
what=$2
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing $what ($packages)"
	# shellcheck disable=SC2086 # the words are packages
	{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install $packages; } >/dev/null && exit 0
fi
echo "$what is missing: please install it (on Debian and Ubuntu: apt-get install $packages)." >&2
exit 1
