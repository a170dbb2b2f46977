--- Commands of servers that are workspace edits in disguise: the server is asked to run one, and
--- asks Neovim to change files.
---
--- Invariants: a command that runs in Neovim is not run at all; what a server wants changed
--- meanwhile is written by the call's context or not at all; its handler is as before afterwards.

local M = {}

local edits = require("acp.tools.builtin.lsp.edits")
local servers = require("acp.tools.builtin.lsp.servers")

--- How long a server may take to ask for a change after it has said that it is done, in
--- milliseconds.
local LATE_MS = 1000

local APPLY = "workspace/applyEdit"

--- The clients that a command is run for.
---@type table<integer, boolean?>
local busy = {}

--- A change that a server asks for.
---@class acp.lsp.Request
---@field edit table
---@field reply fun(is_applied: boolean, why: string?)

--- Returns the command of an action, as the server gave it.
---@param action table
---@param raw table
---@return {command: string, arguments: any}?
function M.of(action, raw)
  if type(action.command) == "string" then
    return { command = action.command, arguments = raw.arguments }
  elseif type(action.command) == "table" and type(action.command.command) == "string" then
    return { command = action.command.command, arguments = raw.command.arguments }
  end
end

--- Returns why a command is not run, or nil.
---@param client vim.lsp.Client
---@param command {command: string}
---@return string?
function M.refusal(client, command)
  local name = command.command
  if (client.commands or {})[name] or vim.lsp.commands[name] then
    return ('the command "%s" runs in Neovim, and may do anything: ask the user to do it'):format(
      name
    )
  end
  local provider = client.server_capabilities.executeCommandProvider
  local known = type(provider) == "table" and provider.commands or {}
  if not vim.list_contains(known, name) then
    return ('%s does not run the command "%s" itself'):format(client.name, name)
  end
end

--- Returns a handler that puts what a server asks for into a queue.
---@param queue acp.lsp.Request[]
---@param wake fun()
---@return fun(problem: any, params: table): table
local function handler(queue, wake)
  return function(_, params)
    local co, is_main = coroutine.running()
    local request = { edit = servers.plain(params).edit or {}, reply = function() end }
    table.insert(queue, request)
    if not co or is_main then
      -- Nobody can wait here: that it will be done is all that can be said.
      wake()
      return { applied = true }
    end
    function request.reply(is_applied, why)
      request.reply = function() end
      coroutine.resume(co, { applied = is_applied, failureReason = why })
    end
    wake()
    return coroutine.yield()
  end
end

---@param to acp.lsp.Written
---@param more acp.lsp.Written
local function add(to, more)
  to.edits = to.edits + more.edits
  for _, file in ipairs(more.files) do
    local known = vim.iter(to.files):find(function(it)
      return it.path == file.path
    end)
    if known then
      known.edits = known.edits + file.edits
    else
      table.insert(to.files, file)
    end
  end
end

--- Runs a command, and writes what its server asks for meanwhile; adds that to `written`.
---@param ctx acp.ToolContext
---@param client vim.lsp.Client
---@param command {command: string, arguments: any}
---@param written acp.lsp.Written
function M.run(ctx, client, command, written)
  if busy[client.id] then
    ctx.fail(("%s is running another command: please try again."):format(client.name))
  end
  local queue = {} ---@type acp.lsp.Request[]
  local state = { asked = 0 } ---@type {asked: integer, answer?: {why: any}, is_late?: boolean, resume?: fun()}
  local function wake()
    if state.resume then
      state.resume()
    end
  end
  local timer ---@type uv.uv_timer_t?
  local ours = handler(queue, wake)
  local former = rawget(client.handlers, APPLY)
  local id ---@type integer?
  local function restore()
    if not busy[client.id] then
      return
    end
    busy[client.id] = nil
    if client.handlers[APPLY] == ours then
      client.handlers[APPLY] = former
    end
    if timer and not timer:is_closing() then
      timer:close()
    end
    if id and not state.answer and not client.rpc.is_closing() then
      servers.call(client, "cancel_request", id)
    end
    for _, request in ipairs(queue) do
      request.reply(false, "cancelled")
    end
  end
  local function next_request()
    while #queue == 0 and not state.is_late do
      servers.wait(ctx, function(resume)
        state.resume = resume
      end, function()
        state.resume = nil
      end)
    end
    return table.remove(queue, 1)
  end
  local function answered(problem)
    state.answer = { why = problem }
    -- One that has asked for nothing yet may be about to.
    state.is_late = state.asked > 0 or problem ~= nil
    if not state.is_late then
      timer = vim.defer_fn(function()
        state.is_late = true
        wake()
      end, LATE_MS)
    end
    wake()
  end
  busy[client.id] = true
  client.handlers[APPLY] = ours
  ctx.on_cancel(restore)
  local ticks = edits.ticks()
  local ok, problem = pcall(function()
    local params = { command = command.command, arguments = command.arguments }
    local is_sent, request_id =
      servers.call(client, "request", "workspace/executeCommand", params, answered)
    id = request_id
    if not is_sent then
      answered({ message = "it has ended" })
    end
    while true do
      local request = next_request()
      if not request then
        break
      end
      state.asked = state.asked + 1
      local is_applied, result = pcall(edits.write, ctx, request.edit, client, ticks)
      local why = not is_applied and (type(result) == "table" and result.message or result) or nil
      request.reply(is_applied, why and tostring(why))
      if not is_applied then
        error(result, 0)
      end
      add(written, result)
      ticks = edits.ticks()
      state.is_late = state.is_late or state.answer ~= nil
    end
  end)
  restore()
  if not ok then
    error(problem, 0)
  elseif state.answer and state.answer.why then
    local why = state.answer.why
    local text = '%s has failed to run "%s": %s.'
    ctx.fail(text:format(client.name, command.command, type(why) == "table" and why.message or why))
  elseif state.asked == 0 then
    local text =
      '%s has run "%s", and asked for no change of a file. Nothing was changed by Neovim.'
    ctx.fail(text:format(client.name, command.command))
  end
end

return M
