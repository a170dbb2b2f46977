--- What the specs share: a fresh plugin for each test, a native module that writes down its calls.
local M = {}

--- The folder of the plugin.
M.root = vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h:h"))

--- The Neovim to start in tests; a wrapper's program may not be startable by itself.
local given = vim.env.ACP_TEST_NVIM
M.neovim = given and given ~= "" and given or vim.v.progpath

local path = vim.env.PATH

--- The messages of `vim.notify` since the test began.
---@type {text: string, level: integer}[]
M.notices = {}

--- Forgets the plugin's modules and the user's configuration.
function M.fresh()
  for name in pairs(package.loaded) do
    if name == "acp" or vim.startswith(name, "acp.") then
      package.loaded[name] = nil
    end
  end
  vim.g.acp = nil
  vim.env.CARGO_TARGET_DIR = nil
  vim.env.PATH = path
  vim.cmd("silent %bwipeout!")
  M.notices = {}
  vim.notify = function(text, level)
    table.insert(M.notices, { text = text, level = level })
  end
end

--- Puts a native module in place of the library; returns its calls, each a list.
---@param answers? table<string, any> What its functions return, by name.
---@return any[][] calls
function M.fake(answers)
  local calls = {}
  local library = setmetatable({ version = require("acp.version") }, {
    __index = function(_, name)
      return function(...)
        table.insert(calls, { name, ... })
        local answer = answers and answers[name]
        if type(answer) == "function" then
          return answer(...)
        end
        return answer
      end
    end,
  })
  local native = require("acp.native")
  native.library = function()
    return library, "/fake/libacp_nvim.so"
  end
  local is_loaded = false
  native.load = function()
    is_loaded = true
    return library
  end
  native.loaded = function()
    return is_loaded and library or nil
  end
  native.configure = function()
    library.setup(require("acp.config").get())
  end
  return calls
end

--- Returns the folder of an executable file called `name`.
---@param name string
---@return string
function M.program(name)
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, "p")
  vim.fn.writefile({ "#!/bin/sh" }, dir .. "/" .. name)
  vim.uv.fs_chmod(dir .. "/" .. name, 493)
  return dir
end

--- Fails unless both are the same, deeply.
function M.same(expected, actual)
  if not vim.deep_equal(expected, actual) then
    local text = "expected %s\n     got %s"
    error(text:format(vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

--- Fails unless `text` contains `part`, literally.
function M.contains(part, text)
  if type(text) ~= "string" or not text:find(part, 1, true) then
    error(("expected a text with %q\n     got %s"):format(part, vim.inspect(text)), 2)
  end
end

--- Fails unless `body` raises a text that contains `part`; returns the text.
function M.raises(part, body)
  local ok, problem = pcall(body)
  if ok then
    error(("expected an error with %q, there was none"):format(part), 2)
  end
  M.contains(part, problem)
  return problem
end

return M
