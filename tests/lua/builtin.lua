--- What the built-in tools' specs share: a project of files, and calls as an agent makes them.
local M = {}

--- Makes a folder with files, where calls are made from then on.
---@param files table<string, string>
---@return string cwd
function M.project(files)
  M.cwd = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.fn.rand()
  vim.fn.mkdir(M.cwd, "p")
  for name, text in pairs(files) do
    vim.fn.mkdir(vim.fs.dirname(M.cwd .. "/" .. name), "p")
    local file = assert(io.open(M.cwd .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
  return M.cwd
end

--- Opens a file of the project in the current window.
function M.edit(name)
  vim.cmd.edit(vim.fn.fnameescape(M.cwd .. "/" .. name))
end

---@param name string
---@return acp.Tool
function M.spec(name)
  for _, spec in ipairs(require("acp.tools.builtin").specs()) do
    if spec.name == name then
      return spec
    end
  end
  error("there is no tool " .. name)
end

--- Calls a tool; returns what came of it.
---@param opts? acp.tools.FakeOpts
---@return acp.tools.Outcome
function M.run(name, args, opts)
  opts = vim.tbl_extend("keep", opts or {}, { cwd = M.cwd })
  return require("acp.tools.fake").run(M.spec(name), args, opts)
end

--- Calls a tool that succeeds; returns its result.
function M.call(name, args, opts)
  local outcome = M.run(name, args, opts)
  if outcome.error then
    error(outcome.error, 2)
  end
  return outcome.value
end

--- Calls a tool that fails; returns the agent's error.
function M.fails(name, args, opts)
  local outcome = M.run(name, args, opts)
  if not outcome.error then
    error("no error: " .. vim.inspect(outcome.value), 2)
  end
  -- What fails on purpose is no trace in the log.
  require("support").same({}, outcome.logged)
  return outcome.error
end

--- Runs `body` with timers that go off at once, and as if Neovim waited for a key: a script is
--- never there.
function M.at_rest(body)
  local defer = vim.defer_fn
  vim.defer_fn = function(fn)
    return vim.schedule(fn)
  end
  vim.fn.state = function()
    return ""
  end
  local is_done, problem = xpcall(body, debug.traceback)
  vim.defer_fn, vim.fn.state = defer, nil
  if not is_done then
    error(problem, 0)
  end
end

--- Puts a window like the chat's beside the current one, and goes there.
---@return integer win
function M.chat()
  vim.cmd("botright vnew")
  vim.bo.buftype = "nofile"
  vim.bo.bufhidden = "wipe"
  vim.bo.filetype = "acp-input"
  return vim.api.nvim_get_current_win()
end

return M
