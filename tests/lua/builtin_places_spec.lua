local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

local function lines(count)
  local out = {}
  for number = 1, count do
    out[number] = "line " .. number
  end
  return table.concat(out, "\n") .. "\n"
end

--- Selects in the current window by normal mode's keys, and tells what a tool says of it.
local function selected(keys)
  vim.cmd("normal! \27" .. keys)
  local result = tools.call("selection")
  vim.cmd("normal! \27")
  return result
end

--- Returns the highlighted lines of a buffer, counted from 1.
local function highlighted(buf)
  local space = vim.api.nvim_create_namespace("acp_navigate")
  return vim.tbl_map(function(mark)
    return { mark[2] + 1, mark[4].end_row }
  end, vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, { details = true }))
end

--- A project with one file in a window, and a chat beside it where the user is.
---@return integer win The file's.
---@return integer chat
local function beside_chat()
  vim.o.columns, vim.o.lines = 160, 40
  tools.project({ ["a.txt"] = lines(200), ["b.txt"] = lines(200) })
  vim.cmd("silent only")
  tools.edit("a.txt")
  return vim.api.nvim_get_current_win(), tools.chat()
end

--- Calls navigate while Neovim is at rest.
local function go(args)
  local result
  tools.at_rest(function()
    result = tools.call("navigate", args)
  end)
  return result
end

return function(test)
  test("selection: no text of a file outside the session's folders", function()
    tools.project({ ["a.txt"] = "one\n" })
    local outside = vim.fn.tempname()
    vim.fn.writefile({ "secret" }, outside)
    vim.cmd.edit(vim.fn.fnameescape(outside))
    local result = selected("ggVG")
    same({ outside, 1 }, { result.path, result.cursor.line })
    same({ nil, nil }, { result.line_text, result.selection })
    contains("outside the session's folders", result.note)
  end)

  test("selection: characters, lines and blocks, of more than one byte, too", function()
    tools.project({ ["a.txt"] = "aäoböc\nzwei\ndrei\n" })
    tools.edit("a.txt")
    local result = selected("ggwbllvl")
    same({
      kind = "characters",
      active = true,
      start = { line = 1, column = 4 },
      ["end"] = { line = 1, column = 5 },
      text = "ob",
    }, result.selection)
    same("v", result.mode)
    same("äo", selected("gg0lvl").selection.text)
    -- Backwards it is the same.
    local backwards = selected("gg0llvh").selection
    same({ "äo", 2, 4 }, { backwards.text, backwards.start.column, backwards["end"].column })
    result = selected("ggVj")
    same({
      kind = "lines",
      active = true,
      start = { line = 1, column = 1 },
      ["end"] = { line = 2 },
      text = "aäoböc\nzwei",
    }, result.selection)
    result = selected("2G0l\22jl")
    same({ "block", "we\nre" }, { result.selection.kind, result.selection.text })
    same("aäoböc\nzw", selected("gg0vjl").selection.text)
  end)

  test("selection: where the user is, with the chat in front of it", function()
    local win = beside_chat()
    vim.api.nvim_win_set_cursor(win, { 3, 2 })
    local result = tools.call("selection")
    same({ tools.cwd .. "/a.txt", "a.txt", "text", false }, {
      result.path,
      result.name,
      result.filetype,
      result.modified,
    })
    same({ { line = 3, column = 3 }, "line 3", "n", false }, {
      result.cursor,
      result.line_text,
      result.mode,
      result.has_focus,
    })
    same(true, result.visible.line <= 3 and result.visible.end_line >= 3)
    same(nil, result.selection)
    contains("Nothing has been selected", result.note)
  end)

  test("selection: an earlier one is marked as such and clamped to the current text", function()
    tools.project({ ["a.txt"] = "one\ntwo\nthree\n" })
    tools.edit("a.txt")
    vim.cmd("normal! jvj$\27gg")
    tools.chat()
    local result = tools.call("selection")
    same({ false, "two\nthree" }, { result.selection.active, result.selection.text })
    contains("no longer active", result.note)
    vim.cmd("wincmd p")
    vim.api.nvim_buf_set_lines(0, 2, 3, false, {})
    tools.chat()
    same("two", vim.trim(tools.call("selection").selection.text))
  end)

  test("selection: without a file, and with more than fits", function()
    tools.project({ ["a.txt"] = lines(2500) })
    tools.chat()
    vim.cmd("silent only")
    contains("no file in any window", tools.call("selection").note)
    vim.cmd("new")
    tools.edit("a.txt")
    local result = selected("ggVG")
    same({ true, 2500 }, { result.selection.truncated, result.selection["end"].line })
    same(2000, #vim.split(result.selection.text, "\n"))
    contains("up to line 2500", result.note)
    same(2000, #vim.split(selected("ggvG$").selection.text, "\n"))
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { ("ä"):rep(50000) })
    result = selected("ggVG")
    same({ true, 64 * 1024 }, { result.selection.truncated, #result.selection.text })
  end)

  test("navigate: the file's window shows the place, the user stays in the chat", function()
    local win, chat = beside_chat()
    vim.api.nvim_win_set_cursor(win, { 50, 0 })
    local args = { path = "b.txt", line = 120, end_line = 122, column = 3 }
    same({ shown = true, path = "b.txt", line = 120, end_line = 122 }, go(args))
    same(chat, vim.api.nvim_get_current_win())
    local buf = vim.api.nvim_win_get_buf(win)
    same(tools.cwd .. "/b.txt", vim.api.nvim_buf_get_name(buf))
    same({ { 120, 2 }, true }, { vim.api.nvim_win_get_cursor(win), vim.bo[buf].buflisted })
    -- The jumplist leads back.
    vim.api.nvim_set_current_win(win)
    vim.cmd('execute "normal! \\<C-o>"')
    same(tools.cwd .. "/a.txt", vim.api.nvim_buf_get_name(0))
    same(50, vim.fn.line("."))
    -- So does the one within the file.
    vim.cmd("normal! 60G")
    vim.api.nvim_set_current_win(chat)
    go({ path = "a.txt", line = 150 })
    vim.api.nvim_set_current_win(win)
    vim.cmd('execute "normal! \\<C-o>"')
    same(60, vim.fn.line("."))
  end)

  test("navigate: the lines are highlighted for a moment, or not", function()
    local win = beside_chat()
    tools.at_rest(function()
      local defer, over = vim.defer_fn, nil
      vim.defer_fn = function(fn)
        over = fn
      end
      tools.call("navigate", { path = "a.txt", line = 3, end_line = 4 })
      vim.defer_fn = defer
      local buf = vim.api.nvim_win_get_buf(win)
      same({ { 3, 4 } }, highlighted(buf))
      over()
      same({}, highlighted(buf))
      tools.call("navigate", { path = "a.txt", line = 200 })
      tools.call("navigate", { path = "a.txt", line = 3, highlight = false })
      same({}, highlighted(buf))
    end)
  end)

  test("navigate: the window the user is in is never moved", function()
    local win = beside_chat()
    vim.api.nvim_set_current_win(win)
    local view = vim.fn.winsaveview()
    same(true, go({ path = "a.txt", line = 2 }).shown)
    same(2, #vim.api.nvim_tabpage_list_wins(0))
    go({ path = "a.txt", line = 150 })
    same({ win, 3 }, { vim.api.nvim_get_current_win(), #vim.api.nvim_tabpage_list_wins(0) })
    same(view, vim.fn.winsaveview())
    go({ path = "b.txt" })
    same({ win, 3 }, { vim.api.nvim_get_current_win(), #vim.api.nvim_tabpage_list_wins(0) })
    same(tools.cwd .. "/a.txt", vim.api.nvim_buf_get_name(0))
  end)

  test("navigate: unsaved text is not left without 'hidden'", function()
    local win = beside_chat()
    vim.o.hidden = false
    vim.api.nvim_buf_set_lines(vim.api.nvim_win_get_buf(win), 0, 1, false, { "unsaved" })
    local result = go({ path = "b.txt", line = 1 })
    vim.o.hidden = true
    same(true, result.shown)
    same(tools.cwd .. "/a.txt", vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
    same(3, #vim.api.nvim_tabpage_list_wins(0))
  end)

  test("navigate: waits for a user who selects text, then gives up", function()
    local win = beside_chat()
    vim.api.nvim_set_current_win(win)
    vim.cmd("normal! v")
    local result = go({ path = "b.txt", line = 7 })
    same({ false, "v" }, { result.shown, vim.api.nvim_get_mode().mode })
    contains(
      "the user is selecting text. Name the place in your answer instead (b.txt:7)",
      result.note
    )
    same(2, #vim.api.nvim_tabpage_list_wins(0))
    tools.at_rest(function()
      local outcome = tools.run("navigate", { path = "b.txt" }, { timeout = 0 })
      vim.schedule(function()
        vim.cmd("normal! \27")
      end)
      same({ true, true }, { outcome.wait(), outcome.value.shown })
    end)
  end)

  test("navigate: a lack of space for a window is reported", function()
    local win = beside_chat()
    vim.api.nvim_win_close(win, true)
    vim.o.columns, vim.o.lines = 60, 20
    local result = go({ path = "b.txt" })
    vim.o.columns, vim.o.lines = 160, 40
    same(false, result.shown)
    contains("no room", result.note)
    same(-1, vim.fn.bufnr(tools.cwd .. "/b.txt"))
  end)

  test("navigate: a file that another Neovim has open is left to the user", function()
    local win = beside_chat()
    local before = vim.o.updatecount
    vim.o.updatecount = 200
    vim.api.nvim_win_call(win, function()
      vim.cmd("edit " .. vim.fn.fnameescape(tools.cwd .. "/b.txt") .. " | setlocal swapfile")
      vim.cmd("silent preserve")
    end)
    local swap = vim.fn.swapname(vim.api.nvim_win_get_buf(win))
    local content = assert(io.open(swap, "rb")):read("*a")
    vim.cmd("bwipeout! " .. vim.api.nvim_win_get_buf(win))
    local file = assert(io.open(swap, "wb"))
    file:write(content)
    file:close()
    tools.at_rest(function()
      contains("there is a swap file of it", tools.fails("navigate", { path = "b.txt" }))
    end)
    vim.uv.fs_unlink(swap)
    vim.o.updatecount = before
  end)

  test("navigate: a swap file is found in a folder beside the file, whatever its name", function()
    beside_chat()
    local folder = tools.cwd .. "/50% done"
    vim.fn.mkdir(folder .. "/.swaps", "p")
    vim.fn.writefile({ "text" }, folder .. "/b.txt")
    vim.fn.writefile({}, folder .. "/.swaps/b.txt.swp")
    local before = vim.o.directory
    vim.o.directory = "./.swaps"
    local ok, problem = pcall(tools.at_rest, function()
      contains("there is a swap file", tools.fails("navigate", { path = "50% done/b.txt" }))
    end)
    vim.o.directory = before
    assert(ok, problem)
  end)

  test("navigate: a line past the end is the last one", function()
    local win = beside_chat()
    local result = go({ path = "b.txt", line = 500, end_line = 900 })
    same({ true, 200 }, { result.shown, result.line })
    contains("line 200", result.note)
    same(200, vim.api.nvim_win_get_cursor(win)[1])
  end)

  test("navigate: an unsuitable file is reported and gets no buffer", function()
    beside_chat()
    local count = #vim.api.nvim_list_bufs()
    local function check(args, why)
      tools.at_rest(function()
        contains(why, tools.fails("navigate", args))
      end)
    end
    check({ path = "c.txt" }, "c.txt cannot be shown: there is no such file.")
    check({ path = "." }, "it is a directory, not a file")
    check({ path = "b.txt", column = 2 }, "give line as well")
    check({ path = "b.txt", line = 5, end_line = 4 }, "end_line (4) is before line (5)")
    local file = assert(io.open(tools.cwd .. "/big.txt", "w"))
    file:write(("x"):rep(1024 * 1024 + 1))
    file:close()
    check({ path = "big.txt" }, "larger than 1 MiB")
    same(count, #vim.api.nvim_list_bufs())
  end)
end
