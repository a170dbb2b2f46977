---@meta
--- The functions of `vim.uv` in use here: Neovim 0.11's own Lua files do not describe them.

---@class uv
local uv = {}

---@class uv.Stat
---@field mtime { sec: integer, nsec: integer }
---@field size integer
---@field type string

---@param path string
---@return uv.Stat?
function uv.fs_stat(path) end

---@return integer
function uv.hrtime() end

---@return { sysname: string, machine: string, release: string, version: string }
function uv.os_uname() end

---@param path string
---@param mode integer
---@return boolean? success
---@return string? problem
function uv.fs_mkdir(path, mode) end

---@class uv.Work
---@field queue fun(self: uv.Work, ...: string)

---@param work fun(...: string): string?, string?
---@param after fun(...: string?)
---@return uv.Work
function uv.new_work(work, after) end
