--- Buffers for files that the user has not opened, because language servers work on buffers.
---
--- Invariants: a query leaves no trace in windows, the buffer list, the alternate file or swap files,
--- and prompts nothing. A buffer the user enters becomes a normal buffer with a swap file.

local M = {}

local paths = require("acp.tools.builtin.paths")

local uv = vim.uv ---@type any

--- Maximum size of a loaded file, in bytes, because loading it blocks Neovim.
local MAX_LOADED = 1024 * 1024

--- Number of files that stay loaded, and their minimum time (no call takes longer).
local MAX_KEPT, KEPT_MS = 16, 60 * 1000

--- Time for which a server may still be loading a project, in milliseconds.
local YOUNG_MS = 60 * 1000

--- A loaded file.
---@class acp.lsp.File
---@field path string Absolute.
---@field buf integer
---@field is_fresh boolean Loaded by this call: its servers may not have attached yet.
---@field is_young boolean Loaded recently: its servers may still be loading the project.

--- Buffers that only agents use, the most recent last.
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
---@param loaded number The time of loading.
local function keep(buf, loaded)
  forget(buf)
  table.insert(kept, { buf = buf, used = uv.now(), loaded = loaded })
end

--- Deletes buffers that were not used recently, unless the user has taken them over.
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

--- Runs `work` without messages about files, such as other Neovims' swap files.
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

--- Enables the swap file that the buffer would have if the user had opened it.
---@param buf integer
local function protect(buf)
  if vim.bo[buf].swapfile or not vim.go.swapfile then
    return
  end
  quietly(function()
    vim.bo[buf].swapfile = true
  end)
end

--- Hands a buffer to the user once it is in a window or has changes.
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
      -- Compares names first; links are resolved only if the last part is equal.
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

--- Returns why a file cannot be loaded for a query.
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

--- Returns the buffer of a file, loading it if necessary.
---@param ctx acp.ToolContext
---@param path string The path from the agent.
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
  -- Neovim expands a name that starts like this.
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

--- Returns the buffers that are kept for agents only.
---@return integer[]
function M.kept()
  return vim.tbl_map(function(it)
    return it.buf
  end, kept)
end

return M
