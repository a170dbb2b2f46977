local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

local function help(query, limit)
  return tools.call("help", { query = query, limit = limit })
end

--- Returns the tags of the returned topics, in order.
local function told(text)
  local tags = {}
  for tag in ("\n\n" .. text):gmatch("\n\n%*(%S+)%* %(") do
    table.insert(tags, tag)
  end
  return tags
end

return function(test)
  test("help: a topic by its tag, and as agents write it", function()
    tools.project({})
    local text = help("nvim_buf_set_lines()")
    same({ "nvim_buf_set_lines()" }, told(text))
    contains("Sets (replaces) a line-range in the buffer.", text)
    for query, tag in pairs({
      nvim_buf_set_lines = "nvim_buf_set_lines()",
      ["vim.api.nvim_buf_set_lines"] = "nvim_buf_set_lines()",
      ["vim.fn.getregion"] = "getregion()",
      ["vim.lsp.start"] = "vim.lsp.start()",
      [":help 'tabstop'"] = "'tabstop'",
      ["vim.bo.tabstop"] = "'tabstop'",
      ["|jumplist|"] = "jumplist",
      substitute = ":substitute",
      ["substitute()"] = "substitute()",
      ["<C-w>"] = "CTRL-W",
    }) do
      same(tag, told(help(query))[1])
    end
  end)

  test("help: a topic ends where the next begins, and the rest is named", function()
    tools.project({})
    local text = help("'tabstop'")
    same({ "'tabstop'" }, told(text))
    same(nil, text:find("*'tagbsearch'*", 1, true))
    text = help("nvim_buf_set", 2)
    same(2, #told(text))
    contains("Other tags that fit: ", text)
    contains("nvim_buf_set_extmark()", text)
  end)

  test("help: parts of a tag, words in any order, a name without its underscores", function()
    tools.project({})
    contains("jumplist", help("umplis"))
    contains("nvim_win_set_cursor()", help("cursor nvim_win_set"))
    same("nvim_buf_set_lines()", told(help("nvimbufsetlines"))[1])
  end)

  test(
    "help: words that are no tag are looked for in the text, and what is not there is told",
    function()
      tools.project({})
      local cwd = tools.project({ ["doc/own.txt"] = "one\ntwo\nA Wombat, digging deep\nfour\n" })
      vim.opt.runtimepath:append(cwd)
      local text = help("wombat, digging")
      contains('No help tag fits "wombat, digging"', text)
      contains("own.txt, line 3:\n\none\ntwo\nA Wombat, digging deep\nfour", text)
      contains("A Wombat, digging deep", help("how deep is the wombat"))
      vim.opt.runtimepath:remove(cwd)
      contains('has "zqxjkw zqxjkv" in it', help("zqxjkw zqxjkv"))
      contains("query is empty", tools.fails("help", { query = "  " }))
    end
  )

  test("help: a plugin's help that comes later is found", function()
    local cwd = tools.project({ ["doc/mine.txt"] = "*my-own-tag*\nMine alone.\n" })
    contains("No", help("my-own-tag"):match("^No") or "")
    vim.cmd("helptags " .. vim.fn.fnameescape(cwd .. "/doc"))
    vim.opt.runtimepath:append(cwd)
    same({ "my-own-tag" }, told(help("my-own-tag")))
    contains("Mine alone.", help("my-own-tag"))
    vim.opt.runtimepath:remove(cwd)
  end)

  --- Fails if a query returns "HIDDEN" while a folder is on the runtime path.
  local function check_hidden(folder)
    vim.opt.runtimepath:append(folder)
    for _, query in ipairs({ "a-secret", "hidden-ta", "wombat wombat" }) do
      same(nil, help(query):find("HIDDEN", 1, true))
    end
    vim.opt.runtimepath:remove(folder)
  end

  test("help: pipes and huge files are not read", function()
    local cwd = tools.project({
      ["pipe/doc/tags"] = "a-secret\tpipe.txt\t/*\n",
      ["huge/doc/tags"] = "a-secret\thuge.txt\t/*\n",
      ["huge/doc/huge.txt"] = "*a-secret* HIDDEN wombat\n" .. ("x"):rep(4 * 1024 * 1024),
      ["tags/doc/own.txt"] = "mine\n",
    })
    vim.fn.system({ "mkfifo", cwd .. "/pipe/doc/pipe.txt", cwd .. "/tags/doc/tags" })
    same(0, vim.v.shell_error)
    for _, name in ipairs({ "pipe", "huge", "tags" }) do
      check_hidden(cwd .. "/" .. name)
    end
  end)

  test("help: what a session's folder leads out to is not read", function()
    local elsewhere = tools.project({
      ["secret.txt"] = "*a-secret* HIDDEN wombat\n",
      ["tags"] = "HIDDEN-tag\tsecret.txt\t/*\n",
    })
    local cwd = tools.project({
      ["link/doc/tags"] = "a-secret\tlink.txt\t/*\n",
      ["up/doc/tags"] = ("a-secret\t../../../%s/secret.txt\t/*\n"):format(
        vim.fs.basename(elsewhere)
      ),
      ["folder/a.txt"] = "",
    })
    assert(vim.uv.fs_symlink(elsewhere .. "/secret.txt", cwd .. "/link/doc/link.txt"))
    assert(vim.uv.fs_symlink(elsewhere, cwd .. "/folder/doc"))
    -- A folder of the session by a name that is outside.
    assert(vim.uv.fs_symlink(cwd .. "/link", elsewhere .. "/back"))
    for _, folder in ipairs({ cwd .. "/link", cwd .. "/up", cwd .. "/folder", elsewhere .. "/back" }) do
      check_hidden(folder)
    end
    -- A session that may read the tags does not pass them on.
    vim.opt.runtimepath:append(cwd .. "/folder")
    contains("HIDDEN", tools.call("help", { query = "hidden-ta" }, { cwd = elsewhere }))
    check_hidden(cwd .. "/folder")
  end)

  test("help: opens nothing", function()
    tools.project({})
    local bufs, wins = vim.api.nvim_list_bufs(), vim.api.nvim_list_wins()
    help("jumplist")
    help("words that are nowhere a tag")
    same({ bufs, wins }, { vim.api.nvim_list_bufs(), vim.api.nvim_list_wins() })
  end)
end
