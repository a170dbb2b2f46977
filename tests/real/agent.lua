-- Starts one agent from its preset, unconfigured, in this Neovim and prints the outcome as a row of
-- a table. tests/real/run.sh runs it, isolated from the user's settings.
--
--   nvim --clean --headless --cmd 'set rtp^=CHECKOUT' -l tests/real/agent.lua NAME
local name = assert(_G.arg[1], "the name of a preset")
local acp = require("acp")
local said = {} ---@type string[]
vim.notify = function(text)
  table.insert(said, text)
end

--- Returns the agent's process, as the library reports it.
local function process()
  local native = require("acp.native").load()
  for _, agent in ipairs(native.agents()) do
    if agent.name == name then
      return agent
    end
  end
  return {}
end

---@param text string
local function put(text)
  io.stdout:write(text, "\n")
end

local function row(what)
  local agent = process()
  local version = vim.trim(("%s %s"):format(agent.title or "?", agent.version or ""))
  local methods = vim.tbl_map(function(method)
    return ("%s (%s)"):format(method.name, method.kind)
  end, agent.methods or {})
  local logins = #methods > 0 and table.concat(methods, ", ") or "none named"
  put(("| `%s` | %s | %s | %s |"):format(name, version, what, logins))
end

local ok, problem = pcall(acp.open, { agent = name })
if not ok then
  put(("| `%s` | | %s | |"):format(name, tostring(problem)))
  os.exit(1)
end

--- Waits until the session is in one of the phases; returns the phase at the end.
local function wait(ms, ...)
  local phases = { ... }
  vim.wait(ms, function()
    return vim.tbl_contains(phases, acp.status().phase)
  end, 50)
  return acp.status().phase
end

local function last_said()
  return (said[#said] or ""):gsub("\n.*", ""):gsub("^acp%.nvim: ", "")
end

local phase = wait(100000, "idle", "waiting", "dead")
if phase == "waiting" then
  row("asks for a log-in, which the chat shows")
elseif phase ~= "idle" then
  row(("%s: %s"):format(phase, last_said()))
elseif not vim.env.ACP_REAL_PROMPT then
  row("opens a session")
else
  acp.prompt("Say hello.")
  local ended ---@type string?
  vim.wait(30000, function()
    local status = acp.status()
    ended = status.phase == "waiting" and "a request to log in" or status.stop_reason
    return ended ~= nil
  end, 50)
  row("opens a session; what a prompt comes to: " .. (ended or "nothing within 30 s"))
end
if vim.env.ACP_REAL_CHAT then
  put(dofile(vim.fs.dirname(_G.arg[0]) .. "/chat.lua")())
end
acp.close()
vim.cmd("qall!")
