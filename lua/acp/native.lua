--- Owns the native library: finds it by explicit path, checks it, loads it once.
---
--- Invariant: nothing of it runs in a Neovim or on a system it was not made for, and a library of
--- another version than these files is never used.

local M = {}

--- The functions of the library, as src/editor defines them.
---@class acp.Native
---@field version string
---@field setup fun(config: acp.Config.Resolved): string[] Problems in it.
---@field open fun(spec: acp.native.Open): integer
---@field prompt fun(session: integer?, prompt: string|table[], contexts: acp.Context[]?, when: ("steer"|"interrupt")?)
---@field remember fun(session: integer?, text: string) Adds it to the earlier prompts.
---@field queue_list fun(session: integer?): acp.Queued[]
---@field queue_act fun(session: integer?, id: integer, action: "edit"|"remove"|"send"|"move", by: integer?)
---@field queue_focus fun(session: integer?)
---@field cancel fun(session: integer?)
---@field stop fun(session: integer?)
---@field restart fun(session: integer?)
---@field close fun(session: integer?)
---@field attach fun(session: integer?, what: string|acp.Context?)
---@field detach fun(session: integer?, number: integer?)
---@field takes_images fun(session: integer?): boolean
---@field complete fun(buf: integer, row: integer, before: string): {start: integer, items: acp.native.Candidate[]}?
---@field follow fun(session: integer?, to: acp.Follow?)
---@field options fun(session: integer?): acp.Option[]
---@field remembered fun(session: integer, values: acp.Remembered?) Once after `open`; prompts wait for it.
---@field set_option fun(session: integer?, id: string?, value: string|boolean) Without an id: the mode.
---@field next_mode fun(session: integer?)
---@field commands fun(session: integer?): acp.Command[]
---@field status fun(session: integer?): acp.Status
---@field statusline fun(session: integer?, parts: string[]?, highlights: boolean): string
---@field past_list fun(number: integer, query: {cwd: string, all: boolean, agent: string?})
---@field past_delete fun(number: integer, past: acp.PastSession)
---@field past_export fun(number: integer, what: {session?: integer, record?: string})
---@field sessions fun(): acp.Status[] The open ones.
---@field session_show fun(session: integer)
---@field session_hide fun(session: integer?) Closes its windows in the tab page.
---@field open_below fun(buf: integer): fun() The result restores the sizes of the other windows.
---@field agents fun(): acp.native.Agent[] The running processes.
---@field login fun(session: integer?, method: string, step: table<string, string>|string|true|nil)
---@field logout fun(session: integer?)
---@field accept fun(scope: acp.Scope)
---@field reject fun(scope: acp.Scope)
---@field next fun()
---@field prev fun()
---@field review_list fun()
---@field review_files fun(): integer The number of files to review, of closed sessions too.
---@field drop_feedback fun()
---@field undo_decision fun()
---@field undo_turn fun(step: "ask"|"undo"|"back")
---@field hunks fun(buf: integer?): acp.Hunk[]
---@field terminals fun(): {id: integer, label: string}[] Newest first.
---@field terminal_open fun(id: integer)
---@field permission_list fun(): acp.Permission[]
---@field permission_answer fun(id: integer, option: string)
---@field permission_focus fun(session?: integer)
---@field elicitation_list fun(): acp.Elicitation[]
---@field elicitation_answer fun(id: integer, action: acp.ElicitationAction, content: table?)
---@field tools_define fun(tools: acp.native.Tool[]): {name: string, why: string}[] The rejected ones.
---@field tool_switch fun(name: string, on: boolean)
---@field tool_ask fun(id: integer, number: integer, kind: "read"|"write"|"form", what: table)
---@field tool_progress fun(id: integer, done: number, total?: number, message?: string)
---@field tool_done fun(id: integer, is_ok: boolean, value: any)
---@field tool_log fun(text: string)
---@field log_path fun(): string
---@field highlights fun(): {name: string, link: string}[]
---@field chat_highlights fun(buf: integer, row: integer): [integer, integer, integer][] Start, end, group.

--- See |complete-items|.
---@class acp.native.Candidate
---@field word string
---@field kind string
---@field menu string
---@field equal integer
---@field dup integer

---@class acp.native.Open
---@field agent string The agent's name in the configuration.
---@field command string
---@field args string[]
---@field env table<string, string>
---@field missing_file? "error"|"empty"
---@field mode? string Ids or names.
---@field model? string
---@field options? table<string, string|boolean>
---@field cwd string Absolute.
---@field mcp_servers? acp.native.McpServer[]
---@field additional_dirs? string[] Absolute.
---@field tools? boolean Whether the agent is offered Neovim's tools.
---@field new boolean
---@field session_id? string
---@field context? acp.Context

---@class acp.native.Tool
---@field name string
---@field title? string
---@field description string
---@field parameters table
---@field read_only boolean
---@field permission acp.ToolPermission
---@field enabled boolean
---@field time_limit? number In seconds.
---@field kind string
---@field builtin boolean

---@type acp.Native?
local library
---@type string?
local library_path
--- The time of its file when it was loaded.
---@type { sec: integer, nsec: integer }?
local library_time
local is_set_up = false

--- Returns the native module; loads and configures it if necessary.
---
--- If that fails, raises a sentence that says what to do.
---@return acp.Native
function M.load()
  local native = M.library()
  if not is_set_up then
    M.configure()
  end
  return native
end

--- Returns the native module if it is in use; never loads it.
---@return acp.Native?
function M.loaded()
  return is_set_up and library or nil
end

--- Passes the effective configuration to the library, if it is loaded, and reports problems in it.
function M.configure()
  if not library then
    return
  end
  local config = require("acp.config")
  local report = config.report()
  local found = library.setup(config.get()) or {}
  report.library = found
  is_set_up = true
  require("acp.tools").offer(library)
  local problems = vim.list_extend({}, report.problems)
  vim.list_extend(problems, found)
  for _, key in ipairs(report.unknown) do
    -- Tables may have keys that another version knows; a misspelt name loses all below it.
    if not key:find(".", 1, true) then
      table.insert(problems, ("%s: unknown key; see `:help acp-config-keys`"):format(key))
    end
  end
  if #problems > 0 then
    local text = "acp.nvim: the configuration has errors. Invalid options are ignored; any mistake in "
      .. "`permissions.rules` disables all rules:\n  "
    vim.notify(text .. table.concat(problems, "\n  "), vim.log.levels.WARN)
  end
end

--- Loads and checks the library without starting it; returns it and its path.
---
--- Raises the same errors as `load`.
---@return acp.Native
---@return string path
function M.library()
  if library and library_path then
    return library, library_path
  end
  local why = M.unsupported()
  if why then
    error(why, 0)
  end
  local path, problem = M.find()
  if not path then
    error(problem, 0)
  end
  local stat = vim.uv.fs_stat(path)
  library, library_path, library_time = M.open(path), path, stat and stat.mtime
  return library, path
end

--- Returns a sentence that says why this Neovim cannot use the plugin, or nil.
---@return string?
function M.unsupported()
  if vim.fn.has("nvim-0.10") == 0 then
    return "acp.nvim needs Neovim 0.10 or newer: please update Neovim."
  elseif vim.fn.has("win32") == 1 then
    return "acp.nvim does not work on Windows: use it in WSL, on Linux or on macOS."
  end
end

--- Returns the folder of the plugin.
---@return string
function M.root()
  local this = assert(debug.getinfo(1, "S"), "a function that runs is known").source
  return vim.fs.normalize(vim.fn.fnamemodify(this:sub(2), ":p:h:h:h"), { expand_env = false })
end

--- Returns the message of an error without the library's traceback.
---@param problem any The error returned by `pcall`.
---@return string
function M.message(problem)
  local text = tostring(problem):gsub("\nstack traceback:.*", ""):gsub("^runtime error: ", "")
  return vim.trim(text)
end

---@return string
local function install()
  return ("run `./install.sh` in %s"):format(M.root())
end

--- Returns how to get a library that can be used: a configured one is not what `install.sh` puts in
--- place.
---@return string
local function advice()
  if require("acp.config").get().library then
    return "correct `library` in the configuration, or remove it and " .. install()
  end
  return install()
end

--- Returns the path of the library: the configured one, else the newest.
---@return string? path
---@return string? problem Why there is none and what to do.
function M.find()
  local configured = require("acp.config").get().library
  if configured then
    if vim.uv.fs_stat(configured) then
      return configured
    end
    local text = "acp.nvim: `library` in the configuration is %s, which does not exist: "
    return nil, text:format(configured) .. "correct it, or remove it and " .. install() .. "."
  end
  local newest, newest_time ---@type string?, number?
  for _, path in ipairs(M.candidates()) do
    local stat = vim.uv.fs_stat(path)
    local time = stat and stat.mtime.sec + stat.mtime.nsec / 1e9
    if time and (not newest_time or time > newest_time) then
      newest, newest_time = path, time
    end
  end
  if newest then
    return newest
  end
  return nil, "acp.nvim: the library is not installed: " .. install() .. "."
end

--- Returns the folders that may contain a library.
---@return string[]
function M.candidates()
  local root = M.root()
  local dirs = { root .. "/target/release", root .. "/target/debug", root .. "/lib" }
  local target = vim.env.CARGO_TARGET_DIR
  if target and target ~= "" then
    vim.list_extend(dirs, { target .. "/release", target .. "/debug" })
  end
  local extension = vim.uv.os_uname().sysname == "Darwin" and "dylib" or "so"
  return vim.tbl_map(function(dir)
    return ("%s/libacp_nvim.%s"):format(dir, extension)
  end, dirs)
end

--- What `install.sh` records beside the library.
---@class acp.native.Installed
---@field version string
---@field triple string
---@field from string "source", or the SHA-256 of the archive.

--- Returns the record of the library at `path`, or nil if `install.sh` did not put it there.
---@param path string
---@return acp.native.Installed?
function M.installed(path)
  local file = io.open(vim.fs.dirname(path) .. "/installed")
  if not file then
    return nil
  end
  local text = file:read("*a") or ""
  file:close()
  local record = {} ---@type table<string, string>
  for key, value in text:gmatch("(%l+) (%S+)\n") do
    record[key] = value
  end
  local version, triple, from = record.version, record.triple, record.from
  return version and triple and from and { version = version, triple = triple, from = from } or nil
end

--- Raises a sentence unless `version`, the library's, is the one of these files.
---@param path string The library's.
---@param version string
local function check_version(path, version)
  local ours = require("acp.version")
  if version ~= ours then
    -- A loaded library cannot be replaced, so a new one requires a new Neovim.
    local text = "acp.nvim: %s is version %s, its Lua files are %s: %s and restart Neovim."
    error(text:format(path, version, ours, advice()), 0)
  end
end

--- Loads the library at `path` and checks its version, before that if a record has it.
---@param path string
---@return acp.Native
function M.open(path)
  local record = M.installed(path)
  if record then
    check_version(path, record.version)
  end
  local open, why = package.loadlib(path, "luaopen_acp_nvim")
  if not open then
    local reason = vim.trim(why or "for no known reason")
    -- The reason often starts with the path.
    reason = vim.startswith(reason, path .. ": ") and reason:sub(#path + 3) or reason
    error(("acp.nvim: %s cannot be loaded (%s): %s."):format(path, reason, advice()), 0)
  end
  local ok, native = pcall(open)
  if not ok then
    local reason = M.message(native)
    error(("acp.nvim: %s cannot be started (%s): %s."):format(path, reason, advice()), 0)
  end
  check_version(path, type(native) == "table" and native.version or "unknown")
  return native
end

--- Returns a sentence if the plugin was updated after this Neovim had loaded the library, or nil.
---@return string?
function M.outdated()
  if not library or not library_path then
    return nil
  end
  local stat = vim.uv.fs_stat(library_path)
  if stat and not vim.deep_equal(stat.mtime, library_time) then
    return "the library was replaced after this Neovim had loaded it: restart Neovim"
  end
  local version = dofile(M.root() .. "/lua/acp/version.lua") ---@type string
  if version ~= library.version then
    local text = "the plugin's files are version %s now: %s and restart Neovim"
    return text:format(version, advice())
  end
end

return M
