--- Positions in files: URIs, and columns in bytes (Neovim) and in the units of servers.
---
--- Invariant: a column is never inside a character, for any input.

local M = {}

--- Maximum number of other lines listed for a symbol.
local MAX_LINES = 5

--- Returns the path of a file URI; nil for other URIs.
---@param uri string
---@return string?
function M.path(uri)
  if not vim.startswith(uri, "file:") then
    return nil
  end
  local ok, path = pcall(vim.uri_to_fname, uri)
  return ok and vim.fs.normalize(path, { expand_env = false }) or nil
end

--- Returns the number of bytes and units of the character at a byte; one each for an invalid byte.
---@param line string
---@param at integer 1-based.
---@param encoding string
---@return integer bytes
---@return integer units
local function character(line, at, encoding)
  local byte = line:byte(at)
  local bytes = byte < 0xC2 and 1
    or byte < 0xE0 and 2
    or byte < 0xF0 and 3
    or byte < 0xF5 and 4
    or 1
  for i = 1, bytes - 1 do
    local next = line:byte(at + i)
    if not next or next < 0x80 or next > 0xBF then
      bytes = 1
    end
  end
  if encoding == "utf-8" then
    return bytes, bytes
  end
  return bytes, encoding == "utf-16" and bytes == 4 and 2 or 1
end

--- Converts a column to a server's units, at the beginning of its character.
---@param line string
---@param column integer Bytes, 0-based.
---@param encoding string "utf-8", "utf-16" or "utf-32".
---@return integer
function M.to_server(line, column, encoding)
  local at, units = 1, 0
  while at <= #line do
    local bytes, more = character(line, at, encoding)
    if at + bytes - 1 > column then
      break
    end
    at, units = at + bytes, units + more
  end
  return units
end

--- Converts a server's column to 0-based bytes, at most the line's length.
---@param line string
---@param units integer
---@param encoding string
---@return integer
function M.from_server(line, units, encoding)
  local at = 1
  while at <= #line do
    local bytes, more = character(line, at, encoding)
    if more > units then
      break
    end
    at, units = at + bytes, units - more
  end
  return at - 1
end

---@param text string
---@param at integer
---@return boolean
local function is_word(text, at)
  return text:sub(at, at):find("^[%w_\128-\255]") ~= nil
end

--- Returns the positions of a symbol as a separate word in a line, in 1-based bytes.
---@param line string
---@param symbol string
---@return integer[]
local function occurrences(line, symbol)
  local found, from = {}, 1
  while true do
    local first, last = line:find(symbol, from, true)
    if not first or not last then
      return found
    end
    local joins_before = is_word(symbol, 1) and is_word(line, first - 1)
    local joins_behind = is_word(symbol, #symbol) and is_word(line, last + 1)
    if not joins_before and not joins_behind then
      table.insert(found, first)
    end
    from = first + 1
  end
end

--- Returns a message with the other lines that contain a symbol.
---@param lines string[]
---@param symbol string
---@param line integer
---@return string
local function elsewhere(lines, symbol, line)
  local near = {}
  for number, text in ipairs(lines) do
    if #occurrences(text, symbol) > 0 then
      table.insert(near, number)
    end
  end
  table.sort(near, function(a, b)
    local from_a, from_b = math.abs(a - line), math.abs(b - line)
    return from_a < from_b or from_a == from_b and a < b
  end)
  if #near == 0 then
    return "It is nowhere in that file."
  end
  local named = vim.list_slice(near, 1, MAX_LINES)
  local more = #near > #named and (", and %d more"):format(#near - #named) or ""
  return ("It is on line %s%s."):format(table.concat(named, ", "), more)
end

--- Returns the line with this number.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param line integer 1-based.
---@return string
function M.line(ctx, file, line)
  local count = vim.api.nvim_buf_line_count(file.buf)
  if line < 1 or line > count then
    local text = "%s has %d line%s, counted from 1: there is no line %d."
    ctx.fail(text:format(file.path, count, count == 1 and "" or "s", line))
  end
  return vim.api.nvim_buf_get_lines(file.buf, line - 1, line, false)[1] or ""
end

--- Returns the 0-based column of a symbol on a line: its last word, `b` in `a.b`.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param args table
---@param text string The line.
---@return integer
local function column_of(ctx, file, args, text)
  local symbol = args.symbol
  local found = occurrences(text, symbol)
  local nth = args.occurrence or 1
  if #found == 0 then
    local part = text:find(symbol, 1, true) and " as a word of its own" or ""
    local lines = vim.api.nvim_buf_get_lines(file.buf, 0, -1, false)
    local words = '"%s" is not on line %d of %s%s. That line is: %s\n%s'
    ctx.fail(
      words:format(symbol, args.line, file.path, part, text, elsewhere(lines, symbol, args.line))
    )
  elseif not found[nth] then
    local words = '"%s" is %d time%s on line %d of %s: there is no occurrence %d.'
    local plural = #found == 1 and "" or "s"
    ctx.fail(words:format(symbol, #found, plural, args.line, file.path, nth))
  end
  local last_word = symbol:find("[%w_\128-\255]+[^%w_\128-\255]*$") or 1
  return found[nth] + last_word - 2
end

--- A position in a file.
---@class acp.lsp.Place
---@field row integer 0-based.
---@field column integer Bytes, 0-based.
---@field text string The line.
---@field word string The word at the position.

--- Returns the position of a line and a column, or of a symbol on that line.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param args {line: integer, column?: integer, symbol?: string, occurrence?: integer}
---@return acp.lsp.Place
function M.of(ctx, file, args)
  local text = M.line(ctx, file, args.line)
  local column ---@type integer
  if args.symbol and args.symbol ~= "" then
    column = column_of(ctx, file, args, text)
  elseif args.column then
    column = args.column - 1
    if column < 0 or column > #text then
      local words = "Line %d of %s has %d bytes: there is no column %d. That line is: %s"
      ctx.fail(words:format(args.line, file.path, #text, args.column, text))
    end
    column = M.from_server(text, M.to_server(text, column, "utf-8"), "utf-8")
  else
    ctx.fail("Please say where on the line: by `symbol`, a word on it, or by `column`.")
  end
  local word = text:match("^[%w_\128-\255]+", column + 1) or text:sub(column + 1, column + 1)
  return { row = args.line - 1, column = column, text = text, word = word }
end

--- Converts a position to the protocol's form.
---@param place acp.lsp.Place
---@param client vim.lsp.Client
---@return {line: integer, character: integer}
function M.position(place, client)
  local character_ = M.to_server(place.text, place.column, client.offset_encoding)
  return { line = place.row, character = character_ }
end

return M
