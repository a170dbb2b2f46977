local support = require("support")
local same = support.same
local real = dofile(support.root .. "/tests/real/agents.lua")

return function(test)
  test("the presets install the major versions whose turns were run", function()
    for name, agent in pairs(real.agents) do
      local installed = require("acp.presets")[name].install:match("%S+$")
      local package, version = installed:match("^(.[^@]*)@?(.*)$")
      local major = agent.version:match("^%d+")
      same({ name, agent.package, major }, { name, package, version:match("^%d+") })
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
