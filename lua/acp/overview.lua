--- The window of `:Acp sessions`: the open sessions and their state above those of the past.
---
--- Invariants: the cursor stays with its session when lines change, but is left alone in Visual mode;
--- nothing runs after the window has closed.

local M = {}

local namespace = vim.api.nvim_create_namespace("acp_sessions")

--- Milliseconds between two updates of the times.
local TICK = 1000

--- The states in their order from the top: the name in the list, its highlight.
---@type table<string, {rank: integer, name: string, group: string}>
local states = {
  waiting = { rank = 1, name = "waiting for you", group = "AcpWarning" },
  running = { rank = 2, name = "working", group = "AcpToolRunning" },
  starting = { rank = 3, name = "starting", group = "AcpToolPending" },
  done = { rank = 4, name = "done", group = "AcpToolDone" },
  dead = { rank = 5, name = "died", group = "AcpToolFailed" },
  idle = { rank = 6, name = "idle", group = "AcpDim" },
}

--- The events after which a line may differ.
local events = {
  "AcpSessionStarted",
  "AcpLoginNeeded",
  "AcpTurnStarted",
  "AcpTurnEnded",
  "AcpPermissionRequested",
  "AcpPermissionAnswered",
  "AcpElicitationRequested",
  "AcpElicitationAnswered",
  "AcpReviewChanged",
  "AcpAgentExited",
}

---@class acp.overview.Item
---@field status? acp.Status Of an open session.
---@field past? acp.PastSession

---@class acp.overview.List
---@field buf integer
---@field opts acp.SessionsOpts
---@field past? acp.PastSession[] The sessions that are not open, once they are known.
---@field lines string[] As they are shown.
---@field items table<integer, acp.overview.Item> By line.

---@type acp.overview.List?
local list

--- Whether a drawing is scheduled: a command may change thousands of files.
local is_due = false

--- Formats a time span.
---@param seconds integer
---@return string
function M.span(seconds)
  for _, unit in ipairs({ { 86400, "d" }, { 3600, "h" }, { 60, "m" } }) do
    if seconds >= unit[1] then
      return ("%d%s"):format(math.floor(seconds / unit[1]), unit[2])
    end
  end
  return ("%ds"):format(math.max(0, seconds))
end

---@param status acp.Status
---@return {rank: integer, name: string, group: string}
local function state_of(status)
  local is_done = status.phase == "idle" and status.stop_reason ~= nil
  return states[is_done and "done" or status.phase] or states.idle
end

--- Returns the open sessions, those that need the user first.
---@param agent? string
---@return acp.Status[]
local function open_sessions(agent)
  local native = require("acp.native").loaded()
  local all = vim.tbl_filter(function(status)
    return not agent or status.agent == agent
  end, native and native.sessions() or {})
  table.sort(all, function(one, other)
    local first, second = state_of(one).rank, state_of(other).rank
    if first == second then
      return one.session < other.session
    end
    return first < second
  end)
  return all
end

---@class acp.overview.Column
---@field text string
---@field group string

--- Formats the open sessions in columns.
---@param sessions acp.Status[]
---@param now integer
---@return acp.overview.Column[][]
local function table_of(sessions, now)
  local rows = {} ---@type acp.overview.Column[][]
  local widths = {} ---@type integer[]
  for _, status in ipairs(sessions) do
    local state = state_of(status)
    local hunks = status.review and status.review.hunks or 0
    local title = status.title or ""
    ---@type acp.overview.Column[]
    local columns = {
      { text = status.agent or "", group = "AcpTitle" },
      { text = status.login and "log in" or state.name, group = state.group },
      { text = status.since and M.span(now - status.since) or "", group = "AcpDim" },
      {
        text = hunks > 0 and ("%d hunk%s"):format(hunks, hunks == 1 and "" or "s") or "",
        group = "AcpDim",
      },
      { text = status.usage and status.usage.cost or "", group = "AcpDim" },
      { text = title ~= "" and title or ("session %d"):format(status.session), group = "Normal" },
    }
    for i, column in ipairs(columns) do
      local cells = vim.fn.strdisplaywidth(column.text)
      if cells > (widths[i] or 0) then
        widths[i] = cells
      end
    end
    table.insert(rows, columns)
  end
  for _, columns in ipairs(rows) do
    for i, column in ipairs(columns) do
      local width = widths[i] or 0
      if i < #columns and width > 0 then
        -- A column that is empty in all rows takes no room.
        local missing = width - vim.fn.strdisplaywidth(column.text)
        column.text = column.text .. (" "):rep(missing + 2)
      end
    end
  end
  return rows
end

--- Returns what identifies a session among the lines.
---@param item? acp.overview.Item
---@return any
local function identity(item)
  if not item then
    return nil
  end
  return item.status and item.status.session or item.past and (item.past.record or item.past.id)
end

--- Draws the list, unless the text is locked; each window's cursor stays with its session.
local function draw()
  is_due = false
  if not list or require("acp.tools.run").is_locked() then
    return
  end
  local open = open_sessions(list.opts.agent)
  local now = os.time()
  local lines = {} ---@type string[]
  local marks = {} ---@type {row: integer, first: integer, last: integer, group: string}[]
  local items = {} ---@type table<integer, acp.overview.Item>
  for i, columns in ipairs(table_of(open, now)) do
    local line = " "
    for _, column in ipairs(columns) do
      local last = #line + #column.text
      table.insert(marks, { row = i - 1, first = #line, last = last, group = column.group })
      line = line .. column.text
    end
    table.insert(lines, (line:gsub("%s+$", "")))
    items[i] = { status = open[i] }
  end
  local past_sessions = list.past or {}
  if #open > 0 and #past_sessions > 0 then
    table.insert(lines, "")
  elseif #open == 0 and list.past and #past_sessions == 0 then
    local whose = list.opts.agent and " of " .. list.opts.agent or ""
    local where = list.opts.all and "" or " in this project; `:Acp sessions!` lists all projects"
    table.insert(lines, (" There is no session%s%s."):format(whose, where))
  end
  for _, past in ipairs(past_sessions) do
    local label = require("acp.sessions").label(past, list.opts.all == true, now)
    table.insert(lines, " " .. label)
    items[#lines] = { past = past }
    table.insert(marks, { row = #lines - 1, first = 0, last = #lines[#lines], group = "AcpDim" })
  end
  if vim.deep_equal(lines, list.lines) then
    list.items = items
    return
  end
  local cursors = {}
  for _, win in ipairs(vim.fn.win_findbuf(list.buf)) do
    local is_selecting = win == vim.api.nvim_get_current_win()
      and vim.fn.mode():find("^[vV\22sS\19]")
    if not is_selecting then
      local row, column = unpack(vim.api.nvim_win_get_cursor(win))
      cursors[win] = { row = row, column = column, known = identity(list.items[row]) }
    end
  end
  list.items, list.lines = items, lines
  vim.bo[list.buf].modifiable = true
  vim.api.nvim_buf_set_lines(list.buf, 0, -1, false, lines)
  vim.bo[list.buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(list.buf, namespace, 0, -1)
  for _, mark in ipairs(marks) do
    -- The blanks at the end of a line are cut.
    local opts = { end_col = mark.last, hl_group = mark.group, strict = false }
    vim.api.nvim_buf_set_extmark(list.buf, namespace, mark.row, mark.first, opts)
  end
  for win, cursor in pairs(cursors) do
    local row = math.min(cursor.row, #lines)
    for at, item in pairs(items) do
      if cursor.known ~= nil and identity(item) == cursor.known then
        row = at
      end
    end
    if row ~= vim.api.nvim_win_get_cursor(win)[1] then
      vim.api.nvim_win_set_cursor(win, { math.max(1, row), cursor.column })
    end
  end
end

--- Fetches the sessions of the past, and draws.
local function refresh()
  draw()
  local asked = list
  require("acp.sessions").list(asked and asked.opts or {}, function(sessions)
    if not list or list ~= asked then
      return
    end
    list.past = vim.tbl_filter(function(item)
      return not item.session
    end, sessions)
    draw()
  end)
end

---@return acp.overview.Item?
local function here()
  return list and list.items[vim.api.nvim_win_get_cursor(0)[1]]
end

local function close()
  if not list then
    return
  end
  -- Where all others float, Neovim does not close it.
  local is_one_of_many = #vim.api.nvim_tabpage_list_wins(0) > 1
  if not (is_one_of_many and pcall(vim.api.nvim_win_close, 0, true)) then
    vim.api.nvim_buf_delete(list.buf, { force = true })
  end
end

--- What the keys do, by their names in the configuration.
---@type table<string, {desc: string, run: fun()}>
local keys = {
  open = {
    desc = "Opens the session",
    run = function()
      local item = here()
      if not item then
        return
      end
      close()
      local session = item.status and item.status.session
      if item.past then
        require("acp.sessions").open(item.past)
      elseif session then
        require("acp.native").load().session_show(session)
      end
    end,
  },
  answer = {
    desc = "Goes to the session's question",
    run = function()
      local item = here()
      local status = item and item.status
      require("acp.native").load().permission_focus(status and status.session)
    end,
  },
  cancel = {
    desc = "Cancels the session's turn",
    run = function()
      local item = here()
      if item and item.status then
        require("acp").cancel({ session = item.status.session })
      end
    end,
  },
  delete = {
    desc = "Deletes the past session, after asking",
    run = function()
      local item = here()
      if item and item.past then
        require("acp.sessions").delete(item.past, refresh)
      elseif item then
        error("acp.nvim: this session is open: `:Acp close` in its chat closes it.", 0)
      end
    end,
  },
  close = { desc = "Closes the list", run = close },
}

--- Returns the bar above the list: its keys.
---@return string
local function bar()
  local configured = require("acp.config").get().keymaps.sessions
  local hints = {}
  for _, name in ipairs({ "open", "answer", "delete", "close" }) do
    local key = configured[name][1]
    if key then
      table.insert(hints, ("%s %s"):format((key:gsub("%%", "%%%%")), name))
    end
  end
  return "%#AcpTitle# Sessions%*%<%=%#AcpDim#" .. table.concat(hints, " · ") .. " "
end

---@param buf integer
local function map_keys(buf)
  for name, lhs in pairs(require("acp.config").get().keymaps.sessions) do
    for _, key in ipairs(lhs) do
      vim.keymap.set("n", key, function()
        require("acp.notify").guarded(keys[name].run)
      end, { buffer = buf, nowait = true, silent = true, desc = keys[name].desc })
    end
  end
end

--- Keeps the list up to date until its buffer is wiped out with its window; then `restore` gives
--- the other windows their sizes back.
---@param buf integer
---@param restore fun()
local function keep(buf, restore)
  local group = vim.api.nvim_create_augroup("acp.sessions", {})
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = events,
    callback = function()
      if not is_due then
        is_due = true
        vim.schedule(draw)
      end
    end,
  })
  local timer = vim.fn.timer_start(TICK, draw, { ["repeat"] = -1 })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    callback = function()
      vim.fn.timer_stop(timer)
      vim.api.nvim_del_augroup_by_id(group)
      list = nil
      vim.schedule(restore)
    end,
  })
end

--- Opens the list below the other windows, or goes to it.
---@param opts acp.SessionsOpts
function M.open(opts)
  if list then
    list.opts = opts
    local win = vim.fn.bufwinid(list.buf)
    if win > 0 then
      vim.api.nvim_set_current_win(win)
      return refresh()
    end
    vim.api.nvim_buf_delete(list.buf, { force = true })
  end
  -- The library knows the sessions; an error about it comes before the window.
  local native = require("acp.native").load()
  local buf = vim.api.nvim_create_buf(false, true)
  local restore = native.open_below(buf)
  vim.api.nvim_buf_set_name(buf, ("acp://sessions/%d"):format(buf))
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].filetype = "acp-sessions"
  vim.bo[buf].undolevels = -1
  for name, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = "no",
    scrollbind = false,
    cursorbind = false,
    foldcolumn = "0",
    foldenable = false,
    statuscolumn = "",
    colorcolumn = "",
    list = false,
    spell = false,
    wrap = false,
    cursorline = true,
    winfixheight = true,
    winbar = bar(),
  }) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = 0 })
  end
  list = { buf = buf, opts = opts, items = {}, lines = {} }
  map_keys(buf)
  keep(buf, restore)
  refresh()
end

return M
