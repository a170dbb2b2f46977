--- Code actions of language servers: listing and applying them.

local M = {}

local buffers = require("acp.tools.builtin.lsp.buffers")
local command = require("acp.tools.builtin.lsp.command")
local edits = require("acp.tools.builtin.lsp.edits")
local found = require("acp.tools.builtin.lsp.found")
local place = require("acp.tools.builtin.lsp.place")
local requests = require("acp.tools.builtin.lsp.requests")
local servers = require("acp.tools.builtin.lsp.servers")

--- Maximum number of listed actions, and time limit in milliseconds for diagnostics of a file just
--- loaded.
local MAX_LISTED, COMPLAIN_MS = 100, 2000

--- A code action.
---@class acp.lsp.Action
---@field client vim.lsp.Client
---@field title string
---@field kind? string
---@field is_preferred boolean
---@field disabled? string The reason.
---@field action table A copy without `vim.NIL`.
---@field raw table The server's original.

--- The requested rows, and the columns in the first and last one.
---@class acp.lsp.Range
---@field first acp.lsp.Place
---@field last acp.lsp.Place

---@param ctx acp.ToolContext
---@param file acp.lsp.File
---@param args {line: integer, end_line?: integer, column?: integer, symbol?: string}
---@return acp.lsp.Range
local function range_of(ctx, file, args)
  if args.column or args.symbol and args.symbol ~= "" then
    local there = place.of(ctx, file, args)
    return { first = there, last = there }
  end
  local first = place.line(ctx, file, args.line)
  local last_line = args.end_line or args.line
  if last_line < args.line then
    ctx.fail(("`end_line` is %d, which is before `line`, %d."):format(last_line, args.line))
  end
  local last = place.line(ctx, file, last_line)
  return {
    first = { row = args.line - 1, column = 0, text = first, word = "" },
    last = { row = last_line - 1, column = #last, text = last, word = "" },
  }
end

--- Returns a server's diagnostics in a range, in its own format.
---@param buf integer
---@param range acp.lsp.Range
---@param client vim.lsp.Client
---@return table[]
local function complaints(buf, range, client)
  local mine = ("lsp.%s.%d"):format(client.name, client.id)
  local list = {}
  for _, it in ipairs(vim.diagnostic.get(buf)) do
    local name = it.namespace and vim.diagnostic.get_namespace(it.namespace).name or ""
    local _, last = name:find(mine, 1, true)
    local is_mine = last and not name:find("^%d", last + 1)
    local is_inside = it.lnum <= range.last.row and (it.end_lnum or it.lnum) >= range.first.row
    local given = type(it.user_data) == "table" and it.user_data.lsp
    if is_mine and is_inside and given then
      table.insert(list, given)
    end
  end
  return list
end

--- Waits a short time for diagnostics of a file that has just been loaded.
---@param ctx acp.ToolContext
---@param file acp.lsp.File
local function wait_for_complaints(ctx, file)
  if not file.is_fresh or #vim.diagnostic.get(file.buf) > 0 then
    return
  end
  servers.wait_for_event(ctx, "DiagnosticChanged", file.buf, COMPLAIN_MS, function()
    return true
  end)
end

--- Returns the code actions of a range in the servers' order, preferred ones first, disabled ones
--- last.
---@param ctx acp.ToolContext
---@param args table
---@return acp.lsp.Action[]
---@return string[] notes
---@return acp.lsp.Ticks ticks Recorded before the query.
local function all(ctx, args)
  local method = "textDocument/codeAction"
  local file = buffers.open(ctx, args.path)
  range_of(ctx, file, args)
  local clients = servers.of(ctx, file, method, "offer code actions")
  wait_for_complaints(ctx, file)
  local range, ticks = range_of(ctx, file, args), edits.ticks()
  local answers, notes = requests.query(ctx, file, clients, method, function(client)
    return {
      textDocument = { uri = vim.uri_from_bufnr(file.buf) },
      range = {
        start = place.position(range.first, client),
        ["end"] = place.position(range.last, client),
      },
      context = {
        diagnostics = complaints(file.buf, range, client),
        only = args.only and { args.only } or nil,
        triggerKind = 1,
      },
    }
  end)
  local preferred, others, disabled = {}, {}, {}
  for _, answer in ipairs(answers) do
    local raw = type(answer.raw) == "table" and answer.raw or {}
    for _, given in ipairs(raw) do
      local action = servers.plain(given)
      local kind = action.kind
      local is_asked_for = not args.only
        or kind == args.only
        or kind and vim.startswith(kind, args.only .. ".")
      if type(action.title) == "string" and is_asked_for then
        local list = action.disabled and disabled or action.isPreferred and preferred or others
        table.insert(list, {
          client = answer.client,
          title = action.title,
          kind = kind,
          is_preferred = action.isPreferred == true,
          disabled = action.disabled and (action.disabled.reason or "the server does not say why"),
          action = action,
          raw = given,
        })
      end
    end
  end
  return vim.list_extend(vim.list_extend(preferred, others), disabled), notes, ticks
end

--- Formats a code action for agents.
---@param it acp.lsp.Action
---@return string
local function shown(it)
  local said = { it.kind or "no kind", it.client.name }
  if it.is_preferred then
    table.insert(said, "preferred")
  end
  if it.disabled then
    table.insert(said, "disabled: " .. it.disabled)
  end
  return ("- %s  [%s]"):format(it.title, table.concat(said, ", "))
end

---@param list acp.lsp.Action[]
---@return string
local function shown_all(list)
  local lines = vim.tbl_map(shown, vim.list_slice(list, 1, MAX_LISTED))
  if #list > MAX_LISTED then
    table.insert(lines, ("and %d more; narrow it by `only`"):format(#list - MAX_LISTED))
  end
  return table.concat(lines, "\n")
end

---@param args table
---@param ctx acp.ToolContext
function M.code_actions(args, ctx)
  local list, notes = all(ctx, args)
  local data = { actions = {}, total = #list }
  for _, it in ipairs(vim.list_slice(list, 1, MAX_LISTED)) do
    table.insert(data.actions, {
      title = it.title,
      kind = it.kind,
      server = it.client.name,
      preferred = it.is_preferred,
      disabled = it.disabled,
    })
  end
  if #list == 0 then
    return found.result("No language server offers anything there.", data, notes)
  end
  local head = ("%d code action%s, by title:\n"):format(#list, #list == 1 and "" or "s")
  return found.result(head .. shown_all(list), data, notes)
end

--- Returns the action with a title; ends the call if it is not unique.
---@param ctx acp.ToolContext
---@param list acp.lsp.Action[]
---@param title string
---@return acp.lsp.Action
local function chosen(ctx, list, title)
  local fitting = vim.tbl_filter(function(it)
    return it.title == title
  end, list)
  if #fitting == 0 then
    local there = #list == 0 and "Nothing is offered there." or "There are:\n" .. shown_all(list)
    ctx.fail(('No code action there is called "%s". %s'):format(title, there))
  end
  local first = assert(fitting[1], "there is one")
  for _, it in ipairs(fitting) do
    if it.client ~= first.client or not vim.deep_equal(it.action, first.action) then
      local text = '%d code actions are called "%s": narrow it by `only`, `symbol` or `column`.\n%s'
      ctx.fail(text:format(#fitting, title, shown_all(fitting)))
    end
  end
  if first.disabled then
    ctx.fail(('"%s" cannot be done now: %s.'):format(title, first.disabled))
  end
  return first
end

--- Resolves an action's edit, if the server has not sent it yet.
---@param ctx acp.ToolContext
---@param it acp.lsp.Action
---@return table
local function resolved(ctx, it)
  local action = it.action
  local is_bare = type(action.command) == "string"
  if is_bare or action.edit or not servers.can(it.client, "codeAction/resolve") then
    return action
  end
  local answer = requests.ask_one(ctx, it.client, "codeAction/resolve", it.raw)
  if answer.result then
    it.raw = answer.raw
    return answer.result
  elseif action.command then
    return action
  end
  local text = 'Nothing was changed: %s does not say what "%s" changes: %s.'
  ctx.fail(text:format(it.client.name, it.title, answer.why or "it has no answer"))
  return action
end

---@param args table
---@param ctx acp.ToolContext
function M.code_action(args, ctx)
  local list, _, ticks = all(ctx, args)
  local it = chosen(ctx, list, args.title)
  local action = resolved(ctx, it)
  local to_run = command.of(action, it.raw)
  local refusal = to_run and command.refusal(it.client, to_run)
  if not action.edit and not to_run then
    ctx.fail(('Nothing was changed: %s names no change for "%s".'):format(it.client.name, it.title))
  elseif not action.edit and refusal then
    ctx.fail(("Nothing was changed: %s."):format(refusal))
  end
  local written = action.edit and edits.write(ctx, action.edit, it.client, ticks)
    or { files = {}, edits = 0 }
  local notes = {}
  if refusal then
    table.insert(notes, "What should follow was not done: " .. refusal .. ".")
  elseif to_run then
    local ok, problem = pcall(command.run, ctx, it.client, to_run, written)
    if not ok and (#written.files == 0 or ctx.is_cancelled()) then
      error(problem, 0)
    elseif not ok then
      local why = type(problem) == "table" and problem.message or problem ---@type any
      table.insert(notes, "What should follow was not done: " .. tostring(why))
    end
  end
  local text = ('"%s" is done (%s): %s'):format(it.title, it.client.name, edits.summary(written))
  return found.result(text, {
    files = written.files,
    edits = written.edits,
    server = it.client.name,
  }, notes)
end

return M
