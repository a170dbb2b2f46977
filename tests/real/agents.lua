--- The agents whose turns are really run: the versions that were run last, and how each finds the
--- scripted model.
---
--- Nothing configures the plugin: each agent starts from its preset. In `env`, `files` and `setup`,
--- `{url}` is the model's address and `{home}` the agent's home. `calls` names the agent's own tools.

---@class acp.real.Call
---@field name string
---@field namespace? string
---@field args table

---@class acp.real.Agent
---@field package string What its preset installs.
---@field version string The version run last.
---@field env table<string, string>
---@field files? table<string, string> By their paths below its home.
---@field setup? string[] A command to run first.
---@field read fun(path: string): acp.real.Call
---@field edit fun(path: string, old: string, new: string): acp.real.Call
---@field write fun(path: string, text: string): acp.real.Call
---@field run fun(command: string): acp.real.Call
---@field delegate? fun(prompt: string): acp.real.Call Starts a sub-agent, if the client sees its work.
---@field steers? boolean It takes prompts while it works.
---@field overwrites? boolean It overwrites a session that is reopened in the minute of its start.
---@field seen string[] The last results: the cells of its row after the version.

local M = {}

--- The tried features, and the widths of their columns in the help.
local columns = {
  { "Agent", 9 },
  { "Version", 8 },
  { "Asks before", 21 },
  { "Rejected", 10 },
  { "Cancel", 7 },
  { "Command", 8 },
  { "Reopen", 7 },
  { "Undo", 0 },
}

--- Returns a row of the help's table.
local function row(cells)
  local line = ""
  for i, column in ipairs(columns) do
    local cell = ("%-" .. column[2] .. "s"):format(cells[i] or "?")
    line = line .. cell
  end
  return vim.trim(line)
end

--- Returns the row of an agent of which `seen` was seen.
---@param name string
---@param seen string[]
function M.row(name, seen)
  return row(vim.list_extend({ name, M.agents[name].version }, seen))
end

--- Returns the help's table.
function M.rows()
  local rows = { row(vim.tbl_map(function(column)
    return column[1]
  end, columns)) }
  for name, agent in vim.spairs(M.agents) do
    table.insert(rows, M.row(name, agent.seen))
  end
  return rows
end

--- Returns a row of the help's table of AG-UI frameworks.
local function framework_row(cells)
  return vim.trim(("%-10s%-24s%-6s%-6s%s"):format(unpack(cells)))
end

--- Returns the row of a framework of which `seen` was seen.
---@param name string
---@param seen string[]
function M.framework_row(name, seen)
  local framework = M.frameworks[name]
  return framework_row(vim.list_extend({ name, framework.requirements[1] }, seen))
end

--- Returns the help's table of AG-UI frameworks.
function M.framework_rows()
  local rows = { framework_row({ "Framework", "Package", "Text", "Tool", "Question" }) }
  for name, framework in vim.spairs(M.frameworks) do
    table.insert(rows, M.framework_row(name, framework.seen))
  end
  return rows
end

--- Returns a patch in the format of Codex.
local function patch(...)
  return ("*** Begin Patch\n%s\n*** End Patch\n"):format(table.concat({ ... }, "\n"))
end

local function added(path, text)
  return patch("*** Add File: " .. path, (vim.trim(text):gsub("^", "+"):gsub("\n", "\n+")))
end

local function updated(path, old, new)
  return patch("*** Update File: " .. path, "@@", "-" .. old, "+" .. new)
end

---@param name string
---@param args table
---@return acp.real.Call
local function call(name, args)
  return { name = name, args = args }
end

---@type table<string, acp.real.Agent>
M.agents = {
  claude = {
    package = "@agentclientprotocol/claude-agent-acp",
    version = "0.101.0",
    steers = true,
    env = {
      ANTHROPIC_BASE_URL = "{url}",
      ANTHROPIC_API_KEY = "none",
      ANTHROPIC_MODEL = "scripted",
      ANTHROPIC_SMALL_FAST_MODEL = "scripted",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1",
      DISABLE_AUTOUPDATER = "1",
    },
    -- Its default mode lets a model answer its questions.
    files = { [".claude/settings.json"] = '{ "permissions": { "defaultMode": "default" } }' },
    read = function(path)
      return call("Read", { file_path = path })
    end,
    edit = function(path, old, new)
      return call("Edit", { file_path = path, old_string = old, new_string = new })
    end,
    write = function(path, text)
      return call("Write", { file_path = path, content = text })
    end,
    run = function(command)
      return call("Bash", { command = command, description = "runs it" })
    end,
    delegate = function(prompt)
      return call(
        "Agent",
        { description = "look", prompt = prompt, subagent_type = "general-purpose" }
      )
    end,
    seen = { "edit", "goes on", "yes", "yes", "yes", "yes" },
  },
  cline = {
    package = "cline",
    version = "3.0.65",
    env = {
      CLINE_API_KEY = "none",
      CLINE_MODEL = "scripted",
      CLINE_NO_AUTO_UPDATE = "1",
      CLINE_PROVIDER = "openai-compatible",
      CLINE_TELEMETRY_DISABLED = "1",
    },
    setup = { "cline", "auth", "-p", "openai", "-k", "none", "-m", "scripted", "-b", "{url}/v1" },
    read = function(path)
      return call("read_files", { files = { { path = path } } })
    end,
    edit = function(path, old, new)
      return call("apply_patch", { input = updated(path, old, new) })
    end,
    write = function(path, text)
      return call("apply_patch", { input = added(path, text) })
    end,
    run = function(command)
      return call("run_commands", { commands = { command } })
    end,
    seen = { "read, other, execute", "goes on", "yes", "yes", "yes", "yes" },
  },
  codex = {
    package = "@agentclientprotocol/codex-acp",
    version = "2.6.0",
    -- Its default mode lets a model answer its questions.
    steers = true,
    env = {
      CODEX_HOME = "{home}/.codex",
      INITIAL_AGENT_MODE = "read-only",
      MODEL_KEY = "none",
    },
    files = {
      [".codex/config.toml"] = [[
model = "scripted"
model_provider = "tests"
check_for_update_on_startup = false
[model_providers.tests]
name = "tests"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
]],
    },
    read = function(path)
      return call("exec_command", { cmd = "cat " .. path })
    end,
    edit = function(path, old, new)
      local text = updated(vim.fs.basename(path), old, new)
      return call("exec_command", { cmd = ("apply_patch <<'EOF'\n%sEOF"):format(text) })
    end,
    write = function(path, text)
      local patched = added(vim.fs.basename(path), text)
      return call("exec_command", { cmd = ("apply_patch <<'EOF'\n%sEOF"):format(patched) })
    end,
    run = function(command)
      local why = { sandbox_permissions = "require_escalated", justification = "it must run" }
      return call("exec_command", vim.tbl_extend("error", { cmd = command }, why))
    end,
    delegate = function(prompt)
      local args = { message = prompt }
      return { name = "spawn_agent", namespace = "multi_agent_v1", args = args }
    end,
    seen = { "edit, execute", "stops", "yes", "yes", "yes", "yes" },
  },
  gemini = {
    package = "@google/gemini-cli",
    version = "0.61.0",
    overwrites = true,
    env = {
      GEMINI_API_KEY = "none",
      GEMINI_CLI_NO_RELAUNCH = "true",
      GEMINI_MODEL = "gemini-2.5-flash",
      GOOGLE_GEMINI_BASE_URL = "{url}",
    },
    files = {
      [".gemini/settings.json"] = [[{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false }
}]],
    },
    read = function(path)
      return call("read_file", { file_path = path })
    end,
    edit = function(path, old, new)
      local args = { file_path = path, old_string = old, new_string = new, instruction = "edit it" }
      return call("replace", args)
    end,
    write = function(path, text)
      return call("write_file", { file_path = path, content = text })
    end,
    run = function(command)
      return call("run_shell_command", { command = command, description = "runs it" })
    end,
    seen = { "edit, execute", "goes on", "yes", "yes", "yes", "yes" },
  },
  kimi = {
    package = "@moonshot-ai/kimi-code",
    version = "2.1.0",
    env = {
      KIMI_CODE_HOME = "{home}/.kimi",
      KIMI_CODE_NO_AUTO_UPDATE = "1",
      KIMI_MODEL_API_KEY = "none",
      KIMI_MODEL_BASE_URL = "{url}/v1",
      KIMI_MODEL_NAME = "scripted",
      KIMI_MODEL_PROVIDER_TYPE = "openai",
    },
    read = function(path)
      return call("Read", { path = path })
    end,
    edit = function(path, old, new)
      return call("Edit", { path = path, old_string = old, new_string = new })
    end,
    write = function(path, text)
      return call("Write", { path = path, content = text })
    end,
    run = function(command)
      return call("Bash", { command = command, description = "runs it" })
    end,
    seen = { "edit, execute", "goes on", "yes", "yes", "yes", "yes" },
  },
  opencode = {
    package = "opencode-ai",
    version = "1.18.33",
    env = {
      OPENCODE_DISABLE_AUTOUPDATE = "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS = "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD = "1",
      OPENCODE_DISABLE_MODELS_FETCH = "1",
    },
    files = {
      [".config/opencode/opencode.json"] = [[{
  "autoupdate": false,
  "share": "disabled",
  "provider": { "tests": {
    "npm": "@ai-sdk/openai-compatible",
    "name": "tests",
    "options": { "baseURL": "{url}/v1", "apiKey": "none" },
    "models": { "scripted": { "tool_call": true, "limit": { "context": 200000, "output": 8000 } } }
  } },
  "enabled_providers": ["tests"],
  "model": "tests/scripted",
  "small_model": "tests/scripted",
  "permission": { "edit": "ask", "bash": "ask" }
}]],
    },
    read = function(path)
      return call("read", { filePath = path })
    end,
    edit = function(path, old, new)
      return call("edit", { filePath = path, oldString = old, newString = new })
    end,
    write = function(path, text)
      return call("write", { filePath = path, content = text })
    end,
    run = function(command)
      return call("bash", { command = command, description = "runs it" })
    end,
    seen = { "edit, execute", "stops", "yes", "yes", "yes", "yes" },
  },
}

---@class acp.real.Framework
---@field requirements string[] What pip installs; the first one is the framework.
---@field asks? string What its agent says after a question that was answered.
---@field seen string[] The last results: the cells of its row after the package.

--- Frameworks whose agents are run over AG-UI, each with an agent agui_NAME.py beside this file.
---@type table<string, acp.real.Framework>
M.frameworks = {
  agno = {
    requirements = { "agno==3.1.10", "ag-ui-protocol", "fastapi", "python-multipart", "uvicorn" },
    seen = { "yes", "yes", "-" },
  },
  langgraph = {
    requirements = { "ag-ui-langgraph==0.0.47", "fastapi", "uvicorn" },
    asks = "You said",
    seen = { "yes", "yes", "yes" },
  },
}

return M
