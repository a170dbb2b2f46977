--- Server commands that act as workspace edits: the server runs the command and then requests
--- changes of files.
---
--- Invariants: commands that would run in Neovim are refused; changes that a server requests
--- during the command are written by the call's context or not written; its handler is restored
--- afterwards.

local M = {}

local edits = require("acp.tools.builtin.lsp.edits")
local servers = require("acp.tools.builtin.lsp.servers")

--- Time limit in milliseconds for changes that a server requests after its answer.
local LATE_MS = 1000

local APPLY = "workspace/applyEdit"

--- The clients for which a command is running.
---@type table<integer, boolean?>
local busy = {}

--- A running command.
---@class acp.lsp.Run
---@field client vim.lsp.Client
---@field queue acp.lsp.Request[] The server's requests.
---@field asked integer The number of requests taken from it.
---@field answer? {why: any} The server's answer to the command.
---@field is_late boolean The time limit is over.
---@field resume? fun() Resumes the waiting coroutine.
---@field id? integer The request's number.
---@field timer? any
---@field handler fun(problem: any, params: table): table
---@field former? function The handler it replaced.
---@field is_over boolean

--- A change requested by a server.
---@class acp.lsp.Request
---@field edit table
---@field reply fun(is_applied: boolean, why: string?)

--- Returns an action's command, as the server sent it.
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

--- Returns why a command is refused, or nil.
---@param client vim.lsp.Client
---@param command {command: string}
---@return string?
function M.refusal(client, command)
  local name = command.command
  local own = (client.commands or {})[name] or vim.lsp.commands[name] ---@type any
  if own then
    return ('the command "%s" runs in Neovim, and may do anything: ask the user to do it'):format(
      name
    )
  end
  local provider = (client.server_capabilities or {}).executeCommandProvider
  local known = type(provider) == "table" and provider.commands or {}
  if not vim.list_contains(known, name) then
    return ('%s does not run the command "%s" itself'):format(client.name, name)
  end
end

---@param to acp.lsp.Written
---@param more acp.lsp.Written
local function add(to, more)
  to.edits = to.edits + more.edits
  for _, file in ipairs(more.files) do
    local is_known = false
    for _, it in ipairs(to.files) do
      if it.path == file.path then
        it.edits = it.edits + file.edits
        is_known = true
      end
    end
    if not is_known then
      table.insert(to.files, file)
    end
  end
end

---@param run acp.lsp.Run
local function wake(run)
  if run.resume then
    run.resume()
  end
end

--- Returns a handler that queues a server's requests.
---@param run acp.lsp.Run
---@return fun(problem: any, params: table): table
local function handler(run)
  return function(_, params)
    local co, is_main = coroutine.running()
    local request = { edit = servers.plain(params).edit or {}, reply = function() end }
    table.insert(run.queue, request)
    if not co or is_main then
      -- This handler cannot wait, so it can only confirm that the change will be applied.
      wake(run)
      return { applied = true }
    end
    function request.reply(is_applied, why)
      request.reply = function() end
      coroutine.resume(co, { applied = is_applied, failureReason = why })
    end
    wake(run)
    ---@diagnostic disable-next-line: await-in-sync
    return coroutine.yield()
  end
end

--- Ends a run: restores the client, and answers pending requests.
---@param run acp.lsp.Run
local function finish(run)
  if run.is_over then
    return
  end
  run.is_over = true
  busy[run.client.id] = nil
  if run.client.handlers[APPLY] == run.handler then
    run.client.handlers[APPLY] = run.former
  end
  if run.timer and not run.timer:is_closing() then
    run.timer:close()
  end
  if run.id and not run.answer and not run.client.rpc.is_closing() then
    servers.call(run.client, "cancel_request", run.id)
  end
  for _, request in ipairs(run.queue) do
    request.reply(false, "cancelled")
  end
end

--- Records the server's answer to the command.
---@param run acp.lsp.Run
---@param problem any
local function answered(run, problem)
  run.answer = { why = problem }
  -- A command without requests so far may still send one.
  run.is_late = run.asked > 0 or problem ~= nil or run.is_over
  if not run.is_late then
    run.timer = vim.defer_fn(function()
      run.is_late = true
      wake(run)
    end, LATE_MS)
  end
  wake(run)
end

--- Returns the server's next request; nil if there are none left.
---@param ctx acp.ToolContext
---@param run acp.lsp.Run
---@return acp.lsp.Request?
local function next_request(ctx, run)
  while #run.queue == 0 and not run.is_late do
    servers.wait(ctx, function(resume)
      run.resume = resume
    end, function()
      run.resume = nil
    end)
  end
  return table.remove(run.queue, 1)
end

--- Writes the changes the server requests until there are none left.
---@param ctx acp.ToolContext
---@param run acp.lsp.Run
---@param written acp.lsp.Written
local function carry_out(ctx, run, written)
  local ticks = edits.ticks()
  local request = next_request(ctx, run)
  while request do
    run.asked = run.asked + 1
    local is_applied, result = pcall(edits.write, ctx, request.edit, run.client, ticks)
    if not is_applied then
      local problem = result ---@type any
      local why = type(problem) == "table" and problem.message or problem
      request.reply(false, tostring(why))
      error(problem, 0)
    end
    request.reply(true)
    add(written, result)
    ticks = edits.ticks()
    run.is_late = run.is_late or run.answer ~= nil
    request = next_request(ctx, run)
  end
end

--- Runs a command and writes the changes its server requests; adds them to `written`.
---@param ctx acp.ToolContext
---@param client vim.lsp.Client
---@param command {command: string, arguments: any}
---@param written acp.lsp.Written
function M.run(ctx, client, command, written)
  if busy[client.id] then
    ctx.fail(("%s is running another command: please try again."):format(client.name))
  end
  ---@type acp.lsp.Run
  local run = {
    client = client,
    queue = {},
    asked = 0,
    is_late = false,
    is_over = false,
    handler = function()
      return {}
    end,
    former = rawget(client.handlers, APPLY),
  }
  run.handler = handler(run)
  busy[client.id] = true
  client.handlers[APPLY] = run.handler
  ctx.on_cancel(function()
    finish(run)
  end)
  local ok, problem = pcall(function()
    local params = { command = command.command, arguments = command.arguments }
    local is_sent, id = servers.call(
      client,
      "request",
      "workspace/executeCommand",
      params,
      function(why)
        answered(run, why)
      end
    )
    run.id = id
    if not is_sent then
      answered(run, { message = "it has ended" })
    end
    carry_out(ctx, run, written)
  end)
  finish(run)
  if not ok then
    error(problem, 0)
  elseif run.answer and run.answer.why then
    local why = run.answer.why
    local text = '%s has failed to run "%s": %s.'
    ctx.fail(text:format(client.name, command.command, type(why) == "table" and why.message or why))
  elseif run.asked == 0 and #written.files == 0 then
    local text =
      '%s has run "%s", and asked for no change of a file. Nothing was changed by Neovim.'
    ctx.fail(text:format(client.name, command.command))
  end
end

return M
