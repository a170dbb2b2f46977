--- Shortens texts for agents, and counts.
---
--- Invariant: no character is split.

local M = {}

--- Returns a text of at most this many bytes, and whether it was shortened.
---@param text string
---@param max integer
---@return string text
---@return boolean is_cut
function M.cut(text, max)
  if #text <= max then
    return text, false
  end
  -- The byte after the cut may be inside a character.
  return text:sub(1, max + vim.str_utf_start(text, max + 1)), true
end

--- Formats "1 line", "2 lines".
---@param count integer
---@param word string
---@return string
function M.count(count, word)
  return ("%d %s%s"):format(count, word, count == 1 and "" or "s")
end

--- Returns the 1-based line of a byte position.
---@param text string
---@param at integer 1-based.
---@return integer
function M.line_of(text, at)
  return 1 + select(2, text:sub(1, at - 1):gsub("\n", ""))
end

--- Normalizes line endings to LF; returns the text and the original ending. Mixed endings are left
--- unchanged.
---@param text string
---@return string text
---@return "\n"|"\r\n"|"\r" line_end
function M.with_lf(text)
  if not text:find("\r", 1, true) then
    return text, "\n"
  end
  local _, both = text:gsub("\r\n", "")
  local _, feeds = text:gsub("\n", "")
  local _, returns = text:gsub("\r", "")
  if both > 0 and both == feeds and both == returns then
    return (text:gsub("\r\n", "\n")), "\r\n"
  elseif feeds == 0 then
    return (text:gsub("\r", "\n")), "\r"
  end
  return text, "\n"
end

return M
