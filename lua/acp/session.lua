--- Chooses the agent and the folder of a session, and passes both to the library.

local M = {}

--- Opens or focuses a session; the arguments are already checked.
---@param opts acp.OpenOpts
---@return acp.Session
function M.open(opts)
  local agents = require("acp.agents")
  local native = require("acp.native").load()
  local status = native.status(nil)
  local last = status.phase ~= "none" and status.agent or nil
  local config = require("acp.config").get()

  local name = opts.agent
  local by_default = false
  if not name then
    -- Without a name, an open chat takes precedence over the default agent.
    name = opts.new and config.default_agent or last
    if not name or not config.agents[name] then
      local chosen
      name, chosen = agents.default()
      by_default = not chosen
    end
  end
  -- An open chat is shown even if its program has disappeared.
  local found = not opts.new and name == last and agents.get(name) or agents.require(name)
  local cwd = opts.cwd or found.agent.cwd or vim.fn.getcwd()
  cwd = vim.fs.normalize(vim.fn.fnamemodify(cwd, ":p"), { expand_env = false })
  local has_folder = not (opts.cwd or found.agent.cwd) and vim.fn.haslocaldir(-1) == 1
  local session = native.open({
    tab_cwd = has_folder and vim.fs.normalize(vim.fn.getcwd(-1), { expand_env = false }) or nil,
    agent = found.name,
    command = found.path or found.agent.command,
    args = found.agent.args,
    env = found.agent.env,
    missing_file = found.agent.missing_file,
    mode = found.agent.mode,
    model = found.agent.model,
    options = next(found.agent.options) and found.agent.options or nil,
    cwd = cwd,
    mcp_servers = require("acp.mcp").servers(found.name, found.agent, cwd),
    additional_dirs = found.agent.additional_dirs,
    tools = config.tools.enabled and found.agent.tools ~= false,
    new = opts.new == true,
    session_id = opts.session_id,
    context = opts.context,
  })
  require("acp.remember").of(found.name, function(values)
    native.remembered(session, values)
  end)
  require("acp.paste").wrap()
  local home = vim.fs.normalize("~")
  -- All that other programs change there during a turn would pass for the agent's work.
  if (opts.new or name ~= last) and (cwd == home or cwd == "/") then
    vim.notify_once(
      "acp.nvim: the session's folder is not a project: `:cd` to one, then `:AcpChat!`.",
      vim.log.levels.WARN
    )
  end
  if by_default then
    -- Short enough for one line of a small screen; a longer one would cause a hit-enter prompt.
    vim.notify_once("This is the tutor; `:Acp agents` lists the others.", vim.log.levels.INFO)
  end
  return session
end

--- Sends a prompt; opens a session if there is none. The arguments are already checked.
---@param prompt string|table[]
---@param session acp.Session?
---@param opts acp.PromptOpts? Its session is ignored.
function M.prompt(prompt, session, opts)
  local native = require("acp.native").load()
  if not session and native.status(nil).phase == "none" then
    local win = vim.api.nvim_get_current_win()
    session = M.open({})
    -- The cursor stays where the prompt was written.
    vim.api.nvim_set_current_win(win)
  end
  opts = opts or {}
  local when = opts.interrupt and "interrupt" or opts.steer and "steer" or nil
  native.prompt(session, prompt, opts.contexts, when)
end

return M
