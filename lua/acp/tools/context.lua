--- The context of a call: its session and the functions a handler may call.
---
--- Invariant: an invalid argument raises an error with the function's name. After the end of the
--- call, every function has no effect or returns the reason.

local M = {}

--- The importance levels of a question.
---@type table<string, boolean?>
local importances = { low = true, medium = true, high = true, critical = true }

local run = require("acp.tools.run")

--- The context passed to a handler.
---
--- `await`, `read`, `write` and `ask` suspend the handler until there is an answer. When the call
--- is cancelled, they return nil and "cancelled".
---@class acp.ToolContext
---@field session acp.Session The session whose agent made the call.
---@field cwd string The session's folder.
---@field roots string[] The folders its agent may access.
---@field name string The tool's name.
---@field id integer The call's number.
---@field progress fun(done: number, total?: number, message?: string) Reports progress.
---@field is_cancelled fun(): boolean
---@field on_cancel fun(fn: fun()) Runs `fn` when the call is cancelled.
---@field await fun(start: fun(resume: fun(...: any))): ... Returns the arguments of `resume`.
---@field read fun(path: string, range?: acp.ToolRange): string?, string? A file's text, or nil and an error.
---@field write fun(path: string, text: string): boolean?, string? true, or nil and an error.
---@field ask fun(form: acp.ToolForm): acp.ElicitationAction?, any The user's answer and the form's values.
---@field fail fun(message: string) Ends the handler with an error for the agent.

---@class acp.ToolRange
---@field line? integer The first line, counted from 1.
---@field limit? integer The number of lines.

---@class acp.ToolForm
---@field message string The question.
---@field schema? table The fields, as a JSON Schema; default: yes or no.
---@field importance? "low"|"medium"|"high"|"critical" Shown in the window's title.

--- Minimum interval between two progress reports, in milliseconds.
local PROGRESS_MS = 50

--- Sends a request to the client; returns the answer, or nil and the reason.
---@param call acp.tools.Call
---@param name string
---@param kind "read"|"write"|"form"
---@param what table
---@return any
---@return string?
local function ask(call, name, kind, what)
  return run.await(call, name, function(resume)
    call.last = call.last + 1
    call.asked[call.last] = resume
    call.link.ask(call.last, kind, what)
  end)
end

---@param name string
---@param expected string
---@param value any
local function bad(name, expected, value)
  error(("ctx.%s: expected %s, got %s"):format(name, expected, type(value)), 3)
end

--- Returns the absolute path of a file in the session's folder.
---@param cwd string
---@param path string
---@return string
local function absolute(cwd, path)
  if not path:find("^[/~]") then
    path = cwd .. "/" .. path
  end
  return vim.fs.normalize(path, { expand_env = false })
end

--- Returns the progress function, which drops reports that follow each other too quickly.
---@param call acp.tools.Call
---@return fun(done: number, total?: number, message?: string)
local function teller(call)
  local told_at, newest, is_due = -PROGRESS_MS, nil, false ---@type number, any[]?, boolean
  local function tell()
    if newest and not call.over then
      told_at = vim.uv.hrtime() / 1e6
      call.link.progress(newest[1], newest[2], newest[3])
    end
    newest = nil
  end
  return function(done, total, message)
    if type(done) ~= "number" then
      bad("progress: done", "number", done)
    elseif total ~= nil and type(total) ~= "number" then
      bad("progress: total", "number or nil", total)
    elseif message ~= nil and type(message) ~= "string" then
      bad("progress: message", "string or nil", message)
    end
    newest = { done, total, message }
    if vim.uv.hrtime() / 1e6 - told_at >= PROGRESS_MS then
      tell()
    elseif not is_due then
      is_due = true
      vim.defer_fn(function()
        is_due = false
        tell()
      end, PROGRESS_MS)
    end
  end
end

--- Returns the context of a call.
---@param call acp.tools.Call
---@param about {session: acp.Session, cwd: string, roots?: string[]}
---@return acp.ToolContext
function M.make(call, about)
  local cwd = about.cwd
  local ctx = {
    session = about.session,
    cwd = cwd,
    roots = about.roots or { cwd },
    name = call.name,
    id = call.id,
  }
  ctx.progress = teller(call)
  function ctx.is_cancelled()
    return call.over == "cancelled"
  end
  function ctx.on_cancel(fn)
    if type(fn) ~= "function" then
      bad("on_cancel: fn", "function", fn)
    elseif call.over == "cancelled" then
      run.when_free(fn)
    else
      table.insert(call.on_cancel, fn)
    end
  end
  function ctx.await(start)
    if type(start) ~= "function" then
      bad("await: start", "function", start)
    end
    return run.await(call, "await", start)
  end
  function ctx.read(path, range)
    range = range == nil and {} or range
    if type(path) ~= "string" or path == "" then
      bad("read: path", "a path", path)
    elseif type(range) ~= "table" then
      bad("read: range", "table or nil", range)
    end
    for _, key in ipairs({ "line", "limit" }) do
      local count = range[key]
      if count ~= nil and (type(count) ~= "number" or count < 1 or count % 1 ~= 0) then
        bad("read: range." .. key, "a count from 1 or nil", count)
      end
    end
    local what = { path = absolute(cwd, path), line = range.line, limit = range.limit }
    local answer, why = ask(call, "read", "read", what)
    if type(answer) == "table" then
      return answer.content or ""
    end
    return nil, why
  end
  function ctx.write(path, text)
    if type(path) ~= "string" or path == "" then
      bad("write: path", "a path", path)
    elseif type(text) ~= "string" then
      bad("write: text", "string", text)
    end
    local what = { path = absolute(cwd, path), content = text }
    local answer, why = ask(call, "write", "write", what)
    if answer ~= nil then
      return true
    end
    return nil, why
  end
  function ctx.ask(form)
    if type(form) ~= "table" then
      bad("ask: form", "table", form)
    elseif type(form.message) ~= "string" or form.message == "" then
      bad("ask: form.message", "a text", form.message)
    elseif form.schema ~= nil and type(form.schema) ~= "table" then
      bad("ask: form.schema", "table or nil", form.schema)
    elseif form.importance ~= nil and not importances[form.importance] then
      bad("ask: form.importance", '"low", "medium", "high", "critical" or nil', form.importance)
    end
    local schema = form.schema or { type = "object", properties = vim.empty_dict() }
    if form.importance then
      schema = vim.tbl_extend("force", schema, { ["x-importance"] = form.importance })
    end
    local answer, why = ask(call, "ask", "form", { message = form.message, schema = schema })
    if type(answer) == "table" then
      return answer.action, answer.content
    end
    return nil, why
  end
  ctx.fail = run.fail
  return ctx
end

return M
