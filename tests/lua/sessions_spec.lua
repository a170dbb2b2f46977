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
    local long = label(past({ title = ("ä"):rep(80) }), false, 0)
    same(("ä"):rep(59) .. "… · bot", long)
  end)

  test("the session that is chosen is opened, or shown if it is open", function()
    local calls, offered = world({ past({ session = 3 }), past({ id = "s2" }) })
    vim.cmd("Acp sessions")
    same({ { "Sessions", { "T · bot · open", "T · bot" } } }, offered)
    same({ "session_show", 3 }, calls[#calls])
  end)

  test("of all projects, or of one agent", function()
    local calls = world({})
    vim.cmd("Acp sessions! bot")
    local query = calls[#calls]
    same("past_list", query[1])
    same({ cwd = vim.fn.getcwd(), all = true, agent = "bot" }, query[3])
    contains("There is no session", support.notices[1].text)
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
