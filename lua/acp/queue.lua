--- The functions `require("acp").queue`: the queued prompts of a session.

local args = require("acp.args")

---@class acp.queue
local M = {}

--- A queued prompt.
---@class acp.Queued
---@field id integer
---@field text string

--- Runs an action on a queued prompt.
---@param name "edit"|"remove"|"send"|"move"
---@param id integer
---@param opts? acp.SessionOpts
---@param by? integer
local function queue_act(name, id, opts, by)
  if not args.is_count(id) then
    args.bad(("queue.%s: id"):format(name), "the number of a queued prompt", id, 1)
  end
  local session = args.session_of("queue." .. name, opts)
  require("acp.native").load().queue_act(session, id, name, by)
end

--- Returns the queued prompts of a session, the next one first.
---@param opts? acp.SessionOpts
---@return acp.Queued[]
function M.list(opts)
  local session = args.session_of("queue.list", opts)
  local native = require("acp.loaded")()
  if not native or native.status(session).phase == "none" then
    return {}
  end
  return native.queue_list(session)
end

--- Moves a queued prompt back to the input.
---@param id integer
---@param opts? acp.SessionOpts
function M.edit(id, opts)
  queue_act("edit", id, opts)
end

--- Removes a queued prompt.
---@param id integer
---@param opts? acp.SessionOpts
function M.remove(id, opts)
  queue_act("remove", id, opts)
end

--- Cancels the running turn and sends a queued prompt.
---@param id integer
---@param opts? acp.SessionOpts
function M.send(id, opts)
  queue_act("send", id, opts)
end

--- Moves a queued prompt to a later or earlier position.
---@param id integer
---@param by integer The number of positions; negative: earlier.
---@param opts? acp.SessionOpts
function M.move(id, by, opts)
  local places = by ---@type any
  if type(places) ~= "number" or places % 1 ~= 0 then
    args.bad("queue.move: by", "a number of positions", places)
  end
  queue_act("move", id, opts, by)
end

return M
