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

--- Returns the specs of all built-in tools: a new list of shared specs.
---@return acp.Tool[]
function M.specs()
  local specs = {}
  for _, name in ipairs(M.modules) do
    vim.list_extend(specs, require("acp.tools.builtin." .. name))
  end
  return specs
end

return M
