--- `:Acp mode` and `:Acp config`: set options by name or from a list.

local notify = require("acp.notify")

local M = {}

--- Maximum length of a description in a list.
local SHORT = 70

---@return acp.Native
local function native()
  return require("acp.native").load()
end

--- Returns the option for the mode or the model: the one with this id, else the first in this
--- category.
---@param options acp.Option[]
---@param purpose "mode"|"model"
---@return acp.Option?
local function option_for(options, purpose)
  for _, field in ipairs({ "id", "category" }) do
    for _, option in ipairs(options) do
      if option[field] == purpose then
        return option
      end
    end
  end
end

---@param options acp.Option[]
---@param id string
---@return acp.Option?
local function named(options, id)
  return vim.tbl_filter(function(option)
    return option.id == id
  end, options)[1]
end

--- Returns the possible values of an option.
---@param option acp.Option
---@return acp.OptionValue[]
local function values_of(option)
  if option.type == "boolean" then
    return { { id = true, name = "on" }, { id = false, name = "off" } }
  end
  return option.values
end

--- Returns the name of an option's value.
---@param option acp.Option
---@return string
local function shown(option)
  for _, value in ipairs(values_of(option)) do
    if value.id == option.value then
      return value.name
    end
  end
  return tostring(option.value)
end

--- Returns a text on one line, shortened if necessary.
---@param text string
---@return string
local function short(text)
  text = vim.trim((text:gsub("%s+", " ")))
  if vim.fn.strchars(text) <= SHORT then
    return text
  end
  return vim.fn.strcharpart(text, 0, SHORT - 1) .. "…"
end

--- Reports why there is nothing to choose from.
---@param session acp.Session?
---@param what string
local function nothing(session, what)
  local phase = native().status(session).phase
  if phase == "starting" then
    notify.say(("The agent is starting; its %s are not known yet."):format(what))
  else
    notify.say(("The agent has no %s to choose from."):format(what))
  end
end

--- Returns the key of the configuration for the mode or the model, if an option is one of them.
---@param session acp.Session
---@param option acp.Option
---@return "mode"|"model"?
local function key_of(session, option)
  local options = native().options(session)
  for _, key in ipairs({ "mode", "model" }) do
    local found = option_for(options, key)
    if found and found.id == option.id then
      return key
    end
  end
end

--- An entry of a list that is no value.
---@class acp.options.Deed
---@field text string
---@field run fun(done: fun(problem: string?))
---@field done string

--- Returns what can be done about the value that an agent's new sessions get.
---@param agent string
---@param option acp.Option
---@param key "mode"|"model"?
---@param known string|boolean|nil The remembered value.
---@return acp.options.Deed[]
local function deeds(agent, option, key, known)
  local remember = require("acp.remember")
  local what = ("%s %q"):format(option.name:lower(), shown(option))
  local all = {} ---@type acp.options.Deed[]
  if known ~= option.value then
    all[1] = {
      text = ("Remember the %s for new sessions"):format(what),
      run = function(done)
        remember.set(agent, option, key, option.value, done)
      end,
      done = ("Remembered for new sessions of %s: %s."):format(agent, what),
    }
  end
  if known ~= nil then
    table.insert(all, {
      text = ("Forget the %s of new sessions"):format(option.name:lower()),
      run = function(done)
        remember.set(agent, option, key, nil, done)
      end,
      done = ("Forgotten: the %s of new sessions of %s."):format(option.name:lower(), agent),
    })
  end
  return all
end

--- Lets the user choose an item.
---@param session acp.Session
---@param option acp.Option
---@param kind string
---@param items (acp.OptionValue|acp.options.Deed)[]
local function pick(session, option, kind, items)
  require("acp.select")(items, {
    prompt = option.name,
    kind = kind,
    ---@param item acp.OptionValue|acp.options.Deed
    format_item = function(item)
      if item.run then
        return "  " .. item.text
      end
      local text = (item.id == option.value and "● " or "  ") .. item.name
      if item.group then
        text = ("%s (%s)"):format(text, item.group)
      end
      local about = item.description and short(item.description)
      return about and about ~= "" and about ~= item.name and text .. " — " .. about or text
    end,
  }, function(item)
    if item and item.run then
      item.run(function(problem)
        local level = problem and vim.log.levels.WARN or vim.log.levels.INFO
        notify.say(problem or item.done, level)
      end)
    elseif item then
      notify.guarded(function()
        native().set_option(session, option.id, item.id)
      end)
    end
  end)
end

--- Lets the user choose an option's value, or what new sessions get.
---@param session acp.Session
---@param option acp.Option
---@param kind string
local function pick_value(session, option, kind)
  local values = values_of(option)
  if #values == 0 then
    return nothing(session, option.name:lower() .. " values")
  end
  local agent = native().status(session).agent or ""
  local key = key_of(session, option)
  require("acp.remember").value(agent, option, key, function(known)
    local items = vim.list_extend({}, values)
    pick(session, option, kind, vim.list_extend(items, deeds(agent, option, key, known)))
  end)
end

--- Sets the mode, or lets the user choose one; with `next`, switches to the next one.
---@param mode string "" to choose.
---@param next boolean
function M.mode(mode, next)
  local session = native().status(nil).session
  if next then
    return native().next_mode(session)
  elseif mode ~= "" then
    return native().set_option(session, nil, mode)
  end
  local option = option_for(native().options(session), "mode")
  if option and session then
    pick_value(session, option, "acp-mode")
  else
    nothing(session, "modes")
  end
end

--- Sets an option, or lets the user choose one, its value, or both.
---@param rest string The arguments: nothing, an option's id, or an id and a value.
function M.config(rest)
  local session = native().status(nil).session
  local options = native().options(session)
  local id, value = rest:match("^(%S+)%s*(.-)%s*$")
  if id and value and value ~= "" then
    return native().set_option(session, id, value)
  elseif not session or #options == 0 then
    return nothing(session, "options")
  elseif id then
    local option = named(options, id)
    if not option then
      -- The library's error lists the valid ones.
      return native().set_option(session, id, "")
    end
    return pick_value(session, option, "acp-option-value")
  end
  require("acp.select")(options, {
    prompt = "Options of " .. native().status(session).agent,
    kind = "acp-option",
    ---@param option acp.Option
    format_item = function(option)
      return ("%s: %s"):format(option.name, shown(option))
    end,
  }, function(option)
    if option then
      notify.guarded(function()
        pick_value(session, option, "acp-option-value")
      end)
    end
  end)
end

--- Completes the arguments of `:Acp mode` and `:Acp config`.
---@param name "mode"|"config"
---@param rest string The arguments so far.
---@return string[]
function M.complete(name, rest)
  local library = require("acp.native").loaded()
  if not library or library.status(nil).phase == "none" then
    return {}
  end
  local options = library.options(nil)
  local id, more = rest:match("^(%S+)%s+(%S*)$")
  local option ---@type acp.Option?
  if name == "mode" and not rest:find("%s") then
    option = option_for(options, "mode")
  elseif name == "config" and not rest:find("%s") then
    return vim.tbl_map(function(item)
      return item.id
    end, options)
  elseif name == "config" and more then
    option = id and named(options, id)
  end
  return vim.tbl_map(function(value)
    return type(value.id) == "string" and value.id or value.name
  end, option and values_of(option) or {})
end

return M
