--- Lists open and past sessions, and opens, deletes and exports them.

local notify = require("acp.notify")
local say, guarded = notify.say, notify.guarded

local M = {}

--- The pending requests to the library, by number.
---@type table<integer, fun(value: any, problem: string?)?>
local waiting = {}
local last = 0

--- Sends a request to the library; `done` is called once with the answer.
---@param name "past_list"|"past_delete"|"past_export"
---@param args table
---@param done fun(value: any, problem: string?)
local function ask(name, args, done)
  local native = require("acp.native").load()
  last = last + 1
  waiting[last] = done
  local ok, problem = pcall(native[name], last, args)
  if not ok then
    waiting[last] = nil
    error(problem, 0)
  end
end

--- Receives the answer to a request; called by the library.
---@param number integer
---@param value any
---@param problem? string
function M.granted(number, value, problem)
  local done = waiting[number]
  waiting[number] = nil
  if done then
    done(value, problem)
  end
end

--- Formats the age of a time in words.
---@param time integer Seconds since 1970.
---@param now integer
---@return string
function M.ago(time, now)
  local past = math.max(0, now - time)
  for _, unit in ipairs({ { 86400, "day" }, { 3600, "hour" }, { 60, "minute" } }) do
    local count = math.floor(past / unit[1])
    if unit[2] == "day" and count > 30 then
      return tostring(os.date("%Y-%m-%d", time))
    elseif count > 0 then
      return ("%d %s%s ago"):format(count, unit[2], count == 1 and "" or "s")
    end
  end
  return "just now"
end

--- Maximum length of a title in a list.
local TITLE = 60

--- Formats a session as a line of a list.
---@param item acp.PastSession
---@param all boolean Includes the folder, for lists of all projects.
---@param now integer
---@return string
function M.label(item, all, now)
  local title = vim.trim((item.title or ""):gsub("%s+", " "))
  title = title ~= "" and title or "(no prompt yet)"
  if vim.fn.strchars(title) > TITLE then
    title = vim.trim(vim.fn.strcharpart(title, 0, TITLE - 1)) .. "…"
  end
  local parts = { title, item.agent }
  if item.updated then
    table.insert(parts, M.ago(item.updated, now))
  end
  if item.session then
    table.insert(parts, "open")
  end
  if all and item.cwd ~= "" then
    -- An agent may name a folder with a line break.
    table.insert(parts, (vim.fn.fnamemodify(item.cwd, ":~"):gsub("%c", "?")))
  end
  return table.concat(parts, " · ")
end

--- An open or past session.
---@class acp.PastSession
---@field agent string Its agent's name in the configuration.
---@field session? acp.Session Its number while it is open.
---@field id? string The agent's id of it.
---@field record? string The name of its saved record.
---@field cwd string Its folder.
---@field title? string The agent's title, or the beginning of the first prompt.
---@field updated? integer The time of the last message, in seconds since 1970.
---@field listed boolean Whether its agent lists it.

---@class acp.SessionsOpts
---@field all? boolean Sessions of all projects, instead of the current folder's.
---@field agent? string Only this agent's.

--- Collects the sessions, newest first.
---@param opts acp.SessionsOpts
---@param done fun(sessions: acp.PastSession[])
function M.list(opts, done)
  local query = { cwd = vim.fn.getcwd(), all = opts.all == true, agent = opts.agent }
  ask("past_list", query, done)
end

--- Opens a conversation in a new markdown buffer.
---@param text string
local function show_text(text)
  vim.cmd("tabnew")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(vim.trim(text), "\n"))
  vim.bo.filetype = "markdown"
  -- It can be made again, so `:qa` does not ask about it.
  vim.bo.modified = false
end

--- Shows the saved conversation of a session, read-only.
---@param item acp.PastSession
local function show_record(item)
  ask("past_export", { record = item.record }, function(text, problem)
    if not text then
      return say(("The session cannot be shown: %s."):format(problem), vim.log.levels.ERROR)
    end
    show_text(text)
    vim.bo.buftype = "nofile"
    vim.bo.modifiable = false
    -- Short enough for one line of a small screen: a longer one would wait for a key.
    local why = "%s cannot be started (`:Acp agents`): opened read-only."
    say(why:format(item.agent), vim.log.levels.WARN)
  end)
end

--- Opens a session: focuses its open chat, or lets its agent continue it.
---@param item acp.PastSession
function M.open(item)
  if item.session then
    return require("acp.native").load().session_show(item.session)
  end
  if not item.id then
    return show_record(item)
  end
  local cwd = vim.fn.isdirectory(item.cwd) == 1 and item.cwd or nil
  local opts = { agent = item.agent, session_id = item.id, cwd = cwd }
  local ok, problem = pcall(require("acp").open, opts)
  if ok then
    return
  end
  if not item.record then
    error(problem, 0)
  end
  show_record(item)
end

--- Deletes a session after asking.
---@param item acp.PastSession
---@param done? fun() Runs when it is deleted.
function M.delete(item, done)
  local title = M.label(item, false, os.time())
  require("acp.select")({ "Delete it", "Keep it" }, {
    prompt = ("Delete %s?"):format(title),
    kind = "acp-delete-session",
  }, function(choice)
    if choice ~= "Delete it" then
      return
    end
    guarded(function()
      ask("past_delete", item, function(is_agents_gone, problem)
        if problem then
          say(("The session was not deleted: %s."):format(problem), vim.log.levels.ERROR)
        elseif item.id and not is_agents_gone then
          say("The saved session is deleted. Its agent may still have a copy.")
        else
          say("The session is deleted.")
        end
        if done and not problem then
          done()
        end
      end)
    end)
  end)
end

--- Writes a conversation as markdown to a file or a new buffer.
---@param what {session?: integer, record?: string}
---@param file? string
---@param force? boolean Overwrites an existing file.
function M.export(what, file, force)
  if file then
    file = vim.fn.fnamemodify(vim.fs.normalize(file), ":p")
    if vim.uv.fs_stat(file) and not force then
      local name = vim.fn.fnamemodify(file, ":~:.")
      error(("acp.nvim: %s already exists; `:Acp export!` overwrites it."):format(name), 0)
    end
  end
  ask("past_export", what, function(text, problem)
    if not text then
      say(("Nothing was exported: %s."):format(problem), vim.log.levels.ERROR)
    elseif not file then
      show_text(text)
    else
      guarded(function()
        local name = vim.fn.fnamemodify(file, ":~:.")
        local ok, why = pcall(vim.fn.writefile, vim.split(text, "\n", { trimempty = true }), file)
        if not ok then
          -- Neovim's message names the file too; the reason is its end.
          why = tostring(why):gsub("^.*:%s*", "")
          error(("%s could not be written: %s."):format(name, why), 0)
        end
        say("The conversation was written to " .. name)
      end)
    end
  end)
end

--- The actions for a chosen session.
---@type table<string, {prompt: string, run: fun(item: acp.PastSession)}>
local actions = {
  delete = { prompt = "Delete a session", run = M.delete },
  export = {
    prompt = "Export a session",
    run = function(item)
      M.export(item.session and { session = item.session } or { record = item.record })
    end,
  },
}

--- Returns whether an action applies to a session.
---@param action string
---@param item acp.PastSession
---@return boolean
local function suits(action, item)
  if action == "delete" then
    return not item.session and (item.record ~= nil or item.listed)
  end
  return item.session ~= nil or item.record ~= nil
end

--- Lets the user choose a session and runs an action on it.
---@param action "delete"|"export"
---@param opts acp.SessionsOpts
local function pick(action, opts)
  M.list(opts, function(sessions)
    sessions = vim.tbl_filter(function(item)
      return suits(action, item)
    end, sessions)
    if #sessions == 0 then
      local whose = opts.agent and (" of %s"):format(opts.agent) or ""
      local where = opts.all and "" or " in this project; `:Acp sessions!` lists all projects"
      return say(("There is no session%s%s."):format(whose, where))
    end
    local now = os.time()
    require("acp.select")(sessions, {
      prompt = actions[action].prompt,
      kind = "acp-session",
      format_item = function(item)
        return M.label(item, opts.all == true, now)
      end,
    }, function(choice)
      if choice then
        guarded(function()
          actions[action].run(choice)
        end)
      end
    end)
  end)
end

--- Runs `:Acp sessions` with an action and an agent.
---@param args string[]
---@param bang boolean
function M.command(args, bang)
  local first, second = args[1], args[2]
  local opts = { all = bang, agent = second } ---@type acp.SessionsOpts
  if first == "delete" or first == "export" then
    return pick(first, opts)
  end
  opts.agent = first
  require("acp.overview").open(opts)
end

--- Completes the arguments of `:Acp sessions`.
---@param first boolean Whether this is the first argument.
---@return string[]
function M.words(first)
  local words = require("acp.agents").names()
  return first and vim.list_extend({ "delete", "export" }, words) or words
end

return M
