#!/bin/sh
# Starts real agents from their presets, unconfigured, in a headless Neovim, and prints the outcome
# of each as a row of a table. Installs missing ones below $1 first.
#
#   sh tests/real/run.sh FOLDER NVIM [NAME]...
#
# NVIM is an absolute path. ACP_REAL_CHAT=1 also prints the chat and the end of the log;
# ACP_REAL_PROMPT=1 also sends a prompt, which may reach the agent's provider.
#
# Needs Node.js and npm; Mistral Vibe needs Python 3.12 or newer. The user's files are neither read
# nor changed: each agent has a temporary home.
set -eu

folder=$1 nvim=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 0 ] || set -- auggie claude cline codex copilot gemini kimi opencode qoder qwen vibe
mkdir -p "$folder"

# Prints what the preset says to install: `npm install -g PACKAGE`, `uv tool install NAME`.
install_line() {
  "$nvim" --clean --headless --cmd "set rtp^=$root" \
    --cmd "lua io.stdout:write(require('acp.presets')['$1'].install)" --cmd 'qall!' 2>&1
}

# Prints the folder of an agent's program, installing it first if it is missing.
program_of() {
  own=$folder/$1
  line=$(install_line "$1")
  package=${line##* }
  case $line in
    npm*)
      bin=$own/node_modules/.bin
      [ -d "$bin" ] || {
        mkdir -p "$own"
        # Some need a newer Node.js than the system's.
        npm install --prefix "$own" --no-audit --no-fund --silent "$package" node@22 >&2 || return 1
        npm rebuild --prefix "$own" --silent node >&2 || true
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

echo '| Name | What it calls itself | Started unconfigured, it | Ways to log in |'
echo '| --- | --- | --- | --- |'
for name in "$@"; do
  if ! bin=$(program_of "$name"); then
    echo "| \`$name\` | | was not installed | |"
    continue
  fi
  home=$(mktemp -d)
  mkdir "$home/project"
  (
    cd "$home/project"
    env -i PATH="$bin:$PATH" HOME="$home" TMPDIR="$home" LANG=C.UTF-8 TERM=xterm-256color \
      SHELL=/bin/sh ${ACP_REAL_CHAT:+ACP_REAL_CHAT=1} ${ACP_REAL_PROMPT:+ACP_REAL_PROMPT=1} \
      XDG_CONFIG_HOME="$home/.config" XDG_STATE_HOME="$home/.local/state" \
      XDG_DATA_HOME="$home/.local/share" XDG_CACHE_HOME="$home/.cache" \
      timeout 200 "$nvim" --clean --headless --cmd "set rtp^=$root" \
      -l "$root/tests/real/agent.lua" "$name" 2>&1
  ) || true
  if [ -n "${ACP_REAL_CHAT-}" ]; then
    tail -n 40 "$home/.local/state/nvim/acp.log" || true
  fi
  # Some leave daemons that keep writing for a while.
  rm -rf "$home" 2>/dev/null || true
done
