--- Installs an agent, or starts it without an install.
---
--- Invariant: no command runs before the user has agreed to it as it is shown.

local notify = require("acp.notify")
local say = notify.say

local M = {}

---@class acp.install.Manager
---@field run string[] Runs a program of a package, which follows, without an install.
---@field pin string Stands between a package and its version.

--- Package managers by the words before the package in an agent's `install`.
---@type table<string, acp.install.Manager>
local managers = {
  ["npm install -g"] = { run = { "npx", "-y", "--package" }, pin = "@" },
  ["uv tool install"] = { run = { "uvx", "--from" }, pin = "==" },
}

---@class acp.install.Way
---@field label string What it does.
---@field command string[]
---@field run fun(command: string[])

--- Returns the command that installs an agent, and the one that starts it without an install, if a
--- package manager has it. A preset's package is started in the version that the preset names.
---@param name string
---@param agent acp.Agent.Resolved
---@return string[]? install
---@return string[]? start
function M.commands(name, agent)
  local line = agent.install or ""
  local words, package = line:match("^(%l+ .-)%s+(%S+)$")
  local manager = words and managers[words]
  -- The package does not have a program that the user has configured by its path.
  if not manager or not package or agent.command:find("/", 1, true) then
    return nil, nil
  end
  local preset = require("acp.presets")[name]
  if preset and preset.version and preset.install == line then
    package = package:match("^.[^@]*") .. manager.pin .. preset.version
  end
  local start = vim.list_extend({ package, agent.command }, agent.args)
  return vim.split(line, "%s+"), vim.list_extend(vim.list_slice(manager.run), start)
end

--- Installs an agent in a visible terminal, and says what came of it.
---@param name string
---@param command string[]
local function install(name, command)
  local buf, why = require("acp.terminal").run({
    title = table.concat(command, " "),
    command = command,
    desc = "acp: close the install",
    ended = function(code)
      local found = require("acp.agents").get(name)
      if code ~= 0 then
        local text = "%s was not installed (exit code %d); the terminal shows why."
        say(text:format(name, code), vim.log.levels.ERROR)
      elseif found and found.path then
        say(("%s is installed; `:AcpChat %s` starts it."):format(name, name))
      else
        local text = "%s is installed, but `%s` is not on $PATH: add its folder there."
        say(text:format(name, found and found.agent.command or name), vim.log.levels.WARN)
      end
    end,
  })
  if not buf then
    say(("`%s` cannot be run: %s."):format(command[1], why), vim.log.levels.ERROR)
  end
end

--- Asks how to get an agent, and does that.
---@param name string
function M.ask(name)
  local agents = require("acp.agents")
  local found = agents.get(name)
  if not found then
    agents.require(name)
    return
  end
  local installs, starts = M.commands(name, found.agent)
  if not installs or not starts then
    if found.path then
      return say(("%s is installed; `:AcpChat %s` starts it."):format(name, name))
    end
    error("acp.nvim: " .. agents.missing(found) .. ".", 0)
  end
  ---@type acp.install.Way[]
  local ways = {
    {
      label = found.path and "Install it again" or "Install it",
      command = installs,
      run = function(command)
        install(name, command)
      end,
    },
    {
      label = "Start it without an install, in this Neovim",
      command = starts,
      run = function(command)
        agents.start_by(name, command)
        require("acp").open({ agent = name, new = true })
      end,
    },
  }
  if found.path then
    table.remove(ways)
  end
  require("acp.select")(ways, {
    prompt = found.path and ("%s is installed: %s"):format(name, found.path)
      or ("%s is not installed"):format(name),
    kind = "acp-install-agent",
    format_item = function(way)
      return ("%s: %s"):format(way.label, table.concat(way.command, " "))
    end,
  }, function(way)
    if not way then
      return
    end
    notify.guarded(function()
      local program = way.command[1] or ""
      if vim.fn.executable(program) == 0 then
        error(("acp.nvim: `%s` was not found: install it first."):format(program), 0)
      end
      way.run(way.command)
    end)
  end)
end

return M
