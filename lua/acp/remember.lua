--- Values of options that the user wants in the new sessions of an agent, in the state folder.
---
--- The file has the keys of the configuration: `{ "claude": { "mode": "plan", "options": {…} } }`.
--- A file that cannot be read is reported and left as it is.

local M = {}

---@class acp.Remembered
---@field mode string?
---@field model string?
---@field options table<string, string|boolean>?

---@return string
local function file()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "acp.nvim", "options.json")
end

--- Returns why a value of the file has another form.
---@param all any
---@return string?
local function mistake(all)
  if type(all) ~= "table" or (vim.islist(all) and #all > 0) then
    return "it has no agents"
  end
  for agent, one in pairs(all) do
    if type(one) ~= "table" or (one.options ~= nil and type(one.options) ~= "table") then
      return ("%s: expected an object"):format(agent)
    end
    for key, value in pairs(vim.tbl_extend("keep", { options = "" }, one)) do
      if type(value) ~= "string" then
        return ("%s.%s: expected a text"):format(agent, key)
      end
    end
    for id, value in pairs(one.options or {}) do
      if type(value) ~= "string" and type(value) ~= "boolean" then
        return ("%s.options.%s: expected a text or a boolean"):format(agent, id)
      end
    end
  end
end

--- Returns what is remembered, by agent.
---@return table<string, acp.Remembered>? # `nil` with a sentence that says why.
---@return string?
local function read()
  local path = file()
  local handle, why = io.open(path, "r")
  if not handle then
    if not vim.uv.fs_stat(path) then
      return {}
    end
    return nil, ("The remembered options cannot be read: %s."):format(why)
  end
  local text = handle:read("*a") or ""
  handle:close()
  local ok, all = pcall(vim.json.decode, text, { luanil = { object = true } })
  local wrong = not ok and tostring(all) or mistake(all)
  if wrong then
    local left = "The file is left as it is: repair or delete it."
    return nil, ("The remembered options in %s cannot be read (%s). %s"):format(path, wrong, left)
  end
  return all --[[@as table<string, acp.Remembered>]]
end

--- Writes what is remembered; a reader sees the file before or after, whole.
---@param all table<string, acp.Remembered>
---@return string? problem
local function write(all)
  local path = file()
  local new = ("%s.%d"):format(path, vim.fn.getpid())
  -- What is wrong with the folder is said by the next step.
  pcall(vim.fn.mkdir, vim.fs.dirname(path), "p")
  local handle, why = io.open(new, "w")
  if handle then
    local is_written, full = handle:write(vim.json.encode(all))
    local is_whole, fuller = handle:close()
    if is_written and is_whole then
      _, why = os.rename(new, path)
    else
      why = full or fuller
    end
    if why then
      os.remove(new)
    end
  end
  return why and ("It is not remembered, because the file cannot be written: %s."):format(why)
end

--- Returns the values for a new session of an agent; a broken file is reported once.
---@param agent string
---@return acp.Remembered?
function M.of(agent)
  local all, why = read()
  if not all then
    vim.notify_once("acp.nvim: " .. why, vim.log.levels.WARN)
  end
  return all and all[agent]
end

--- Returns the value remembered for an option.
---@param agent string
---@param option acp.Option
---@param key "mode"|"model"? The key for the session's mode or model.
---@return string|boolean|nil
function M.value(agent, option, key)
  local one = (read() or {})[agent] or {}
  if key then
    return one[key]
  end
  return (one.options or {})[option.id]
end

--- Remembers the value of an option, or forgets it.
---@param agent string
---@param option acp.Option
---@param key "mode"|"model"?
---@param value string|boolean|nil
---@return string? problem
function M.set(agent, option, key, value)
  local all, why = read()
  if not all then
    return why
  end
  local one = all[agent] or {}
  all[agent] = one
  if key then
    one[key] = value
  else
    one.options = one.options or {}
    one.options[option.id] = value
    one.options = next(one.options) and one.options
  end
  all[agent] = next(one) and one
  return write(next(all) and all or vim.empty_dict())
end

return M
