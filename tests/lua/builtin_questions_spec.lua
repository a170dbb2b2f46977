local support, tools = require("support"), require("builtin")
local same, contains = support.same, support.contains

--- Calls a tool while the user answers; returns its result and how they were asked.
local function answered(name, args, action, content)
  local outcome = tools.run(name, args, {
    ask = function()
      return action, content
    end,
  })
  same(nil, outcome.error)
  return outcome.value, outcome.asked[1]
end

return function(test)
  test("confirm: only a yes is a yes", function()
    local args = { action = "Deploy to production" }
    same({ confirmed = true, answer = "yes" }, (answered("confirm", args, "accept", {})))
    same({ confirmed = false, answer = "no" }, (answered("confirm", args, "decline")))
    same({ confirmed = false, answer = "dismissed" }, (answered("confirm", args, "cancel")))
    contains("The user has not answered: nobody is there", tools.fails("confirm", args))
  end)

  test("confirm: the importance and the details are shown", function()
    local _, asked = answered("confirm", { action = "Deploy" }, "accept")
    same("Deploy", asked.message)
    _, asked = answered("confirm", {
      action = "Deploy",
      details = "It takes long.",
      importance = "critical",
    }, "accept")
    same("Deploy\n\nIt takes long.", asked.message)
    same("critical", asked.schema["x-importance"])
  end)

  test("choose: from strings or from labelled options", function()
    local args = {
      question = "Which?",
      options = { "a", { value = "b", label = "B", description = "the better one" } },
    }
    local result, asked = answered("choose", args, "accept", { choice = "b" })
    same({ answer = "chosen", value = "b", label = "B" }, result)
    same("Which?", asked.message)
    same({
      type = "object",
      properties = {
        choice = {
          type = "string",
          title = "Choose one",
          oneOf = {
            { const = "a", title = "a" },
            { const = "b", title = "B", description = "the better one" },
          },
        },
      },
      required = { "choice" },
    }, asked.schema)
    same({ answer = "declined" }, (answered("choose", args, "decline")))
    same({ answer = "dismissed" }, (answered("choose", args, "cancel")))
  end)

  test("choose: any of them, or none", function()
    local args =
      { question = "Which?", options = { "a", { value = "b", label = "B" } }, multiple = true }
    local result, asked = answered("choose", args, "accept", { choice = { "a", "b" } })
    same({ answer = "chosen", values = { "a", "b" }, labels = { "a", "B" } }, result)
    same("array", asked.schema.properties.choice.type)
    same(
      { { const = "a", title = "a" }, { const = "b", title = "B" } },
      asked.schema.properties.choice.items.anyOf
    )
    result = answered("choose", args, "accept", {})
    same({}, result.values)
    contains("nothing ticked", result.note)
  end)

  test("choose: a duplicate value is reported without asking", function()
    local outcome = tools.run("choose", { question = "?", options = { "a", { value = "a" } } })
    contains('options[1]: the value "a" is there twice', outcome.error)
    same({}, outcome.asked)
  end)

  test("ask: the user's words", function()
    local args = { question = "Which version?", placeholder = "1.2.3", default = "1.0.0" }
    local result, asked = answered("ask", args, "accept", { answer = "2.0.0" })
    same({ answer = "given", text = "2.0.0" }, result)
    same("Which version?", asked.message)
    same(
      { type = "string", title = "Answer", description = "1.2.3", default = "1.0.0" },
      asked.schema.properties.answer
    )
    same({ answer = "declined" }, (answered("ask", args, "decline")))
    same({ answer = "dismissed" }, (answered("ask", args, "cancel")))
  end)
end
