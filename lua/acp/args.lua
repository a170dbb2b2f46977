--- Checks the arguments of the public functions, and raises errors at their callers.

local M = {}

--- Raises an error about an invalid argument at the call of the public function.
---@param name string The names of the function and the argument.
---@param expected string
---@param value any
---@param depth? integer Number of the plugin's functions in between; default 0.
function M.bad(name, expected, value, depth)
  local got = type(value) ---@type string
  if got == "string" then
    got = ("%q"):format(value)
  elseif got == "number" then
    got = tostring(value)
  end
  error(("acp.%s: expected %s, got %s"):format(name, expected, got), 3 + (depth or 0))
end

---@param value any
---@return boolean
function M.is_count(value)
  return type(value) == "number" and value > 0 and value % 1 == 0
end

--- Returns the session that `opts` names.
---@param name string The function's.
---@param opts? acp.SessionOpts
---@return acp.Session?
function M.session_of(name, opts)
  if opts ~= nil and type(opts) ~= "table" then
    M.bad(name .. ": opts", "table or nil", opts, 1)
  end
  local session = opts and opts.session
  if session ~= nil and not M.is_count(session) then
    M.bad(name .. ": opts.session", "a session's number or nil", session, 1)
  end
  return session
end

return M
