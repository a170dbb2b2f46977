--- The agents that need no configuration: how each is started and installed.
---
--- tools/presets.lua made this from the ACP registry and from npm and PyPI as of 2026-11-23.
--- `make agents` starts each one that a package manager can install.

---@class acp.Preset
---@field title string Its usual name.
---@field command string
---@field args? string[]
---@field env? table<string, string>
---@field missing_file? "error"|"empty"
---@field install string
---@field version? string The one that is started without an install.

---@type table<string, acp.Preset>
return {
  tutor = {
    title = "the tutor",
    command = "acp-tutor",
    install = "run `./install.sh` in the plugin's folder",
  },
  auggie = {
    title = "Auggie",
    command = "auggie",
    args = { "--acp" },
    -- An update during a session would end it.
    env = { AUGMENT_DISABLE_AUTO_UPDATE = "1" },
    install = "npm install -g @augmentcode/auggie@0",
    version = "0.36.0",
  },
  claude = {
    title = "Claude Code",
    command = "claude-agent-acp",
    install = "npm install -g @agentclientprotocol/claude-agent-acp@0",
    version = "0.101.0",
  },
  cline = {
    title = "Cline",
    command = "cline",
    args = { "--acp" },
    install = "npm install -g cline@3",
    version = "3.0.65",
  },
  codex = {
    title = "Codex",
    command = "codex-acp",
    install = "npm install -g @agentclientprotocol/codex-acp@2",
    version = "2.6.0",
  },
  copilot = {
    title = "Copilot CLI",
    command = "copilot",
    args = { "--acp" },
    install = "npm install -g @github/copilot@1",
    version = "1.0.102",
  },
  cursor = {
    title = "Cursor",
    command = "cursor-agent",
    args = { "acp" },
    install = "see https://cursor.com/docs/cli/installation",
  },
  gemini = {
    title = "Gemini CLI",
    command = "gemini",
    args = { "--acp" },
    -- It gives up creating a file when reading it returns an error.
    missing_file = "empty",
    install = "npm install -g @google/gemini-cli@0",
    version = "0.61.0",
  },
  goose = {
    title = "Goose",
    command = "goose",
    args = { "acp" },
    install = "see https://block.github.io/goose",
  },
  kimi = {
    title = "Kimi Code",
    command = "kimi",
    args = { "acp" },
    install = "npm install -g @moonshot-ai/kimi-code@2",
    version = "2.1.0",
  },
  opencode = {
    title = "OpenCode",
    command = "opencode",
    args = { "acp" },
    install = "npm install -g opencode-ai@1",
    version = "1.18.33",
  },
  qoder = {
    title = "Qoder CLI",
    command = "qodercli",
    args = { "--acp" },
    install = "npm install -g @qoder-ai/qodercli@1",
    version = "1.1.52",
  },
  qwen = {
    title = "Qwen Code",
    command = "qwen",
    args = { "--acp", "--experimental-skills" },
    install = "npm install -g @qwen-code/qwen-code@0",
    version = "0.24.4",
  },
  vibe = {
    title = "Mistral Vibe",
    command = "vibe-acp",
    install = "uv tool install mistral-vibe",
    version = "3.0.3",
  },
}
