--- The public Lua API, as doc/acp.txt describes it (|acp-lua|).
---
--- It checks arguments and passes them on. Questions (`status`, `statusline`, `review.hunks`,
--- `permission.list`) never load the native library; everything else does, on first use.

local M = {}

--- The number of a session, as `open` returns it.
---@alias acp.Session integer

---@alias acp.Phase "none"|"starting"|"idle"|"running"|"waiting"|"dead"
--- Whether the agent is followed from file to file: "edits" where it changes something.
---@alias acp.Follow boolean|"edits"
---@alias acp.Scope "hunk"|"file"|"turn"|"all"|acp.Rows

--- Rows of the current buffer, 0-based.
---@class acp.Rows
---@field first integer
---@field last integer The row after the last one.

---@class acp.Status
---@field phase acp.Phase "none": there is no session yet, and no other field.
---@field session? acp.Session
---@field agent? string The agent's name in the configuration.
---@field title? string
---@field stop_reason? string How the last turn ended.
---@field mode? string
---@field model? string
---@field plan? {done: integer, total: integer}
---@field tools? acp.Status.Tools
---@field terminals? integer How many of its terminals run.
---@field permissions? integer How many permission requests wait for an answer.
---@field review? {files: integer, hunks: integer}
---@field usage? table
---@field follow? acp.Follow

--- The tool calls that run.
---@class acp.Status.Tools
---@field running integer
---@field title? string Of the one that began last.
---@field kind? string Its kind, as the protocol has it.

--- A hunk to review. Rows are 0-based.
---@class acp.Hunk
---@field path string Absolute.
---@field row integer The first row in the file as it is now.
---@field count integer How many lines it has there; 0 when lines were only removed.
---@field old string[]
---@field new string[]
---@field state string

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

--- Lines of a file that go along with a prompt.
---@class acp.Context
---@field path string Absolute; "" for a buffer without a file.
---@field first integer The first row, 0-based.
---@field last integer The row after the last one.
---@field text string

---@class acp.SessionOpts
---@field session? acp.Session Without it: the session of the tab's chat, else the one used last.

---@class acp.PromptOpts: acp.SessionOpts
---@field contexts? acp.Context[] Lines to go along.

---@class acp.OpenOpts
---@field agent? string A name in the configuration. Without it: see |acp-config-default_agent|.
---@field new? boolean A new session, also when there is one.
---@field cwd? string The folder of a new session.
---@field context? acp.Context Lines for the next prompt.

--- Raises that an argument is wrong, where the public function was called.
---@param name string Of the function and the argument.
---@param expected string
---@param value any
---@param depth? integer How many functions of this file lie between; 0 without it.
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

--- Returns the native module if it is in use already.
---@return acp.Native?
local function loaded()
  -- Not even the loader is needed to know that nothing was loaded.
  local native = package.loaded["acp.native"]
  return native and native.loaded()
end

--- Merges a table over `vim.g.acp` and the defaults. Optional: everything works without.
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

--- Opens or focuses the chat, starting the agent if need be.
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
  elseif opts.cwd ~= nil and (type(opts.cwd) ~= "string" or vim.fn.isdirectory(opts.cwd) == 0) then
    bad("open: opts.cwd", "an existing folder or nil", opts.cwd)
  elseif opts.context ~= nil and type(opts.context) ~= "table" then
    bad("open: opts.context", "table or nil", opts.context)
  end
  return require("acp.session").open(opts)
end

--- Sends a prompt: a text, or a list of the protocol's content blocks.
---
--- While there is no session, this opens one.
---@param prompt string|table[]
---@param opts? acp.PromptOpts
function M.prompt(prompt, opts)
  local blocks = type(prompt) == "table" and prompt or {}
  local is_text = type(prompt) == "string" and prompt:find("%S")
  if not is_text and (#blocks == 0 or not vim.islist(blocks)) then
    bad("prompt: prompt", "a text or a list of content blocks", prompt)
  end
  for i, block in ipairs(blocks) do
    if type(block) ~= "table" or type(block.type) ~= "string" then
      bad(("prompt: prompt[%d]"):format(i), "a content block with a `type`", block)
    end
  end
  local session = session_of("prompt", opts)
  require("acp.session").prompt(prompt, session, opts and opts.contexts)
end

--- Cancels the running turn.
---@param opts? acp.SessionOpts
function M.cancel(opts)
  local session = session_of("cancel", opts)
  require("acp.native").load().cancel(session)
end

--- Closes a session: its windows, its transcript, and its agent if that has no other session.
---@param opts? acp.SessionOpts
function M.close(opts)
  local session = session_of("close", opts)
  require("acp.native").load().close(session)
end

--- Returns the state of a session, current when the `User` event that announces a change fires.
---@param opts? acp.SessionOpts
---@return acp.Status
function M.status(opts)
  local session = session_of("status", opts)
  local native = loaded()
  return native and native.status(session) or { phase = "none" }
end

--- Returns a short text for a statusline; "" while there is nothing to say.
---@return string
function M.statusline()
  local native = loaded()
  return native and native.statusline() or ""
end

--- Lets a window go along with the agent from file to file, or only where it edits, or not.
---@param on? acp.Follow Without it: if it does not, it does from now on, and the other way round.
---@param opts? acp.SessionOpts
function M.follow(on, opts)
  -- Typed by hand it may be anything.
  local mode = on ---@type any
  if mode ~= nil and type(mode) ~= "boolean" and mode ~= "edits" then
    bad("follow: on", 'boolean, "edits" or nil', on)
  end
  local session = session_of("follow", opts)
  require("acp.native").load().follow(session, on)
end

--- Offers a tool to the agents. Not in this version: it says so.
---@param spec table
function M.tool(spec)
  if type(spec) ~= "table" then
    bad("tool: spec", "table", spec)
  end
  require("acp.commands").not_yet("offer tools to the agents")
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
--- last turn, or all there are.
---@param scope? acp.Scope "hunk" without it.
function M.review.accept(scope)
  scope = checked_scope("review.accept", scope)
  require("acp.native").load().accept(scope)
end

--- Rejects the hunk at the cursor, lines of hunks, all hunks of the current buffer, those of the
--- last turn, or all there are.
---@param scope? acp.Scope "hunk" without it.
function M.review.reject(scope)
  scope = checked_scope("review.reject", scope)
  require("acp.native").load().reject(scope)
end

--- Undoes what the last turn that has changed anything has done to files, or brings a turn back
--- that was undone.
---@param opts? {confirm?: boolean, back?: boolean} Without it: the user is asked before.
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

--- Lets the rejected hunks not be told to the agent with the next prompt.
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

--- Returns the permission requests that wait for an answer, oldest first.
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

return M
