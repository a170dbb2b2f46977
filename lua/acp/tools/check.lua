--- Validates the spec of a tool.
---
--- Invariant: the first error is reported with its path in the spec and the expected value. The
--- library checks whether `parameters` is a valid JSON Schema.

local kinds = require("acp.kinds")

local M = {}

M.permissions = { "allow", "ask", "reject" }

---@param values string[]
---@return string
local function one_of(values)
  local quoted = vim.tbl_map(function(value)
    return ("%q"):format(value)
  end, values)
  local last = table.remove(quoted)
  return table.concat(quoted, ", ") .. " or " .. last
end

---@param value any
---@return boolean
local function is_text(value)
  return type(value) == "string" and value:find("%S") ~= nil
end

---@param value any
---@return boolean
local function is_object(value)
  return type(value) == "table" and (next(value) == nil or not vim.islist(value))
end

---@param value any
---@return boolean
local function is_callable(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and type(meta.__call) == "function"
end

--- The expected value of each field; `optional` lists the fields that may be absent.
---@type {[1]: string, [2]: string, [3]: fun(value: any): boolean}[]
local fields = {
  {
    "name",
    "1 to 64 of the characters a-z, A-Z, 0-9, _ and -",
    function(value)
      return type(value) == "string" and #value <= 64 and value:find("^[%w_-]+$") ~= nil
    end,
  },
  { "title", "a text or nil", is_text },
  { "description", "a text that tells the agent what the tool does", is_text },
  { "parameters", "a JSON Schema, as a table, or nil", is_object },
  {
    "read_only",
    "boolean or nil",
    function(value)
      return type(value) == "boolean"
    end,
  },
  {
    "permission",
    one_of(M.permissions) .. ", or nil",
    function(value)
      return vim.tbl_contains(M.permissions, value)
    end,
  },
  {
    "kind",
    one_of(kinds) .. ", or nil",
    function(value)
      return vim.tbl_contains(kinds, value)
    end,
  },
  {
    "time_limit",
    "a number of seconds above 0, false or nil",
    function(value)
      return value == false or type(value) == "number" and value > 0
    end,
  },
  { "handler", "function", is_callable },
}

---@type table<string, boolean?>
local required = { name = true, description = true, handler = true }

--- Validates the schema of the arguments; returns the first error.
---@param schema table
---@return string? path
---@return string? expected
---@return any value
local function wrong_schema(schema)
  if schema.type ~= nil and schema.type ~= "object" then
    return "parameters.type", '"object"', schema.type
  elseif schema.properties ~= nil and not is_object(schema.properties) then
    return "parameters.properties", "table", schema.properties
  end
  for name, property in pairs(schema.properties or {}) do
    if type(name) ~= "string" then
      return "parameters.properties", "names as its keys", name
    elseif type(property) ~= "table" and type(property) ~= "boolean" then
      return "parameters.properties." .. name, "a JSON Schema, as a table", property
    end
  end
  local names = schema.required
  if names ~= nil and (type(names) ~= "table" or not vim.islist(names)) then
    return "parameters.required", "a list of names", names
  end
  for i, name in ipairs(names or {}) do
    if type(name) ~= "string" then
      return ("parameters.required[%d]"):format(i), "a name", name
    end
  end
end

--- Validates a spec; returns the path, the expectation and the value of the first error, or nil.
---@param spec table
---@return string? path
---@return string? expected
---@return any value
function M.wrong(spec)
  local known = {}
  for _, field in ipairs(fields) do
    local name, expected, fits = field[1], field[2], field[3]
    local value = spec[name]
    known[name] = true
    if (value ~= nil or required[name]) and not fits(value) then
      return name, expected, value
    end
  end
  for name, value in pairs(spec) do
    if not known[name] then
      return tostring(name), "no such field", value
    end
  end
  return wrong_schema(spec.parameters or {})
end

return M
