--- Finds the user's window, and shows files beside it.
---
--- Invariants: the current window keeps its buffer, cursor and mode; no window abandons a text that
--- would be lost or prompted about; the jumplist of the used window leads back. The same rules
--- apply to following an agent (`editor::follow`).

local paths = require("acp.tools.builtin.paths")

local M = {}

--- Minimum height of a window to split it, and minimum width to split it vertically.
local MIN_HEIGHT, MIN_WIDTH = 12, 80

--- Maximum size of a file to show, in bytes, because loading it blocks Neovim.
local MAX_LOADED = 1024 * 1024

--- Duration of a highlight in milliseconds.
local MOMENT = 3000

--- Returns whether a window shows a file and is not a float.
---@param win integer
---@return boolean
local function has_file(win)
  return vim.api.nvim_win_get_config(win).relative == ""
    and paths.is_file(vim.api.nvim_win_get_buf(win))
end

--- Returns the most recently used of some windows, if known; else the largest.
---@param wins integer[]
---@return integer? win
local function latest(wins)
  local best, best_used, best_area
  for _, win in ipairs(wins) do
    if has_file(win) then
      local info = vim.fn.getbufinfo(vim.api.nvim_win_get_buf(win))[1]
      local used = info and info.lastused or 0
      local area = vim.api.nvim_win_get_width(win) * vim.api.nvim_win_get_height(win)
      if not best or used > best_used or used == best_used and area > best_area then
        best, best_used, best_area = win, used, area
      end
    end
  end
  return best
end

--- Returns the user's file window: the current one, else the last one. Windows of the chat, lists,
--- floats and terminals do not count.
---@return integer? win
function M.of_user()
  local here = vim.api.nvim_get_current_win()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, win in ipairs({ here, previous }) do
    if win ~= 0 and has_file(win) then
      return win
    end
  end
  return latest(vim.api.nvim_tabpage_list_wins(0)) or latest(vim.api.nvim_list_wins())
end

--- Returns the user's current activity that must not be disturbed; nil if idle in normal mode.
---@return string? doing
function M.busy()
  local now = vim.api.nvim_get_mode()
  local kind = now.mode:sub(1, 1)
  if kind == "i" or kind == "R" then
    return "is typing"
  elseif kind:find("[vV\22sS\19]") then
    return "is selecting text"
  elseif kind == "c" or vim.fn.win_gettype() == "command" then
    return "is writing a command"
  elseif kind == "t" then
    return "is in a terminal"
  elseif kind == "r" or now.blocking then
    return "is being asked something"
  elseif
    now.mode ~= "n" and now.mode ~= "nt"
    or vim.fn.state("moSs") ~= ""
    or vim.fn.reg_recording() ~= ""
    or vim.fn.reg_executing() ~= ""
  then
    return "is in the middle of a command"
  end
end

--- Returns whether a window can switch to a buffer without loss or prompt.
---@param win integer
---@param to integer
---@return boolean
local function can_leave(win, to)
  local buf = vim.api.nvim_win_get_buf(win)
  if buf == to then
    return true
  end
  local hidden, is_elsewhere = vim.bo[buf].bufhidden, #vim.fn.win_findbuf(buf) > 1
  if hidden == "" then
    return is_elsewhere or not vim.bo[buf].modified or vim.o.hidden
  end
  return hidden == "hide" or is_elsewhere
end

--- Returns whether a window shows only files.
---@param win integer
---@return boolean
local function is_ordinary(win)
  local options = vim.wo[win]
  return has_file(win)
    and not (
      options.winfixbuf
      or options.previewwindow
      or options.diff
      or options.scrollbind
      or options.cursorbind
    )
end

--- Returns the best window of this tab page for a buffer: one that shows it, else the previous
--- window, else the largest.
---@param buf integer
---@return integer? win
local function best(buf)
  local here = vim.api.nvim_get_current_win()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local found, rank
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if win ~= here and is_ordinary(win) and can_leave(win, buf) then
      local area = vim.api.nvim_win_get_width(win) * vim.api.nvim_win_get_height(win)
      local this = area
        + (win == previous and 1e8 or 0)
        + (vim.api.nvim_win_get_buf(win) == buf and 1e9 or 0)
      if not rank or this > rank then
        found, rank = win, this
      end
    end
  end
  return found
end

--- Opens a window for a buffer, if it fits: beside the user's file, else beside the chat.
---@param buf integer
---@return integer? win
local function split(buf)
  local here, place = vim.api.nvim_get_current_win(), nil
  if is_ordinary(here) then
    if vim.api.nvim_win_get_height(here) >= MIN_HEIGHT then
      place = { split = "below", win = here }
    elseif vim.api.nvim_win_get_width(here) >= MIN_WIDTH then
      place = { split = "right", win = here }
    end
  elseif vim.o.columns >= MIN_WIDTH then
    place = { split = "left", win = -1 }
  elseif vim.o.lines >= 2 * MIN_HEIGHT then
    place = { split = "above", win = -1 }
  end
  if not place then
    return nil
  end
  local is_made, win = pcall(vim.api.nvim_open_win, buf, false, place)
  return is_made and win or nil
end

--- Returns whether another Neovim, running or dead, has left a swap file for a file.
---
--- |swapfilelist()| returns wrong names if 'directory' ends with two slashes.
---@param path string
---@return boolean
local function has_swap_file(path)
  local real = paths.real(path) or path
  local folder, name = vim.fs.dirname(real), vim.fs.basename(real)
  for _, directory in ipairs(vim.opt.directory:get()) do
    local stem = directory == "." and "." .. name or name
    if vim.endswith(directory, "//") then
      stem = real:gsub("/", "%%")
    end
    -- Relative to the file.
    local is_relative = directory == "." or vim.startswith(directory, "./")
    local place = is_relative and folder .. directory:sub(2) or directory
    for _, ending in ipairs({ "swp", "swo", "swn", "swm" }) do
      if vim.uv.fs_stat(("%s/%s.%s"):format(place, stem, ending)) then
        return true
      end
    end
  end
  return false
end

--- Returns the buffer of a file to show, or why it cannot be shown.
---@param path string An absolute one.
---@return integer? buf
---@return string? why
function M.buffer_to_show(path)
  local buf = paths.buffer(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  local file = vim.uv.fs_stat(path)
  if not file then
    return nil, "there is no such file"
  elseif file.type ~= "file" then
    return nil, ("it is a %s, not a file"):format(file.type)
  elseif paths.is_packed(path) then
    return nil, "it is not a text file; ask the user to open it"
  elseif file.size > MAX_LOADED then
    return nil, "it is larger than 1 MiB; ask the user to open it"
  elseif has_swap_file(path) then
    return nil, "there is a swap file of it; ask the user to open it and to decide about that"
  end
  buf = buf or vim.fn.bufadd(path)
  vim.bo[buf].buflisted = true
  return buf
end

--- Returns whether lines are visible in a window.
local function is_in_view(win, first, last)
  return vim.fn.line("w0", win) <= first and last <= vim.fn.line("w$", win)
end

---@param win integer
---@param command string
local function run_in(win, command)
  vim.api.nvim_win_call(win, function()
    vim.cmd(command)
  end)
end

--- Moves a window's cursor to a position and makes its lines visible, opening folds.
local function put_cursor(win, place, is_other)
  if not is_other and vim.api.nvim_win_get_cursor(win)[1] ~= place.first then
    run_in(win, "mark '")
  end
  local was_in_view = not is_other and is_in_view(win, place.first, place.last)
  vim.api.nvim_win_set_cursor(win, { place.first, place.column - 1 })
  if was_in_view then
    return run_in(win, "silent! normal! zv")
  end
  run_in(win, "silent! normal! zvzz")
  if not is_in_view(win, place.first, place.last) then
    run_in(win, "silent! normal! zt")
  end
end

--- Runs `body` with file prompts and messages suppressed.
local function quietly(body)
  local before = vim.o.shortmess
  local function set(to)
    vim.cmd(("noautocmd set shortmess=%s"):format(to))
  end
  set(before .. "AF")
  local is_done, result = pcall(body)
  set(before)
  if not is_done then
    error(result, 0)
  end
  return result
end

--- A position in a buffer: 1-based lines and byte columns, both lines inside the buffer.
---@class acp.tools.Place
---@field first integer
---@field last integer
---@field column integer

--- Shows a position of a buffer in another window of this tab page; does nothing if it is already
--- visible in the current one.
---@param buf integer
---@param place_in fun(): acp.tools.Place Called once the buffer is loaded.
---@return integer? win
---@return acp.tools.Place? place
function M.show(buf, place_in)
  local here = vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_buf(here) == buf then
    local place = place_in()
    if is_in_view(here, place.first, place.last) then
      return here, place
    end
  end
  local win = quietly(function()
    local to = best(buf)
    local is_other = not to or vim.api.nvim_win_get_buf(to) ~= buf
    if not to then
      to = split(buf)
    elseif is_other then
      vim.api.nvim_win_set_buf(to, buf)
    end
    if to then
      put_cursor(to, place_in(), is_other)
    end
    return to
  end)
  -- The user's autocommands may have changed the window.
  if vim.api.nvim_get_current_win() ~= here and vim.api.nvim_win_is_valid(here) then
    vim.api.nvim_set_current_win(here)
  end
  return win, win and place_in()
end

--- Highlights lines of a buffer briefly.
---@param buf integer
---@param first integer
---@param last integer
function M.highlight(buf, first, last)
  local space = vim.api.nvim_create_namespace("acp_navigate")
  local mark = vim.api.nvim_buf_set_extmark(buf, space, first - 1, 0, {
    end_row = last,
    end_col = 0,
    hl_group = "AcpAgentLine",
    hl_eol = true,
    priority = 80,
    strict = false,
    undo_restore = false,
  })
  vim.defer_fn(function()
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_del_extmark(buf, space, mark)
    end
  end, MOMENT)
end

return M
