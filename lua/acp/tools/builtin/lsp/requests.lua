--- Requests to language servers, and their answers.
---
--- Invariants: a cancelled call leaves no request and no autocmd behind; answers contain no
--- `vim.NIL`; a server that has exited is not waited for.

local M = {}

local servers = require("acp.tools.builtin.lsp.servers")

--- Time limit for a server that is loading a project, in milliseconds.
local SETTLE_MS = 10000

--- Time in which a new server is watched for signs of loading a project.
local BEGIN_MS = 500

--- The servers that were queried before.
---@type table<integer, boolean?>
local met = {}

--- Number and delay of retries for a server whose state has changed.
local RETRIES, RETRY_MS = 5, 200

--- The protocol's errors that ask for a retry: ContentModified, ServerCancelled.
local again = { [-32801] = true, [-32802] = true }

--- A server's answer.
---@class acp.lsp.Answer
---@field client vim.lsp.Client
---@field result? any A copy without `vim.NIL`.
---@field raw? any The original, to be sent back.
---@field why? string The error.

---@param problem any
---@return string
local function words(problem)
  if type(problem) == "table" and type(problem.message) == "string" then
    return problem.message
  end
  return type(problem) == "string" and problem or vim.inspect(problem)
end

--- Sends one request, repeatedly if the server asks for it.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param got fun(problem: any, result: any)
---@return fun() cancel
local function send(client, method, params, got)
  local tries, id, is_over = 0, nil, false ---@type integer, integer?, any
  local function try()
    tries = tries + 1
    id = nil
    -- Without a buffer, pending changes of all buffers are sent first.
    local is_sent, request = servers.call(
      client,
      "request",
      method,
      params,
      function(problem, result)
        id = nil
        if is_over then
          return
        elseif type(problem) == "table" and again[problem.code] and tries < RETRIES then
          id = 0
          vim.defer_fn(function()
            if not is_over then
              try()
            end
          end, RETRY_MS)
          return
        end
        is_over = true
        got(problem, result)
      end
    )
    if not is_sent then
      is_over = true
      got("it has ended", nil)
    elseif not is_over and id ~= 0 then
      id = request
    end
  end
  try()
  return function()
    if not is_over then
      is_over = true
      if id and id ~= 0 and not client.rpc.is_closing() then
        servers.call(client, "cancel_request", id)
      end
    end
  end
end

--- Queries servers in parallel; returns their answers in order.
---@param ctx acp.ToolContext
---@param clients vim.lsp.Client[]
---@param method string
---@param params_of fun(client: vim.lsp.Client): table
---@return acp.lsp.Answer[]
function M.ask(ctx, clients, method, params_of)
  local answers, cancels = {}, {} ---@type acp.lsp.Answer[], fun()[]
  local autocmd ---@type integer?
  servers.wait(ctx, function(resume)
    local left = #clients
    local function got(i, answer)
      if not answers[i] then
        answers[i] = answer
        left = left - 1
        if left == 0 then
          resume()
        end
      end
    end
    -- A server that has exited never answers, not even with an error.
    autocmd = vim.api.nvim_create_autocmd("LspDetach", {
      callback = function(event)
        for i, client in ipairs(clients) do
          if client.id == event.data.client_id and client.rpc.is_closing() then
            got(i, { client = client, why = "it has ended" })
          end
        end
      end,
    })
    for i, client in ipairs(clients) do
      cancels[i] = send(client, method, params_of(client), function(problem, result)
        local is_wrong = problem ~= nil and problem ~= vim.NIL
        got(i, {
          client = client,
          result = not is_wrong and servers.plain(result) or nil,
          raw = result,
          why = is_wrong and words(problem) or nil,
        })
      end)
    end
  end, function()
    if autocmd then
      pcall(vim.api.nvim_del_autocmd, autocmd)
    end
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end)
  return answers
end

--- Queries one server.
---@param ctx acp.ToolContext
---@param client vim.lsp.Client
---@param method string
---@param params table
---@return acp.lsp.Answer
function M.ask_one(ctx, client, method, params)
  local answers = M.ask(ctx, { client }, method, function()
    return params
  end)
  return answers[1] or { client = client, why = "it has no answer" }
end

--- Returns the current work of servers.
---@param clients vim.lsp.Client[]
---@return string[] notes Notes for the agent.
function M.at_work(clients)
  local notes = {}
  for _, client in ipairs(clients) do
    local _, task = next(client.progress.pending or {})
    if task then
      local text = "%s is still at work (%s): this may not be all, please ask again later."
      table.insert(notes, text:format(client.name, tostring(task)))
    end
  end
  return notes
end

--- Waits a bounded time until the servers' work has ended or started.
---@param ctx acp.ToolContext
---@param clients vim.lsp.Client[]
---@param is_wanted boolean Whether to wait for work to start.
---@param ms integer
local function wait_for_work(ctx, clients, is_wanted, ms)
  servers.wait_for_event(ctx, { "LspProgress", "LspDetach" }, nil, ms, function()
    return (#M.at_work(clients) > 0) == is_wanted
  end)
end

--- Queries servers about a project, and again after they have finished loading it.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param clients vim.lsp.Client[]
---@param method string
---@param params_of fun(client: vim.lsp.Client): table
---@return acp.lsp.Answer[]
function M.ask_settled(ctx, file, clients, method, params_of)
  local answers = M.ask(ctx, clients, method, params_of)
  local is_first = false
  for _, client in ipairs(clients) do
    is_first = is_first or not met[client.id]
    met[client.id] = true
  end
  if file.is_fresh and is_first and #M.at_work(clients) == 0 then
    wait_for_work(ctx, clients, true, BEGIN_MS)
  end
  if not file.is_young or #M.at_work(clients) == 0 then
    return answers
  end
  wait_for_work(ctx, clients, false, SETTLE_MS)
  return M.ask(ctx, clients, method, params_of)
end

--- Returns the successful answers; ends the call if there are none.
---@param ctx acp.ToolContext
---@param answers acp.lsp.Answer[]
---@return acp.lsp.Answer[]
---@return string[] notes Notes for the agent.
function M.good(ctx, answers)
  local good, clients, problems = {}, {}, {}
  for _, answer in ipairs(answers) do
    if answer.why then
      local text = "The language server %s has failed: %s"
      table.insert(problems, text:format(answer.client.name, answer.why))
    else
      table.insert(good, answer)
      table.insert(clients, answer.client)
    end
  end
  if #good == 0 then
    ctx.fail(table.concat(problems, "\n"))
  end
  return good, vim.list_extend(M.at_work(clients), problems)
end

--- Queries servers about a file; returns the result of `good`.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param clients vim.lsp.Client[]
---@param method string
---@param params_of fun(client: vim.lsp.Client): table
---@return acp.lsp.Answer[]
---@return string[] notes
function M.query(ctx, file, clients, method, params_of)
  return M.good(ctx, M.ask_settled(ctx, file, clients, method, params_of))
end

return M
