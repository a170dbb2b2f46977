--- Workspace edits: computed in memory and written file by file by the call's context, so that all
--- changes are merged, saved and reviewed.
---
--- Invariant: nothing is written before all new texts are computed; no buffer is changed here.

local M = {}

local buffers = require("acp.tools.builtin.lsp.buffers")
local paths = require("acp.tools.builtin.paths")
local place = require("acp.tools.builtin.lsp.place")
local servers = require("acp.tools.builtin.lsp.servers")

--- A file affected by an edit.
---@class acp.lsp.Target
---@field path string
---@field batches table[][] Lists of text edits; each applies to the result of the one before.
---@field is_new? boolean Whether to create or empty it.
---@field version? integer The text version that the edit refers to.
---@field text? string The new text.
---@field count integer

--- The written files.
---@class acp.lsp.Written
---@field files {path: string, edits: integer}[]
---@field edits integer

---@alias acp.lsp.Ticks table<integer, integer>

--- Records the ticks of all loaded buffers, to detect later changes.
---@return acp.lsp.Ticks
function M.ticks()
  local ticks = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      ticks[buf] = vim.api.nvim_buf_get_changedtick(buf)
    end
  end
  return ticks
end

--- Returns the byte offset of a position.
---@param lines string[]
---@param starts integer[] The byte offset of each line.
---@param position {line: integer, character: integer}
---@param encoding string
---@param size integer
---@return integer
local function offset(lines, starts, position, encoding, size)
  local line = lines[position.line + 1]
  if not line then
    return size
  end
  local text = line:sub(-1) == "\r" and line:sub(1, -2) or line
  return (starts[position.line + 1] or 0) + place.from_server(text, position.character, encoding)
end

--- Applies edits, all relative to the original text; returns the new text, or nil and the reason.
---@param text string
---@param edits table[]
---@param encoding string
---@return string?
---@return string?
function M.apply(text, edits, encoding)
  local mark = vim.startswith(text, "\239\187\191") and text:sub(1, 3) or ""
  text = text:sub(#mark + 1)
  local lines, starts, at = vim.split(text, "\n", { plain = true }), {}, 0
  for i, line in ipairs(lines) do
    starts[i] = at
    at = at + #line + 1
  end
  local is_dos = #lines > 1 and lines[1]:sub(-1) == "\r"
  local spans = {}
  for i, edit in ipairs(edits) do
    if type(edit.newText) ~= "string" or type(edit.range) ~= "table" then
      return nil, "an edit of the server's is not plain text"
    end
    local new = edit.newText:gsub("\r\n?", "\n")
    table.insert(spans, {
      first = offset(lines, starts, edit.range.start, encoding, #text),
      last = offset(lines, starts, edit.range["end"], encoding, #text),
      new = is_dos and new:gsub("\n", "\r\n") or new,
      number = i,
    })
  end
  table.sort(spans, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    elseif a.last ~= b.last and (a.first == a.last or b.first == b.last) then
      -- Insertions before a replaced range.
      return a.last < b.last
    end
    return a.number < b.number
  end)
  local parts, done = { mark }, 0
  for _, span in ipairs(spans) do
    if span.first < done or span.last < span.first then
      return nil, "edits of the server's overlap"
    end
    table.insert(parts, text:sub(done + 1, span.first))
    table.insert(parts, span.new)
    done = span.last
  end
  table.insert(parts, text:sub(done + 1))
  return table.concat(parts)
end

---@param ctx acp.ToolContext
---@param uri any
---@return string
local function path_of(ctx, uri)
  local path = type(uri) == "string" and place.path(uri)
  if not path then
    ctx.fail(
      ("Nothing was changed: the server would change %s, which is no file."):format(tostring(uri))
    )
  end
  return path --[[@as string]]
end

--- Returns file operations that no write can express.
---@type table<string, fun(change: table): string>
local refused = {
  rename = function(change)
    return ("rename the file %s to %s"):format(
      place.path(change.oldUri) or change.oldUri,
      place.path(change.newUri) or change.newUri
    )
  end,
  delete = function(change)
    return ("delete the file %s"):format(place.path(change.uri) or change.uri)
  end,
}

--- Returns the files of an edit, in the order of writing.
---@param ctx acp.ToolContext
---@param edit table A WorkspaceEdit.
---@return acp.lsp.Target[]
local function targets(ctx, edit)
  local by_path, list = {}, {} ---@type table<string, acp.lsp.Target>, acp.lsp.Target[]
  local function at(path)
    if not by_path[path] then
      by_path[path] = { path = path, batches = {}, count = 0 }
      table.insert(list, by_path[path])
    end
    return by_path[path]
  end
  local function add(uri, edits, version)
    local target = at(path_of(ctx, uri))
    table.insert(target.batches, edits)
    target.version = target.version or version
    target.count = target.count + #edits
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    local refuse = refused[change.kind] ---@type any
    if refuse then
      local text = "Nothing was changed: the server would also %s, which this tool cannot."
      ctx.fail(text:format(refuse(change)))
    elseif change.kind == "create" then
      local path = path_of(ctx, change.uri)
      local options = change.options or {}
      local is_there = vim.uv.fs_stat(path) ~= nil or buffers.loaded(path) ~= nil
      if is_there and not options.overwrite and not options.ignoreIfExists then
        local text = "Nothing was changed: the server would create %s, which is there already."
        ctx.fail(text:format(path))
      elseif not is_there or options.overwrite then
        at(path).is_new = true
      end
    elseif change.textDocument then
      add(change.textDocument.uri, change.edits or {}, change.textDocument.version)
    end
  end
  if not edit.documentChanges then
    for uri, edits in pairs(edit.changes or {}) do
      add(uri, edits)
    end
  end
  table.sort(list, function(a, b)
    return a.path < b.path
  end)
  return list
end

--- Ends the call if the text has changed since the server saw it.
---@param ctx acp.ToolContext
---@param target acp.lsp.Target
---@param client vim.lsp.Client
---@param ticks acp.lsp.Ticks
local function check(ctx, target, client, ticks)
  local buf = buffers.loaded(target.path)
  if not buf then
    return
  end
  local text ---@type string?
  local version = client.attached_buffers[buf] and vim.lsp.util.buf_versions[buf]
  if not client.attached_buffers[buf] and vim.bo[buf].modified then
    text =
      "%s has unsaved changes that %s does not know of. Ask the user to save it, then try again."
  elseif
    ticks[buf] and ticks[buf] ~= vim.api.nvim_buf_get_changedtick(buf)
    or version and target.version and target.version > 0 and target.version < version
  then
    text = "%s was changed while %s was at work. Please try again."
  end
  if text then
    ctx.fail("Nothing was changed: " .. text:format(target.path, client.name))
  end
end

--- Computes the new text of a file.
---@param ctx acp.ToolContext
---@param target acp.lsp.Target
---@param client vim.lsp.Client
local function work_out(ctx, target, client)
  local text, why = "", nil ---@type string?, string?
  if not target.is_new then
    text, why = ctx.read(target.path)
  end
  local before = text
  for _, edits in ipairs(target.batches) do
    if text then
      text, why = M.apply(text, edits, client.offset_encoding)
    end
  end
  if ctx.is_cancelled() then
    ctx.fail("cancelled")
  elseif not text then
    ctx.fail(("Nothing was changed: of %s, %s."):format(target.path, why or "there is no text"))
  end
  target.text = (text ~= before or target.is_new) and text or nil
end

--- Notifies a server of changes to files that it reads from the disk.
---@param client vim.lsp.Client
---@param written acp.lsp.Target[]
local function tell(client, written)
  local changes = {}
  for _, target in ipairs(written) do
    local buf = buffers.loaded(target.path)
    if not buf or not client.attached_buffers[buf] then
      table.insert(
        changes,
        { uri = vim.uri_from_fname(target.path), type = target.is_new and 1 or 2 }
      )
    end
  end
  if #changes > 0 and not client.rpc.is_closing() then
    servers.call(client, "notify", "workspace/didChangeWatchedFiles", { changes = changes })
  end
end

---@param list acp.lsp.Target[]
---@param first integer
---@param last integer
---@return string
local function named(list, first, last)
  local found = {}
  for _, target in ipairs(vim.list_slice(list, first, last)) do
    table.insert(found, target.path)
  end
  return #found == 0 and "none" or table.concat(found, ", ")
end

--- Applies a workspace edit; returns the written files. Ends the call on failure.
---@param ctx acp.ToolContext
---@param edit table A WorkspaceEdit, without `vim.NIL`.
---@param client vim.lsp.Client The edit's server.
---@param ticks acp.lsp.Ticks Recorded before the request.
---@return acp.lsp.Written
function M.write(ctx, edit, client, ticks)
  local list = targets(ctx, edit)
  for _, target in ipairs(list) do
    check(ctx, target, client, ticks)
  end
  for _, target in ipairs(list) do
    work_out(ctx, target, client)
  end
  for _, target in ipairs(list) do
    check(ctx, target, client, ticks)
  end
  list = vim.tbl_filter(function(target)
    return target.text ~= nil
  end, list)
  local written = { files = {}, edits = 0 } ---@type acp.lsp.Written
  for i, target in ipairs(list) do
    local ok, why = ctx.write(target.path, target.text --[[@as string]])
    if not ok then
      tell(client, vim.list_slice(list, 1, i - 1))
      local text = "%s could not be written: %s. Already written: %s. Not written: %s."
      ctx.fail(
        text:format(
          target.path,
          why or "nobody says why",
          named(list, 1, i - 1),
          named(list, i, #list)
        )
      )
    end
    table.insert(written.files, { path = paths.shown(ctx.cwd, target.path), edits = target.count })
    written.edits = written.edits + target.count
    ctx.progress(i, #list, target.path)
  end
  tell(client, list)
  return written
end

--- Describes the written files in words.
---@param written acp.lsp.Written
---@return string
function M.summary(written)
  local lines = {}
  for _, file in ipairs(written.files) do
    table.insert(lines, ("%s: %d"):format(file.path, file.edits))
  end
  local head = ("%d edit%s in %d file%s"):format(
    written.edits,
    written.edits == 1 and "" or "s",
    #written.files,
    #written.files == 1 and "" or "s"
  )
  return head .. (#lines > 0 and ":\n" or ".") .. table.concat(lines, "\n")
end

return M
