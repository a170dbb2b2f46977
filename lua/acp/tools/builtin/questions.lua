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

return {
  {
    name = "confirm",
    title = "Ask for confirmation",
    description = "Asks the user yes or no. Use it before what cannot be undone.",
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        action = {
          type = "string",
          minLength = 1,
          description = "What you will do.",
        },
        details = {
          type = "string",
          description = "What it affects.",
        },
        importance = {
          type = "string",
          enum = { "low", "medium", "high", "critical" },
          description = "Shown to the user.",
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
    description = "Lets the user choose. Use it for matters of taste.",
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        question = { type = "string", minLength = 1, description = "The question." },
        options = {
          type = "array",
          minItems = 2,
          maxItems = 50,
          description = "Texts or objects.",
          items = {
            anyOf = {
              { type = "string", minLength = 1 },
              {
                type = "object",
                properties = {
                  value = { type = "string", minLength = 1 },
                  label = { type = "string" },
                  description = { type = "string" },
                },
                required = { "value" },
                additionalProperties = false,
              },
            },
          },
        },
        multiple = {
          type = "boolean",
          description = "Allow several.",
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
    description = "Asks the user. Use it for what only they can know.",
    kind = "other",
    read_only = true,
    permission = "allow",
    parameters = {
      type = "object",
      properties = {
        question = { type = "string", minLength = 1, description = "The question." },
        placeholder = {
          type = "string",
          description = "Example.",
        },
        default = { type = "string", description = "Initial text." },
      },
      required = { "question" },
      additionalProperties = false,
    },
    handler = ask,
  },
}
