--- Collects the built-in tools.
---
--- Each module listed in `modules` returns a list of specs for |acp.tool()|.

local M = {}

M.modules = {
  "buffers",
  "questions",
  "places",
  "quickfix",
  "help",
  "edit",
  "diagnostics",
  "lsp",
}

--- The built-in tools that are off unless the configuration asks for them: agents have tools of
--- their own for most of this, and each tool is part of every request to their model.
local EXTRA = {
  "read_buffer",
  "get_quickfix",
  "set_quickfix",
  "navigate",
  "help",
  "edit",
  "code_actions",
  "code_action",
}

--- Returns the specs of all built-in tools: a new list of shared specs.
---@return acp.Tool[] specs
---@return string[] extra The names of those that are off by default.
function M.specs()
  local specs = {}
  for _, name in ipairs(M.modules) do
    vim.list_extend(specs, require("acp.tools.builtin." .. name))
  end
  return specs, EXTRA
end

return M
