local support = require("support")
local same, contains, raises = support.same, support.contains, support.raises

local IDLE = { phase = "idle", session = 3, agent = "mine" }
local NONE = { phase = "none" }

--- Fails unless the library received exactly these calls (queries ignored).
local function check(expected, calls)
  local deeds = vim.tbl_filter(function(call)
    return call[1] ~= "status" and call[1] ~= "setup"
  end, calls)
  same(expected, deeds)
end

local function open_call(calls)
  return vim.iter(calls):find(function(call)
    return call[1] == "open"
  end)[2]
end

return function(test)
  test("questions are answered without the library", function()
    local acp = require("acp")
    acp.setup({ log_level = "warn" })
    same(NONE, acp.status())
    same(NONE, acp.status({ session = 7 }))
    same("", acp.statusline())
    same({}, acp.review.hunks())
    same({}, acp.permission.list())
    same({}, acp.elicitation.list())
    same(nil, package.loaded["acp.native"])
  end)

  test("a loader that has loaded nothing answers the same", function()
    local calls = support.fake()
    same(NONE, require("acp").status())
    same("", require("acp").statusline())
    same({}, calls)
  end)

  test("arguments go through as they are", function()
    local hunk = { path = "/a", row = 0 }
    local calls = support.fake({ status = IDLE, statusline = "x", hunks = { hunk } })
    local acp = require("acp")
    acp.prompt("hello\n  there", { session = 3 })
    acp.prompt({ { type = "text", text = "hi" } })
    acp.cancel()
    acp.cancel({ session = 2 })
    acp.close({ session = 2 })
    acp.review.accept()
    acp.review.reject("all")
    acp.review.reject({ first = 0, last = 2 })
    acp.review.next()
    acp.review.prev()
    acp.permission.answer(4, "allow")
    acp.elicitation.answer(5, "accept", { name = "x" })
    acp.elicitation.answer(6, "decline")
    check({
      { "prompt", 3, "hello\n  there" },
      { "prompt", nil, { { type = "text", text = "hi" } } },
      { "cancel" },
      { "cancel", 2 },
      { "close", 2 },
      { "accept", "hunk" },
      { "reject", "all" },
      { "reject", { first = 0, last = 2 } },
      { "next" },
      { "prev" },
      { "permission_answer", 4, "allow" },
      { "elicitation_answer", 5, "accept", { name = "x" } },
      { "elicitation_answer", 6, "decline", {} },
    }, calls)
    same(IDLE, acp.status({ session = 3 }))
    same("x", acp.statusline())
    same({ hunk }, acp.review.hunks({ buf = 0 }))
    same({ "hunks", vim.api.nvim_get_current_buf() }, calls[#calls])
  end)

  test("open hands over the agent, its program and an absolute folder", function()
    local dir = support.program("my-agent")
    local calls = support.fake({ status = NONE, open = 5 })
    local acp = require("acp")
    acp.setup({
      agents = { mine = { command = dir .. "/my-agent", args = { "acp" }, env = { A = "b" } } },
    })
    same(5, acp.open({ agent = "mine", cwd = ".", new = true }))
    same({
      agent = "mine",
      command = dir .. "/my-agent",
      args = { "acp" },
      env = { A = "b" },
      missing_file = "error",
      mcp_servers = {},
      additional_dirs = {},
      tools = true,
      cwd = vim.fs.normalize(vim.fn.getcwd()),
      new = true,
    }, open_call(calls))
    same({}, support.notices)
  end)

  test("a session in the home folder is opened with a warning", function()
    local dir = support.program("my-agent")
    support.fake({ status = NONE, open = 5 })
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    require("acp").open({ cwd = dir })
    same({}, support.notices)
    require("acp").open({ cwd = vim.fs.normalize("~") })
    contains("the session's folder is not a project", support.notices[1].text)
  end)

  test("a folder may have any name", function()
    local dir = support.program("my-agent")
    local odd = vim.fs.dirname(dir) .. "/a $HOME b"
    vim.fn.mkdir(odd, "p")
    local calls = support.fake({ status = NONE, open = 5 })
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    require("acp").open({ cwd = odd })
    same(odd, open_call(calls).cwd)
  end)

  test("without a name, an open session's agent is meant, a new one gets the default", function()
    local dir = support.program("my-agent")
    local calls = support.fake({ status = IDLE, open = 3 })
    local agent = { command = dir .. "/my-agent" }
    local acp = require("acp")
    acp.setup({ agents = { mine = agent, other = agent }, default_agent = "other" })
    acp.open()
    acp.open({ new = true })
    same({ "mine", false }, { calls[2][2].agent, calls[2][2].new })
    same({ "other", true }, { calls[4][2].agent, calls[4][2].new })
  end)

  test("without a session or a default, the first own agent that is installed is meant", function()
    local dir = support.program("my-agent")
    local calls = support.fake({ status = NONE, open = 1 })
    require("acp").setup({
      agents = { a = { command = "/nowhere/agent" }, b = { command = dir .. "/my-agent" } },
    })
    require("acp").open()
    same("b", open_call(calls).agent)
  end)

  test("without any configuration it is the tutor, with one hint", function()
    local dir = support.program("acp-tutor")
    local calls = support.fake({ status = NONE, open = 1 })
    require("acp.native").find = function()
      return dir .. "/libacp_nvim.so"
    end
    require("acp").open()
    require("acp").open()
    same("tutor", open_call(calls).agent)
    same(dir .. "/acp-tutor", open_call(calls).command)
    same(1, #support.notices)
    contains("This is the tutor", support.notices[1].text)
  end)

  test("the tutor of a library without programs beside it is where install.sh puts it", function()
    support.fake()
    local native, root = require("acp.native"), vim.fn.tempname()
    native.find = function()
      return "/nowhere/libacp_nvim.so"
    end
    native.root = function()
      return root
    end
    vim.fn.mkdir(root .. "/lib", "p")
    vim.fn.writefile({ "#!/bin/sh" }, root .. "/lib/acp-tutor")
    vim.fn.setfperm(root .. "/lib/acp-tutor", "rwxr-xr-x")
    same(root .. "/lib/acp-tutor", require("acp.agents").get("tutor").path)
  end)

  test("an agent that is not installed is named, with what to do", function()
    local calls = support.fake({ status = NONE })
    require("acp").setup({ agents = { claude = { command = "/nowhere/claude-agent-acp" } } })
    raises("npm install -g @agentclientprotocol/claude-agent-acp", function()
      require("acp").open({ agent = "claude" })
    end)
    raises('there is no agent "clod"; `:Acp agents` lists them all.', function()
      require("acp").open({ agent = "clod" })
    end)
    check({}, calls)
  end)

  test("an open chat is shown even if its program has gone", function()
    local calls = support.fake({ status = IDLE, open = 3 })
    require("acp").setup({ agents = { mine = { command = "/nowhere/agent" } } })
    same(3, require("acp").open())
    same("/nowhere/agent", open_call(calls).command)
    raises("/nowhere/agent", function()
      require("acp").open({ new = true })
    end)
  end)

  test("a prompt without a session opens one first", function()
    local dir = support.program("my-agent")
    local calls = support.fake({ status = NONE, open = 8 })
    require("acp").setup({ agents = { mine = { command = dir .. "/my-agent" } } })
    require("acp").prompt("hello")
    same({ "prompt", 8, "hello" }, calls[#calls])
  end)

  test("the configuration says whether an agent is offered Neovim's tools", function()
    local dir = support.program("my-agent")
    local function offered(tools, of_agent)
      local calls = support.fake({ status = NONE, open = 5 })
      local mine = { command = dir .. "/my-agent", tools = of_agent }
      require("acp").setup({ agents = { mine = mine }, tools = tools })
      require("acp").open({ agent = "mine" })
      return open_call(calls).tools
    end
    same(true, offered())
    same(true, offered(nil, "stdio"))
    same(false, offered(nil, false))
    same(false, offered({ enabled = false }, "stdio"))
  end)

  test("an agent is followed, or the other way round", function()
    local calls = support.fake({ status = IDLE })
    local acp = require("acp")
    acp.follow(true)
    acp.follow("edits", { session = 2 })
    acp.follow()
    check({ { "follow", nil, true }, { "follow", 2, "edits" }, { "follow" } }, calls)
  end)

  test("a bad argument is reported at the call, and nothing happens", function()
    local calls = support.fake({ status = IDLE })
    local acp = require("acp")
    for _, case in ipairs({
      { "acp.setup: opts: expected table or nil, got 5", acp.setup, 5 },
      { 'acp.open: opts: expected table or nil, got "claude"', acp.open, "claude" },
      { "acp.open: opts.agent: expected string or nil, got 1", acp.open, { agent = 1 } },
      { "acp.open: opts.new: expected boolean or nil, got 1", acp.open, { new = 1 } },
      {
        'acp.open: opts.cwd: expected an existing folder or nil, got "/nowhere"',
        acp.open,
        { cwd = "/nowhere" },
      },
      {
        'acp.prompt: prompt: expected a string or a list of content blocks, got " "',
        acp.prompt,
        " ",
      },
      { "acp.prompt: prompt: expected a string or a list of content blocks, got nil", acp.prompt },
      {
        "acp.prompt: prompt[1]: expected a content block with a `type`, got table",
        acp.prompt,
        { {} },
      },
      { "acp.cancel: opts: expected table or nil, got 1", acp.cancel, 1 },
      {
        'acp.close: opts.session: expected a session\'s number or nil, got "1"',
        acp.close,
        { session = "1" },
      },
      {
        "acp.status: opts.session: expected a session's number or nil, got 0.5",
        acp.status,
        { session = 0.5 },
      },
      {
        'acp.review.accept: scope: expected "hunk", "file", "turn", "all" or rows, got "line"',
        acp.review.accept,
        "line",
      },
      {
        "acp.review.accept: scope.last: expected a row, got 1.5",
        acp.review.accept,
        { first = 1, last = 1.5 },
      },
      {
        "acp.review.hunks: opts.buf: expected a buffer's number or nil, got 99999",
        acp.review.hunks,
        { buf = 99999 },
      },
      { "acp.permission.answer: id: expected a request's number, got nil", acp.permission.answer },
      { "acp.permission.answer: option_id: expected string, got 2", acp.permission.answer, 1, 2 },
      {
        "acp.elicitation.answer: id: expected a question's number, got nil",
        acp.elicitation.answer,
      },
      {
        'acp.elicitation.answer: action: expected "accept", "decline" or "cancel", got "yes"',
        acp.elicitation.answer,
        1,
        "yes",
      },
      { 'acp.follow: on: expected boolean, "edits" or nil, got "yes"', acp.follow, "yes" },
      { "acp.tool: spec: expected table, got nil", acp.tool },
      { "acp.tool: spec.name: expected 1 to 64 of the characters", acp.tool, {} },
      { "acp.tools.enable: name: expected the name of a tool, got nil", acp.tools.enable },
      { 'acp.tools.disable: name: expected the name of a tool, got "x"', acp.tools.disable, "x" },
      { 'acp.tools.remove: name: expected the name of a tool, got "x"', acp.tools.remove, "x" },
    }) do
      local problem = raises(case[1], function()
        local value, more = case[3], case[4]
        case[2](value, more)
      end)
      contains("api_spec.lua", problem)
    end
    same({}, calls)
  end)
end
