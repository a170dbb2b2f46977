--- `get_quickfix` and `set_quickfix`: Neovim's quickfix and location lists.
---
--- Invariant: the user's lists are never overwritten; a new list is added after them, and only Neovim's
--- oldest one goes when it has no room for another.

local paths = require("acp.tools.builtin.paths")
local texts = require("acp.tools.builtin.texts")

--- Default number of entries, and maximum length of an entry's text.
local LIMIT, MAX_TEXT = 200, 1000

--- Neovim's type letters and the names for agents.
local WORDS = { E = "error", W = "warning", I = "info", N = "note", H = "hint" }
local LETTERS = { error = "E", warning = "W", info = "I", note = "N", hint = "H" }

local function positive(number)
  return number and number > 0 and number or nil
end

--- Converts an item for the agent; the text of a file outside the session's folders is left out.
---@param shows table<integer, boolean> Whether a buffer's text may be shown, as far as known.
local function told(item, ctx, shows)
  local buf = item.bufnr > 0 and vim.api.nvim_buf_is_valid(item.bufnr) and item.bufnr
  local name = buf and vim.api.nvim_buf_get_name(buf)
  if buf and shows[buf] == nil then
    shows[buf] = paths.may_show(ctx, buf)
  end
  local may_show = not buf or shows[buf]
  return {
    path = name and name ~= "" and paths.shown(ctx.cwd, name) or nil,
    line = positive(item.lnum),
    column = positive(item.col),
    end_line = positive(item.end_lnum),
    end_column = positive(item.end_col),
    type = WORDS[item.type:upper()],
    text = may_show and texts.cut(vim.trim(item.text), MAX_TEXT) or nil,
  }
end

---@param args { location_list?: boolean, limit?: integer }
local function get_quickfix(args, ctx)
  local what = { items = 0, title = 0, idx = 0 }
  local win = args.location_list and require("acp.tools.builtin.windows").of_user()
  local list = not args.location_list and vim.fn.getqflist(what)
    or win and vim.fn.getloclist(win, what)
    or { items = {}, title = "", idx = 0 }
  local items, total, shows = {}, #list.items, {}
  for at = 1, math.min(total, args.limit or LIMIT) do
    items[at] = told(list.items[at], ctx, shows)
  end
  local name = args.location_list and "location list" or "quickfix list"
  return {
    title = list.title ~= "" and list.title or nil,
    items = items,
    total = total,
    current = total > 0 and list.idx or nil,
    note = total == 0 and ("The %s is empty."):format(name)
      or total > #items and ("The first %d of %d: ask for a higher limit."):format(#items, total)
      or nil,
  }
end

--- Converts an item to Neovim's format, or returns its error.
---@return table? item
---@return string? why
local function taken(item, ctx)
  local path, problem = paths.meant(ctx, item.path)
  if not path then
    return nil, problem
  elseif not vim.uv.fs_stat(path) and not paths.buffer(path) then
    return nil, "there is no file " .. paths.shown(ctx.cwd, path)
  elseif not item.line and (item.column or item.end_line) then
    return nil, "column and end_line belong to a line, and there is none"
  elseif item.end_column and not item.end_line then
    return nil, "end_column belongs to an end_line, and there is none"
  elseif item.end_line and item.end_line < item.line then
    return nil, "end_line is before line"
  end
  return {
    filename = path,
    lnum = item.line or 1,
    col = item.column or 0,
    end_lnum = item.end_line or 0,
    end_col = item.end_column or 0,
    type = LETTERS[item.type] or "",
    text = item.text or "",
  }
end

--- Opens the quickfix window without moving the cursor there.
local function open_window()
  local here = vim.api.nvim_get_current_win()
  vim.cmd("botright copen")
  if vim.api.nvim_win_is_valid(here) then
    vim.api.nvim_set_current_win(here)
  end
end

---@param args { items: table[], title?: string, open?: boolean }
local function set_quickfix(args, ctx)
  local items = {}
  for number, item in ipairs(args.items) do
    local it, why = taken(item, ctx)
    -- Counted from 0, like JSON arrays.
    items[number] = it or ctx.fail(("items[%d]: %s. The list was not set."):format(number - 1, why))
  end
  local before = vim.fn.getqflist({ id = 0 }).id
  ---@type any
  local what = { nr = "$", title = args.title or "From the agent", items = items }
  vim.fn.setqflist({}, " ", what)
  local back = vim.fn.getqflist({ id = before, nr = 0 }).nr
  local older = vim.fn.getqflist({ nr = "$" }).nr - back
  local is_open = vim.fn.getqflist({ winid = 0 }).winid ~= 0
  local doing = args.open and not is_open and require("acp.tools.builtin.windows").busy()
  if args.open and not is_open and not doing then
    open_window()
    is_open = true
  end
  return {
    set = #items,
    open = is_open,
    note = (doing and ("Its window was not opened: the user %s. "):format(doing) or "")
      .. (is_open and "The user sees the list." or "The user opens it with :copen.")
      .. (
        before > 0
          and back > 0
          and (" The list that was there before is back with :colder%s."):format(
            older > 1 and " " .. older or ""
          )
        or ""
      ),
  }
end

local position = function(what)
  return { type = "integer", minimum = 1, description = what .. ", from 1." }
end

return {
  {
    name = "get_quickfix",
    title = "Read the quickfix list",
    description = 'Returns the quickfix list. Use it for "the errors", "the matches" or "the list".',
    kind = "read",
    read_only = true,
    parameters = {
      type = "object",
      properties = {
        location_list = {
          type = "boolean",
          description = "The window's location list.",
        },
        limit = {
          type = "integer",
          minimum = 1,
          maximum = 5000,
          description = ("Maximum. Default: %d."):format(LIMIT),
        },
      },
      additionalProperties = false,
    },
    handler = get_quickfix,
  },
  {
    name = "set_quickfix",
    title = "Set the quickfix list",
    description = "Gives the user a list of places to go through. Use it instead of listing many in text.",
    kind = "other",
    permission = "ask",
    parameters = {
      type = "object",
      properties = {
        items = {
          type = "array",
          minItems = 1,
          maxItems = 1000,
          description = "The places, in order.",
          items = {
            type = "object",
            properties = {
              path = { type = "string", minLength = 1, description = paths.WORDS },
              line = position("Line"),
              column = position("Column in bytes"),
              end_line = position("Last line"),
              end_column = position("Column after the last, in bytes"),
              text = {
                type = "string",
                description = "One line about it.",
              },
              type = {
                type = "string",
                enum = { "error", "warning", "info", "note", "hint" },
                description = "Default: none.",
              },
            },
            required = { "path" },
            additionalProperties = false,
          },
        },
        title = { type = "string", description = "Of the list." },
        open = {
          type = "boolean",
          description = "Open its window.",
        },
      },
      required = { "items" },
      additionalProperties = false,
    },
    handler = set_quickfix,
  },
}
