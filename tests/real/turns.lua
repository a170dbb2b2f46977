-- Runs turns of one agent in this Neovim, with the model that tests/real/model.py plays. The first
-- Neovim keeps its results, the second one reopens the session and prints the agent's row of the
-- help's table; it fails if that is not the row of tests/real/agents.lua. Others, between them, steer
-- at the end of turns, and reopen a session that had sub-agents. tests/real/run.sh runs all without a
-- network.
--
--   nvim --clean --headless --cmd 'set rtp^=CHECKOUT' -l tests/real/turns.lua NAME PART
local name, part = _G.arg[1], _G.arg[2]
local here = vim.fs.dirname(_G.arg[0])
local real = dofile(here .. "/agents.lua")
local chat = dofile(here .. "/chat.lua")
local agent = assert(real.agents[name], "no such agent: " .. name) ---@type acp.real.Agent
local home = assert(vim.env.HOME)
local project = vim.fn.getcwd()
local hello, new = project .. "/hello.txt", project .. "/new.txt"
local before = "one\ntwo\nthree\n"
-- Every wait ends when its condition holds. What hangs, hangs longer than SHORT.
local LIMIT, SHORT = 120000, 15000

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a")
  return file and (file:close() and text) or nil
end

local function write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

--- The marker of a command that hangs: its sleep can be found among all processes.
local pause = "41.7"
--- The same of one that ends.
local moment = "5.3"

local function scenes()
  return {
    ["scene:work"] = {
      { text = "Let me look.", call = agent.read(hello) },
      { text = "Now the second line.", call = agent.edit(hello, "two", "TWO") },
      { text = "Now a new file.", call = agent.write(new, "first line\nsecond line\n") },
      { text = "Now a command.", call = agent.run("echo ran; cat hello.txt") },
      { text = "The work is **finished**." },
    },
    ["scene:talk"] = { { text = ("one more word "):rep(60), slow = 0.4 } },
    ["scene:hang"] = {
      { text = "This takes a while.", call = agent.run("echo begun; sleep " .. pause) },
      { text = "It is over." },
    },
    ["scene:steer"] = {
      { text = "This takes a moment.", call = agent.run("echo begun; sleep " .. moment) },
      { text = "I was not stopped." },
    },
    ["scene:end"] = { { text = "That is all I had to say." } },
    ["scene:linger"] = { { text = "That is all I had to say.", slow = 0.3 } },
    ["scene:aside"] = { { text = "I heard you while I worked." } },
    ["scene:delegate"] = {
      {
        text = "Somebody else looks.",
        call = agent.delegate and agent.delegate("Please play scene:child"),
      },
      { text = "They have looked." },
    },
    ["scene:child"] = {
      { text = "I look into it.", call = agent.read(hello) },
      { text = "It has three lines." },
    },
    ["scene:greet"] = { { text = "Good day to you, reader." } },
  }
end

local python = vim.env.ACP_PYTHON or "python3"
local model_log = ("%s/model.%s.jsonl"):format(home, part)

--- Starts the model; returns its address.
local function start_model()
  local script = home .. "/script.json"
  write(script, vim.json.encode(scenes()))
  local port ---@type string?
  vim.system({ python, here .. "/model.py", script, model_log }, {
    -- Open until this Neovim ends, and the model with it.
    stdin = true,
    stdout = function(_, data)
      port = port or (data and data:match("%d+"))
    end,
  })
  assert(
    vim.wait(30000, function()
      return port ~= nil
    end, 20),
    "the model did not start"
  )
  return "http://127.0.0.1:" .. port
end

--- Configures the agent as a user would: by its environment, its files and its commands.
local function configure(url)
  local function filled(text)
    return (text:gsub("{(%l+)}", { url = url, home = home }))
  end
  for variable, value in pairs(agent.env) do
    vim.env[variable] = filled(value)
  end
  for path, text in pairs(agent.files or {}) do
    write(home .. "/" .. path, filled(text))
  end
  if agent.setup then
    local done = vim.system(vim.tbl_map(filled, agent.setup), { text = true }):wait(LIMIT)
    assert(done.code == 0, done.stderr)
  end
end

configure(start_model())
local acp = require("acp")
vim.notify = function(text)
  io.stderr:write(text, "\n")
end

--- Waits for a condition; returns whether it holds in time.
---@param condition fun(): boolean?
---@param limit? integer
local function wait(condition, limit)
  return (vim.wait(limit or LIMIT, condition, 20))
end

--- Answers the open question with an option of this kind; returns the call's kind.
local function answer(wanted)
  local question = acp.permission.list()[1]
  if not question then
    return nil
  end
  for _, option in ipairs(question.options) do
    if option.kind == wanted then
      acp.permission.answer(question.id, option.optionId)
      wait(function()
        local open = acp.permission.list()[1]
        return not open or open.id ~= question.id
      end)
      return question.tool_call.kind or "other"
    end
  end
  error("no option " .. wanted .. ": " .. vim.inspect(question.options))
end

local turns = 0
vim.api.nvim_create_autocmd("User", {
  pattern = "AcpTurnEnded",
  callback = function()
    turns = turns + 1
  end,
})

--- Sends a prompt and answers its questions; returns the turn's end, and the kinds of the questions.
---@param word string
---@param kind string The option chosen for every question.
---@param cancel_at? fun(): boolean When to cancel.
local function turn(word, kind, cancel_at)
  local asked, before_turns = {}, turns
  acp.prompt("Please play scene:" .. word)
  local is_over = wait(function()
    table.insert(asked, answer(kind))
    if cancel_at and cancel_at() then
      cancel_at = nil
      acp.cancel()
    end
    return turns > before_turns
  end)
  return is_over and acp.status().stop_reason or "goes on", asked
end

local function is_running(command)
  for pid in vim.fs.dir("/proc") do
    local line = pid:match("^%d+$") and read(("/proc/%s/cmdline"):format(pid))
    if line and line:gsub("%z", " "):find("^" .. vim.pesc(command)) then
      return true
    end
  end
  return false
end

local function is_clean()
  return read(hello) == before and read(new) == nil
end

local function under_review()
  local paths = {}
  for _, hunk in ipairs(acp.review.hunks()) do
    paths[vim.fs.basename(hunk.path)] = true
  end
  return paths["hello.txt"] and paths["new.txt"] or false
end

--- Says what happened instead, with the chat.
local function check(is_so, what)
  if not is_so then
    io.stderr:write(("%s: %s\n%s\n"):format(name, what, chat()))
  end
  return is_so
end

--- Says something while a command runs: an agent that can takes it into the turn.
local function steered()
  local can = acp.status().steering or false
  assert(can == (agent.steers or false), "steering: " .. tostring(can))
  if not can then
    return
  end
  local is_said, before_turns = false, turns
  local ended = turn("steer", "allow_once", function()
    if not is_said and is_running("sleep " .. moment) then
      is_said = true
      acp.prompt("Please play scene:aside", { steer = true })
    end
    return false
  end)
  local text = chat()
  local from = text:find("scene:steer", 1, true)
  local aside = text:find("scene:aside", from or 1, true)
  local heard = wait(function()
    text = chat()
    return text:find("I heard you", aside or 1, true) ~= nil
  end, SHORT)
  local is_one = turns == before_turns + 1 and #acp.queue.list() == 0
  check(from and aside and heard and is_one and ended == "end_turn", "was not steered: " .. ended)
  assert(from and aside and heard and is_one, "not steered")
end

local session_file = home .. "/session"
local children_file = home .. "/children"

local function opened(opts)
  acp.open(opts)
  wait(function()
    local phase = acp.status().phase
    return phase == "idle" or phase == "waiting" or phase == "dead"
  end)
  assert(check(acp.status().phase == "idle", "opens no session: " .. acp.status().phase))
end

local function first()
  opened({ agent = name })
  local minute = os.date("%H:%M")
  local seen = {}
  local function saw(cell)
    table.insert(seen, cell)
  end

  local ended, asked = turn("work", "allow_once")
  local says_so = wait(function()
    return chat():find("finished", 1, true) ~= nil
  end, SHORT)
  check(ended == "end_turn" and says_so, "the work ended with " .. ended)
  check(wait(under_review, SHORT), "not both files are under review")
  local is_done = read(hello) == before:gsub("two", "TWO") and read(new) ~= nil
  check(is_done, "the work was not done")
  saw(#asked > 0 and table.concat(vim.fn.uniq(asked), ", ") or "nothing")

  acp.review.reject("all")
  local is_back = wait(is_clean)
  check(is_back, "a reject of all did not put the disk back")

  ended, asked = turn("work", "reject_once")
  check(is_clean() or #asked == 0, "rejected, and done all the same")
  saw(#asked == 0 and "not asked" or #asked > 1 and "goes on" or "stops")
  if not is_clean() then
    -- It does some things without asking.
    wait(function()
      return #acp.review.hunks() > 0
    end)
    acp.review.reject("all")
    wait(is_clean)
  end

  ended = turn("talk", "allow_once", function()
    return select(2, chat():gsub("one more", "")) > 1
  end)
  saw(ended == "cancelled" and "yes" or ended)

  steered()

  local sleep = "sleep " .. pause
  ended = turn("hang", "allow_once", function()
    return acp.status().tools.running > 0 and is_running(sleep)
  end)
  local is_gone = wait(function()
    return not is_running(sleep)
  end, SHORT)
  saw(ended ~= "cancelled" and ended or is_gone and "yes" or "runs on")

  local known = { id = acp.status().id, seen = seen, back = is_back, minute = minute }
  write(session_file, vim.json.encode(known))
end

local function second()
  local known = vim.json.decode(read(session_file) or error("the first part left no session"))
  wait(function()
    return not agent.overwrites or os.date("%H:%M") ~= known.minute
  end)
  opened({ agent = name, session_id = known.id })
  local is_same = acp.status().id == known.id
    and wait(function()
      return chat():find("finished", 1, true) ~= nil
    end, SHORT)
  local ended = turn("greet", "allow_once")
  local is_answered = wait(function()
    return chat():find("Good day to you", 1, true) ~= nil
  end, SHORT)
  check(is_same and is_answered and ended == "end_turn", "was not continued: " .. ended)
  table.insert(known.seen, is_same and is_answered and "yes" or "no")
  table.insert(known.seen, known.back and "yes" or "no")
  io.stdout:write(real.row(name, known.seen), "\n")
  local is_as_kept = vim.deep_equal(known.seen, agent.seen)
  assert(is_as_kept, "differs from tests/real/agents.lua: " .. vim.inspect(known.seen))
end

--- Checks that a sub-agent's work stands below the call that started it.
local function check_child(when)
  local lines = {
    "Somebody else looks.",
    "sub-agent",
    "  I look into it.",
    "hello.txt",
    "  It has three lines.",
    "They have looked.",
  }
  local function found()
    local text, at = chat(), 1
    for _, line in ipairs(lines) do
      at = at and text:find(line, at, true)
    end
    return at ~= nil
  end
  assert(check(wait(found, SHORT), "a sub-agent's work is not shown " .. when), "no sub-agent")
end

--- Has a sub-agent work, and keeps the session.
local function parent()
  if not agent.delegate then
    return
  end
  opened({ agent = name })
  local ended = turn("delegate", "allow_once")
  assert(check(ended == "end_turn", "delegating ended with " .. ended))
  check_child("in its turn")
  write(children_file, acp.status().id)
end

--- Reopens the session of `parent` from what the agent itself has of it.
local function child()
  local id = read(children_file)
  if id then
    acp.setup({ history = false })
    opened({ agent = name, session_id = id })
    assert(acp.status().id == id, "another session")
    check_child("when its session is loaded")
  end
end

--- Sends a prompt at the end of a turn, and checks that it is once in the transcript, at its place,
--- and that the model got it once.
---@param scene string
---@param round string
local function steer_at_the_end(scene, round)
  local last = "That is all I had to say"
  acp.prompt(("Please play scene:%s, turn %s"):format(scene, round))
  local from ---@type integer?
  wait(function()
    from = chat():find("turn " .. round .. "\n", 1, true)
    return from and chat():find(last, from, true) ~= nil
  end)
  acp.prompt("Please play scene:aside, words " .. round, { steer = true })
  local function heard()
    local said = chat():find(last, from or 1, true)
    local aside = said and chat():find("words " .. round, said, true)
    return aside and chat():find("I heard you while I worked.", aside, true) ~= nil
  end
  local is_told = false
  local is_over = wait(function()
    if not is_told and chat():find("turn ended right after", from or 1, true) then
      is_told = true
      acp.prompt("Go on.")
    end
    return heard() and acp.status().phase == "idle" and #acp.queue.list() == 0
  end, SHORT)
  local function count(text)
    return select(2, text:gsub("words " .. vim.pesc(round) .. "%f[%W]", ""))
  end
  local said = ""
  for request in (read(model_log) or ""):gmatch("[^\n]+") do
    local told = vim.json.decode(request)
    said = told.scene == "scene:aside" and table.concat(told.said, "\n") or said
  end
  check(is_over, "words at the end of a turn are lost: " .. round)
  check(count(chat()) == 1, "words at the end of a turn are shown more than once: " .. round)
  check(count(said) == 1, ("the model was told %d times: %s"):format(count(said), round))
  assert(is_over and count(chat()) == 1 and count(said) == 1, "not steered at the end")
end

--- Gives each outcome that words have at the end of a turn.
local function late()
  if not agent.steers then
    return
  end
  local preset = require("acp.presets")[name]
  local wanted = {
    answer = "promptRequired",
    turn = "promptRequired",
    ["answer-own"] = "startedNewTurn",
    ["turn-own"] = "startedNewTurn",
    none = "injected",
  }
  local agents = {}
  for how in pairs(wanted) do
    local args = { here .. "/late.py", how, home .. "/outcomes." .. how, preset.command }
    agents[how] = { command = python, args = vim.list_extend(args, preset.args or {}) }
  end
  acp.setup({ agents = agents })
  local counts = {}
  for how, outcome in vim.spairs(wanted) do
    opened({ agent = how })
    local rounds = how == "none" and 8 or 1
    for round = 1, rounds do
      local scene = how == "none" and round % 2 == 1 and "linger" or "end"
      steer_at_the_end(scene, ("%s-%d"):format(how, round))
    end
    local outcomes = vim.split(vim.trim(read(home .. "/outcomes." .. how) or ""), "\n")
    for _, seen in ipairs(outcomes) do
      counts[seen] = (counts[seen] or 0) + 1
    end
    assert(vim.tbl_contains(outcomes, outcome), ("%s: %s"):format(how, vim.inspect(outcomes)))
    acp.close()
  end
  io.stderr:write(("%s: words at the end of a turn: %s\n"):format(name, vim.inspect(counts)))
end

local parts = { first = first, late = late, parent = parent, child = child, second = second }
local ok, problem = xpcall(assert(parts[part], part), debug.traceback)
if not ok then
  io.stderr:write(name, ": ", problem, "\n")
end
vim.cmd(ok and "qall!" or "cquit!")
