--- Queries about a position: definitions, references, documentation.

local M = {}

local buffers = require("acp.tools.builtin.lsp.buffers")
local found = require("acp.tools.builtin.lsp.found")
local place = require("acp.tools.builtin.lsp.place")
local requests = require("acp.tools.builtin.lsp.requests")
local servers = require("acp.tools.builtin.lsp.servers")

--- Default number of locations, and maximum length of a documentation in bytes.
local LIMIT, MAX_HOVER = 100, 30000

--- Queries the servers of a file about a position.
---@param ctx acp.ToolContext
---@param args table
---@param method string
---@param what string
---@param more? table Further parameters.
---@return acp.lsp.Answer[]
---@return string[] notes
---@return acp.lsp.Place
local function ask(ctx, args, method, what, more)
  local file = buffers.open(ctx, args.path)
  -- An invalid position is reported before waiting for servers.
  place.of(ctx, file, args)
  local clients = servers.of(ctx, file, method, what)
  local there = place.of(ctx, file, args)
  local answers, notes = requests.query(ctx, file, clients, method, function(client)
    return vim.tbl_extend("error", {
      textDocument = { uri = vim.uri_from_bufnr(file.buf) },
      position = place.position(there, client),
    }, more or {})
  end)
  return answers, notes, there
end

--- Returns a result that lists locations.
---@param ctx acp.ToolContext
---@param answers acp.lsp.Answer[]
---@param notes string[]
---@param limit? integer
---@param one string The singular name of a result.
---@param where acp.lsp.Place
local function listed(ctx, answers, notes, limit, one, where)
  local places, total = found.places(ctx, answers, limit or LIMIT)
  if total == 0 then
    local text = ('There is no %s of "%s" that a language server knows of.'):format(one, where.word)
    return found.result(text, { locations = {}, total = 0 }, notes)
  end
  local many = total == 1 and one or one .. "s"
  local count = #places < total and ("%d of %d %s"):format(#places, total, many)
    or ("%d %s"):format(total, many)
  local text = ('%s of "%s":\n%s'):format(count, where.word, found.list(places))
  return found.result(text, { locations = places, total = total }, notes)
end

--- Alternatives to a definition: the method and the name of its result.
---@type table<string, {method: string, name: string}>
local kinds = {
  definition = { method = "definition", name = "definition" },
  declaration = { method = "declaration", name = "declaration" },
  type_definition = { method = "typeDefinition", name = "type definition" },
  implementation = { method = "implementation", name = "implementation" },
}

---@param args table
---@param ctx acp.ToolContext
function M.definition(args, ctx)
  local kind = kinds[args.only or "definition"] or kinds.definition
  local what = ("find %ss"):format(kind.name)
  local answers, notes, where = ask(ctx, args, "textDocument/" .. kind.method, what)
  return listed(ctx, answers, notes, args.limit, kind.name, where)
end

---@param args table
---@param ctx acp.ToolContext
function M.references(args, ctx)
  local answers, notes, where = ask(ctx, args, "textDocument/references", "find references", {
    context = { includeDeclaration = args.include_declaration ~= false },
  })
  return listed(ctx, answers, notes, args.limit, "reference", where)
end

---@param args table
---@param ctx acp.ToolContext
function M.hover(args, ctx)
  local answers, notes, where = ask(ctx, args, "textDocument/hover", "tell about symbols")
  local texts = {}
  for _, answer in ipairs(answers) do
    local contents = type(answer.result) == "table" and answer.result.contents
    if contents then
      local lines = vim.lsp.util.convert_input_to_markdown_lines(contents)
      local text = vim.trim(table.concat(lines, "\n"))
      if text ~= "" and not vim.list_contains(texts, text) then
        table.insert(texts, text)
      end
    end
  end
  if #texts == 0 then
    table.insert(texts, ('No language server has anything to say of "%s".'):format(where.word))
  end
  local text = found.cut(table.concat(texts, "\n\n---\n\n"), MAX_HOVER)
  if #notes > 0 then
    text = text .. "\n\n" .. table.concat(notes, "\n")
  end
  return text
end

return M
