--- `confirm`, `choose` and `ask`: questions that only the user can answer.
---
--- Invariant: silence is not consent: every answer other than a clear yes is reported as it is.

--- Asks the user; raises an error if the call ends before the answer.
---@return "accept"|"decline"|"cancel" action
---@return table? content
local function put(ctx, message, schema, importance)
  local action, content = ctx.ask({ message = message, schema = schema, importance = importance })
  if not action then
    ctx.fail("The user has not answered: " .. tostring(content or "cancelled"))
  end
  return action, content
end

--- The names of answers without content.
local WORDS = { decline = "declined", cancel = "dismissed" }

---@param args { action: string, details?: string, importance?: string }
local function confirm(args, ctx)
  local message = args.action
  if args.details and vim.trim(args.details) ~= "" then
    message = message .. "\n\n" .. args.details
  end
  local action = put(ctx, message, nil, args.importance)
  local answer = ({ accept = "yes", decline = "no" })[action] or "dismissed"
  return { confirmed = answer == "yes", answer = answer }
end

--- Returns the options for the form, and their labels by value.
local function choices(ctx, options)
  local out, labels = {}, {}
  for number, option in ipairs(options) do
    local choice = type(option) == "string" and { value = option } or option
    if labels[choice.value] then
      local text = "options[%d]: the value %q is there twice; each option needs its own."
      ctx.fail(text:format(number - 1, choice.value))
    end
    labels[choice.value] = choice.label or choice.value
    out[number] = {
      const = choice.value,
      title = labels[choice.value],
      description = choice.description,
    }
  end
  return out, labels
end

---@param args { question: string, options: (string|table)[], multiple?: boolean }
local function choose(args, ctx)
  local options, labels = choices(ctx, args.options)
  local field = { type = "string", title = "Choose one", oneOf = options }
  if args.multiple then
    field = { type = "array", title = "Choose any", items = { anyOf = options } }
  end
  local action, content = put(ctx, args.question, {
    type = "object",
    properties = { choice = field },
    required = not args.multiple and { "choice" } or nil,
  })
  local choice = content and content.choice
  if action ~= "accept" then
    return { answer = WORDS[action] or "dismissed" }
  elseif args.multiple then
    local values = type(choice) == "table" and choice or {}
    return {
      answer = "chosen",
      values = values,
      labels = vim.tbl_map(function(value)
        return labels[value] or value
      end, values),
      note = #values == 0 and "The user has submitted the form with nothing ticked." or nil,
    }
  end
  return { answer = "chosen", value = choice, label = labels[choice] }
end

---@param args { question: string, placeholder?: string, default?: string }
local function ask(args, ctx)
  local action, content = put(ctx, args.question, {
    type = "object",
    properties = {
      answer = {
        type = "string",
        title = "Answer",
        description = args.placeholder,
        default = args.default,
      },
    },
    required = { "answer" },
  })
  if action ~= "accept" then
    return { answer = WORDS[action] or "dismissed" }
  end
  return { answer = "given", text = content and content.answer or "" }
end

local NO_ANSWER = " If it is declined or dismissed, do not guess: go on without it, or stop."

return {
  {
    name = "confirm",
    title = "Ask for confirmation",
    description = "Asks the user to confirm one action before you take it, and waits for the "
      .. "answer: yes, no, or dismissed (neither: treat it as no). Use it before what is hard to "
      .. "undo or reaches beyond the project: deleting, publishing, deploying, sending, spending. "
      .. "Not for what the user has asked for in so many words, and not for edits: those can be "
      .. "reviewed.",
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        action = {
          type = "string",
          minLength = 1,
          description = "What you are about to do, as a short sentence or question.",
        },
        details = {
          type = "string",
          description = "What the user should know to decide: the command, what is affected, "
            .. "whether it can be undone.",
        },
        importance = {
          type = "string",
          enum = { "low", "medium", "high", "critical" },
          description = "How much depends on it; it is told to the user.",
        },
      },
      required = { "action" },
      additionalProperties = false,
    },
    handler = confirm,
  },
  {
    name = "choose",
    title = "Let the user choose",
    description = "Lets the user choose one of some options, or any of them, and waits for the "
      .. "answer. Use it when there are several good ways and the choice is a matter of what the "
      .. "user wants; put the one you recommend first and say why in its description."
      .. NO_ANSWER,
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        question = { type = "string", minLength = 1, description = "What is to be chosen." },
        options = {
          type = "array",
          minItems = 2,
          maxItems = 50,
          description = "What there is to choose from: texts, or objects with more to say.",
          items = {
            anyOf = {
              { type = "string", minLength = 1 },
              {
                type = "object",
                properties = {
                  value = {
                    type = "string",
                    minLength = 1,
                    description = "What comes back to you.",
                  },
                  label = {
                    type = "string",
                    description = "What the user reads. Default: the value.",
                  },
                  description = {
                    type = "string",
                    description = "What it means, in a few words.",
                  },
                },
                required = { "value" },
                additionalProperties = false,
              },
            },
          },
        },
        multiple = {
          type = "boolean",
          description = "Any number of them can be chosen. Default: false.",
        },
      },
      required = { "question", "options" },
      additionalProperties = false,
    },
    handler = choose,
  },
  {
    name = "ask",
    title = "Ask the user",
    description = "Asks the user one question that is answered in their own words, and waits for "
      .. "the answer. Use it for what only the user can know: a name, a version, an intention. For "
      .. "yes or no use confirm, for a few options choose; look for what the files can tell you "
      .. "yourself."
      .. NO_ANSWER,
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        question = { type = "string", minLength = 1, description = "The question." },
        placeholder = {
          type = "string",
          description = "A hint beside the field: an example, or the form of the answer.",
        },
        default = { type = "string", description = "What stands in the field at first." },
      },
      required = { "question" },
      additionalProperties = false,
    },
    handler = ask,
  },
}
