--- What language servers are asked, and what they say.
---
--- Invariants: a call that is cancelled leaves no request and no autocmd behind; an answer holds no
--- `vim.NIL`; a server that has ended is no reason to wait.

local M = {}

local servers = require("acp.tools.builtin.lsp.servers")

--- How long one is waited for that gets to know a project, in milliseconds.
local SETTLE_MS = 10000

--- How long one that has just turned up is watched for a sign that it gets to know a project.
local BEGIN_MS = 500

--- The servers that were asked before.
---@type table<integer, boolean?>
local met = {}

--- How often a server is asked anew that says its state has changed meanwhile, and after how long.
local RETRIES, RETRY_MS = 5, 200

--- The protocol's errors that mean "ask again": ContentModified, ServerCancelled.
local again = { [-32801] = true, [-32802] = true }

--- What a server said.
---@class acp.lsp.Answer
---@field client vim.lsp.Client
---@field result? any Without `vim.NIL`.
---@field raw? any As it came, to be handed back.
---@field why? string What went wrong.

---@param problem any
---@return string
local function words(problem)
  if type(problem) == "table" and type(problem.message) == "string" then
    return problem.message
  end
  return type(problem) == "string" and problem or vim.inspect(problem)
end

--- Sends one request, again if the server wants to be asked again.
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
    -- Without a buffer the changes of all buffers are told first, not only those of one.
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

--- Asks servers, all at once; returns what each said, in their order.
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
    -- A server that has ended answers nothing any more, not even by an error.
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

--- Asks one server.
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

--- Returns what servers are at work on.
---@param clients vim.lsp.Client[]
---@return string[] notes What the agent should know of it.
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

--- Waits until what servers are at has come to an end, or has begun, but not long.
---@param ctx acp.ToolContext
---@param clients vim.lsp.Client[]
---@param is_wanted boolean Whether they shall be at work.
---@param ms integer
local function wait_for_work(ctx, clients, is_wanted, ms)
  servers.wait_for_event(ctx, { "LspProgress", "LspDetach" }, nil, ms, function()
    return (#M.at_work(clients) > 0) == is_wanted
  end)
end

--- Asks servers about a project that they may just be getting to know: once more then, when they do.
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

--- Returns the answers that are no errors; ends the call if all of them are.
---@param ctx acp.ToolContext
---@param answers acp.lsp.Answer[]
---@return acp.lsp.Answer[]
---@return string[] notes What the agent should know about the answers.
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

--- Asks servers about a file; returns what `good` does.
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
