--- Checks the help: tags are unique, and each |tag| reference exists here or in Neovim's help.
---
--- Usage: nvim --clean -l tools/help-tags.lua DOC

local doc = assert(arg[1], "usage: nvim --clean -l tools/help-tags.lua DOC")
local problems = {}

---@param path string
---@param row integer
---@param text string
local function problem(path, row, text)
  table.insert(problems, ("%s:%d: %s"):format(path, row, text))
end

--- Calls `visit` with each line outside of examples, as defined by `:help help-writing`.
---@param path string
---@param visit fun(row: integer, line: string)
local function each_line(path, visit)
  local in_example = false
  local row = 0
  for line in io.lines(path) do
    row = row + 1
    -- Text may follow the end of an example on the same line.
    if in_example and line:find("^[^ \t]") then
      in_example = false
      line = line:gsub("^<", " ")
    end
    if not in_example then
      visit(row, line)
      in_example = line:find("^>%l*$") ~= nil or line:find("%s>%l*$") ~= nil
    end
  end
end

--- Returns the tags of Neovim's own help.
---@return table<string, true>
local function tags_of_neovim()
  local tags = {}
  for line in io.lines(vim.env.VIMRUNTIME .. "/doc/tags") do
    tags[line:match("^[^\t]+")] = true
  end
  return tags
end

local files = vim.fn.globpath(doc, "*.txt", true, true)
if #files == 0 then
  problem(doc, 0, "there is no help here")
end

local own = {} ---@type table<string, string?>
for _, path in ipairs(files) do
  each_line(path, function(row, line)
    -- A tag is delimited by blanks or an end of the line.
    for tag in (" " .. line .. " "):gmatch("%f[%S]%*([^%s*|]+)%*%f[%s]") do
      if own[tag] then
        problem(path, row, ("the tag *%s* is at %s too"):format(tag, own[tag]))
      end
      own[tag] = path .. ":" .. row
    end
  end)
end

local known = tags_of_neovim()
for _, path in ipairs(files) do
  each_line(path, function(row, line)
    for tag in line:gsub("`[^`]+`", ""):gmatch("|([^%s|]+)|") do
      if not own[tag] and not known[tag] then
        problem(path, row, ("there is no tag *%s*"):format(tag))
      end
    end
  end)
end

-- Neovim itself decides whether a help file is valid.
local ok, why = pcall(vim.cmd.helptags, { args = { vim.fn.fnameescape(doc) } })
if not ok then
  problem(doc, 0, tostring(why))
end

if #problems > 0 then
  io.stderr:write(table.concat(problems, "\n"), "\n")
  os.exit(1)
end
