--- The functions `require("acp").elicitation`: the open forms and pages of agents.

local args = require("acp.args")

---@class acp.elicitation
local M = {}

--- An open form or page.
---@class acp.Elicitation
---@field id integer
---@field session acp.Session
---@field message string
---@field mode "form"|"url"
---@field url? string
---@field fields? acp.ElicitationField[]

---@class acp.ElicitationField
---@field name string
---@field title string
---@field description? string
---@field required boolean
---@field type "string"|"integer"|"number"|"boolean"|"one"|"many"|"unknown"
---@field default? any
---@field choices? {value: string, title: string}[]

---@alias acp.ElicitationAction "accept"|"decline"|"cancel"

--- Returns the open forms and pages, oldest first.
---@return acp.Elicitation[]
function M.list()
  local native = require("acp.loaded")()
  return native and native.elicitation_list() or {}
end

--- Answers an open form or page.
---
--- This does not open a page: `"accept"` says that the user has.
---@param id integer
---@param action acp.ElicitationAction
---@param content? table<string, any> Values by field name.
function M.answer(id, action, content)
  if not args.is_count(id) then
    args.bad("elicitation.answer: id", "a question's number", id)
  elseif not vim.tbl_contains({ "accept", "decline", "cancel" }, action) then
    args.bad("elicitation.answer: action", '"accept", "decline" or "cancel"', action)
  elseif content ~= nil and type(content) ~= "table" then
    args.bad("elicitation.answer: content", "table", content)
  end
  require("acp.native").load().elicitation_answer(id, action, content or {})
end

return M
