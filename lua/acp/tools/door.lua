--- Locates the proxy that agents start to reach the tools.

local M = {}

--- Returns the path of the proxy, beside the library or in `lib`, if it exists.
---@param library string The library's path.
---@return string?
function M.proxy(library)
  for _, folder in ipairs({ vim.fs.dirname(library), require("acp.native").root() .. "/lib" }) do
    local path = folder .. "/acp-mcp"
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
end

return M
