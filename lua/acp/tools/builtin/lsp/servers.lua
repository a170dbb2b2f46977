--- Language servers: which can answer, what they are asked, what they say.
---
--- Invariants: nothing here holds Neovim up; a call that is cancelled leaves no request, no autocmd
--- and no handler behind; an answer holds no `vim.NIL`.

local M = {}

--- How long a server may take to turn up for a file that was loaded just now, and how long one that
--- has turned up may take to be ready, in milliseconds.
local TURN_UP_MS, READY_MS = 2000, 30000

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

--- Waits until `start`'s argument is called; `stop` runs once after that, or when the call is
--- cancelled.
---@param ctx acp.ToolContext
---@param start fun(resume: fun(...: any))
---@param stop? fun()
---@return ...
function M.wait(ctx, start, stop)
  local is_over = false
  local function finish()
    if not is_over and stop then
      is_over = true
      stop()
    end
  end
  ctx.on_cancel(finish)
  local problem ---@type any
  local function pack(...)
    return { n = select("#", ...), ... }
  end
  local got = pack(ctx.await(function(resume)
    local ok, why = pcall(start, resume)
    if not ok then
      problem = why
      resume()
    end
  end))
  finish()
  if ctx.is_cancelled() then
    ctx.fail("cancelled")
  elseif problem then
    error(problem, 0)
  end
  return unpack(got, 1, got.n)
end

--- Returns a copy without `vim.NIL`, which Neovim 0.12 hands on.
---@param value any
---@return any
function M.plain(value)
  if value == vim.NIL then
    return nil
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  if vim.islist(value) then
    for _, item in ipairs(value) do
      if item ~= vim.NIL then
        table.insert(copy, M.plain(item))
      end
    end
  else
    for key, item in pairs(value) do
      copy[key] = M.plain(item)
    end
  end
  return copy
end

local is_old = vim.fn.has("nvim-0.11") == 0

--- Calls a method of a client. Neovim 0.10 has them as functions without the client.
---@param client vim.lsp.Client
---@param name string
---@param ... any
---@return any
---@return any
function M.call(client, name, ...)
  local method = (client --[[@as table]])[name]
  if is_old then
    return method(...)
  end
  return method(client, ...)
end

---@param client vim.lsp.Client
---@param method string
---@param buf? integer
---@return boolean
function M.can(client, method, buf)
  if is_old then
    return (M.call(client, "supports_method", method, { bufnr = buf }))
  end
  return (M.call(client, "supports_method", method, buf))
end

--- Returns the servers that are being started for a buffer.
---@param buf integer
---@return boolean
local function is_any_starting(buf)
  local filter = { bufnr = buf, _uninitialized = true } ---@type any
  for _, client in ipairs(vim.lsp.get_clients(filter)) do
    if not client.initialized and not client.rpc.is_closing() then
      return true
    end
  end
  return false
end

--- Waits until one that is able has turned up, or nobody will any more.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param able fun(): vim.lsp.Client[]
local function wait_for_servers(ctx, file, able)
  local autocmd ---@type integer?
  local timers = {}
  M.wait(ctx, function(resume)
    local has_waited = not file.is_fresh
    local function look()
      if #able() > 0 or has_waited and not is_any_starting(file.buf) then
        resume()
      end
    end
    autocmd = vim.api.nvim_create_autocmd({ "LspAttach", "LspDetach", "BufUnload" }, {
      buffer = file.buf,
      -- The client that it tells of is not quite there yet, or gone.
      callback = function()
        vim.schedule(look)
      end,
    })
    table.insert(timers, vim.defer_fn(resume, READY_MS))
    table.insert(
      timers,
      vim.defer_fn(function()
        has_waited = true
        look()
      end, TURN_UP_MS)
    )
    look()
  end, function()
    if autocmd then
      pcall(vim.api.nvim_del_autocmd, autocmd)
    end
    for _, timer in ipairs(timers) do
      if not timer:is_closing() then
        timer:close()
      end
    end
  end)
end

---@param clients vim.lsp.Client[]
---@return string
local function names(clients)
  local found = {}
  for _, client in ipairs(clients) do
    found[client.name] = true
  end
  local list = vim.tbl_keys(found)
  table.sort(list)
  return table.concat(list, ", ")
end

--- Returns the words that say that nobody can answer, and what to do.
---@param file acp.lsp.File
---@param what string What is wanted.
---@return string
local function nobody(file, what)
  local attached = vim.lsp.get_clients({ bufnr = file.buf })
  if #attached > 0 then
    local text = "No language server of %s can %s: %s cannot. Please search the files instead."
    return text:format(file.path, what, names(attached))
  end
  local filetype = vim.bo[file.buf].filetype
  local kind = filetype == "" and "its file type is not known" or "its file type is " .. filetype
  local running = vim.lsp.get_clients()
  local others = #running == 0 and "No language server is running in Neovim."
    or ("Running in Neovim for other files: %s."):format(names(running))
  local text = "No language server is attached to %s (%s), so nothing can %s. %s Please search the "
    .. "files instead, or ask the user to set up a language server for that file type."
  return text:format(file.path, kind, what, others)
end

--- Returns the servers of a file that can answer; waits for them if they are on their way.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param method string
---@param what string What is wanted, for the words: "find definitions".
---@return vim.lsp.Client[]
function M.of(ctx, file, method, what)
  local function able()
    if not vim.api.nvim_buf_is_loaded(file.buf) then
      return {}
    end
    return vim.lsp.get_clients({ bufnr = file.buf, method = method })
  end
  local clients = able()
  if #clients == 0 and (file.is_fresh or is_any_starting(file.buf)) then
    wait_for_servers(ctx, file, able)
    clients = able()
  end
  if #clients == 0 then
    ctx.fail(nobody(file, what))
  end
  table.sort(clients, function(a, b)
    return a.id < b.id
  end)
  return clients
end

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
    local is_sent, request = M.call(client, "request", method, params, function(problem, result)
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
    end)
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
        M.call(client, "cancel_request", id)
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
  M.wait(ctx, function(resume)
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
          result = not is_wrong and M.plain(result) or nil,
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
  local autocmd, timer ---@type integer?, any
  M.wait(ctx, function(resume)
    autocmd = vim.api.nvim_create_autocmd({ "LspProgress", "LspDetach" }, {
      callback = function()
        if (#M.at_work(clients) > 0) == is_wanted then
          resume()
        end
      end,
    })
    timer = vim.defer_fn(resume, ms)
  end, function()
    if autocmd then
      pcall(vim.api.nvim_del_autocmd, autocmd)
    end
    if timer and not timer:is_closing() then
      timer:close()
    end
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
