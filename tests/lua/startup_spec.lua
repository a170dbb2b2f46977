local support = require("support")
local same, contains = support.same, support.contains

--- Runs `lua` in another Neovim, after `before`, with the plugin loaded as a package manager would.
local function check(before, lua, expected)
  local done = vim
    .system({
      support.neovim,
      "--clean",
      "--headless",
      "--cmd",
      "lua " .. before,
      "--cmd",
      "set runtimepath^=" .. support.root,
      "-c",
      ("lua io.stdout:write(vim.inspect((function() %s end)()))"):format(lua),
      "-c",
      "qa!",
    }, { text = true })
    :wait(20000)
  same({ 0, expected }, { done.code, vim.trim(done.stdout) })
  return done.stderr
end

local REQUIRED = [[
  local names = {}
  for name in pairs(package.loaded) do
    if name:find("^acp") then names[#names + 1] = name end
  end
  return { vim.g.loaded_acp, vim.fn.exists(":Acp"), vim.fn.exists(":AcpChat"), #names, names[1] }
]]

return function(test)
  test("start-up requires nothing", function()
    check("", REQUIRED, "{ 1, 2, 2, 0 }")
  end)

  test("a plugin switched off by loaded_acp defines nothing", function()
    check("vim.g.loaded_acp = 1", REQUIRED, "{ 1, 0, 0, 0 }")
  end)

  test("setup() loads nothing native", function()
    check(
      "",
      [[require("acp").setup({ log_level = "warn" })
        return { package.loaded["acp.native"] == nil, package.loaded["acp.schema"] == nil }]],
      "{ true, true }"
    )
  end)

  test("a session file leaves no empty windows of a chat", function()
    check(
      "",
      [[vim.cmd("vsplit acp://tutor/1") vim.cmd("doautoall SessionLoadPost")
        vim.wait(5000, function() return #vim.api.nvim_list_wins() == 1 end)
        return { #vim.api.nvim_list_wins(), vim.fn.bufexists("acp://tutor/1") }]],
      "{ 1, 0 }"
    )
  end)

  test("an old Neovim gets one sentence on first use", function()
    local old = [[
      local has = vim.fn.has
      vim.fn.has = function(name) return name == "nvim-0.10" and 0 or has(name) end
    ]]
    local told = check(
      old:gsub("\n", " "),
      [[vim.cmd("AcpChat! claude") vim.cmd("1Acp prompt x") return vim.fn.exists("*nvim_exec2")]],
      "1"
    )
    contains("acp.nvim needs Neovim 0.10 or newer", told)
  end)

  test("the version is the package's", function()
    local cargo = table.concat(vim.fn.readfile(support.root .. "/Cargo.toml"), "\n")
    same(cargo:match('\nversion = "([^"]+)"'), require("acp.version"))
  end)
end
