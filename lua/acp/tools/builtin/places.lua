--- `selection` and `navigate`: the user's position, and showing them a location.
---
--- Invariant: a user who types, selects or answers a prompt is not disturbed.

local paths = require("acp.tools.builtin.paths")
local texts = require("acp.tools.builtin.texts")

--- Limits of a reported selection in lines and bytes, and of the cursor's line.
local MAX_LINES, MAX_BYTES, MAX_LINE = 2000, 64 * 1024, 1000

--- Number and interval (in milliseconds) of checks for an idle user.
local LOOKS, PAUSE = 50, 100

--- Kinds of selections, by Neovim's mode names.
local KINDS = { v = "characters", V = "lines", ["\22"] = "block" }

--- The ends of a visual selection; see |getpos()|.
---@class acp.tools.Ends
---@field from integer[]
---@field to integer[]
---@field mode string One of KINDS.
---@field is_active boolean

--- Returns the ends of the active selection of a window, else of the last one in its buffer.
---@param win integer
---@return any ends An acp.tools.Ends or nil.
local function ends(win)
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  local visual = ({ s = "v", S = "V", ["\19"] = "\22" })[mode] or mode
  if KINDS[visual] and vim.api.nvim_get_current_win() == win then
    return { from = vim.fn.getpos("v"), to = vim.fn.getpos("."), mode = visual, is_active = true }
  end
  return vim.api.nvim_win_call(win, function()
    local from, to, last = vim.fn.getpos("'<"), vim.fn.getpos("'>"), vim.fn.visualmode()
    if from[2] > 0 and to[2] > 0 and KINDS[last] then
      return { from = from, to = to, mode = last, is_active = false }
    end
  end)
end

--- Clamps a position to the current text.
local function clamped(buf, position)
  local line = math.min(position[2], vim.api.nvim_buf_line_count(buf))
  local text = vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1] or ""
  return { buf, line, math.max(1, math.min(position[3], #text + 1)), position[4] }
end

--- Returns the active or last visual selection of a window.
local function selection_of(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local known = ends(win) ---@type acp.tools.Ends?
  if not known then
    return nil
  end
  local mode, from, to = known.mode, clamped(buf, known.from), clamped(buf, known.to)
  if to[2] < from[2] or to[2] == from[2] and to[3] < from[3] then
    from, to = to, from
  end
  local bound, is_cut = vim.deepcopy(to), false
  if to[2] - from[2] >= MAX_LINES then
    is_cut = true
    bound[2] = from[2] + MAX_LINES - 1
    -- The complete last reported line; for a block, its columns.
    bound[3] = mode == "v" and vim.v.maxcol or bound[3]
    bound = mode == "v" and clamped(buf, bound) or bound
  end
  local lines = vim.api.nvim_win_call(win, function()
    return vim.fn.getregion(from, bound, { type = mode })
  end)
  local text, is_too_long = texts.cut(table.concat(lines, "\n"), MAX_BYTES)
  local is_lines = mode == "V"
  return {
    kind = KINDS[mode],
    active = known.is_active,
    start = { line = from[2], column = is_lines and 1 or from[3] },
    ["end"] = { line = to[2], column = not is_lines and to[3] or nil },
    text = text,
    truncated = (is_cut or is_too_long) and true or nil,
  }
end

local function selection(_, ctx)
  local win = require("acp.tools.builtin.windows").of_user()
  if not win then
    return { note = "The user has no file in any window; buffers lists what is open." }
  end
  local buf = vim.api.nvim_win_get_buf(win)
  local name, is_here = vim.api.nvim_buf_get_name(buf), vim.api.nvim_get_current_win() == win
  local cursor = vim.api.nvim_win_get_cursor(win)
  local row, column = cursor[1] or 1, cursor[2] or 0
  local line = vim.api.nvim_buf_get_lines(buf, row - 1, row, false)[1] or ""
  local may_show = paths.may_show(ctx, buf)
  local chosen = may_show and selection_of(win) or nil
  local note = nil ---@type string?
  if not may_show then
    note = "This file is outside the session's folders: its text is not shown. The user can allow "
      .. "it with the config key permissions.allowed_dirs."
  elseif not chosen then
    note = "Nothing has been selected in this file yet."
  elseif not chosen.active then
    note = "This is the last selection; it is no longer active."
  end
  if chosen and chosen.truncated then
    note = (note and note .. " " or "")
      .. ("Its text is cut: read the file, up to line %d, for the rest."):format(chosen["end"].line)
  end
  return {
    path = name ~= "" and name or nil,
    name = name ~= "" and paths.shown(ctx.cwd, name) or "[No Name]",
    filetype = vim.bo[buf].filetype,
    modified = vim.bo[buf].modified,
    mode = is_here and vim.api.nvim_get_mode().mode or "n",
    has_focus = is_here,
    cursor = { line = row, column = column + 1 },
    line_text = may_show and texts.cut(line, MAX_LINE) or nil,
    visible = { line = vim.fn.line("w0", win), end_line = vim.fn.line("w$", win) },
    selection = chosen,
    note = note,
  }
end

--- Waits a short time until the user is idle in normal mode.
---@return string? doing The user's activity, if never idle.
local function wait_for_user(ctx)
  local windows = require("acp.tools.builtin.windows")
  for _ = 1, LOOKS do
    if ctx.is_cancelled() or not windows.busy() then
      break
    end
    ctx.await(function(resume)
      vim.defer_fn(resume, PAUSE)
    end)
  end
  return windows.busy()
end

---@param ctx acp.ToolContext
---@param args { path: string, line?: integer, column?: integer, end_line?: integer, highlight?: boolean }
local function navigate(args, ctx)
  local line, path = args.line, paths.inside(ctx, args.path)
  local name = paths.shown(ctx.cwd, path)
  if not line and (args.column or args.end_line) then
    ctx.fail("column and end_line belong to a line: give line as well.")
  elseif line and args.end_line and args.end_line < line then
    ctx.fail(("end_line (%d) is before line (%d)."):format(args.end_line, line))
  end
  local doing = wait_for_user(ctx)
  if doing then
    return {
      shown = false,
      note = ("Nothing was moved: the user %s. Name the place in your answer instead (%s%s), or try later."):format(
        doing,
        name,
        line and (":%d"):format(line) or ""
      ),
    }
  end
  local was_there = paths.buffer(path) ~= nil
  local windows = require("acp.tools.builtin.windows")
  local buf, why = windows.buffer_to_show(path)
  if not buf then
    return ctx.fail(("%s cannot be shown: %s."):format(name, why))
  end
  local win, place = windows.show(buf, function()
    local total = vim.api.nvim_buf_line_count(buf)
    -- Without a line, the buffer is shown at its last position.
    local left_at = vim.api.nvim_buf_get_mark(buf, '"')[1] or 1
    local first = math.max(math.min(line or left_at, total), 1)
    ---@type acp.tools.Place
    return {
      first = math.floor(first),
      last = math.floor(math.max(math.min(args.end_line or first, total), first)),
      column = line and args.column or 1,
    }
  end)
  if not win or not place then
    if not was_there then
      vim.api.nvim_buf_delete(buf, {})
    end
    return {
      shown = false,
      note = "Nothing was moved: there is no window for a file, and no room for another one. "
        .. "Name the place in your answer instead.",
    }
  end
  if line and args.highlight ~= false then
    windows.highlight(buf, place.first, place.last)
  end
  local total = vim.api.nvim_buf_line_count(buf)
  return {
    shown = true,
    path = name,
    line = place.first,
    end_line = place.last ~= place.first and place.last or nil,
    note = line and line > total and ("The file ends at line %d, which is shown."):format(total)
      or nil,
  }
end

return {
  {
    name = "selection",
    title = "Cursor and selection",
    description = 'Returns the user\'s file, cursor and selection. Use it for "this".',
    kind = "read",
    read_only = true,
    handler = selection,
  },
  {
    name = "navigate",
    title = "Show a place",
    description = "Shows the user a place in a file, without taking the focus. Use it to point at code.",
    kind = "other",
    permission = "ask",
    parameters = {
      type = "object",
      properties = {
        path = { type = "string", minLength = 1, description = paths.WORDS },
        line = {
          type = "integer",
          minimum = 1,
          description = "From 1. Default: the user's last.",
        },
        column = {
          type = "integer",
          minimum = 1,
          description = "In bytes, from 1.",
        },
        end_line = {
          type = "integer",
          minimum = 1,
          description = "Last line.",
        },
        highlight = {
          type = "boolean",
          description = "Default: true.",
        },
      },
      required = { "path" },
      additionalProperties = false,
    },
    handler = navigate,
  },
}
