--- The public Lua API, documented in doc/acp.txt (|acp-lua|).
---
--- It checks arguments and passes them on. Queries (`status`, `statusline`, `review.hunks`,
--- `permission.list`) never load the native library; the other functions do on first use.

local M = {}

--- The number of a session, as returned by `open`.
---@alias acp.Session integer

---@alias acp.Phase "none"|"starting"|"idle"|"running"|"waiting"|"dead"
--- Whether a window follows the agent: "edits" follows only its changes.
---@alias acp.Follow boolean|"edits"
---@alias acp.Scope "hunk"|"file"|"turn"|"all"|acp.Rows

--- Rows of the current buffer, 0-based.
---@class acp.Rows
---@field first integer
---@field last integer The row after the last one.

---@class acp.Status
---@field phase acp.Phase "none": there is no session, and no other field is set.
---@field session? acp.Session
---@field id? string The agent's id of the session, once it has one.
---@field agent? string The agent's name in the configuration.
---@field title? string
---@field stop_reason? string The end of the last turn.
---@field mode? string
---@field model? string
---@field plan? {done: integer, total: integer}
---@field tools? acp.Status.Tools
---@field terminals? integer The number of its running terminals.
---@field permissions? integer The number of open permission requests.
---@field queued? integer The number of queued prompts.
---@field elicitations? integer The number of open forms and pages.
---@field review? {files: integer, hunks: integer}
---@field usage? acp.Status.Usage
---@field follow? acp.Follow
---@field attached? string[] The names of the next prompt's attachments.
---@field login? boolean The agent requires a log-in.
---@field since? integer When its phase began, in seconds since 1970.
---@field cwd? string Its folder.
---@field steering? boolean The agent takes words into a running turn.

--- The usage of the model's context.
---@class acp.Status.Usage
---@field used integer Tokens.
---@field size integer The capacity in tokens; 0 if unknown.
---@field percent? integer
---@field cost? string Of the session, such as "0.12 USD".

--- The running tool calls.
---@class acp.Status.Tools
---@field running integer
---@field title? string The latest call's title.
---@field kind? string The latest call's kind in the protocol.

--- An option of a session: its mode, its model, or another one of its agent.
---@class acp.Option
---@field id string
---@field name string
---@field description? string
---@field category? string "mode", "model", "model_config", "thought_level", or the agent's own category.
---@field type "select"|"boolean"
---@field value string|boolean The current or requested value: the id of one of its `values`.
---@field values acp.OptionValue[] Empty for a boolean.

---@class acp.OptionValue
---@field id string|boolean
---@field name string
---@field description? string
---@field group? string The name of its group.

--- A command of the agent, written as `/` and its name at the start of a prompt.
---@class acp.Command
---@field name string
---@field description string
---@field hint? string A description of its argument.

--- A hunk to review. Rows are 0-based.
---@class acp.Hunk
---@field path string Absolute.
---@field row integer The first row in the current file.
---@field count integer Its number of lines there; 0 if lines were only removed.
---@field old string[]
---@field new string[]
---@field state string

--- A queued prompt.
---@class acp.Queued
---@field id integer
---@field text string

---@class acp.PermissionOption
---@field optionId string
---@field name string
---@field kind string

---@class acp.Permission
---@field id integer
---@field session acp.Session
---@field title string
---@field tool_call table
---@field options acp.PermissionOption[]

--- An open form or page.
---@class acp.Elicitation
---@field id integer
---@field session acp.Session
---@field message string
---@field mode "form"|"url"
---@field url? string
---@field fields? acp.ElicitationField[]

---@class acp.ElicitationField
---@field name string
---@field title string
---@field description? string
---@field required boolean
---@field type "string"|"integer"|"number"|"boolean"|"one"|"many"|"unknown"
---@field default? any
---@field choices? {value: string, title: string}[]

---@alias acp.ElicitationAction "accept"|"decline"|"cancel"

--- Lines of a file, attached to a prompt.
---@class acp.Context
---@field path string Absolute; "" for a buffer without a file.
---@field first integer The first row, 0-based.
---@field last integer The row after the last one.
---@field text string

---@class acp.SessionOpts
---@field session? acp.Session Default: the session of the tab page's chat, else the one used last.

---@class acp.PromptOpts: acp.SessionOpts
---@field contexts? acp.Context[] Lines to attach.
---@field interrupt? boolean Cancels the running turn; otherwise the prompt is queued.
---@field steer? boolean Sends it into the running turn if the agent supports that; else it is queued.

---@class acp.OpenOpts
---@field agent? string A name in the configuration; default: |acp-config-default_agent|.
---@field new? boolean Opens a new session even if there is one.
---@field session_id? string The agent's id of an earlier session to load.
---@field cwd? string The folder of a new session, or of the one to load.
---@field context? acp.Context Lines for the next prompt.

--- Raises an error about an invalid argument at the call of the public function.
---@param name string The names of the function and the argument.
---@param expected string
---@param value any
---@param depth? integer Number of this file's functions in between; default 0.
local function bad(name, expected, value, depth)
  local got = type(value) ---@type string
  if got == "string" then
    got = ("%q"):format(value)
  elseif got == "number" then
    got = tostring(value)
  end
  error(("acp.%s: expected %s, got %s"):format(name, expected, got), 3 + (depth or 0))
end

---@param value any
---@return boolean
local function is_count(value)
  return type(value) == "number" and value > 0 and value % 1 == 0
end

--- Returns the session that `opts` names.
---@param name string The function's.
---@param opts? acp.SessionOpts
---@return acp.Session?
local function session_of(name, opts)
  if opts ~= nil and type(opts) ~= "table" then
    bad(name .. ": opts", "table or nil", opts, 1)
  end
  local session = opts and opts.session
  if session ~= nil and not is_count(session) then
    bad(name .. ": opts.session", "a session's number or nil", session, 1)
  end
  return session
end

--- Returns the native module if it is in use.
---@return acp.Native?
local function loaded()
  -- If even the loader is not loaded, neither is the library.
  local native = package.loaded["acp.native"]
  return native and native.loaded()
end

--- Merges a table over `vim.g.acp` and the defaults. Optional.
---@param opts? acp.Config
function M.setup(opts)
  if opts ~= nil and type(opts) ~= "table" then
    bad("setup: opts", "table or nil", opts)
  end
  require("acp.config").set(opts)
  if loaded() then
    require("acp.native").configure()
  end
end

--- Opens or focuses the chat, and starts the agent if necessary.
---@param opts? acp.OpenOpts
---@return acp.Session
function M.open(opts)
  opts = opts or {}
  if type(opts) ~= "table" then
    bad("open: opts", "table or nil", opts)
  elseif opts.agent ~= nil and type(opts.agent) ~= "string" then
    bad("open: opts.agent", "string or nil", opts.agent)
  elseif opts.new ~= nil and type(opts.new) ~= "boolean" then
    bad("open: opts.new", "boolean or nil", opts.new)
  elseif
    opts.session_id ~= nil and (type(opts.session_id) ~= "string" or opts.session_id == "")
  then
    bad("open: opts.session_id", "a session's id or nil", opts.session_id)
  elseif opts.cwd ~= nil and (type(opts.cwd) ~= "string" or vim.fn.isdirectory(opts.cwd) == 0) then
    bad("open: opts.cwd", "an existing folder or nil", opts.cwd)
  elseif opts.context ~= nil and type(opts.context) ~= "table" then
    bad("open: opts.context", "table or nil", opts.context)
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
    bad("prompt: prompt", "a string or a list of content blocks", prompt)
  end
  for i, block in ipairs(blocks) do
    if type(block) ~= "table" or type(block.type) ~= "string" then
      bad(("prompt: prompt[%d]"):format(i), "a content block with a `type`", block)
    end
  end
  local session = session_of("prompt", opts)
  require("acp.session").prompt(prompt, session, opts)
end

--- Cancels the running turn.
---@param opts? acp.SessionOpts
function M.cancel(opts)
  local session = session_of("cancel", opts)
  require("acp.native").load().cancel(session)
end

--- Closes a session: its windows, its transcript, and its agent unless that has other sessions.
---@param opts? acp.SessionOpts
function M.close(opts)
  local session = session_of("close", opts)
  require("acp.native").load().close(session)
end

--- Returns the state of a session; it is up to date when a `User` event announces a change.
---@param opts? acp.SessionOpts
---@return acp.Status
function M.status(opts)
  local session = session_of("status", opts)
  local native = loaded()
  return native and native.status(session) or { phase = "none" }
end

--- An open or past session.
---@class acp.PastSession
---@field agent string Its agent's name in the configuration.
---@field session? acp.Session Its number while it is open.
---@field id? string The agent's id of it.
---@field record? string The name of its saved record.
---@field cwd string Its folder.
---@field title? string The agent's title, or the beginning of the first prompt.
---@field updated? integer The time of the last message, in seconds since 1970.
---@field listed boolean Whether its agent lists it.

--- Lists open and past sessions in a window, or passes them to `done`, newest first.
---@param opts? acp.SessionsOpts
---@param done? fun(sessions: acp.PastSession[]) Receives them; without it, the window opens.
function M.sessions(opts, done)
  opts = opts or {}
  if type(opts) ~= "table" then
    bad("sessions: opts", "table or nil", opts)
  elseif opts.all ~= nil and type(opts.all) ~= "boolean" then
    bad("sessions: opts.all", "boolean or nil", opts.all)
  elseif opts.agent ~= nil and type(opts.agent) ~= "string" then
    bad("sessions: opts.agent", "string or nil", opts.agent)
  elseif done ~= nil and type(done) ~= "function" then
    bad("sessions: done", "function or nil", done)
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
  local session = session_of("export", opts)
  opts = opts or {}
  if opts.file ~= nil and (type(opts.file) ~= "string" or opts.file == "") then
    bad("export: opts.file", "a file's name or nil", opts.file)
  end
  require("acp.sessions").export({ session = session }, opts.file, opts.force)
end

---@class acp.StatuslineOpts: acp.SessionOpts
---@field parts? string[] Its parts in order; see |acp-config-statusline.parts|.
---@field highlights? boolean Includes highlight groups, for `%{%…%}`; otherwise plain text, for `%{…}`.

--- Returns a short text for a statusline, or "" without a session.
---@param opts? acp.StatuslineOpts
---@return string
function M.statusline(opts)
  local session = session_of("statusline", opts)
  local parts = opts and opts.parts
  if parts ~= nil and type(parts) ~= "table" then
    bad("statusline: opts.parts", "a list of parts or nil", parts)
  end
  local native = loaded()
  return native and native.statusline(session, parts, opts and opts.highlights or false) or ""
end

--- Returns the options of a session and their values, including mode and model.
---@param opts? acp.SessionOpts
---@return acp.Option[]
function M.config(opts)
  local session = session_of("config", opts)
  local native = loaded()
  return native and (session or native.status(nil).session) and native.options(session) or {}
end

--- Sets a session's mode; if the session is still opening, as soon as it is open.
---@param mode string Its id or name.
---@param opts? acp.SessionOpts
function M.set_mode(mode, opts)
  if type(mode) ~= "string" or mode == "" then
    bad("set_mode: mode", "a mode's id", mode)
  end
  local session = session_of("set_mode", opts)
  require("acp.native").load().set_option(session, nil, mode)
end

--- Sets an option of a session; if the session is still opening, as soon as it is open.
---@param id string
---@param value string|boolean
---@param opts? acp.SessionOpts
function M.set_config(id, value, opts)
  if type(id) ~= "string" or id == "" then
    bad("set_config: id", "an option's id", id)
  elseif type(value) ~= "string" and type(value) ~= "boolean" then
    bad("set_config: value", "string or boolean", value)
  end
  local session = session_of("set_config", opts)
  require("acp.native").load().set_option(session, id, value)
end

--- Returns the commands that the agent offers after `/`.
---@param opts? acp.SessionOpts
---@return acp.Command[]
function M.commands(opts)
  local session = session_of("commands", opts)
  local native = loaded()
  return native and (session or native.status(nil).session) and native.commands(session) or {}
end

--- Logs in to a session's agent. Without a method, the user chooses one.
---@param opts? {session?: acp.Session, method?: string}
function M.login(opts)
  local session = session_of("login", opts)
  local method = opts and opts.method
  if method ~= nil and type(method) ~= "string" then
    bad("login: opts.method", "string or nil", method)
  end
  require("acp.login").login(method, session)
end

--- Logs out of a session's agent, and forgets the keys typed to log in.
---@param opts? acp.SessionOpts
function M.logout(opts)
  require("acp.login").logout(session_of("logout", opts))
end

--- Makes a window follow the agent, follow only its edits, or stop following.
---@param on? acp.Follow Without it: toggles.
---@param opts? acp.SessionOpts
function M.follow(on, opts)
  -- The value may come from the command line.
  local mode = on ---@type any
  if mode ~= nil and type(mode) ~= "boolean" and mode ~= "edits" then
    bad("follow: on", 'boolean, "edits" or nil', on)
  end
  local session = session_of("follow", opts)
  require("acp.native").load().follow(session, on)
end

--- Attaches something to the next prompt, like |:Acp-attach|.
---@param what? string|acp.Context A file's path, or lines. Default: the image in the clipboard.
---@param opts? acp.SessionOpts
function M.attach(what, opts)
  if what ~= nil and type(what) ~= "table" and (type(what) ~= "string" or what == "") then
    bad("attach: what", "a path, a table or nil", what)
  end
  require("acp.composer").attach(what, session_of("attach", opts))
end

--- Completes the input as 'omnifunc': commands after `/`, files and other context after `@`.
---@param findstart integer
---@param base string
---@return integer|table[]
function M.complete(findstart, base)
  return require("acp.completion").omnifunc(findstart, base)
end

--- Removes attachments.
---@param number? integer The number shown above the input. Default: all.
---@param opts? acp.SessionOpts
function M.detach(number, opts)
  if number ~= nil and not is_count(number) then
    bad("detach: number", "an attachment's number or nil", number)
  end
  require("acp.native").load().detach(session_of("detach", opts), number)
end

--- Offers a tool to the agents; replaces a tool of the same name.
---@param spec acp.Tool
---@return fun() remove Removes it.
function M.tool(spec)
  if type(spec) ~= "table" then
    bad("tool: spec", "table", spec)
  end
  local path, expected, value = require("acp.tools.check").wrong(spec)
  if path and expected then
    bad("tool: spec." .. path, expected, value)
  end
  local remove, why = require("acp.tools").define(spec)
  if not remove then
    error("acp.tool: spec.parameters: " .. why, 2)
  end
  return remove
end

M.tools = {}

--- Returns all tools, sorted by name.
---@return acp.ToolInfo[]
function M.tools.list()
  return require("acp.tools").list()
end

--- Calls `deed` with a tool's name; raises an error if there is no such tool.
---@param name string The function's.
---@param tool any
---@param deed fun(tool: string): boolean
local function with_tool(name, tool, deed)
  if type(tool) ~= "string" or not deed(tool) then
    bad(("tools.%s: name"):format(name), "the name of a tool", tool, 1)
  end
end

--- Switches a tool on until Neovim ends.
---@param name string
function M.tools.enable(name)
  with_tool("enable", name, function(tool)
    return require("acp.tools").switch(tool, true)
  end)
end

--- Switches a tool off until Neovim ends.
---@param name string
function M.tools.disable(name)
  with_tool("disable", name, function(tool)
    return require("acp.tools").switch(tool, false)
  end)
end

--- Removes a tool; a built-in tool that it replaced comes back.
---@param name string
function M.tools.remove(name)
  with_tool("remove", name, require("acp.tools").remove)
end

M.queue = {}

--- Runs an action on a queued prompt.
---@param name "edit"|"remove"|"send"|"move"
---@param id integer
---@param opts? acp.SessionOpts
---@param by? integer
local function queue_act(name, id, opts, by)
  if not is_count(id) then
    bad(("queue.%s: id"):format(name), "the number of a queued prompt", id, 1)
  end
  local session = session_of("queue." .. name, opts)
  require("acp.native").load().queue_act(session, id, name, by)
end

--- Returns the queued prompts of a session, the next one first.
---@param opts? acp.SessionOpts
---@return acp.Queued[]
function M.queue.list(opts)
  local session = session_of("queue.list", opts)
  local native = loaded()
  if not native or native.status(session).phase == "none" then
    return {}
  end
  return native.queue_list(session)
end

--- Moves a queued prompt back to the input.
---@param id integer
---@param opts? acp.SessionOpts
function M.queue.edit(id, opts)
  queue_act("edit", id, opts)
end

--- Removes a queued prompt.
---@param id integer
---@param opts? acp.SessionOpts
function M.queue.remove(id, opts)
  queue_act("remove", id, opts)
end

--- Cancels the running turn and sends a queued prompt.
---@param id integer
---@param opts? acp.SessionOpts
function M.queue.send(id, opts)
  queue_act("send", id, opts)
end

--- Moves a queued prompt to a later or earlier position.
---@param id integer
---@param by integer The number of positions; negative: earlier.
---@param opts? acp.SessionOpts
function M.queue.move(id, by, opts)
  local places = by ---@type any
  if type(places) ~= "number" or places % 1 ~= 0 then
    bad("queue.move: by", "a number of positions", places)
  end
  queue_act("move", id, opts, by)
end

M.review = {}

---@type table<string, boolean?>
local scopes = { hunk = true, file = true, turn = true, all = true }

---@param name string
---@param scope any
---@return acp.Scope
local function checked_scope(name, scope)
  scope = scope == nil and "hunk" or scope
  if type(scope) == "table" then
    for _, key in ipairs({ "first", "last" }) do
      local row = scope[key]
      if not is_count(row) and row ~= 0 then
        bad(("%s: scope.%s"):format(name, key), "a row", row, 1)
      end
    end
  elseif not scopes[scope] then
    bad(name .. ": scope", '"hunk", "file", "turn", "all" or rows', scope, 1)
  end
  return scope
end

--- Accepts the hunk at the cursor, lines of hunks, all hunks of the current buffer, those of the
--- last turn, or all.
---@param scope? acp.Scope Default: "hunk".
function M.review.accept(scope)
  scope = checked_scope("review.accept", scope)
  require("acp.native").load().accept(scope)
end

--- Rejects the hunk at the cursor, lines of hunks, all hunks of the current buffer, those of the
--- last turn, or all.
---@param scope? acp.Scope Default: "hunk".
function M.review.reject(scope)
  scope = checked_scope("review.reject", scope)
  require("acp.native").load().reject(scope)
end

--- Takes the last decision back: what was accepted or rejected by it is to be reviewed again.
function M.review.undo()
  require("acp.native").load().undo_decision()
end

--- Undoes the file changes of the last turn that made any, or brings an undone turn back.
---@param opts? {confirm?: boolean, back?: boolean} By default, asks first.
function M.review.undo_turn(opts)
  if opts ~= nil and type(opts) ~= "table" then
    bad("review.undo_turn: opts", "table or nil", opts)
  end
  opts = opts or {}
  for _, key in ipairs({ "confirm", "back" }) do
    if opts[key] ~= nil and type(opts[key]) ~= "boolean" then
      bad("review.undo_turn: opts." .. key, "boolean or nil", opts[key])
    end
  end
  local step = opts.back and "back" or opts.confirm == false and "undo" or "ask"
  require("acp.native").load().undo_turn(step)
end

--- Does not send the rejected hunks to the agent with the next prompt.
function M.review.drop_feedback()
  require("acp.native").load().drop_feedback()
end

--- Goes to the next hunk.
function M.review.next()
  require("acp.native").load().next()
end

--- Goes to the previous hunk.
function M.review.prev()
  require("acp.native").load().prev()
end

--- Returns the hunks of a buffer (0: the current one), or of all files.
---@param opts? {buf?: integer}
---@return acp.Hunk[]
function M.review.hunks(opts)
  if opts ~= nil and type(opts) ~= "table" then
    bad("review.hunks: opts", "table or nil", opts)
  end
  local buf = opts and opts.buf
  if buf ~= nil and (type(buf) ~= "number" or not vim.api.nvim_buf_is_valid(buf)) then
    bad("review.hunks: opts.buf", "a buffer's number or nil", buf)
  elseif buf == 0 then
    buf = vim.api.nvim_get_current_buf()
  end
  local native = loaded()
  return native and native.hunks(buf) or {}
end

M.permission = {}

--- Returns the open permission requests, oldest first.
---@return acp.Permission[]
function M.permission.list()
  local native = loaded()
  return native and native.permission_list() or {}
end

--- Answers a permission request with one of its options.
---@param id integer
---@param option_id string
function M.permission.answer(id, option_id)
  if not is_count(id) and id ~= 0 then
    bad("permission.answer: id", "a request's number", id)
  elseif type(option_id) ~= "string" then
    bad("permission.answer: option_id", "string", option_id)
  end
  require("acp.native").load().permission_answer(id, option_id)
end

M.elicitation = {}

--- Returns the open forms and pages, oldest first.
---@return acp.Elicitation[]
function M.elicitation.list()
  local native = loaded()
  return native and native.elicitation_list() or {}
end

--- Answers an open form or page.
---
--- This does not open a page: `"accept"` says that the user has.
---@param id integer
---@param action acp.ElicitationAction
---@param content? table<string, any> Values by field name.
function M.elicitation.answer(id, action, content)
  if not is_count(id) then
    bad("elicitation.answer: id", "a question's number", id)
  elseif not vim.tbl_contains({ "accept", "decline", "cancel" }, action) then
    bad("elicitation.answer: action", '"accept", "decline" or "cancel"', action)
  elseif content ~= nil and type(content) ~= "table" then
    bad("elicitation.answer: content", "table", content)
  end
  require("acp.native").load().elicitation_answer(id, action, content or {})
end

return M
