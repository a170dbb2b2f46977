--- Runs a command in a visible terminal below the other windows: a log-in, an install.

local M = {}

---@class acp.terminal.Spec
---@field title string For the window bar.
---@field command string[]
---@field cwd? string
---@field env? table<string, string>
---@field desc string Of the keys that close the window.
---@field ended fun(code: integer) Runs after the command has ended; the window is closed if it succeeded.

--- Runs a command in a terminal of the current window.
---
--- Neovim names the buffer between the start of the command and that of the terminal. Output that it
--- reads while autocommands run for that is lost, so none do.
---@param command string[]
---@param opts table
---@return boolean ok
---@return any job 0 or less if it could not be started; the error if Neovim has one.
local function start(command, opts)
  local ignored = vim.o.eventignore
  vim.opt.eventignore:append({ "BufFilePre", "BufFilePost" })
  local ok, job
  if vim.fn.has("nvim-0.11") == 1 then
    opts.term = true
    ok, job = pcall(vim.fn.jobstart, command, opts)
  else
    ---@diagnostic disable-next-line: deprecated
    ok, job = pcall(vim.fn.termopen, command, opts)
  end
  vim.o.eventignore = ignored
  return ok, job
end

---@param win integer
---@param before integer
local function close(win, before)
  local is_here = vim.api.nvim_get_current_win() == win
  if vim.api.nvim_win_is_valid(win) then
    pcall(vim.api.nvim_win_close, win, true)
  end
  if is_here then
    vim.cmd.stopinsert()
    if vim.api.nvim_win_is_valid(before) then
      vim.api.nvim_set_current_win(before)
    end
  end
end

--- Runs a command; returns its buffer, or nil and the reason if it could not be started.
---@param spec acp.terminal.Spec
---@return integer? buf
---@return string? why
function M.run(spec)
  local before = vim.api.nvim_get_current_win()
  local buf = vim.api.nvim_create_buf(false, true)
  local height = math.max(12, math.floor(vim.o.lines / 2))
  local win = vim.api.nvim_open_win(buf, true, { win = -1, split = "below", height = height })
  -- The new window shows the previous window's buffer, which may be the chat's input.
  for option, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = "no",
    scrollbind = false,
    cursorbind = false,
    winfixheight = false,
    winhighlight = "",
    winbar = " " .. spec.title:gsub("%%", "%%%%"),
  }) do
    vim.api.nvim_set_option_value(option, value, { win = win, scope = "local" })
  end
  local function over(_, code)
    vim.schedule(function()
      if code == 0 then
        close(win, before)
        pcall(vim.api.nvim_buf_delete, buf, { force = true })
      elseif vim.api.nvim_get_current_buf() == buf then
        vim.cmd.stopinsert()
      end
      spec.ended(code)
    end)
  end
  local env = vim.tbl_extend("force", vim.empty_dict(), spec.env or {})
  local opts = { cwd = spec.cwd, env = env, on_exit = over }
  local ok, job = start(spec.command, opts)
  if not ok or job <= 0 then
    close(win, before)
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
    return nil, ok and "it is not executable" or require("acp.native").message(job)
  end
  vim.bo[buf].bufhidden = "hide"
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, function()
      close(vim.api.nvim_get_current_win(), before)
    end, { buffer = buf, desc = spec.desc })
  end
  vim.cmd.startinsert()
  return buf
end

return M
