local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

--- What a call needs besides the path.
local REST = {
  read_buffer = {},
  diagnostics = {},
  navigate = {},
  edit = { content = "x\n" },
  set_quickfix = {},
  definition = { line = 1, symbol = "zzz" },
  references = { line = 1, symbol = "zzz" },
  hover = { line = 1, symbol = "zzz" },
  symbols = {},
  rename = { line = 1, symbol = "zzz", new_name = "yyy" },
  code_actions = { line = 1 },
  code_action = { line = 1, title = "zzz" },
}

--- Returns the names of the tools that take a path, by what they say of their arguments.
local function takers()
  local names = {}
  for _, spec in ipairs(require("acp.tools.builtin").specs()) do
    local properties = spec.parameters and spec.parameters.properties or {}
    local item = properties.items and properties.items.items
    if properties.path or item and item.properties.path then
      table.insert(names, spec.name)
    end
  end
  return names
end

--- Returns a tool's arguments with a path in them.
local function args_of(name, path)
  if name == "set_quickfix" then
    return { items = { { path = path } } }
  end
  return vim.tbl_extend("force", assert(REST[name], name .. " is not known here"), { path = path })
end

--- Sees that every tool refuses a path before it has looked at it.
local function all_refuse(path, words, opts)
  for _, name in ipairs(takers()) do
    local before, outcome = vim.api.nvim_list_bufs(), nil
    local stirred = {}
    local clients = vim.lsp.start
    vim.lsp.start = function()
      table.insert(stirred, "a language server")
    end
    local autocmd = vim.api.nvim_create_autocmd({ "BufAdd", "BufReadPre", "FileType" }, {
      callback = function(event)
        table.insert(stirred, event.event .. " " .. event.file)
      end,
    })
    tools.at_rest(function()
      outcome = tools.run(name, args_of(name, path), opts)
    end)
    vim.api.nvim_del_autocmd(autocmd)
    vim.lsp.start = clients
    assert(outcome.error, ("%s took %s: %s"):format(name, path, vim.inspect(outcome.value)))
    contains(words, outcome.error)
    same({ {}, {}, before }, { stirred, outcome.written, vim.api.nvim_list_bufs() })
  end
end

local OUTSIDE = "outside the session's folders; the user can allow it with the config key "
  .. "permissions.allowed_dirs"
local NO_PATH = "give a path, absolute or relative to the session's folder"

local function link(to, name)
  assert(vim.uv.fs_symlink(to, tools.cwd .. "/" .. name))
end

return function(test)
  test("paths: the tools that take one are those that are tried here", function()
    local names = takers()
    table.sort(names)
    local known = vim.tbl_keys(REST)
    table.sort(known)
    same(known, names)
  end)

  test("paths: no tool accesses files outside the session's folders", function()
    local cwd = tools.project({ ["a.txt"] = "zzz\n" })
    all_refuse("/etc/passwd", "/etc/passwd is " .. OUTSIDE)
    same(0, vim.fn.bufexists("/etc/passwd"))
    all_refuse("/", "/ is " .. OUTSIDE)
    all_refuse("/nowhere/at/all", OUTSIDE)
    all_refuse("../x.txt", vim.fs.dirname(cwd) .. "/x.txt is " .. OUTSIDE)
    all_refuse(cwd .. "/../x.txt", OUTSIDE)
    all_refuse("new/../../x.txt", OUTSIDE)
  end)

  test("paths: a folder whose name begins like the session's is another one", function()
    local cwd = tools.project({ ["proj/a.txt"] = "zzz\n", ["project2/a.txt"] = "zzz\n" })
    all_refuse(cwd .. "/project2/a.txt", OUTSIDE, { cwd = cwd .. "/proj" })
    all_refuse("../project2/a.txt", OUTSIDE, { cwd = cwd .. "/proj" })
  end)

  test("paths: links are followed, and those that lead nowhere are refused", function()
    local elsewhere = tools.project({ ["x.txt"] = "zzz\n" })
    local cwd = tools.project({ ["d/a.txt"] = "zzz\n" })
    link(elsewhere, "out")
    link(elsewhere .. "/x.txt", "x.txt")
    link(elsewhere .. "/not-there", "dangling")
    link("round", "round")
    link("d", "in")
    all_refuse("out/x.txt", cwd .. "/out/x.txt leads " .. OUTSIDE)
    all_refuse("out/new/file.txt", OUTSIDE)
    all_refuse("out", OUTSIDE)
    all_refuse("x.txt", OUTSIDE)
    all_refuse("dangling", "is a link that leads nowhere")
    all_refuse("dangling/a.txt", "is a link that leads nowhere")
    all_refuse("round", "is a link that leads nowhere")
    contains("zzz", tools.call("read_buffer", { path = "in/a.txt" }).content[2].text)
    -- By the names alone: that is what the user is shown.
    same("zzz\n", tools.call("read_buffer", { path = "out/../d/a.txt" }).content[2].text)
  end)

  test("paths: a path that differs from the one shown to the user is refused", function()
    local cwd = tools.project({ ["a.txt"] = "zzz\n", ["~/a.txt"] = "zzz\n" })
    for _, path in ipairs({
      "~",
      "~/a.txt",
      "~root/a.txt",
      "file://" .. cwd .. "/a.txt",
      "file:" .. cwd .. "/a.txt",
      "FILE://" .. cwd .. "/a.txt",
      "file:///etc/passwd%00.txt",
      "scp://host/a.txt",
      "zipfile://" .. cwd .. "/a.zip::b",
      "a.txt\0.png",
      cwd .. "/a.txt\0",
    }) do
      all_refuse(path, NO_PATH)
    end
    contains("a.txt\\0.png is not a path", tools.fails("read_buffer", { path = "a.txt\0.png" }))
    same("zzz\n", tools.call("read_buffer", { path = "./~/a.txt" }).content[2].text)
    contains(
      "There is no file " .. cwd .. "/~/b.txt",
      tools.fails("symbols", { path = "./~/b.txt" })
    )
  end)

  test("paths: all of the session's folders count, by each of their names", function()
    local paths = require("acp.tools.builtin.paths")
    local cwd =
      tools.project({ ["real/a.txt"] = "zzz\n", ["more/b.txt"] = "zzz\n", ["c.txt"] = "" })
    link("real", "link")
    for _, root in ipairs({ "/link", "/real", "/link/" }) do
      local ctx = { cwd = cwd .. root }
      for _, path in ipairs({ "a.txt", "new/file.txt", cwd .. "/real/a.txt", cwd .. "/link/a.txt" }) do
        assert(paths.meant(ctx, path), root .. " does not have " .. path)
      end
      same(nil, (paths.meant(ctx, cwd .. "/c.txt")))
      same(nil, (paths.meant(ctx, "../more/b.txt")))
    end
    local ctx = { cwd = cwd .. "/link", roots = { cwd .. "/link", cwd .. "/more", cwd .. "/gone" } }
    same(cwd .. "/more/b.txt", paths.meant(ctx, "../more/b.txt"))
    same(cwd .. "/more", paths.meant(ctx, cwd .. "/more"))
    same(cwd .. "/gone/x", paths.meant(ctx, cwd .. "/gone/x"))
    same(nil, (paths.meant(ctx, cwd .. "/c.txt")))
    same(cwd .. "/c.txt", paths.meant({ cwd = cwd }, "//" .. cwd .. "//c.txt"))
    same("/etc/passwd", paths.meant({ cwd = "/", roots = { "/" } }, "etc/passwd"))
  end)

  test("paths: a new file in a new folder can be written", function()
    local cwd = tools.project({})
    local outcome = tools.run("edit", { path = "new/er/a.txt", content = "x\n" })
    same({ [cwd .. "/new/er/a.txt"] = "x\n" }, outcome.written)
  end)

  test("paths: the reported size of a system file is not trusted", function()
    tools.project({ ["a.txt"] = "" })
    if not vim.uv.fs_stat("/proc/self/pagemap") then
      return
    end
    local started = vim.uv.hrtime()
    local outcome = tools.run("read_buffer", { path = "self/pagemap" }, {
      cwd = "/proc",
      read = function()
        return "x\n"
      end,
    })
    same("x\n", outcome.value.content[2].text)
    assert(vim.uv.hrtime() - started < 3e9, "it was read to its end")
    contains("is a directory", tools.fails("read_buffer", { path = "." }))
  end)

  test("paths: binary files are not loaded", function()
    local cwd = tools.project({
      ["a.txt.gz"] = "zzz\n",
      ["b.TGZ"] = "zzz\n",
      ["c.txt"] = "zzz\n" .. ("x"):rep(8000) .. "\0",
      ["d.txt"] = "zzz\n",
    })
    for _, name in ipairs({ "a.txt.gz", "b.TGZ", "c.txt" }) do
      for _, tool in ipairs({ "definition", "hover", "symbols", "rename", "code_actions" }) do
        contains("is not a text file", tools.fails(tool, args_of(tool, name)))
      end
      same(0, vim.fn.bufexists(cwd .. "/" .. name))
    end
    tools.at_rest(function()
      contains("is not a text file", tools.fails("navigate", { path = "a.txt.gz" }))
    end)
    same(0, vim.fn.bufexists(cwd .. "/a.txt.gz"))
    contains("No language server", tools.fails("hover", args_of("hover", "d.txt")))
  end)

  test("paths: what Neovim's own plugins unpack is known", function()
    local is_packed = require("acp.tools.builtin.paths").is_packed
    local endings = 0
    for _, name in ipairs({ "gzip", "tarPlugin", "zipPlugin" }) do
      local path = vim.api.nvim_get_runtime_file(("plugin/%s.vim"):format(name), false)[1]
      local text = table.concat(vim.fn.readfile(path), "\n")
      for ending in text:gmatch("%*(%.[%w.]+)") do
        endings = endings + 1
        assert(is_packed("/p/a" .. ending), ending .. " is not known")
      end
    end
    same(true, endings > 70)
    for _, path in ipairs({ "/p/a.lrp", "/p/a.tlz4", "/p/tarfile:a", "/p/ZIPFILE:a/b" }) do
      assert(is_packed(path), path .. " is not known")
    end
    for _, path in ipairs({ "/p/a.txt", "/p/gz", "/p/my-tarfile:a" }) do
      assert(not is_packed(path), path .. " is not packed")
    end
  end)

  test("paths: of what servers name outside, only what the user has open is quoted", function()
    local elsewhere =
      tools.project({ ["x.txt"] = "secret\n", ["y.txt"] = "open\n", ["z.txt"] = "kept\n" })
    tools.edit("y.txt")
    local hidden = vim.fn.bufadd(elsewhere .. "/z.txt")
    vim.fn.bufload(hidden)
    local cwd = tools.project({ ["a.txt"] = "mine\n" })
    local spec = {
      name = "look",
      description = "look",
      handler = function(_, ctx)
        local line_of, lines = require("acp.tools.builtin.lsp.found").reader(ctx), {}
        for _, path in ipairs({ "/x.txt", "/y.txt", "/z.txt" }) do
          table.insert(lines, line_of(elsewhere .. path, 0) or "nothing")
        end
        table.insert(lines, line_of(cwd .. "/a.txt", 0) or "nothing")
        return table.concat(lines, " ")
      end,
    }
    local outcome = require("acp.tools.fake").run(spec, {}, { cwd = cwd })
    same("nothing open nothing mine", outcome.value or outcome.error)
  end)
end
