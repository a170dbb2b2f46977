local support = require("support")
local same = support.same

--- Returns the text of a file of the project.
---@param path string
---@return string
local function read(path)
  return table.concat(vim.fn.readfile(support.root .. "/" .. path), "\n")
end

--- Returns the texts of all files below a folder, by path.
---@param folder string
---@param pattern string
local function read_all(folder, pattern)
  local found = {}
  for _, path in ipairs(vim.fn.globpath(support.root .. "/" .. folder, pattern, true, true)) do
    found[path] = table.concat(vim.fn.readfile(path), "\n")
  end
  return found
end

--- Fails for every match of `pattern` in `text` for which `exists` is not true; returns how many
--- there were.
---@param text string
---@param pattern string
---@param exists fun(match: string): any
---@return integer
local function check(text, pattern, exists)
  local count, missing = 0, {}
  for match in text:gmatch(pattern) do
    count = count + 1
    if not exists(match) then
      table.insert(missing, match)
    end
  end
  same({}, missing)
  return count
end

local readme = read("README.md")
local architecture = read("ARCHITECTURE.md")
local help = read("doc/acp.txt")
local tutor = table.concat(vim.tbl_values(read_all("agents/src/bin/acp-tutor", "*.rs")), "\n")
local sources = table.concat(vim.tbl_values(read_all("src", "**/*.rs")), "\n")
  .. table.concat(vim.tbl_values(read_all("crates", "**/*.rs")), "\n")
local glue = table.concat(vim.tbl_values(read_all("lua", "**/*.lua")), "\n")
local all_tests = sources
  .. table.concat(vim.tbl_values(read_all("agents", "**/*.rs")), "\n")
  .. table.concat(vim.tbl_values(read_all("tests", "**/*.rs")), "\n")

--- Returns whether `:Acp {name}` does something in this version.
local function works(name)
  return vim.tbl_contains(require("acp.commands").complete("", "Acp ", 4), name)
end

--- Returns the code of each fenced block of a language in markdown.
local function blocks(text, language)
  local found = {}
  for block in ("\n" .. text):gmatch("\n```" .. language .. "\n(.-)\n```") do
    table.insert(found, block)
  end
  return found
end

return function(test)
  test("the README promises only subcommands that work", function()
    local count = check(readme, ":Acp ([%l-]+)", works)
    same(true, count > 10)
  end)

  test("the tutor names only subcommands that work", function()
    check(tutor, ":Acp ([%l-]+)", works)
  end)

  test("every subcommand that works is in the README", function()
    same(
      {},
      vim.tbl_filter(function(name)
        return not readme:find(":Acp " .. name, 1, true)
      end, require("acp.commands").complete("", "Acp ", 4))
    )
  end)

  test("every <Plug> mapping in the README and the help exists", function()
    dofile(support.root .. "/plugin/acp.lua")
    check(readme .. help, "<Plug>%(acp%-[%l-]+%)", function(name)
      return vim.fn.maparg(name, "n") ~= ""
    end)
  end)

  test("every event the README and the help name is emitted", function()
    local events = help:match("%*acp%-events%*(.-)\n====")
    local count = check(events, "%*(Acp%u%w+)%*", function(name)
      return (sources .. glue):find(('"%s"'):format(name), 1, true)
    end)
    same(true, count >= 7)
    local named = readme:match("### Events(.-)\n### ") or readme:match("### Events(.-)\n## ")
    check(named, "Acp%u%w+", function(name)
      return events:find(("*%s*"):format(name), 1, true)
    end)
  end)

  test("the configurations in the README and the help are valid", function()
    local examples = blocks(readme, "lua")
    for block in help:gmatch(">lua\n(.-)\n<") do
      table.insert(examples, block)
    end
    local count = 0
    for _, example in ipairs(examples) do
      if example:find("vim.g.acp", 1, true) or example:find('require("acp")', 1, true) then
        support.fresh()
        assert(loadstring(example))()
        local report = require("acp.config").report()
        same({ {}, {} }, { report.problems, report.unknown })
        count = count + 1
      end
    end
    support.fresh()
    same(true, count >= 4)
  end)

  test("the other Lua in the README is Lua", function()
    for _, block in ipairs(blocks(readme, "lua")) do
      local code = vim.startswith(block, "{") and "return " .. block or block
      local ok, problem = loadstring(code)
      same({ true, nil }, { ok ~= nil, problem })
    end
  end)

  test("the README's table of agents is the list of presets", function()
    for name, preset in pairs(require("acp.config").get().agents) do
      local row = readme:match(("\n(| `%s` |[^\n]+)"):format(name))
      same({ name, true }, { name, row ~= nil })
      local how = preset.install:gsub("^see ", "")
      if name ~= "tutor" then
        support.contains(how, row)
      end
    end
  end)

  test("the keys in the README are the default ones", function()
    local keymaps = require("acp.config").get().keymaps
    for _, keys in ipairs({ keymaps.review, keymaps.input }) do
      for _, list in pairs(keys) do
        support.contains(("`%s`"):format(list[1]), readme)
      end
    end
  end)

  test("every relative link leads somewhere", function()
    for _, text in ipairs({ readme, architecture, read("CHANGELOG.md") }) do
      check(text, "%]%(([^)#]+)[^)]*%)", function(link)
        return link:find("^https?://") or vim.uv.fs_stat(support.root .. "/" .. link)
      end)
    end
  end)

  test("every named make target exists", function()
    local makefile = read("Makefile")
    check(readme .. architecture .. help, "[`\n]make (%l+)", function(target)
      return makefile:find(("\n%s:"):format(target), 1, true)
    end)
  end)

  test("every file the architecture names exists", function()
    local count = 0
    for folder in ("agents benches crates doc lua plugin src tests tools"):gmatch("%l+") do
      count = count
        + check(architecture, ("`(%s/[%%w/._-]+)`"):format(folder), function(path)
          return vim.uv.fs_stat(support.root .. "/" .. path)
        end)
    end
    same(true, count > 20)
  end)

  test("every test that SECURITY.md names exists, and each of its promises names one", function()
    local security = read("SECURITY.md")
    local specs = table.concat(vim.tbl_values(read_all("tests/lua", "*_spec.lua")), "\n")
    local count = check(security, "`(%l[%l%d_]+_[%l%d_]+)`", function(name)
      return all_tests:find(("fn %s("):format(name), 1, true)
    end) + check(security, "`([%l_]+: [^`]+)`", function(name)
      return specs:find(('test("%s"'):format(name), 1, true)
    end)
    same(true, count > 20)
    check(security, "\n(%- [^\n]+)", function(promise)
      return promise:find("%(`.+`%)")
    end)
  end)

  test("every test the architecture names exists", function()
    local part = assert(architecture:match("## Invariants(.-)\n## "))
    local count = check(part, "`(%l[%l%d_]+_[%l%d_]+)`", function(name)
      return all_tests:find(("fn %s("):format(name), 1, true)
    end)
    same(true, count > 20)
  end)
end
