--- Dispatches and completes `:AcpChat` and `:Acp`. An error becomes one message without a traceback.

local M = {}

--- The arguments of `:Acp follow`.
---@type table<string, acp.Follow>
local follows = { on = true, off = false, edits = "edits" }

local scopes = { "hunk", "file", "turn", "all" }

---@class acp.commands.Call
---@field args string[] The words after the subcommand.
---@field rest string The same, as typed.
---@field context? acp.Context The lines of the command's range.
---@field bang boolean

---@param text string
local function usage(text)
  error("acp.nvim: " .. text, 0)
end

---@param call acp.commands.Call
---@return acp.Scope
local function scope_of(call)
  local scope = call.args[1] or "hunk" ---@type any
  if #call.args > 1 or not vim.tbl_contains(scopes, scope) then
    usage(("%q is not a scope: use `hunk`, `file`, `turn` or `all`."):format(call.rest))
  end
  if scope == "hunk" and call.context then
    return { first = call.context.first, last = call.context.last }
  end
  return scope
end

---@param call acp.commands.Call
---@param step fun()
local function times(call, step)
  local count = tonumber(call.args[1] or 1) or 0
  if count < 1 or count % 1 ~= 0 then
    usage(("%q is not a number of hunks."):format(call.rest))
  end
  -- At most once around all hunks, so that a mistyped count does not block the editor.
  local around = math.max(1, #require("acp.native").load().hunks())
  for _ = 1, math.min(count, around) do
    step()
  end
end

--- Puts all hunks into the quickfix list.
local function quickfix()
  local items = vim.tbl_map(function(hunk)
    return {
      filename = hunk.path,
      lnum = hunk.row + 1,
      text = ("-%d +%d  %s%s"):format(
        #hunk.old,
        #hunk.new,
        hunk.state == "pending" and "" or hunk.state .. ": ",
        hunk.new[1] or hunk.old[1] or ""
      ),
    }
  end, require("acp").review.hunks())
  if #items == 0 then
    vim.notify("acp.nvim: Nothing to review.", vim.log.levels.INFO)
    return
  end
  vim.fn.setqflist({}, " ", { title = "acp review", items = items })
  -- The chat's column is too narrow for it.
  vim.cmd("botright copen")
end

local function log()
  local path = require("acp.native").load().log_path()
  if not vim.uv.fs_stat(path) then
    usage(("there is no log yet; it will be created at %s."):format(path))
  end
  vim.cmd.tabedit(vim.fn.fnameescape(path))
end

--- Lists the agents with their processes, and how to install missing ones.
local function agents()
  local all = require("acp.agents")
  local default = all.default()
  local chunks = {}
  local function add(found, text, group)
    local mark = found.name == default and "* " or "  "
    table.insert(chunks, { ("%s%-10s "):format(mark, found.name), "Identifier" })
    table.insert(chunks, { text .. "\n", group })
    for _, line in ipairs(all.running(found.name)) do
      table.insert(chunks, { (" "):rep(13) .. line .. "\n", "Comment" })
    end
  end
  local missing = {}
  for _, found in ipairs(all.list()) do
    if found.path then
      add(found, found.path)
    else
      table.insert(missing, found)
    end
  end
  for _, found in ipairs(missing) do
    local install = found.agent.install or "correct its `command`"
    add(found, ("not found: %s"):format(install), "Comment")
  end
  chunks[#chunks][1] = chunks[#chunks][1]:gsub("\n$", "")
  vim.api.nvim_echo(chunks, false, {})
end

--- Runs `work` and shows an error as a message.
---@param work fun()
function M.guarded(work)
  local ok, problem = pcall(work)
  if not ok then
    local text = require("acp.native").message(problem)
    -- Errors of the library are also meant for scripts and lack the plugin's name.
    text = vim.startswith(text, "acp.nvim") and text or "acp.nvim: " .. text
    vim.notify(text, vim.log.levels.ERROR)
  end
end
local guarded = M.guarded

--- Shows a terminal: the one with this number, the only one, or one chosen from a list.
---@param call acp.commands.Call
local function terminal(call)
  local native = require("acp.native").load()
  local id = tonumber(call.rest)
  if call.rest ~= "" and (not id or id < 1 or id % 1 ~= 0) then
    usage(("%q is not a terminal's number; `:Acp terminal` lists them."):format(call.rest))
  end
  local all = native.terminals()
  id = id or #all == 1 and all[1].id or nil
  if id then
    native.terminal_open(id)
  elseif #all == 0 then
    vim.notify("acp.nvim: No agent has run a command in a terminal yet.", vim.log.levels.INFO)
  else
    require("acp.select")(all, {
      prompt = "Terminals",
      kind = "acp-terminal",
      format_item = function(item)
        return item.label
      end,
    }, function(choice)
      if choice then
        guarded(function()
          native.terminal_open(choice.id)
        end)
      end
    end)
  end
end

---@type table<string, fun(call: acp.commands.Call)>
local subcommands = {
  prompt = function(call)
    if call.rest == "" then
      usage("`:Acp prompt` needs a text; to write one in the chat, use `:AcpChat`.")
    end
    require("acp").prompt(call.rest, {
      contexts = call.context and { call.context },
      interrupt = call.bang or nil,
    })
  end,
  cancel = function()
    require("acp").cancel()
  end,
  stop = function()
    require("acp.native").load().stop(nil)
  end,
  restart = function()
    require("acp.native").load().restart(nil)
  end,
  accept = function(call)
    require("acp").review.accept(scope_of(call))
  end,
  reject = function(call)
    require("acp").review.reject(scope_of(call))
  end,
  next = function(call)
    times(call, require("acp").review.next)
  end,
  prev = function(call)
    times(call, require("acp").review.prev)
  end,
  review = function(call)
    if call.bang then
      quickfix()
    else
      require("acp.native").load().review_list()
    end
  end,
  ["drop-feedback"] = function()
    require("acp").review.drop_feedback()
  end,
  undo = function()
    require("acp").review.undo()
  end,
  ["undo-turn"] = function(call)
    require("acp").review.undo_turn({ back = call.bang })
  end,
  follow = function(call)
    local to = follows[call.rest]
    if call.rest ~= "" and to == nil then
      usage(
        ("%q is not a mode of `:Acp follow`: use `on`, `off`, `edits` or nothing."):format(
          call.rest
        )
      )
    end
    require("acp").follow(to)
  end,
  queue = function()
    require("acp.native").load().queue_focus(nil)
  end,
  mode = function(call)
    require("acp.options").mode(call.rest, call.bang)
  end,
  config = function(call)
    require("acp.options").config(call.rest)
  end,
  permission = function()
    require("acp.native").load().permission_focus()
  end,
  login = function(call)
    require("acp.login").login(call.rest ~= "" and call.rest or nil)
  end,
  logout = function()
    require("acp.login").ask_logout()
  end,
  terminal = terminal,
  attach = function(call)
    require("acp.composer").attach_command(call)
  end,
  detach = function(call)
    require("acp.composer").detach_command(call)
  end,
  log = log,
  agents = function(call)
    if call.rest ~= "" then
      return require("acp.install").ask(call.rest)
    end
    agents()
  end,
  sessions = function(call)
    require("acp.sessions").command(call.args, call.bang)
  end,
  tools = function(call)
    require("acp.tools.command").run(call.args)
  end,
  export = function(call)
    local file = call.rest ~= "" and call.rest or nil
    require("acp.sessions").export({}, file, call.bang)
  end,
}

--- What each subcommand does, for `:Acp` alone.
---@type table<string, string>
local about = {
  accept = "accepts the hunk at the cursor, or a file, turn or all",
  agents = "lists the agents, or installs one",
  attach = "attaches the current file, lines, or the clipboard's image",
  cancel = "stops the turn",
  config = "changes an option of the session",
  detach = "removes an attachment",
  ["drop-feedback"] = "does not send rejected hunks to the agent",
  export = "writes the conversation as markdown",
  follow = "shows the agent's place in a window",
  log = "opens the log",
  login = "logs in to the agent",
  logout = "logs out of the agent",
  mode = "changes the agent's mode",
  next = "goes to the next hunk",
  permission = "goes to the open question",
  prev = "goes to the previous hunk",
  prompt = "sends a prompt",
  queue = "goes to the queued prompts",
  reject = "rejects the hunk at the cursor, or a file, turn or all",
  restart = "starts the agent again",
  review = "lists all files and hunks",
  sessions = "lists the open and past sessions",
  stop = "ends the agent",
  terminal = "shows a command that an agent runs",
  tools = "chooses Neovim's tools for agents",
  undo = "takes your last decision about hunks back",
  ["undo-turn"] = "takes back what the last turn changed",
}

--- Lists the subcommands.
local function overview()
  local names = vim.tbl_keys(subcommands)
  table.sort(names)
  local chunks = {}
  for i, name in ipairs(names) do
    local line_end = i < #names and "\n" or ""
    table.insert(chunks, { (":Acp %-14s"):format(name), "Identifier" })
    table.insert(chunks, { about[name] .. line_end })
  end
  vim.api.nvim_echo(chunks, false, {})
end

--- Subcommands that accept a `!`.
---@type table<string, boolean?>
local with_bang = {
  prompt = true,
  mode = true,
  review = true,
  ["undo-turn"] = true,
  sessions = true,
  export = true,
}

--- Subcommands that accept no arguments. They act on the current session: a name after them must not
--- seem to mean another.
---@type table<string, boolean?>
local without_arguments = {
  cancel = true,
  ["drop-feedback"] = true,
  log = true,
  logout = true,
  permission = true,
  queue = true,
  restart = true,
  review = true,
  stop = true,
  undo = true,
  ["undo-turn"] = true,
}

--- Returns the lines of a command's range, or nil without one.
---@param command vim.api.keyset.create_user_command.command_args
---@return acp.Context?
local function context_of(command)
  if command.range == 0 then
    return nil
  end
  local first, last = command.line1 - 1, command.line2
  local name = vim.bo.buftype == "" and vim.api.nvim_buf_get_name(0) or ""
  return {
    path = name == "" and "" or vim.fn.fnamemodify(name, ":p"),
    first = first,
    last = last,
    text = table.concat(vim.api.nvim_buf_get_lines(0, first, last, false), "\n"),
  }
end

--- The filetypes of a chat's windows.
local of_chat =
  { ["acp-chat"] = true, ["acp-input"] = true, ["acp-plan"] = true, ["acp-queue"] = true }

--- Runs `:AcpChat`.
---@param command vim.api.keyset.create_user_command.command_args
function M.chat(command)
  guarded(function()
    local is_plain = #command.fargs == 0 and not command.bang and command.range == 0
    if is_plain and of_chat[vim.bo.filetype] and require("acp.config").get().chat.toggle then
      return require("acp.native").load().session_hide()
    end
    require("acp").open({
      agent = command.fargs[1],
      new = command.bang,
      context = context_of(command),
    })
  end)
end

--- Runs `:Acp`.
---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  guarded(function()
    if command.args == "" then
      return overview()
    end
    local name, bang, rest = command.args:match("^([^%s!]+)(!?)%s*(.-)%s*$")
    local run = subcommands[name]
    if run and bang == "!" and not with_bang[name] then
      usage(("`:Acp %s` takes no `!`."):format(name))
    elseif run and rest ~= "" and without_arguments[name] then
      usage(("`:Acp %s` takes no argument."):format(name))
    elseif run then
      run({
        args = vim.list_slice(command.fargs, 2),
        rest = rest,
        context = context_of(command),
        bang = bang == "!",
      })
    else
      local names = vim.tbl_keys(subcommands)
      table.sort(names)
      usage(
        ("unknown subcommand `:Acp %s`; use one of %s."):format(
          name or command.args,
          table.concat(names, ", ")
        )
      )
    end
  end)
end

---@param lead string
---@param words string[]
---@return string[]
local function starting_with(lead, words)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

--- Completes `:AcpChat`: installed agents; others only if no installed one matches, so that opening
--- them explains how to install them.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete_chat(lead, line, position)
  if line:sub(1, position):find("AcpChat!?%s+%S+%s") then
    return {}
  end
  local names, others = {}, {}
  for _, found in ipairs(require("acp.agents").list()) do
    table.insert(found.path and names or others, found.name)
  end
  local there = starting_with(lead, names)
  return (#there > 0 or lead == "") and there or starting_with(lead, others)
end

--- Completes `:Acp`: its subcommands and their arguments.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local typed = line:sub(1, position):match("^.-Acp%s+(.*)$") or ""
  local name, rest = typed:match("^(%S+)%s+(.*)$")
  if not name or not rest then
    local names = vim.tbl_keys(subcommands)
    table.sort(names)
    return starting_with(lead, names)
  elseif (name == "accept" or name == "reject") and not rest:find("%s") then
    return starting_with(lead, scopes)
  elseif name == "terminal" and not rest:find("%s") then
    local native = require("acp.native").loaded()
    return starting_with(
      lead,
      vim.tbl_map(function(item)
        return tostring(item.id)
      end, native and native.terminals() or {})
    )
  elseif name == "agents" and not rest:find("%s") then
    return starting_with(
      lead,
      vim.tbl_map(function(found)
        return found.name
      end, require("acp.agents").list())
    )
  elseif name == "mode" or name == "config" then
    return starting_with(lead, require("acp.options").complete(name, rest))
  elseif name == "attach" then
    return vim.list_extend(starting_with(rest, { "clipboard" }), vim.fn.getcompletion(rest, "file"))
  elseif name == "detach" and not rest:find("%s") then
    return starting_with(lead, require("acp.composer").numbers())
  elseif name:find("^sessions!?$") then
    local words = vim.split(rest, "%s+")
    local has_action = words[1] == "delete" or words[1] == "export"
    if #words == 1 or #words == 2 and has_action then
      return starting_with(lead, require("acp.sessions").words(#words == 1))
    end
  elseif name:find("^export!?$") then
    return vim.fn.getcompletion(lead, "file")
  elseif name == "follow" and not rest:find("%s") then
    return starting_with(lead, { "edits", "off", "on" })
  elseif name == "tools" then
    return starting_with(lead, require("acp.tools.command").words(rest))
  elseif name == "login" and not rest:find("%s") then
    return starting_with(lead, require("acp.login").ids())
  end
  return {}
end

return M
