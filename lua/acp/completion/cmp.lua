--- The source "acp" for nvim-cmp, active in input buffers.

local M = {}

local source = {}

function source.is_available()
  return vim.bo.filetype == "acp-input"
end

function source.get_trigger_characters()
  return { "@", "/", ":", '"' }
end

function source.get_keyword_pattern()
  return [[[@/]\S*]]
end

function source.complete(_, params, callback)
  local context = params.context
  local row = context.cursor.row - 1 ---@type any
  local before = context.cursor_before_line
  local completion = require("acp.completion")
  local start, items = completion.at(row, before)
  if not start then
    return callback({ items = {}, isIncomplete = false })
  end
  local found = completion.lsp_items(start, items, row, before, vim.fn.strutf16len)
  for nth, item in ipairs(found) do
    item.sortText = ("%05d"):format(nth)
  end
  callback({ items = found, isIncomplete = true })
end

local is_registered = false

--- Registers the source and enables it in the current buffer.
---@param cmp any The module.
function M.register(cmp)
  if not is_registered then
    cmp.register_source("acp", source)
    is_registered = true
  end
  local sources = { { name = "acp" } }
  vim.list_extend(sources, cmp.get_config().sources or {})
  cmp.setup.buffer({ sources = sources })
end

return M
