--- The tags of the help files, and those that match a query.
---
--- Invariant: the tags are read once, and again when a tags file changes, or for a session that sees
--- other files.

local paths = require("acp.tools.builtin.paths")

local M = {}

--- Maximum size of a file, in bytes.
local MAX_BYTES = 4 * 1024 * 1024

--- A tag with its location, and its form for searching.
---@class acp.tools.HelpTag
---@field name string
---@field lower string
---@field path string

--- The state of the tags files when they were read.
---@type { of: string, tags: acp.tools.HelpTag[], by_name: table<string, acp.tools.HelpTag> }?
local known

--- Returns the text of a help file; an empty one if the agent may not see it, or it is too large or no
--- ordinary file.
---@param ctx acp.ToolContext
---@param path string
---@return string
function M.content(ctx, path)
  local stat = vim.uv.fs_stat(path)
  -- A pipe would block Neovim.
  local is_fit = stat and stat.type == "file" and stat.size <= MAX_BYTES
  local file = is_fit and not paths.leads_out(ctx, path) and io.open(path, "rb")
  if not file then
    return ""
  end
  local text = file:read("*a") or ""
  file:close()
  return text:find("\r", 1, true) and text:gsub("\r\n", "\n") or text
end

--- Returns all tags of the help files on the runtime path.
---@param ctx acp.ToolContext
local function index(ctx)
  local files = vim.tbl_filter(function(file)
    return not paths.leads_out(ctx, file)
  end, vim.api.nvim_get_runtime_file("doc/tags", true))
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
    local folder = vim.fs.dirname(name) .. "/"
    for line in M.content(ctx, name):gmatch("[^\r\n]+") do
      local tag, path = line:match("^([^\t]+)\t([^\t]+)\t")
      -- By `..` it would lead out without a link.
      local is_within = path and not path:find("..", 1, true)
      if tag and is_within and not vim.startswith(tag, "!_TAG") and not known.by_name[tag] then
        local it = { name = tag, lower = tag:lower(), path = folder .. path }
        known.by_name[tag] = it
        table.insert(known.tags, it)
      end
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
function M.words_of(query)
  local words = vim.split(query:lower(), "%s+", { trimempty = true })
  local telling = vim.tbl_filter(function(word)
    return not EMPTY_WORDS[word]
  end, words)
  return #telling > 0 and telling or words
end

--- Returns whether a text contains all of the words.
---@param text string
---@param words string[]
---@return boolean
function M.has_all(text, words)
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
---@param ctx acp.ToolContext
---@param query string
---@return acp.tools.HelpTag[] tags
---@return integer exact
function M.matching(ctx, query)
  local all = index(ctx)
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
  local exact, words = #found, M.words_of(query)
  add(like(all.tags, table.concat(words, "-")))
  if #found == 0 then
    -- Words in another order, or a name without its separators.
    local parts = #words > 1 and words or { (table.concat(words):gsub("[^%w]", "")) }
    add(vim.tbl_filter(function(tag)
      return M.has_all(#words > 1 and tag.lower or tag.lower:gsub("[^%w]", ""), parts)
    end, parts[1] ~= "" and all.tags or {}))
  end
  return found, exact
end

--- Returns tags similar to the query.
---@param ctx acp.ToolContext
---@param query string
---@param limit integer
---@return string[]
function M.similar(ctx, query, limit)
  return vim.list_slice(vim.fn.matchfuzzy(vim.tbl_keys(index(ctx).by_name), query), 1, limit)
end

return M
