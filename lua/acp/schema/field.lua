--- A node of the configuration's schema: what `acp.config` and `tools/gen-help.lua` read.

---@class acp.schema.Node
---@field kind "boolean"|"string"|"number"|"enum"|"strings"|"list"|"map"|"record"|"keys"
---@field doc? string
---@field default? any For all kinds except records and maps of records.
---@field required? boolean|string A record without it, or the field named instead, is dropped.
---@field values? (string|boolean)[] For an enum, or to restrict strings.
---@field gone? table<string, string> For an enum: what to write instead of a former value.
---@field item? acp.schema.Node For a list or a map; without it, values are not checked. For an enum:
--- also accepts a list of these.
---@field fields? acp.schema.Field[] For a record, in the order of the help.
---@field class? string For a record: the name of its type.
---@field placeholder? string For a map: the name of a key in the help.
---@field strict? boolean For a list: any invalid item makes it empty.
---@field closed? boolean For a record: keys outside `fields` are errors.
---@field check? fun(record: table): string?, string? For a record: the invalid key and the reason.
---@field switch? boolean For a record: `false` disables all its keys.
---@field above_zero? boolean For a number.
---@field callable? boolean For a list: also accepts a function that returns one.
---@field brief? boolean For a list: its items are documented elsewhere in the help.

---@class acp.schema.Field: acp.schema.Node
---@field name string

--- Returns a record's field: the node with its name.
---@param name string
---@param node acp.schema.Node
---@return acp.schema.Field
return function(name, node)
  ---@cast node acp.schema.Field
  node.name = name
  return node
end
