--- Locations returned by servers, as agents read them: sorted, unique, with the text of their
--- lines.
---
--- Invariants: reading a file leaves no trace in Neovim or in the record of what the agent has
--- seen; outside the session's folders, only files the user has open are quoted.

local M = {}

local paths = require("acp.tools.builtin.paths")
local place = require("acp.tools.builtin.lsp.place")
local servers = require("acp.tools.builtin.lsp.servers")

local uv = vim.uv ---@type any

--- Maximum size in bytes of a file whose lines are read, and maximum length of a quoted line.
local MAX_READ, MAX_LINE = 4 * 1024 * 1024, 300

--- A location in a file.
---@class acp.lsp.Found
---@field path string The path for agents, or a URI that is not a file.
---@field line integer 1-based.
---@field column integer Bytes, 1-based.
---@field end_line? integer The last line of the definition.
---@field text? string The line.

---@class acp.lsp.Raw
---@field path string
---@field is_file boolean
---@field row integer
---@field units integer
---@field encoding string
---@field end_row? integer

--- Returns a file's text, or nil, without blocking Neovim.
---@param ctx acp.ToolContext
---@param path string
---@return string?
local function read(ctx, path)
  return servers.wait(ctx, function(resume)
    uv.fs_open(path, "r", 0, function(_, fd)
      if not fd then
        return resume(nil)
      end
      local function done(text)
        uv.fs_close(fd, function() end)
        resume(text)
      end
      uv.fs_fstat(fd, function(_, stat)
        if not stat or stat.type ~= "file" or stat.size > MAX_READ then
          return done(nil)
        end
        uv.fs_read(fd, stat.size, 0, function(_, text)
          done(text)
        end)
      end)
    end)
  end)
end

--- The source of a file's lines.
---@class acp.lsp.Lines
---@field buf? integer
---@field lines? string[]

---@param ctx acp.ToolContext
---@param path string
---@return acp.lsp.Lines
local function lines_of(ctx, path)
  local buf = require("acp.tools.builtin.lsp.buffers").loaded(path)
  if not (buf and vim.bo[buf].buflisted) and not paths.is_inside(ctx, path) then
    return {}
  end
  -- Opening a pipe or a device may block.
  local is_file = not buf and (uv.fs_stat(path) or {}).type == "file"
  local text = is_file and read(ctx, path)
  return { buf = buf, lines = text and vim.split(text:gsub("\r\n", "\n"), "\n") or nil }
end

--- Returns a function that looks up lines of files, in their buffers or on disk.
---@param ctx acp.ToolContext
---@return fun(path: string, row: integer): string?
function M.reader(ctx)
  local known = {} ---@type table<string, acp.lsp.Lines>
  return function(path, row)
    known[path] = known[path] or lines_of(ctx, path)
    local it = known[path]
    if it.buf and vim.api.nvim_buf_is_loaded(it.buf) then
      return vim.api.nvim_buf_get_lines(it.buf, row, row + 1, false)[1]
    end
    return it.lines and it.lines[row + 1]
  end
end

--- Returns the beginning of a text, in whole characters.
---@param text string
---@param max integer
---@return string
function M.cut(text, max)
  if #text <= max then
    return text
  end
  return text:sub(1, place.from_server(text, max, "utf-8")) .. " …"
end

--- Returns the locations of an answer: a Location, a list of Locations, or LocationLinks.
---@param answer acp.lsp.Answer
---@return acp.lsp.Raw[]
local function raw(answer)
  local result = answer.result
  if type(result) ~= "table" then
    return {}
  end
  local found = {}
  for _, item in ipairs(vim.islist(result) and result or { result }) do
    local uri = item.uri or item.targetUri
    local range = item.range or item.targetSelectionRange or item.targetRange
    if type(uri) == "string" and type(range) == "table" then
      local path = place.path(uri)
      table.insert(found, {
        path = path or uri,
        is_file = path ~= nil,
        row = range.start.line,
        units = range.start.character,
        encoding = answer.client.offset_encoding,
        end_row = item.targetRange and item.targetRange["end"].line,
      })
    end
  end
  return found
end

---@param a acp.lsp.Raw
---@param b acp.lsp.Raw
---@return boolean
local function comes_before(a, b)
  if a.path ~= b.path then
    return a.path < b.path
  elseif a.row ~= b.row then
    return a.row < b.row
  end
  return a.units < b.units
end

--- Returns at most `limit` locations from the servers' answers, and their total number.
---@param ctx acp.ToolContext
---@param answers acp.lsp.Answer[]
---@param limit integer
---@return acp.lsp.Found[]
---@return integer total
function M.places(ctx, answers, limit)
  local all = {} ---@type acp.lsp.Raw[]
  for _, answer in ipairs(answers) do
    vim.list_extend(all, raw(answer))
  end
  table.sort(all, comes_before)
  local line_of = M.reader(ctx)
  local found, seen, total = {}, {}, 0
  for _, it in ipairs(all) do
    -- Beyond the limit no file is read, so equal locations in different encodings may count twice.
    local is_shown = total < limit
    local text = is_shown and it.is_file and line_of(it.path, it.row) or nil
    local column = text and place.from_server(text, it.units, it.encoding) or it.units
    local key = ("%s:%d:%d"):format(it.path, it.row, column)
    if not seen[key] then
      seen[key] = true
      total = total + 1
      if is_shown then
        table.insert(found, {
          path = it.is_file and paths.shown(ctx.cwd, it.path) or it.path,
          line = it.row + 1,
          column = column + 1,
          end_line = it.end_row and it.end_row > it.row and it.end_row + 1 or nil,
          text = text and M.cut(text, MAX_LINE),
        })
      end
    end
  end
  return found, total
end

--- Formats locations as lines of text.
---@param found acp.lsp.Found[]
---@return string
function M.list(found)
  local lines = {}
  for _, it in ipairs(found) do
    local to = it.end_line and (" (to line %d)"):format(it.end_line) or ""
    local text = it.text and ": " .. it.text or ""
    table.insert(lines, ("%s:%d:%d%s%s"):format(it.path, it.line, it.column, to, text))
  end
  return table.concat(lines, "\n")
end

--- Returns a tool's result: text for the agent, and the same as data.
---@param text string
---@param data table
---@param notes? string[]
---@return table
function M.result(text, data, notes)
  if notes and #notes > 0 then
    data.notes = notes
    text = text .. "\n\n" .. table.concat(notes, "\n")
  end
  return { content = { { type = "text", text = text } }, structuredContent = data }
end

return M
