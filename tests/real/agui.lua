-- Runs turns of an agent of an AG-UI framework, with a fake model, through the bridge in this Neovim
-- and prints its row of the help's table; it fails if that is not the row of tests/real/agents.lua.
-- tests/real/run.sh runs it, with the framework's Python as ACP_PYTHON.
--
--   nvim --clean --headless --cmd 'set rtp^=CHECKOUT' -l tests/real/agui.lua NAME
local name = _G.arg[1]
local here = vim.fs.dirname(_G.arg[0])
local real = dofile(here .. "/agents.lua")
local chat = dofile(here .. "/chat.lua")
local framework = assert(real.frameworks[name], "no such framework: " .. name)
local LIMIT = 120000

local url ---@type string?
vim.system({ assert(vim.env.ACP_PYTHON), ("%s/agui_%s.py"):format(here, name) }, {
  -- Open until this Neovim ends, and the agent with it.
  stdin = true,
  stdout = function(_, data)
    url = url or (data and data:match("http%S+"))
  end,
  stderr = function(_, data)
    io.stderr:write(data or "")
  end,
})
assert(
  vim.wait(LIMIT, function()
    return url ~= nil
  end, 20),
  "the agent did not start"
)

vim.g.acp = { agents = { [name] = { url = url } } }
local acp = require("acp")
vim.notify = function(text)
  io.stderr:write(text, "\n")
end
acp.tool({
  name = "colour",
  description = "Returns the colour of a thing.",
  read_only = true,
  parameters = {
    type = "object",
    properties = { thing = { type = "string" } },
    required = { "thing" },
  },
  handler = function(args)
    return args.thing .. " blue"
  end,
})

local answered ---@type integer?

--- Answers the open form, once.
local function answer()
  local form = acp.elicitation.list()[1]
  if form and form.id ~= answered then
    answered = form.id
    acp.elicitation.answer(form.id, "accept", { [form.fields[1].name] = "red" })
  end
end

local turns = 0
vim.api.nvim_create_autocmd("User", {
  pattern = "AcpTurnEnded",
  callback = function()
    turns = turns + 1
  end,
})

--- Sends a prompt; returns whether its turn ends and the chat shows the expected text.
local function turn(prompt, expected)
  local before = turns
  acp.prompt(prompt)
  vim.wait(LIMIT, function()
    answer()
    return turns > before
  end, 20)
  local is_shown = vim.wait(15000, function()
    return chat():find(expected, 1, true) ~= nil
  end, 20)
  if not is_shown or acp.status().stop_reason ~= "end_turn" then
    io.stderr:write(("%s: %s\n%s\n"):format(name, prompt, chat()))
    return "no"
  end
  return "yes"
end

acp.open({ agent = name })
local seen = {
  turn("hello", "Good day to you"),
  turn("tool", "The tool said sky blue"),
  framework.asks and turn("question", framework.asks) or "-",
}
io.stdout:write(real.framework_row(name, seen), "\n")
local is_as_kept = vim.deep_equal(seen, framework.seen)
if not is_as_kept then
  io.stderr:write("differs from tests/real/agents.lua: ", vim.inspect(seen), "\n")
end
vim.cmd(is_as_kept and "qall!" or "cquit!")
