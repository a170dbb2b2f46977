--- The schema of `agents`: what an agent's table has, and the presets.

local field = require("acp.schema.field")

--- The presets: agents that need no configuration, by name.
---@type table<string, acp.Agent>
local presets = {}
for name, preset in pairs(require("acp.presets")) do
  presets[name] = {
    command = preset.command,
    args = preset.args or {},
    env = preset.env or {},
    headers = {},
    missing_file = preset.missing_file or "error",
    install = preset.install,
    additional_dirs = {},
    mcp_servers = {},
    tools = "stdio",
    options = {},
  }
end

---@type acp.schema.Node
local agent = {
  kind = "record",
  class = "acp.Agent",
  check = function(one)
    if one.url and not one.url:find("^https?://%S+$") then
      return "url", ("expected an http or https address, got %q"):format(one.url)
    end
    for id, value in vim.spairs(one.options) do
      if type(value) ~= "string" and type(value) ~= "boolean" then
        one.options[id] = nil
        return "options", ("expected string or boolean for %q, got %s"):format(id, type(value))
      end
    end
  end,
  fields = {
    field("command", {
      kind = "string",
      required = "url",
      doc = "The program: a name on `$PATH` or a path. Required, except for presets and with a "
        .. "`url`.",
    }),
    field("args", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "Arguments of the command. They replace those of a preset.",
    }),
    field("env", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      default = {},
      doc = "Variables added to Neovim's environment, which the agent inherits.",
    }),
    field("url", {
      kind = "string",
      doc = "The URL of an agent that speaks AG-UI, instead of a command; see |acp-agui|.",
    }),
    field("headers", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      default = {},
      doc = "HTTP headers for that URL.",
    }),
    field("cwd", {
      kind = "string",
      doc = "The folder in which its sessions work. Default: the current folder (|:pwd|) when a "
        .. "session starts.",
    }),
    field("additional_dirs", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "More folders for its sessions, if the agent supports them. It may read and write "
        .. "there through Neovim.",
    }),
    require("acp.schema.mcp_servers")(
      "MCP servers for this agent, added to |acp-config-mcp_servers|: a list, or a function as "
        .. "described there.",
      true
    ),
    field("tools", {
      kind = "enum",
      values = { "stdio", false },
      gone = {
        http = 'agents no longer reach the tools over HTTP; write "stdio", which every agent supports, '
          .. "or remove the key",
      },
      default = "stdio",
      doc = 'How its sessions reach the tools of Neovim (|acp-tools|): "stdio" by a program that '
        .. "the agent starts. `false`: it gets no tools.",
    }),
    field("mode", {
      kind = "string",
      doc = "The mode of its new sessions, by its id or name; `:Acp mode` lists them. It is set "
        .. "before the first prompt.",
    }),
    field("model", {
      kind = "string",
      doc = "The model of its new sessions, by its id or name.",
    }),
    field("options", {
      kind = "map",
      placeholder = "id",
      default = {},
      doc = "Other options of its new sessions, by the option's id: the id or name of a value, or "
        .. "a boolean. `:Acp config` lists them. The chat says which of them the agent does not "
        .. "have.",
    }),
    field("missing_file", {
      kind = "enum",
      values = { "error", "empty" },
      default = "error",
      doc = "The answer when the agent reads a file that does not exist: an error, or an empty "
        .. 'text. The preset of Gemini CLI uses "empty", because an error would stop it from '
        .. "creating new files.",
    }),
    field("install", {
      kind = "string",
      doc = "How to install the command, shown by |:checkhealth| and `:Acp agents`.",
    }),
  },
}

---@type acp.schema.Node
return {
  kind = "map",
  placeholder = "name",
  item = agent,
  default = presets,
  doc = "The agents, by their names for |:AcpChat|. Presets (|acp-agents|) are already "
    .. "defined; a key set here for a preset replaces only that key.",
}
