--- The text of a closed fold in the chat: its first line, cut visibly at the window's edge.

local M = {}

--- Returns the longest beginning of a text that has this width.
---@param text string
---@param width integer In cells.
---@return string
local function beginning(text, width)
  local low, high = 0, math.min(vim.fn.strchars(text, true), width)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, middle, true)) <= width then
      low = middle
    else
      high = middle - 1
    end
  end
  return vim.fn.strcharpart(text, 0, low, true)
end

--- Returns the chunks of the line, for 'foldtext'.
---@return [string, integer?][]
function M.text()
  local first = vim.v.foldstart
  local buf = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_buf_get_lines(buf, first - 1, first, true)[1] or ""
  local window = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1] or { width = 0, textoff = 0 }
  local room = window.width - window.textoff
  local shown = vim.fn.strdisplaywidth(line) > room and beginning(line, room - 1) or line
  local chunks = {}
  local from = 0
  for _, mark in ipairs(require("acp.native").load().chat_highlights(buf, first - 1)) do
    local start, stop = math.max(mark[1], from), math.min(mark[2], #shown)
    if start < stop then
      table.insert(chunks, { shown:sub(from + 1, start) })
      table.insert(chunks, { shown:sub(start + 1, stop), mark[3] })
      from = stop
    end
  end
  table.insert(chunks, { shown:sub(from + 1) .. (shown == line and "" or "…") })
  return chunks
end

return M
