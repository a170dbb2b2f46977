local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

--- Edits a.txt with this text; returns the result and the written text.
local function edited(text, edits)
  tools.project({ ["a.txt"] = text })
  local outcome = tools.run("edit", { path = "a.txt", edits = edits })
  same(nil, outcome.error)
  return outcome.value, outcome.written[tools.cwd .. "/a.txt"]
end

--- Checks why an edit of a.txt, which has this text, is refused.
local function refused(text, edits, ...)
  tools.project({ ["a.txt"] = text })
  local outcome = tools.run("edit", { path = "a.txt", edits = edits })
  same({ written = {}, logged = {} }, { written = outcome.written, logged = outcome.logged })
  for _, part in ipairs({ ... }) do
    contains(part, outcome.error)
  end
end

return function(test)
  test("edit: exact texts, one after another", function()
    local result, text = edited("one\ntwo\nthree\n", {
      { old_text = "two\n", new_text = "2\n2½\n" },
      { old_text = "2½\nthree", new_text = "3" },
    })
    same("one\n2\n3\n", text)
    same({ true, "a.txt" }, { result.changed, result.path })
    same({ { line = 2, end_line = 3, removed = 2, added = 2 } }, result.lines)
    contains("a.txt is changed: 2 lines added, 2 removed, in 1 place.", result.note)
    contains("The user can review it", result.note)
  end)

  test("edit: each of several, where all is said", function()
    local _, text = edited("a.a%a\n", { { old_text = "a", new_text = "aa", all = true } })
    same("aa.aa%aa\n", text)
    local result
    result, text = edited("a\nb\n", { { old_text = "b\n", new_text = "" } })
    same("a\n", text)
    same({ { line = 1, end_line = 1, removed = 1, added = 0 } }, result.lines)
  end)

  test("edit: the buffer's text is what counts", function()
    tools.project({ ["a.txt"] = "saved\n" })
    tools.edit("a.txt")
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "unsaved" })
    local edits = { { old_text = "unsaved", new_text = "edited" } }
    local outcome = tools.run("edit", { path = "a.txt", edits = edits })
    same("edited\n", outcome.written[tools.cwd .. "/a.txt"])
  end)

  test("edit: line ends stay what they are", function()
    local two = { { old_text = "b\nc", new_text = "B\nC\nD" } }
    local _, text = edited("a\r\nb\r\nc", two)
    same("a\r\nB\r\nC\r\nD", text)
    _, text = edited("a\nb\nc", two)
    same("a\nB\nC\nD", text)
    -- Mixed ones are part of the text.
    _, text = edited("a\r\nb\nc\n", two)
    same("a\r\nB\nC\nD\n", text)
    tools.project({ ["a.txt"] = "a\r\n" })
    local outcome = tools.run("edit", { path = "a.txt", content = "b\nc\n" })
    same("b\r\nc\r\n", outcome.written[tools.cwd .. "/a.txt"])
    outcome = tools.run("edit", { path = "new.txt", content = "b\r\nc\r\n" })
    same("b\r\nc\r\n", outcome.written[tools.cwd .. "/new.txt"])
  end)

  test("edit: a whole file, a new one, and one that is like that already", function()
    tools.project({ ["a.txt"] = "a\n" })
    local outcome = tools.run("edit", { path = "a.txt", content = "b\nc\n" })
    same("b\nc\n", outcome.written[tools.cwd .. "/a.txt"])
    same(nil, outcome.value.created)
    outcome = tools.run("edit", { path = "d/new.txt", content = "x\n" })
    same("x\n", outcome.written[tools.cwd .. "/d/new.txt"])
    same({ true, nil }, { outcome.value.created, outcome.value.lines })
    contains("d/new.txt is created.", outcome.value.note)
    outcome = tools.run("edit", { path = "a.txt", content = "a\n" })
    same({ {}, false }, { outcome.written, outcome.value.changed })
    -- An agent whose missing files read as empty ones creates them, too.
    outcome = tools.run("edit", { path = "new.txt", content = "" }, {
      read = function()
        return ""
      end,
    })
    same({ [tools.cwd .. "/new.txt"] = "" }, outcome.written)
  end)

  test("edit: a repeated text is reported with its lines", function()
    local edits = { { old_text = "x", new_text = "y" } }
    refused("x\na\nx\nx\n", edits, "edits[0]: old_text is 3 times in a.txt, at lines 1, 3 and 4.")
    refused(("x\n"):rep(30), edits, "30 times", "9, 10 and 20 more", "Nothing was written.")
  end)

  test("edit: why a text is not there", function()
    local function check(text, old, ...)
      refused(
        text,
        { { old_text = old, new_text = "new" } },
        "edits[0]: old_text is not in a.txt.",
        ...
      )
    end
    check(
      "if x\n\treturn 1\nend\n",
      "if x\n  return 1\nend",
      "At line 1 it differs only in white space; the text there is exactly:\nif x\n\treturn 1\nend"
    )
    check(
      "a\n  local  x = 1 -- one\n",
      "local x = 1",
      "At line 2 it differs only in white space",
      "  local  x = 1 -- one"
    )
    check(
      "a\nfunction one()\n  b\n",
      "function one()\n  c",
      "Its first line is at line 2, but what follows differs."
    )
    check("a\nnew\n", "old", "The new text is there already, at line 2")
    check("a\n", "b", "read it again with read_buffer")
    check("", "b", "read it again with read_buffer")
  end)

  test("edit: when one does not fit, nothing is written", function()
    refused("a\nb\n", {
      { old_text = "a", new_text = "x" },
      { old_text = "a", new_text = "y" },
    }, "edits[1]: old_text is not in a.txt. Nothing was written.")
    refused(
      "a\n",
      { { old_text = "a", new_text = "a" } },
      "edits[0]: old_text and new_text are the same."
    )
  end)

  test("edit: impossible edits are reported", function()
    tools.project({ ["a.txt"] = "a\n" })
    local edits = { { old_text = "a", new_text = "b" } }
    contains("Give either edits or content", tools.fails("edit", { path = "a.txt" }))
    contains(
      "Give either edits or content",
      tools.fails("edit", { path = "a.txt", edits = edits, content = "x" })
    )
    contains("is a folder", tools.fails("edit", { path = ".", content = "x" }))
    contains("There is no file b.txt", tools.fails("edit", { path = "b.txt", edits = edits }))
    contains(
      "a.txt was not written: lines 1 to 1 are the user's",
      tools.fails("edit", { path = "a.txt", edits = edits }, {
        write = function()
          return nil, "lines 1 to 1 are the user's"
        end,
      })
    )
    contains(
      "a.txt cannot be read: it is outside",
      tools.fails("edit", { path = "a.txt", content = "x" }, {
        read = function()
          return nil, "it is outside"
        end,
      })
    )
  end)
end
