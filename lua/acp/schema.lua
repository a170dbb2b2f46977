--- The configuration keys: type, default and description of each.
---
--- Validation (acp.config), the help's list of keys and the user's types (tools/gen-help.lua) are
--- all derived from this file and those in schema/; a `doc` is one paragraph of help text.

local field = require("acp.schema.field")

--- The possible parts of a statusline.
local parts = {
  "agent",
  "phase",
  "plan",
  "mode",
  "model",
  "tools",
  "review",
  "usage",
  "cost",
  "title",
  "questions",
}

---@type acp.schema.Node
local tools = {
  kind = "record",
  class = "acp.Config.Tools",
  doc = "The tools that Neovim offers to agents. See |acp-tools|.",
  fields = {
    field("enabled", {
      kind = "boolean",
      default = true,
      doc = "Offers the tools in new sessions.",
    }),
    field("builtin", {
      kind = "enum",
      values = { "default", "all", false },
      item = { kind = "string" },
      default = "default",
      doc = 'The built-in tools (|acp-tools-builtin|) that are offered: "default" are those for what '
        .. 'agents cannot do themselves; "all" makes each request to the agent\'s model longer; or a '
        .. "list of names, or `false` for none. `:Acp tools` shows which are on.",
    }),
    field("permissions", {
      kind = "map",
      placeholder = "name",
      item = { kind = "enum", values = { "allow", "ask", "reject" } },
      default = {},
      doc = 'Permission per tool name, instead of the tool\'s own setting: "allow" (runs without '
        .. 'asking), "ask" or "reject" (never runs).',
    }),
    field("disabled", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "Names of tools that are not offered to agents. `:Acp tools` switches tools on and off "
        .. "until you quit Neovim.",
    }),
    field("time_limit", {
      kind = "number",
      above_zero = true,
      default = 60,
      doc = "Time limit in seconds for tools that do not set their own. Time spent waiting for "
        .. "your answers does not count.",
    }),
  },
}

---@type acp.schema.Node
local root = {
  kind = "record",
  class = "acp.Config",
  fields = {
    field("agents", require("acp.schema.agents")),
    field("default_agent", {
      kind = "string",
      doc = "The agent of |:AcpChat| without a name, where no chat was open before. Default: of the "
        .. "agents in your configuration, the first by name that is installed, else the first; "
        .. "without any, the tutor.",
    }),
    field("library", {
      kind = "string",
      doc = "The path of the plugin's library. Default: the newest `libacp_nvim.so` (macOS: "
        .. "`.dylib`) in `target/release`, `target/debug` and `lib` of the plugin's folder and in "
        .. "`release` and `debug` of `$CARGO_TARGET_DIR`. Only read when the library is loaded.",
    }),
    field("permissions", {
      kind = "record",
      class = "acp.Config.Permissions",
      fields = {
        field("allowed_dirs", {
          kind = "list",
          item = { kind = "string" },
          default = {},
          doc = "Folders outside the session's folder in which agents may read and write files "
            .. "through Neovim.",
        }),
        field("rules", require("acp.schema.rules")),
      },
    }),
    field("review", {
      kind = "record",
      class = "acp.Config.Review",
      doc = "How agents' changes are shown and decided in buffers. See |acp-review|.",
      fields = {
        field("signs", {
          kind = "boolean",
          default = true,
          doc = "Shows signs beside changed lines.",
        }),
        field("virtual_lines", {
          kind = "boolean",
          default = true,
          doc = "Shows removed lines as virtual lines above the hunk.",
        }),
        field("word_diff", {
          kind = "boolean",
          default = true,
          doc = "Highlights the changed words of a line.",
        }),
        field("preview", {
          kind = "enum",
          values = { "loaded", "open", false },
          default = "loaded",
          doc = 'Where to show a proposed change, hunk by hunk, before it is written: "loaded": in '
            .. 'loaded buffers; "open": also in other files, which are opened in a window beside '
            .. "yours when permission is asked; `false`: only in the permission window.",
        }),
        field("advance", {
          kind = "boolean",
          default = false,
          doc = "Goes to the next hunk after a key has accepted or rejected the one at the cursor.",
        }),
        field("accept_allowed", {
          kind = "boolean",
          default = false,
          doc = "Accepts the hunks of a proposed change when you allow it in the permission window. "
            .. "Anything else that the agent writes is still reviewed.",
        }),
        field("feedback", {
          kind = "boolean",
          default = true,
          doc = "Sends the hunks you reject to the agent with your next prompt, as a short diff "
            .. "that the chat shows first. `:Acp drop-feedback` discards it.",
        }),
      },
    }),
    field("follow", {
      kind = "enum",
      values = { false, true, "edits" },
      default = false,
      doc = "A window follows the agent from file to file (|acp-follow|) in new sessions; with "
        .. '"edits", only to changes.',
    }),
    field("statusline", {
      kind = "record",
      class = "acp.Config.Statusline",
      fields = {
        field("parts", {
          kind = "strings",
          values = parts,
          doc = "The parts of |acp.statusline()|, in this order; parts without content are left "
            .. "out: "
            .. table.concat(parts, ", ")
            .. ". `tools` is the latest tool call, `usage` the fill level of the model's context, "
            .. "`questions` the number of questions in other sessions. Default: agent, phase, "
            .. "plan, mode, tools, review, usage, questions.",
        }),
      },
    }),
    field("notify", {
      kind = "record",
      class = "acp.Config.Notify",
      switch = true,
      doc = "Messages (|vim.notify()|) about sessions whose chat is not visible in the tab page, "
        .. "and about all sessions while Neovim has lost the focus (|FocusLost|).",
      fields = {
        field("turn_end", {
          kind = "boolean",
          default = true,
          doc = "A turn has ended that you did not cancel.",
        }),
        field("question", {
          kind = "boolean",
          default = true,
          doc = "A question that is not on the screen waits for your answer.",
        }),
        field("bell", {
          kind = "boolean",
          default = true,
          doc = "Rings the terminal's bell with these messages while Neovim has lost the focus.",
        }),
        field("desktop", {
          kind = "enum",
          values = { true, false, "osc9", "osc777" },
          default = true,
          doc = "Shows these messages on the desktop, through the terminal, while Neovim has lost the "
            .. "focus: by the escape code that the terminal knows, or by the one named. Other "
            .. "terminals ignore it. In tmux this needs `set -g allow-passthrough on`, and `set -g "
            .. "focus-events on` for the focus.",
        }),
        field("focused", {
          kind = "boolean",
          default = false,
          doc = "Rings the bell and shows the message also while Neovim has the focus, even if the "
            .. "chat is visible: for terminals that report no focus.",
        }),
        field("title", {
          kind = "boolean",
          default = false,
          doc = "Shows in the terminal's title which agent works or waits for you, before your "
            .. "'titlestring'.",
        }),
      },
    }),
    field("chat", {
      kind = "record",
      class = "acp.Config.Chat",
      fields = {
        field("layout", {
          kind = "enum",
          values = { "right", "left", "bottom", "tab" },
          default = "right",
          doc = "Where the chat opens: at one side of the tab page, or in a new tab page.",
        }),
        field("width", {
          kind = "number",
          above_zero = true,
          default = 0.4,
          doc = "Its width: a value below 1 is a fraction of the screen (at least 40 columns if "
            .. 'they fit), others are columns. With the layout "bottom": its height, as a fraction '
            .. "or in lines. On screens narrower than 100 columns a chat at one side opens at the "
            .. "bottom instead.",
        }),
        field("input_height", {
          kind = "number",
          above_zero = true,
          default = 6,
          doc = "Height of the input window in lines, or below 1 as a fraction; at most a third of the "
            .. "chat's height.",
        }),
        field("completion", {
          kind = "enum",
          values = { "auto", "manual", false },
          default = "auto",
          doc = "When the input completes commands after `/` and context after `@` "
            .. "(|acp-completion|): as you type, only with |i_CTRL-X_CTRL-O|, or never.",
        }),
        field("toggle", {
          kind = "boolean",
          default = false,
          doc = "|:AcpChat| closes the chat's windows when one of them is current.",
        }),
        field("plan", {
          kind = "enum",
          values = { "panel", "transcript" },
          default = "panel",
          doc = "Where an active plan is shown: in a panel between the transcript and the input, "
            .. "or in the transcript. A finished plan is always in the transcript.",
        }),
      },
    }),
    field("history", {
      kind = "record",
      class = "acp.Config.History",
      switch = true,
      doc = "Saved sessions, for |:Acp-sessions| and for agents that do not keep their own. "
        .. "`false` saves neither sessions nor prompts.",
      fields = {
        field("enabled", {
          kind = "boolean",
          default = true,
          doc = 'Saves sessions continuously below `stdpath("state")`, readable by you only.',
        }),
        field("days", {
          kind = "number",
          above_zero = true,
          default = 90,
          doc = "Days after its last message until a session is deleted. The oldest are also "
            .. "deleted beyond 2000 sessions or 512 MiB.",
        }),
      },
    }),
    require("acp.schema.mcp_servers")(
      "MCP servers for all agents: a list, or a function that receives the session's folder and "
        .. "returns a list. An agent is not given servers with a transport it lacks, and the chat "
        .. "says so. See |acp-mcp|.",
      false
    ),
    field("tools", tools),
    field("keymaps", require("acp.schema.keymaps")),
    field("request_timeout", {
      kind = "number",
      above_zero = true,
      default = 90,
      doc = "Time limit in seconds for an agent's answers, as when it starts, opens a session or "
        .. "sets an option. Raise it for an agent that is slow to start, such as one that `npx` has "
        .. "to download. Prompts, log-ins and log-outs have no time limit.",
    }),
    field("log_level", {
      kind = "enum",
      values = { "debug", "info", "warn", "error" },
      default = "info",
      doc = 'The lowest level that is logged. "debug" logs every message to and from the agents, '
        .. "with its content.",
    }),
  },
}

return root
