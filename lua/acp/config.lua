--- The effective configuration: defaults, `vim.g.acp` and the table of `setup()`, merged.
---
--- Invariant: each key of the result has a value of its type. An invalid value is reported with its
--- full path and replaced by the next lower one (from `vim.g.acp` or the default).

local M = {}

---@class acp.config.Report
---@field problems string[] Sentences, each starting with the key's full path.
---@field unknown string[] Full paths of unknown keys.
---@field own table<string, boolean> Agents that the user's configuration names.
---@field library? string[] The problems that the library found; nil until it has the configuration.

---@type acp.Config?
local user
---@type acp.Config.Resolved?
local config
---@type acp.config.Report?
local report

--- Stores the table of `setup()`; it is merged over `vim.g.acp` when first needed.
---@param opts acp.Config?
function M.set(opts)
  user, config, report = opts, nil, nil
end

--- Returns the effective configuration. Its tables are shared and must not be changed.
---@return acp.Config.Resolved
function M.get()
  if not config then
    config, report = M.resolve({ vim.g.acp, user })
  end
  return config
end

--- Returns the problems found by the last merge.
---@return acp.config.Report
function M.report()
  M.get()
  ---@cast report -nil
  return report
end

---@param path string
---@param key any
---@return string
local function join(path, key)
  if type(key) ~= "string" then
    return ("%s[%s]"):format(path, tostring(key))
  elseif not key:find("^[%w_-]+$") then
    return ("%s[%q]"):format(path, key)
  end
  return path == "" and key or path .. "." .. key
end

---@param node acp.schema.Node
---@return string
local function expected(node)
  if node.callable then
    return "list or a function that returns one"
  elseif node.kind == "strings" and not node.values then
    return "string or list of strings"
  elseif node.kind == "enum" or node.kind == "strings" then
    local quoted = vim.tbl_map(function(value)
      return type(value) == "string" and ("%q"):format(value) or tostring(value)
    end, node.values or {})
    local last = table.remove(quoted)
    local any = table.concat(quoted, ", ") .. " or " .. last
    if node.item then
      return ("%s, or a list of %ss"):format(any, node.item.kind)
    end
    return node.kind == "strings" and any .. ", or a list of them" or any
  elseif node.above_zero then
    return "a number above 0"
  elseif node.kind == "keys" then
    return "string, list of strings or false"
  elseif node.kind == "map" or node.kind == "record" then
    return node.switch and "table or false" or "table"
  end
  return node.kind
end

---@param into acp.config.Report
---@param path string
---@param node acp.schema.Node
---@param value any
local function wrong(into, path, node, value)
  local got = type(value) ---@type string
  local is_text = node.kind == "enum" or node.kind == "keys" or node.kind == "strings"
  if is_text and got == "string" then
    got = ("%q"):format(value)
  elseif node.above_zero and got == "number" then
    got = tostring(value)
  end
  local where = path == "" and "the configuration" or path
  table.insert(into.problems, ("%s: expected %s, got %s"):format(where, expected(node), got))
end

---@param node acp.schema.Node
---@return any
local function default(node)
  if node.kind ~= "record" or node.default ~= nil then
    return vim.deepcopy(node.default)
  end
  local out = {}
  for _, field in ipairs(node.fields or {}) do
    out[field.name] = default(field)
  end
  return out
end

---@alias acp.config.Merge
---| fun(node: acp.schema.Node, base: any, value: any, path: string, into: acp.config.Report): any

---@type table<string, acp.config.Merge>
local mergers = {}

--- Merges `value` over `base`; returns `base` if `value` is nil or invalid.
---@type acp.config.Merge
local merge = function(node, base, value, path, into)
  if value == nil or value == vim.NIL then
    return base
  end
  return mergers[node.kind](node, base, value, path, into)
end

---@type acp.config.Merge
local merge_plain = function(node, base, value, path, into)
  if type(value) ~= node.kind or node.above_zero and value <= 0 then
    wrong(into, path, node, value)
    return base
  end
  return value
end
mergers.boolean, mergers.string, mergers.number = merge_plain, merge_plain, merge_plain

function mergers.enum(node, base, value, path, into)
  if node.item and type(value) == "table" then
    return mergers.list(node, base, value, path, into)
  end
  local instead = node.gone and node.gone[value]
  if instead then
    table.insert(into.problems, ("%s: %s"):format(path, instead))
    return base
  elseif not vim.tbl_contains(node.values, value) then
    wrong(into, path, node, value)
    return base
  end
  return value
end

function mergers.keys(node, base, value, path, into)
  if value == false then
    return {}
  end
  local list = type(value) == "table" and value or { value }
  local strings = vim.islist(list)
  for _, key in ipairs(strings and list or {}) do
    -- An empty string cannot be mapped.
    strings = strings and type(key) == "string" and key ~= ""
  end
  if not strings then
    wrong(into, path, node, value)
    return base
  end
  return list
end

function mergers.strings(node, base, value, path, into)
  local list = type(value) == "table" and value or { value }
  local fits = vim.islist(list) and #list > 0
  for _, text in ipairs(fits and list or {}) do
    local is_text = type(text) == "string" and text ~= ""
    fits = fits and is_text and (not node.values or vim.tbl_contains(node.values, text))
  end
  if not fits then
    wrong(into, path, node, value)
    return base
  end
  return value
end

--- Returns the value for an invalid list: empty if the list is strict, else `base`.
---@param node acp.schema.Node
---@param base any
---@return any
local function without_strict(node, base)
  if node.strict then
    return {}
  end
  for _, field in ipairs(base and node.fields or {}) do
    base[field.name] = without_strict(field, base[field.name])
  end
  return base
end

--- Replaces the lower list completely, or not if any item is invalid.
function mergers.list(node, base, value, path, into)
  if node.callable and type(value) == "function" then
    return value
  end
  if type(value) ~= "table" or not vim.islist(value) then
    wrong(into, path, node, value)
    return without_strict(node, base)
  end
  local problems = #into.problems
  for i, item in ipairs(value) do
    if node.item then
      merge(node.item, nil, item, join(path, i), into)
    end
  end
  if #into.problems > problems then
    return without_strict(node, base)
  end
  return value
end

--- Returns the keys of a table in order, whatever their types.
---@param value any
---@return any[]
local function sorted_keys(value)
  local keys = vim.tbl_keys(value)
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return keys
end

function mergers.map(node, base, value, path, into)
  if type(value) ~= "table" then
    wrong(into, path, node, value)
    return base
  end
  local out = vim.deepcopy(base or {})
  for _, key in ipairs(sorted_keys(value)) do
    local item = value[key]
    if type(key) ~= "string" or node.item and key:find("^%S+$") == nil then
      local text = "%s: expected a name without blanks as the key"
      table.insert(into.problems, text:format(join(path, key)))
    elseif node.item then
      out[key] = merge(node.item, out[key], item, join(path, key), into)
    else
      out[key] = item
    end
  end
  return out
end

function mergers.record(node, base, value, path, into)
  local off, before = node.switch and value == false, #into.problems
  if type(value) ~= "table" and not off then
    wrong(into, path, node, value)
    return without_strict(node, base)
  end
  local out, known = base or default(node), {}
  for _, field in ipairs(node.fields) do
    local given, at = value and value[field.name], join(path, field.name)
    if off then
      given = nil
      if field.kind == "keys" or field.kind == "boolean" then
        given = false
      end
    end
    local problems = #into.problems
    out[field.name] = merge(field, out[field.name], given, at, into)
    known[field.name] = true
    local other = type(field.required) == "string" and field.required
    local has_other = other and type(out[other] or value[other]) == "string"
    if field.required and out[field.name] == nil and not has_other then
      if #into.problems == problems then
        wrong(into, at, field, given)
      end
      return nil
    end
  end
  for _, key in ipairs(sorted_keys(value or {})) do
    if not known[key] and node.closed then
      local text = "%s: unknown key"
      table.insert(into.problems, text:format(join(path, key)))
    elseif not known[key] then
      table.insert(into.unknown, join(path, key))
    end
  end
  if node.check and #into.problems == before then
    local key, why = node.check(out)
    if key and why then
      table.insert(into.problems, ("%s: %s"):format(key == "" and path or join(path, key), why))
    end
  end
  return out
end

--- Gives an agent with a URL the program that reaches it.
---@param agent acp.Agent.Resolved
local function bridged(agent)
  agent.command, agent.args = "acp-agui", { agent.url }
  agent.install = agent.install or "run `./install.sh` in the plugin's folder"
  if next(agent.headers) then
    -- The environment, unlike arguments, is hidden from other users.
    agent.env.ACP_AGUI_HEADERS = vim.json.encode(agent.headers)
  end
end

--- Validates the list of MCP servers that a configured function returned.
---@param value any
---@param path string
---@return acp.McpServer[]
---@return string[] problems
function M.mcp_servers(value, path)
  local field ---@type acp.schema.Node?
  for _, candidate in ipairs(require("acp.schema").fields or {}) do
    field = candidate.name == "mcp_servers" and candidate or field
  end
  ---@type acp.config.Report
  local into = { problems = {}, unknown = {}, own = {} }
  if type(value) == "function" then
    value = {}
    table.insert(into.problems, ("%s: the function returned a function"):format(path))
  end
  return merge(assert(field), {}, value, path, into), into.problems
end

---@param path string
---@return string
local function absolute(path)
  local full = vim.fn.fnamemodify(vim.fs.normalize(path), ":p")
  return #full > 1 and (full:gsub("/$", "")) or full
end

--- Returns a rule with `~` in its globs replaced by the home folder.
---@param rule acp.Rule
---@param home string
---@return acp.Rule
local function with_home(rule, home)
  if not rule.path then
    return rule
  end
  local paths = type(rule.path) == "table" and rule.path or { rule.path }
  ---@cast paths string[]
  local function full(glob)
    return glob:find("^~/") and home .. glob:sub(2) or glob
  end
  local out = vim.deepcopy(rule)
  out.path = vim.tbl_map(full, paths)
  return out
end

--- Merges the user's tables over the defaults; later tables take precedence.
---@param layers table<integer, any> Each of the two may be nil.
---@return acp.Config.Resolved
---@return acp.config.Report
function M.resolve(layers)
  local schema = require("acp.schema")
  ---@type acp.config.Report
  local into = { problems = {}, unknown = {}, own = {} }
  local out = default(schema)
  for i = 1, 2 do
    local layer = layers[i]
    out = merge(schema, out, layer, "", into)
    local agents = type(layer) == "table" and layer.agents
    for name in pairs(type(agents) == "table" and agents or {}) do
      into.own[name] = out.agents[name] and true
    end
  end

  local name = out.default_agent
  if name and not out.agents[name] then
    local known = table.concat(vim.fn.sort(vim.tbl_keys(out.agents)), ", ")
    local text = "default_agent: unknown agent %q; expected one of %s"
    table.insert(into.problems, text:format(name, known))
    out.default_agent = nil
  end
  out.library = out.library and absolute(out.library)
  out.permissions.allowed_dirs = vim.tbl_map(absolute, out.permissions.allowed_dirs)
  local home = vim.fs.normalize("~")
  out.permissions.rules = vim.tbl_map(function(rule)
    return with_home(rule, home)
  end, out.permissions.rules)
  for _, agent in pairs(out.agents) do
    if agent.url then
      bridged(agent)
    end
    agent.cwd = agent.cwd and absolute(agent.cwd)
    agent.additional_dirs = vim.tbl_map(absolute, agent.additional_dirs)
  end
  table.sort(into.unknown)
  return out, into
end

return M
