--- The tools that Neovim offers to agents: the built-in ones and the user's.
---
--- Invariant: once the library is set up, it has the same list; before that, nothing is loaded.

local M = {}

--- A tool for agents.
---@class acp.Tool
--- 1 to 64 of the characters a-z, A-Z, 0-9, _ and -; a tool replaces an earlier one of its name.
---@field name string
--- The name shown to the user; default: `name`.
---@field title? string
--- For the agent: what the tool does and when to use it.
---@field description string
--- The arguments, as a JSON Schema of an object; default: no arguments.
---@field parameters? table
--- Whether it changes nothing.
---@field read_only? boolean
--- The permission; default: "allow" if read-only, else "ask".
---@field permission? acp.ToolPermission
--- The protocol's kind; default: "other".
---@field kind? acp.ToolKind
--- Time limit in seconds, not counting the user's time to answer; `false`: none.
---@field time_limit? number|false
--- Returns a string, a table, or nil and an error; with a third parameter, calls that once instead.
---@field handler fun(args: table, ctx: acp.ToolContext, done: fun(result?: any, why?: string)): any, string?

---@alias acp.ToolPermission "allow"|"ask"|"reject"
---@alias acp.ToolKind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"switch_mode"|"other"

--- Information on a tool.
---@class acp.ToolInfo
---@field name string
---@field title? string
---@field description string
---@field permission acp.ToolPermission The effective permission.
---@field enabled boolean
---@field builtin boolean Whether it is built-in.
---@field read_only boolean

--- The user's tools by name.
---@type table<string, acp.Tool?>
local own = {}

--- The built-in tools that were removed.
---@type table<string, true?>
local removed = {}

--- The tools switched on or off since Neovim started.
---@type table<string, boolean?>
local switched = {}

---@type acp.Tool[]?
local builtin

--- The built-in tools that are off by default.
---@type string[]?
local extra

---@return acp.Config.Tools.Resolved
local function config()
  return require("acp.config").get().tools
end

--- Returns all tools by name, and the names of built-in ones.
---@return table<string, acp.Tool>
---@return table<string, boolean?>
local function all()
  local tools, is_builtin = {}, {}
  if config().builtin ~= false then
    if not builtin then
      builtin, extra = require("acp.tools.builtin").specs()
    end
    for _, spec in ipairs(builtin) do
      if not removed[spec.name] then
        tools[spec.name], is_builtin[spec.name] = spec, true
      end
    end
  end
  for name, spec in pairs(own) do
    tools[name], is_builtin[name] = spec, nil
  end
  return tools, is_builtin
end

---@param spec acp.Tool
---@return acp.ToolPermission
local function permission(spec)
  return config().permissions[spec.name] or spec.permission or (spec.read_only and "allow" or "ask")
end

--- Returns whether the configuration includes a built-in tool.
---@param name string
---@return boolean
local function is_included(name)
  local which = config().builtin
  if type(which) == "table" then
    return vim.tbl_contains(which, name)
  end
  return which == "all" or not vim.tbl_contains(extra or {}, name)
end

---@param name string
---@param is_builtin table<string, boolean?>
---@return boolean
local function is_on(name, is_builtin)
  if switched[name] ~= nil then
    return switched[name]
  end
  local is_disabled = vim.tbl_contains(config().disabled, name)
  return not is_disabled and (not is_builtin[name] or is_included(name))
end

--- Returns information on all tools, sorted by name.
---@return acp.ToolInfo[]
function M.list()
  local tools, is_builtin = all()
  local list = {}
  for name, spec in vim.spairs(tools) do
    table.insert(list, {
      name = name,
      title = spec.title,
      description = spec.description,
      permission = permission(spec),
      enabled = is_on(name, is_builtin),
      builtin = is_builtin[name] == true,
      read_only = spec.read_only == true,
    })
  end
  return list
end

--- Returns a tool as it was defined.
---@param name string
---@return acp.Tool?
function M.get(name)
  return (all())[name]
end

--- Returns the tools in the library's format.
---@return acp.native.Tool[]
local function definitions()
  local tools, is_builtin = all()
  local list = {}
  for name, spec in vim.spairs(tools) do
    local limit = spec.time_limit
    if limit == nil then
      limit = config().time_limit
    end
    table.insert(list, {
      name = name,
      title = spec.title,
      description = spec.description,
      parameters = spec.parameters or vim.empty_dict(),
      read_only = spec.read_only == true,
      permission = permission(spec),
      enabled = is_on(name, is_builtin),
      time_limit = limit or nil,
      kind = spec.kind or "other",
      builtin = is_builtin[name] == true,
    })
  end
  return list
end

--- Passes the tools to the library; returns the reasons for rejected ones by name.
---@param library acp.Native
---@return table<string, string?>
local function hand_over(library)
  local problems = {}
  for _, problem in ipairs(library.tools_define(definitions()) or {}) do
    problems[problem.name] = problem.why
  end
  return problems
end

--- Passes the tools to a library that has just been set up, and reports rejected ones.
---@param library acp.Native
function M.offer(library)
  local words = {}
  for name, why in vim.spairs(hand_over(library)) do
    table.insert(
      words,
      ("the tool `%s` is not offered, its parameters are wrong: %s"):format(name, why)
    )
  end
  if #words > 0 then
    require("acp.notify").say(table.concat(words, "\n  "), vim.log.levels.WARN)
  end
end

local function tell()
  vim.api.nvim_exec_autocmds("User", { pattern = "AcpToolsChanged", modeline = false, data = {} })
end

--- Passes the tools to the library again, if it is loaded, and announces the change.
---@return table<string, string?> problems
local function changed()
  local library = require("acp.loaded")()
  local problems = library and hand_over(library) or {}
  tell()
  return problems
end

--- Adds a tool whose spec is already checked, except its schema.
---@param spec acp.Tool
---@return fun()? remove Removes it.
---@return string? why The reason for a rejection.
function M.define(spec)
  local before = own[spec.name]
  -- Later changes of the caller's table must not matter.
  local mine = vim.deepcopy(vim.tbl_extend("force", spec, { handler = false })) --[[@as acp.Tool]]
  mine.handler = spec.handler
  own[spec.name] = mine
  local why = changed()[spec.name]
  if why then
    own[spec.name] = before
    changed()
    return nil, why
  end
  return function()
    if own[mine.name] == mine then
      own[mine.name] = nil
      changed()
    end
  end
end

--- Removes a tool; a built-in tool that it replaced comes back.
---@param name string
---@return boolean was_there
function M.remove(name)
  if own[name] then
    own[name] = nil
  elseif M.get(name) then
    removed[name] = true
  else
    return false
  end
  changed()
  return true
end

--- Switches a tool on or off until Neovim ends.
---@param name string
---@param on boolean
---@return boolean is_there
function M.switch(name, on)
  if not (all())[name] then
    return false
  end
  switched[name] = on
  local library = require("acp.loaded")()
  if library then
    library.tool_switch(name, on)
  end
  tell()
  return true
end

--- Runs the handler of a tool for an agent; called by the library.
---@param call {id: integer, session: acp.Session, cwd: string}
---@param name string
---@param args table
function M.run(call, name, args)
  local native = require("acp.native").load()
  local spec = M.get(name)
  if not spec then
    return native.tool_done(call.id, false, ("the tool %s no longer exists"):format(name))
  end
  require("acp.tools.run").start(call, spec, args, {
    ask = function(number, kind, what)
      native.tool_ask(call.id, number, kind, what)
    end,
    progress = function(done, total, message)
      native.tool_progress(call.id, done, total, message)
    end,
    finish = function(is_ok, value)
      native.tool_done(call.id, is_ok, value)
    end,
    log = native.tool_log,
  })
end

--- Returns the unknown tool names in the configuration, each with its key.
---@return string[]
function M.unknown()
  local tools, found = all(), {}
  for name in vim.spairs(config().permissions) do
    if not tools[name] then
      table.insert(found, "tools.permissions." .. name)
    end
  end
  for i, name in ipairs(config().disabled) do
    if not tools[name] then
      table.insert(found, ("tools.disabled[%d] (%s)"):format(i, name))
    end
  end
  local builtins = config().builtin
  for i, name in ipairs(type(builtins) == "table" and builtins or {}) do
    if not tools[name] then
      table.insert(found, ("tools.builtin[%d] (%s)"):format(i, name))
    end
  end
  return found
end

return M
