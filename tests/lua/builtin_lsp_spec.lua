local support = require("support")
local lsp_server = require("lsp_server")
local same, contains = support.same, support.contains

--- What a file's text is in these tests: é has two bytes, 日 three, 🎉 four and two units of UTF-16.
local TEXT = { "local é = 1", 'local x, y = "日🎉", é', "return é + x", "" }

local function spec(name)
  for _, it in ipairs(require("acp.tools.builtin.lsp")) do
    if it.name == name then
      return it
    end
  end
  error("there is no tool " .. name)
end

--- The folder of the newest project, which is the session's.
local cwd

--- Runs a tool; returns its outcome.
local function run(name, args, opts)
  opts = vim.tbl_extend("keep", opts or {}, { cwd = cwd })
  return require("acp.tools.fake").run(spec(name), args, opts)
end

--- Returns the folder of a new project, with files.
local function project(files)
  local dir = vim.fn.tempname()
  for name, lines in pairs(files) do
    vim.fn.mkdir(vim.fs.dirname(dir .. "/" .. name), "p")
    vim.fn.writefile(lines, dir .. "/" .. name)
  end
  cwd = assert(vim.uv.fs_realpath(dir))
  return cwd
end

local function load(path)
  local buf = vim.fn.bufadd(path)
  vim.fn.bufload(buf)
  return buf
end

local function uri(path)
  return vim.uri_from_fname(path)
end

local function range(row, first, last, last_row)
  return {
    start = { line = row, character = first },
    ["end"] = { line = last_row or row, character = last },
  }
end

local function edit(row, first, last, text, last_row)
  return { range = range(row, first, last, last_row), newText = text }
end

local function text_of(outcome)
  if outcome.error then
    error("the tool has failed: " .. outcome.error, 2)
  end
  return type(outcome.value) == "string" and outcome.value or outcome.value.content[1].text
end

local function data_of(outcome)
  text_of(outcome)
  return outcome.value.structuredContent
end

local function wait_for(what, condition)
  assert(vim.wait(5000, condition, 2), "it was waited for in vain: " .. what)
end

local all = {
  definitionProvider = true,
  referencesProvider = true,
  hoverProvider = true,
  documentSymbolProvider = true,
  workspaceSymbolProvider = true,
  renameProvider = { prepareProvider = true },
  codeActionProvider = { resolveProvider = true },
  executeCommandProvider = { commands = { "server.fix", "server.talk" } },
}

--- Returns a project with a loaded file a.lua, and a server for it.
local function served(answers, more)
  local dir = project({ ["a.lua"] = TEXT, ["b.lua"] = { "-- b", "print(é)" } })
  local path = dir .. "/a.lua"
  local buf = load(path)
  local opts = vim.tbl_extend("force", {
    answers = answers,
    capabilities = all,
    root = dir,
    bufs = { buf },
  }, more or {})
  local server = lsp_server.start(opts)
  wait_for("the server", function()
    return server.client.initialized
  end)
  return server, path, buf, dir
end

return function(add)
  local function test(name, body)
    add(name, function()
      local shortmess, windows = vim.o.shortmess, #vim.api.nvim_list_wins()
      local ok, problem = xpcall(body, debug.traceback)
      lsp_server.stop_all()
      if not ok then
        error(problem, 0)
      end
      same(shortmess, vim.o.shortmess)
      same(windows, #vim.api.nvim_list_wins())
      for _, event in ipairs({ "LspAttach", "LspDetach", "DiagnosticChanged" }) do
        for _, autocmd in ipairs(vim.api.nvim_get_autocmds({ event = event })) do
          local info = autocmd.callback and debug.getinfo(autocmd.callback, "S").source or ""
          assert(not info:find("builtin/lsp", 1, true), "an autocmd was left: " .. event)
        end
      end
    end)
  end

  test("each tool says what it takes and is asked about only where it changes something", function()
    local names = {}
    for _, it in ipairs(require("acp.tools.builtin.lsp")) do
      table.insert(names, it.name)
      same("object", it.parameters.type)
      for name, property in pairs(it.parameters.properties) do
        assert(property.description, it.name .. " says nothing of " .. name)
      end
      for _, name in ipairs(it.parameters.required) do
        assert(it.parameters.properties[name], it.name .. " has no " .. name)
      end
      same(it.kind == "edit" and "nil" or "true", tostring(it.read_only))
    end
    same({
      "definition",
      "references",
      "hover",
      "symbols",
      "rename",
      "code_actions",
      "code_action",
    }, names)
  end)

  for _, encoding in ipairs({ "utf-8", "utf-16", "utf-32" }) do
    test(
      "positions are the server's on the way out and bytes on the way back: " .. encoding,
      function()
        local units = ({ ["utf-8"] = 24, ["utf-16"] = 20, ["utf-32"] = 19 })[encoding]
        local path
        local server
        server, path = served({
          ["textDocument/definition"] = function()
            return { uri = uri(path), range = range(1, units, units + 1) }
          end,
        }, { encoding = encoding })
        local places =
          data_of(run("definition", { path = path, line = 2, symbol = "é" })).locations
        same(
          { line = 1, character = units },
          lsp_server.heard(server, "textDocument/definition")[1].position
        )
        same({ { path = "a.lua", line = 2, column = 25, text = TEXT[2] } }, places)
        -- A column inside of a character is the character's.
        run("definition", { path = path, line = 2, column = 26 })
        same(
          { line = 1, character = units },
          lsp_server.heard(server, "textDocument/definition")[2].position
        )
      end
    )
  end

  test("every column of every encoding comes back as the beginning of its character", function()
    local place = require("acp.tools.builtin.lsp.place")
    local line = 'é日🎉a\195"\255'
    local begins = { 0, 2, 5, 9, 10, 11, 12, 13 }
    for _, encoding in ipairs({ "utf-8", "utf-16", "utf-32" }) do
      for column = 0, #line do
        local back = place.from_server(line, place.to_server(line, column, encoding), encoding)
        local expected = 0
        for _, begin in ipairs(begins) do
          expected = begin <= column and begin or expected
        end
        same(expected, back)
      end
      same(#line, place.from_server(line, 99, encoding))
    end
    -- Half of a pair of UTF-16.
    same(5, place.from_server(line, 3, "utf-16"))
  end)

  test("an invalid position is reported with the actual text", function()
    local _, path = served({})
    local function problem(args)
      args.path = path
      return run("hover", args).error
    end
    same(
      path .. " has 4 lines, counted from 1: there is no line 9.",
      problem({ line = 9, symbol = "x" })
    )
    contains(
      '"nix" is not on line 1 of ' .. path .. ". That line is: local é = 1",
      problem({ line = 1, symbol = "nix" })
    )
    contains("It is nowhere in that file.", problem({ line = 1, symbol = "nix" }))
    contains("It is on line 2, 3.", problem({ line = 1, symbol = "x" }))
    contains("as a word of its own", problem({ line = 1, symbol = "oca" }))
    contains("is 1 time on line 3", problem({ line = 3, symbol = "é", occurrence = 2 }))
    contains("has 12 bytes: there is no column 14", problem({ line = 1, column = 14 }))
    contains("`symbol`, a word on it, or by `column`", problem({ line = 1 }))
    contains(
      "There is no file " .. path .. "x.",
      run("hover", { path = path .. "x", line = 1 }).error
    )
    contains("is a directory", run("hover", { path = vim.fs.dirname(path), line = 1 }).error)
  end)

  test("of a name with dots the last word is meant, and an occurrence can be chosen", function()
    local server, path, buf = served({})
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { "xs.x = é.xy + x" })
    run("hover", { path = path, line = 1, symbol = "é.xy" })
    run("hover", { path = path, line = 1, symbol = "x", occurrence = 2 })
    local heard = lsp_server.heard(server, "textDocument/hover")
    same(9, heard[1].position.character)
    same(14, heard[2].position.character)
    -- Unsaved changes were sent to the server before.
    local change = lsp_server.heard(server, "textDocument/didChange")[1]
    contains("xs.x = é.xy + x", change.contentChanges[1].text)
  end)

  test("references are sorted, there once although two servers know them, and bounded", function()
    local path, dir, buf, _
    local function answer(encoding)
      return function()
        local units = encoding == "utf-8" and 24 or 20
        return {
          { uri = uri(dir .. "/b.lua"), range = range(1, 6, 7) },
          { uri = uri(path), range = range(1, units, units + 1) },
          { uri = uri(path), range = range(0, 6, 7) },
          { uri = "zipfile:///x.zip::y.lua", range = range(4, 2, 3) },
        }
      end
    end
    _, path, buf, dir = served({ ["textDocument/references"] = answer("utf-16") })
    local other = lsp_server.start({
      name = "other",
      encoding = "utf-8",
      capabilities = all,
      bufs = { buf },
      answers = { ["textDocument/references"] = answer("utf-8") },
    })
    wait_for("the other server", function()
      return other.client.initialized
    end)
    local outcome = run("references", { path = "a.lua", line = 1, symbol = "é" }, { cwd = dir })
    same({
      { path = "a.lua", line = 1, column = 7, text = TEXT[1] },
      { path = "a.lua", line = 2, column = 25, text = TEXT[2] },
      { path = "b.lua", line = 2, column = 7, text = "print(é)" },
      { path = "zipfile:///x.zip::y.lua", line = 5, column = 3 },
    }, data_of(outcome).locations)
    contains('4 references of "é":\n' .. "a.lua:1:7: local é = 1\n", text_of(outcome))
    same(0, vim.fn.bufexists(dir .. "/b.lua"))
    same(
      { includeDeclaration = true },
      lsp_server.heard(other, "textDocument/references")[1].context
    )

    local some = run(
      "references",
      { path = path, line = 1, symbol = "é", limit = 1, include_declaration = false }
    )
    same(1, #data_of(some).locations)
    contains("1 of ", text_of(some))
    same(
      { includeDeclaration = false },
      lsp_server.heard(other, "textDocument/references")[2].context
    )
  end)

  test("links name where a definition is and where it ends", function()
    local path
    local _
    _, path = served({
      ["textDocument/definition"] = function()
        return {
          {
            targetUri = uri(path),
            targetRange = range(0, 0, 3, 2),
            targetSelectionRange = range(0, 6, 7),
            originSelectionRange = vim.NIL,
          },
        }
      end,
    })
    local outcome = run("definition", { path = path, line = 1, column = 7 })
    same(
      { path = "a.lua", line = 1, column = 7, end_line = 3, text = TEXT[1] },
      data_of(outcome).locations[1]
    )
  end)

  test("an implementation is asked for by `only`, of servers that know it", function()
    local server, path = served({})
    local outcome =
      run("definition", { path = path, line = 1, symbol = "é", only = "implementation" })
    contains("can find implementations: fake cannot", outcome.error)
    same({}, lsp_server.heard(server, "textDocument/implementation"))
  end)

  test(
    "no answer is told as such, and an error by its words unless another server knows",
    function()
      local _, path, buf = served({
        ["textDocument/definition"] = function(_, reply)
          reply(nil, { code = -32603, message = "out of cheese" })
        end,
        ["textDocument/references"] = vim.NIL,
        ["textDocument/hover"] = { contents = "" },
      })
      local failed = run("definition", { path = path, line = 1, symbol = "é" })
      same("The language server fake has failed: out of cheese", failed.error)
      local empty = run("references", { path = path, line = 1, symbol = "é" })
      same('There is no reference of "é" that a language server knows of.', text_of(empty))
      same(0, data_of(empty).total)
      contains(
        'anything to say of "é"',
        text_of(run("hover", { path = path, line = 1, symbol = "é" }))
      )

      local other = lsp_server.start({
        name = "other",
        capabilities = all,
        bufs = { buf },
        answers = { ["textDocument/definition"] = { uri = uri(path), range = range(0, 6, 7) } },
      })
      wait_for("the other server", function()
        return other.client.initialized
      end)
      local both = run("definition", { path = path, line = 1, symbol = "é" })
      same({ "The language server fake has failed: out of cheese" }, data_of(both).notes)
      same(1, data_of(both).total)
    end
  )

  test("a server whose state has changed meanwhile is asked again", function()
    local count = 0
    local server, path = served({
      ["textDocument/hover"] = function(_, reply)
        count = count + 1
        if count == 1 then
          reply(nil, { code = -32801, message = "content modified" })
        else
          reply({ contents = { kind = "markdown", value = "**é**" } })
        end
      end,
    })
    same("**é**", text_of(run("hover", { path = path, line = 1, symbol = "é" })))
    same(2, #lsp_server.heard(server, "textDocument/hover"))
  end)

  test("hover is markdown, of whatever form the server has it, each text once", function()
    local _, path, buf = served({
      ["textDocument/hover"] = {
        contents = { { language = "lua", value = "local é: integer" }, "One." },
      },
    })
    local other = lsp_server.start({
      name = "other",
      capabilities = all,
      bufs = { buf },
      answers = { ["textDocument/hover"] = { contents = "Another word." } },
    })
    wait_for("the other server", function()
      return other.client.initialized
    end)
    local text = text_of(run("hover", { path = path, line = 1, symbol = "é" }))
    contains("```lua\nlocal é: integer\n```", text)
    contains("One.\n\n---\n\nAnother word.", text)
  end)

  test("a server that is still working is mentioned", function()
    local server, path = served({ ["textDocument/definition"] = {} })
    server.dispatchers.notification(
      "$/progress",
      { token = 1, value = { kind = "begin", title = "Indexing" } }
    )
    wait_for("the progress", function()
      return next(server.client.progress.pending) ~= nil
    end)
    contains(
      "fake is still at work (Indexing)",
      text_of(run("definition", { path = path, line = 1, symbol = "é" }))
    )
  end)

  test("a server that gets to know a project is asked again when it does", function()
    local dir = project({ ["a.lua"] = TEXT })
    local path = dir .. "/a.lua"
    local server
    local autocmd = vim.api.nvim_create_autocmd("BufReadPost", {
      pattern = dir .. "/*.lua",
      callback = function(event)
        local function tell(kind, done)
          server.dispatchers.notification(
            "$/progress",
            { token = 1, value = { kind = kind, title = "Loading" } }
          )
          vim.schedule(done)
        end
        server = lsp_server.start({
          capabilities = all,
          bufs = { event.buf },
          answers = {
            ["textDocument/references"] = function(_, reply)
              local here = { { uri = uri(path), range = range(0, 6, 7) } }
              if #lsp_server.heard(server, "textDocument/references") > 1 then
                return vim.list_extend(here, { { uri = uri(path), range = range(2, 7, 8) } })
              end
              -- It begins only after its first answer.
              reply(here)
              vim.defer_fn(function()
                tell("begin", function()
                  tell("end", function() end)
                end)
              end, 50)
            end,
          },
        })
      end,
    })
    local outcome = run("references", { path = path, line = 1, symbol = "é" })
    vim.api.nvim_del_autocmd(autocmd)
    same(2, data_of(outcome).total)
    same(nil, data_of(outcome).notes)
  end)

  test("a cancelled call cancels its requests and says no more", function()
    local held
    local server, path = served({
      ["textDocument/references"] = function(_, reply)
        held = reply
      end,
    })
    local outcome = run("references", { path = path, line = 1, symbol = "é" }, { timeout = 0 })
    wait_for("the request", function()
      return held ~= nil
    end)
    outcome.cancel()
    wait_for("$/cancelRequest", function()
      return #lsp_server.heard(server, "$/cancelRequest") == 1
    end)
    held({ { uri = uri(path), range = range(0, 0, 1) } })
    same(nil, outcome.value)
    same({}, outcome.logged)
  end)

  test("a server that ends has failed", function()
    local is_asked = false
    local server, path = served({
      ["textDocument/hover"] = function()
        is_asked = true
      end,
    })
    local outcome = run("hover", { path = path, line = 1, symbol = "é" }, { timeout = 0 })
    wait_for("the request", function()
      return is_asked
    end)
    server.end_it()
    assert(outcome.wait())
    same("The language server fake has failed: it has ended", outcome.error)
  end)

  test("without a server, the file type and the running servers are reported", function()
    local _, _, _, dir = served({})
    vim.fn.writefile({ "x" }, dir .. "/c.txt")
    local buf = load(dir .. "/c.txt")
    vim.bo[buf].filetype = "text"
    local began = vim.uv.now()
    local outcome = run("hover", { path = "c.txt", line = 1, symbol = "x" }, { cwd = dir })
    contains(
      "No language server is attached to " .. dir .. "/c.txt (its file type is text)",
      outcome.error
    )
    contains("Running in Neovim for other files: fake.", outcome.error)
    -- A file that has been there for a while has the servers it will get.
    assert(vim.uv.now() - began < 1500)
  end)

  test("a closed file is loaded in the background, and its server waited for", function()
    local dir = project({ ["a.lua"] = TEXT })
    local path = dir .. "/a.lua"
    local server, go
    local autocmd = vim.api.nvim_create_autocmd("BufReadPost", {
      pattern = dir .. "/*.lua",
      callback = function(event)
        server = lsp_server.start({
          capabilities = all,
          bufs = { event.buf },
          answers = { ["textDocument/hover"] = { contents = "It." } },
          starts = function(start)
            go = start
          end,
        })
      end,
    })
    local here, alternate = vim.api.nvim_get_current_buf(), vim.fn.bufnr("#")
    local outcome = run("hover", { path = path, line = 1, symbol = "é" }, { timeout = 0 })
    wait_for("the start", function()
      return go ~= nil
    end)
    same({}, lsp_server.heard(server, "textDocument/hover"))
    go()
    assert(outcome.wait())
    vim.api.nvim_del_autocmd(autocmd)
    same("It.", text_of(outcome))
    local buf = vim.fn.bufnr(path)
    same(
      { false, false, "" },
      { vim.bo[buf].buflisted, vim.bo[buf].swapfile, vim.fn.swapname(buf) }
    )
    same({ here, alternate }, { vim.api.nvim_get_current_buf(), vim.fn.bufnr("#") })
    same({ buf }, require("acp.tools.builtin.lsp.buffers").kept())
    contains("It.", text_of(run("hover", { path = path, line = 1, symbol = "é" })))
  end)

  test("a server that turns up a moment later is waited for", function()
    local dir = project({ ["a.lua"] = TEXT })
    local autocmd = vim.api.nvim_create_autocmd("BufReadPost", {
      pattern = dir .. "/*.lua",
      callback = function(event)
        vim.defer_fn(function()
          local answers = { ["textDocument/hover"] = { contents = "It." } }
          lsp_server.start({ capabilities = all, bufs = { event.buf }, answers = answers })
        end, 50)
      end,
    })
    local outcome = run("hover", { path = dir .. "/a.lua", line = 1, symbol = "é" })
    vim.api.nvim_del_autocmd(autocmd)
    same("It.", text_of(outcome))
  end)

  test("a server that is starting for a file of the user's is waited for", function()
    local dir = project({ ["a.lua"] = TEXT })
    local buf = load(dir .. "/a.lua")
    local go
    lsp_server.start({
      capabilities = all,
      bufs = { buf },
      answers = { ["textDocument/hover"] = { contents = "It." } },
      starts = function(start)
        go = start
      end,
    })
    local args = { path = dir .. "/a.lua", line = 1, symbol = "é" }
    local outcome = run("hover", args, { timeout = 0 })
    wait_for("the call to wait", function()
      return #vim.api.nvim_get_autocmds({ event = "LspDetach", buffer = buf }) > 0
    end)
    go()
    assert(outcome.wait())
    same("It.", text_of(outcome))
  end)

  test(
    "a server that does not get ready is given up with the call, and nothing stays behind",
    function()
      local dir = project({ ["a.lua"] = TEXT })
      local autocmd = vim.api.nvim_create_autocmd("BufReadPost", {
        pattern = dir .. "/*.lua",
        callback = function(event)
          lsp_server.start({ bufs = { event.buf }, starts = function() end })
        end,
      })
      local outcome = run(
        "hover",
        { path = dir .. "/a.lua", line = 1, symbol = "é" },
        { timeout = 0 }
      )
      wait_for("the file", function()
        return vim.fn.bufloaded(dir .. "/a.lua") == 1
      end)
      vim.api.nvim_del_autocmd(autocmd)
      outcome.cancel()
      wait_for("the end of it", function()
        return #vim.api.nvim_get_autocmds({
          event = "LspAttach",
          buffer = vim.fn.bufnr(dir .. "/a.lua"),
        }) == 0
      end)
      for _, client in ipairs(vim.lsp.get_clients({ _uninitialized = true })) do
        client.rpc.terminate()
      end
      same(nil, outcome.value)
    end
  )

  test("a file with a swap file is loaded without a word, and the user gets one later", function()
    local swaps = vim.fn.tempname()
    vim.fn.mkdir(swaps, "p")
    local dir = project({ ["a.lua"] = TEXT })
    local path = dir .. "/a.lua"
    local other = vim.system({
      support.neovim,
      "--clean",
      "--headless",
      "--cmd",
      "set directory=" .. swaps .. "// updatecount=1",
      path,
      "+call setline(1, 'theirs') | preserve",
    }, {})
    wait_for("the other's swap file", function()
      return #vim.fn.glob(swaps .. "/*", true, true) > 0
    end)
    local directory, updatecount, swapfile = vim.o.directory, vim.o.updatecount, vim.o.swapfile
    vim.o.directory, vim.o.updatecount, vim.o.swapfile = swaps .. "//", 200, true
    local ok, problem = pcall(function()
      vim.cmd("messages clear")
      local outcome = run("hover", { path = path, line = 1, symbol = "é" })
      contains("No language server is attached", outcome.error)
      same("", vim.api.nvim_exec2("messages", { output = true }).output)
      same({}, support.notices)
      local buf = vim.fn.bufnr(path)
      same("", vim.fn.swapname(buf))
      vim.api.nvim_win_set_buf(0, buf)
      contains("a.lua.swo", vim.fn.swapname(buf))
      contains("another swap file of", (support.notices[1] or {}).text)
      same({}, require("acp.tools.builtin.lsp.buffers").kept())
    end)
    vim.o.directory, vim.o.updatecount, vim.o.swapfile = directory, updatecount, swapfile
    other:kill(9)
    other:wait()
    vim.cmd("silent! %bwipeout!")
    assert(ok, problem)
  end)

  test("the symbols of a file are nested, sorted, and cut with their number", function()
    local _, path = served({
      ["textDocument/documentSymbol"] = {
        {
          name = "z",
          kind = 12,
          detail = "fun()",
          range = range(2, 0, 3),
          selectionRange = range(2, 7, 8),
        },
        {
          name = "Klass",
          kind = 5,
          detail = vim.NIL,
          range = range(0, 0, 3, 1),
          selectionRange = range(0, 6, 7),
          children = {
            {
              name = "late",
              kind = 6,
              range = range(1, 20, 21),
              selectionRange = range(1, 20, 21),
            },
            { name = "early", kind = 22, range = range(1, 6, 7), selectionRange = range(1, 6, 7) },
          },
        },
      },
    })
    local outcome = run("symbols", { path = path })
    same(
      "4 symbols in a.lua:\nclass Klass  1-2\n  enum member early  2\n  method late  2\nfunction z fun()  3",
      text_of(outcome)
    )
    same(25, data_of(outcome).symbols[1].children[2].column)
    contains("2 of 4 symbols", text_of(run("symbols", { path = path, limit = 2 })))
    local fitting = run("symbols", { path = path, query = "LATE" })
    contains('2 symbols that "LATE" fits', text_of(fitting))
    same("late", data_of(fitting).symbols[1].children[1].name)
    contains("There is no symbol", text_of(run("symbols", { path = path, query = "nix" })))
  end)

  test("the symbols of the workspace are those of servers that are about it", function()
    local path, dir, _
    _, path, _, dir = served({
      ["workspace/symbol"] = function(params)
        return {
          {
            name = params.query .. "1",
            kind = 12,
            location = { uri = uri(path), range = range(1, 20, 21) },
            containerName = "K",
          },
          { name = "far", kind = 12, location = { uri = uri("/nowhere/x.lua") } },
        }
      end,
    })
    local stranger = lsp_server.start({
      name = "stranger",
      capabilities = all,
      root = "/nowhere/else",
      bufs = { vim.api.nvim_create_buf(true, false) },
    })
    wait_for("the stranger", function()
      return stranger.client.initialized
    end)
    local outcome = run("symbols", { query = "é" }, { cwd = dir })
    same({
      { name = "é1", kind = "function", path = "a.lua", line = 2, column = 25, container = "K" },
      { name = "far", kind = "function", path = "/nowhere/x.lua", line = 1, column = 1 },
    }, data_of(outcome).symbols)
    contains("function é1 in K  a.lua:2:25", text_of(outcome))
    same({}, lsp_server.heard(stranger, "workspace/symbol"))
    local link = dir .. "-link"
    assert(vim.uv.fs_symlink(dir, link))
    contains("function é1 in K", text_of(run("symbols", { query = "é" }, { cwd = link })))
    contains(
      "No language server that can search symbols",
      run("symbols", { query = "é" }, { cwd = "/somewhere" }).error
    )
    contains("Please name a file", run("symbols", {}).error)
  end)

  test(
    "a rename writes every file through the client, unsaved text included, and no buffer",
    function()
      local path, buf, dir, server
      server, path, buf, dir = served({
        ["textDocument/prepareRename"] = { range = range(0, 6, 7), placeholder = "é" },
        ["textDocument/rename"] = function(params)
          local new = params.newName
          return {
            changes = {
              [uri(path)] = { edit(3, 7, 8, new), edit(1, 6, 7, new), edit(2, 20, 21, new) },
              [uri(dir .. "/b.lua")] = { edit(1, 6, 7, new) },
            },
          }
        end,
      })
      vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "-- unsaved" })
      local before = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      local outcome = run("rename", { path = path, line = 2, symbol = "é", new_name = "日本" })
      same({
        [path] = '-- unsaved\nlocal 日本 = 1\nlocal x, y = "日🎉", 日本\nreturn 日本 + x\n\n',
        [dir .. "/b.lua"] = "-- b\nprint(日本)\n",
      }, outcome.written)
      contains(
        '"é" is now "日本" (fake): 4 edits in 2 files:\na.lua: 3\n',
        text_of(outcome)
      )
      same(
        { { path = "a.lua", edits = 3 }, { path = "b.lua", edits = 1 } },
        data_of(outcome).files
      )
      same(before, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
      -- The file that the server has from the disk.
      same(
        { { changes = { { uri = uri(dir .. "/b.lua"), type = 2 } } } },
        lsp_server.heard(server, "workspace/didChangeWatchedFiles")
      )
    end
  )

  test("what cannot be renamed is said in the server's words, and nothing is written", function()
    local answers = {}
    local _, path = served(answers)
    local function problem(prepared, renamed, name)
      answers["textDocument/prepareRename"] = prepared
      answers["textDocument/rename"] = renamed
      local outcome =
        run("rename", { path = path, line = 1, symbol = "é", new_name = name or "x" })
      same({}, outcome.written)
      return outcome.error
    end
    local function refuses(_, reply)
      reply(nil, { code = -32602, message = "x is taken" })
    end
    contains('"é" is nothing that can be renamed', problem(vim.NIL, {}))
    contains("x is taken", problem(refuses, {}))
    contains("x is taken", problem({ defaultBehavior = true }, refuses))
    contains("it has nothing to change", problem({ defaultBehavior = true }, vim.NIL))
    contains("`new_name` is empty", problem({ defaultBehavior = true }, {}, " "))
  end)

  test("a rename by the second server, when the first one knows nothing", function()
    local _, path, buf = served({ ["textDocument/prepareRename"] = vim.NIL })
    local other = lsp_server.start({
      name = "other",
      encoding = "utf-8",
      capabilities = { renameProvider = true },
      bufs = { buf },
      answers = {
        ["textDocument/rename"] = { changes = { [uri(path)] = { edit(1, 24, 26, "e") } } },
      },
    })
    wait_for("the other server", function()
      return other.client.initialized
    end)
    local outcome = run("rename", { path = path, line = 1, symbol = "é", new_name = "e" })
    same("other", data_of(outcome).server)
    contains('"日🎉", e\n', outcome.written[path])
  end)

  test("files are created with their text, and neither renamed nor deleted", function()
    local answers = { ["textDocument/prepareRename"] = { defaultBehavior = true } }
    local _, path, _, dir = served(answers)
    local function renamed(...)
      answers["textDocument/rename"] = { documentChanges = { ... } }
      return run("rename", { path = path, line = 1, symbol = "é", new_name = "x" })
    end
    local change =
      { textDocument = { uri = uri(path), version = vim.NIL }, edits = { edit(0, 6, 7, "x") } }
    local outcome =
      renamed(change, { kind = "rename", oldUri = uri(path), newUri = uri(dir .. "/x.lua") })
    contains(
      "the server would also rename the file " .. path .. " to " .. dir .. "/x.lua",
      outcome.error
    )
    same({}, outcome.written)
    contains(
      "would also delete the file",
      renamed({ kind = "delete", uri = uri(path) }, change).error
    )
    contains("which is there already", renamed({ kind = "create", uri = uri(path) }, change).error)
    contains("which is no file", renamed({ textDocument = { uri = "jdt://x" }, edits = {} }).error)
    local new = dir .. "/new/x.lua"
    local created = renamed({ kind = "create", uri = uri(new) }, {
      textDocument = { uri = uri(new), version = vim.NIL },
      edits = { edit(0, 0, 0, "return 1\n") },
    }, change)
    same("return 1\n", created.written[new])
    same(2, data_of(created).edits)
  end)

  test("an edit of a text that is no more is refused", function()
    local answers = { ["textDocument/prepareRename"] = { defaultBehavior = true } }
    local _, path, buf, dir = served(answers)
    local function renamed(target, version, meanwhile)
      answers["textDocument/rename"] = function()
        if meanwhile then
          vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "--" })
        end
        return {
          documentChanges = {
            {
              textDocument = { uri = uri(target), version = version },
              edits = { edit(0, 0, 1, "x") },
            },
          },
        }
      end
      local outcome = run("rename", { path = path, line = 1, column = 1, new_name = "x" })
      assert(not outcome.error or next(outcome.written) == nil)
      return outcome.error
    end
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "-- 1" })
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "-- 2" })
    same(nil, renamed(path, vim.lsp.util.buf_versions[buf]))
    contains("was changed while fake was at work", renamed(path, 1))
    contains("was changed while fake was at work", renamed(path, vim.NIL, true))
    local other = load(dir .. "/b.lua")
    same(nil, renamed(dir .. "/b.lua", vim.NIL))
    vim.api.nvim_buf_set_lines(other, 0, 0, false, { "unsaved" })
    contains("has unsaved changes that fake does not know of", renamed(dir .. "/b.lua", vim.NIL))
  end)

  test(
    "a write that fails says which files were written; nothing is when a text is not to be had",
    function()
      local path, dir, _
      local answers = { ["textDocument/prepareRename"] = { defaultBehavior = true } }
      _, path, _, dir = served(answers)
      vim.fn.writefile({ "ccc" }, dir .. "/c.lua")
      local changes = {}
      for _, name in ipairs({ "a", "b", "c" }) do
        changes[uri(("%s/%s.lua"):format(dir, name))] = { edit(0, 0, 1, "x") }
      end
      answers["textDocument/rename"] = { changes = changes }
      local args = { path = path, line = 1, symbol = "é", new_name = "x" }
      local tried = {}
      local outcome = run("rename", args, {
        write = function(target)
          table.insert(tried, vim.fs.basename(target))
          return not target:find("b.lua", 1, true) or nil, "the user has changed the same lines"
        end,
      })
      same({ "a.lua", "b.lua" }, tried)
      contains(
        ("%s/b.lua could not be written: the user has changed the same lines. Already written: %s. Not written: %s/b.lua, %s/c.lua."):format(
          dir,
          path,
          dir,
          dir
        ),
        outcome.error
      )
      changes[uri(dir .. "/nowhere.lua")] = { edit(0, 0, 1, "x") }
      local missing = run("rename", args)
      contains("Nothing was changed: of " .. dir .. "/nowhere.lua", missing.error)
      same({}, missing.written)
    end
  )

  test("edits are applied to the original text in any order", function()
    local apply = require("acp.tools.builtin.lsp.edits").apply
    local function check(expected, text, edits, encoding)
      local got, why = apply(text, edits, encoding or "utf-16")
      same(expected, got or why)
    end
    check("AbC\n", "abc\n", { edit(0, 2, 3, "C"), edit(0, 0, 1, "A") })
    -- Several insertions at one position keep their order and precede a replacement there.
    check("12Xbc", "abc", { edit(0, 0, 0, "1"), edit(0, 0, 1, "X"), edit(0, 0, 0, "2") })
    check("a\nb\nend\n", "a\nb\n", { edit(2, 0, 0, "end\n") })
    check("all", "a\nb", { edit(0, 0, 0, "all", 99) })
    check("b\n", "a\nb\n", { edit(0, 0, 0, "", 1) })
    check("ab!", "ab", { edit(0, 99, 99, "!") })
    check("é日-x", "é日🎉x", { edit(0, 2, 4, "-") })
    check("é日-x", "é日🎉x", { edit(0, 5, 9, "-") }, "utf-8")
    -- Line ends are the file's, and a mark at its beginning is no character.
    check("a\r\nB\r\nC\r\nd\r\n", "a\r\nb\r\nd\r\n", { edit(1, 0, 99, "B\nC") })
    check("\239\187\191X", "\239\187\191a", { edit(0, 0, 1, "X") })
    check("edits of the server's overlap", "abc", { edit(0, 0, 2, "x"), edit(0, 1, 3, "y") })
    check(
      "an edit of the server's is not plain text",
      "abc",
      { { range = range(0, 0, 1), snippet = "$0" } }
    )
  end)

  test("code actions are listed with details, preferred ones first", function()
    local server, path, buf = served({
      ["textDocument/codeAction"] = {
        {
          title = "Extract",
          kind = "refactor.extract",
          disabled = { reason = "nothing selected" },
        },
        { title = "Fix", kind = "quickfix", isPreferred = true, diagnostics = vim.NIL },
        { title = "Old", command = "server.fix" },
      },
    })
    local complaint = { range = range(1, 6, 7), message = "unused", code = "w1", data = { 1 } }
    server.dispatchers.notification("textDocument/publishDiagnostics", {
      uri = uri(path),
      diagnostics = { complaint, { range = range(0, 0, 1), message = "elsewhere" } },
    })
    wait_for("the diagnostics", function()
      return #vim.diagnostic.get(buf) == 2
    end)
    local outcome = run("code_actions", { path = path, line = 2 })
    same(
      "3 code actions, by title:\n- Fix  [quickfix, fake, preferred]\n"
        .. "- Old  [no kind, fake]\n- Extract  [refactor.extract, fake, disabled: nothing selected]",
      text_of(outcome)
    )
    local heard = lsp_server.heard(server, "textDocument/codeAction")
    same(range(1, 0, 21), heard[1].range)
    same(
      { { "unused", { 1 } } },
      vim.tbl_map(function(it)
        return { it.message, it.data }
      end, heard[1].context.diagnostics)
    )
    local fixes = run("code_actions", { path = path, line = 2, end_line = 3, only = "quickfix" })
    same(
      { "Fix" },
      vim.tbl_map(function(it)
        return it.title
      end, data_of(fixes).actions)
    )
    heard = lsp_server.heard(server, "textDocument/codeAction")
    same({ "quickfix" }, heard[2].context.only)
    same(range(1, 0, 12, 2), heard[2].range)
    run("code_actions", { path = path, line = 2, symbol = "é" })
    same(range(1, 20, 20), lsp_server.heard(server, "textDocument/codeAction")[3].range)
    contains(
      "which is before `line`",
      run("code_actions", { path = path, line = 2, end_line = 1 }).error
    )
  end)

  test("nothing to do is no error", function()
    local _, path = served({ ["textDocument/codeAction"] = vim.NIL })
    same(
      "No language server offers anything there.",
      text_of(run("code_actions", { path = path, line = 1 }))
    )
    contains(
      "Nothing is offered there.",
      run("code_action", { path = path, line = 1, title = "x" }).error
    )
  end)

  test("a code action is carried out by its title, resolved with what the server gave", function()
    local path
    local server
    server, path = served({
      ["textDocument/codeAction"] = {
        { title = "Fix", kind = "quickfix", data = { 1, vim.NIL, 3 } },
      },
      ["codeAction/resolve"] = function(action)
        action = vim.deepcopy(action)
        action.edit = { changes = { [uri(path)] = { edit(0, 6, 7, "e") } } }
        return action
      end,
    })
    local outcome = run("code_action", { path = path, line = 1, title = "Fix" })
    contains('"Fix" is done (fake): 1 edit in 1 file', text_of(outcome))
    contains("local e = 1\n", outcome.written[path])
    same({ 1, vim.NIL, 3 }, lsp_server.heard(server, "codeAction/resolve")[1].data)
  end)

  test("an unknown, ambiguous or disabled title is reported", function()
    local path
    local _
    _, path = served({
      ["textDocument/codeAction"] = function()
        local changes = { [uri(path)] = { edit(0, 6, 7, "e") } }
        return {
          { title = "Fix", kind = "quickfix.a", edit = { changes = changes } },
          { title = "Fix", kind = "quickfix.b", edit = { changes = changes } },
          { title = "Twice", kind = "quickfix", edit = { changes = changes } },
          { title = "Twice", kind = "quickfix", edit = { changes = changes } },
          { title = "Never", disabled = { reason = "it is Monday" } },
        }
      end,
    })
    local function outcome(title, only)
      return run("code_action", { path = path, line = 1, title = title, only = only })
    end
    contains("- Never  [no kind, fake, disabled: it is Monday]", outcome("fix").error)
    contains('2 code actions are called "Fix"', outcome("Fix").error)
    contains("- Fix  [quickfix.a, fake]\n- Fix  [quickfix.b, fake]", outcome("Fix").error)
    contains("it is Monday", outcome("Never").error)
    contains("is done", text_of(outcome("Fix", "quickfix.b")))
    contains("is done", text_of(outcome("Twice")))
  end)

  --- Returns the outcome of an action whose command the server runs as `execute` says.
  local function commanded(execute, action)
    local server, path, buf
    server, path, buf = served({
      ["textDocument/codeAction"] = {
        vim.tbl_extend("keep", action or {}, {
          title = "Fix",
          command = { title = "Fix", command = "server.fix", arguments = { 1, vim.NIL, 3 } },
        }),
      },
      ["codeAction/resolve"] = function(given)
        return given
      end,
      ["workspace/executeCommand"] = function(params, reply)
        execute(server, path, reply, params)
      end,
    })
    return run("code_action", { path = path, line = 1, title = "Fix" }), server, path, buf
  end

  test(
    "a command that is an edit in disguise goes through the client, and its server hears so",
    function()
      local said, given
      local outcome, server, path, buf = commanded(function(server, path, reply, params)
        given = params
        lsp_server.request(server, "workspace/applyEdit", {
          edit = { changes = { [uri(path)] = { edit(0, 6, 7, "e") } } },
        }, function(result)
          said = result
          reply(vim.NIL)
        end)
      end)
      contains("local e = 1\n", outcome.written[path])
      contains("1 edit in 1 file", text_of(outcome))
      same({ applied = true }, said)
      same({ command = "server.fix", arguments = { 1, vim.NIL, 3 } }, given)
      same(TEXT, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
      same(nil, server.client.handlers["workspace/applyEdit"])
    end
  )

  test(
    "an edit that comes after the command's answer, or without a coroutine, is written too",
    function()
      local late, _, path = commanded(function(server, target, reply)
        reply(vim.NIL)
        vim.schedule(function()
          vim.schedule(function()
            server.dispatchers.server_request("workspace/applyEdit", {
              edit = { changes = { [uri(target)] = { edit(0, 6, 7, "e") } } },
            })
          end)
        end)
      end)
      contains("local e = 1\n", late.written[path])
    end
  )

  test("a command that requests nothing, fails or requests too much is reported", function()
    local silent = commanded(function(_, _, reply)
      reply(vim.NIL)
    end)
    contains('fake has run "server.fix", and asked for no change', silent.error)
    local failed = commanded(function(_, _, reply)
      reply(nil, { code = 1, message = "no" })
    end)
    contains('fake has failed to run "server.fix": no', failed.error)
    local said
    local refused, server = commanded(function(server, path, reply)
      lsp_server.request(server, "workspace/applyEdit", {
        edit = { documentChanges = { { kind = "delete", uri = uri(path) } } },
      }, function(result)
        said = result
        reply(vim.NIL)
      end)
    end)
    contains("would also delete the file", refused.error)
    same(false, said.applied)
    contains("would also delete", said.failureReason)
    same(nil, server.client.handlers["workspace/applyEdit"])
  end)

  test("a command that runs in Neovim or is unknown is refused", function()
    local ran = false
    vim.lsp.commands["client.fix"] = function()
      ran = true
    end
    local function never()
      error("it was run")
    end
    local own = commanded(never, { command = { title = "", command = "client.fix" } })
    vim.lsp.commands["client.fix"] = nil
    contains('Nothing was changed: the command "client.fix" runs in Neovim', own.error)
    same(false, ran)
    local unknown = commanded(never, { command = { title = "", command = "who.knows" } })
    contains('fake does not run the command "who.knows" itself', unknown.error)
    local dir = project({ ["c.lua"] = { "c" } })
    local both = commanded(never, {
      command = { title = "", command = "who.knows" },
      edit = { changes = { [uri(dir .. "/c.lua")] = { edit(0, 0, 1, "C") } } },
    })
    same("C\n", both.written[dir .. "/c.lua"])
    contains("What should follow was not done", text_of(both))
  end)

  test("a command after an edit may request nothing; if it fails, the edit is reported", function()
    local dir = project({ ["c.lua"] = { "c" } })
    local action = { edit = { changes = { [uri(dir .. "/c.lua")] = { edit(0, 0, 1, "C") } } } }
    local quiet = commanded(function(_, _, reply)
      reply(vim.NIL)
    end, action)
    same("C\n", quiet.written[dir .. "/c.lua"])
    same(nil, data_of(quiet).notes)
    local failed = commanded(function(_, _, reply)
      reply(nil, { code = 1, message = "no" })
    end, action)
    same("C\n", failed.written[dir .. "/c.lua"])
    same(
      { 'What should follow was not done: fake has failed to run "server.fix": no.' },
      data_of(failed).notes
    )
  end)

  test(
    "a cancelled command is cancelled at the server, which hears that nothing is applied",
    function()
      local said, held
      local server, path, buf
      server, path, buf = served({
        ["textDocument/codeAction"] = { { title = "Fix", command = "server.fix" } },
        ["workspace/executeCommand"] = function(_, reply)
          held = reply
        end,
      })
      local outcome = run("code_action", { path = path, line = 1, title = "Fix" }, { timeout = 0 })
      wait_for("the command", function()
        return held ~= nil
      end)
      outcome.cancel()
      wait_for("the former handler", function()
        return server.client.handlers["workspace/applyEdit"] == nil
      end)
      same(1, #lsp_server.heard(server, "$/cancelRequest"))
      same(nil, said)
      same(TEXT, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
      -- The next one is not in its way.
      held(vim.NIL)
      local again = run("code_action", { path = path, line = 1, title = "Fix" }, { timeout = 0 })
      wait_for("the next command", function()
        return #lsp_server.heard(server, "workspace/executeCommand") == 2
      end)
      again.cancel()
    end
  )
end
