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

local path = {
  type = "string",
  description = "The file: absolute, or relative to the session's folder.",
}
local line = { type = "integer", minimum = 1, description = "The line, counted from 1." }
local limit = {
  type = "integer",
  minimum = 1,
  maximum = 2000,
  description = "How many come back at most.",
}

--- Returns the properties of a position, and others.
---@param more? table<string, table>
---@return table<string, table>
local function at_place(more)
  return vim.tbl_extend("error", {
    path = path,
    line = line,
    symbol = {
      type = "string",
      description = "The symbol as it stands on that line, such as a function's name. Of `a.b` it is "
        .. "`b` that counts. Simpler and safer than `column`.",
    },
    occurrence = {
      type = "integer",
      minimum = 1,
      description = "Which one, if the symbol is on that line more than once; 1 without it.",
    },
    column = {
      type = "integer",
      minimum = 1,
      description = "Instead of `symbol`: the column, counted from 1, in bytes of UTF-8.",
    },
  }, more or {})
end

---@param more? table<string, table>
---@return table<string, table>
local function at_range(more)
  return at_place(vim.tbl_extend("error", {
    end_line = {
      type = "integer",
      minimum = 1,
      description = "The last line of a range, counted from 1; the same line without it.",
    },
    kind = {
      type = "string",
      description = "Only this kind and what is below it: `quickfix`, `refactor`, `refactor.extract`, "
        .. "`source.organizeImports`, `source.fixAll` …",
    },
  }, more or {}))
end

return {
  {
    name = "definition",
    title = "Find a definition",
    description = "Finds where a symbol is defined, by the language servers of the user's editor: exact, "
      .. "where a text search finds every word that looks the same. Use it rather than grep to see "
      .. "which of several functions of a name is meant, or to find what a library defines. Unsaved "
      .. "changes count.",
    parameters = object(
      { "path", "line" },
      at_place({
        kind = {
          type = "string",
          enum = { "definition", "declaration", "type_definition", "implementation" },
          description = "What to find; `definition` without it. `implementation` finds what "
            .. "implements an interface or an abstract method.",
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
    description = "Finds all uses of a symbol in the project, by the language servers of the user's "
      .. "editor: only what really means that symbol, no comments, strings or namesakes. Use it "
      .. "rather than grep before you change a function's signature or remove something. Unsaved "
      .. "changes count.",
    parameters = object(
      { "path", "line" },
      at_place({
        include_declaration = {
          type = "boolean",
          description = "Whether the declaration counts; true without it.",
        },
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
    description = "Tells a symbol's type, signature and documentation, as the language servers of the "
      .. "user's editor know them, in markdown. Use it for the type of a variable, or how a function "
      .. "of a library is called, rather than reading its source.",
    parameters = object({ "path", "line" }, at_place()),
    read_only = true,
    kind = "read",
    handler = handler("queries", "hover"),
  },
  {
    name = "symbols",
    title = "List symbols",
    description = "Lists the functions, classes, methods and the like of a file with their lines, nested "
      .. "as they are; or finds symbols of the whole project by their names. Use it to get an "
      .. "outline of a large file instead of reading it, and to find where something with a known "
      .. "name is, rather than grep.",
    parameters = object({}, {
      path = {
        type = "string",
        description = "Of which file: absolute, or relative to the session's folder. Without it: of "
          .. "the project, and `query` is needed.",
      },
      query = {
        type = "string",
        description = "What is part of the name. Of the project, servers may match more loosely.",
      },
      limit = limit,
    }),
    read_only = true,
    kind = "search",
    handler = handler("symbols", "symbols"),
  },
  {
    name = "rename",
    title = "Rename a symbol",
    description = "Renames a symbol in all files of the project, by a language server of the user's "
      .. "editor: every use of it and nothing else. Use it rather than replacing text file by file. "
      .. "The user reviews the changes. Files are not renamed.",
    parameters = object(
      { "path", "line", "new_name" },
      at_place({
        new_name = { type = "string", minLength = 1, description = "What it is to be called." },
      })
    ),
    kind = "edit",
    handler = handler("rename", "rename"),
  },
  {
    name = "code_actions",
    title = "List code actions",
    description = "Lists what the language servers of the user's editor offer to do about some lines, by "
      .. "title: fixes of errors and warnings, missing imports, refactorings. Use it when there is a "
      .. "diagnostic, or to organize imports. `code_action` carries one out. With `symbol` or "
      .. "`column` it is about that place alone, else about whole lines.",
    parameters = object({ "path", "line" }, at_range()),
    read_only = true,
    kind = "read",
    handler = handler("actions", "code_actions"),
  },
  {
    name = "code_action",
    title = "Carry out a code action",
    description = "Carries out one of the code actions that `code_actions` lists, for the same place. "
      .. "The user reviews the changes. What does not come down to changed files is refused.",
    parameters = object(
      { "path", "line", "title" },
      at_range({
        title = {
          type = "string",
          minLength = 1,
          description = "The title, exactly as `code_actions` has it.",
        },
      })
    ),
    kind = "edit",
    handler = handler("actions", "code_action"),
  },
}
