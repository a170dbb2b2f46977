--- The functions `require("acp").permission`: the open permission requests.

local args = require("acp.args")

---@class acp.permission
local M = {}

---@class acp.PermissionOption
---@field optionId string
---@field name string
---@field kind string

---@class acp.Permission
---@field id integer
---@field session acp.Session
---@field title string
---@field tool_call table
---@field options acp.PermissionOption[]

--- Returns the open permission requests, oldest first.
---@return acp.Permission[]
function M.list()
  local native = require("acp.loaded")()
  return native and native.permission_list() or {}
end

--- Answers a permission request with one of its options.
---@param id integer
---@param option_id string
function M.answer(id, option_id)
  if not args.is_count(id) and id ~= 0 then
    args.bad("permission.answer: id", "a request's number", id)
  elseif type(option_id) ~= "string" then
    args.bad("permission.answer: option_id", "string", option_id)
  end
  require("acp.native").load().permission_answer(id, option_id)
end

return M
