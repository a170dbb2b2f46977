--- `:checkhealth acp`: requirements, their state, and how to fix problems.

local M = {}

local health = vim.health

---@param text string A message of the plugin.
---@return string
local function bare(text)
  return (text:gsub("^acp%.nvim:? ", ""))
end

--- Returns where the library at `path` came from.
---@param path string
---@return string
local function origin(path)
  local record = require("acp.native").installed(path)
  if not record then
    return "a build of your own"
  elseif record.from == "source" then
    return ("built from source for %s"):format(record.triple)
  end
  return ("from the archive for %s with the SHA-256 %s"):format(record.triple, record.from)
end

---@return acp.Native?
---@return string? path Of the library.
local function library()
  health.start("acp.nvim " .. require("acp.version"))
  local loader = require("acp.native")
  local why = loader.unsupported()
  if why then
    health.error(why)
    return nil
  end
  local version = vim.fn.api_info().version ---@type any
  health.ok(("Neovim %d.%d.%d"):format(version.major, version.minor, version.patch))
  -- Only loading it shows that it can be loaded.
  local ok, native, path = pcall(loader.library)
  if not ok then
    health.error(bare(loader.message(native)))
    return nil
  end
  health.ok(("library %s, %s: %s"):format(native.version, origin(path), path))
  local outdated = loader.outdated()
  if outdated then
    health.warn(outdated)
  end
  return native, path
end

local function git()
  if vim.fn.executable("git") == 0 then
    health.warn(
      "git was not found: committed hunks stay under review, and ignored files that a repository "
        .. "tracks are not watched; install git"
    )
    return
  end
  local ok, done = pcall(function()
    return vim.system({ "git", "--version" }, { text = true }):wait(5000)
  end)
  if ok and done.code == 0 then
    health.ok(("%s: %s"):format(vim.trim(done.stdout or ""), vim.fn.exepath("git")))
  else
    health.warn(("git does not run: try `%s --version`"):format(vim.fn.exepath("git")))
  end
end

--- Linux limits the number of folders that a user's programs may watch; other systems do not.
local function watches()
  local file = io.open("/proc/sys/fs/inotify/max_user_watches")
  local number = file and file:read("n") ---@type number?
  if file then
    file:close()
  end
  if not number then
    return
  end
  local text = ("folders that can be watched: %d (fs.inotify.max_user_watches)"):format(number)
  if number < 16384 then
    health.warn(
      text .. ": changes in large projects may be noticed late; raise the limit with sysctl"
    )
  else
    health.ok(text)
  end
end

--- Asks the bridge whether an agent's URL answers; that starts no run.
---@param found acp.agents.Found
local function answers(found)
  local command = { found.path, "--check", found.agent.url }
  local ok, done = pcall(function()
    return vim.system(command, { text = true, env = found.agent.env }):wait(5000)
  end)
  if not ok or done.code == 124 then
    health.warn(("%s: %s does not answer within 5 seconds"):format(found.name, found.agent.url))
  elseif done.code == 0 then
    health.ok(("%s: %s"):format(found.name, vim.trim(done.stdout or "")))
  else
    health.warn(("%s: %s"):format(found.name, vim.trim(done.stderr or "")))
  end
end

local function agents()
  health.start("acp.nvim: agents")
  local all = require("acp.agents")
  local own = require("acp.config").report().own
  local wrong, missing = {}, {}
  for _, found in ipairs(all.list()) do
    if found.path then
      health.ok(("%s: %s"):format(found.name, found.path))
      if found.agent.url then
        answers(found)
      end
      for _, text in ipairs(all.running(found.name)) do
        health.info(("%s: %s"):format(found.name, text))
      end
    elseif own[found.name] then
      table.insert(wrong, all.missing(found))
    else
      table.insert(missing, found.name)
    end
  end
  for _, text in ipairs(wrong) do
    health.warn(text)
  end
  if #missing > 0 then
    local names = table.concat(missing, ", ")
    health.info(("not installed: %s (`:Acp agents` shows how to install them)"):format(names))
  end
  health.info(
    ("`:AcpChat` starts %s, unless another agent was used before"):format((all.default()))
  )
end

local function configuration()
  health.start("acp.nvim: configuration")
  local config = require("acp.config")
  local report = config.report()
  local problems = vim.list_extend(vim.list_extend({}, report.problems), report.library or {})
  for _, problem in ipairs(problems) do
    health.error(problem)
  end
  for _, path in ipairs(report.unknown) do
    health.warn(("%s: unknown key; see |acp-config-keys|"):format(path))
  end
  for _, problem in ipairs(require("acp.mcp").missing()) do
    health.warn(problem)
  end
  if not report.library and #config.get().permissions.rules > 0 then
    health.info("`permissions.rules` are checked when the library is first used: open a chat")
  elseif #problems == 0 and #report.unknown == 0 then
    health.ok("the configuration has no errors")
  end
end

--- The tools offered to agents, and whether agents can reach them.
---@param library_path string?
local function tools(library_path)
  health.start("acp.nvim: tools for agents")
  local config = require("acp.config").get()
  if not config.tools.enabled then
    health.info("tools are turned off: `tools.enabled` in the configuration is false")
    return
  end
  local registry = require("acp.tools")
  local on, own = 0, 0
  local list = registry.list()
  for _, tool in ipairs(list) do
    on = on + (tool.enabled and 1 or 0)
    own = own + (tool.builtin and 0 or 1)
  end
  health.ok(("tools: %d (%d offered, %d your own)"):format(#list, on, own))
  for _, path in ipairs(registry.unknown()) do
    health.warn(("%s: unknown tool; `:Acp tools` lists all"):format(path))
  end
  local proxy = library_path and require("acp.tools.door").proxy(library_path)
  if proxy then
    health.ok(("the proxy that agents start: %s"):format(proxy))
  elseif library_path then
    health.warn(
      ("`acp-mcp` is missing beside the library, so agents cannot use the tools: run `./install.sh` in %s"):format(
        require("acp.native").root()
      )
    )
  end
end

---@param native acp.Native?
local function log(native)
  if not native then
    return
  end
  local ok, path = pcall(native.log_path)
  if ok then
    health.info(("log file: %s (`:Acp log` opens it)"):format(path))
    local state = vim.fn.stdpath("state") --[[@as string]]
    health.info(("checkpoints and open reviews: %s/acp.nvim"):format(state))
  else
    health.error(("the log file's path is unknown: %s"):format(require("acp.native").message(path)))
  end
end

function M.check()
  local native, path = library()
  if not native and require("acp.native").unsupported() then
    return
  end
  git()
  watches()
  log(native)
  agents()
  tools(path)
  configuration()
end

return M
