local support = require("support")
local same, contains = support.same, support.contains

--- Defines the tools of the examples in the help and the README, and returns one of them.
local function example(name)
  for _, path in ipairs({ "doc/acp.txt", "README.md" }) do
    local text = table.concat(vim.fn.readfile(support.root .. "/" .. path), "\n")
    local pattern = path == "README.md" and "```lua\n(.-)\n```" or ">lua\n(.-)\n<"
    for block in text:gmatch(pattern) do
      local at = block:find('name = "' .. name .. '"', 1, true)
      if at and block:find('require("acp").tool(', 1, true) then
        assert(loadstring(block))()
        return assert(require("acp.tools").get(name))
      end
    end
  end
  error("there is no example " .. name)
end

--- Runs the handler of an example.
local function run(name, args, opts)
  return require("acp.tools.run").fake(example(name), args, opts)
end

--- Returns a new folder.
local function folder()
  local path = vim.fn.tempname()
  vim.fn.mkdir(path, "p")
  return vim.uv.fs_realpath(path)
end

return function(test)
  -- `make test` runs these: an inner make would speak of where it is.
  for _, name in ipairs({ "MAKEFLAGS", "MAKELEVEL", "MFLAGS" }) do
    vim.env[name] = nil
  end

  test("the example that runs the tests tells its progress and how they went", function()
    local cwd = folder()
    local makefile = { "test:", "\t@echo one; echo 'two $(ONLY)'; exit $(or $(CODE),0)" }
    vim.fn.writefile(makefile, cwd .. "/Makefile")
    local outcome = run("run_tests", { only = "mine" }, { cwd = cwd })
    same(nil, outcome.error)
    same({ passed = true, output = "one\ntwo mine\n" }, outcome.value)
    local told = outcome.progress[1]
    same("number", type(told[1]))
    contains(told[3], "one two mine")
    vim.fn.writefile({ "test:", "\t@echo bad; exit 1" }, cwd .. "/Makefile")
    same(false, run("run_tests", {}, { cwd = cwd }).value.passed)
  end)

  test("the example that runs the tests ends them when it is cancelled", function()
    local cwd = folder()
    vim.fn.writefile({ "test:", "\t@echo $$PPID; exec sleep 100" }, cwd .. "/Makefile")
    local outcome = run("run_tests", {}, { cwd = cwd, timeout = 0 })
    local function wait_for(what)
      same(true, (vim.wait(5000, what, 1)))
    end
    wait_for(function()
      return outcome.progress[1]
    end)
    local pid = tonumber(outcome.progress[1][3])
    same(0, vim.uv.kill(pid, 0))
    outcome.cancel()
    wait_for(function()
      return vim.uv.kill(pid, 0) ~= 0
    end)
  end)

  test("the example with a choice gives back the user's", function()
    local cwd = folder()
    local function git(...)
      local done = vim.system({ "git", ... }, { cwd = cwd }):wait()
      same({ ..., 0 }, { ..., done.code })
    end
    git("init", "-q", "-b", "main")
    git(
      "-c",
      "user.name=x",
      "-c",
      "user.email=x@example.org",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "x"
    )
    git("branch", "other")
    local outcome = run("choose_branch", {}, {
      cwd = cwd,
      ask = function(form)
        return "accept", { branch = form.schema.properties.branch.enum[2] }
      end,
    })
    same({ { branch = "other" }, nil }, { outcome.value, outcome.error })
    same({ "main", "other" }, outcome.asked[1].schema.properties.branch.enum)
    outcome = run("choose_branch", {}, {
      cwd = cwd,
      ask = function()
        return "decline"
      end,
    })
    same("The user has chosen no branch.", outcome.error)
    local nowhere = folder()
    vim.env.GIT_CEILING_DIRECTORIES = vim.fs.dirname(nowhere)
    outcome = run("choose_branch", {}, { cwd = nowhere })
    vim.env.GIT_CEILING_DIRECTORIES = nil
    same(("There is no Git repository in %s."):format(nowhere), outcome.error)
  end)

  test("the example with data tells the syntax of a place, unsaved or not", function()
    local cwd = folder()
    vim.fn.writefile({ "local x = 1" }, cwd .. "/a.lua")
    vim.cmd.edit(cwd .. "/a.lua")
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "local function f()", "  return 1", "end" })
    local outcome = run("syntax_at", { path = "a.lua", line = 2, column = 3 }, { cwd = cwd })
    same(nil, outcome.error)
    same("lua", outcome.value.language)
    local kinds = vim.tbl_map(function(node)
      return ("%s %d-%d"):format(node.type, node.line, node.end_line)
    end, outcome.value.nodes)
    same("return_statement 2-2", kinds[1])
    same(true, vim.tbl_contains(kinds, "function_declaration 1-3"))
    same("chunk 1-3", kinds[#kinds])
    outcome = run("syntax_at", { path = "nowhere.lua", line = 1 }, { cwd = cwd })
    contains("No such file", outcome.error)
    vim.fn.writefile({ "x" }, cwd .. "/a.unheard")
    outcome = run("syntax_at", { path = "a.unheard", line = 1 }, { cwd = cwd })
    same("There is no parser for a.unheard.", outcome.error)
  end)

  test("the README's example works", function()
    local outcome = run("spell_suggest", { word = "helo" })
    same(nil, outcome.error)
    same("table", type(outcome.value.suggestions))
  end)

  test("the help has every tool of the plugin, and no other", function()
    local help = table.concat(vim.fn.readfile(support.root .. "/doc/acp.txt"), "\n")
    local part = assert(help:match("%*acp%-tools%-builtin%*(.-)\n%-%-%-"))
    local named = {}
    for line in part:gmatch("\n    (%l[^\n]*)") do
      for name in (line:match("^(.-)  ") or line):gmatch("[%l_]+") do
        named[name] = line:find(" %* ") and "ask" or "allow"
      end
    end
    local there = {}
    for _, tool in ipairs(require("acp").tools.list()) do
      there[tool.name] = tool.permission
    end
    for name, permission in pairs(there) do
      same({ name, permission }, { name, named[name] })
    end
    for _, module in ipairs(require("acp.tools.builtin").modules) do
      if not vim.uv.fs_stat(("%s/lua/acp/tools/builtin/%s.lua"):format(support.root, module)) then
        return
      end
    end
    same(there, named)
  end)
end
