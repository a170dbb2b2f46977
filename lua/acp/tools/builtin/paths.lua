--- Converts the paths of tool calls to files and buffers, and back to paths for agents.
---
--- Invariants: paths shown to agents can be passed to other tools; a path from an agent is accessed
--- only after `M.inside` or `M.meant` has found it inside the session's folders.

local M = {}

--- The description of a path in the schemas.
M.WORDS = "Absolute, or from the session's folder."

--- Extensions of compressed files that plugins unpack on reading; a small file may become huge. Those
--- of Neovim's own: plugin/gzip.vim, tarPlugin.vim, zipPlugin.vim.
local PACKED = {}
for _, endings in ipairs({
  "gz bz2 bz3 xz zst lz lz4 lzma lzo br z",
  "tar lrp tgz taz tbz tbz2 txz tlz tlz4 tzst tzs",
  "zip aar apk celzip crtx docm docx dotm dotx ear epub gcsx glox gqsx ja jar kmz odb odc odf odg odi",
  "odm odp ods odt otc otf otg oth oti otp ots ott oxt pkpass potm potx ppam ppsm ppsx pptm pptx sldx",
  "thmx vdw war whl wsz xap xlam xlsb xlsm xlsx xltm xltx xpi",
}) do
  for ending in endings:gmatch("%S+") do
    PACKED[ending] = true
  end
end

--- Bytes read to detect a text file.
local MAX_PEEKED = 8 * 1024

--- Returns an absolute path with `.` and `..` resolved lexically.
---@param path string
---@return string
local function normal(path)
  -- A dollar sign is part of a name, and two slashes count as one.
  return vim.fs.normalize((path:gsub("^/+", "/")), { expand_env = false })
end

--- Returns where a path leads, even if the file does not exist; nil for a broken link.
---@param path string A normalized path.
---@return string?
local function led(path)
  local at, rest = path, ""
  while true do
    local real = M.real(at)
    if real then
      return rest == "" and real or (real:gsub("/*$", "") .. rest)
    ---@diagnostic disable-next-line: undefined-field
    elseif vim.uv.fs_lstat(at) or vim.fs.basename(at) == ".." or at == vim.fs.dirname(at) then
      return nil
    end
    rest = "/" .. vim.fs.basename(at) .. rest
    at = vim.fs.dirname(at)
  end
end

--- Returns whether a path is one of these folders or inside one.
---@param path string
---@param folders string[] Without trailing slashes.
---@return boolean
local function is_in(path, folders)
  for _, folder in ipairs(folders) do
    if path == folder or folder == "/" or vim.startswith(path, folder .. "/") then
      return true
    end
  end
  return false
end

--- Returns the session's folders as spelled.
---@param ctx acp.ToolContext
---@return string[]
local function roots(ctx)
  return vim.tbl_map(normal, ctx.roots or { ctx.cwd })
end

--- Returns whether a path leads into the session's folders.
---@param ctx acp.ToolContext
---@param path string An absolute path.
---@return boolean
function M.is_inside(ctx, path)
  local real, folders = led(normal(path)), {}
  for _, root in ipairs(roots(ctx)) do
    table.insert(folders, led(root))
  end
  return real ~= nil and is_in(real, folders)
end

--- Returns whether a path in the session's folders, by any of its names, leads out of them.
---@param ctx acp.ToolContext
---@param path string An absolute path.
---@return boolean
function M.leads_out(ctx, path)
  local there = normal(path)
  -- A path without links is where it says.
  if M.real(there) == there or M.is_inside(ctx, there) then
    return false
  end
  for folder in vim.fs.parents(there) do
    if M.is_inside(ctx, folder) then
      return true
    end
  end
  return false
end

--- Returns whether an agent may see a buffer's text unasked: the file is in the session's folders, or
--- the buffer has none.
---@param ctx acp.ToolContext
---@param buf integer
---@return boolean
function M.may_show(ctx, buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return name == "" or M.is_inside(ctx, name)
end

--- Returns the absolute path an agent refers to, or why it must not be accessed.
---@param ctx acp.ToolContext
---@param path string The path from the agent.
---@return string? path
---@return string? why
function M.meant(ctx, path)
  -- The user sees the path as the agent wrote it, so it must be the actual file.
  local is_url = path:find("^%a[%w+.-]+://") or path:lower():find("^file:")
  if path:find("%z") or path:sub(1, 1) == "~" or is_url then
    local words = "%s is not a path that tools take: give a path, absolute or relative to the "
      .. "session's folder"
    return nil, words:format((path:gsub("%z", "\\0")))
  end
  local there = normal(vim.startswith(path, "/") and path or ctx.cwd .. "/" .. path)
  if M.is_inside(ctx, there) then
    return there
  end
  local is_called_so = is_in(there, roots(ctx))
  if is_called_so and not led(there) then
    return nil, ("%s is a link that leads nowhere, or in one: name the file itself"):format(there)
  end
  local words = "%s %s outside the session's folders; the user can allow it with the config key "
    .. "permissions.allowed_dirs"
  return nil, words:format(there, is_called_so and "leads" or "is")
end

--- Returns the absolute path an agent refers to; ends the call if it must not be accessed.
---@param ctx acp.ToolContext
---@param path string The path from the agent.
---@return string
function M.inside(ctx, path)
  local there, why = M.meant(ctx, path)
  return there or ctx.fail((why or "") .. ".") --[[@as string]]
end

--- Returns whether plugins would unpack a file on reading, by its ending or a name in its path.
---@param path string
---@return boolean
function M.is_packed(path)
  local lower = "/" .. path:lower()
  local is_named = lower:find("/tarfile:", 1, true) or lower:find("/zipfile:", 1, true)
  return is_named ~= nil or PACKED[lower:match("%.(%w+)$") or ""] == true
end

--- Returns whether a regular file can be loaded as text.
---@param path string
---@return boolean
function M.is_text(path)
  local file = not M.is_packed(path) and io.open(path, "rb")
  if not file then
    return false
  end
  local head = file:read(MAX_PEEKED) or ""
  file:close()
  return not head:find("%z")
end

--- Returns a path for agents: relative if inside the session's folder.
---@param cwd string
---@param path string An absolute path.
---@return string
function M.shown(cwd, path)
  local folder = vim.fs.normalize(cwd, { expand_env = false }):gsub("/*$", "/")
  return vim.startswith(path, folder) and path:sub(#folder + 1) or path
end

--- Returns whether a buffer belongs to a file, existing or not.
---@param buf integer
---@return boolean
function M.is_file(buf)
  return vim.bo[buf].buftype == "" and not vim.startswith(vim.bo[buf].filetype, "acp-")
end

--- Returns where a path leads; nil if it does not exist.
---@param path string
---@return string?
function M.real(path)
  ---@diagnostic disable-next-line: undefined-field
  return (vim.uv.fs_realpath(path))
end

--- Returns the buffer of a file, loaded or not, opened by any of its links.
---@param path string An absolute path.
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
