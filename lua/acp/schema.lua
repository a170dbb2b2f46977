--- The configuration keys: type, default and description of each.
---
--- Validation (acp.config), the help's list of keys and the user's types (tools/gen-help.lua) are
--- all derived from this file; a `doc` is one paragraph of help text.

---@class acp.schema.Node
---@field kind "boolean"|"string"|"number"|"enum"|"strings"|"list"|"map"|"record"|"keys"
---@field doc? string
---@field default? any For all kinds except records and maps of records.
---@field required? boolean|string A record without it, or the field named instead, is dropped.
---@field values? (string|boolean)[] For an enum, or to restrict strings.
---@field gone? table<string, string> For an enum: what to write instead of a former value.
---@field item? acp.schema.Node For a list or a map; without it, values are not checked. For an enum:
--- also accepts a list of these.
---@field fields? acp.schema.Field[] For a record, in the order of the help.
---@field class? string For a record: the name of its type.
---@field placeholder? string For a map: the name of a key in the help.
---@field strict? boolean For a list: any invalid item makes it empty.
---@field closed? boolean For a record: keys outside `fields` are errors.
---@field check? fun(record: table): string?, string? For a record: the invalid key and the reason.
---@field switch? boolean For a record: `false` disables all its keys.
---@field above_zero? boolean For a number.
---@field callable? boolean For a list: also accepts a function that returns one.
---@field brief? boolean For a list: its items are documented elsewhere in the help.

---@class acp.schema.Field: acp.schema.Node
---@field name string

---@param default string|string[]
---@param doc string
---@return acp.schema.Node
local function keys(default, doc)
  return { kind = "keys", default = type(default) == "table" and default or { default }, doc = doc }
end

---@param name string
---@param node acp.schema.Node
---@return acp.schema.Field
local function field(name, node)
  ---@cast node acp.schema.Field
  node.name = name
  return node
end

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
local mcp_server = {
  kind = "record",
  class = "acp.McpServer",
  closed = true,
  check = function(server)
    return require("acp.mcp").check(server)
  end,
  fields = {
    field("name", {
      kind = "string",
      required = true,
      doc = "Its name for the agent. If two servers have the same name, the one in the agent's own "
        .. "list is used.",
    }),
    field("type", {
      kind = "enum",
      values = { "stdio", "http", "sse" },
      doc = "The transport. Default: stdio with a command, http with a url.",
    }),
    field("command", {
      kind = "string",
      doc = "The program that the agent starts: a name on `$PATH` or a path.",
    }),
    field("args", { kind = "list", item = { kind = "string" }, doc = "Arguments of the command." }),
    field("env", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "Environment variables for it.",
    }),
    field("url", { kind = "string", doc = "The URL of a running server." }),
    field("headers", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "HTTP headers for it.",
    }),
  },
}

--- Returns the field for MCP servers.
---@param doc string
---@param brief boolean
---@return acp.schema.Field
local function mcp_servers(doc, brief)
  return field("mcp_servers", {
    kind = "list",
    item = mcp_server,
    callable = true,
    brief = brief,
    default = {},
    doc = doc,
  })
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
    mcp_servers(
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
      doc = 'How its sessions reach the tools of Neovim (|acp-tools|): "stdio", by a program that '
        .. "the agent starts, or `false`: not at all.",
    }),
    field("mode", {
      kind = "string",
      doc = "The mode of its new sessions, by its id or name; `:Acp mode` lists them. It is set "
        .. "before the first prompt.",
    }),
    field("model", {
      kind = "string",
      doc = "The model of its new sessions, likewise.",
    }),
    field("options", {
      kind = "map",
      placeholder = "id",
      default = {},
      doc = "Other options of its new sessions, likewise: a value, or a boolean, by the option's id; "
        .. "`:Acp config` lists them. The chat says which of them the agent does not have.",
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
local chat_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Chat",
  switch = true,
  doc = "In the transcript, in normal mode.",
  fields = {
    field("input", keys({ "i", "a", "o" }, "Goes to the input window and starts insert mode.")),
    field(
      "open",
      keys(
        "<CR>",
        "Follows the line: opens its file, its terminal, or the full text of shortened content. On "
          .. "any other line: opens or closes the fold at the cursor."
      )
    ),
    field(
      "file",
      keys(
        { "gf", "gF" },
        "Opens the file of the line at its position. On other lines of a tool call: the first "
          .. "location of the call."
      )
    ),
    field(
      "raw",
      keys(
        "gr",
        "Shows the tool call at the cursor as JSON in a separate window, including its raw input "
          .. "and output."
      )
    ),
    field("toggle", keys("za", "Opens or closes the fold at the cursor.")),
    field(
      "answer",
      keys(
        "<Esc>",
        "While a question is open: goes to it (|acp-permission|). After a count or a register, the "
          .. "key keeps its usual meaning."
      )
    ),
    field("mode", keys("<S-Tab>", "Switches to the agent's next mode (|:Acp-mode|).")),
    field("cancel", keys("<C-c>", "Cancels the turn.")),
    field("close", keys("q", "Closes the chat's windows. The session continues.")),
  },
}

---@type acp.schema.Node
local input_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Input",
  switch = true,
  doc = "In the input window.",
  fields = {
    field(
      "send",
      keys("<CR>", "Normal mode: sends the prompt, during a turn as |acp-steering| describes.")
    ),
    field("send_insert", keys({ "<CR>", "<C-s>" }, "Insert mode: the same.")),
    field("queue", keys("<C-q>", "Normal and insert mode: sends the prompt after the turn.")),
    field(
      "interrupt",
      keys(
        "<M-CR>",
        "Normal and insert mode: cancels the turn and sends the prompt immediately. With an empty "
          .. "input: sends the first queued prompt."
      )
    ),
    field("newline", keys({ "<S-CR>", "<C-j>" }, "Insert mode: starts a new line.")),
    field(
      "mode",
      keys("<S-Tab>", "Normal and insert mode: switches to the agent's next mode (|:Acp-mode|).")
    ),
    field("cancel", keys("<C-c>", "Normal and insert mode: cancels the turn.")),
    field("older", keys("<Up>", "In the first line: shows the previous prompt of this project.")),
    field(
      "newer",
      keys("<Down>", "In the last line: shows the next prompt, and finally your draft.")
    ),
    field(
      "complete",
      keys(
        "<Tab>",
        "Insert mode: accepts the selected completion, or the first one. Without a completion "
          .. "menu, the key keeps its usual meaning."
      )
    ),
    field(
      "answer",
      keys(
        "<Esc>",
        "Normal mode, while a question is open: goes to it (|acp-permission|). After a count or a register, the "
          .. "key keeps its usual meaning."
      )
    ),
    field("detach", keys("<BS>", "Normal mode: removes the last attachment (|acp-attachments|).")),
    field("close", keys("q", "Normal mode: closes the chat's windows. The session continues.")),
  },
}

---@type acp.schema.Node
local queue_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Queue",
  switch = true,
  doc = "In the panel of queued prompts (|acp-queue|), in normal mode.",
  fields = {
    field("edit", keys({ "<CR>", "e" }, "Moves the prompt back to the input for editing.")),
    field("remove", keys({ "dd", "x" }, "Removes the prompt. `p` puts its text elsewhere.")),
    field("send", keys("!", "Cancels the turn and sends the prompt immediately.")),
    field("down", keys("J", "Moves the prompt down, so it is sent later.")),
    field("up", keys("K", "Moves the prompt up, so it is sent earlier.")),
    field("close", keys("q", "Goes back to the input.")),
  },
}

---@type acp.schema.Node
local permission_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Permission",
  switch = true,
  doc = "In the permission window, in addition to each option's number and letter.",
  fields = {
    field(
      "leave",
      keys({ "q", "<Esc>" }, "Returns to the previous window. The question stays open.")
    ),
    field(
      "insert",
      keys("i", "Returns to the previous window and starts insert mode. The question stays open.")
    ),
    field(
      "show",
      keys(
        { "gf", "o" },
        "Shows the proposed change in its file, and opens the file if necessary. With several "
          .. "files: the first; press again for the next."
      )
    ),
    field("cancel", keys("<C-c>", "Cancels the turn, and with it the question.")),
  },
}

---@type acp.schema.Node
local form_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Form",
  switch = true,
  doc = "In the window of an agent's form or page. <CR> activates the line at the cursor.",
  fields = {
    field("edit", keys({ "i", "a", "I", "A" }, "Edits the field at the cursor.")),
    field("toggle", keys("<Space>", "Toggles or selects the option at the cursor.")),
    field("next", keys("<Tab>", "Goes to the next field, also while you edit one.")),
    field("prev", keys("<S-Tab>", "Goes to the previous field, also while you edit one.")),
    field("newline", keys({ "<S-CR>", "<C-j>" }, "In a field: starts a new line.")),
    field("submit", keys("<C-s>", "Submits the form.")),
    field("yes", keys({ "y", "<C-s>" }, "Answers yes to a question without fields.")),
    field("no", keys({ "n", "D" }, "Answers no to a question without fields.")),
    field("open", keys("o", "Opens the page in your browser.")),
    field("copy", keys("y", "Copies the page's address.")),
    field("decline", keys("D", "Declines.")),
    field("dismiss", keys("X", "Dismisses the question without an answer.")),
    field(
      "leave",
      keys({ "q", "<Esc>" }, "Returns to the previous window. The question stays open.")
    ),
    field("cancel", keys("<C-c>", "Cancels the turn, and with it the question.")),
  },
}

---@type acp.schema.Node
local review_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Review",
  switch = true,
  doc = "In normal mode, in a buffer with hunks to review.",
  fields = {
    field(
      "accept_hunk",
      keys(
        "<LocalLeader>a",
        "Accepts the hunk at the cursor; in visual mode, the selected lines of hunks."
      )
    ),
    field(
      "reject_hunk",
      keys(
        "<LocalLeader>r",
        "Rejects the hunk at the cursor; in visual mode, the selected lines of hunks."
      )
    ),
    field("accept_file", keys("<LocalLeader>A", "Accepts all hunks of the buffer.")),
    field("reject_file", keys("<LocalLeader>R", "Rejects all hunks of the buffer.")),
    field("next_hunk", keys("]a", "Goes to the next hunk.")),
    field("prev_hunk", keys("[a", "Goes to the previous hunk.")),
  },
}

---@type acp.schema.Node
local sessions_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Sessions",
  switch = true,
  doc = "In the list of sessions (|:Acp-sessions|).",
  fields = {
    field("open", keys("<CR>", "Opens the session under the cursor.")),
    field("answer", keys("a", "Goes to the question that waits for you.")),
    field("cancel", keys("<C-c>", "Cancels the turn of the session under the cursor.")),
    field("delete", keys("dd", "Deletes the past session under the cursor, after asking you.")),
    field("close", keys("q", "Closes the list.")),
  },
}

---@type acp.schema.Node
local review_list_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.ReviewList",
  switch = true,
  doc = "In the window of the review list (|:Acp-review|).",
  fields = {
    field("jump", keys("<CR>", "Goes to the hunk or file under the cursor.")),
    field("jump_split", keys("o", "Goes there in a split.")),
    field(
      "accept",
      keys("a", "Accepts the hunk or file under the cursor; in visual mode, all selected ones.")
    ),
    field(
      "reject",
      keys("r", "Rejects the hunk or file under the cursor; in visual mode, all selected ones.")
    ),
    field("accept_all", keys("A", "Accepts everything, after asking you.")),
    field("reject_all", keys("R", "Rejects everything, after asking you.")),
    field("undo", keys("u", "Undoes the last decision.")),
    field("preview", keys("p", "Shows or hides the preview.")),
    field("close", keys("q", "Closes the list.")),
    field("help", keys("?", "Shows these keys.")),
  },
}

--- The protocol's kinds of tool calls.
local kinds = {
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
}

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
      doc = "A glob, or a list of globs, for the files it names.",
    }),
    field("command", {
      kind = "strings",
      doc = "A pattern, or a list of patterns, for the commands it runs.",
    }),
  },
}

---@type acp.schema.Node
local terminal_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Terminal",
  switch = true,
  doc = "In the window of a terminal (|:Acp-terminal|), in normal mode.",
  fields = {
    field("close", keys("q", "Closes the window. The command keeps running.")),
    field("kill", keys("<C-c>", "Ends the command.")),
  },
}

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
      doc = "Permission per tool name, instead of the tool's own setting: run without asking, ask "
        .. "you, or never run.",
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
    field("agents", {
      kind = "map",
      placeholder = "name",
      item = agent,
      default = presets,
      doc = "The agents, by their names for |:AcpChat|. Presets (|acp-agents|) are already "
        .. "defined; a key set here for a preset replaces only that key.",
    }),
    field("default_agent", {
      kind = "string",
      doc = "The agent of |:AcpChat| without a name. Default: the agent used last, else the first "
        .. "installed agent of your configuration (by name), else the tutor.",
    }),
    field("library", {
      kind = "string",
      doc = "The path of the plugin's library. Default: the newest `libacp_nvim.so` (macOS: "
        .. "`.dylib`) in `target/release`, `target/debug` and `lib` of the plugin's folder and in "
        .. "`$CARGO_TARGET_DIR`. Only read when the library is loaded.",
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
        field("rules", {
          kind = "list",
          item = rule,
          strict = true,
          default = {},
          doc = "Rules that answer permission requests for you. See |acp-rules|. Any mistake in "
            .. "the list disables all rules, and every request is asked.",
        }),
      },
    }),
    field("review", {
      kind = "record",
      class = "acp.Config.Review",
      doc = "How hunks look in a buffer. See |acp-review|.",
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
            .. "What the agent writes otherwise is still reviewed.",
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
          doc = "Does both while Neovim has the focus, too, and whether the chat is visible or not: "
            .. "for terminals that report no focus.",
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
            .. "or in lines. On screens narrower than 100 columns the chat opens at the bottom.",
        }),
        field("input_height", {
          kind = "number",
          above_zero = true,
          default = 6,
          doc = "Height of the input window in lines.",
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
        .. "`false` saves nothing.",
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
    mcp_servers(
      "MCP servers for all agents: a list, or a function that receives the session's folder and "
        .. "returns a list. An agent is not given servers with a transport it lacks, and the chat "
        .. "says so. See |acp-mcp|.",
      false
    ),
    field("tools", tools),
    field("keymaps", {
      kind = "record",
      class = "acp.Config.Keymaps",
      doc = "The keys in the plugin's windows and in reviewed buffers: a key, a list of keys, or "
        .. "`false` for none. `false` for a group disables the whole group.",
      fields = {
        field("chat", chat_keys),
        field("input", input_keys),
        field("queue", queue_keys),
        field("permission", permission_keys),
        field("form", form_keys),
        field("review", review_keys),
        field("review_list", review_list_keys),
        field("sessions", sessions_keys),
        field("terminal", terminal_keys),
      },
    }),
    field("request_timeout", {
      kind = "number",
      above_zero = true,
      default = 90,
      doc = "Time limit in seconds for an agent to start and to open a session. Prompts have no "
        .. "time limit.",
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
