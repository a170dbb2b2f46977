--- The schema of `mcp_servers`, for one agent or for all.

local field = require("acp.schema.field")

---@type acp.schema.Node
local mcp_server = {
  kind = "record",
  class = "acp.McpServer",
  closed = true,
  check = function(server)
    return require("acp.mcp").check(server)
  end,
  fields = {
    field("name", {
      kind = "string",
      required = true,
      doc = "Its name for the agent. If two servers have the same name, the one in the agent's own "
        .. "list is used.",
    }),
    field("type", {
      kind = "enum",
      values = { "stdio", "http", "sse" },
      doc = "The transport. Default: stdio with a command, http with a url.",
    }),
    field("command", {
      kind = "string",
      doc = "The program that the agent starts: a name on `$PATH` or a path.",
    }),
    field("args", { kind = "list", item = { kind = "string" }, doc = "Arguments of the command." }),
    field("env", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "Environment variables for it.",
    }),
    field("url", { kind = "string", doc = "The URL of a running server." }),
    field("headers", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "HTTP headers for it.",
    }),
  },
}

--- Returns the field for MCP servers.
---@param doc string
---@param brief boolean
---@return acp.schema.Field
return function(doc, brief)
  return field("mcp_servers", {
    kind = "list",
    item = mcp_server,
    callable = true,
    brief = brief,
    default = {},
    doc = doc,
  })
end
