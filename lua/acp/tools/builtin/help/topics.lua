--- The texts of the help files: the topic of a tag, and the lines around a match.

local tags = require("acp.tools.builtin.help.tags")
local texts = require("acp.tools.builtin.texts")

local M = {}

--- Limits of a topic.
local MAX_LINES, MAX_BYTES = 80, 6000

--- Limits: context lines around a text match, and bytes searched.
local AROUND, MAX_SEARCHED = 4, 32 * 1024 * 1024

--- Bytes searched before Neovim processes other events.
local MAX_AT_ONCE = 512 * 1024

--- Returns the start of the line that contains a byte.
---@param text string
---@param at integer
---@return integer
local function line_start(text, at)
  while at > 1 and text:byte(at - 1) ~= 10 do
    at = at - 1
  end
  return at
end

--- The separator between sections of a help file.
local RULER = "^[=-][=-][=-][=-][=-]"

--- Returns the topic of a tag: its lines up to the next topic, or a whole section.
---@param ctx acp.ToolContext
---@param tag acp.tools.HelpTag
---@return string? topic
---@return integer? line
function M.topic(ctx, tag)
  local text = tags.content(ctx, tag.path)
  local at = text:find("*" .. tag.name .. "*", 1, true)
  if not at then
    return nil
  end
  local start = line_start(text, at)
  local is_section = start == 1 or text:find(RULER, line_start(text, start - 1)) ~= nil
  local lines, had_text, was_blank = {}, false, false
  for line in text:sub(start, start + 2 * MAX_BYTES):gmatch("([^\n]*)\n?") do
    local is_next = not is_section and was_blank and line:find("%*[^%s*|]+%*%s*$")
    local is_end = line:find("^=====") or not is_section and line:find(RULER)
    if #lines >= MAX_LINES or is_end or had_text and is_next then
      break
    end
    table.insert(lines, line)
    was_blank = line:find("^%s*$") ~= nil
    had_text = had_text or not was_blank and not line:find("^%s*%*[^%s]+%*%s*$")
  end
  local out, is_cut = texts.cut(vim.trim(table.concat(lines, "\n")), MAX_BYTES)
  return out .. ((is_cut or #lines >= MAX_LINES) and "\n…" or ""), texts.line_of(text, at)
end

--- Returns the lines around a position in a text.
---@param text string
---@param at integer
---@return string
local function around(text, at)
  local first, last = line_start(text, at), at
  for _ = 1, AROUND do
    first = line_start(text, math.max(first - 1, 1))
    last = text:find("\n", last + 1, true) or #text
  end
  return (text:sub(first, last):gsub("%s+$", ""))
end

--- Returns the position of a line that contains all words, in a lower-case text.
---@param low string
---@param words string[] The longest first, which is searched for.
---@return integer? at
local function line_with(low, words)
  local from, longest = 1, words[1] or ""
  while true do
    local at = low:find(longest, from, true)
    if not at then
      return nil
    end
    local last = low:find("\n", at, true) or #low
    if tags.has_all(low:sub(line_start(low, at), last), words) then
      return at
    end
    from = last + 1
  end
end

--- Returns positions in the help files that contain a text, or all of its words on one line.
---@param query string
---@param limit integer
---@return string[]
function M.by_text(ctx, query, limit)
  local lower, words = query:lower(), tags.words_of(query)
  table.sort(words, function(a, b)
    return #a > #b
  end)
  local whole, parts, searched, rested = {}, {}, 0, 0
  for _, path in ipairs(vim.api.nvim_get_runtime_file("doc/*.txt", true)) do
    if #whole >= limit or searched > MAX_SEARCHED or ctx.is_cancelled() then
      break
    elseif searched - rested > MAX_AT_ONCE then
      -- Keys come first.
      rested = searched
      ctx.await(vim.schedule)
    end
    local text = tags.content(ctx, path)
    searched = searched + #text
    local low = text:lower()
    local at = low:find(lower, 1, true)
    local places = at and whole or parts
    if not at and #whole == 0 and #parts < limit then
      at = line_with(low, words)
    end
    if at then
      local head = ("%s, line %d:"):format(vim.fs.basename(path), texts.line_of(text, at))
      table.insert(places, head .. "\n\n" .. around(text, at))
    end
  end
  return #whole > 0 and whole or parts
end

return M
