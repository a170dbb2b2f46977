--- `help`: Neovim's help and that of plugins on the runtime path.
---
--- Invariant: no window or buffer is opened; the tags are read once, and again when a tags file
--- changes.

local texts = require("acp.tools.builtin.texts")

--- Limits: full topics by default, names of further topics, and bytes per topic.
local LIMIT, NAMED, MAX_LINES, MAX_BYTES = 3, 20, 80, 6000

--- Limits: context lines around a text match, and bytes searched.
local AROUND, MAX_SEARCHED = 4, 32 * 1024 * 1024

--- Bytes searched before Neovim processes other events.
local MAX_AT_ONCE = 512 * 1024

--- A tag with its location, and its form for searching.
---@class acp.tools.HelpTag
---@field name string
---@field lower string
---@field path string

--- The state of the tags files when they were read.
---@type { of: string, tags: acp.tools.HelpTag[], by_name: table<string, acp.tools.HelpTag> }?
local known

--- Returns all tags of the help files on the runtime path.
local function index()
  local files = vim.api.nvim_get_runtime_file("doc/tags", true)
  local states = vim.tbl_map(function(file)
    local stat = vim.uv.fs_stat(file) or { size = 0, mtime = { sec = 0, nsec = 0 } }
    return ("%s %d %d.%d"):format(file, stat.size, stat.mtime.sec, stat.mtime.nsec)
  end, files)
  local of = table.concat(states, "\n")
  if known and known.of == of then
    return known
  end
  known = { of = of, tags = {}, by_name = {} }
  for _, name in ipairs(files) do
    local file = io.open(name, "rb")
    local folder = vim.fs.dirname(name) .. "/"
    for line in (file and file:read("*a") or ""):gmatch("[^\r\n]+") do
      local tag, path = line:match("^([^\t]+)\t([^\t]+)\t")
      if tag and not vim.startswith(tag, "!_TAG") and not known.by_name[tag] then
        local it = { name = tag, lower = tag:lower(), path = folder .. path }
        known.by_name[tag] = it
        table.insert(known.tags, it)
      end
    end
    if file then
      file:close()
    end
  end
  return known
end

--- Returns possible spellings of a requested tag, the most likely first.
---@param query string
---@return string[]
local function spellings(query)
  local bare = query:gsub("^:h%a*%s+", ""):gsub("^|(.*)|$", "%1"):gsub("%(.*%)$", "")
  local is_call = vim.startswith(bare, "vim.fn.") or bare ~= query and query:sub(-1) == ")"
  bare = bare:gsub("^vim%.api%.", ""):gsub("^vim%.fn%.", ""):gsub("^vim%.[bgw]?o%.", "")
  local keys = bare:gsub("<[cC]%-(.)>", function(key)
    return "CTRL-" .. key:upper()
  end)
  local out = { query, ("'%s'"):format(bare), ":" .. bare, bare, keys }
  table.insert(out, is_call and 2 or #out + 1, bare .. "()")
  vim.list_extend(out, { "vim." .. bare .. "()", "vim." .. bare })
  return out
end

--- Stop words, ignored in a query.
local EMPTY_WORDS = {}
for word in
  ("a an and are can do does for how i in is it my of on or the to what with"):gmatch("%a+")
do
  EMPTY_WORDS[word] = true
end

--- Returns the significant words of a query in lower case.
---@param query string
---@return string[]
local function words_of(query)
  local words = vim.split(query:lower(), "%s+", { trimempty = true })
  local telling = vim.tbl_filter(function(word)
    return not EMPTY_WORDS[word]
  end, words)
  return #telling > 0 and telling or words
end

---@param text string
---@param words string[]
---@return boolean
local function has_all(text, words)
  for _, word in ipairs(words) do
    if not text:find(word, 1, true) then
      return false
    end
  end
  return true
end

--- Returns the tags that start with a text, else those that contain it, shortest first.
---@param tags acp.tools.HelpTag[]
---@param lower string
---@return acp.tools.HelpTag[]
local function like(tags, lower)
  local begins, has = {}, {}
  for _, tag in ipairs(tags) do
    local at = tag.lower:find(lower, 1, true)
    if at then
      -- A leading quote of an option or colon of a command is ignored.
      table.insert((at == 1 or at == 2 and tag.name:find("^[':]")) and begins or has, tag)
    end
  end
  local function by_length(a, b)
    if #a.name ~= #b.name then
      return #a.name < #b.name
    end
    return a.name < b.name
  end
  table.sort(begins, by_length)
  table.sort(has, by_length)
  return vim.list_extend(begins, has)
end

--- Returns the tags that match a query, best first, and the number of certain matches.
---@param query string
---@return acp.tools.HelpTag[] tags
---@return integer exact
local function matching(query)
  local all = index()
  local found, is_there = {}, {} ---@type acp.tools.HelpTag[], table<acp.tools.HelpTag, boolean>
  local function add(tags)
    for _, tag in ipairs(tags) do
      if not is_there[tag] then
        is_there[tag] = true
        table.insert(found, tag)
      end
    end
  end
  for _, spelling in ipairs(spellings(query)) do
    add({ all.by_name[spelling] })
  end
  local exact, words = #found, words_of(query)
  add(like(all.tags, table.concat(words, "-")))
  if #found == 0 then
    -- Words in another order, or a name without its separators.
    local parts = #words > 1 and words or { (table.concat(words):gsub("[^%w]", "")) }
    add(vim.tbl_filter(function(tag)
      return has_all(#words > 1 and tag.lower or tag.lower:gsub("[^%w]", ""), parts)
    end, parts[1] ~= "" and all.tags or {}))
  end
  return found, exact
end

--- Returns tags similar to the query.
---@param query string
---@return string[]
local function similar(query)
  return vim.list_slice(vim.fn.matchfuzzy(vim.tbl_keys(index().by_name), query), 1, NAMED)
end

---@param path string
---@return string
local function content(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text:find("\r", 1, true) and text:gsub("\r\n", "\n") or text
end

--- Returns the start of the line that contains a byte.
---@param text string
---@param at integer
---@return integer
local function line_start(text, at)
  while at > 1 and text:byte(at - 1) ~= 10 do
    at = at - 1
  end
  return at
end

--- The separator between sections of a help file.
local RULER = "^[=-][=-][=-][=-][=-]"

--- Returns the topic of a tag: its lines up to the next topic, or a whole section.
---@param tag acp.tools.HelpTag
---@return string? topic
---@return integer? line
local function topic(tag)
  local text = content(tag.path)
  local at = text:find("*" .. tag.name .. "*", 1, true)
  if not at then
    return nil
  end
  local start = line_start(text, at)
  local is_section = start == 1 or text:find(RULER, line_start(text, start - 1)) ~= nil
  local lines, had_text, was_blank = {}, false, false
  for line in text:sub(start, start + 2 * MAX_BYTES):gmatch("([^\n]*)\n?") do
    local is_next = not is_section and was_blank and line:find("%*[^%s*|]+%*%s*$")
    local is_end = line:find("^=====") or not is_section and line:find(RULER)
    if #lines >= MAX_LINES or is_end or had_text and is_next then
      break
    end
    table.insert(lines, line)
    was_blank = line:find("^%s*$") ~= nil
    had_text = had_text or not was_blank and not line:find("^%s*%*[^%s]+%*%s*$")
  end
  local out, is_cut = texts.cut(vim.trim(table.concat(lines, "\n")), MAX_BYTES)
  return out .. ((is_cut or #lines >= MAX_LINES) and "\n…" or ""), texts.line_of(text, at)
end

--- Returns the lines around a position in a text.
---@param text string
---@param at integer
---@return string
local function around(text, at)
  local first, last = line_start(text, at), at
  for _ = 1, AROUND do
    first = line_start(text, math.max(first - 1, 1))
    last = text:find("\n", last + 1, true) or #text
  end
  return (text:sub(first, last):gsub("%s+$", ""))
end

--- Returns the position of a line that contains all words, in a lower-case text.
---@param low string
---@param words string[] The longest first, which is searched for.
---@return integer? at
local function line_with(low, words)
  local from, longest = 1, words[1] or ""
  while true do
    local at = low:find(longest, from, true)
    if not at then
      return nil
    end
    local last = low:find("\n", at, true) or #low
    if has_all(low:sub(line_start(low, at), last), words) then
      return at
    end
    from = last + 1
  end
end

--- Returns positions in the help files that contain a text, or all of its words on one line.
---@param query string
---@param limit integer
---@return string[]
local function by_text(ctx, query, limit)
  local lower, words = query:lower(), words_of(query)
  table.sort(words, function(a, b)
    return #a > #b
  end)
  local whole, parts, searched, rested = {}, {}, 0, 0
  for _, path in ipairs(vim.api.nvim_get_runtime_file("doc/*.txt", true)) do
    if #whole >= limit or searched > MAX_SEARCHED or ctx.is_cancelled() then
      break
    elseif searched - rested > MAX_AT_ONCE then
      -- Keys come first.
      rested = searched
      ctx.await(vim.schedule)
    end
    local text = content(path)
    searched = searched + #text
    local low = text:lower()
    local at = low:find(lower, 1, true)
    local places = at and whole or parts
    if not at and #whole == 0 and #parts < limit then
      at = line_with(low, words)
    end
    if at then
      local head = ("%s, line %d:"):format(vim.fs.basename(path), texts.line_of(text, at))
      table.insert(places, head .. "\n\n" .. around(text, at))
    end
  end
  return #whole > 0 and whole or parts
end

--- Returns suggestions when no tag matches.
---@param query string
---@param limit integer
---@return string[]
local function without_tag(ctx, query, limit)
  local out = by_text(ctx, query, limit)
  local head = #out > 0 and ("No help tag fits %q; this has it in its text:"):format(query)
    or ("Nothing in Neovim's help has %q in it: try other words."):format(query)
  table.insert(out, 1, head)
  local names = similar(query)
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
  local found, exact = matching(query)
  -- A certain match is returned alone, unless more are requested.
  local wanted = exact > 0 and not args.limit and math.min(exact, limit) or limit
  local out, others, is_told = {}, {}, {}
  for _, tag in ipairs(found) do
    local text, line
    if #out < wanted then
      text, line = topic(tag)
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
