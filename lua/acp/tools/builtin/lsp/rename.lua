--- Renames a symbol everywhere.

local M = {}

local buffers = require("acp.tools.builtin.lsp.buffers")
local edits = require("acp.tools.builtin.lsp.edits")
local found = require("acp.tools.builtin.lsp.found")
local place = require("acp.tools.builtin.lsp.place")
local requests = require("acp.tools.builtin.lsp.requests")
local servers = require("acp.tools.builtin.lsp.servers")

---@param client vim.lsp.Client
---@param file acp.lsp.File
---@param there acp.lsp.Place
---@param more? table
---@return table
local function params(client, file, there, more)
  return vim.tbl_extend("error", {
    textDocument = { uri = vim.uri_from_bufnr(file.buf) },
    position = place.position(there, client),
  }, more or {})
end

--- Returns why a server refuses to rename the symbol at a position, or nil.
---@param ctx acp.ToolContext
---@param client vim.lsp.Client
---@param file acp.lsp.File
---@param there acp.lsp.Place
---@return string?
local function refusal(ctx, client, file, there)
  if not servers.can(client, "textDocument/prepareRename", file.buf) then
    return nil
  end
  local to_ask = params(client, file, there)
  local answer = requests.ask_one(ctx, client, "textDocument/prepareRename", to_ask)
  if answer.why then
    return ("%s: %s"):format(client.name, answer.why)
  elseif not answer.result then
    return ('%s: "%s" is nothing that can be renamed'):format(client.name, there.word)
  end
end

---@param edit any
---@return boolean
local function is_any(edit)
  return type(edit) == "table"
    and (next(edit.documentChanges or {}) ~= nil or next(edit.changes or {}) ~= nil)
end

---@param args table
---@param ctx acp.ToolContext
function M.rename(args, ctx)
  local file = buffers.open(ctx, args.path)
  if vim.trim(args.new_name) == "" then
    ctx.fail("Please say what it is to be called: `new_name` is empty.")
  end
  place.of(ctx, file, args)
  local clients = servers.of(ctx, file, "textDocument/rename", "rename symbols")
  local there = place.of(ctx, file, args)
  local problems = {}
  -- Edits of several servers cannot be combined: the first server that knows the symbol renames it.
  for _, client in ipairs(clients) do
    local ticks = edits.ticks()
    local why = refusal(ctx, client, file, there)
    if not why then
      local answers = requests.ask_settled(ctx, file, { client }, "textDocument/rename", function()
        return params(client, file, there, { newName = args.new_name })
      end)
      local answer = answers[1] or { client = client }
      if is_any(answer.result) then
        local notes = requests.at_work({ client })
        local written = edits.write(ctx, answer.result, client, ticks)
        local head = ('"%s" is now "%s" (%s): '):format(there.word, args.new_name, client.name)
        return found.result(head .. edits.summary(written), {
          files = written.files,
          edits = written.edits,
          server = client.name,
        }, notes)
      end
      why = ("%s: %s"):format(client.name, answer.why or "it has nothing to change")
    end
    table.insert(problems, why)
  end
  local text = 'Nothing was changed: "%s" on line %d of %s was not renamed. %s.'
  ctx.fail(text:format(there.word, args.line, file.path, table.concat(problems, "; ")))
end

return M
