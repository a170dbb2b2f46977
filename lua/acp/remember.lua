--- Values of options that the user wants in the new sessions of an agent, in the state folder.
---
--- The file has the keys of the configuration: `{ "claude": { "mode": "plan", "options": {…} } }`.
--- A file that cannot be read is reported and left as it is. Threads read and write it: the main
--- thread never waits for the disk.

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

--- Returns the text of a file; runs in a separate thread.
local function read_file(path)
  local handle, why = io.open(path, "r")
  local text = handle and handle:read("*a")
  if handle then
    handle:close()
  end
  -- A file that does not exist has nothing.
  return text, not text and vim.uv.fs_stat(path) and why or nil
end

--- Writes a file, in a separate thread; a reader sees the old or the new text, whole.
local function write_file(path, new, text)
  for at in path:gmatch("()/") do
    -- The next step reports an error of the folder.
    vim.uv.fs_mkdir(path:sub(1, at - 1), 448)
  end
  local handle, why = io.open(new, "w")
  if handle then
    local is_written, full = handle:write(text)
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
  return why
end

--- Calls a function with texts in a thread, and then `done` with its results.
---@param call fun(...: string): string?, string?
---@param done fun(result: string?, why: string?)
---@param ... string
local function in_thread(call, done, ...)
  vim.uv.new_work(call, vim.schedule_wrap(done)):queue(...)
end

--- Passes the remembered options on, by agent, or `nil` with the reason.
---@param done fun(all: table<string, acp.Remembered>?, why: string?)
local function read(done)
  local path = file()
  in_thread(read_file, function(text, why)
    if why then
      return done(nil, ("The remembered options cannot be read: %s."):format(why))
    end
    local ok, all = pcall(vim.json.decode, text or "{}", { luanil = { object = true } })
    local wrong = not ok and tostring(all) or mistake(all)
    if wrong then
      local left = "The file is left as it is: repair or delete it."
      wrong = ("The remembered options in %s cannot be read (%s). %s"):format(path, wrong, left)
      return done(nil, wrong)
    end
    done(all --[[@as table<string, acp.Remembered>]])
  end, path)
end

--- Passes on the values for a new session of an agent; a broken file is reported once.
---@param agent string
---@param done fun(values: acp.Remembered?)
function M.of(agent, done)
  read(function(all, why)
    if not all then
      vim.notify_once("acp.nvim: " .. why, vim.log.levels.WARN)
    end
    done(all and all[agent])
  end)
end

--- Passes on the value remembered for an option.
---@param agent string
---@param option acp.Option
---@param key "mode"|"model"? The key for the session's mode or model.
---@param done fun(value: string|boolean|nil)
function M.value(agent, option, key, done)
  read(function(all)
    local one = (all or {})[agent] or {}
    if key then
      return done(one[key])
    end
    done((one.options or {})[option.id])
  end)
end

--- Remembers the value of an option, or forgets it.
---@param agent string
---@param option acp.Option
---@param key "mode"|"model"?
---@param value string|boolean|nil
---@param done fun(problem: string?)
function M.set(agent, option, key, value, done)
  read(function(all, why)
    if not all then
      return done(why)
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
    local text = vim.json.encode(next(all) and all or vim.empty_dict())
    local new = ("%s.%d"):format(file(), vim.fn.getpid())
    in_thread(write_file, function(failure)
      local problem = "The value was not remembered: %s cannot be written (%s)."
      done(failure and problem:format(file(), failure))
    end, file(), new, text)
  end)
end

return M
