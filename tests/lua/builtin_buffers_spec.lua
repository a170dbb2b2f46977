local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

local function numbered(count)
  local lines = {}
  for number = 1, count do
    lines[number] = "line " .. number
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Returns the names of the buffers in a result.
local function names(result)
  return vim.tbl_map(function(buffer)
    return buffer.name
  end, result.buffers)
end

return function(test)
  test("buffers: the open files, the user's first, without the chat", function()
    local cwd = tools.project({ ["a.lua"] = "one\ntwo\n", ["b.txt"] = "b\n", ["c.txt"] = "c\n" })
    tools.edit("c.txt")
    tools.edit("b.txt")
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "unsaved" })
    vim.cmd("set hidden")
    tools.edit("a.lua")
    tools.chat()
    local result = tools.call("buffers")
    same({ "a.lua", "b.txt", "c.txt" }, names(result))
    same({ 3, 1 }, { result.total, result.unsaved })
    same({
      path = cwd .. "/a.lua",
      name = "a.lua",
      filetype = "lua",
      modified = false,
      lines = 2,
      visible = true,
      current = true,
      alternate = false,
    }, result.buffers[1])
    same({ true, false, true }, {
      result.buffers[2].modified,
      result.buffers[2].visible,
      result.buffers[2].alternate,
    })
    same({ "b.txt" }, names(tools.call("buffers", { modified_only = true })))
  end)

  test(
    "buffers: a file outside the session's folder has its whole path, one without name counts if it has a text",
    function()
      local elsewhere = tools.project({ ["x.txt"] = "x\n" })
      tools.edit("x.txt")
      tools.project({})
      same({ elsewhere .. "/x.txt" }, names(tools.call("buffers")))
      vim.cmd("new")
      tools.chat()
      vim.cmd("wincmd t | wincmd j")
      same({ elsewhere .. "/x.txt" }, names(tools.call("buffers")))
      vim.api.nvim_buf_set_lines(vim.fn.bufnr("$"), 0, -1, false, { "x" })
    end
  )

  test("buffers: nothing open, nothing unsaved, too many", function()
    tools.project({ ["a.txt"] = "" })
    local chat = tools.chat()
    vim.cmd("silent only")
    same(chat, vim.api.nvim_get_current_win())
    contains("No file is open", tools.call("buffers").note)
    vim.cmd("new")
    tools.edit("a.txt")
    contains("Everything is saved", tools.call("buffers", { modified_only = true }).note)
    for number = 1, 250 do
      vim.bo[vim.fn.bufadd(("%s/many/%d"):format(tools.cwd, number))].buflisted = true
    end
    local result = tools.call("buffers")
    same({ 200, 251 }, { #result.buffers, result.total })
    same("a.txt", result.buffers[1].name)
    contains("first 200 of 251", result.note)
  end)

  test("read_buffer: unsaved text, how much of it, and how to go on", function()
    tools.project({ ["a.txt"] = numbered(5) })
    tools.edit("a.txt")
    vim.api.nvim_buf_set_lines(0, 0, 1, false, { "unsaved" })
    local result = tools.call("read_buffer", { path = "a.txt" }).content
    same("a.txt: lines 1 to 5 of 5 (from the buffer, with unsaved changes).", result[1].text)
    same("unsaved\nline 2\nline 3\nline 4\nline 5\n", result[2].text)
    result =
      tools.call("read_buffer", { path = tools.cwd .. "/a.txt", line = 2, limit = 2 }).content
    same(
      "a.txt: lines 2 to 3 of 5 (from the buffer, with unsaved changes). Go on with line = 4.",
      result[1].text
    )
    same("line 2\nline 3\n", result[2].text)
    vim.cmd("silent write")
    result = tools.call("read_buffer", { path = "a.txt", line = 4, limit = 2 }).content
    same("a.txt: lines 4 to 5 of 5 (from the buffer, saved).", result[1].text)
  end)

  test("read_buffer: a file that is not open, an empty one, none", function()
    tools.project({ ["a.txt"] = "1\n2\n3", ["empty"] = "" })
    local result = tools.call("read_buffer", { path = "./x/../a.txt" }).content
    same("a.txt: lines 1 to 3 of 3 (from the disk, not open in Neovim).", result[1].text)
    same("1\n2\n3", result[2].text)
    same(-1, vim.fn.bufnr("a.txt"))
    result = tools.call("read_buffer", { path = "empty" }).content
    same("empty: it is empty (from the disk, not open in Neovim).", result[1].text)
    contains("missing cannot be read: ", tools.fails("read_buffer", { path = "missing" }))
    contains(
      "a.txt cannot be read: no way",
      tools.fails("read_buffer", { path = "a.txt" }, {
        read = function()
          return nil, "no way"
        end,
      })
    )
  end)

  test("read_buffer: line endings are LF and reported", function()
    tools.project({ ["dos.txt"] = "a\r\nb\r\n" })
    local result = tools.call("read_buffer", { path = "dos.txt" }).content
    contains("its lines end with CR", result[1].text)
    same("a\nb\n", result[2].text)
  end)

  test("read_buffer: what does not fit is not noted as read", function()
    local asked
    local function read(_, range)
      asked = range
      return numbered(3000):sub(1, 24000)
    end
    tools.project({ ["long.txt"] = numbered(3000), ["wide.txt"] = ("ä"):rep(100000) .. "\nb\n" })
    local result = tools.call("read_buffer", { path = "long.txt" }).content
    contains("lines 1 to 2000 of 3000", result[1].text)
    contains("Go on with line = 2001.", result[1].text)
    result = tools.call("read_buffer", { path = "wide.txt" }).content
    contains("Line 1 is cut", result[1].text)
    contains("Go on with line = 2.", result[1].text)
    same({ 128 * 1024, 0 }, { #result[2].text, #result[2].text % 2 })
    tools.call("read_buffer", { path = "wide.txt" }, { read = read })
    same({ line = 1, limit = 1 }, asked)
  end)
end
