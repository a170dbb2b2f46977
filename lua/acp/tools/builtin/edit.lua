--- `edit`: changes a file by exact replacements or as a whole, for review by the user.
---
--- Invariant: a text is replaced only if it occurs exactly once or all occurrences are requested;
--- if one of several edits does not fit, nothing is written.

local paths = require("acp.tools.builtin.paths")
local texts = require("acp.tools.builtin.texts")

--- Limits: lines listed in a message, bytes of a quoted text, and bytes of a file up to which the
--- changed lines are reported.
local MAX_NAMED, MAX_QUOTED, MAX_COMPARED = 10, 400, 1024 * 1024

--- A replacement as sent by an agent.
---@class acp.tools.Edit
---@field old_text string
---@field new_text string
---@field all? boolean

--- Returns the positions of a text in another, without overlaps.
---@return integer[]
local function places(text, part)
  local found, from = {}, 1
  while true do
    local first, last = text:find(part, from, true)
    if not first then
      return found
    end
    table.insert(found, first)
    from = last + 1
  end
end

--- Formats numbers as "3, 7 and 12".
local function named(text, found)
  local lines = {}
  for at = 1, math.min(#found, MAX_NAMED) do
    lines[at] = tostring(texts.line_of(text, found[at]))
  end
  if #found > MAX_NAMED then
    return table.concat(lines, ", ") .. (" and %d more"):format(#found - MAX_NAMED)
  end
  local last = table.remove(lines)
  return #lines > 0 and table.concat(lines, ", ") .. " and " .. last or last
end

--- Returns the line of a match that differs only in white space, and its exact text.
---@return integer? line
---@return string? exact
local function by_words(text, old)
  local function bare(line)
    return (vim.trim(line):gsub("%s+", " "))
  end
  local wanted = vim.tbl_map(bare, vim.split(vim.trim(old), "\n", { plain = true }))
  local lines = vim.split(text, "\n", { plain = true })
  local is_one = #wanted == 1
  for at = 1, #lines - #wanted + 1 do
    local fits = true
    for offset, want in ipairs(wanted) do
      local line = bare(lines[at + offset - 1])
      fits = line == want or is_one and want ~= "" and line:find(want, 1, true) ~= nil
      if not fits then
        break
      end
    end
    if fits then
      return at, table.concat(lines, "\n", at, at + #wanted - 1)
    end
  end
end

--- Returns why a text was not found, if known, and what to do.
local function hint(text, edit)
  local line, exact = by_words(text, edit.old_text)
  if line then
    local quoted, is_cut = texts.cut(exact or "", MAX_QUOTED)
    return ("At line %d it differs only in white space; the text there is exactly:\n%s%s"):format(
      line,
      quoted,
      is_cut and " …" or ""
    )
  end
  local new = edit.new_text ~= "" and places(text, edit.new_text) or {}
  if #new == 1 and new[1] then
    return ("The new text is there already, at line %d: was this edit made before?"):format(
      texts.line_of(text, new[1])
    )
  end
  local first = vim.trim(edit.old_text):match("^[^\n]*")
  local starts = #first >= 8 and first ~= vim.trim(edit.old_text) and places(text, first) or {}
  if #starts > 0 then
    return ("Its first line is at line %s, but what follows differs. Read it with read_buffer."):format(
      named(text, starts)
    )
  end
  return "The file may have changed since you read it: read it again with read_buffer."
end

--- Returns the text after an edit, or the reason for a failure.
---@param text string
---@param edit acp.tools.Edit
---@param where string The edit's name in messages.
---@param name string The file's name.
---@return string? text
---@return string? why
local function replaced(text, edit, where, name)
  if edit.old_text == edit.new_text then
    return nil, ("%s: old_text and new_text are the same. Nothing was written."):format(where)
  end
  local found = places(text, edit.old_text)
  if #found == 0 then
    local words = "%s: old_text is not in %s. Nothing was written. %s"
    return nil, words:format(where, name, hint(text, edit))
  elseif #found > 1 and not edit.all then
    local words = "%s: old_text is %d times in %s, at lines %s. Nothing was written. Add lines "
      .. "around it until it is there once, or set all to replace each."
    return nil, words:format(where, #found, name, named(text, found))
  end
  local out = {}
  local from = 1
  for _, at in ipairs(found) do
    ---@cast at integer
    table.insert(out, text:sub(from, at - 1))
    table.insert(out, edit.new_text)
    from = at + #edit.old_text
  end
  table.insert(out, text:sub(from))
  return table.concat(out)
end

--- Returns the changed lines of a file for people and agents; nil if computing them would take too
--- long.
---@return { line: integer, end_line: integer, removed: integer, added: integer }[]?
local function changes(old, new)
  if #old > MAX_COMPARED or #new > MAX_COMPARED then
    return nil
  end
  local diff = vim.text and vim.text.diff or vim.diff
  local out = {}
  local hunks = diff(old, new, { result_type = "indices" })
  for _, hunk in ipairs(type(hunks) == "table" and hunks or {}) do
    local _, removed, start, added = unpack(hunk)
    table.insert(out, {
      line = math.max(start, 1),
      end_line = math.max(start + math.max(added, 1) - 1, 1),
      removed = removed,
      added = added,
    })
  end
  return out
end

local function summary(name, is_new, changed)
  local words = is_new and ("%s is created."):format(name) or ("%s is changed."):format(name)
  if changed and not is_new then
    local removed, added = 0, 0
    for _, change in ipairs(changed) do
      removed, added = removed + change.removed, added + change.added
    end
    words = ("%s is changed: %s added, %d removed, in %s."):format(
      name,
      texts.count(added, "line"),
      removed,
      texts.count(#changed, "place")
    )
  end
  return words
    .. " The user can review it, and take it or not: read the file again before you "
    .. "rely on it later."
end

--- Reads a file that need not exist.
---@param ctx acp.ToolContext
---@param path string
---@param name string
---@param may_be_new boolean
---@return string? text nil if it does not exist.
local function read(ctx, path, name, may_be_new)
  local text, why = ctx.read(path)
  local is_there = vim.uv.fs_stat(path) ~= nil or paths.buffer(path) ~= nil
  if text and (is_there or text ~= "") then
    return text
  elseif is_there or why == "cancelled" then
    ctx.fail(("%s cannot be read: %s"):format(name, why or "the client does not say why"))
  elseif not may_be_new then
    local words = "There is no file %s: give its content to create it, or mend the path."
    ctx.fail(words:format(name))
  end
end

--- Applies the edits in order to a text with LF line endings.
---@param ctx acp.ToolContext
---@param text string
---@param edits acp.tools.Edit[]
---@param line_end string
---@param name string
---@return string
local function edited(ctx, text, edits, line_end, name)
  for number, one in ipairs(edits) do
    -- If the file's line endings were normalized, the edit's must be too.
    ---@type acp.tools.Edit
    local given = line_end == "\n" and one
      or {
        old_text = (texts.with_lf(one.old_text)),
        new_text = (texts.with_lf(one.new_text)),
        all = one.all,
      }
    -- Counted from 0, like JSON arrays.
    local after, why = replaced(text, given, ("edits[%d]"):format(number - 1), name)
    if not after then
      ctx.fail(why or "")
    end
    text = after or text
  end
  return text
end

---@param args { path: string, edits?: acp.tools.Edit[], content?: string }
---@param ctx acp.ToolContext
local function edit(args, ctx)
  local path = paths.inside(ctx, args.path)
  local name = paths.shown(ctx.cwd, path)
  if (args.edits == nil) == (args.content == nil) then
    ctx.fail("Give either edits or content: edits change parts of a file, content is all of it.")
  elseif vim.fn.isdirectory(path) == 1 then
    ctx.fail(("%s is a folder, not a file."):format(name))
  end
  local before = read(ctx, path, name, args.content ~= nil)
  local old, line_end = texts.with_lf(before or "")
  local new = args.content or edited(ctx, old, args.edits or {}, line_end, name)
  if line_end ~= "\n" then
    new = texts.with_lf(new)
  end
  if before and new == old then
    return { path = name, changed = false, note = name .. " is like that already." }
  end
  local is_written, why = ctx.write(path, line_end == "\n" and new or (new:gsub("\n", line_end)))
  if not is_written then
    ctx.fail(("%s was not written: %s"):format(name, why or "the client does not say why"))
  end
  local changed = before and changes(old, new)
  return {
    path = name,
    changed = true,
    created = not before or nil,
    lines = changed,
    note = summary(name, not before, changed),
  }
end

return {
  {
    name = "edit",
    title = "Edit a file",
    description = "Changes a file, for review; keeps unsaved text. Use it for files open in the editor.",
    kind = "edit",
    permission = "ask",
    parameters = {
      type = "object",
      properties = {
        path = { type = "string", minLength = 1, description = paths.WORDS },
        edits = {
          type = "array",
          minItems = 1,
          maxItems = 200,
          description = "Made in order, all or none.",
          items = {
            type = "object",
            properties = {
              old_text = {
                type = "string",
                minLength = 1,
                description = "Exact, and once in the file.",
              },
              new_text = { type = "string", description = "Its replacement." },
              all = {
                type = "boolean",
                description = "Replace each occurrence.",
              },
            },
            required = { "old_text", "new_text" },
            additionalProperties = false,
          },
        },
        content = {
          type = "string",
          description = "The whole file, instead of edits.",
        },
      },
      required = { "path" },
      additionalProperties = false,
    },
    handler = edit,
  },
}
