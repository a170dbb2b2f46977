--- Collects the symbols of open files for `@symbol:` in prompts: from their language servers, else
--- from tree-sitter.
---
--- Nothing here blocks: symbols that a server has not returned yet appear at the next key.

local M = {}

--- Limits: buffers, symbols per buffer, and bytes of a parsed text.
local MAX_BUFFERS, MAX_SYMBOLS, MAX_NODES = 20, 1000, 20000

--- A function, a type or a similar definition.
---@class acp.Symbol
---@field name string
---@field buf integer
---@field first integer Its first row, 0-based.
---@field last integer The row after its last one.

---@class acp.symbols.Known
---@field tick integer
---@field symbols acp.Symbol[]
---@field asked? integer The tick for which a server was asked.

---@type table<integer, acp.symbols.Known>
local known = {}

--- The protocol's symbol kinds that are not useful as context: files, fields, constants, values.
---@type table<integer, boolean?>
local passed_over = {}
for _, kind in ipairs({ 1, 4, 7, 8, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 26 }) do
  passed_over[kind] = true
end

---@param buf integer
---@param results any[] The servers' answers.
---@return acp.Symbol[]
local function from_servers(buf, results)
  local found = {} ---@type acp.Symbol[]
  local function add(items)
    for _, item in ipairs(items or {}) do
      local range = item.range or item.location and item.location.range
      if range and not passed_over[item.kind] and #found < MAX_SYMBOLS then
        table.insert(found, {
          name = item.name,
          buf = buf,
          first = range.start.line,
          last = range["end"].line + 1,
        })
      end
      add(item.children)
    end
  end
  for _, result in pairs(results) do
    add(require("acp.tools.builtin.lsp.servers").plain(result.result))
  end
  return found
end

--- Queries the servers of a buffer, once per changedtick.
---@param buf integer
---@param tick integer
---@return boolean asked Whether a server was queried.
local function ask(buf, tick)
  local clients = vim.lsp.get_clients({ bufnr = buf, method = "textDocument/documentSymbol" })
  if #clients == 0 then
    return false
  end
  local entry = known[buf] or { tick = -1, symbols = {} }
  known[buf] = entry
  if entry.asked ~= tick then
    entry.asked = tick
    local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
    vim.lsp.buf_request_all(buf, "textDocument/documentSymbol", params, function(results)
      entry.tick, entry.symbols = tick, from_servers(buf, results)
    end)
  end
  return true
end

--- Returns the nodes of a buffer's tree that have a name and more than one line.
---@param buf integer
---@return acp.Symbol[]
local function from_tree(buf)
  local found = {} ---@type acp.Symbol[]
  local ok, parser = pcall(vim.treesitter.get_parser, buf)
  -- Uses only the highlighter's tree: parsing here would block the editor.
  if not ok or not parser or not vim.treesitter.highlighter.active[buf] then
    return found
  end
  local left = MAX_NODES
  ---@param node TSNode
  local function visit(node)
    for child in node:iter_children() do
      left = left - 1
      if left < 0 or #found >= MAX_SYMBOLS then
        return
      end
      local first, _, last, column = child:range()
      if child:named() and last > first then
        local name = child:field("name")[1]
        if name then
          table.insert(found, {
            name = vim.treesitter.get_node_text(name, buf),
            buf = buf,
            first = first,
            last = column > 0 and last + 1 or last,
          })
        end
        visit(child)
      end
    end
  end
  for _, tree in ipairs(parser:trees()) do
    visit(tree:root())
  end
  return found
end

---@param buf integer
---@return acp.Symbol[]
local function of(buf)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local entry = known[buf]
  if ask(buf, tick) then
    -- Until the server answers, its previous symbols are used.
    return known[buf].symbols
  end
  if not entry or entry.tick ~= tick then
    entry = { tick = tick, symbols = from_tree(buf) }
    known[buf] = entry
  end
  return entry.symbols
end

--- Returns the symbols of the loaded files, visible files first.
---@return acp.Symbol[]
function M.all()
  local buffers, seen = {}, {}
  local function add(buf)
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    if is_file and not seen[buf] and #buffers < MAX_BUFFERS then
      seen[buf] = true
      table.insert(buffers, buf)
    end
  end
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    add(vim.api.nvim_win_get_buf(win))
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    add(buf)
  end
  local all = {}
  for _, buf in ipairs(buffers) do
    vim.list_extend(all, of(buf))
  end
  for buf in pairs(known) do
    if not vim.api.nvim_buf_is_valid(buf) then
      known[buf] = nil
    end
  end
  return all
end

--- Returns names and locations for a menu.
---@return {[1]: string, [2]: string}[]
function M.list()
  return vim.tbl_map(function(symbol)
    local path = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(symbol.buf), ":.")
    return { symbol.name, ("%s:%d"):format(path, symbol.first + 1) }
  end, M.all())
end

--- Returns the first symbol with this name.
---@param name string
---@return acp.Symbol?
function M.find(name)
  for _, symbol in ipairs(M.all()) do
    if symbol.name == name then
      return symbol
    end
  end
end

return M
