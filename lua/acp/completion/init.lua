--- Connects the input's completion with 'omnifunc', nvim-cmp and blink.cmp. The library provides the
--- candidates.

local M = {}

--- Returns the completions of the line before the cursor in an input, and their start byte.
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

--- See |complete-functions|.
---@param findstart integer
---@param base string
---@return integer|{words: acp.native.Candidate[], refresh: "always"}
function M.omnifunc(findstart, base)
  local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  local row = vim.fn.line(".") - 1
  if findstart == 1 then
    local start = M.at(row, before)
    -- Leaves completion mode without a message.
    return start or -3
  end
  -- Neovim has removed the base from the line.
  local _, items = M.at(row, before .. base)
  -- Neovim does not narrow them by the next key.
  return { words = items, refresh = "always" }
end

--- Enables the active completion plugin in an input buffer.
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
  -- A plugin loaded on the first InsertEnter is too late for this event.
  vim.b[buf].acp_completes = ok or nil
  return ok or false
end

--- Converts candidates to completion items of the Language Server Protocol.
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
      -- The library has already filtered and sorted them.
      filterText = lead,
      textEdit = { newText = item.word, range = range },
    }
  end, items)
end

return M
