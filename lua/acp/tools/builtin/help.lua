--- `help`: Neovim's help and that of plugins on the runtime path.
---
--- Invariant: no window or buffer is opened. The files of help/ are loaded on the first call.

--- Limits: full topics by default, and names of further topics.
local LIMIT, NAMED = 3, 20

--- Returns suggestions when no tag matches.
---@param query string
---@param limit integer
---@return string[]
local function without_tag(ctx, query, limit)
  local out = require("acp.tools.builtin.help.topics").by_text(ctx, query, limit)
  local head = #out > 0 and ("No help tag fits %q; this has it in its text:"):format(query)
    or ("Nothing in Neovim's help has %q in it: try other words."):format(query)
  table.insert(out, 1, head)
  local names = require("acp.tools.builtin.help.tags").similar(ctx, query, NAMED)
  if #names > 0 then
    table.insert(out, "Tags that look like it: " .. table.concat(names, "  "))
  end
  return out
end

---@param args { query: string, limit?: integer }
local function help(args, ctx)
  local query, limit = vim.trim(args.query), args.limit or LIMIT
  if query == "" then
    ctx.fail("query is empty: give a help tag, or words to look for.")
  end
  local found, exact = require("acp.tools.builtin.help.tags").matching(ctx, query)
  -- A certain match is returned alone, unless more are requested.
  local wanted = exact > 0 and not args.limit and math.min(exact, limit) or limit
  local out, others, is_told = {}, {}, {}
  for _, tag in ipairs(found) do
    local text, line
    if #out < wanted then
      text, line = require("acp.tools.builtin.help.topics").topic(ctx, tag)
    end
    if text and not is_told[text] then
      is_told[text] = true
      local head = "*%s* (%s, line %d)"
      table.insert(out, head:format(tag.name, vim.fs.basename(tag.path), line) .. "\n\n" .. text)
    elseif not text and #others < NAMED then
      table.insert(others, tag.name)
    elseif #out >= wanted then
      break
    end
  end
  if #out == 0 then
    out = without_tag(ctx, query, limit)
  elseif #others > 0 then
    table.insert(out, "Other tags that fit: " .. table.concat(others, "  "))
  end
  return table.concat(out, "\n\n" .. ("="):rep(40) .. "\n\n")
end

return {
  {
    name = "help",
    title = "Neovim's help",
    description = "Searches the help of the user's Neovim and its plugins. Use it before configuring them.",
    kind = "search",
    read_only = true,
    parameters = {
      type = "object",
      properties = {
        query = {
          type = "string",
          minLength = 1,
          description = "Tag or words.",
        },
        limit = {
          type = "integer",
          minimum = 1,
          description = ("Maximum. Default: %d."):format(LIMIT),
        },
      },
      required = { "query" },
      additionalProperties = false,
    },
    handler = help,
  },
}
