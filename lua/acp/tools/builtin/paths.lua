--- Turns the paths of tool calls into files and buffers, and back into what an agent can use.
---
--- Invariant: what agents are told of a file is a path that they can give to another tool.

local M = {}

--- What the schemas say of a path.
M.WORDS = "Path of the file: absolute, or relative to the session's folder."

--- Returns the absolute path that an agent means.
---@param cwd string The session's folder.
---@param path string
---@return string
function M.absolute(cwd, path)
  if vim.startswith(path, "file://") then
    path = vim.uri_to_fname(path) or path
  end
  if path == "~" or vim.startswith(path, "~/") then
    path = vim.fs.normalize("~") .. path:sub(2)
  elseif not vim.startswith(path, "/") then
    path = cwd .. "/" .. path
  end
  -- A name with a dollar sign is a name.
  return vim.fs.normalize(path, { expand_env = false })
end

--- Returns a path as agents are told of it: relative to the session's folder if it lies in there.
---@param cwd string
---@param path string An absolute one.
---@return string
function M.shown(cwd, path)
  local folder = vim.fs.normalize(cwd, { expand_env = false }):gsub("/*$", "/")
  return vim.startswith(path, folder) and path:sub(#folder + 1) or path
end

--- Returns whether a buffer is that of a file, or will be when it is written.
---@param buf integer
---@return boolean
function M.is_file(buf)
  return vim.bo[buf].buftype == "" and not vim.startswith(vim.bo[buf].filetype, "acp-")
end

--- Returns where a path leads; nil if there is nothing.
---@param path string
---@return string?
function M.real(path)
  ---@diagnostic disable-next-line: undefined-field
  return (vim.uv.fs_realpath(path))
end

--- Returns the buffer of a file, loaded or not, by whichever link it was opened.
---@param path string An absolute one.
---@return integer? buf
function M.buffer(path)
  local real, by_link = M.real(path), nil
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name ~= "" and M.is_file(buf) then
      if name == path then
        return buf
      elseif real and not by_link and M.real(name) == real then
        by_link = buf
      end
    end
  end
  return by_link
end

return M
