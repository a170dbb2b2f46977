--- Collects the tools that come with the plugin.
---
--- Each module of `modules` beside this file returns a list of specs, as |acp.tool()| takes them.
--- One that is not there is passed over; an error in one that is there is raised.

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
  local this = assert(debug.getinfo(1, "S"), "a function that runs is known").source
  local folder = vim.fn.fnamemodify(this:sub(2), ":p:h")
  local specs = {}
  for _, name in ipairs(M.modules) do
    if vim.uv.fs_stat(("%s/%s.lua"):format(folder, name)) then
      vim.list_extend(specs, require("acp.tools.builtin." .. name))
    end
  end
  return specs
end

return M
