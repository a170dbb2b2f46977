--- Dispatches and completes `:AcpChat` and `:Acp`. An error becomes one message without a traceback.

local notify = require("acp.notify")
local guarded = notify.guarded

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

local function log()
  local path = require("acp.native").load().log_path()
  if not vim.uv.fs_stat(path) then
    usage(("there is no log yet; it will be created at %s."):format(path))
  end
  vim.cmd("tabedit + " .. vim.fn.fnameescape(path))
end

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
    notify.say("No terminal yet. What an agent runs by itself is shown in the chat.")
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

---@param lead string
---@param words string[]
---@return string[]
local function starting_with(lead, words)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

--- Returns a completion of a subcommand's first word.
---@param words fun(): string[]
---@return fun(lead: string, rest: string): string[]
local function first_word(words)
  return function(lead, rest)
    return rest:find("%s") and {} or starting_with(lead, words())
  end
end

local complete_scope = first_word(function()
  return scopes
end)

--- Completes a file's name, which may have blanks: Neovim replaces only the last word.
---@param lead string
---@param rest string
---@return string[]
local function files(lead, rest)
  local before = rest:sub(1, #rest - #lead)
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, before)
  end, vim.fn.getcompletion(rest, "file"))
  return vim.tbl_map(function(name)
    return name:sub(#before + 1)
  end, found)
end

--- Returns a completion of a session's options.
---@param name "mode"|"config"
---@return fun(lead: string, rest: string): string[]
local function option(name)
  return function(lead, rest)
    return starting_with(lead, require("acp.options").complete(name, rest))
  end
end

--- A subcommand of `:Acp`.
---@class acp.commands.Subcommand
---@field about string What it does, for `:Acp` alone.
---@field run fun(call: acp.commands.Call)
---@field bang? true It accepts a `!`.
---@field nargs? 0 It accepts no arguments. It acts on the current session: a name after it must not
---seem to mean another.
---@field complete? fun(lead: string, rest: string): string[] `rest` is all that follows it.

---@type table<string, acp.commands.Subcommand>
local subcommands = {
  prompt = {
    about = "sends a prompt",
    bang = true,
    run = function(call)
      if call.rest == "" then
        usage("`:Acp prompt` needs a text; to write one in the chat, use `:AcpChat`.")
      end
      require("acp").prompt(call.rest, {
        contexts = call.context and { call.context },
        interrupt = call.bang or nil,
      })
      -- A script's prompts are not the user's, but this one is.
      require("acp.native").load().remember(nil, call.rest)
    end,
  },
  cancel = {
    about = "stops the turn",
    nargs = 0,
    run = function()
      require("acp").cancel()
    end,
  },
  stop = {
    about = "ends the agent",
    nargs = 0,
    run = function()
      require("acp.native").load().stop(nil)
    end,
  },
  close = {
    about = "closes the session",
    nargs = 0,
    run = function()
      require("acp").close()
    end,
  },
  restart = {
    about = "starts the agent again",
    nargs = 0,
    run = function()
      require("acp.native").load().restart(nil)
    end,
  },
  accept = {
    about = "accepts the hunk at the cursor, or a file, turn or all",
    complete = complete_scope,
    run = function(call)
      require("acp").review.accept(scope_of(call))
    end,
  },
  reject = {
    about = "rejects the hunk at the cursor, or a file, turn or all",
    complete = complete_scope,
    run = function(call)
      require("acp").review.reject(scope_of(call))
    end,
  },
  next = {
    about = "goes to the next hunk",
    run = function(call)
      times(call, require("acp").review.next)
    end,
  },
  prev = {
    about = "goes to the previous hunk",
    run = function(call)
      times(call, require("acp").review.prev)
    end,
  },
  review = {
    about = "lists all files and hunks",
    bang = true,
    nargs = 0,
    run = function(call)
      if call.bang then
        require("acp.quickfix")()
      else
        require("acp.native").load().review_list()
      end
    end,
  },
  ["drop-feedback"] = {
    about = "does not send rejected hunks to the agent",
    nargs = 0,
    run = function()
      require("acp").review.drop_feedback()
    end,
  },
  undo = {
    about = "takes back your last decision about hunks",
    nargs = 0,
    run = function()
      require("acp").review.undo()
    end,
  },
  ["undo-turn"] = {
    about = "takes back what the last turn changed",
    bang = true,
    nargs = 0,
    run = function(call)
      require("acp").review.undo_turn({ back = call.bang })
    end,
  },
  follow = {
    about = "makes a window follow the agent",
    complete = first_word(function()
      return { "edits", "off", "on" }
    end),
    run = function(call)
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
  },
  queue = {
    about = "goes to the queued prompts",
    nargs = 0,
    run = function()
      require("acp.native").load().queue_focus(nil)
    end,
  },
  mode = {
    about = "changes the agent's mode",
    bang = true,
    complete = option("mode"),
    run = function(call)
      require("acp.options").mode(call.rest, call.bang)
    end,
  },
  config = {
    about = "changes an option of the session",
    complete = option("config"),
    run = function(call)
      require("acp.options").config(call.rest)
    end,
  },
  permission = {
    about = "goes to the open question",
    nargs = 0,
    run = function()
      require("acp.native").load().permission_focus()
    end,
  },
  login = {
    about = "logs in to the agent",
    complete = first_word(function()
      return require("acp.login").ids()
    end),
    run = function(call)
      require("acp.login").login(call.rest ~= "" and call.rest or nil)
    end,
  },
  logout = {
    about = "logs out of the agent",
    nargs = 0,
    run = function()
      require("acp.login").ask_logout()
    end,
  },
  terminal = {
    about = "shows a command that an agent runs",
    complete = first_word(function()
      local native = require("acp.native").loaded()
      return vim.tbl_map(function(item)
        return tostring(item.id)
      end, native and native.terminals() or {})
    end),
    run = terminal,
  },
  attach = {
    about = "attaches the current file, lines, or the clipboard's image",
    complete = function(lead, rest)
      return vim.list_extend(starting_with(rest, { "clipboard" }), files(lead, rest))
    end,
    run = function(call)
      require("acp.composer").attach_command(call)
    end,
  },
  detach = {
    about = "removes an attachment",
    complete = first_word(function()
      return require("acp.composer").numbers()
    end),
    run = function(call)
      require("acp.composer").detach_command(call)
    end,
  },
  log = {
    about = "opens the log",
    nargs = 0,
    run = log,
  },
  agents = {
    about = "lists the agents, or installs one",
    complete = first_word(function()
      return require("acp.agents").names()
    end),
    run = function(call)
      if call.rest ~= "" then
        return require("acp.install").ask(call.rest)
      end
      require("acp.agents").show()
    end,
  },
  sessions = {
    about = "lists the open and past sessions",
    bang = true,
    complete = function(lead, rest)
      local words = vim.split(rest, "%s+")
      local has_action = words[1] == "delete" or words[1] == "export"
      if #words == 1 or #words == 2 and has_action then
        return starting_with(lead, require("acp.sessions").words(#words == 1))
      end
      return {}
    end,
    run = function(call)
      require("acp.sessions").command(call.args, call.bang)
    end,
  },
  tools = {
    about = "chooses Neovim's tools for agents",
    complete = function(lead, rest)
      return starting_with(lead, require("acp.tools.command").words(rest))
    end,
    run = function(call)
      require("acp.tools.command").run(call.args)
    end,
  },
  export = {
    about = "writes the conversation as markdown",
    bang = true,
    complete = files,
    run = function(call)
      local file = call.rest ~= "" and call.rest or nil
      require("acp.sessions").export({}, file, call.bang)
    end,
  },
}

---@return string[]
local function names()
  local all = vim.tbl_keys(subcommands)
  table.sort(all)
  return all
end

--- Lists the subcommands.
local function overview()
  local chunks = {}
  for _, name in ipairs(names()) do
    table.insert(chunks, { (":Acp %-14s"):format(name), "Identifier" })
    table.insert(chunks, { subcommands[name].about .. "\n" })
  end
  chunks[#chunks][1] = vim.trim(chunks[#chunks][1])
  vim.api.nvim_echo(chunks, false, {})
end

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
    local subcommand = subcommands[name]
    if not subcommand then
      usage(("unknown subcommand `:Acp %s`; `:Acp` lists them all."):format(name or command.args))
    elseif bang == "!" and not subcommand.bang then
      usage(("`:Acp %s` takes no `!`."):format(name))
    elseif rest ~= "" and subcommand.nargs == 0 then
      usage(("`:Acp %s` takes no argument."):format(name))
    else
      subcommand.run({
        args = vim.list_slice(command.fargs, 2),
        rest = rest,
        context = context_of(command),
        bang = bang == "!",
      })
    end
  end)
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
  local installed, others = {}, {}
  for _, found in ipairs(require("acp.agents").list()) do
    table.insert(found.path and installed or others, found.name)
  end
  local there = starting_with(lead, installed)
  return (#there > 0 or lead == "") and there or starting_with(lead, others)
end

--- Completes `:Acp`: its subcommands and their arguments.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local typed = line:sub(1, position):match("^.-Acp%s+(.*)$") or ""
  local name, rest = typed:match("^([^%s!]+)!?%s+(.*)$")
  if not name or not rest then
    return starting_with(lead, names())
  end
  local complete = vim.tbl_get(subcommands, name, "complete")
  return complete and complete(lead, rest) or {}
end

return M
