local support = require("support")
local same, contains = support.same, support.contains

--- Returns the report's lines, as `kind: text`.
local function check(expected)
  local lines = {}
  for _, kind in ipairs({ "start", "ok", "info", "warn", "error" }) do
    vim.health[kind] = function(text)
      table.insert(lines, kind .. ": " .. text)
    end
  end
  require("acp.health").check()
  local report = table.concat(lines, "\n") .. "\n"
  for _, line in ipairs(expected) do
    contains(line .. "\n", report)
  end
  return report
end

return function(test)
  local version = require("acp.version")

  test("a healthy setup has no warnings", function()
    local dir = support.program("my-agent")
    vim.g.acp = { agents = { mine = { command = dir .. "/my-agent" } } }
    support.fake({ log_path = "/state/acp.log" })
    require("acp.tools.door").proxy = function(library)
      return vim.fs.dirname(library) .. "/acp-mcp"
    end
    require("acp").tool({ name = "x", description = "x", handler = print })
    vim.g.acp = vim.tbl_extend("force", vim.g.acp, { tools = { builtin = false } })
    local neovim = vim.fn.api_info().version
    local report = check({
      "start: acp.nvim " .. version,
      ("ok: Neovim %d.%d.%d"):format(neovim.major, neovim.minor, neovim.patch),
      ("ok: library %s, a build of your own: /fake/libacp_nvim.so"):format(version),
      "info: log file: /state/acp.log (`:Acp log` opens it)",
      ("info: checkpoints and open reviews: %s/acp.nvim"):format(vim.fn.stdpath("state")),
      ("ok: mine: %s/my-agent"):format(dir),
      "info: `:AcpChat` starts mine, unless another agent was used before",
      "start: acp.nvim: tools for agents",
      "ok: tools: 1 (1 offered, 1 your own)",
      "ok: the proxy that agents start: /fake/acp-mcp",
      "ok: the configuration has no errors",
    })
    contains("ok: git version ", report)
    same(nil, report:find("error: "))
    same(nil, report:find("warn: "))
    same({}, support.notices)
  end)

  test("the report says where the library came from", function()
    support.fake()
    local record = { version = version, triple = "x-y-z" }
    require("acp.native").installed = function(path)
      same("/fake/libacp_nvim.so", path)
      return record
    end
    record.from = "source"
    check({ ("ok: library %s, built from source for x-y-z: /fake/libacp_nvim.so"):format(version) })
    record.from = ("0a"):rep(32)
    check({
      ("ok: library %s, from the archive for x-y-z with the SHA-256 %s: /fake/libacp_nvim.so"):format(
        version,
        record.from
      ),
    })
  end)

  test("an update during the life of Neovim is reported", function()
    support.fake()
    require("acp.native").outdated = function()
      return "restart Neovim"
    end
    check({ "warn: restart Neovim" })
  end)

  test("an agent behind a URL is asked whether it answers", function()
    local dir = support.program("acp-agui")
    vim.g.acp = { agents = { mine = { url = "http://x/agui" } } }
    support.fake({ log_path = "/state/acp.log" })
    require("acp.native").find = function()
      return dir .. "/libacp_nvim.so"
    end
    local system, asked = vim.system, nil
    local results = {
      { code = 0, stdout = "http://x/agui answers (405 Method Not Allowed)\n" },
      { code = 1, stdout = "", stderr = "http://x/agui does not answer\n" },
      { code = 124 },
    }
    vim.system = function(command, ...)
      if command[1] ~= dir .. "/acp-agui" then
        return system(command, ...)
      end
      asked = command
      return {
        wait = function()
          return table.remove(results, 1)
        end,
      }
    end
    check({ "ok: mine: http://x/agui answers (405 Method Not Allowed)" })
    check({ "warn: mine: http://x/agui does not answer" })
    check({ "warn: mine: http://x/agui does not answer within 5 seconds" })
    vim.system = system
    same({ dir .. "/acp-agui", "--check", "http://x/agui" }, asked)
  end)

  test("each error has a line with the full key", function()
    vim.g.acp = {
      agents = { claude = { command = "/nowhere/claude", comand = 1 } },
      chat = { width = "wide" },
      mcp_servers = { { name = "files", command = "/nowhere/files" } },
      library = "/nowhere/libacp_nvim.so",
    }
    local report = check({
      "error: chat.width: expected a number above 0, got string",
      "warn: agents.claude.comand: unknown key; see |acp-config-keys|",
      'warn: mcp_servers: the server "files" needs `/nowhere/files`, which was not found',
      'warn: the agent "claude" needs `/nowhere/claude`, which was not found: '
        .. "npm install -g @agentclientprotocol/claude-agent-acp@0",
    })
    contains(
      "error: `library` in the configuration is /nowhere/libacp_nvim.so, which does not",
      report
    )
    same(nil, report:find("has no errors"))
    same({}, support.notices)
  end)

  test("rules are not called right before the library has checked them", function()
    vim.g.acp = { permissions = { rules = { { action = "allow", path = "**" } } } }
    support.fake()
    local found = { "permissions.rules: no rule applies until this is corrected" }
    local line = "info: `permissions.rules` are checked when the library is first used: open a chat"
    same(nil, check({ line }):find("has no errors"))
    require("acp.config").report().library = found
    local report = check({ "error: " .. found[1] })
    same(nil, report:find("has no errors"))
    same(nil, report:find("are checked when"))
    require("acp.config").report().library = {}
    check({ "ok: the configuration has no errors" })
  end)

  test("the presets that are not installed are in one line, below the agents that are", function()
    local dir = support.program("gemini")
    support.fake()
    vim.env.PATH = dir
    local report = check({
      "warn: git was not found: committed hunks stay under review, and ignored files that a "
        .. "repository tracks are not watched; install git",
      ("ok: gemini: %s/gemini"):format(dir),
    })
    local line = report:match("info: (not installed: [^\n]+)")
    contains("claude, cline, codex, ", line)
    contains("vibe (`:Acp agents` shows how to install them)", line)
    same(nil, line:find("gemini"))
    same(true, report:find("ok: gemini", 1, true) < report:find("not installed", 1, true))
    contains("info: `:AcpChat` starts tutor", report)
  end)

  test("an old Neovim is the only report", function()
    local has = vim.fn.has
    vim.fn.has = function(name)
      return name == "nvim-0.10" and 0 or has(name)
    end
    local ok, report = pcall(check, {})
    vim.fn.has = has
    same(true, ok)
    same(
      ("start: acp.nvim %s\nerror: acp.nvim needs Neovim 0.10 or newer: please update Neovim.\n"):format(
        version
      ),
      report
    )
  end)
end
