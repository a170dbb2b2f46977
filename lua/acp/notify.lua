--- Messages to the user.

local M = {}

--- Shows a message.
---@param text string
---@param level? integer Default: information.
function M.say(text, level)
  vim.notify("acp.nvim: " .. text, level or vim.log.levels.INFO)
end

--- Runs `work` and shows an error as a message without a traceback.
---@param work fun()
function M.guarded(work)
  local ok, problem = pcall(work)
  if not ok then
    local text = require("acp.native").message(problem)
    -- Errors of the library are also meant for scripts and lack the plugin's name.
    text = vim.startswith(text, "acp.nvim") and text or "acp.nvim: " .. text
    vim.notify(text, vim.log.levels.ERROR)
  end
end

return M
