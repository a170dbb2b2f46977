local support = require("support")
local same, contains = support.same, support.contains

local OPTIONS = {
  {
    id = "mode",
    name = "Mode",
    category = "mode",
    type = "select",
    value = "plan",
    values = {
      { id = "ask", name = "Ask", description = "Asks  first." },
      { id = "plan", name = "Plan", group = "Safe" },
    },
  },
  {
    id = "model",
    name = "Model",
    type = "select",
    value = "x/y",
    values = { { id = "x/y", name = "Y" } },
  },
  { id = "web", name = "Web", type = "boolean", value = false, values = {} },
}

--- Runs a command, choosing these items in the pickers; returns the option set and the texts shown.
local function run(command, choices, options)
  local count, before = math.max(#choices, 1), #support.notices
  local calls = support.fake({
    status = { phase = "idle", session = 3, agent = "mine" },
    options = options or OPTIONS,
  })
  local pickers, chosen = {}, nil
  vim.ui.select = function(items, opts, on_choice)
    local lines = vim.tbl_map(opts.format_item, items)
    table.insert(pickers, { opts.kind, opts.prompt, unpack(lines) })
    chosen = items[table.remove(choices, 1)]
    on_choice(chosen)
  end
  vim.cmd(command)
  local function deeds()
    return vim.tbl_filter(function(call)
      return call[1] == "set_option" or call[1] == "next_mode"
    end, calls)
  end
  local is_over = vim.wait(5000, function()
    local is_told = #support.notices > before
    if #pickers < count then
      return is_told or #deeds() > 0
    end
    return is_told or not (chosen and chosen.run)
  end, 5)
  assert(is_over, command)
  return deeds(), pickers
end

--- Returns the remembered options of an agent.
local function remembered(agent)
  local is_read, values = false, nil
  require("acp.remember").of(agent, function(found)
    is_read, values = true, found
  end)
  assert(vim.wait(5000, function()
    return is_read
  end, 5))
  return values
end

--- Fails unless a command sets just this, without asking.
local function check(command, expected)
  local deeds, pickers = run(command, {})
  same(expected, deeds)
  same({}, pickers)
end

return function(test)
  local select = vim.ui.select
  local home = vim.env.XDG_STATE_HOME
  vim.env.XDG_STATE_HOME = vim.fn.tempname()
  local state = vim.fn.stdpath("state")
  vim.g.loaded_acp = nil
  dofile(support.root .. "/plugin/acp.lua")

  test("modes and options are set by their names", function()
    check("Acp mode plan", { { "set_option", 3, nil, "plan" } })
    check("Acp mode Ask first", { { "set_option", 3, nil, "Ask first" } })
    check("Acp mode!", { { "next_mode", 3 } })
    check("Acp config model x/y", { { "set_option", 3, "model", "x/y" } })
    check("Acp config web on", { { "set_option", 3, "web", "on" } })
    check("Acp config nope", { { "set_option", 3, "nope", "" } })
  end)

  test("a mode is chosen from a list that marks the current one", function()
    local deeds, pickers = run("Acp mode", { 1 })
    same({ { "set_option", 3, "mode", "ask" } }, deeds)
    same({
      {
        "acp-mode",
        "Mode",
        "  Ask — Asks first.",
        "● Plan (Safe)",
        '  Remember the mode "Plan" for new sessions',
      },
    }, pickers)
    same({}, (run("Acp mode", {})))
  end)

  test("an option is chosen, then its value", function()
    local deeds, pickers = run("Acp config", { 3, 1 })
    same({ { "set_option", 3, "web", true } }, deeds)
    same({
      { "acp-option", "Options of mine", "Mode: Plan", "Model: Y", "Web: off" },
      {
        "acp-option-value",
        "Web",
        "  on",
        "● off",
        '  Remember the web "off" for new sessions',
      },
    }, pickers)
    deeds = run("Acp config model", { 1 })
    same({ { "set_option", 3, "model", "x/y" } }, deeds)
  end)

  test("a value is remembered for new sessions, and forgotten", function()
    same({}, (run("Acp mode", { 3 })))
    contains('Remembered for new sessions of mine: mode "Plan"', support.notices[1].text)
    run("Acp config web", { 3 })
    same({ mode = "plan", options = { web = false } }, remembered("mine"))
    same(nil, remembered("other"))
    local _, pickers = run("Acp mode", { 3 })
    same("  Forget the mode of new sessions", pickers[1][5])
    same({ options = { web = false } }, remembered("mine"))
    local on = vim.deepcopy(OPTIONS)
    on[3].value = true
    _, pickers = run("Acp config web", { 4 }, on)
    same('  Remember the web "on" for new sessions', pickers[1][5])
    same("  Forget the web of new sessions", pickers[1][6])
    same(nil, remembered("mine"))
    same({}, vim.fn.glob(state .. "/acp.nvim/options.json.*", false, true))
  end)

  test("a broken file of remembered values is reported and left as it is", function()
    local file = state .. "/acp.nvim/options.json"
    for _, broken in ipairs({
      '{"mine":',
      "[1]",
      '{"mine":{"mode":1}}',
      '{"mine":{"options":{"a":{}}}}',
    }) do
      vim.fn.writefile({ broken }, file)
      support.notices = {}
      run("Acp mode", { 3 })
      contains(file, support.notices[1].text)
      contains("repair or delete it", support.notices[1].text)
      same({ broken }, vim.fn.readfile(file))
      same(nil, remembered("mine"))
    end
    vim.fn.delete(file)
  end)

  test("there may be nothing to choose from", function()
    same({}, (run("Acp mode", {}, {})))
    same({}, (run("Acp config", {}, {})))
    contains("The agent has no modes to choose from.", support.notices[1].text)
    contains("The agent has no options to choose from.", support.notices[2].text)
  end)

  test("modes, options and their values are completed", function()
    local function complete(line)
      return vim.fn.getcompletion(line, "cmdline")
    end
    same({}, complete("Acp mode "))
    run("Acp mode!", {})
    same({ "ask", "plan" }, complete("Acp mode "))
    same({ "plan" }, complete("Acp mode p"))
    same({}, complete("Acp mode plan "))
    same({ "mode", "model", "web" }, complete("Acp config "))
    same({ "on", "off" }, complete("Acp config web "))
    same({ "x/y" }, complete("Acp config model x"))
    same({}, complete("Acp config nope "))
  end)

  test("the API checks what it is given", function()
    local acp = require("acp")
    same({}, acp.config())
    same({}, acp.commands())
    local calls = support.fake({ options = OPTIONS, status = { session = 3 } })
    acp.set_mode("plan", { session = 2 })
    acp.set_config("web", true)
    same({ { "set_option", 2, nil, "plan" }, { "set_option", nil, "web", true } }, calls)
    same(OPTIONS, acp.config())
    support.raises('acp.set_mode: mode: expected a mode\'s id, got ""', function()
      acp.set_mode("")
    end)
    support.raises("acp.set_config: value: expected string or boolean, got 3", function()
      acp.set_config("web", 3)
    end)
    support.raises("acp.config: opts.session: expected a session's number", function()
      acp.config({ session = 0 })
    end)
  end)

  test("pickers and the state folder are the user's own again", function()
    vim.ui.select = select
    vim.env.XDG_STATE_HOME = home
  end)
end
