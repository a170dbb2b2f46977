--- `diagnostics`: the reports of language servers and linters, as Neovim shows them.
---
--- Files outside the session's folders are left out: a message may quote their text.
---
--- Invariant: the absence of diagnostics is never presented as the absence of errors.

local paths = require("acp.tools.builtin.paths")
local texts = require("acp.tools.builtin.texts")

--- Default number of diagnostics, and maximum length of a message in bytes.
local LIMIT, MAX_MESSAGE = 100, 2000

--- The names of the severities, by Neovim's numbers.
local NAMES = { "error", "warning", "information", "hint" }

--- Returns the name of a severity; the default is an error.
---@param diagnostic vim.Diagnostic
---@return string
local function kind_of(diagnostic)
  local number = diagnostic.severity or 1 ---@type any
  return NAMES[number] or NAMES[1]
end

--- Returns the requested buffers, or nil for all.
---@return table<integer, boolean>? bufs
local function meant(path)
  -- Neovim resolves the folder in a buffer's name.
  local bufs, folder = {}, (paths.real(path) or path):gsub("/*$", "/")
  if vim.fn.isdirectory(path) == 0 then
    local buf = paths.buffer(path)
    return buf and { [buf] = true } or {}
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.startswith(vim.api.nvim_buf_get_name(buf), folder) then
      bufs[buf] = true
    end
  end
  return bufs
end

--- Returns a note for a file without diagnostics.
---@return string
local function why_none(path, name, bufs)
  local buf = next(bufs)
  if path and vim.fn.isdirectory(path) == 0 then
    if not vim.uv.fs_stat(path) and not buf then
      return ("There is no file %s; paths are relative to the session's folder."):format(name)
    elseif not buf or not vim.api.nvim_buf_is_loaded(buf) then
      return ("%s is not open in Neovim: there are diagnostics only of files that a language "):format(
        name
      ) .. "server or linter has looked at. Navigate there to have it checked, or run the checks yourself."
    elseif #vim.lsp.get_clients({ bufnr = buf }) == 0 then
      return ("No language server is attached to %s: that there are no diagnostics does not mean "):format(
        name
      ) .. "that nothing is wrong."
    end
    return ("Nothing is reported for %s."):format(name)
  end
  return "Nothing is reported for the files that language servers and linters have looked at; of "
    .. "others nothing is known."
end

---@param found vim.Diagnostic[]
---@param names table<integer, string>
local function sort(found, names)
  table.sort(found, function(a, b)
    if a.severity ~= b.severity then
      return a.severity < b.severity
    elseif names[a.bufnr] ~= names[b.bufnr] then
      return names[a.bufnr] < names[b.bufnr]
    elseif a.lnum ~= b.lnum then
      return a.lnum < b.lnum
    elseif a.col ~= b.col then
      return a.col < b.col
    end
    return a.message < b.message
  end)
end

---@param diagnostic vim.Diagnostic
---@param name string
local function told(diagnostic, name)
  local message = texts.cut(diagnostic.message, MAX_MESSAGE)
  return {
    path = name,
    line = diagnostic.lnum + 1,
    column = diagnostic.col + 1,
    end_line = diagnostic.end_lnum and diagnostic.end_lnum + 1 or nil,
    end_column = diagnostic.end_col and diagnostic.end_col + 1 or nil,
    severity = kind_of(diagnostic),
    message = message,
    source = diagnostic.source,
    code = diagnostic.code and tostring(diagnostic.code) or nil,
  }
end

---@param args { path?: string, severity?: string, limit?: integer }
---@param ctx acp.ToolContext
local function diagnostics(args, ctx)
  local path = args.path and paths.inside(ctx, args.path)
  local bufs = path and meant(path)
  local least = args.severity and vim.fn.index(NAMES, args.severity) + 1 or #NAMES
  local counts, found, names = { error = 0, warning = 0, information = 0, hint = 0 }, {}, {}
  local shows = {} ---@type table<integer, boolean>
  for _, diagnostic in ipairs(vim.diagnostic.get()) do
    local buf = diagnostic.bufnr
    if buf and shows[buf] == nil then
      local is_meant = (not bufs or bufs[buf]) and vim.api.nvim_buf_is_valid(buf)
      shows[buf] = is_meant and paths.may_show(ctx, buf) or false
    end
    if buf and shows[buf] then
      local kind = kind_of(diagnostic)
      counts[kind] = (counts[kind] or 0) + 1
      names[buf] = names[buf] or paths.shown(ctx.cwd, vim.api.nvim_buf_get_name(buf))
      if diagnostic.severity <= least then
        table.insert(found, diagnostic)
      end
    end
  end
  sort(found, names)
  local out = {}
  for at = 1, math.min(#found, args.limit or LIMIT) do
    out[at] = told(found[at], names[found[at].bufnr])
  end
  local note
  if not next(names) then
    note = why_none(path, path and paths.shown(ctx.cwd, path), bufs or {})
  elseif #found == 0 then
    note = "There are some, but none as severe as that: see counts."
  elseif #found > #out then
    note = ("The %d most severe of %d are here: ask for a path, a severity or a higher limit."):format(
      #out,
      #found
    )
  end
  return { diagnostics = out, total = #found, counts = counts, note = note }
end

return {
  {
    name = "diagnostics",
    title = "Diagnostics",
    description = "Returns errors and warnings. Use it after changing code.",
    kind = "read",
    read_only = true,
    parameters = {
      type = "object",
      properties = {
        path = {
          type = "string",
          minLength = 1,
          description = "File or folder. Default: all.",
        },
        severity = {
          type = "string",
          enum = NAMES,
          description = "The least severe. Default: hint.",
        },
        limit = {
          type = "integer",
          minimum = 1,
          description = ("Maximum. Default: %d."):format(LIMIT),
        },
      },
      additionalProperties = false,
    },
    handler = diagnostics,
  },
}
