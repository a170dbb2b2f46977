local support = require("support")
local same, contains, raises = support.same, support.contains, support.raises

--- Fails unless loading the library raises a sentence that contains every part.
local function check(parts)
  local problem = raises(parts[1], function()
    require("acp.native").load()
  end)
  for _, part in ipairs(parts) do
    contains(part, problem)
  end
  same(nil, problem:find("\n"))
end

--- Runs `body` while `package.loadlib` answers with a library of `version`.
local function with_library(version, body)
  local loadlib, calls = package.loadlib, {}
  package.loadlib = function()
    return function()
      return {
        version = version,
        setup = function(config)
          table.insert(calls, config)
          return calls.mistakes
        end,
        tools_define = function(tools)
          calls.tools = tools
          return calls.problems
        end,
      }
    end
  end
  local path = vim.fn.tempname() .. ".so"
  vim.fn.writefile({ "" }, path)
  vim.g.acp = { library = path, chat = { width = 12 } }
  local ok, problem = pcall(body, calls, path)
  package.loadlib = loadlib
  if not ok then
    error(problem, 0)
  end
end

--- Runs `body` while `vim.fn.has(feature)` returns `answer`.
local function with_feature(feature, answer, body)
  local has = vim.fn.has
  vim.fn.has = function(name)
    return name == feature and answer or has(name)
  end
  local ok, problem = pcall(body)
  vim.fn.has = has
  if not ok then
    error(problem, 0)
  end
end

return function(test)
  test("a configured library that does not exist is named", function()
    vim.g.acp = { library = "/nowhere/libacp_nvim.so" }
    check({ "/nowhere/libacp_nvim.so", "which does not exist", "./install.sh" })
  end)

  test("without a library, the sentence says how to install it", function()
    local native = require("acp.native")
    native.candidates = function()
      return { "/nowhere/libacp_nvim.so" }
    end
    check({ "the library is not installed: run `./install.sh` in " .. support.root .. "." })
  end)

  test("a file that is no library is named", function()
    local path = vim.fn.tempname() .. ".so"
    vim.fn.writefile({ "not a library" }, path)
    vim.g.acp = { library = path }
    check({
      path .. " cannot be loaded (",
      "correct `library` in the configuration, or remove it and run `./install.sh` in ",
    })
  end)

  test("a library of another version is refused", function()
    with_library("9.9.9", function(calls, path)
      check({ path, "is version 9.9.9", require("acp.version"), "./install.sh", "restart Neovim" })
      check({ "correct `library` in the configuration" })
      same({}, calls)
      same(nil, require("acp.native").loaded())
    end)
  end)

  test("a library without a version is refused", function()
    with_library(nil, function(calls, path)
      check({ path, "is version unknown", require("acp.version"), "restart Neovim" })
      same({}, calls)
    end)
  end)

  test("a library that cannot be started is named, without its traceback", function()
    with_library(nil, function(_, path)
      package.loadlib = function()
        return function()
          error("runtime error: no threads\nstack traceback:\n\t[C]: in ?", 0)
        end
      end
      check({ path, "cannot be started (no threads): correct `library`", "./install.sh" })
    end)
  end)

  test("a library that was installed for another version is not loaded", function()
    local dir = vim.fn.tempname()
    vim.fn.mkdir(dir)
    local path = dir .. "/libacp_nvim.so"
    vim.fn.writefile({ "" }, path)
    vim.fn.writefile({ "version 9.9.9", "triple x-y-z", "from source" }, dir .. "/installed")
    vim.g.acp = { library = path }
    local loadlib = package.loadlib
    package.loadlib = function()
      error("it was loaded")
    end
    local ok, problem =
      pcall(check, { path, "is version 9.9.9", require("acp.version"), "./install.sh" })
    package.loadlib = loadlib
    same(true, ok or problem)
  end)

  test("a library of the same version is set up once with the configuration", function()
    with_library(require("acp.version"), function(calls)
      local native = require("acp.native")
      same(nil, native.loaded())
      local library = native.load()
      same(true, library == native.load())
      same(true, library == native.loaded())
      same(1, #calls)
      same(12, calls[1].chat.width)
    end)
  end)

  test("an update of the loaded library, or of the files beside it, asks for a restart", function()
    with_library(require("acp.version"), function(_, path)
      local native = require("acp.native")
      same(nil, native.outdated())
      native.load()
      same(nil, native.outdated())
      local root = vim.fn.tempname()
      vim.fn.mkdir(root .. "/lua/acp", "p")
      vim.fn.writefile({ 'return "9.9.9"' }, root .. "/lua/acp/version.lua")
      native.root = function()
        return root
      end
      contains("version 9.9.9 now: correct `library`", native.outdated())
      vim.uv.fs_utime(path, 1, 1)
      contains("was replaced", native.outdated())
    end)
  end)

  test("setup() after the first use reaches the library", function()
    with_library(require("acp.version"), function(calls)
      require("acp").setup({ chat = { width = 13 } })
      same(0, #calls)
      require("acp.native").load()
      require("acp").setup({ chat = { width = 14 } })
      same({ 13, 14 }, { calls[1].chat.width, calls[2].chat.width })
    end)
  end)

  test("all mistakes in the configuration come in one notice, at first use", function()
    with_library(require("acp.version"), function(calls)
      require("acp").setup({ log_level = 1, chat = { width = "wide" } })
      same({}, support.notices)
      require("acp.native").load()
      require("acp.native").load()
      same(1, #support.notices)
      contains("log_level: expected", support.notices[1].text)
      contains("chat.width: expected a number above 0, got string", support.notices[1].text)
      -- What `vim.g.acp` says stays below the mistake.
      same(12, calls[1].chat.width)
    end)
  end)

  test("the library's problems are kept until the configuration changes", function()
    with_library(require("acp.version"), function(calls)
      local config, native = require("acp.config"), require("acp.native")
      same(nil, config.report().library)
      calls.mistakes = { "permissions.rules[1].path: wrong" }
      native.load()
      contains("permissions.rules[1].path: wrong", support.notices[1].text)
      same(calls.mistakes, config.report().library)
      calls.mistakes = nil
      require("acp").setup({})
      same({}, config.report().library)
    end)
  end)

  test("the newest build wins", function()
    local target = vim.fn.tempname()
    vim.env.CARGO_TARGET_DIR = target
    local native = require("acp.native")
    local future = os.time() + 3600
    for i, kind in ipairs({ "debug", "release" }) do
      local dir = ("%s/%s"):format(target, kind)
      vim.fn.mkdir(dir, "p")
      local path = vim.iter(native.candidates()):find(function(candidate)
        return vim.startswith(candidate, dir .. "/")
      end)
      vim.fn.writefile({ "" }, path)
      vim.uv.fs_utime(path, future + i, future + i)
      same(path, (native.find()))
    end
  end)

  test("an old Neovim gets one sentence before anything native happens", function()
    with_library(require("acp.version"), function(calls)
      with_feature("nvim-0.10", 0, function()
        check({ "acp.nvim needs Neovim 0.10 or newer" })
      end)
      same({}, calls)
    end)
  end)

  test("Windows gets one sentence", function()
    with_feature("win32", 1, function()
      check({ "acp.nvim does not work on Windows" })
    end)
  end)
end
