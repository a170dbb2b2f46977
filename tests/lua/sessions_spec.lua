local support = require("support")
local same, contains = support.same, support.contains

--- A session of the past.
---@param fields? table
---@return acp.PastSession
local function past(fields)
  local item = { agent = "bot", id = "s1", record = "r1", cwd = "/p", title = "T", listed = false }
  return vim.tbl_extend("force", item, fields or {})
end

--- Answers list requests with these sessions; returns the calls and the offered items.
---@param sessions acp.PastSession[]
---@param answers? table<string, any>
local function world(sessions, answers)
  local offered = {}
  vim.ui.select = function(items, opts, choose)
    local format = opts.format_item or tostring
    table.insert(offered, { opts.prompt, vim.tbl_map(format, items) })
    choose(items[1])
  end
  local all = {
    past_list = function(number)
      require("acp.sessions").granted(number, sessions)
    end,
    open_below = function(buf)
      vim.cmd("botright split")
      vim.api.nvim_win_set_buf(0, buf)
      return function() end
    end,
  }
  return support.fake(vim.tbl_extend("force", all, answers or {})), offered
end

return function(test)
  test("how long ago a time was is said in words", function()
    local ago = require("acp.sessions").ago
    same("just now", ago(100, 100))
    same("just now", ago(200, 100), "a clock that was set back")
    same("1 minute ago", ago(0, 119))
    same("2 hours ago", ago(0, 7200 + 3599))
    same("30 days ago", ago(0, 30 * 86400))
    contains("1970-01-0", ago(43200, 40 * 86400))
  end)

  test("a label shows title, agent, time and folder", function()
    local label = require("acp.sessions").label
    same("T · bot", label(past(), false, 0))
    same("a b · bot · 1 hour ago", label(past({ title = " a\n b ", updated = 0 }), false, 3600))
    same("(no prompt yet) · bot · open · /p", label(past({ title = "", session = 1 }), true, 0))
    same("T · bot · /a?b", label(past({ cwd = "/a\nb" }), true, 0))
    local long = label(past({ title = ("ä"):rep(80) }), false, 0)
    same(("ä"):rep(59) .. "… · bot", long)
  end)

  --- Returns the lines of the list.
  local function listed()
    return vim.api.nvim_buf_get_lines(0, 0, -1, true)
  end

  test("the sessions that need you are on top, and the one under the cursor is opened", function()
    local open = {
      { session = 1, phase = "idle", agent = "a", stop_reason = "end_turn" },
      { session = 2, phase = "running", agent = "b", title = "T", review = { hunks = 2 } },
      { session = 3, phase = "waiting", agent = "c", usage = { cost = "1 USD" } },
    }
    local calls = world({ past({ session = 3 }), past({ id = "s2" }) }, { sessions = open })
    vim.cmd("Acp sessions")
    same({
      " c  waiting for you           1 USD  session 3",
      " b  working          2 hunks         T",
      " a  done                             session 1",
      "",
      " T · bot",
    }, listed())
    contains("<CR> open · a answer · dd delete · q close", vim.wo.winbar)
    vim.api.nvim_win_set_cursor(0, { 2, 0 })
    open[2].phase = "waiting"
    vim.api.nvim_exec_autocmds("User", { pattern = "AcpPermissionRequested" })
    vim.wait(1000, function()
      return vim.api.nvim_win_get_cursor(0)[1] == 1
    end)
    contains("b  waiting", listed()[1])
    vim.api.nvim_feedkeys(vim.keycode("<CR>"), "x", false)
    same({ "session_show", 2 }, calls[#calls])
    same("", vim.bo.filetype)
  end)

  --- Opens a list of two sessions; returns them, and a function that draws the list anew.
  local function two_open()
    local open = {
      { session = 1, phase = "running", agent = "a", title = "first" },
      { session = 2, phase = "running", agent = "b", title = "second" },
    }
    world({}, { sessions = open })
    vim.cmd("Acp sessions")
    local function draws(expected, ms)
      vim.api.nvim_exec_autocmds("User", { pattern = "AcpTurnStarted" })
      return (
        vim.wait(ms or 5000, function()
          return table.concat(listed()):find(expected, 1, true) ~= nil
        end, 1)
      )
    end
    return open, draws
  end

  test("the cursor's column stays, also in another line", function()
    local open, draws = two_open()
    vim.api.nvim_win_set_cursor(0, { 2, 5 })
    open[1].title = "new"
    same(true, draws("new"))
    same({ 2, 5 }, vim.api.nvim_win_get_cursor(0))
    open[2].phase = "waiting"
    same(true, draws("waiting"))
    same({ 1, 5 }, vim.api.nvim_win_get_cursor(0))
    vim.cmd("normal! $")
    open[1].title = "newest"
    same(true, draws("newest"))
    same(vim.v.maxcol, vim.fn.getcurpos()[5])
  end)

  test("a selection stays as it is", function()
    local open, draws = two_open()
    vim.api.nvim_win_set_cursor(0, { 1, 1 })
    vim.cmd("normal! vjl")
    local here = vim.api.nvim_win_get_cursor(0)
    open[2].phase = "waiting"
    same(true, draws("waiting"))
    same({ "v", here }, { vim.fn.mode(), vim.api.nvim_win_get_cursor(0) })
    vim.cmd("normal! \27")
  end)

  test("the list is not drawn while the text is locked", function()
    local open, draws = two_open()
    local was_drawn
    vim.keymap.set("n", "<F2>", function()
      open[1].title = "new"
      -- Scheduled functions run in here, under textlock.
      was_drawn = draws("new", 100)
      return ""
    end, { expr = true })
    vim.v.errmsg = ""
    vim.api.nvim_feedkeys(vim.keycode("<F2>"), "xt", false)
    vim.keymap.del("n", "<F2>")
    same({ false, "", false }, { was_drawn, vim.v.errmsg, vim.bo.modifiable })
    same(true, draws("new"))
  end)

  test("an open session is not deleted, and a message says why", function()
    two_open()
    vim.api.nvim_feedkeys("dd", "x", false)
    contains("this session is open", support.notices[1].text)
    same(1, #support.notices)
  end)

  test("of all projects, or of one agent", function()
    local calls = world({}, { sessions = {} })
    vim.cmd("Acp sessions! bot")
    local query
    for _, call in ipairs(calls) do
      query = call[1] == "past_list" and call[3] or query
    end
    same({ cwd = vim.fn.getcwd(), all = true, agent = "bot" }, query)
    contains("There is no session of bot.", listed()[1])
  end)

  test("a time span is short", function()
    local span = require("acp.overview").span
    same({ "0s", "59s", "1m", "2h", "3d" }, vim.tbl_map(span, { -1, 59, 119, 7200, 3 * 86400 }))
  end)

  test("nothing is deleted without a yes, and open sessions are not offered", function()
    local calls, offered = world({ past({ session = 3 }), past({ id = "s2" }) }, {
      past_delete = function(number)
        require("acp.sessions").granted(number, true)
      end,
    })
    vim.cmd("Acp sessions delete")
    same({ "Delete T · bot?", { "Delete it", "Keep it" } }, offered[2])
    same({ "past_delete", past({ id = "s2" }) }, { calls[#calls][1], calls[#calls][3] })
    contains("is deleted", support.notices[1].text)
    local select = vim.ui.select
    vim.ui.select = function(items, opts, choose)
      choose(opts.kind == "acp-session" and items[1] or nil)
    end
    local before = #calls
    vim.cmd("Acp sessions delete")
    same("past_list", calls[#calls][1])
    same(before + 1, #calls)
    vim.ui.select = select
  end)

  test("a callback receives the list", function()
    world({ past() })
    local got
    require("acp").sessions({ all = true }, function(sessions)
      got = sessions
    end)
    same({ past() }, got)
    local ok, problem = pcall(require("acp").sessions, { all = 1 })
    same(false, ok)
    contains("opts.all", problem)
  end)

  test("a conversation whose agent cannot be started is shown read-only", function()
    support.fake({
      past_export = function(number)
        require("acp.sessions").granted(number, "# T\n\nfirst")
      end,
    })
    require("acp.sessions").open({ agent = "gone", record = "r1", cwd = "/p", listed = false })
    same({ "# T", "", "first" }, vim.api.nvim_buf_get_lines(0, 0, -1, true))
    same({ false, "nofile", "markdown" }, { vim.bo.modifiable, vim.bo.buftype, vim.bo.filetype })
    same(false, (pcall(vim.cmd.normal, { "dd", bang = true })))
    contains("opened read-only", support.notices[1].text)
    vim.cmd("bwipeout")
  end)

  test("an export that fails says why in a few words", function()
    support.fake({
      past_export = function(number)
        require("acp.sessions").granted(number, "# T")
      end,
    })
    vim.cmd("Acp export " .. vim.fn.tempname() .. "/talk.md")
    contains("talk.md could not be written: no such file or directory.", support.notices[1].text)
    same(nil, support.notices[1].text:find("E482", 1, true))
  end)

  test("an error of the library is forgotten with its question", function()
    support.fake({
      past_export = function()
        error("there is no session yet", 0)
      end,
    })
    vim.cmd("Acp export")
    contains("there is no session yet", support.notices[1].text)
    require("acp.sessions").granted(1, "late")
  end)

  test("its words are completed", function()
    local words = vim.fn.getcompletion("Acp sessions ", "cmdline")
    same(true, vim.list_contains(words, "delete"))
    same(true, vim.list_contains(words, "claude"))
    same({ "export" }, vim.fn.getcompletion("Acp sessions! ex", "cmdline"))
    words = vim.fn.getcompletion("Acp sessions delete ", "cmdline")
    same(false, vim.list_contains(words, "delete"))
    same({}, vim.fn.getcompletion("Acp sessions claude x", "cmdline"))
  end)
end
