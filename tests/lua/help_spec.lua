local support = require("support")
local same = support.same

local help = vim.fn.readfile(support.root .. "/doc/acp.txt")

--- Returns the help's tags.
local function tags()
  local found = {}
  for _, line in ipairs(help) do
    for tag in line:gmatch("%f[^%s%z]%*([^%s*|]+)%*%f[%s%z]") do
      found[tag] = true
    end
  end
  return found
end

--- Fails for every name that has no tag.
local function check(names)
  local found = tags()
  same(
    {},
    vim.tbl_filter(function(name)
      return not found[name]
    end, names)
  )
end

return function(test)
  test("every subcommand has a tag", function()
    dofile(support.root .. "/plugin/acp.lua")
    local names = require("acp.commands").complete("", "Acp ", 4)
    same(true, #names > 5)
    check(vim.tbl_map(function(name)
      return ":Acp-" .. name
    end, names))
  end)

  test("every function of the API has a tag", function()
    local names = {}
    local function collect(prefix, module)
      for name, value in pairs(module) do
        if type(value) == "table" then
          collect(prefix .. name .. ".", value)
        else
          table.insert(names, ("%s%s()"):format(prefix, name))
        end
      end
    end
    local acp = require("acp")
    collect("acp.", acp)
    for group in pairs(getmetatable(acp).groups) do
      collect(("acp.%s."):format(group), acp[group])
    end
    same(true, #names > 10)
    check(names)
  end)

  test("every <Plug> mapping has a tag", function()
    local names = {}
    for _, map in ipairs(vim.api.nvim_get_keymap("n")) do
      if vim.startswith(map.lhs, "<Plug>(acp-") then
        table.insert(names, map.lhs)
      end
    end
    same(true, #names > 5)
    check(names)
  end)

  test("every link within the help leads to a tag", function()
    local links = {}
    for _, line in ipairs(help) do
      for link in line:gmatch("|([^%s|]+)|") do
        if link:find("^:?[Aa]cp") or link:find("^<Plug>") then
          table.insert(links, link)
        end
      end
    end
    same(true, #links > 20)
    check(links)
  end)

  test("no line is wider than 78 columns", function()
    same(
      {},
      vim.tbl_filter(function(line)
        return vim.fn.strdisplaywidth(line) > 78
      end, help)
    )
  end)

  test("generated sections are up to date", function()
    local done = vim
      .system(
        { support.neovim, "--clean", "--headless", "-l", "tools/gen-help.lua", "--check" },
        { cwd = support.root, text = true }
      )
      :wait(20000)
    same({ 0, "" }, { done.code, done.stderr })
  end)
end
