local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

local function fresh()
  tools.project({ ["a.txt"] = "1\n2\n3\n", ["b.txt"] = "1\n" })
  vim.fn.setqflist({}, "f")
  tools.edit("a.txt")
end

return function(test)
  test("get_quickfix: no text of files outside the session's folders", function()
    fresh()
    local outside = vim.fn.tempname()
    vim.fn.setqflist({}, " ", {
      items = {
        { filename = outside, lnum = 3, text = "secret" },
        { filename = tools.cwd .. "/b.txt", lnum = 1, text = "known" },
      },
    })
    local items = tools.call("get_quickfix").items
    same({ outside, 3 }, { items[1].path, items[1].line })
    same({ nil, "known" }, { items[1].text, items[2].text })
  end)

  test("get_quickfix: the list, and where the user is in it", function()
    fresh()
    vim.fn.setqflist({}, " ", {
      title = ":make",
      idx = 2,
      items = {
        { text = " In file: " },
        {
          filename = tools.cwd .. "/b.txt",
          lnum = 1,
          col = 2,
          end_lnum = 3,
          end_col = 4,
          type = "E",
          text = "bad",
        },
      },
    })
    same({
      title = ":make",
      items = {
        { text = "In file:" },
        {
          path = "b.txt",
          line = 1,
          column = 2,
          end_line = 3,
          end_column = 4,
          type = "error",
          text = "bad",
        },
      },
      total = 2,
      current = 2,
    }, tools.call("get_quickfix"))
    local result = tools.call("get_quickfix", { limit = 1 })
    same({ 1, 2 }, { #result.items, result.total })
    contains("first 1 of 2", result.note)
  end)

  test("get_quickfix: empty lists, and the location list of the user's window", function()
    fresh()
    local result = tools.call("get_quickfix")
    same({ {}, 0 }, { result.items, result.total })
    contains("The quickfix list is empty", result.note)
    vim.fn.setloclist(0, { { filename = tools.cwd .. "/b.txt", lnum = 1, text = "here" } })
    tools.chat()
    result = tools.call("get_quickfix", { location_list = true })
    same({ "b.txt", "here" }, { result.items[1].path, result.items[1].text })
    vim.cmd("silent only")
    contains("is empty", tools.call("get_quickfix", { location_list = true }).note)
  end)

  test("set_quickfix: a new list on top of the user's", function()
    fresh()
    vim.fn.setqflist({}, " ", { title = "mine", items = { { text = "mine" } } })
    local result = tools.call("set_quickfix", {
      title = "Findings",
      items = {
        { path = "a.txt", line = 2, column = 3, text = "look", type = "warning" },
        { path = tools.cwd .. "/b.txt" },
      },
    })
    same({ 2, false }, { result.set, result.open })
    contains(":copen", result.note)
    local list = vim.fn.getqflist({ items = 0, title = 0 })
    same("Findings", list.title)
    same({ 2, 3, "look", "W" }, {
      list.items[1].lnum,
      list.items[1].col,
      list.items[1].text,
      list.items[1].type,
    })
    same(tools.cwd .. "/b.txt", vim.api.nvim_buf_get_name(list.items[2].bufnr))
    vim.cmd("silent colder")
    same("mine", vim.fn.getqflist({ title = 0 }).title)
  end)

  test("set_quickfix: no list is lost, also if an older one is current", function()
    fresh()
    for _, title in ipairs({ "first", "second", "third" }) do
      vim.fn.setqflist({}, " ", { title = title, items = { { text = title } } })
    end
    vim.cmd("silent 2colder")
    local result = tools.call("set_quickfix", { items = { { path = "a.txt" } } })
    contains("back with :colder 3.", result.note)
    local titles = {}
    for number = 1, vim.fn.getqflist({ nr = "$" }).nr do
      titles[number] = vim.fn.getqflist({ nr = number, title = 0 }).title
    end
    same({ "first", "second", "third", "From the agent" }, titles)
    same("From the agent", vim.fn.getqflist({ title = 0 }).title)
    vim.cmd("silent colder 3")
    same("first", vim.fn.getqflist({ title = 0 }).title)
  end)

  test("set_quickfix: the window is opened, and the user stays where they are", function()
    fresh()
    local here = vim.api.nvim_get_current_win()
    local args = { items = { { path = "a.txt", line = 1 } }, open = true }
    tools.at_rest(function()
      same(true, tools.call("set_quickfix", args).open)
    end)
    same(here, vim.api.nvim_get_current_win())
    same(2, #vim.api.nvim_tabpage_list_wins(0))
    vim.cmd("cclose")
    vim.cmd("normal! v")
    local result = tools.call("set_quickfix", args)
    same({ false, "v" }, { result.open, vim.api.nvim_get_mode().mode })
    contains("the user is selecting text", result.note)
    vim.cmd("normal! \27")
  end)

  test("set_quickfix: an invalid item is reported, and the list stays", function()
    fresh()
    local function check(item, why)
      local items = { { path = "a.txt" }, item }
      local told = tools.fails("set_quickfix", { items = items })
      contains("items[1]: " .. why, told)
      contains("The list was not set.", told)
    end
    check({ path = "no.txt" }, "there is no file no.txt")
    check({ path = "a.txt", column = 1 }, "column and end_line belong to a line")
    check({ path = "a.txt", line = 2, end_line = 1 }, "end_line is before line")
    check({ path = "a.txt", line = 2, end_column = 1 }, "end_column belongs to an end_line")
    same(0, vim.fn.getqflist({ nr = "$" }).nr)
  end)
end
