local support = require("support")
local same = support.same
local real = dofile(support.root .. "/tests/real/agents.lua")

return function(test)
  test("the presets are made of the registry's facts", function()
    local made = { support.neovim, "--clean", "--headless", "-l", "tools/presets.lua", "--check" }
    local done = vim.system(made, { cwd = support.root, text = true }):wait(20000)
    same({ 0, "" }, { done.code, done.stderr })
  end)

  test("the presets name the packages and the versions whose turns were run", function()
    for name, agent in pairs(real.agents) do
      local preset = require("acp.presets")[name]
      local install = ("npm install -g %s@%s"):format(agent.package, agent.version:match("^%d+"))
      same({ name, install, agent.version }, { name, preset.install, preset.version })
    end
  end)

  test("the help has what was seen when turns were run", function()
    local help = table.concat(vim.fn.readfile(support.root .. "/doc/acp.txt"), "\n")
    for _, row in ipairs(vim.list_extend(real.rows(), real.framework_rows())) do
      support.contains("\n    " .. row .. "\n", help)
      same(nil, row:find("?", 1, true))
    end
  end)
end
