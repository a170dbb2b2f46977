--- Collects the tools that come with the plugin.
---
--- Each module of `modules` beside this file returns a list of specs, as |acp.tool()| takes them.

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

--- Returns the specs of all of them; a new list each time, of the same specs.
---@return acp.Tool[]
function M.specs()
  local specs = {}
  for _, name in ipairs(M.modules) do
    vim.list_extend(specs, require("acp.tools.builtin." .. name))
  end
  return specs
end

return M
