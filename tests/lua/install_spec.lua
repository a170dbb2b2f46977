local support = require("support")
local same, contains = support.same, support.contains

--- Puts a program called `name` on the path, which runs these lines of a shell.
---@param name string
---@param lines string
---@return string dir
local function program(name, lines)
  local dir = support.program(name)
  vim.fn.writefile({ "#!/bin/sh", lines }, dir .. "/" .. name)
  vim.env.PATH = dir .. ":/usr/bin:/bin"
  return dir
end

--- Chooses the way with this number, or none; returns the offered ways.
---@param number? integer
---@return table
local function choose(number)
  local offered = {}
  vim.ui.select = function(items, opts, done)
    offered.prompt = opts.prompt
    offered.items = vim.tbl_map(opts.format_item, items)
    done(number and items[number])
  end
  return offered
end

---@param text string
local function wait_notice(text)
  vim.wait(10000, function()
    return #support.notices > 0
  end)
  contains(text, (support.notices[1] or {}).text or "")
end

return function(test)
  local select = vim.ui.select

  test("an agent is installed by the command that was shown, in a terminal", function()
    local dir = program("npm", 'echo "$@" >"$0.log"; cp "$0" "${0%npm}agent"')
    require("acp").setup({
      agents = {
        mine = { command = "agent", args = { "--acp" }, install = "npm install -g @a/b@1" },
      },
    })
    local offered = choose(1)
    vim.cmd("Acp agents mine")
    same({
      prompt = "mine is not installed",
      items = {
        "Install it: npm install -g @a/b@1",
        "Start it without an install, in this Neovim: npx -y --package @a/b@1 agent --acp",
      },
    }, offered)
    wait_notice("mine is installed; `:AcpChat mine` starts it.")
    same({ "install -g @a/b@1" }, vim.fn.readfile(dir .. "/npm.log"))
  end)

  test("a preset is started in the version that it names", function()
    vim.env.PATH = "/usr/bin:/bin"
    local presets = require("acp.presets")
    for name, command in pairs({
      auggie = "npx -y --package @augmentcode/auggie@%s auggie --acp",
      vibe = "uvx --from mistral-vibe==%s vibe-acp",
    }) do
      local offered = choose(nil)
      vim.cmd("Acp agents " .. name)
      contains(command:format(presets[name].version), offered.items[2])
    end
  end)

  test("a failed install says so and leaves its terminal", function()
    program("npm", "echo no network; exit 7")
    require("acp").setup({ agents = { mine = { command = "agent", install = "npm install -g b" } } })
    choose(1)
    vim.cmd("Acp agents mine")
    wait_notice("mine was not installed (exit code 7); the terminal shows why.")
    same("terminal", vim.bo.buftype)
    vim.cmd("stopinsert | quit!")
  end)

  test("the message about a missing agent says how to get it, on one line", function()
    vim.env.PATH = "/usr/bin:/bin"
    vim.cmd("AcpChat auggie")
    local want = 'the agent "auggie" needs `auggie`, which was not found: '
      .. "`:Acp agents auggie` installs it."
    same("acp.nvim: " .. want, support.notices[1].text)
  end)

  test("without a choice nothing runs", function()
    local dir = program("npm", 'touch "$0.log"')
    require("acp").setup({ agents = { mine = { command = "agent", install = "npm install -g b" } } })
    choose(nil)
    vim.cmd("Acp agents mine")
    same({ 0, {} }, { vim.fn.filereadable(dir .. "/npm.log"), support.notices })
  end)

  test("an agent is started without an install until it is installed", function()
    local dir = program("uvx", "")
    require("acp").setup({
      agents = { mine = { command = "agent", args = { "x" }, install = "uv tool install b" } },
    })
    local calls = support.fake({ open = 1, status = { phase = "none" } })
    choose(2)
    vim.cmd("Acp agents mine")
    local spec
    for _, call in ipairs(calls) do
      spec = call[1] == "open" and call[2] or spec
    end
    same(dir .. "/uvx", spec.command)
    same({ "--from", "b", "agent", "x" }, spec.args)
    vim.fn.writefile({ "#!/bin/sh" }, dir .. "/agent")
    vim.uv.fs_chmod(dir .. "/agent", 493)
    same({ path = dir .. "/agent", args = { "x" } }, {
      path = require("acp.agents").get("mine").path,
      args = require("acp.agents").get("mine").agent.args,
    })
  end)

  test("an agent that no package manager has keeps its instruction", function()
    require("acp").setup({
      agents = {
        mine = { command = "agent", install = "see https://example.org" },
        own = { command = "/nowhere/agent", install = "npm install -g b" },
      },
    })
    vim.cmd("Acp agents mine")
    contains("which was not found: see https://example.org.", support.notices[1].text)
    vim.cmd("Acp agents own")
    contains("which was not found: npm install -g b.", support.notices[2].text)
    vim.cmd("Acp agents nobody")
    contains('there is no agent "nobody"', support.notices[3].text)
    vim.ui.select = select
  end)
end
