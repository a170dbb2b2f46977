local support = require("support")
local same, contains = support.same, support.contains

--- Returns what a session of the agent is opened with.
local function opened(config, cwd)
  local dir = support.program("my-agent")
  config.agents = vim.tbl_deep_extend("force", {
    mine = { command = dir .. "/my-agent" },
  }, config.agents or {})
  require("acp").setup(config)
  local calls = support.fake({ status = { phase = "none" }, open = 1 })
  require("acp").open({ agent = "mine", cwd = cwd or "/" })
  for _, call in ipairs(calls) do
    if call[1] == "open" then
      return call[2]
    end
  end
end

local function names(spec)
  return vim.tbl_map(function(server)
    return server.name
  end, spec.mcp_servers)
end

return function(test)
  test("servers of all and of the agent go along, the agent's own first of two", function()
    local dir = support.program("mcp-files")
    local spec = opened({
      mcp_servers = {
        { name = "files", command = dir .. "/mcp-files", args = { "-v" } },
        { name = "web", url = "http://all" },
      },
      agents = { mine = { mcp_servers = { { name = "web", type = "sse", url = "http://mine" } } } },
    })
    same({
      { name = "files", type = "stdio", command = dir .. "/mcp-files", args = { "-v" } },
      { name = "web", type = "sse", url = "http://mine" },
    }, spec.mcp_servers)
    same({}, support.notices)
  end)

  test("a function returns servers per folder, and its errors are reported", function()
    local function by_folder(cwd)
      return cwd == "/" and { { name = "p", command = "p" } } or { { name = "q" } }
    end
    same({ "p" }, names(opened({ mcp_servers = by_folder })))
    same({}, names(opened({ mcp_servers = by_folder }, "/tmp")))
    contains("mcp_servers[1]: expected a command", support.notices[1].text)
    same(
      {},
      names(opened({
        mcp_servers = function()
          error("oh no")
        end,
      }))
    )
    contains("mcp_servers: the function failed: ", support.notices[2].text)
    same(
      {},
      names(opened({
        mcp_servers = function()
          return "files"
        end,
      }))
    )
    contains("mcp_servers: expected list or a function", support.notices[3].text)
  end)

  test("an invalid server is reported with its error", function()
    local _, report = require("acp.config").resolve({
      {
        mcp_servers = { { name = "a" } },
        agents = { claude = { mcp_servers = { { command = "x" } } } },
      },
      {
        mcp_servers = { { name = "a", command = "x", url = "http://y" } },
        agents = {
          claude = { mcp_servers = { { name = "a", url = "ftp://y" } } },
          codex = { mcp_servers = { { name = "a", type = "http" } } },
          gemini = { mcp_servers = { { name = "a", command = "x", arguments = {} } } },
          goose = { mcp_servers = "a" },
        },
      },
    })
    same({
      "agents.claude.mcp_servers[1].name: expected string, got nil",
      "mcp_servers[1]: expected a command, or the url of a running server",
      'agents.claude.mcp_servers[1].url: expected an http or https address, got "ftp://y"',
      'agents.codex.mcp_servers[1]: expected a url: the type is "http"',
      "agents.gemini.mcp_servers[1].arguments: unknown key",
      "agents.goose.mcp_servers: expected list or a function that returns one, got string",
      "mcp_servers[1]: a server with a url cannot have command, args or env",
    }, report.problems)
  end)

  test("additional folders are absolute", function()
    local spec = opened({ agents = { mine = { additional_dirs = { "~/more", "/x/" } } } })
    same({ vim.fs.normalize("~/more"), "/x" }, spec.additional_dirs)
  end)
end
