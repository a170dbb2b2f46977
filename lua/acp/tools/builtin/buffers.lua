--- `buffers` and `read_buffer`: the open files and their texts, including unsaved changes.
---
--- Invariant: only text that was returned counts as seen by the agent: of a large file, only a part
--- is read.

local paths = require("acp.tools.builtin.paths")
local texts = require("acp.tools.builtin.texts")

--- Maximum number of buffers listed.
local MAX_BUFFERS = 200

--- Maximum text per call: default number of lines, and bytes.
local LINES, MAX_BYTES = 2000, 128 * 1024

--- Maximum bytes of a file read to count its lines.
local MAX_COUNTED, CHUNK = 16 * 1024 * 1024, 1024 * 1024

--- Returns the listed file buffers, the current ones first, then by last use.
---@return vim.fn.getbufinfo.ret.item[]
local function listed(current, alternate)
  local infos = vim.tbl_filter(function(info)
    local is_open = info.name ~= "" or info.changed == 1
    return paths.is_file(info.bufnr) and (is_open or info.bufnr == current)
  end, vim.fn.getbufinfo({ buflisted = 1 }))
  local function rank(info)
    return (info.bufnr == current and 4 or info.bufnr == alternate and 3)
      or (info.hidden == 0 and #info.windows > 0 and 2)
      or (info.changed == 1 and 1 or 0)
  end
  table.sort(infos, function(a, b)
    local one, other = rank(a), rank(b)
    if one ~= other then
      return one > other
    elseif a.lastused ~= b.lastused then
      return a.lastused > b.lastused
    end
    return a.bufnr < b.bufnr
  end)
  return infos
end

---@param args { modified_only?: boolean }
---@param ctx acp.ToolContext
local function buffers(args, ctx)
  local win = require("acp.tools.builtin.windows").of_user()
  local current = win and vim.api.nvim_win_get_buf(win)
  local alternate = win
    and vim.api.nvim_win_call(win, function()
      return vim.fn.bufnr("#")
    end)
  local out, total, unsaved = {}, 0, 0
  for _, info in ipairs(listed(current, alternate)) do
    local is_modified = info.changed == 1
    unsaved = unsaved + (is_modified and 1 or 0)
    if is_modified or not args.modified_only then
      total = total + 1
      out[#out + 1] = #out < MAX_BUFFERS
          and {
            path = info.name ~= "" and info.name or nil,
            name = info.name ~= "" and paths.shown(ctx.cwd, info.name) or "[No Name]",
            filetype = vim.bo[info.bufnr].filetype,
            modified = is_modified,
            lines = info.loaded == 1 and info.linecount or nil,
            visible = #info.windows > 0,
            current = info.bufnr == current,
            alternate = info.bufnr == alternate and info.bufnr ~= current,
          }
        or nil
    end
  end
  local note
  if total == 0 then
    note = args.modified_only and "Everything is saved." or "No file is open in Neovim."
  elseif total > #out then
    note = ("The first %d of %d are listed; modified_only lists the unsaved ones alone."):format(
      #out,
      total
    )
  end
  return { buffers = out, total = total, unsaved = unsaved, note = note }
end

--- Returns a file's number of lines and bytes. The reported size is not trusted: system files
--- report none and may be endless.
---@return integer? lines
---@return integer? bytes
local function size_on_disk(path)
  local stat = vim.uv.fs_stat(path)
  if not stat then
    return nil, nil
  end
  local is_small = stat.type == "file" and stat.size <= MAX_COUNTED
  local file = is_small and io.open(path, "rb")
  if not file then
    return nil, stat.size
  end
  local lines, last, bytes = 0, "\n", 0
  local chunk = file:read(CHUNK)
  while chunk and bytes <= MAX_COUNTED do
    lines, last = lines + select(2, chunk:gsub("\n", "")), chunk:sub(-1)
    bytes = bytes + #chunk
    chunk = file:read(CHUNK)
  end
  file:close()
  if bytes > MAX_COUNTED then
    return nil, bytes
  end
  return lines + (last ~= "\n" and 1 or 0), bytes
end

--- Examines a file before it is read; ends the call if it is not a file.
---@return { lines: integer?, bytes: integer?, is_open: boolean, is_modified: boolean }
local function measure(ctx, path, name)
  local buf = paths.buffer(path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    local stat = vim.uv.fs_stat(path)
    if stat and stat.type ~= "file" then
      ctx.fail(("%s cannot be read: it is a %s, not a file."):format(name, stat.type))
    end
    local lines, bytes = size_on_disk(path)
    return { lines = lines, bytes = bytes, is_open = false, is_modified = false }
  end
  local lines = vim.api.nvim_buf_line_count(buf)
  return {
    lines = lines,
    bytes = vim.api.nvim_buf_get_offset(buf, lines),
    is_open = true,
    is_modified = vim.bo[buf].modified,
  }
end

--- Cuts a text at the end of a line to fit; cuts inside the first line if it is too long.
---@return string text
---@return boolean is_cut
local function fitting(text)
  local cut, is_cut = texts.cut(text, MAX_BYTES)
  local last = is_cut and cut:match("^.*()\n") ---@type any
  return last and cut:sub(1, last) or cut, is_cut
end

---@return integer
local function lines_in(text)
  local count = select(2, text:gsub("\n", ""))
  return count + (text ~= "" and text:sub(-1) ~= "\n" and 1 or 0)
end

---@param args { path: string, line?: integer, limit?: integer }
---@param ctx acp.ToolContext
local function read_buffer(args, ctx)
  local path = paths.inside(ctx, args.path)
  local name = paths.shown(ctx.cwd, path)
  local size = measure(ctx, path, name)
  local first, limit = args.line or 1, args.limit or LINES
  if first == 1 and (size.bytes or 0) > MAX_BYTES and (size.lines or 2) > 1 then
    limit = math.min(limit, (size.lines or LINES + 1) - 1)
  end
  local text, why = ctx.read(path, { line = first, limit = limit })
  if not text then
    return ctx.fail(("%s cannot be read: %s"):format(name, why or "the client does not say why"))
  end
  local lf, line_end = texts.with_lf(text)
  local shown, is_cut = fitting(lf)
  local count = lines_in(shown)
  local last = first + count - 1
  local words = { name .. ":" }
  if text == "" and first == 1 then
    table.insert(words, "it is empty")
  elseif count == 0 then
    table.insert(words, ("no text from line %d on"):format(first))
  else
    local of = size.lines and (" of %d"):format(size.lines) or ""
    table.insert(words, ("lines %d to %d%s"):format(first, last, of))
  end
  local state = size.is_modified and "from the buffer, with unsaved changes"
    or size.is_open and "from the buffer, saved"
    or "from the disk, not open in Neovim"
  table.insert(words, "(" .. state .. (line_end == "\n" and ")." or "; its lines end with CR)."))
  if is_cut and not shown:find("\n", 1, true) then
    table.insert(words, ("Line %d is cut: it is too long."):format(first))
  end
  if
    count > 0
    and (is_cut or not size.lines or last < size.lines)
    and (is_cut or count >= limit)
  then
    table.insert(words, ("Go on with line = %d."):format(last + 1))
  end
  return {
    content = {
      { type = "text", text = table.concat(words, " ") },
      { type = "text", text = shown },
    },
  }
end

return {
  {
    name = "buffers",
    title = "List open files",
    description = "Lists open files. Use it to see which are unsaved or visible.",
    kind = "read",
    read_only = true,
    parameters = {
      type = "object",
      properties = {
        modified_only = {
          type = "boolean",
          description = "Unsaved ones alone.",
        },
      },
      additionalProperties = false,
    },
    handler = buffers,
  },
  {
    name = "read_buffer",
    title = "Read a buffer",
    description = "Reads a file with its unsaved changes. Prefer it for files open in the editor.",
    kind = "read",
    read_only = true,
    parameters = {
      type = "object",
      properties = {
        path = { type = "string", minLength = 1, description = paths.WORDS },
        line = {
          type = "integer",
          minimum = 1,
          description = "First line, from 1. Default: 1.",
        },
        limit = {
          type = "integer",
          minimum = 1,
          maximum = 100000,
          description = ("Most lines. Default: %d."):format(LINES),
        },
      },
      required = { "path" },
      additionalProperties = false,
    },
    handler = read_buffer,
  },
}
