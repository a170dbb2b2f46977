--- A language server inside Neovim for the specs: it returns given answers and records its requests.
local M = {}

---@class acp.test.Server
---@field id integer
---@field client vim.lsp.Client
---@field heard {method: string, params: any}[]
---@field dispatchers table
---@field end_it fun()

--- Starts a server for buffers.
---
--- `answers` maps methods to a value or a function, which receives the parameters and `reply(result,
--- problem)` to call now or later; a non-nil return value is the answer.
---@param opts {name?: string, encoding?: string, answers?: table, capabilities?: table, commands?: table, root?: string, bufs?: integer[], starts?: fun(go: fun())}
---@return acp.test.Server
function M.start(opts)
  local server = { heard = {} }
  local is_closing, last = false, 0
  local capabilities = vim.tbl_extend("force", {
    positionEncoding = opts.encoding or "utf-16",
    textDocumentSync = { openClose = true, change = 1 },
  }, opts.capabilities or {})
  local function answer(method, params, reply)
    if method == "initialize" then
      local function go()
        reply({ capabilities = capabilities })
      end
      return opts.starts and opts.starts(go) or not opts.starts and go()
    elseif method == "shutdown" then
      return reply(vim.NIL)
    end
    local given = (opts.answers or {})[method]
    if type(given) == "function" then
      local result = given(params, reply)
      if result ~= nil then
        reply(result)
      end
    else
      reply(given)
    end
  end
  local function cmd(dispatchers)
    server.dispatchers = dispatchers
    local function close()
      if not is_closing then
        is_closing = true
        vim.schedule(function()
          dispatchers.on_exit(0, 0)
        end)
      end
    end
    server.end_it = close
    return {
      request = function(method, params, callback, notify_reply)
        last = last + 1
        local id = last
        table.insert(server.heard, { method = method, params = params })
        answer(method, params, function(result, problem)
          vim.schedule(function()
            if is_closing then
              return
            end
            if notify_reply then
              notify_reply(id)
            end
            callback(problem, result, id)
          end)
        end)
        return true, id
      end,
      notify = function(method, params)
        table.insert(server.heard, { method = method, params = params })
        if method == "exit" then
          close()
        end
        return true
      end,
      is_closing = function()
        return is_closing
      end,
      terminate = close,
    }
  end
  local id = assert(vim.lsp.start({
    name = opts.name or "fake",
    cmd = cmd,
    root_dir = opts.root,
    commands = opts.commands,
    -- Two servers of the same name are two.
  }, {
    bufnr = opts.bufs and opts.bufs[1],
    reuse_client = function()
      return false
    end,
  }))
  server.id = id
  for _, buf in ipairs(opts.bufs or {}) do
    vim.lsp.buf_attach_client(buf, id)
  end
  server.client = assert(vim.lsp.get_client_by_id(id))
  return server
end

--- Returns what a server heard of a method: the parameters, in order.
---@param server acp.test.Server
---@param method string
---@return any[]
function M.heard(server, method)
  local found = {}
  for _, it in ipairs(server.heard) do
    if it.method == method then
      table.insert(found, it.params or vim.NIL)
    end
  end
  return found
end

--- Asks Neovim for something in a server's name, as a client by pipe does: in a coroutine.
---@param server acp.test.Server
---@param method string
---@param params table
---@param done fun(result: any)
function M.request(server, method, params, done)
  vim.schedule(coroutine.wrap(function()
    done(server.dispatchers.server_request(method, params))
  end))
end

--- Ends all servers.
function M.stop_all()
  for _, client in ipairs(vim.lsp.get_clients()) do
    client.rpc.terminate()
  end
  local is_done = vim.wait(5000, function()
    return #vim.lsp.get_clients() == 0
  end, 5)
  assert(is_done, "the servers do not end")
end

return M
