--- Runs the handlers of tools, each in a coroutine.
---
--- Invariants: a call ends once; later actions of its handler have no effect. A handler is only
--- resumed from Neovim's main loop, where all functions are allowed: never in a fast event, never
--- under textlock.

local M = {}

--- The functions through which a call reports to its caller.
---@class acp.tools.Link
---@field ask fun(number: integer, kind: "read"|"write"|"form", what: table)
---@field progress fun(done: number, total?: number, message?: string)
---@field finish fun(is_ok: boolean, value: any) The value, or the message of an error.
---@field log fun(text: string)

---@class acp.tools.Call
---@field id integer
---@field name string
---@field link acp.tools.Link
---@field over? "cancelled"|"over" Why results are no longer accepted.
---@field asked table<integer, fun(value: any, why: string?)> The pending requests, by number.
---@field last integer The number of the last request.
---@field waits table<fun(...: any), true> The functions that resume its waiting coroutines.
---@field on_cancel fun()[]
---@field in_vain integer The number of requests since its end.

--- Maximum number of requests by a handler after the end of its call; then an error ends it,
--- because it might loop forever.
local IN_VAIN = 16

--- Retry interval under textlock, in milliseconds.
local LOCKED_MS = 20

--- The running calls by number.
---@type table<integer, acp.tools.Call?>
local calls = {}

--- The error value of a failed handler.
---@class acp.tools.Failure
---@field message string
---@field trace? string The traceback, unless it failed on purpose.
local Failure = {}

--- Ends the running handler with this message.
---@param message any
function M.fail(message)
  error(setmetatable({ message = tostring(message) }, Failure), 0)
end

--- Returns whether text changes are forbidden now (|textlock|).
---@return boolean
function M.is_locked()
  -- The window does not exist, but under textlock Neovim reports that first.
  local _, why = pcall(vim.api.nvim_win_close, -1, false)
  return type(why) == "string" and (why:find("E565:") or why:find("E523:")) ~= nil
end

--- Runs `work` from the main loop, once textlock is released.
---@param work fun()
function M.when_free(work)
  vim.schedule(function()
    if M.is_locked() then
      vim.defer_fn(function()
        M.when_free(work)
      end, LOCKED_MS)
    else
      work()
    end
  end)
end

---@param call acp.tools.Call
---@param text string
local function log(call, text)
  call.link.log(("tool %s, call %d: %s"):format(call.name, call.id, text))
end

--- Returns an error's message without Lua's position prefix.
---@param text string
---@return string
local function without_place(text)
  for level = 3, 8 do
    local info = debug.getinfo(level, "Sl")
    local place = info and ("%s:%d: "):format(info.short_src, info.currentline)
    if place and vim.startswith(text, place) then
      return text:sub(#place + 1)
    end
  end
  return text
end

--- Converts a raised value to a failure, with its traceback.
---@param problem any
---@return acp.tools.Failure
local function failure(problem)
  if getmetatable(problem) == Failure then
    return problem
  end
  local text = problem ---@type any
  if type(problem) ~= "string" then
    local meta = getmetatable(problem)
    text = type(meta) == "table" and meta.__tostring and tostring(problem) or vim.inspect(problem)
  end
  local trace = debug.traceback(text, 2)
  return setmetatable({ message = without_place(text), trace = trace }, Failure)
end

--- Ends a call; later attempts have no effect.
---@param call acp.tools.Call
---@param why "cancelled"|"over"
---@param before? fun() Runs before what the handler waits for returns.
---@return boolean
local function close(call, why, before)
  if call.over then
    return false
  end
  call.over = why
  calls[call.id] = nil
  local waits = vim.tbl_keys(call.waits)
  M.when_free(function()
    if before then
      before()
    end
    for _, resume in ipairs(waits) do
      resume(nil, why)
    end
  end)
  return true
end

---@param call acp.tools.Call
---@param is_ok boolean
---@param value any The result, or a failure.
local function finish(call, is_ok, value)
  if not is_ok and value.trace and call.over ~= "cancelled" then
    log(call, value.trace)
  end
  if close(call, "over") then
    if not is_ok then
      value = value.message
    end
    call.link.finish(is_ok, value)
  elseif is_ok and call.over == "over" then
    log(call, "it has ended already, and this is passed over: " .. vim.inspect(value):sub(1, 200))
  end
end

--- Resumes a coroutine of a call.
---@param call acp.tools.Call
---@param co thread
local function step(call, co)
  local ok, problem = coroutine.resume(co)
  if not ok then
    finish(call, false, failure(problem))
  elseif coroutine.status(co) == "suspended" and not call.over and not next(call.waits) then
    log(call, "it waits, but not by its context: whoever it waits for has to go on with it")
  end
end

--- The state of a waiting coroutine.
---@class acp.tools.Wait
---@field answer any[]
---@field count integer The number of values; negative while pending.
---@field is_on boolean Whether the coroutine is waiting.

--- Suspends the running coroutine until the function passed to `start` is called; returns its
--- arguments.
---@param call acp.tools.Call
---@param name string The name of the context's function.
---@param start fun(resume: fun(...: any))
---@return any ...
function M.await(call, name, start)
  local co, is_main = coroutine.running()
  if not co or is_main then
    local text = "ctx.%s: only the handler itself can wait, and a callback is not part of it: "
      .. "wait for the callback by ctx.await"
    error(text:format(name), name == "await" and 2 or 3)
  elseif call.over then
    call.in_vain = call.in_vain + 1
    if call.in_vain > IN_VAIN then
      error(call.over, 0)
    end
    return nil, call.over
  end
  local wait = { answer = {}, count = -1, is_on = false } ---@type acp.tools.Wait
  local function resume(...)
    if wait.count >= 0 then
      return
    end
    wait.answer, wait.count = { ... }, select("#", ...)
    call.waits[resume] = nil
    if wait.is_on then
      M.when_free(function()
        -- Other code may have resumed the coroutine.
        if wait.is_on then ---@diagnostic disable-line: unnecessary-if
          step(call, co)
        end
      end)
    end
  end
  call.waits[resume] = true
  start(resume)
  wait.is_on = true
  -- Code that resumed the coroutine must not skip the wait.
  while wait.count < 0 do
    coroutine.yield() ---@diagnostic disable-line: await-in-sync
  end
  wait.is_on = false
  return unpack(wait.answer, 1, wait.count)
end

--- Runs a handler for a call; `link` receives the result.
---@param call {id: integer, session: acp.Session, cwd: string, roots?: string[]}
---@param spec acp.Tool
---@param args table
---@param link acp.tools.Link
function M.start(call, spec, args, link)
  ---@type acp.tools.Call
  local it = {
    id = call.id,
    name = spec.name,
    link = link,
    asked = {},
    last = 0,
    waits = {},
    on_cancel = {},
    in_vain = 0,
  }
  calls[it.id] = it
  local ctx = require("acp.tools.context").make(it, call)
  local handler = spec.handler
  local info = type(handler) == "function" and debug.getinfo(handler, "u")
  local is_async = info and info.nparams >= 3 or false
  local function done(value, why)
    if value == nil and why ~= nil then
      finish(it, false, setmetatable({ message = tostring(why) }, Failure))
    else
      finish(it, true, value)
    end
  end
  local co = coroutine.create(function()
    local ok, value, why = xpcall(function()
      ---@diagnostic disable-next-line: param-type-mismatch, redundant-return-value
      return handler(args, ctx, is_async and done or nil)
    end, failure)
    if not ok then
      finish(it, false, value)
    elseif not is_async then
      done(value, why)
    end
  end)
  M.when_free(function()
    -- The call may be cancelled before it starts.
    if not it.over then
      step(it, co)
    end
  end)
end

--- Passes an answer to a waiting handler.
---@param id integer
---@param number integer
---@param value any nil without an answer.
---@param why? string The reason for a missing answer.
function M.answer(id, number, value, why)
  local call = calls[id]
  local resume = call and call.asked[number]
  if call and resume then
    call.asked[number] = nil
    resume(value, why)
  end
end

--- Tells a handler that its call is cancelled.
---@param id integer
function M.stop(id)
  local call = calls[id]
  if not call then
    return
  end
  close(call, "cancelled", function()
    for _, fn in ipairs(call.on_cancel) do
      local ok, problem = xpcall(fn, failure)
      local found = problem ---@type any
      if not ok then
        log(call, "on_cancel: " .. (found.trace or found.message))
      end
    end
  end)
end

--- Returns the number of running calls.
---@return integer
function M.count()
  return vim.tbl_count(calls)
end

--- Replaces the client in tests of tools.
M.fake = function(...)
  return require("acp.tools.fake").run(...)
end

return M
