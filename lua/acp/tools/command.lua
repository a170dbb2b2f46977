--- `:Acp tools`: lists the tools, and switches them on and off.

local notify = require("acp.notify")

local M = {}

--- Formats a tool as a line of the list.
---@param tool acp.ToolInfo
---@param width integer The width of the names.
---@return string
local function line(tool, width)
  local text = ("%s %-" .. width .. "s  %-6s  %-8s  %s"):format(
    tool.enabled and "●" or "○",
    tool.name,
    tool.permission,
    tool.builtin and "built-in" or "own",
    -- The description is meant for the agent and may be long.
    tool.title or ""
  )
  return vim.trim(text)
end

--- Switches tools on or off and reports it.
---@param names string[]
---@param on boolean
local function switch(names, on)
  local tools = require("acp.tools")
  for _, name in ipairs(names) do
    if not tools.get(name) then
      error(("acp.nvim: there is no tool `%s`; `:Acp tools` lists them."):format(name), 0)
    end
  end
  for _, name in ipairs(names) do
    tools.switch(name, on)
  end
  local what = table.concat(names, ", ") .. (#names == 1 and " is " or " are ")
  notify.say(what .. (on and "offered to agents." or "no longer offered to agents."))
end

--- Lets the user choose a tool to switch.
local function pick()
  local list = require("acp.tools").list()
  if #list == 0 then
    return notify.say(
      "There are no tools for agents: `tools.builtin` is false, and none was defined."
    )
  end
  local width = 0
  for _, tool in ipairs(list) do
    width = math.max(width, #tool.name)
  end
  local is_off = not require("acp.config").get().tools.enabled
  require("acp.select")(list, {
    prompt = is_off and "Tools for agents (all off: `tools.enabled`)"
      or "Choose a tool to switch on or off",
    kind = "acp-tool",
    ---@param tool acp.ToolInfo
    format_item = function(tool)
      return line(tool, width)
    end,
  }, function(tool)
    if tool then
      notify.guarded(function()
        switch({ tool.name }, not tool.enabled)
      end)
    end
  end)
end

--- Runs `:Acp tools`.
---@param args string[]
function M.run(args)
  local action = args[1]
  if not action then
    pick()
  elseif (action == "enable" or action == "disable") and args[2] then
    switch(vim.list_slice(args, 2), action == "enable")
  else
    error(
      "acp.nvim: use `:Acp tools`, `:Acp tools enable NAME ...` or `:Acp tools disable NAME ...`.",
      0
    )
  end
end

--- Completes the arguments of `:Acp tools`.
---@param rest string The arguments so far.
---@return string[]
function M.words(rest)
  local words = vim.split(rest, "%s+")
  if #words == 1 then
    return { "disable", "enable" }
  elseif words[1] ~= "enable" and words[1] ~= "disable" then
    return {}
  end
  local names, named = {}, vim.list_slice(words, 2, #words - 1)
  for _, tool in ipairs(require("acp.tools").list()) do
    local is_of_use = tool.enabled == (words[1] == "disable")
    if is_of_use and not vim.list_contains(named, tool.name) then
      table.insert(names, tool.name)
    end
  end
  return names
end

return M
