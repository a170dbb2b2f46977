--- The source "acp" for blink.cmp, active in input buffers.

local M = {}

--- Returns a source.
function M.new()
  return setmetatable({}, { __index = M })
end

function M.enabled()
  return vim.bo.filetype == "acp-input"
end

function M.get_trigger_characters()
  return { "@", "/", ":", '"' }
end

function M.get_completions(_, context, callback)
  local row = context.cursor[1] - 1 ---@type any
  local before = context.line:sub(1, context.cursor[2])
  local completion = require("acp.completion")
  local start, items = completion.at(row, before)
  local found = start and completion.lsp_items(start, items, row, before, string.len) or {}
  for nth, item in ipairs(found) do
    item.sortText = ("%05d"):format(nth)
  end
  callback({
    items = found,
    is_incomplete_forward = true,
    is_incomplete_backward = true,
  })
  return function() end
end

local is_registered = false

--- Registers the source for inputs.
---@param blink any The module.
function M.register(blink)
  if not is_registered then
    blink.add_source_provider("acp", { name = "acp", module = "acp.completion.blink" })
    blink.add_filetype_source("acp-input", "acp")
    is_registered = true
  end
end

return M
