--- Resolves agents: which one to use, whether it is installed, and how to start it; and lists them.

local M = {}

---@class acp.agents.Found
---@field name string
---@field path? string The program, or nil if it was not found.
---@field agent acp.Agent.Resolved

--- Returns the path of an agent's program, or nil.
---@param agent acp.Agent.Resolved
---@return string?
local function program(agent)
  local command = vim.fs.normalize(agent.command)
  if command == "acp-tutor" or command == "acp-agui" then
    -- These come with the library: beside it, or where `install.sh` puts them.
    local native = require("acp.native")
    local library = native.find()
    local installed = native.root() .. "/lib/" .. command
    local beside = library and vim.fs.dirname(library) .. "/" .. command or installed
    for _, path in ipairs({ beside, installed }) do
      if vim.fn.executable(path) == 1 then
        return path
      end
    end
  end
  local path = vim.fn.exepath(command)
  return path ~= "" and path or nil
end

--- The commands that start agents which are not installed, by name; the user has agreed to each.
---@type table<string, string[]>
local commands = {}

--- Starts an agent by a command until Neovim ends or it is installed.
---@param name string
---@param command string[]
function M.start_by(name, command)
  commands[name] = command
end

--- Returns the agent called `name`.
---@param name string
---@return acp.agents.Found?
function M.get(name)
  local agent = require("acp.config").get().agents[name]
  local path = agent and program(agent)
  local command = commands[name]
  if agent and not path and command then
    path = vim.fn.exepath(command[1] or "")
    agent = vim.tbl_extend("force", agent, { args = vim.list_slice(command, 2) })
  end
  return agent and { name = name, path = path, agent = agent }
end

--- Returns the names of all agents, sorted.
---@return string[]
function M.names()
  local names = vim.tbl_keys(require("acp.config").get().agents)
  table.sort(names)
  return names
end

--- Returns all agents, sorted by name.
---@return acp.agents.Found[]
function M.list()
  return vim.tbl_map(M.get, M.names())
end

--- Returns the name of the agent for a new session, ignoring earlier sessions.
---@return string name
---@return boolean chosen Whether the user's configuration names it.
function M.default()
  local config = require("acp.config")
  local name = config.get().default_agent
  if name then
    return name, true
  end
  local own = vim.tbl_keys(config.report().own)
  table.sort(own)
  for _, candidate in ipairs(own) do
    local found = M.get(candidate)
    if found and found.path then
      return candidate, true
    end
  end
  -- No agent is installed: the error then names the missing program of this one.
  return own[1] or "tutor", own[1] ~= nil
end

--- Returns how to start the agent called `name`; raises a sentence if it cannot be started.
---@param name string
---@return acp.agents.Found
function M.require(name)
  local found = M.get(name)
  if not found then
    error(("acp.nvim: there is no agent %q; `:Acp agents` lists them all."):format(name), 0)
  elseif not found.path then
    error("acp.nvim: " .. M.missing(found) .. ".", 0)
  end
  return found
end

--- Returns a line for each running process of an agent.
---@param name string
---@return string[]
function M.running(name)
  local native = require("acp.native").loaded()
  local lines = {} ---@type string[]
  for _, agent in ipairs(native and native.agents() or {}) do
    if agent.name == name then
      local who = agent.title and vim.trim(agent.title .. " " .. (agent.version or "")) or "it"
      local count = #agent.sessions
      local sessions = count == 1 and "1 session" or ("%d sessions"):format(count)
      local verb = agent.state == "ready" and "runs" or "is " .. agent.state
      table.insert(lines, ("%s %s with %s in %s"):format(who, verb, sessions, agent.cwd))
    end
  end
  return lines
end

--- Returns a message about a missing program and what to do, without a full stop.
---@param found acp.agents.Found
---@return string
function M.missing(found)
  local correct = ("install it, or correct `agents.%s.command`"):format(found.name)
  local text = "the agent %q needs `%s`, which was not found: %s"
  local instruction = found.agent.install or correct
  if require("acp.install").commands(found.name, found.agent) then
    -- Short enough for one line of a small screen; a longer one would cause a hit-enter prompt.
    instruction = ("`:Acp agents %s` installs it"):format(found.name)
  end
  return text:format(found.name, found.agent.command, instruction)
end

--- Shows the agents with their processes, and how to install missing ones.
function M.show()
  local default = M.default()
  local chunks = {}
  local function add(found, text, group)
    local mark = found.name == default and "* " or "  "
    table.insert(chunks, { ("%s%-10s "):format(mark, found.name), "Identifier" })
    table.insert(chunks, { text .. "\n", group })
    for _, line in ipairs(M.running(found.name)) do
      table.insert(chunks, { (" "):rep(13) .. line .. "\n", "Comment" })
    end
  end
  local missing = {}
  for _, found in ipairs(M.list()) do
    if found.path then
      add(found, found.path)
    else
      table.insert(missing, found)
    end
  end
  for _, found in ipairs(missing) do
    local install = found.agent.install or "correct its `command`"
    add(found, ("not found: %s"):format(install), "Comment")
  end
  chunks[#chunks][1] = chunks[#chunks][1]:gsub("\n$", "")
  vim.api.nvim_echo(chunks, false, {})
end

return M
