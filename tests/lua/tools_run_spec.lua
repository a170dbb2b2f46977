local support = require("support")
local same, contains, raises = support.same, support.contains, support.raises

--- Runs a handler; returns what came of it.
local function run(handler, args, opts)
  return require("acp.tools.run").fake({ name = "mine", handler = handler }, args, opts)
end

--- Fails unless a handler has exactly this outcome.
local function check(value, problem, handler, args, opts)
  local outcome = run(handler, args, opts)
  same({ value, problem }, { outcome.value, outcome.error })
  same(0, require("acp.tools.run").count())
  return outcome
end

--- Waits for something.
local function wait_for(what)
  same(true, (vim.wait(5000, what, 1)))
end

--- Begins a handler and does not wait for its end.
local function begin(handler, opts)
  return run(handler, {}, vim.tbl_extend("force", { timeout = 0 }, opts or {}))
end

return function(test)
  test("a handler returns its result, or nil and why", function()
    check("hello you", nil, function(args)
      return "hello " .. args.name
    end, { name = "you" })
    check(nil, nil, function() end)
    check(nil, "no such thing", function()
      return nil, "no such thing"
    end)
    check("x", nil, setmetatable({}, {
      __call = function()
        return "x"
      end,
    }))
  end)

  test("with a third parameter it ends when that is called, once", function()
    local outcome = check({ code = 0 }, nil, function(_, _, done)
      vim.system({ "true" }, {}, function(result)
        done({ code = result.code })
        done("once more")
      end)
      return "of no account"
    end)
    contains("it has ended already, and this is passed over", outcome.logged[1])
    check(nil, "why", function(_, _, done)
      done(nil, "why")
    end)
    check(nil, "broken", function()
      error("broken", 0)
    end)
  end)

  test("an error is the agent's message, the log has the rest", function()
    local outcome = check(nil, "it is broken", function()
      error("it is broken")
    end)
    contains("tool mine, call ", outcome.logged[1])
    contains("tools_run_spec.lua", outcome.logged[1])
    contains("stack traceback", outcome.logged[1])
    check(nil, "attempt to index local 'it' (a nil value)", function(args)
      local it = args.nothing
      return it.self
    end)
    same("{\n  code = 1\n}", run(function()
      error({ code = 1 })
    end).error)
    outcome = check(nil, "No such branch.", function(_, ctx)
      ctx.fail("No such branch.")
    end)
    same({}, outcome.logged)
    check(nil, "late", function(_, ctx)
      ctx.await(vim.schedule)
      error("late")
    end)
  end)

  test("await returns what it is resumed with, at once or later, from anywhere", function()
    check({ 1, nil, 3 }, nil, function(_, ctx)
      local a, b, c = ctx.await(function(resume)
        resume(1, nil, 3)
        resume(4)
      end)
      return { a, b, c }
    end)
    check("main loop", nil, function(_, ctx)
      -- It is called in a fast event.
      ctx.await(function(resume)
        vim.system({ "true" }, {}, resume)
      end)
      return vim.in_fast_event() and "fast event" or "main loop"
    end)
    check("in it", nil, function(_, ctx)
      local text
      local co = coroutine.create(function()
        text = ctx.await(function(resume)
          vim.schedule(function()
            resume("in it")
          end)
        end)
      end)
      coroutine.resume(co)
      ctx.await(function(resume)
        vim.defer_fn(resume, 30)
      end)
      return text
    end)
  end)

  test("a callback cannot wait; the error says what to do", function()
    check(nil, nil, function(_, ctx, done)
      vim.schedule(function()
        raises("ctx.read: only the handler itself can wait", function()
          ctx.read("/etc/hostname")
        end)
        done()
      end)
    end)
  end)

  test("one that is gone on with by others still waits for its answers", function()
    check("answer", nil, function(_, ctx)
      local co = coroutine.running()
      vim.schedule(function()
        coroutine.resume(co, "not the answer")
      end)
      return ctx.await(function(resume)
        vim.defer_fn(function()
          resume("answer")
        end, 20)
      end)
    end)
  end)

  test("one that waits in its own way is gone on with, or cancelled, and logged", function()
    local co
    local outcome = begin(function()
      co = coroutine.running()
      return (coroutine.yield("strange"))
    end)
    wait_for(function()
      return #outcome.logged > 0
    end)
    contains("it waits, but not by its context", outcome.logged[1])
    coroutine.resume(co, "mine")
    same("mine", outcome.value)
    outcome = begin(function()
      coroutine.yield()
    end)
    wait_for(function()
      return #outcome.logged > 0
    end)
    outcome.cancel()
    same(0, require("acp.tools.run").count())
  end)

  test("files are read and written by the client, relative to the session's folder", function()
    local path = vim.fn.tempname()
    vim.fn.writefile({ "one", "two", "three" }, path)
    local folder, name = vim.fs.dirname(path), vim.fs.basename(path)
    local outcome = check("two\n", nil, function(_, ctx)
      local text = ctx.read(name, { line = 2, limit = 1 })
      same(true, ctx.write(name, "new"))
      same("new", ctx.read("./" .. name))
      return text
    end, {}, { cwd = folder })
    same({ [path] = "new" }, outcome.written)
    same({ "one", "two", "three" }, vim.fn.readfile(path))
    check(nil, "it is locked", function(_, ctx)
      return ctx.write("/x", "y")
    end, {}, {
      write = function()
        return nil, "it is locked"
      end,
    })
    check(nil, "/nowhere: No such file or directory", function(_, ctx)
      return ctx.read("/nowhere")
    end)
  end)

  test("the user is asked by a form; without fields it is a yes or no", function()
    local answers = { { "accept", { name = "x" } }, { "decline" } }
    local schema = { type = "object", properties = { name = { type = "string" } } }
    local outcome = check({ "accept", "x", "decline" }, nil, function(_, ctx)
      local action, content = ctx.ask({ message = "Which?", schema = schema })
      return { action, content.name, (ctx.ask({ message = "Sure?" })) }
    end, {}, {
      ask = function()
        return unpack(table.remove(answers, 1))
      end,
    })
    same({
      { message = "Which?", schema = schema },
      { message = "Sure?", schema = { type = "object", properties = vim.empty_dict() } },
    }, outcome.asked)
  end)

  test("invalid arguments of the context are named", function()
    for text, body in pairs({
      ["ctx.read: path: expected a path, got nil"] = function(ctx)
        ctx.read()
      end,
      ["ctx.read: range.line: expected a count from 1 or nil, got number"] = function(ctx)
        ctx.read("x", { line = 0 })
      end,
      ["ctx.write: text: expected string, got nil"] = function(ctx)
        ctx.write("x")
      end,
      ["ctx.ask: form.message: expected a text, got nil"] = function(ctx)
        ctx.ask({})
      end,
      ["ctx.await: start: expected function, got nil"] = function(ctx)
        ctx.await()
      end,
      ["ctx.on_cancel: fn: expected function, got nil"] = function(ctx)
        ctx.on_cancel()
      end,
      ["ctx.progress: done: expected number, got string"] = function(ctx)
        ctx.progress("x")
      end,
    }) do
      check(nil, text, function(_, ctx)
        body(ctx)
      end)
    end
  end)

  test("progress is reported immediately, then at a limited rate", function()
    local outcome = run(function(_, ctx)
      for i = 1, 1000 do
        ctx.progress(i, 1000)
      end
      ctx.await(function(resume)
        vim.defer_fn(resume, 200)
      end)
    end)
    local told = outcome.progress
    same({ { 1, 1000 }, { 1000, 1000 } }, { told[1], told[#told] })
    same(true, #told < 50)
  end)

  test("a cancelled call is notified, resumes with nil, and its result is dropped", function()
    local heard, is_waiting, read, again = {}, false, nil, nil
    local outcome = begin(function(_, ctx)
      ctx.on_cancel(function()
        table.insert(heard, ctx.is_cancelled())
        error("of no account")
      end)
      ctx.on_cancel(function()
        table.insert(heard, "second")
      end)
      read = {
        ctx.await(function()
          is_waiting = true
        end),
      }
      again = { ctx.read("/etc/hostname") }
      return "too late"
    end)
    wait_for(function()
      return is_waiting
    end)
    outcome.cancel()
    outcome.cancel()
    wait_for(function()
      return again
    end)
    same({ { nil, "cancelled" }, { nil, "cancelled" }, { true, "second" } }, { read, again, heard })
    same({ false, 0 }, { outcome.is_done, require("acp.tools.run").count() })
    contains("of no account", outcome.logged[1])
  end)

  test("a call that is cancelled before it has begun never begins", function()
    local began = false
    begin(function()
      began = true
    end).cancel()
    local is_after = false
    vim.schedule(function()
      vim.schedule(function()
        is_after = true
      end)
    end)
    wait_for(function()
      return is_after
    end)
    same(false, began)
  end)

  test("a handler that asks forever is ended after its call", function()
    local times, problem = 0, nil
    local outcome = begin(function(_, ctx)
      local ok
      ok, problem = pcall(function()
        while ctx.ask({ message = "Well?" }) ~= "accept" do
          times = times + 1
        end
      end)
    end, {
      ask = function()
        return "decline"
      end,
    })
    wait_for(function()
      return times > 2
    end)
    outcome.cancel()
    wait_for(function()
      return problem
    end)
    same("cancelled", problem)
  end)

  test("nothing is asked for once a call is over", function()
    local later
    check("done", nil, function(_, ctx)
      later = ctx
      return "done"
    end)
    local result
    coroutine.wrap(function()
      later.progress(1)
      result = { later.read("/etc/hostname") }
    end)()
    same({ nil, "over" }, result)
    same(false, later.is_cancelled())
  end)

  test("no handler runs while the text is locked", function()
    local outcome, was_done
    local co_ran_at
    vim.keymap.set("n", "<F2>", function()
      outcome = begin(function()
        co_ran_at = "later"
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { "changed" })
        return "changed"
      end)
      -- Scheduled functions run in here, under textlock.
      vim.wait(100, function()
        return outcome.is_done
      end, 1)
      was_done = outcome.is_done
      return ""
    end, { expr = true })
    vim.api.nvim_feedkeys(vim.keycode("<F2>"), "xt", false)
    vim.keymap.del("n", "<F2>")
    same({ false, nil }, { was_done, nil })
    same(true, outcome.wait())
    same({ "changed", nil, "later" }, { outcome.value, outcome.error, co_ran_at })
    same({ "changed" }, vim.api.nvim_buf_get_lines(0, 0, -1, false))
  end)
end
