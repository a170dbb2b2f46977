--- The symbols of a file, or workspace symbols that match a name.

local M = {}

local buffers = require("acp.tools.builtin.lsp.buffers")
local found = require("acp.tools.builtin.lsp.found")
local paths = require("acp.tools.builtin.paths")
local place = require("acp.tools.builtin.lsp.place")
local requests = require("acp.tools.builtin.lsp.requests")
local servers = require("acp.tools.builtin.lsp.servers")

--- Default number of symbols.
local LIMIT = 300

---@class acp.lsp.Symbol
---@field name string
---@field kind string "function", "class" …
---@field path? string For a workspace symbol.
---@field line integer 1-based.
---@field end_line? integer
---@field column integer Bytes, 1-based.
---@field detail? string
---@field container? string The symbol it belongs to.
---@field children? acp.lsp.Symbol[]

---@param kind integer
---@return string
local function kind_name(kind)
  local name = vim.lsp.protocol.SymbolKind[kind]
  return type(name) == "string" and name:gsub("(%l)(%u)", "%1 %2"):lower() or "symbol"
end

---@param a acp.lsp.Symbol
---@param b acp.lsp.Symbol
---@return boolean
local function comes_before(a, b)
  if (a.path or "") ~= (b.path or "") then
    return (a.path or "") < (b.path or "")
  elseif a.line ~= b.line then
    return a.line < b.line
  elseif a.column ~= b.column then
    return a.column < b.column
  end
  return a.name < b.name
end

--- Returns the unique symbols of a file, with positions in its buffer.
---@param file acp.lsp.File
---@param items any[]
---@param encoding string
---@param seen table<string, boolean?>
---@return acp.lsp.Symbol[]
local function of_file(file, items, encoding, seen)
  local symbols = {}
  for _, item in ipairs(items) do
    local range = item.range or item.location and item.location.range
    local start = item.selectionRange and item.selectionRange.start or range and range.start
    if start then
      local text = vim.api.nvim_buf_get_lines(file.buf, start.line, start.line + 1, false)[1] or ""
      local symbol = {
        name = item.name,
        kind = kind_name(item.kind),
        line = start.line + 1,
        end_line = range["end"].line > start.line and range["end"].line + 1 or nil,
        column = place.from_server(text, start.character, encoding) + 1,
        detail = item.detail ~= "" and item.detail or nil,
        container = item.containerName ~= "" and item.containerName or nil,
      }
      local key = ("%s\n%s\n%d\n%d"):format(symbol.name, symbol.kind, symbol.line, symbol.column)
      if not seen[key] then
        seen[key] = true
        local children = of_file(file, item.children or {}, encoding, seen)
        symbol.children = #children > 0 and children or nil
        table.insert(symbols, symbol)
      end
    end
  end
  table.sort(symbols, comes_before)
  return symbols
end

--- Returns the symbols whose names contain a text, with their parents.
---@param symbols acp.lsp.Symbol[]
---@param query string
---@return acp.lsp.Symbol[]
local function fitting(symbols, query)
  local kept = {}
  for _, symbol in ipairs(symbols) do
    local children = fitting(symbol.children or {}, query)
    symbol.children = #children > 0 and children or nil
    if symbol.children or symbol.name:lower():find(query:lower(), 1, true) then
      table.insert(kept, symbol)
    end
  end
  return kept
end

--- Returns the first symbols of a tree, and its total number.
---@param symbols acp.lsp.Symbol[]
---@param left {count: integer}
---@return acp.lsp.Symbol[]
---@return integer
local function first_of(symbols, left)
  local kept, total = {}, 0
  for _, symbol in ipairs(symbols) do
    total = total + 1
    local is_kept = left.count > 0
    left.count = left.count - 1
    local children, more = first_of(symbol.children or {}, left)
    symbol.children = #children > 0 and children or nil
    total = total + more
    if is_kept then
      table.insert(kept, symbol)
    end
  end
  return kept, total
end

---@param symbols acp.lsp.Symbol[]
---@param lines string[]
---@param indent string
local function show(symbols, lines, indent)
  for _, symbol in ipairs(symbols) do
    local to = symbol.end_line and ("-%d"):format(symbol.end_line) or ""
    local where = symbol.path and ("%s:%d:%d"):format(symbol.path, symbol.line, symbol.column)
      or ("%d%s"):format(symbol.line, to)
    local inside = symbol.container and (" in %s"):format(symbol.container) or ""
    local detail = symbol.detail and (" %s"):format(found.cut(symbol.detail:gsub("%s+", " "), 120))
      or ""
    table.insert(
      lines,
      ("%s%s %s%s%s  %s"):format(indent, symbol.kind, symbol.name, inside, detail, where)
    )
    show(symbol.children or {}, lines, indent .. "  ")
  end
end

---@param symbols acp.lsp.Symbol[]
---@param args table
---@param notes string[]
---@param where string
local function listed(symbols, args, notes, where)
  local kept, total = first_of(symbols, { count = args.limit or LIMIT })
  local fit = args.query and (' that "%s" fits'):format(args.query) or ""
  if total == 0 then
    local text = ("There is no symbol%s in %s that a language server knows of."):format(fit, where)
    return found.result(text, { symbols = {}, total = 0 }, notes)
  end
  local lines = {}
  show(kept, lines, "")
  local shown = #lines
  local count = shown < total and ("%d of %d"):format(shown, total) or tostring(total)
  local head = ("%s symbol%s%s in %s:"):format(count, total == 1 and "" or "s", fit, where)
  local text = head .. "\n" .. table.concat(lines, "\n")
  return found.result(text, { symbols = kept, total = total }, notes)
end

---@param args table
---@param ctx acp.ToolContext
local function in_file(args, ctx)
  local method = "textDocument/documentSymbol"
  local file = buffers.open(ctx, args.path)
  local clients = servers.of(ctx, file, method, "list symbols")
  local answers, notes = requests.query(ctx, file, clients, method, function()
    return { textDocument = { uri = vim.uri_from_bufnr(file.buf) } }
  end)
  local symbols, seen = {}, {}
  for _, answer in ipairs(answers) do
    local encoding = answer.client.offset_encoding
    vim.list_extend(symbols, of_file(file, answer.result or {}, encoding, seen))
  end
  table.sort(symbols, comes_before)
  if args.query and args.query ~= "" then
    symbols = fitting(symbols, args.query)
  end
  return listed(symbols, args, notes, paths.shown(ctx.cwd, file.path))
end

--- Returns whether a server works on the session's folders.
---@param client vim.lsp.Client
---@param cwd string
---@return boolean
local function is_about(client, cwd)
  -- Either may be reached by a link.
  cwd = paths.real(cwd) or cwd
  local folders = {}
  for _, folder in ipairs(client.workspace_folders or {}) do
    local path = place.path(folder.uri)
    table.insert(folders, path and (paths.real(path) or path))
  end
  local function is_in(inner, outer)
    return inner == outer or vim.startswith(inner, outer:gsub("/$", "") .. "/")
  end
  for _, folder in ipairs(folders) do
    if is_in(folder, cwd) or is_in(cwd, folder) then
      return true
    end
  end
  return #folders == 0
end

---@param args table
---@param ctx acp.ToolContext
local function in_workspace(args, ctx)
  local method = "workspace/symbol"
  local cwd = vim.fs.normalize(ctx.cwd, { expand_env = false })
  local clients = vim.tbl_filter(function(client)
    return is_about(client, cwd)
  end, vim.lsp.get_clients({ method = method }))
  if #clients == 0 then
    local text = "No language server that can search symbols runs for %s. One starts with a file: "
      .. "please name a file of the project as `path` first, or search the files instead."
    ctx.fail(text:format(cwd))
  end
  local all = requests.ask(ctx, clients, method, function()
    return { query = args.query }
  end)
  local answers, notes = requests.good(ctx, all)
  local symbols, seen = {}, {}
  local line_of = found.reader(ctx)
  for _, answer in ipairs(answers) do
    for _, item in ipairs(answer.result or {}) do
      local start = item.location.range and item.location.range.start
      local path = place.path(item.location.uri)
      local is_shown = #symbols < (args.limit or LIMIT)
      local text = is_shown and path and start and line_of(path, start.line) or nil
      local units = start and start.character or 0
      local symbol = {
        name = item.name,
        kind = kind_name(item.kind),
        path = path and paths.shown(ctx.cwd, path) or item.location.uri,
        line = start and start.line + 1 or 1,
        column = (text and place.from_server(text, units, answer.client.offset_encoding) or units)
          + 1,
        container = item.containerName ~= "" and item.containerName or nil,
      }
      local key = ("%s\n%s\n%d\n%d"):format(symbol.name, symbol.path, symbol.line, symbol.column)
      if not seen[key] then
        seen[key] = true
        table.insert(symbols, symbol)
      end
    end
  end
  -- The servers' order is kept: the best match comes first.
  return listed(symbols, args, notes, "the workspace")
end

---@param args table
---@param ctx acp.ToolContext
function M.symbols(args, ctx)
  if args.path and args.path ~= "" then
    return in_file(args, ctx)
  elseif args.query and args.query ~= "" then
    return in_workspace(args, ctx)
  end
  ctx.fail("Please name a file by `path`, or what to look for in the workspace by `query`.")
end

return M
