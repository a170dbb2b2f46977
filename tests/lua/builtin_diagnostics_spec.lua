local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

local space = vim.api.nvim_create_namespace("builtin_diagnostics_spec")

local function messages(result)
  return vim.tbl_map(function(diagnostic)
    return diagnostic.message
  end, result.diagnostics)
end

--- Two files with diagnostics.
local function world()
  tools.project({ ["b.lua"] = "1\n2\n3\n", ["d/a.lua"] = "1\n2\n3\n", ["c.lua"] = "\n" })
  tools.edit("b.lua")
  local severity = vim.diagnostic.severity
  vim.diagnostic.set(space, 0, {
    { lnum = 2, col = 0, message = "later", severity = severity.WARN },
    { lnum = 0, col = 4, end_lnum = 1, end_col = 2, message = "first", severity = severity.WARN },
    { lnum = 1, col = 0, message = "hint", severity = severity.HINT },
  })
  tools.edit("d/a.lua")
  vim.diagnostic.set(space, 0, {
    { lnum = 1, col = 3, message = "bad", severity = severity.ERROR, source = "lua_ls", code = 7 },
  })
end

return function(test)
  test("diagnostics: none of files outside the session's folders", function()
    world()
    vim.cmd.edit(vim.fn.fnameescape(vim.fn.tempname()))
    vim.diagnostic.set(space, 0, { { lnum = 0, col = 0, message = "secret" } })
    local result = tools.call("diagnostics")
    same({ "bad", "first", "later", "hint" }, messages(result))
    same(1, result.counts.error)
    vim.diagnostic.reset(space, 0)
  end)

  test("diagnostics: all of them, the worst first, lines as agents count them", function()
    world()
    local result = tools.call("diagnostics")
    same({ "bad", "first", "later", "hint" }, messages(result))
    same({ error = 1, warning = 2, information = 0, hint = 1 }, result.counts)
    same({
      path = "d/a.lua",
      line = 2,
      column = 4,
      end_line = 2,
      end_column = 4,
      severity = "error",
      message = "bad",
      source = "lua_ls",
      code = "7",
    }, result.diagnostics[1])
    same({ 1, 5, 2, 3 }, {
      result.diagnostics[2].line,
      result.diagnostics[2].column,
      result.diagnostics[2].end_line,
      result.diagnostics[2].end_column,
    })
  end)

  test("diagnostics: of a file, of a folder, of a severity, so many", function()
    world()
    same({ "first", "later", "hint" }, messages(tools.call("diagnostics", { path = "b.lua" })))
    same({ "bad" }, messages(tools.call("diagnostics", { path = "d" })))
    same({ "bad", "first", "later" }, messages(tools.call("diagnostics", { severity = "warning" })))
    local result = tools.call("diagnostics", { limit = 1 })
    same({ "bad" }, messages(result))
    same(4, result.total)
    contains("1 most severe of 4", result.note)
    result = tools.call("diagnostics", { path = "b.lua", severity = "error" })
    same({}, result.diagnostics)
    contains("none as severe", result.note)
    same(2, result.counts.warning)
  end)

  test("diagnostics: of a folder of a session whose folder is a link", function()
    world()
    local link = tools.cwd .. "-link"
    assert(vim.uv.fs_symlink(tools.cwd, link))
    same({ "bad" }, messages(tools.call("diagnostics", { path = "d" }, { cwd = link })))
  end)

  test("diagnostics: an empty list does not mean that there are no errors", function()
    world()
    contains("c.lua is not open in Neovim", tools.call("diagnostics", { path = "c.lua" }).note)
    contains("There is no file x.lua", tools.call("diagnostics", { path = "x.lua" }).note)
    tools.edit("c.lua")
    contains("No language server is attached", tools.call("diagnostics", { path = "c.lua" }).note)
    vim.diagnostic.reset(space)
    local result = tools.call("diagnostics")
    same({ 0, {} }, { result.total, result.diagnostics })
    contains("of others nothing is known", result.note)
  end)

  test("diagnostics: a long message is cut between characters", function()
    tools.project({ ["a.lua"] = "1\n" })
    tools.edit("a.lua")
    vim.diagnostic.set(space, 0, { { lnum = 0, col = 0, message = "x" .. ("ä"):rep(2000) } })
    same(1999, #tools.call("diagnostics").diagnostics[1].message)
  end)
end
