local support = require("support")
local same, contains, raises = support.same, support.contains, support.raises

local IDLE = { phase = "idle", session = 3, agent = "mine", attached = { "a.txt", "b.txt" } }

--- Runs a command and fails unless the library received exactly these calls (queries ignored).
local function check(command, expected)
  local calls = support.fake({ status = IDLE })
  vim.cmd(command)
  local deeds = vim.tbl_filter(function(call)
    return call[1] ~= "status"
  end, calls)
  same(expected, deeds)
end

return function(test)
  vim.g.loaded_acp = nil
  dofile(support.root .. "/plugin/acp.lua")

  test("attach takes a file, the lines of its range, or the clipboard", function()
    local here = vim.fs.normalize(vim.fn.getcwd())
    check("Acp attach a b.txt", { { "attach", nil, here .. "/a b.txt" } })
    check("Acp attach ~/c", { { "attach", nil, vim.fs.normalize("~/c") } })
    check("Acp attach clipboard", { { "attach" } })
    vim.cmd.enew()
    check("Acp attach", {})
    contains("this window shows no file", support.notices[1].text)
    vim.cmd.file("current.lua")
    check("Acp attach", { { "attach", nil, here .. "/current.lua" } })
    vim.cmd.enew({ bang = true })
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "one", "two" })
    local lines = { path = "", first = 1, last = 2, text = "two" }
    check("2Acp attach", { { "attach", nil, lines } })
  end)

  test("detach takes a number, or all", function()
    check("Acp detach", { { "detach" } })
    check("Acp detach 2", { { "detach", nil, 2 } })
    check("Acp detach first", {})
    contains('"first" is not an attachment\'s number', support.notices[1].text)
  end)

  test("attachments are completed by their numbers, files by their names", function()
    support.fake({ status = IDLE })
    require("acp.native").load()
    same({ "1", "2" }, vim.fn.getcompletion("Acp detach ", "cmdline"))
    same({ "README.md" }, vim.fn.getcompletion("Acp attach READ", "cmdline"))
  end)

  test("names with blanks are completed from their last word on", function()
    local dir = vim.fn.tempname()
    vim.fn.mkdir(dir .. "/a b c", "p")
    vim.fn.writefile({}, dir .. "/a b c/d e.md")
    vim.cmd.cd(dir)
    for _, command in ipairs({ "Acp attach ", "Acp export " }) do
      same({ "a b c/" }, vim.fn.getcompletion(command .. "a", "cmdline"))
      same({ "b c/" }, vim.fn.getcompletion(command .. "a ", "cmdline"))
      same({ "c/d e.md" }, vim.fn.getcompletion(command .. "a b c/d", "cmdline"))
      same({ "e.md" }, vim.fn.getcompletion(command .. "a b c/d e", "cmdline"))
    end
    vim.cmd.cd("-")
  end)

  test("a bad argument is reported at the call, and nothing happens", function()
    local calls = support.fake({ status = IDLE })
    local acp = require("acp")
    raises("acp.attach: what: expected a path, a table or nil, got 5", function()
      acp.attach(5)
    end)
    raises("acp.detach: number: expected an attachment's number or nil, got 0", function()
      acp.detach(0)
    end)
    same({}, calls)
  end)
end
