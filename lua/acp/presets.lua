--- The agents that need no configuration: how each is started and installed.
---
--- `make agents` starts each one that a package manager can install.

---@class acp.Preset
---@field title string Its usual name.
---@field command string
---@field args? string[]
---@field env? table<string, string>
---@field missing_file? "error"|"empty"
---@field install string

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
    install = "npm install -g @augmentcode/auggie",
  },
  claude = {
    title = "Claude Code",
    command = "claude-agent-acp",
    install = "npm install -g @agentclientprotocol/claude-agent-acp@0",
  },
  cline = {
    title = "Cline",
    command = "cline",
    args = { "--acp" },
    install = "npm install -g cline@3",
  },
  codex = {
    title = "Codex",
    command = "codex-acp",
    install = "npm install -g @agentclientprotocol/codex-acp@2",
  },
  copilot = {
    title = "Copilot CLI",
    command = "copilot",
    args = { "--acp" },
    install = "npm install -g @github/copilot",
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
  },
  opencode = {
    title = "OpenCode",
    command = "opencode",
    args = { "acp" },
    install = "npm install -g opencode-ai@1",
  },
  qoder = {
    title = "Qoder CLI",
    command = "qodercli",
    args = { "--acp" },
    install = "npm install -g @qoder-ai/qodercli",
  },
  qwen = {
    title = "Qwen Code",
    command = "qwen",
    args = { "--acp" },
    install = "npm install -g @qwen-code/qwen-code",
  },
  vibe = {
    title = "Mistral Vibe",
    command = "vibe-acp",
    install = "uv tool install mistral-vibe",
  },
}
