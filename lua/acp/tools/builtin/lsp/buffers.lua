--- Buffers for files that nobody has open: language servers know files by them.
---
--- Invariants: no window, no buffer list, no alternate file and no swap file shows that a file was
--- looked at; nothing is asked. What the user goes to is the user's from then on, swap file
--- included.

local M = {}

local paths = require("acp.tools.builtin.paths")

local uv = vim.uv ---@type any

--- The largest file that is loaded, in bytes: Neovim stands still meanwhile.
local MAX_LOADED = 1024 * 1024

--- How many files stay loaded for the next question, at least so long (a call takes no longer).
local MAX_KEPT, KEPT_MS = 16, 60 * 1000

--- How long a server may still be getting to know a project, in milliseconds.
local YOUNG_MS = 60 * 1000

--- A file that is loaded.
---@class acp.lsp.File
---@field path string Absolute.
---@field buf integer
---@field is_fresh boolean It was loaded for this call: its servers may not be there yet.
---@field is_young boolean It was loaded not long ago: its servers may not know the project yet.

--- Buffers that nobody but agents has asked for, the one used last at the end.
---@type {buf: integer, used: number, loaded: number}[]
local kept = {}

---@param buf integer
local function forget(buf)
  for i, it in ipairs(kept) do
    if it.buf == buf then
      table.remove(kept, i)
      return
    end
  end
end

---@param buf integer
---@param loaded number When it was.
local function keep(buf, loaded)
  forget(buf)
  table.insert(kept, { buf = buf, used = uv.now(), loaded = loaded })
end

--- Wipes out what was not asked for lately, if it is nobody's.
local function tidy()
  for _, it in ipairs(vim.list_slice(kept, 1, math.max(#kept - MAX_KEPT, 0))) do
    if not vim.api.nvim_buf_is_valid(it.buf) then
      forget(it.buf)
    elseif uv.now() - it.used > KEPT_MS then
      local is_in_use = vim.bo[it.buf].modified
        or vim.bo[it.buf].buflisted
        or #vim.fn.win_findbuf(it.buf) > 0
      forget(it.buf)
      if not is_in_use then
        pcall(vim.api.nvim_buf_delete, it.buf, {})
      end
    end
  end
end

--- Runs `work` while Neovim tells nothing of files, swap files of other Neovims among it.
---@param work fun()
---@return boolean
---@return any problem
local function quietly(work)
  local shortmess = vim.o.shortmess
  vim.o.shortmess = shortmess .. "AF"
  local ok, problem = pcall(work)
  vim.o.shortmess = shortmess
  return ok, problem
end

--- Gives a buffer the swap file it would have if the user had opened it.
---@param buf integer
local function protect(buf)
  if vim.bo[buf].swapfile or not vim.go.swapfile then
    return
  end
  quietly(function()
    vim.bo[buf].swapfile = true
  end)
end

--- Lets the user have a buffer as soon as it is in a window, or has changes.
---@param buf integer
local function hand_over(buf)
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    buffer = buf,
    callback = function()
      if vim.bo[buf].modified then
        protect(buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    once = true,
    callback = function()
      forget(buf)
      local had = vim.bo[buf].swapfile
      protect(buf)
      local name = vim.fn.swapname(buf)
      if not had and name ~= "" and not vim.endswith(name, ".swp") then
        local text = "acp.nvim: there is another swap file of %s: it is open in another Neovim, "
          .. "or one has crashed with it. See :help swap-exists-choices."
        local path = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":~:.")
        vim.notify(text:format(path), vim.log.levels.WARN)
      end
    end,
  })
end

--- Returns the buffer that has a file loaded.
---@param path string Absolute.
---@return integer?
function M.loaded(path)
  local real = uv.fs_realpath(path) or path
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) or ""
    if name ~= "" and vim.bo[buf].buftype == "" then
      -- A name is cheap to compare; links are looked up where the last part is the same.
      local is_it = name == path or name == real
      if
        is_it
        or vim.fs.basename(name) == vim.fs.basename(real) and uv.fs_realpath(name) == real
      then
        return buf
      end
    end
  end
end

--- Returns why a file is not loaded for a look.
---@param path string
---@return string?
local function refusal(path)
  local stat = uv.fs_stat(path)
  if not stat then
    return ("There is no file %s."):format(path)
  elseif stat.type ~= "file" then
    return ("%s is a %s: please name a file."):format(path, stat.type)
  elseif stat.size > MAX_LOADED then
    return ("%s is larger than 1 MiB, and not open in Neovim: ask the user to open it."):format(
      path
    )
  elseif not paths.is_text(path) then
    return ("%s is not a text file that can be read, so no language server knows it."):format(path)
  end
end

--- Returns the buffer of a file; loads it if it is not.
---@param ctx acp.ToolContext
---@param path string As the agent names it.
---@return acp.lsp.File
function M.open(ctx, path)
  path = paths.inside(ctx, path)
  local there = M.loaded(path)
  if there then
    local is_young = false
    for _, it in ipairs(kept) do
      if it.buf == there then
        is_young = uv.now() - it.loaded < YOUNG_MS
        keep(there, it.loaded)
        break
      end
    end
    return { path = path, buf = there, is_fresh = false, is_young = is_young }
  end
  local why = refusal(path)
  if why then
    ctx.fail(why)
  end
  tidy()
  local name = vim.fn.fnamemodify(path, ":.")
  -- Neovim takes a name for a whole one if it begins so.
  name = vim.startswith(name, "~") and path or name
  local is_new = vim.fn.bufexists(name) == 0
  local buf = vim.fn.bufadd(name)
  local ok, problem = quietly(function()
    vim.cmd(("silent noswapfile call bufload(%d)"):format(buf))
  end)
  if not vim.api.nvim_buf_is_loaded(buf) then
    ctx.fail(("%s could not be loaded: %s"):format(path, ok and "Neovim refused" or problem))
  end
  hand_over(buf)
  if is_new then
    keep(buf, uv.now())
  end
  return { path = path, buf = buf, is_fresh = true, is_young = true }
end

--- Returns the buffers that are kept for agents alone.
---@return integer[]
function M.kept()
  return vim.tbl_map(function(it)
    return it.buf
  end, kept)
end

return M
