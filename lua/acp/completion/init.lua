--- Connects the input's completion with what else completes in Neovim: 'omnifunc', nvim-cmp and
--- blink.cmp. What completes is the library's to say.

local M = {}

--- Returns what completes the line before the cursor in an input, and the byte where it begins.
---@param row integer 0-based.
---@param before string
---@return integer? start 0-based.
---@return acp.native.Candidate[] items
function M.at(row, before)
  local native = require("acp.native").loaded()
  if not native then
    return nil, {}
  end
  local found = native.complete(vim.api.nvim_get_current_buf(), row, before)
  return found and found.start, found and found.items or {}
end

--- Does as |complete-functions| do.
---@param findstart integer
---@param base string
---@return integer|acp.native.Candidate[]
function M.omnifunc(findstart, base)
  local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  local row = vim.fn.line(".") - 1
  if findstart == 1 then
    local start = M.at(row, before)
    -- Leaves completion mode, silently.
    return start or -3
  end
  -- Neovim has taken the base out of the line.
  local _, items = M.at(row, before .. base)
  return items
end

--- Lets the completion plugin that is in use complete in an input buffer as well.
---@param buf integer
---@return boolean is_there
function M.hand_over(buf)
  if vim.b[buf].acp_completes then
    return true
  end
  local name = package.loaded["blink.cmp"] and "blink" or package.loaded["cmp"] and "cmp"
  local ok = name
    and pcall(function()
      local plugin = package.loaded[name == "cmp" and "cmp" or "blink.cmp"]
      require("acp.completion." .. name).register(plugin)
    end)
  -- One that is loaded by the first key in insert mode comes too late for this one.
  vim.b[buf].acp_completes = ok or nil
  return ok or false
end

--- Returns candidates as the Language Server Protocol has completion items.
---@param start integer
---@param items acp.native.Candidate[]
---@param row integer
---@param before string
---@param columns fun(text: string): integer How the plugin counts them.
---@return table[]
function M.lsp_items(start, items, row, before, columns)
  local range = {
    start = { line = row, character = columns(before:sub(1, start)) },
    ["end"] = { line = row, character = columns(before) },
  }
  local lead = before:sub(start + 1)
  return vim.tbl_map(function(item)
    return {
      label = item.word,
      -- Text
      kind = item.kind == "file" and 17 or item.kind == "symbol" and 3 or 14,
      detail = item.menu,
      -- They are sorted and chosen by the library.
      filterText = lead,
      textEdit = { newText = item.word, range = range },
    }
  end, items)
end

return M
