local support = require("support")
local same, contains = support.same, support.contains

--- Merges `layers`; returns the configuration and the one problem, or all of them.
local function check(layers, expected)
  local config, report = require("acp.config").resolve(layers)
  same(expected, report.problems)
  return config, report
end

return function(test)
  test("an empty configuration has every default and no problem", function()
    local config, report = check({}, {})
    same({}, report.unknown)
    same("right", config.chat.layout)
    same({ "<C-c>" }, config.keymaps.chat.cancel)
    same({ "--acp" }, config.agents.gemini.args)
    same({}, config.agents.claude.env)
    same(nil, config.default_agent)
  end)

  test("defaults are not shared between two merges", function()
    local config = check({}, {})
    config.agents.claude.command = "changed"
    config.permissions.allowed_dirs[1] = "changed"
    local again = check({}, {})
    same("claude-agent-acp", again.agents.claude.command)
    same({}, again.permissions.allowed_dirs)
  end)

  test("a wrong type is reported with its full path, and the default stays", function()
    local opts = { agents = { claude = { command = 5 } } }
    local config = check({ opts }, { "agents.claude.command: expected string, got number" })
    same("claude-agent-acp", config.agents.claude.command)
  end)

  test("tools over HTTP are a mistake that says what to write, and the default stays", function()
    local config = check({ { agents = { claude = { tools = "http", args = { "-v" } } } } }, {
      "agents.claude.tools: agents no longer reach the tools over HTTP; "
        .. 'write "stdio", which every agent supports, or remove the key',
    })
    same("stdio", config.agents.claude.tools)
    same({ "-v" }, config.agents.claude.args)
  end)

  test("all problems are found at once", function()
    check({
      {
        chat = { layout = "top", width = -1, input_height = "six" },
        keymaps = { chat = { close = 3 }, review = { next_hunk = { "]a", 5 } } },
        review = true,
        log_level = {},
        agents = { claude = { args = { "a", 2 }, env = { X = 1 } } },
      },
    }, {
      "agents.claude.args[2]: expected string, got number",
      "agents.claude.env.X: expected string, got number",
      "review: expected table, got boolean",
      'chat.layout: expected "right", "left", "bottom" or "tab", got "top"',
      "chat.width: expected a number above 0, got -1",
      "chat.input_height: expected a number above 0, got string",
      "keymaps.chat.close: expected string, list of strings or false, got number",
      "keymaps.review.next_hunk: expected string, list of strings or false, got table",
      'log_level: expected "debug", "info", "warn" or "error", got table',
    })
  end)

  test("an empty key cannot be mapped and is an error", function()
    local config = check({ { keymaps = { input = { send = "", close = { "q", "" } } } } }, {
      'keymaps.input.send: expected string, list of strings or false, got ""',
      "keymaps.input.close: expected string, list of strings or false, got table",
    })
    same({ "<CR>" }, config.keymaps.input.send)
    same({ "q" }, config.keymaps.input.close)
  end)

  test("valid values beside an error are kept", function()
    local config = check(
      { { chat = { layout = "top", width = 80 } } },
      { 'chat.layout: expected "right", "left", "bottom" or "tab", got "top"' }
    )
    same(80, config.chat.width)
    same("right", config.chat.layout)
  end)

  test("setup's table goes over vim.g.acp key by key", function()
    vim.g.acp =
      { chat = { width = 0.3, layout = "left" }, agents = { claude = { env = { A = "1" } } } }
    local module = require("acp.config")
    module.set({ chat = { layout = "tab" }, agents = { claude = { args = { "-x" } } } })
    local config = module.get()
    same(0.3, config.chat.width)
    same("tab", config.chat.layout)
    same({ A = "1" }, config.agents.claude.env)
    same({ "-x" }, config.agents.claude.args)
    same("claude-agent-acp", config.agents.claude.command)
    same({ claude = true }, module.report().own)
  end)

  test("a mistake in setup's table leaves the value of vim.g.acp", function()
    local config = check({ { log_level = "warn" }, { log_level = 1 } }, {
      'log_level: expected "debug", "info", "warn" or "error", got number',
    })
    same("warn", config.log_level)
  end)

  test("vim.g.acp that is no table is a problem", function()
    vim.g.acp = "claude"
    same(
      { "the configuration: expected table, got string" },
      require("acp.config").report().problems
    )
  end)

  test("a value from Vim script may be v:null", function()
    vim.cmd("let g:acp = #{library: v:null, review: #{signs: v:false}}")
    local module = require("acp.config")
    same({}, module.report().problems)
    same(nil, module.get().library)
    same(false, module.get().review.signs)
  end)

  test("unknown keys are collected with their full path", function()
    local _, report = check({
      { agnets = {}, chat = { widht = 1 }, agents = { claude = { cmd = "x" } }, keymaps = { 5 } },
    }, {})
    same({ "agents.claude.cmd", "agnets", "chat.widht", "keymaps[1]" }, report.unknown)
  end)

  test("an agent without a command is dropped and named", function()
    local config = check({ { agents = { mine = { args = { "acp" } } } } }, {
      "agents.mine.command: expected string, got nil",
    })
    same(nil, config.agents.mine)
  end)

  test("an agent with a URL needs no command and is started by the bridge", function()
    local config = check({
      { agents = { mine = { url = "http://x/agui", headers = { ["X-A"] = "b" } } } },
      { agents = { mine = { env = { A = "1" } }, claude = { url = "https://y" } } },
    }, {})
    local mine = config.agents.mine
    same({ "acp-agui", { "http://x/agui" } }, { mine.command, mine.args })
    same({ A = "1", ACP_AGUI_HEADERS = '{"X-A":"b"}' }, mine.env)
    same({ "acp-agui", { "https://y" } }, { config.agents.claude.command, config.agents.claude.args })
  end)

  test("a URL that is none is named", function()
    check({ { agents = { mine = { url = "localhost:8000" } } } }, {
      'agents.mine.url: expected an http or https address, got "localhost:8000"',
    })
    local config = check({ { agents = { mine = { url = 5 } } } }, {
      "agents.mine.command: expected string, got nil",
    })
    same(nil, config.agents.mine)
  end)

  test("an agent's mode, model and options are texts and booleans", function()
    local config = check({ { agents = { claude = {
      mode = "plan",
      model = 5,
      options = { effort = "high", web = true, size = 7 },
    } } } }, {
      "agents.claude.model: expected string, got number",
    })
    same({ "plan" }, { config.agents.claude.mode, config.agents.claude.model })
    config = check({ { agents = { claude = { options = { effort = "high", size = 7 } } } } }, {
      'agents.claude.options: expected string or boolean for "size", got number',
    })
    same({ effort = "high" }, config.agents.claude.options)
  end)

  test("an agent with a wrong command is dropped and named once", function()
    local config = check({ { agents = { mine = { command = {} } } } }, {
      "agents.mine.command: expected string, got table",
    })
    same(nil, config.agents.mine)
  end)

  test("an agent's name is one word", function()
    check({ { agents = { ["my agent"] = { command = "x" } } } }, {
      'agents["my agent"]: expected a name without blanks as the key',
    })
    check({ { agents = { { command = "x" } } } }, {
      "agents[1]: expected a name without blanks as the key",
    })
    local both = check({ { agents = { "claude", mine = { command = "x" } } } }, {
      "agents[1]: expected a name without blanks as the key",
    })
    same("x", both.agents.mine.command)
  end)

  test("default_agent must be an agent", function()
    local config, report = require("acp.config").resolve({ { default_agent = "clod" } })
    contains('default_agent: unknown agent "clod"; expected one of auggie, claude', report.problems[1])
    same(nil, config.default_agent)
  end)

  test("keys become lists, false an empty one, and a group can be switched off", function()
    local config = check({
      { keymaps = { chat = { close = "Q", cancel = false, input = { "i" } }, review = false } },
    }, {})
    local chat = config.keymaps.chat
    same({ { "i" }, { "<CR>" }, {}, { "Q" } }, { chat.input, chat.open, chat.cancel, chat.close })
    for name, list in pairs(config.keymaps.review) do
      same({}, list)
      same("string", type(name))
    end
  end)

  test("folders become absolute", function()
    local home = vim.fs.normalize("~")
    local config = check({ { permissions = { allowed_dirs = { "~/notes/", "sub" } } } }, {})
    same({ home .. "/notes", vim.fn.getcwd() .. "/sub" }, config.permissions.allowed_dirs)
  end)

  --- Checks the error of a rule, which disables the whole list.
  local function check_rule(rule, expected)
    local good = { action = "reject", path = "a" }
    local config = check({ { permissions = { rules = { good, rule } } } }, expected)
    same(#expected == 0 and 2 or 0, #config.permissions.rules)
    return config.permissions.rules[2]
  end

  test("rules name an action and what they match on", function()
    check_rule({ action = "allow", path = "src/**" }, {})
    check_rule({ action = "allow", command = { "ls *", "git status" }, kind = "execute" }, {})
    check_rule({ action = "ask", agent = "c*" }, {})
    check_rule({ action = "reject", kind = { "fetch", "other" } }, {})
    local rule = check_rule({ action = "allow", path = { "~/x/", "y" } }, {})
    same({ vim.fs.normalize("~") .. "/x/", "y" }, rule.path)
  end)

  test("an error in a rule is reported with the rule's number and key", function()
    local at = "permissions.rules[2]"
    check_rule({ path = "a" }, {
      at .. '.action: expected "allow", "reject" or "ask", got nil',
    })
    check_rule({ action = "deny", path = "a" }, {
      at .. '.action: expected "allow", "reject" or "ask", got "deny"',
    })
    check_rule({ action = "reject" }, {
      at .. ": the rule matches nothing: expected agent, kind, path or command",
    })
    check_rule({ action = "allow", kind = "edit" }, {
      at .. ': "allow" needs a limit: expected path or command',
    })
    check_rule({ action = "allow", path = "**", kind = { "edit", "execute" } }, {
      at .. '.kind: a path alone cannot allow "execute": add a command to the rule',
    })
    check_rule({ action = "allow", path = "**", kind = "fetch" }, {
      at .. '.kind: a path alone cannot allow "fetch": Neovim always asks for these',
    })
    check_rule({ action = "reject", paths = "a", [1] = "x" }, {
      at .. "[1]: unknown key",
      at .. ".paths: unknown key",
    })
    check_rule({ action = "reject", path = {} }, {
      at .. ".path: expected string or list of strings, got table",
    })
    check_rule({ action = "reject", command = { "ls", 5 } }, {
      at .. ".command: expected string or list of strings, got table",
    })
    check_rule({ action = "reject", kind = "run" }, {
      at
        .. '.kind: expected "read", "edit", "delete", "move", "search", "execute", "think", '
        .. '"fetch", "switch_mode" or "other", or a list of them, got "run"',
    })
    check_rule("allow", { at .. ": expected table, got string" })
  end)

  test("rules of a wrong type disable all rules, including earlier ones", function()
    local good = { permissions = { rules = { { action = "allow", path = "**" } } } }
    for _, case in ipairs({
      { { permissions = { rules = "off" } }, "permissions.rules: expected list, got string" },
      { { permissions = { rules = false } }, "permissions.rules: expected list, got boolean" },
      { { permissions = { rules = { a = 1 } } }, "permissions.rules: expected list, got table" },
      { { permissions = "off" }, "permissions: expected table, got string" },
      { { permissions = false }, "permissions: expected table, got boolean" },
    }) do
      local config = check({ good, case[1] }, { case[2] })
      same({}, config.permissions.rules)
    end
    same(1, #check({ good, { permissions = {} } }, {}).permissions.rules)
    same({}, check({ good, { permissions = { rules = {} } } }, {}).permissions.rules)
  end)
end
