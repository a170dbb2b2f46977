local support = require("support")
local same, contains, raises = support.same, support.contains, support.raises

--- Returns a spec, with these fields.
local function spec(fields)
  return vim.tbl_extend("force", {
    name = "mine",
    description = "Does something.",
    handler = function() end,
  }, fields or {})
end

--- Returns the names of the tools there are; those that are off have a `-` before them.
local function names()
  return vim.tbl_map(function(tool)
    return (tool.enabled and "" or "-") .. tool.name
  end, require("acp").tools.list())
end

--- Puts tools in the place of those that come with the plugin.
local function builtin(specs)
  require("acp.tools.builtin").specs = function()
    return specs
  end
end

--- Returns the calls with this name, without it.
local function told(calls, name)
  local found = {}
  for _, call in ipairs(calls) do
    if call[1] == name then
      table.insert(found, { unpack(call, 2) })
    end
  end
  return found
end

--- Runs a command, choosing this item in the picker; returns the items and the messages shown.
local function run(command, choice)
  local shown = {}
  vim.ui.select = function(items, opts, on_choice)
    table.insert(shown, opts.prompt)
    vim.list_extend(shown, vim.tbl_map(opts.format_item, items))
    on_choice(items[choice])
  end
  support.notices = {}
  vim.cmd(command)
  return shown, support.notices[1] and support.notices[1].text
end

return function(test)
  local select = vim.ui.select
  vim.g.loaded_acp = nil
  dofile(support.root .. "/plugin/acp.lua")

  test("an invalid spec is reported with its field", function()
    for field, case in pairs({
      name = {
        "Run Tests",
        'expected 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, got "Run Tests"',
      },
      title = { "", "expected a text or nil" },
      description = { " ", "expected a text that tells the agent what the tool does" },
      parameters = { { "a" }, "expected a JSON Schema, as a table, or nil, got table" },
      ["parameters.type"] = { { type = "array" }, 'expected "object", got "array"' },
      ["parameters.properties"] = { { properties = { "a" } }, "expected table" },
      ["parameters.properties.a"] = { { properties = { a = "string" } }, "expected a JSON Schema" },
      ["parameters.required"] = { { required = "a" }, "expected a list of names" },
      ["parameters.required[2]"] = { { required = { "a", 1 } }, "expected a name, got 1" },
      read_only = { "yes", "expected boolean or nil" },
      permission = { "always", 'expected "allow", "ask" or "reject", or nil, got "always"' },
      kind = { "run", 'expected "read", "edit"' },
      time_limit = { 0, "expected a number of seconds above 0, false or nil, got 0" },
      handler = { "print", 'expected function, got "print"' },
      handlr = { print, "expected no such field, got function" },
    }) do
      local text = ("acp.tool: spec.%s: %s"):format(field, case[2])
      local problem = raises(text, function()
        require("acp").tool(spec({ [field:match("^%l+_?%l*")] = case[1] }))
      end)
      contains("tools_spec.lua", problem)
    end
    local mixed = spec({ parameters = { properties = { "a", b = {} } } })
    raises("acp.tool: spec.parameters.properties: expected names as its keys, got 1", function()
      require("acp").tool(mixed)
    end)
    raises("acp.tool: spec.description: expected", function()
      require("acp").tool({ name = "x", handler = print })
    end)
    same(nil, package.loaded["acp.native"])
  end)

  test("a tool exists until it is removed, without loading the library", function()
    builtin({})
    local remove = require("acp").tool(spec({ title = "Mine", read_only = true }))
    same({
      {
        name = "mine",
        title = "Mine",
        description = "Does something.",
        permission = "allow",
        enabled = true,
        builtin = false,
        read_only = true,
      },
    }, require("acp").tools.list())
    remove()
    remove()
    same({}, names())
    same(nil, package.loaded["acp.native"])
  end)

  test("a tool replaces one of the same name, which comes back", function()
    builtin({ spec({ name = "buffers" }), spec({ name = "edit" }) })
    local first = require("acp").tool(spec({ name = "edit", title = "first" }))
    local second = require("acp").tool(spec({ name = "edit", title = "second" }))
    -- It is no longer the first one's.
    first()
    same("second", require("acp.tools").get("edit").title)
    second()
    same({ "buffers", "edit" }, names())
    same(nil, require("acp.tools").get("edit").title)
    require("acp").tools.remove("edit")
    same({ "buffers" }, names())
    raises("expected the name of a tool", function()
      require("acp").tools.remove("edit")
    end)
    vim.g.acp = { tools = { builtin = false } }
    require("acp").setup()
    same({}, names())
  end)

  test("the configuration chooses the built-in tools, `:Acp tools` until Neovim ends", function()
    require("acp.tools.builtin").specs = function()
      return { spec({ name = "a" }), spec({ name = "b" }) }, { "b" }
    end
    same({ "a", "-b" }, names())
    vim.cmd("Acp tools enable b")
    same({ "a", "b" }, names())
    vim.cmd("Acp tools disable b")
    -- The user's own tool of that name was asked for.
    package.loaded["acp.tools"] = nil
    local remove = require("acp").tool(spec({ name = "b" }))
    same({ "a", "b" }, names())
    remove()
    for _, case in ipairs({
      { "all", { "a", "b" } },
      { { "b" }, { "-a", "b" } },
      { {}, { "-a", "-b" } },
    }) do
      vim.g.acp = { tools = { builtin = case[1] } }
      require("acp").setup()
      same(case[2], names())
    end
    vim.g.acp = { tools = { builtin = { "b", "c" } } }
    require("acp").setup()
    same({ "tools.builtin[2] (c)" }, require("acp.tools").unknown())
    vim.g.acp = { tools = { builtin = "most" } }
    require("acp").setup()
    contains(
      'tools.builtin: expected "default", "all" or false, or a list of strings, got "most"',
      require("acp.config").report().problems[1]
    )
    same({ "a", "-b" }, names())
    vim.g.acp = nil
    require("acp").setup()
  end)

  test("the configuration is over what a tool says of itself", function()
    builtin({})
    vim.g.acp = {
      tools = { permissions = { a = "reject", b = "allow" }, disabled = { "c" }, time_limit = 5 },
    }
    local acp = require("acp")
    acp.tool(spec({ name = "a", permission = "allow", time_limit = 9 }))
    acp.tool(spec({ name = "b" }))
    acp.tool(spec({ name = "c", time_limit = false }))
    acp.tool(spec({ name = "d", read_only = true, permission = "ask" }))
    same({ "a", "b", "-c", "d" }, names())
    local calls = support.fake()
    require("acp.tools").offer(require("acp.native").load())
    local seen = {}
    for _, tool in ipairs(told(calls, "tools_define")[1][1]) do
      seen[tool.name] = { tool.permission, tool.enabled, tool.time_limit }
    end
    same({
      a = { "reject", true, 9 },
      b = { "allow", true, 5 },
      c = { "ask", false },
      d = { "ask", true, 5 },
    }, seen)
  end)

  test("errors in the configuration are reported, unknown names by health", function()
    builtin({})
    vim.g.acp = {
      tools = { permissions = { a = "always", b = "ask" }, disabled = { "c" }, time_limit = 0 },
      agents = { tutor = { tools = "sse" } },
    }
    local problems = table.concat(require("acp.config").report().problems, "\n")
    contains('tools.permissions.a: expected "allow", "ask" or "reject", got "always"', problems)
    contains("tools.time_limit: expected a number above 0, got 0", problems)
    contains('agents.tutor.tools: expected "stdio" or false, got "sse"', problems)
    same({ "tools.permissions.b", "tools.disabled[1] (c)" }, require("acp.tools").unknown())
    require("acp").tool(spec({ name = "c" }))
    same({ "tools.permissions.b" }, require("acp.tools").unknown())
  end)

  test("the library has the list, whenever it is set up and whatever changes", function()
    builtin({ spec({ name = "buffers", kind = "read" }) })
    local acp = require("acp")
    local remove = acp.tool(spec({ title = "Mine" }))
    local calls = support.fake()
    same({}, calls)
    require("acp.tools").offer(require("acp.native").load())
    remove()
    acp.tools.disable("buffers")
    acp.tools.enable("buffers")
    local lists = told(calls, "tools_define")
    same({
      {
        name = "buffers",
        description = "Does something.",
        parameters = vim.empty_dict(),
        read_only = false,
        permission = "ask",
        enabled = true,
        time_limit = 60,
        kind = "read",
        builtin = true,
      },
      {
        name = "mine",
        title = "Mine",
        description = "Does something.",
        parameters = vim.empty_dict(),
        read_only = false,
        permission = "ask",
        enabled = true,
        time_limit = 60,
        kind = "other",
        builtin = false,
      },
    }, lists[1][1])
    same({ 2, 1 }, { #lists, #lists[2][1] })
    same({ { "buffers", false }, { "buffers", true } }, told(calls, "tool_switch"))
  end)

  test("a schema rejected by the library is reported, and the tool is not added", function()
    builtin({})
    local why = { { name = "mine", why = "properties.a.type: 7 is no type" } }
    require("acp").tool(spec())
    local calls = support.fake({ tools_define = why })
    require("acp.tools").offer(require("acp.native").load())
    contains(
      "the tool `mine` is not offered, its parameters are wrong: properties.a.type",
      support.notices[1].text
    )
    require("acp").tools.remove("mine")
    local problem = raises("acp.tool: spec.parameters: properties.a.type: 7", function()
      require("acp").tool(spec())
    end)
    contains("tools_spec.lua", problem)
    same({}, names())
    local lists = told(calls, "tools_define")
    same({}, lists[#lists][1])
  end)

  test("a change of the list is an event", function()
    builtin({})
    local count, data = 0, nil
    local id = vim.api.nvim_create_autocmd("User", {
      pattern = "AcpToolsChanged",
      callback = function(args)
        count, data = count + 1, args.data
      end,
    })
    local remove = require("acp").tool(spec())
    require("acp").tools.disable("mine")
    remove()
    remove()
    vim.api.nvim_del_autocmd(id)
    same({ 3, {} }, { count, data })
  end)

  test("later changes to a spec have no effect", function()
    builtin({})
    local mine = spec({ parameters = { properties = { a = { type = "string" } } } })
    require("acp").tool(mine)
    mine.parameters.properties.a, mine.description = nil, "Else."
    same("Does something.", require("acp.tools").get("mine").description)
    same({ a = { type = "string" } }, require("acp.tools").get("mine").parameters.properties)
  end)

  test(":Acp tools lists the tools and switches the chosen one", function()
    builtin({ spec({ name = "buffers", title = "Open buffers", read_only = true }) })
    require("acp").tool(spec({ name = "run_tests" }))
    local shown, text = run("Acp tools", 1)
    same({
      "Choose a tool to switch on or off",
      "● buffers    allow   built-in  Open buffers",
      "● run_tests  ask     own",
    }, shown)
    same("acp.nvim: buffers is no longer offered to agents.", text)
    same({ "-buffers", "run_tests" }, names())
    shown, text = run("Acp tools", 1)
    same("○ buffers    allow   built-in  Open buffers", shown[2])
    same("acp.nvim: buffers is offered to agents.", text)
    shown, text = run("Acp tools")
    same({ 3, nil }, { #shown, text })
    vim.g.acp = { tools = { enabled = false } }
    require("acp").setup()
    same("Tools for agents (all off: `tools.enabled`)", run("Acp tools")[1])
  end)

  test(":Acp tools switches those that are named, all or none", function()
    builtin({ spec({ name = "a" }), spec({ name = "b" }), spec({ name = "c" }) })
    local _, text = run("Acp tools disable a c")
    same("acp.nvim: a, c are no longer offered to agents.", text)
    same({ "-a", "b", "-c" }, names())
    _, text = run("Acp tools enable c nope a")
    same("acp.nvim: there is no tool `nope`; `:Acp tools` lists them.", text)
    same({ "-a", "b", "-c" }, names())
    _, text = run("Acp tools enable")
    contains("use `:Acp tools`, `:Acp tools enable NAME", text)
    same({ "disable", "enable" }, vim.fn.getcompletion("Acp tools ", "cmdline"))
    same({ "b" }, vim.fn.getcompletion("Acp tools disable ", "cmdline"))
    same({ "a", "c" }, vim.fn.getcompletion("Acp tools enable ", "cmdline"))
    same({ "c" }, vim.fn.getcompletion("Acp tools enable a ", "cmdline"))
    same({ "c" }, vim.fn.getcompletion("Acp tools enable c", "cmdline"))
    same({}, vim.fn.getcompletion("Acp tools nope ", "cmdline"))
    builtin({})
    package.loaded["acp.tools"] = nil
    _, text = run("Acp tools")
    contains("There are no tools for agents", text)
  end)

  test("the library has a handler run, and hears what comes of it", function()
    builtin({})
    local calls = support.fake()
    require("acp").tool(spec({
      handler = function(args, ctx)
        ctx.progress(1, 2, "half")
        local text = ctx.read("a.txt", { line = 2 })
        return { args.n, text, ctx.session, ctx.cwd, ctx.name, ctx.id }
      end,
    }))
    require("acp.tools").run({ id = 7, session = 3, cwd = "/x" }, "mine", { n = 1 })
    vim.wait(5000, function()
      return #told(calls, "tool_ask") == 1
    end, 1)
    same({ { 7, 1, "read", { path = "/x/a.txt", line = 2 } } }, told(calls, "tool_ask"))
    require("acp.tools.run").answer(7, 1, { content = "text" })
    vim.wait(5000, function()
      return #told(calls, "tool_done") == 1
    end, 1)
    same({ { 7, true, { 1, "text", 3, "/x", "mine", 7 } } }, told(calls, "tool_done"))
    same({ { 7, 1, 2, "half" } }, told(calls, "tool_progress"))
    require("acp.tools").run({ id = 8, session = 3, cwd = "/x" }, "gone", {})
    same({ 8, false, "the tool gone no longer exists" }, told(calls, "tool_done")[2])
    same(0, require("acp.tools.run").count())
  end)

  test("the plugin's own tools are as the API wants them", function()
    local seen = {}
    for _, tool in ipairs(require("acp.tools.builtin").specs()) do
      same({ tool.name }, { tool.name, require("acp.tools.check").wrong(tool) })
      same({ tool.name, nil }, { tool.name, seen[tool.name] })
      same(true, vim.tbl_contains({ "allow", "ask" }, tool.permission or "ask"))
      seen[tool.name] = true
    end
  end)

  vim.ui.select = select
end
