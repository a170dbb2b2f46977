--- Determines a session's MCP servers and additional folders from the configuration.
---
--- Invariant: the result is validated; of two servers with one name, the agent's own wins over the
--- global one.

local M = {}

--- An MCP server in the library's format.
---@class acp.native.McpServer
---@field name string
---@field type "stdio"|"http"|"sse"
---@field command? string
---@field args? string[]
---@field env? table<string, string>
---@field url? string
---@field headers? table<string, string>

--- Returns the invalid key of a server ("" for the server itself) and the reason.
---@param server acp.McpServer
---@return string? key
---@return string? why
function M.check(server)
  local type = server.type or server.url and "http" or "stdio"
  if type == "stdio" then
    if not server.command then
      return "", "expected a command, or the url of a running server"
    elseif server.url or server.headers then
      return "", "a server with a command cannot have url or headers"
    end
  elseif not server.url then
    return "", ("expected a url: the type is %q"):format(type)
  elseif not server.url:find("^https?://%S+$") then
    return "url", ("expected an http or https address, got %q"):format(server.url)
  elseif server.command or server.args or server.env then
    return "", "a server with a url cannot have command, args or env"
  end
end

--- Returns the servers that a configuration key defines for a folder.
---@param given acp.McpServer[]|fun(cwd: string): acp.McpServer[]
---@param path string The key's.
---@param cwd string
---@return acp.McpServer[]
local function servers_of(given, path, cwd)
  if type(given) ~= "function" then
    return given or {}
  end
  local ok, found = pcall(given, cwd)
  local servers, problems ---@type acp.McpServer[], string[]
  if not ok then
    servers, problems = {}, { ("%s: the function failed: %s"):format(path, found) }
  else
    servers, problems = require("acp.config").mcp_servers(found, path)
  end
  if #problems > 0 then
    require("acp.notify").say(table.concat(problems, "\n  "), vim.log.levels.WARN)
  end
  return servers
end

---@param server acp.McpServer
---@return acp.native.McpServer
local function resolved(server)
  local out = {
    name = server.name,
    type = server.type or server.url and "http" or "stdio",
    args = server.args,
    env = server.env,
    url = server.url,
    headers = server.headers,
  }
  if out.type == "stdio" and server.command then
    local command = vim.fs.normalize(server.command)
    local path = vim.fn.exepath(command)
    -- A missing program is left for the agent to report, because its $PATH may differ.
    out.command = path ~= "" and path or command
  end
  return out
end

--- Returns the MCP servers of a session in `cwd`.
---@param name string The agent's.
---@param agent acp.Agent.Resolved
---@param cwd string
---@return acp.native.McpServer[]
function M.servers(name, agent, cwd)
  local config = require("acp.config").get()
  local all = vim.list_slice(servers_of(config.mcp_servers, "mcp_servers", cwd))
  local own = ("agents.%s.mcp_servers"):format(name)
  vim.list_extend(all, servers_of(agent.mcp_servers, own, cwd))
  local out, at = {}, {} ---@type acp.native.McpServer[], table<string, integer>
  for _, server in ipairs(all) do
    at[server.name] = at[server.name] or #out + 1
    out[at[server.name]] = resolved(server)
  end
  return out
end

--- Lists missing programs of servers, except those defined by functions.
---@return string[]
function M.missing()
  local config = require("acp.config").get()
  local out = {}
  local function look(given, path)
    for _, server in ipairs(type(given) == "table" and given or {}) do
      local command = server.command and vim.fs.normalize(server.command)
      if command and vim.fn.executable(command) == 0 then
        local text = "%s: the server %q needs `%s`, which was not found"
        table.insert(out, text:format(path, server.name, server.command))
      end
    end
  end
  look(config.mcp_servers, "mcp_servers")
  for name, agent in vim.spairs(config.agents) do
    look(agent.mcp_servers, ("agents.%s.mcp_servers"):format(name))
  end
  return out
end

return M
