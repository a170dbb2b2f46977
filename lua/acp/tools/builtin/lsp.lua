--- The specs of the tools that use language servers.
---
--- Their handlers are in the files of lsp/, loaded on the first call.

--- Returns a handler that calls a function of a file of lsp/.
---@param file string
---@param name string
---@return fun(args: table, ctx: acp.ToolContext): any
local function handler(file, name)
  return function(args, ctx)
    return require("acp.tools.builtin.lsp." .. file)[name](args, ctx)
  end
end

--- Returns a schema with these properties and required names.
---@param required string[]
---@param properties table<string, table>
---@return table
local function object(required, properties)
  return {
    type = "object",
    properties = properties,
    required = required,
    additionalProperties = false,
  }
end

local path = { type = "string", description = "File." }
local line = { type = "integer", minimum = 1, description = "From 1." }
local limit = { type = "integer", minimum = 1, description = "Maximum." }

--- Returns the properties of a position, and others.
---@param more? table<string, table>
---@return table<string, table>
local function at_place(more)
  return vim.tbl_extend("error", {
    path = path,
    line = line,
    symbol = { type = "string", description = "Name on that line." },
    occurrence = { type = "integer", minimum = 1, description = "If repeated." },
    column = { type = "integer", minimum = 1, description = "Instead of symbol." },
  }, more or {})
end

---@param more? table<string, table>
---@return table<string, table>
local function at_range(more)
  return at_place(vim.tbl_extend("error", {
    end_line = { type = "integer", minimum = 1, description = "Last line." },
    -- Not `kind`: SDKs that make a class of each schema have a field of that name.
    only = { type = "string", description = "Kind: quickfix, refactor, source.organizeImports …" },
  }, more or {}))
end

return {
  {
    name = "definition",
    title = "Find a definition",
    description = "Finds where a symbol is defined. Prefer it to grep.",
    parameters = object(
      { "path", "line" },
      at_place({
        only = {
          type = "string",
          enum = { "definition", "declaration", "type_definition", "implementation" },
          description = "Default: definition.",
        },
        limit = limit,
      })
    ),
    read_only = true,
    kind = "read",
    handler = handler("queries", "definition"),
  },
  {
    name = "references",
    title = "Find references",
    description = "Finds the uses of a symbol. Use it before changing one.",
    parameters = object(
      { "path", "line" },
      at_place({
        include_declaration = { type = "boolean", description = "Default: true." },
        limit = limit,
      })
    ),
    read_only = true,
    kind = "read",
    handler = handler("queries", "references"),
  },
  {
    name = "hover",
    title = "Look up a symbol",
    description = "Returns a symbol's type and documentation. Use it for library calls.",
    parameters = object({ "path", "line" }, at_place()),
    read_only = true,
    kind = "read",
    handler = handler("queries", "hover"),
  },
  {
    name = "symbols",
    title = "List symbols",
    description = "Outlines a file, or finds symbols by name. Prefer it to grep.",
    parameters = object({}, {
      path = { type = "string", description = "File; default: project." },
      query = { type = "string", description = "Part of the name." },
      limit = limit,
    }),
    read_only = true,
    kind = "search",
    handler = handler("symbols", "symbols"),
  },
  {
    name = "rename",
    title = "Rename a symbol",
    description = "Renames a symbol in all files. Prefer it to replacing text.",
    parameters = object(
      { "path", "line", "new_name" },
      at_place({ new_name = { type = "string", minLength = 1, description = "New name." } })
    ),
    kind = "edit",
    handler = handler("rename", "rename"),
  },
  {
    name = "code_actions",
    title = "List code actions",
    description = "Lists fixes and refactorings for some lines. Use it on diagnostics.",
    parameters = object({ "path", "line" }, at_range()),
    read_only = true,
    kind = "read",
    handler = handler("actions", "code_actions"),
  },
  {
    name = "code_action",
    title = "Carry out a code action",
    description = "Applies an action that code_actions lists for the same place, for review.",
    parameters = object(
      { "path", "line", "title" },
      at_range({
        title = { type = "string", minLength = 1, description = "Its exact title." },
      })
    ),
    kind = "edit",
    handler = handler("actions", "code_action"),
  },
}
