--- The schema of `permissions.rules`: what a rule has, and which rules mean nothing.

local field = require("acp.schema.field")
local kinds = require("acp.kinds")

--- The kinds that a `path` may allow, because they act only on the paths they name.
local by_path = { "read", "edit", "delete", "move", "search", "other" }

--- Returns the invalid key of a rule ("" for the rule itself) and the reason.
---@return string? key
---@return string? why
local function check_rule(rule)
  if not (rule.agent or rule.kind or rule.path or rule.command) then
    return "", "the rule matches nothing: expected agent, kind, path or command"
  elseif rule.action ~= "allow" then
    return
  elseif not (rule.path or rule.command) then
    return "", '"allow" needs a limit: expected path or command'
  elseif not rule.command then
    local given = rule.kind or {}
    for _, kind in ipairs(type(given) == "table" and given or { given }) do
      if not vim.list_contains(by_path, kind) then
        local text = "a path alone cannot allow %q: %s"
        local advice = kind == "execute" and "add a command to the rule"
          or "Neovim always asks for these"
        return "kind", text:format(kind, advice)
      end
    end
  end
end

---@type acp.schema.Node
local rule = {
  kind = "record",
  class = "acp.Rule",
  closed = true,
  check = check_rule,
  fields = {
    field("action", {
      kind = "enum",
      values = { "allow", "reject", "ask" },
      required = true,
      doc = "The answer to a request that the rule matches.",
    }),
    field("agent", {
      kind = "string",
      doc = "The agent's name in the configuration; `*` matches any characters, `?` one.",
    }),
    field("kind", {
      kind = "strings",
      values = kinds,
      doc = "The kind of tool call, or a list of kinds: " .. table.concat(kinds, ", ") .. ".",
    }),
    field("path", {
      kind = "strings",
      doc = "A glob, or a list of globs, for the files that the request names.",
    }),
    field("command", {
      kind = "strings",
      doc = "A pattern, or a list of patterns, for the commands that the request runs.",
    }),
  },
}

---@type acp.schema.Node
return {
  kind = "list",
  item = rule,
  strict = true,
  default = {},
  doc = "Rules that answer permission requests for you. See |acp-rules|. Any mistake in "
    .. "the list disables all rules, and you are asked about every request.",
}
