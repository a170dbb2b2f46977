--- Language servers: which ones support a method for a file, and client calls in each Neovim
--- version.
---
--- Invariant: nothing here blocks Neovim, and a cancelled call leaves no autocmd behind.

local M = {}

--- Time limits in milliseconds for a server to attach to a file just loaded, and to become ready
--- after that.
local TURN_UP_MS, READY_MS = 2000, 30000

--- Waits until the function passed to `start` is called; runs `stop` once after that or on
--- cancellation.
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

--- Waits at most `ms` for an autocommand after which `is_over` returns true.
---@param ctx acp.ToolContext
---@param events string|string[]
---@param buf? integer Only in this buffer.
---@param ms integer
---@param is_over fun(): boolean
function M.wait_for_event(ctx, events, buf, ms, is_over)
  local autocmd, timer ---@type integer?, any
  M.wait(ctx, function(resume)
    autocmd = vim.api.nvim_create_autocmd(events, {
      buffer = buf,
      callback = function()
        if is_over() then
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

--- Returns a copy without `vim.NIL`, which Neovim 0.12 passes on.
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

--- Calls a client's method. In Neovim 0.10 methods are functions without the client argument.
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

--- Returns the servers that are starting for a buffer.
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

--- Waits until a capable server has attached, or none can any longer.
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
      -- The client of the event may not be registered yet, or be gone.
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

--- Returns a message that no server is capable, and what to do.
---@param file acp.lsp.File
---@param what string The action for the message.
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

--- Returns the capable servers of a file; waits for those that are starting.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param method string
---@param what string The action for the message: "find definitions".
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

return M
