-- The floor: a minimal client in Lua to compare with.
--
-- It has a transcript and an input window, with an edit per chunk and a cursor update per read; no
-- highlighting, no review, no checks. It supports only as much of the protocol as the benchmark's
-- agent uses.

local api = vim.api
local M = {}
_G.floor = M

local state = { next_id = 0, waiting = {} }

local function send(message)
  message.jsonrpc = "2.0"
  state.process:write(vim.json.encode(message) .. "\n")
end

local function request(method, params, on_result)
  state.next_id = state.next_id + 1
  state.waiting[state.next_id] = on_result
  send({ id = state.next_id, method = method, params = params })
end

local function announce(name)
  api.nvim_exec_autocmds("User", { pattern = name, data = {} })
end

local function append(text)
  local buf = state.transcript
  local last = api.nvim_buf_line_count(buf)
  local line = api.nvim_buf_get_lines(buf, last - 1, last, true)[1]
  local lines = vim.split(text, "\n", { plain = true })
  api.nvim_buf_set_text(buf, last - 1, #line, last - 1, #line, lines)
end

---@class floor.Tool
---@field row integer
---@field count integer
---@field fields table

---@type table<string, floor.Tool>
local tools = {}

local function tool_lines(update)
  local lines = { ("%s %s"):format(update.status or "pending", update.title or "") }
  for _, item in ipairs(update.content or {}) do
    if item.type == "content" and item.content.type == "text" then
      vim.list_extend(lines, vim.split(item.content.text, "\n", { plain = true }))
    end
  end
  return lines
end

local function tool(update)
  local buf = state.transcript
  local known = tools[update.toolCallId] ---@type floor.Tool?
  if not known then
    append("\n")
    known = { row = api.nvim_buf_line_count(buf) - 1, count = 1, fields = {} }
    tools[update.toolCallId] = known
  end
  known.fields = vim.tbl_extend("force", known.fields, update)
  local lines = tool_lines(known.fields)
  -- Only the last tool call grows; the rows of earlier ones stay.
  api.nvim_buf_set_lines(buf, known.row, known.row + known.count, true, lines)
  known.count = #lines
end

local function text(update)
  append(update.content.text)
end

local updates = {
  agent_message_chunk = text,
  user_message_chunk = text,
  tool_call = tool,
  tool_call_update = tool,
}

local requests = {}

requests["fs/read_text_file"] = function(id, params)
  local buf = vim.fn.bufnr(params.path)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  send({ id = id, result = { content = table.concat(lines, "\n") .. "\n" } })
end

requests["fs/write_text_file"] = function(id, params)
  local buf = vim.fn.bufnr(params.path)
  api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(params.content:gsub("\n$", ""), "\n", { plain = true }))
  api.nvim_buf_call(buf, function()
    vim.cmd("silent write!")
  end)
  send({ id = id, result = vim.empty_dict() })
end

requests["session/request_permission"] = function(_, params)
  local diff = params.toolCall.content[1]
  local text = vim.diff(diff.oldText, diff.newText)
  local lines = vim.split(text --[[@as string]], "\n", { plain = true })
  for i, option in ipairs(params.options) do
    table.insert(lines, i, ("%d %s"):format(i, option.name))
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 2,
    col = 4,
    width = 80,
    height = 20,
    border = "rounded",
  })
end

local function handle(message)
  if message.method == "session/update" then
    local update = message.params.update
    updates[update.sessionUpdate](update)
  elseif message.method then
    requests[message.method](message.id, message.params)
  else
    local on_result = state.waiting[message.id]
    state.waiting[message.id] = nil
    on_result(message.result)
  end
end

local queue = {}

--- Handles received data, and scrolls the window.
local function drain()
  local messages = queue
  queue = {}
  local last = api.nvim_buf_line_count(state.transcript)
  local follows = api.nvim_win_get_cursor(state.window)[1] >= last
  for _, message in ipairs(messages) do
    handle(message)
  end
  if follows then
    api.nvim_win_set_cursor(state.window, { api.nvim_buf_line_count(state.transcript), 0 })
  end
end

local function reader()
  local rest = {}
  return function(_, data)
    local start = 1
    while data do
      local stop = data:find("\n", start, true)
      rest[#rest + 1] = data:sub(start, (stop or 0) - 1)
      if not stop then
        return
      end
      queue[#queue + 1] = vim.json.decode(table.concat(rest))
      rest = {}
      if #queue == 1 then
        vim.schedule(drain)
      end
      start = stop + 1
    end
  end
end

local function windows()
  state.transcript = api.nvim_create_buf(false, true)
  vim.bo[state.transcript].undolevels = -1
  local width = math.floor(vim.o.columns * 0.4)
  state.window =
    api.nvim_open_win(state.transcript, false, { win = -1, split = "right", width = width })
  local input = api.nvim_create_buf(false, true)
  local win = api.nvim_open_win(input, true, { win = state.window, split = "below", height = 6 })
  for _, window in ipairs({ state.window, win }) do
    vim.wo[window].wrap = true
    vim.wo[window].linebreak = true
  end
end

function M.open()
  windows()
  local agent = vim.g.acp.agents[vim.g.acp.default_agent]
  local command = vim.list_extend({ agent.command }, agent.args)
  state.process = vim.system(command, { stdin = true, stdout = reader(), env = agent.env })
  local capabilities = { fs = { readTextFile = true, writeTextFile = false } }
  request("initialize", { protocolVersion = 1, clientCapabilities = capabilities }, function()
    local params = { cwd = vim.fn.getcwd(), mcpServers = {} }
    request("session/new", params, function(result)
      state.session = result.sessionId
      announce("AcpSessionStarted")
    end)
  end)
end

function M.prompt(text)
  append("> " .. text .. "\n\n")
  local params = { sessionId = state.session, prompt = { { type = "text", text = text } } }
  request("session/prompt", params, function()
    announce("AcpTurnEnded")
  end)
end
