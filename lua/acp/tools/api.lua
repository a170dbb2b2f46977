--- The functions `require("acp").tools`: the tools for agents.

local args = require("acp.args")

---@class acp.tools.api
local M = {}

--- Returns all tools, sorted by name.
---@return acp.ToolInfo[]
function M.list()
  return require("acp.tools").list()
end

--- Calls `deed` with a tool's name; raises an error if there is no such tool.
---@param name string The function's.
---@param tool any
---@param deed fun(tool: string): boolean
local function with_tool(name, tool, deed)
  if type(tool) ~= "string" or not deed(tool) then
    args.bad(("tools.%s: name"):format(name), "the name of a tool", tool, 1)
  end
end

--- Switches a tool on until Neovim ends.
---@param name string
function M.enable(name)
  with_tool("enable", name, function(tool)
    return require("acp.tools").switch(tool, true)
  end)
end

--- Switches a tool off until Neovim ends.
---@param name string
function M.disable(name)
  with_tool("disable", name, function(tool)
    return require("acp.tools").switch(tool, false)
  end)
end

--- Removes a tool; a built-in tool that it replaced comes back.
---@param name string
function M.remove(name)
  with_tool("remove", name, require("acp.tools").remove)
end

return M
