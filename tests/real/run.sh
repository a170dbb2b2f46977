#!/bin/sh
# Runs real agents from their presets in a headless Neovim and prints two tables: what each does
# unconfigured, and, of those in agents.lua, what came of turns with a scripted model; then the same
# of agents of AG-UI frameworks. Installs missing ones below $1 first. Fails when turns differ from
# what agents.lua has.
#
#   sh tests/real/run.sh FOLDER NVIM [NAME]...
#
# NVIM is an absolute path. ACP_REAL_CHAT=1 also prints the chat and the end of the log;
# ACP_REAL_PROMPT=1 also sends a prompt, which may reach the agent's provider.
#
# Needs Node.js and npm; Mistral Vibe needs Python 3.12 or newer. Turns need Python 3, root and
# Linux: they run in a network namespace that has loopback only. The user's files are neither read
# nor changed: each agent has a temporary home.
set -eu

folder=$1 nvim=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 0 ] || set -- auggie claude cline codex copilot gemini kimi opencode qoder qwen vibe agno langgraph
mkdir -p "$folder"

# Prints a value of Lua.
lua() {
  "$nvim" --clean --headless --cmd "set rtp^=$root" --cmd "lua io.stdout:write($1)" --cmd 'qall!' 2>&1
}

# Prints the version of an agent whose turns are run; nothing for others.
version_of() {
  lua "(dofile('$root/tests/real/agents.lua').agents['$1'] or { version = '' }).version"
}

# Prints what pip installs for an AG-UI framework; nothing for agents of ACP.
requirements_of() {
  lua "table.concat((dofile('$root/tests/real/agents.lua').frameworks['$1'] or {}).requirements or {}, ' ')"
}

# Prints the Python that has a framework, installing it first if it is missing.
python_of() {
  packages=$(requirements_of "$1")
  own=$folder/$1-$(echo "$packages" | cksum | cut -d ' ' -f 1)
  # shellcheck disable=SC2086 # the words are packages
  [ -f "$own/ready" ] || {
    "${ACP_PYTHON:-python3}" -m venv "$own" >&2 && "$own/bin/pip" install -q $packages >&2 || return 1
    touch "$own/ready"
  }
  echo "$own/bin/python"
}

# Prints the folder of a Node.js that is new enough for all agents.
node_folder() {
  own=$folder/node-22
  [ -d "$own/node_modules/node/bin" ] || {
    npm install --prefix "$own" --no-audit --no-fund --silent node@22 >&2
    npm rebuild --prefix "$own" --silent node >&2 || true
  }
  echo "$own/node_modules/node/bin"
}

# Prints the folder of an agent's program, installing it first if it is missing: the version whose
# turns are run, else the newest one.
program_of() {
  version=$(version_of "$1")
  own=$folder/$1${version:+-$version}
  line=$(lua "require('acp.presets')['$1'].install")
  package=${line##* }
  case $line in
    npm*)
      bin=$own/node_modules/.bin
      [ -z "$version" ] || package=$(printf %s "$package" | sed 's/\(.\)@[^@]*$/\1/')@$version
      [ -d "$bin" ] || {
        mkdir -p "$own"
        # npm takes a version that this Node.js can run.
        PATH="$node:$PATH" npm install --prefix "$own" --no-audit --no-fund --silent "$package" >&2 || return 1
      }
      ;;
    uv*)
      bin=$own/bin
      [ -d "$bin" ] || {
        "${ACP_PYTHON:-python3}" -m venv "$own" >&2 && "$bin/pip" install -q "$package" >&2 || {
          rm -rf "$own"
          return 1
        }
      }
      ;;
    *)
      echo "$1 cannot be installed by itself: $line" >&2
      return 1
      ;;
  esac
  (cd "$bin" && pwd)
}

# Runs a script in a Neovim with a home and a project in $home, and the agent's program on $PATH.
isolated() {
  script=$root/tests/real/$1
  shift
  (
    cd "$home/project"
    env -i PATH="$bin:$node:$PATH" HOME="$home" TMPDIR="$home" LANG=C.UTF-8 TERM=xterm-256color \
      SHELL=/bin/sh PYTHONDONTWRITEBYTECODE=1 ${ACP_REAL_CHAT:+ACP_REAL_CHAT=1} ${ACP_REAL_PROMPT:+ACP_REAL_PROMPT=1} \
      ${ACP_PYTHON:+ACP_PYTHON="$ACP_PYTHON"} \
      XDG_CONFIG_HOME="$home/.config" XDG_STATE_HOME="$home/.local/state" \
      XDG_DATA_HOME="$home/.local/share" XDG_CACHE_HOME="$home/.cache" \
      timeout 600 "$nvim" --clean --headless --cmd "set rtp^=$root" -l "$script" "$@"
  )
}

fresh_home() {
  home=$(mktemp -d)
  mkdir "$home/project"
}

# Runs the turns of an agent, or of one of a framework, and prints its row.
turns_of() {
  fresh_home
  printf 'one\ntwo\nthree\n' >"$home/project/hello.txt"
  if [ -z "$bin" ]; then
    bin=$node
    isolated agui.lua "$1"
  else
    for part in first late parent child second; do
      isolated turns.lua "$1" $part || return 1
    done
  fi
}

# Runs the turns where no network is.
offline() {
  ACP_REAL_OFFLINE=1 ACP_REAL_BIN=$bin ACP_REAL_NODE=$node \
    unshare -n sh "$root/tests/real/run.sh" "$folder" "$nvim" "$1" || failed="$failed $1"
}

# This script again, from `offline`.
if [ "${ACP_REAL_OFFLINE-}" ]; then
  bin=$ACP_REAL_BIN node=$ACP_REAL_NODE
  here=$(readlink /proc/self/ns/net)
  [ "$here" != "$(readlink /proc/1/ns/net)" ] || exit 1
  ip link set lo up
  turns_of "$1" || failed=1
  [ "${ACP_REAL_CHAT-}" ] && tail -n 40 "$home/.local/state/nvim/acp.log"
  # Some leave daemons behind: what still runs in this namespace.
  for process in /proc/[0-9]*; do
    [ "${process#/proc/}" = $$ ] || [ "$(readlink "$process/ns/net" 2>/dev/null)" != "$here" ] ||
      kill -9 "${process#/proc/}" 2>/dev/null || true
  done
  rm -rf "$home" 2>/dev/null || true
  exit "${failed:-0}"
fi

node=$(node_folder)
failed=
echo '| Name | What it calls itself | Started unconfigured, it | Ways to log in |'
echo '| --- | --- | --- | --- |'
for name in "$@"; do
  [ -z "$(requirements_of "$name")" ] || continue
  if ! bin=$(program_of "$name"); then
    echo "| \`$name\` | | was not installed | |"
    failed="$failed $name"
    continue
  fi
  fresh_home
  isolated agent.lua "$name" 2>&1 || true
  if [ -n "${ACP_REAL_CHAT-}" ]; then
    tail -n 40 "$home/.local/state/nvim/acp.log" || true
  fi
  # Some leave daemons that keep writing for a while.
  rm -rf "$home" 2>/dev/null || true
done

if [ "$(id -u)" != 0 ] || ! unshare -n true 2>/dev/null; then
  echo 'turns: not run, they need root and network namespaces' >&2
  exit 0
fi
echo
lua "dofile('$root/tests/real/agents.lua').rows()[1]"
echo
for name in "$@"; do
  [ -n "$(version_of "$name")" ] && bin=$(program_of "$name") || continue
  offline "$name"
done
echo
lua "dofile('$root/tests/real/agents.lua').framework_rows()[1]"
echo
for name in "$@"; do
  [ -n "$(requirements_of "$name")" ] || continue
  if ACP_PYTHON=$(python_of "$name"); then
    export ACP_PYTHON
    bin=
    offline "$name"
  else
    failed="$failed $name"
  fi
  unset ACP_PYTHON
done
[ -z "$failed" ] || {
  echo "failed:$failed" >&2
  exit 1
}
