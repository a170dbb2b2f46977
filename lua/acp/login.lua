--- Logs the user in to and out of agents: lets them choose a method, and asks for its keys.
---
--- Invariant: input for a log-in is passed to the library and to nothing else.

local say = require("acp.notify").say

local M = {}

--- The process of an agent, as reported by the library.
---@class acp.native.Agent
---@field name string The agent's name in the configuration.
---@field state "starting"|"ready"|"leaving"
---@field sessions acp.Session[]
---@field command string
---@field args string[]
---@field env table<string, string>
---@field cwd string
---@field title? string The agent's own title.
---@field version? string
---@field logout? boolean Whether it supports logging out.
---@field methods? acp.AuthMethod[] Set once the agent has reported them.

--- A log-in method of an agent.
---@class acp.AuthMethod
---@field id string
---@field name string
---@field description? string
---@field kind "agent"|"api_key"|"env_var"|"terminal"
---@field command? string For "terminal": the program; default: the agent's own.
---@field vars? acp.AuthVar[] For "env_var".
---@field args? string[] For "terminal": the program's arguments, or additional ones of the agent.
---@field env? table<string, string> For "terminal".

---@class acp.AuthVar
---@field name string
---@field label? string
---@field secret boolean
---@field optional boolean

--- Returns the process that serves a session, or nil.
---@param native acp.Native
---@param session acp.Session
---@return acp.native.Agent?
local function process(native, session)
  for _, agent in ipairs(native.agents()) do
    if vim.tbl_contains(agent.sessions, session) then
      return agent
    end
  end
end

--- Returns the session and the process that serves it; raises an error if there is none.
---
--- If no process is running, starts one and raises an error that says so.
---@param session acp.Session?
---@return acp.Session
---@return acp.native.Agent?
local function meant(session)
  local native = require("acp.native").load()
  local status = native.status(session)
  local number = status.session
  if not number then
    error("acp.nvim: there is no session yet; `:AcpChat` opens one.", 0)
  end
  local agent = process(native, number)
  if not agent or agent.state == "leaving" then
    native.restart(number)
    local text = "the agent %q was not running and is starting: repeat `:Acp login` once it runs."
    say(text:format(status.agent), vim.log.levels.WARN)
    return number
  elseif not agent.methods then
    local text = "acp.nvim: the agent %q is still starting: repeat `:Acp login` once it runs."
    error(text:format(status.agent), 0)
  end
  return number, agent
end

---@param method acp.AuthMethod
---@return string
local function describe(method)
  local names = vim.tbl_map(function(var)
    return var.name
  end, method.vars or {})
  local about = method.description or ""
  if #names > 0 then
    about = ("%s (%s)"):format(about, table.concat(names, ", "))
  end
  return about == "" and method.name or ("%s: %s"):format(method.name, vim.trim(about))
end

--- Asks for one variable; nil if the user cancels.
---@param var acp.AuthVar
---@param is_set boolean
---@return string?
local function ask(var, is_set)
  local prompt = var.label and ("%s (%s)"):format(var.label, var.name) or var.name
  if is_set then
    prompt = prompt .. ", empty to keep the current one"
  elseif var.optional then
    prompt = prompt .. ", optional"
  end
  prompt = prompt .. ": "
  -- After <Esc> or <C-c> the input is empty, or an error is raised.
  local read = var.secret and vim.fn.inputsecret or vim.fn.input ---@type function
  local ok, value = pcall(read, { prompt = prompt, cancelreturn = vim.NIL })
  -- The input and its length must not stay on the screen.
  vim.cmd.redraw({ bang = true })
  return ok and type(value) == "string" and value or nil
end

--- Asks for the variables of a log-in method, and passes them to the library.
---@param session acp.Session
---@param agent acp.native.Agent
---@param method acp.AuthMethod
local function give(session, agent, method)
  local vars = vim.empty_dict() ---@type table<string, string>
  for _, var in ipairs(method.vars or {}) do
    local is_set = (agent.env[var.name] or vim.env[var.name] or "") ~= ""
    local value = ask(var, is_set)
    if not value or value == "" and not is_set and not var.optional then
      say(("The log-in was cancelled: %s is required."):format(var.name), vim.log.levels.WARN)
      return
    elseif value ~= "" then
      vars[var.name] = value
    end
  end
  require("acp.native").load().login(session, method.id, vars)
end

--- Runs the agent's own command in a terminal; on success, logs in again.
---@param session acp.Session
---@param agent acp.native.Agent
---@param method acp.AuthMethod
local function run(session, agent, method)
  local command = { method.command or agent.command }
  if not method.command then
    vim.list_extend(command, agent.args)
  end
  vim.list_extend(command, method.args or {})
  local buf, why = require("acp.terminal").run({
    title = ("Log in to %s"):format(agent.title or agent.name),
    command = command,
    cwd = agent.cwd,
    env = vim.tbl_extend("force", agent.env, method.env or {}),
    desc = "acp: close the log-in",
    ended = function(code)
      if code == 0 then
        local native = require("acp.native").load()
        -- The session may have been closed in the meantime.
        pcall(native.login, session, method.id, true)
        return
      end
      -- Short enough for one line of a small screen; a longer one would cause a hit-enter prompt.
      local text = "The log-in failed (exit code %d); `:Acp login` tries again."
      say(text:format(code), vim.log.levels.ERROR)
    end,
  })
  if buf then
    vim.b[buf].acp_login = session
  else
    say(("`%s` cannot be run: %s."):format(command[1], why), vim.log.levels.ERROR)
  end
end

---@param session acp.Session
---@param agent acp.native.Agent
---@param method acp.AuthMethod
local function use(session, agent, method)
  if method.kind == "terminal" then
    run(session, agent, method)
  elseif method.kind == "env_var" then
    give(session, agent, method)
  elseif method.kind == "api_key" then
    local key = ask({ name = method.name, secret = true, optional = true }, false)
    if key then
      -- Without a key, the agent looks in its environment.
      require("acp.native").load().login(session, method.id, key ~= "" and key or nil)
    end
  else
    require("acp.native").load().login(session, method.id)
  end
end

--- Logs in to a session's agent; if there are several methods, the user chooses one.
---@param id string? The method's id or name.
---@param session acp.Session?
function M.login(id, session)
  local number, agent = meant(session)
  if not agent then
    return
  end
  local methods = agent.methods or {}
  if id then
    for _, method in ipairs(methods) do
      if method.id == id or method.name == id then
        return use(number, agent, method)
      end
    end
    local ids = vim.tbl_map(function(method)
      return method.id
    end, methods)
    local there = #ids > 0 and "use " .. table.concat(ids, ", ") or "it has none"
    local text = "acp.nvim: agent %q has no log-in method %q; %s."
    error(text:format(agent.name, id, there), 0)
  elseif #methods == 0 then
    local text = "acp.nvim: the agent %q offers no log-in here: log in with its own command in a "
      .. "terminal."
    error(text:format(agent.name), 0)
  end
  require("acp.select")(methods, {
    prompt = ("Log in to %s"):format(agent.title or agent.name),
    kind = "acp-login",
    format_item = describe,
  }, function(choice)
    if choice then
      use(number, agent, choice)
    end
  end)
end

--- Logs out of a session's agent.
---@param session acp.Session?
function M.logout(session)
  require("acp.native").load().logout(session)
end

--- Returns whether there may be something to log out of: the agent supports it, or the user may
--- have typed keys.
---@param agent acp.native.Agent
---@return boolean
local function can_log_out(agent)
  if agent.logout or not agent.methods then
    return true
  end
  for _, method in ipairs(agent.methods) do
    if method.kind == "env_var" then
      return true
    end
  end
  return false
end

--- Logs out of the current session's agent if the user confirms it.
function M.ask_logout()
  local native = require("acp.native").load()
  local session = native.status(nil).session
  local agent = session and process(native, session)
  if not agent or not can_log_out(agent) then
    -- The library says that there is no log-out.
    return M.logout()
  end
  local name = agent.title or agent.name
  require("acp.select")({ "Log out", "Stay logged in" }, {
    prompt = ("Log out of %s?"):format(name),
    kind = "acp-logout",
  }, function(_, index)
    if index == 1 then
      M.logout(session)
    end
  end)
end

--- Returns the ids of the log-in methods of the current session's agent.
---@return string[]
function M.ids()
  local native = require("acp.native").loaded()
  local session = native and native.status(nil).session
  local agent = native and session and process(native, session)
  return vim.tbl_map(function(method)
    return method.id
  end, agent and agent.methods or {})
end

return M
