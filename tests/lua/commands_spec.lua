local support = require("support")
local same, contains = support.same, support.contains

local IDLE = { phase = "idle", session = 3, agent = "mine" }

--- Runs a command and fails unless the library received exactly these calls (queries ignored).
local function check(command, expected)
  local calls = support.fake({ status = IDLE, open = 3, hunks = { {}, {} } })
  vim.cmd(command)
  local deeds = vim.tbl_filter(function(call)
    return call[1] ~= "status" and call[1] ~= "hunks"
  end, calls)
  same(expected, deeds)
end

local function complete(line)
  return vim.fn.getcompletion(line, "cmdline")
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false)
end

return function(test)
  vim.g.loaded_acp = nil
  dofile(support.root .. "/plugin/acp.lua")

  test("subcommands reach the library", function()
    check("Acp cancel", { { "cancel" } })
    check("Acp stop", { { "stop" } })
    check("Acp close", { { "close" } })
    check("Acp restart", { { "restart" } })
    check("Acp accept", { { "accept", "hunk" } })
    check("Acp accept file", { { "accept", "file" } })
    check("Acp reject all", { { "reject", "all" } })
    check("1Acp reject", { { "reject", { first = 0, last = 1 } } })
    check("1Acp accept file", { { "accept", "file" } })
    check("Acp next", { { "next" } })
    check("Acp prev 2", { { "prev" }, { "prev" } })
    check("Acp permission", { { "permission_focus" } })
    check("Acp review", { { "review_list" } })
    check("Acp undo", { { "undo_decision" } })
    check("Acp undo-turn", { { "undo_turn", "ask" } })
    check("Acp undo-turn!", { { "undo_turn", "back" } })
    check("Acp queue", { { "queue_focus" } })
    check("Acp prompt! stop it", {
      { "prompt", nil, "stop it", nil, "interrupt" },
      { "remember", nil, "stop it" },
    })
    check("Acp reject turn", { { "reject", "turn" } })
    same({}, support.notices)
  end)

  test("a log-out is confirmed only if there is one", function()
    local agent = { name = "mine", state = "ready", sessions = { 3 }, logout = false }
    local calls = support.fake({ status = IDLE, agents = { agent } })
    local asked = 0
    local select = vim.ui.select
    vim.ui.select = function()
      asked = asked + 1
    end
    agent.methods = { { id = "key", kind = "env_var" } }
    vim.cmd("Acp logout")
    same({ 1, "agents" }, { asked, calls[#calls][1] })
    agent.methods = { { id = "web", kind = "agent" } }
    vim.cmd("Acp logout")
    vim.ui.select = select
    same({ 1, "logout" }, { asked, calls[#calls][1] })
  end)

  test("a subcommand without arguments refuses them, so that no other agent is meant", function()
    for _, name in ipairs({
      "stop",
      "close",
      "restart",
      "cancel",
      "undo",
      "undo-turn",
      "queue",
      "review",
    }) do
      support.notices = {}
      check(("Acp %s mine"):format(name), {})
      contains(("`:Acp %s` takes no argument."):format(name), support.notices[1].text)
    end
    check("Acp stop ", { { "stop" } })
  end)

  test("alone, the command lists all subcommands with what they do", function()
    support.fake({ status = IDLE })
    local shown = vim.api.nvim_exec2("Acp", { output = true }).output
    local lines = vim.split(shown, "\n", { trimempty = true })
    local names = vim.tbl_map(function(line)
      return line:match("^:Acp (%S+) +%S")
    end, lines)
    same(complete("Acp "), names)
  end)

  test("a prompt's text goes as typed, bars and quotes included", function()
    local text = [[say  "a | b"]]
    check([[Acp prompt  say  "a | b"  ]], { { "prompt", nil, text }, { "remember", nil, text } })
  end)

  test("a range is attached as lines with rows and text", function()
    local path = vim.fs.normalize(vim.fn.tempname())
    vim.fn.writefile({ "one", "two", "three" }, path)
    vim.cmd.edit(path)
    vim.api.nvim_buf_set_lines(0, 1, 2, false, { "TWO" })
    local context = { path = path, first = 1, last = 3, text = "TWO\nthree" }
    local remembered = { "remember", nil, "explain" }
    check("2,3Acp prompt explain", { { "prompt", nil, "explain", { context } }, remembered })

    local dir = support.program("my-agent")
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    local calls = support.fake({ status = IDLE, open = 3 })
    vim.cmd("2,3AcpChat")
    same(context, calls[2][2].context)
  end)

  test("a buffer without a file gives its lines without a path", function()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "one", "two" })
    local context = { path = "", first = 0, last = 2, text = "one\ntwo" }
    local remembered = { "remember", nil, "explain" }
    check("%Acp prompt explain", { { "prompt", nil, "explain", { context } }, remembered })
  end)

  test("no count goes further than once around the hunks", function()
    check("Acp next 999999999", { { "next" }, { "next" } })
    check("Acp prev 1e300", { { "prev" }, { "prev" } })
    local calls = support.fake({ hunks = {} })
    vim.cmd("Acp next 5")
    same(
      { { "next" } },
      vim.tbl_filter(function(call)
        return call[1] == "next"
      end, calls)
    )
  end)

  test("AcpChat names the agent, its bang asks for a new session", function()
    local dir = support.program("my-agent")
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    local calls = support.fake({ status = IDLE, open = 3 })
    vim.cmd("AcpChat mine")
    vim.cmd("AcpChat! mine")
    same({ "mine", false }, { calls[2][2].agent, calls[2][2].new })
    same({ "mine", true }, { calls[4][2].agent, calls[4][2].new })
  end)

  test("follow accepts on, off or edits, and toggles without an argument", function()
    check("Acp follow on", { { "follow", nil, true } })
    check("Acp follow off", { { "follow", nil, false } })
    check("Acp follow edits", { { "follow", nil, "edits" } })
    check("Acp follow", { { "follow" } })
    check("Acp follow me", {})
    contains('"me" is not a mode of `:Acp follow`', support.notices[1].text)
    same({ "edits", "off", "on" }, complete("Acp follow "))
    same({ "off", "on" }, complete("Acp follow o"))
    same({}, complete("Acp follow on "))
  end)

  test("an error is one message without a traceback", function()
    check("Acp foo", {})
    check("Acp accept line", {})
    check("Acp next many", {})
    check("Acp prompt", {})
    check("AcpChat clod", {})
    same(5, #support.notices)
    contains("unknown subcommand `:Acp foo`; `:Acp` lists them all.", support.notices[1].text)
    contains('"line" is not a scope', support.notices[2].text)
    contains('"many" is not a number of hunks', support.notices[3].text)
    contains("needs a text", support.notices[4].text)
    contains('there is no agent "clod"', support.notices[5].text)
    for _, notice in ipairs(support.notices) do
      same(vim.log.levels.ERROR, notice.level)
      same(nil, notice.text:find("\n"))
    end
  end)

  test("a bang is for the subcommands that know one", function()
    check("Acp accept!", {})
    contains("`:Acp accept` takes no `!`", support.notices[1].text)
  end)

  test("an error of the library is a message without its traceback", function()
    support.fake({
      cancel = function()
        error("runtime error: there is no session\nstack traceback:\n\tsomewhere", 0)
      end,
    })
    vim.cmd("Acp cancel")
    same(
      { { text = "acp.nvim: there is no session", level = vim.log.levels.ERROR } },
      support.notices
    )
  end)

  test("the only terminal is shown at once, of several the chosen one", function()
    local one, two = { id = 1, label = "one" }, { id = 2, label = "two" }
    local opened ---@type integer[]
    local function run(command, terminals)
      opened = {}
      support.fake({
        terminals = terminals,
        terminal_open = function(id)
          table.insert(opened, id)
        end,
      })
      vim.cmd(command)
    end
    local offered ---@type string[]
    vim.ui.select = function(items, opts, choose)
      offered = vim.tbl_map(opts.format_item, items)
      choose(items[2])
    end
    run("Acp terminal", { one })
    same({ 1 }, opened)
    run("Acp terminal", { two, one })
    same({ { "two", "one" }, { 1 } }, { offered, opened })
    run("Acp terminal 2", { two, one })
    same({ 2 }, opened)
    same({ "2", "1" }, complete("Acp terminal "))
    same({ "2" }, complete("Acp terminal 2"))
    same({}, support.notices)
    run("Acp terminal", {})
    same({}, opened)
    contains("No terminal yet", support.notices[1].text)
    run("Acp terminal two", { two, one })
    contains('"two" is not a terminal\'s number', support.notices[2].text)
  end)

  test("review fills the quickfix list", function()
    support.fake({
      hunks = {
        {
          path = "/tmp/a.txt",
          row = 4,
          count = 1,
          old = { "x" },
          new = { "y" },
          state = "pending",
        },
        { path = "/tmp/a.txt", row = 7, count = 0, old = {}, new = { "z" }, state = "proposed" },
      },
    })
    require("acp.native").load()
    vim.cmd("Acp review!")
    local item = vim.fn.getqflist()[1]
    same({ 5, "-1 +1  y" }, { item.lnum, item.text })
    same("-0 +1  proposed: z", vim.fn.getqflist()[2].text)
    same("/tmp/a.txt", vim.api.nvim_buf_get_name(item.bufnr))
    vim.cmd.cclose()
  end)

  test("review without hunks says so", function()
    vim.cmd("Acp review!")
    contains("to review.", support.notices[1].text)
  end)

  test("review without hunks names the files that changed as a whole", function()
    for _, files in ipairs({ 1, 3 }) do
      support.fake({ hunks = {}, review_files = files })
      require("acp.native").load()
      vim.cmd("Acp review!")
    end
    same({
      "acp.nvim: No hunks; 1 file changed as a whole: `:Acp review` lists it.",
      "acp.nvim: No hunks; 3 files changed as a whole: `:Acp review` lists them.",
    }, { support.notices[1].text, support.notices[2].text })
  end)

  test("log opens the library's log, or says where it will be", function()
    local path = vim.fs.normalize(vim.fn.tempname())
    support.fake({ log_path = path })
    vim.cmd("Acp log")
    contains("there is no log yet; it will be created at " .. path, support.notices[1].text)
    vim.fn.writefile({ "a line", "the latest" }, path)
    vim.cmd("Acp log")
    same(path, vim.api.nvim_buf_get_name(0))
    same(2, vim.fn.line("."))
  end)

  test("agents lists each with its program or how to install it", function()
    local dir = support.program("my-agent")
    require("acp").setup({
      agents = {
        mine = { command = dir .. "/my-agent" },
        claude = { command = "/nowhere/claude" },
      },
    })
    local text = vim.api.nvim_exec2("Acp agents", { output = true }).output
    contains(("* mine       %s/my-agent"):format(dir), text)
    contains("  claude     not found: npm install -g @agentclientprotocol/", text)
    -- Installed agents come first.
    same(true, text:find("mine", 1, true) < text:find("auggie", 1, true))
  end)

  test("agents says what runs of each", function()
    local dir = support.program("my-agent")
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    support.fake({
      agents = {
        {
          name = "mine",
          state = "ready",
          title = "Mine",
          version = "1.2",
          sessions = { 1, 2 },
          cwd = "/p",
        },
        { name = "mine", state = "starting", sessions = { 3 }, cwd = "/q" },
      },
    })
    require("acp.native").load()
    local text = vim.api.nvim_exec2("Acp agents", { output = true }).output
    contains("             Mine 1.2 runs with 2 sessions in /p\n", text)
    contains("             it is starting with 1 session in /q\n", text)
  end)

  test("an agent that is not there is completed where only it is meant", function()
    local dir = support.program("my-agent")
    require("acp").setup({
      agents = { codename = { command = dir .. "/my-agent" } },
    })
    same({ "codename" }, complete("AcpChat cod"))
    same({ "codex" }, complete("AcpChat code" .. "x"))
    same({ "codename" }, complete("AcpChat code"))
  end)

  test("completion knows subcommands, scopes and installed agents", function()
    local all = { "accept", "agents", "attach", "cancel", "close", "config", "detach" }
    vim.list_extend(all, {
      "drop-feedback",
      "export",
      "follow",
      "log",
      "login",
      "logout",
      "mode",
      "next",
      "permission",
      "prev",
      "prompt",
      "queue",
      "reject",
      "restart",
      "review",
      "sessions",
      "stop",
      "terminal",
      "tools",
      "undo",
      "undo-turn",
    })
    same(all, complete("Acp "))
    same({ "accept", "agents", "attach" }, complete("Acp a"))
    same({ "hunk", "file", "turn", "all" }, complete("Acp accept "))
    same({ "file" }, complete("silent 1,2Acp reject f"))
    same({}, complete("Acp accept file "))
    same({}, complete("Acp cancel "))

    local dir = support.program("my-agent")
    require("acp").setup({
      agents = {
        mine = { command = dir .. "/my-agent" },
        missing = { command = "/nowhere/agent" },
      },
    })
    same({ "mine" }, complete("AcpChat mi"))
    same({ "mine" }, complete("AcpChat! mi"))
    same({}, complete("AcpChat mine "))
  end)

  test("the <Plug> mappings lead to the commands", function()
    local calls = support.fake({ status = IDLE, open = 3, hunks = { {}, {} } })
    press("<Plug>(acp-accept-hunk)")
    press("<Plug>(acp-reject-hunk)")
    press("<Plug>(acp-next-hunk)")
    press("2<Plug>(acp-prev-hunk)")
    press("<Plug>(acp-permission)")
    press("<Plug>(acp-cancel)")
    press("i<Plug>(acp-cancel)<Esc>")
    same({
      { "accept", "hunk" },
      { "reject", "hunk" },
      { "hunks" },
      { "next" },
      { "hunks" },
      { "prev" },
      { "prev" },
      { "permission_focus" },
      { "cancel" },
      { "cancel" },
    }, calls)
  end)

  test("the visual chat mapping takes the lines along", function()
    local dir = support.program("my-agent")
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    local calls = support.fake({ status = IDLE, open = 3 })
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "one", "two", "three" })
    press("jVj<Plug>(acp-chat)")
    same({ path = "", first = 1, last = 3, text = "two\nthree" }, calls[2][2].context)
  end)
end
