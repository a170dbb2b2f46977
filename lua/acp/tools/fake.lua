--- Runs a tool's handler without an agent and without the library, for tests of tools.
---
--- Invariant: the user is asked nothing and no file is written.

local M = {}

---@class acp.tools.FakeOpts
---@field session? acp.Session
---@field cwd? string Default: the current folder.
---@field timeout? integer Time limit in milliseconds; 0: does not wait. Default: 5000.
---@field read? fun(path: string, range: acp.ToolRange): string?, string?
---@field write? fun(path: string, text: string): boolean?, string?
---@field ask? fun(form: acp.ToolForm): acp.ElicitationAction?, any

--- The outcome so far.
---@class acp.tools.Outcome
---@field is_done boolean
---@field value any The result of the handler or the argument of `done`.
---@field error? string The error for the agent.
---@field progress {[1]: number, [2]: number?, [3]: string?}[]
---@field asked acp.ToolForm[]
---@field written table<string, string> Texts, by absolute path.
---@field logged string[]
---@field cancel fun() Cancels the call.
---@field wait fun(ms?: integer): boolean Waits for its end.

local last = 0

--- Returns the text of a file, from its buffer if loaded.
---@param path string
---@return string?
---@return string?
local function text_of(path)
  local buf = vim.fn.bufnr("^" .. vim.fn.escape(path, "*?[]{},\\") .. "$")
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n") .. "\n"
  end
  local file, why = io.open(path, "rb")
  if not file then
    return nil, why
  end
  local text = file:read("*a")
  file:close()
  return text
end

---@param text string
---@param range acp.ToolRange
---@return string
local function cut(text, range)
  if not range.line and not range.limit then
    return text
  end
  local lines = vim.split(text, "\n")
  local first = math.max(range.line or 1, 1)
  local to = range.limit and first + range.limit - 1 or #lines
  local kept = vim.list_slice(lines, first, math.min(to, #lines))
  return table.concat(kept, "\n") .. (to < #lines and "\n" or "")
end

--- Runs the handler of a spec, and waits for its end.
---
--- Reads come from buffers and the disk. Writes are stored in the outcome, and later reads return
--- them. A question is an error unless `opts.ask` answers it.
---@param spec acp.Tool
---@param args? table
---@param opts? acp.tools.FakeOpts
---@return acp.tools.Outcome
function M.run(spec, args, opts)
  opts = opts or {}
  local run = require("acp.tools.run")
  last = last - 1
  local id = last
  local outcome = { is_done = false, progress = {}, asked = {}, written = {}, logged = {} }
  ---@cast outcome acp.tools.Outcome
  function outcome.cancel()
    run.stop(id)
  end
  function outcome.wait(ms)
    return (vim.wait(ms or 5000, function()
      return outcome.is_done
    end, 1))
  end
  local deeds = {}
  function deeds.read(what)
    if opts.read then
      local text, why = opts.read(what.path, { line = what.line, limit = what.limit })
      return text and { content = text }, why
    end
    local written = outcome.written[what.path] ---@type string?
    if written then
      return { content = cut(written, what) }
    end
    local text, why = text_of(what.path)
    return text and { content = cut(text, what) }, why
  end
  function deeds.write(what)
    if opts.write then
      local ok, why = opts.write(what.path, what.content)
      return ok and {} or nil, why
    end
    outcome.written[what.path] = what.content
    return {}
  end
  function deeds.form(what)
    table.insert(outcome.asked, what)
    if not opts.ask then
      return nil, "nobody is there to answer"
    end
    local action, content = opts.ask(what)
    return action and { action = action, content = content }, content
  end
  run.start(
    { id = id, session = opts.session or 1, cwd = opts.cwd or vim.fn.getcwd() },
    spec,
    args or {},
    {
      ask = function(number, kind, what)
        -- Lets other events run, even if the handler asks in a loop.
        vim.defer_fn(function()
          run.answer(id, number, deeds[kind](what))
        end, 1)
      end,
      progress = function(...)
        table.insert(outcome.progress, { ... })
      end,
      finish = function(is_ok, value)
        outcome.is_done = true
        outcome[is_ok and "value" or "error"] = value
      end,
      log = function(text)
        table.insert(outcome.logged, text)
      end,
    }
  )
  if opts.timeout ~= 0 and not outcome.wait(opts.timeout) then
    error(("the tool %s is not done; so far: %s"):format(spec.name, vim.inspect(outcome)), 2)
  end
  return outcome
end

return M
