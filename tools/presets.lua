-- Writes lua/acp/presets.lua from tools/registry.json, the facts that the ACP registry has of agents
-- with a preset, and from what is ours (`ours`, below).
--
--   nvim --clean --headless -l tools/presets.lua [--check]
--   nvim --clean --headless -l tools/presets.lua REGISTRY
--
-- With REGISTRY, the facts are taken anew first. It is a checkout of agentclientprotocol/registry or
-- the registry.json that the registry serves. npm and pip add the newest version of each package:
-- a snapshot of the registry may be older.
local this = assert(arg[0], "it is run as a script")
local root = vim.fs.normalize(vim.fn.fnamemodify(this, ":p:h:h"))
local FACTS, PRESETS = root .. "/tools/registry.json", root .. "/lua/acp/presets.lua"
local run = dofile(root .. "/tests/real/agents.lua").agents

---@class acp.presets.Fact
---@field version string
---@field npm? string The package of npm, with its version.
---@field args? string[]
---@field env? table<string, string>
---@field newest? string The newest version of the package, at the date of the facts.

---@class acp.presets.Ours
---@field id string Its name in the registry.
---@field title string
---@field command string
---@field npm? string What npm has it as, if the registry has something else.
---@field uv? string What uv has it as.
---@field site? string Where it is described, if no package manager has it.
---@field note? string
---@field missing_file? string

---@type table<string, acp.presets.Ours>
local ours = {
  auggie = {
    id = "auggie",
    title = "Auggie",
    command = "auggie",
    note = "An update during a session would end it.",
  },
  claude = { id = "claude-acp", title = "Claude Code", command = "claude-agent-acp" },
  cline = { id = "cline", title = "Cline", command = "cline" },
  codex = { id = "codex-acp", title = "Codex", command = "codex-acp" },
  copilot = { id = "github-copilot-cli", title = "Copilot CLI", command = "copilot" },
  cursor = {
    id = "cursor",
    title = "Cursor",
    command = "cursor-agent",
    site = "https://cursor.com/docs/cli/installation",
  },
  gemini = {
    id = "gemini",
    title = "Gemini CLI",
    command = "gemini",
    note = "It gives up creating a file when reading it returns an error.",
    missing_file = "empty",
  },
  goose = {
    id = "goose",
    title = "Goose",
    command = "goose",
    site = "https://block.github.io/goose",
  },
  kimi = { id = "kimi-code", title = "Kimi Code", command = "kimi" },
  -- npm does not have the registry's package.
  opencode = { id = "opencode", title = "OpenCode", command = "opencode", npm = "opencode-ai" },
  qoder = { id = "qoder", title = "Qoder CLI", command = "qodercli" },
  qwen = { id = "qwen-code", title = "Qwen Code", command = "qwen" },
  vibe = { id = "mistral-vibe", title = "Mistral Vibe", command = "vibe-acp", uv = "mistral-vibe" },
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

---@param own acp.presets.Ours
---@param fact acp.presets.Fact
---@return string?
local function npm_package(own, fact)
  return not own.uv and not own.site and (own.npm or (fact.npm or ""):match("^.[^@]*")) or nil
end

--- Asks a package manager.
---@param pattern string What captures the answer.
local function ask(pattern, ...)
  local done = vim.system({ ... }, { text = true }):wait(120000)
  return assert((done.stdout or ""):match(pattern), done.stderr)
end

--- Returns what the registry has of an agent.
---@param registry string
---@param id string
local function entry(registry, id)
  if vim.fn.isdirectory(registry) == 1 then
    return vim.json.decode(read(("%s/%s/agent.json"):format(registry, id)))
  end
  for _, agent in ipairs(vim.json.decode(read(registry)).agents) do
    if agent.id == id then
      return agent
    end
  end
  error("the registry does not have " .. id)
end

---@param registry string
local function take(registry)
  local lines = {}
  for _, own in vim.spairs(ours) do
    local agent = entry(registry, own.id)
    local by = agent.distribution
    local how = by.npx or by.uvx or select(2, next(by.binary))
    ---@type acp.presets.Fact
    local fact =
      { version = agent.version, npm = by.npx and how.package, args = how.args, env = how.env }
    local package = npm_package(own, fact)
    if package then
      fact.newest = ask("[%w.-]+", "npm", "view", "--silent", package, "version")
    elseif own.uv then
      local pip = { "pip", "index", "versions", "--ignore-requires-python", own.uv }
      fact.newest = ask("%(([%w.]+)%)", unpack(pip))
    end
    local values = {}
    for key, value in vim.spairs(fact) do
      table.insert(values, ("%q: %s"):format(key, (vim.json.encode(value):gsub("\\/", "/"))))
    end
    table.insert(lines, ("    %q: { %s }"):format(own.id, table.concat(values, ", ")))
  end
  table.sort(lines)
  local text = '{\n  "taken": "%s",\n  "agents": {\n%s\n  }\n}\n'
  write(FACTS, text:format(os.date("!%Y-%m-%d"), table.concat(lines, ",\n")))
end

--- Returns the text of a table's field, or nothing if it has no value.
local function field(name, value)
  if value == nil or (type(value) == "table" and next(value) == nil) then
    return nil
  elseif type(value) ~= "table" then
    return ("    %s = %q,\n"):format(name, value)
  end
  local items = {}
  for key, item in vim.spairs(value) do
    local is_item = type(key) == "number"
    table.insert(items, is_item and ("%q"):format(item) or ("%s = %q"):format(key, item))
  end
  return ("    %s = { %s },\n"):format(name, table.concat(items, ", "))
end

---@param name string
---@param own acp.presets.Ours
---@param fact acp.presets.Fact
local function preset(name, own, fact)
  local package = npm_package(own, fact)
  -- The version whose turns were run is known to work.
  local version = run[name] and run[name].version or fact.newest
  local install = own.site and "see " .. own.site
    or own.uv and "uv tool install " .. own.uv
    or ("npm install -g %s@%s"):format(package, version:match("^%d+"))
  local fields = {
    field("title", own.title),
    field("command", own.command),
    field("args", fact.args) or "",
    own.note and ("    -- %s\n"):format(own.note) or "",
    field("env", fact.env) or "",
    field("missing_file", own.missing_file) or "",
    field("install", install),
    field("version", version) or "",
  }
  return ("  %s = {\n%s  },\n"):format(name, table.concat(fields))
end

local HEAD = [[
--- The agents that need no configuration: how each is started and installed.
---
--- tools/presets.lua made this from the ACP registry and from npm and PyPI as of %s.
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
]]

local function made()
  local facts = vim.json.decode(read(FACTS))
  local text = HEAD:format(facts.taken)
  for name, own in vim.spairs(ours) do
    text = text .. preset(name, own, facts.agents[own.id])
  end
  return text .. "}\n"
end

if arg[1] == "--check" then
  if read(PRESETS) ~= made() then
    io.stderr:write("lua/acp/presets.lua is not what tools/presets.lua makes\n")
    os.exit(1)
  end
  return
end
if arg[1] then
  take(arg[1])
end
write(PRESETS, made())
