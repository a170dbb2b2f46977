--- Attaches an image dropped on the input or pasted from the clipboard: terminals paste the path of
--- the first, and nothing for the second. If the agent does not accept images, it stays text.
---
--- Invariant: everything else reaches `vim.paste` unchanged.

local M = {}

---@type table<string, boolean?>
local images = { png = true, jpg = true, jpeg = true, gif = true, webp = true }

--- Returns the image whose path was pasted, in the quoting of terminals.
---@param lines string[]
---@return string?
local function image(lines)
  local text = vim.trim(table.concat(lines, "\n"))
  text = text:match("^'(.*)'$") or text:match('^"(.*)"$') or text:gsub("\\(.)", "%1")
  if vim.startswith(text, "file://") then
    text = vim.uri_to_fname(text)
  end
  local extension = text:match("%.(%w+)$")
  local is_path = vim.startswith(text, "/") and not text:find("\n")
  local is_image = is_path and extension and images[extension:lower()]
  return is_image and vim.uv.fs_stat(text) and text or nil
end

local is_wrapped = false

--- Wraps `vim.paste`, once.
function M.wrap()
  if is_wrapped then
    return
  end
  is_wrapped = true
  local paste = vim.paste
  local is_taken = false
  ---@diagnostic disable-next-line: duplicate-set-field
  vim.paste = function(lines, phase)
    local is_first = phase == -1 or phase == 1
    -- What is pasted into the command line comes here as well.
    local is_cmdline = vim.fn.mode():sub(1, 1) == "c"
    local is_input = is_first and vim.bo.filetype == "acp-input" and not is_cmdline
    local path = is_input and image(lines) or nil
    -- A terminal has no text for an image in the clipboard.
    local is_empty = is_input and phase == -1 and table.concat(lines) == ""
    if (path or is_empty) and require("acp.native").load().takes_images() then
      -- The final chunk of the same paste is empty.
      is_taken = phase == 1
      return (pcall(require("acp").attach, path))
    elseif is_taken and phase == 3 and table.concat(lines) == "" then
      is_taken = false
      return true
    end
    is_taken = false
    return paste(lines, phase)
  end
end

return M
