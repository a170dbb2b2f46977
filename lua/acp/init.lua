--- The public Lua API, documented in doc/acp.txt (|acp-lua|).
---
--- It checks arguments and passes them on. Queries (`status`, `statusline`, `config`, `commands`,
--- `review.hunks` and each `list`) never load the native library; most others do on first use.

local args = require("acp.args")

---@class acp
---@field elicitation acp.elicitation
---@field permission acp.permission
---@field queue acp.queue
---@field review acp.review
---@field tools acp.tools.api
local M = {}

--- Merges a table over `vim.g.acp` and the defaults. Optional.
---@param opts? acp.Config
function M.setup(opts)
  if opts ~= nil and type(opts) ~= "table" then
    args.bad("setup: opts", "table or nil", opts)
  end
  require("acp.config").set(opts)
  if require("acp.loaded")() then
    require("acp.native").configure()
  end
end

--- Opens or focuses the chat, and starts the agent if necessary.
---@param opts? acp.OpenOpts
---@return acp.Session
function M.open(opts)
  opts = opts or {}
  if type(opts) ~= "table" then
    args.bad("open: opts", "table or nil", opts)
  elseif opts.agent ~= nil and type(opts.agent) ~= "string" then
    args.bad("open: opts.agent", "string or nil", opts.agent)
  elseif opts.new ~= nil and type(opts.new) ~= "boolean" then
    args.bad("open: opts.new", "boolean or nil", opts.new)
  elseif
    opts.session_id ~= nil and (type(opts.session_id) ~= "string" or opts.session_id == "")
  then
    args.bad("open: opts.session_id", "a session's id or nil", opts.session_id)
  elseif opts.cwd ~= nil and (type(opts.cwd) ~= "string" or vim.fn.isdirectory(opts.cwd) == 0) then
    args.bad("open: opts.cwd", "an existing folder or nil", opts.cwd)
  elseif opts.context ~= nil and type(opts.context) ~= "table" then
    args.bad("open: opts.context", "table or nil", opts.context)
  end
  return require("acp.session").open(opts)
end

--- Sends a prompt: a string, or a list of the protocol's content blocks.
---
--- Opens a session if there is none.
---@param prompt string|table[]
---@param opts? acp.PromptOpts
function M.prompt(prompt, opts)
  local blocks = type(prompt) == "table" and prompt or {}
  local is_text = type(prompt) == "string" and prompt:find("%S")
  if not is_text and (#blocks == 0 or not vim.islist(blocks)) then
    args.bad("prompt: prompt", "a string or a list of content blocks", prompt)
  end
  for i, block in ipairs(blocks) do
    if type(block) ~= "table" or type(block.type) ~= "string" then
      args.bad(("prompt: prompt[%d]"):format(i), "a content block with a `type`", block)
    end
  end
  local session = args.session_of("prompt", opts)
  require("acp.session").prompt(prompt, session, opts)
end

--- Cancels the running turn.
---@param opts? acp.SessionOpts
function M.cancel(opts)
  local session = args.session_of("cancel", opts)
  require("acp.native").load().cancel(session)
end

--- Closes a session: its windows, its transcript, and its agent unless that has other sessions.
---@param opts? acp.SessionOpts
function M.close(opts)
  local session = args.session_of("close", opts)
  require("acp.native").load().close(session)
end

--- Returns the state of a session; it is up to date when a `User` event announces a change.
---@param opts? acp.SessionOpts
---@return acp.Status
function M.status(opts)
  local session = args.session_of("status", opts)
  local native = require("acp.loaded")()
  return native and native.status(session) or { phase = "none" }
end

--- Lists open and past sessions in a window, or passes them to `done`, newest first.
---@param opts? acp.SessionsOpts
---@param done? fun(sessions: acp.PastSession[]) Receives them; without it, the window opens.
function M.sessions(opts, done)
  opts = opts or {}
  if type(opts) ~= "table" then
    args.bad("sessions: opts", "table or nil", opts)
  elseif opts.all ~= nil and type(opts.all) ~= "boolean" then
    args.bad("sessions: opts.all", "boolean or nil", opts.all)
  elseif opts.agent ~= nil and type(opts.agent) ~= "string" then
    args.bad("sessions: opts.agent", "string or nil", opts.agent)
  elseif done ~= nil and type(done) ~= "function" then
    args.bad("sessions: done", "function or nil", done)
  end
  if done then
    require("acp.sessions").list(opts, done)
  else
    require("acp.overview").open(opts)
  end
end

--- Writes a session's conversation as markdown to a file or a new buffer.
---@param opts? {session?: acp.Session, file?: string, force?: boolean}
function M.export(opts)
  local session = args.session_of("export", opts)
  opts = opts or {}
  if opts.file ~= nil and (type(opts.file) ~= "string" or opts.file == "") then
    args.bad("export: opts.file", "a file's name or nil", opts.file)
  end
  require("acp.sessions").export({ session = session }, opts.file, opts.force)
end

--- Returns a short text for a statusline, or "" without a session.
---@param opts? acp.StatuslineOpts
---@return string
function M.statusline(opts)
  local session = args.session_of("statusline", opts)
  local parts = opts and opts.parts
  if parts ~= nil and type(parts) ~= "table" then
    args.bad("statusline: opts.parts", "a list of parts or nil", parts)
  end
  local native = require("acp.loaded")()
  return native and native.statusline(session, parts, opts and opts.highlights or false) or ""
end

--- Returns the options of a session and their values, including mode and model.
---@param opts? acp.SessionOpts
---@return acp.Option[]
function M.config(opts)
  local session = args.session_of("config", opts)
  local native = require("acp.loaded")()
  return native and (session or native.status(nil).session) and native.options(session) or {}
end

--- Sets a session's mode; if the session is still opening, as soon as it is open.
---@param mode string Its id or name.
---@param opts? acp.SessionOpts
function M.set_mode(mode, opts)
  if type(mode) ~= "string" or mode == "" then
    args.bad("set_mode: mode", "a mode's id", mode)
  end
  local session = args.session_of("set_mode", opts)
  require("acp.native").load().set_option(session, nil, mode)
end

--- Sets an option of a session; if the session is still opening, as soon as it is open.
---@param id string
---@param value string|boolean
---@param opts? acp.SessionOpts
function M.set_config(id, value, opts)
  if type(id) ~= "string" or id == "" then
    args.bad("set_config: id", "an option's id", id)
  elseif type(value) ~= "string" and type(value) ~= "boolean" then
    args.bad("set_config: value", "string or boolean", value)
  end
  local session = args.session_of("set_config", opts)
  require("acp.native").load().set_option(session, id, value)
end

--- Returns the commands that the agent offers after `/`.
---@param opts? acp.SessionOpts
---@return acp.Command[]
function M.commands(opts)
  local session = args.session_of("commands", opts)
  local native = require("acp.loaded")()
  return native and (session or native.status(nil).session) and native.commands(session) or {}
end

--- Logs in to a session's agent. Without a method, the user chooses one.
---@param opts? {session?: acp.Session, method?: string}
function M.login(opts)
  local session = args.session_of("login", opts)
  local method = opts and opts.method
  if method ~= nil and type(method) ~= "string" then
    args.bad("login: opts.method", "string or nil", method)
  end
  require("acp.login").login(method, session)
end

--- Logs out of a session's agent, and forgets the keys typed to log in.
---@param opts? acp.SessionOpts
function M.logout(opts)
  require("acp.login").logout(args.session_of("logout", opts))
end

--- Makes a window follow the agent, follow only its edits, or stop following.
---@param on? acp.Follow Without it: toggles.
---@param opts? acp.SessionOpts
function M.follow(on, opts)
  -- The value may come from the command line.
  local mode = on ---@type any
  if mode ~= nil and type(mode) ~= "boolean" and mode ~= "edits" then
    args.bad("follow: on", 'boolean, "edits" or nil', on)
  end
  local session = args.session_of("follow", opts)
  require("acp.native").load().follow(session, on)
end

--- Attaches something to the next prompt, like |:Acp-attach|.
---@param what? string|acp.Context A file's path, or lines. Default: the image in the clipboard.
---@param opts? acp.SessionOpts
function M.attach(what, opts)
  if what ~= nil and type(what) ~= "table" and (type(what) ~= "string" or what == "") then
    args.bad("attach: what", "a path, a table or nil", what)
  end
  require("acp.composer").attach(what, args.session_of("attach", opts))
end

--- Completes the input as 'omnifunc': commands after `/`, files and other context after `@`.
---@param findstart integer
---@param base string
---@return integer|table
function M.complete(findstart, base)
  return require("acp.completion").omnifunc(findstart, base)
end

--- Removes attachments.
---@param number? integer The number shown above the input. Default: all.
---@param opts? acp.SessionOpts
function M.detach(number, opts)
  if number ~= nil and not args.is_count(number) then
    args.bad("detach: number", "an attachment's number or nil", number)
  end
  require("acp.native").load().detach(args.session_of("detach", opts), number)
end

--- Offers a tool to the agents; replaces a tool of the same name.
---@param spec acp.Tool
---@return fun() remove Removes it.
function M.tool(spec)
  if type(spec) ~= "table" then
    args.bad("tool: spec", "table", spec)
  end
  local path, expected, value = require("acp.tools.check").wrong(spec)
  if path and expected then
    args.bad("tool: spec." .. path, expected, value)
  end
  local remove, why = require("acp.tools").define(spec)
  if not remove then
    error("acp.tool: spec.parameters: " .. why, 2)
  end
  return remove
end

--- The groups of functions, each in a module that is loaded when it is first used.
---@type table<string, string?>
local groups = {
  elicitation = "acp.elicitation",
  permission = "acp.permission",
  queue = "acp.queue",
  review = "acp.review",
  tools = "acp.tools.api",
}

setmetatable(M, {
  groups = groups,
  __index = function(_, name)
    if groups[name] then
      M[name] = require(groups[name])
      return M[name]
    end
  end,
})

return M
