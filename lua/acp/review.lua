--- The functions `require("acp").review`: hunks, and decisions about them.

local args = require("acp.args")

---@class acp.review
local M = {}

---@alias acp.Scope "hunk"|"file"|"turn"|"all"|acp.Rows

--- Rows of the current buffer, 0-based.
---@class acp.Rows
---@field first integer
---@field last integer The row after the last one.

--- A hunk to review. Rows are 0-based.
---@class acp.Hunk
---@field path string Absolute.
---@field row integer The first row in the current file.
---@field count integer Its number of lines there; 0 if lines were only removed.
---@field old string[]
---@field new string[]
---@field state string

---@type table<string, boolean?>
local scopes = { hunk = true, file = true, turn = true, all = true }

---@param name string
---@param scope any
---@return acp.Scope
local function checked_scope(name, scope)
  scope = scope == nil and "hunk" or scope
  if type(scope) == "table" then
    for _, key in ipairs({ "first", "last" }) do
      local row = scope[key]
      if not args.is_count(row) and row ~= 0 then
        args.bad(("%s: scope.%s"):format(name, key), "a row", row, 1)
      end
    end
  elseif not scopes[scope] then
    args.bad(name .. ": scope", '"hunk", "file", "turn", "all" or rows', scope, 1)
  end
  return scope
end

--- Accepts the hunk at the cursor, lines of hunks, all hunks of the current buffer, those of the
--- last turn, or all.
---@param scope? acp.Scope Default: "hunk".
function M.accept(scope)
  scope = checked_scope("review.accept", scope)
  require("acp.native").load().accept(scope)
end

--- Rejects the hunk at the cursor, lines of hunks, all hunks of the current buffer, those of the
--- last turn, or all.
---@param scope? acp.Scope Default: "hunk".
function M.reject(scope)
  scope = checked_scope("review.reject", scope)
  require("acp.native").load().reject(scope)
end

--- Undoes the last decision: its hunks are to be reviewed again.
function M.undo()
  require("acp.native").load().undo_decision()
end

--- Undoes the file changes of the last turn that made any, or brings an undone turn back.
---@param opts? {confirm?: boolean, back?: boolean} By default, asks first.
function M.undo_turn(opts)
  if opts ~= nil and type(opts) ~= "table" then
    args.bad("review.undo_turn: opts", "table or nil", opts)
  end
  opts = opts or {}
  for _, key in ipairs({ "confirm", "back" }) do
    if opts[key] ~= nil and type(opts[key]) ~= "boolean" then
      args.bad("review.undo_turn: opts." .. key, "boolean or nil", opts[key])
    end
  end
  local step = opts.back and "back" or opts.confirm == false and "undo" or "ask"
  require("acp.native").load().undo_turn(step)
end

--- Does not send the rejected hunks to the agent with the next prompt.
function M.drop_feedback()
  require("acp.native").load().drop_feedback()
end

--- Goes to the next hunk.
function M.next()
  require("acp.native").load().next()
end

--- Goes to the previous hunk.
function M.prev()
  require("acp.native").load().prev()
end

--- Returns the hunks of a buffer (0: the current one), or of all files.
---@param opts? {buf?: integer}
---@return acp.Hunk[]
function M.hunks(opts)
  if opts ~= nil and type(opts) ~= "table" then
    args.bad("review.hunks: opts", "table or nil", opts)
  end
  local buf = opts and opts.buf
  if buf ~= nil and (type(buf) ~= "number" or not vim.api.nvim_buf_is_valid(buf)) then
    args.bad("review.hunks: opts.buf", "a buffer's number or nil", buf)
  elseif buf == 0 then
    buf = vim.api.nvim_get_current_buf()
  end
  local native = require("acp.loaded")()
  return native and native.hunks(buf) or {}
end

return M
