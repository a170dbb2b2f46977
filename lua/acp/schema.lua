--- Owns the configuration's keys: type, default and description of each, and nothing else.
---
--- Validation (acp.config), the help's list of keys and the types of a user's table
--- (tools/gen-help.lua) all come from here; a `doc` is one paragraph of help text.

---@class acp.schema.Node
---@field kind "boolean"|"string"|"number"|"enum"|"strings"|"list"|"map"|"record"|"keys"
---@field doc? string
---@field default? any Of everything but records and maps of records.
---@field required? boolean A record without it is dropped.
---@field values? (string|boolean)[] Of an enum; of strings, if not any will do.
---@field item? acp.schema.Node Of a list or a map; without it the values are not looked at.
---@field fields? acp.schema.Field[] Of a record, in the order of the help.
---@field class? string Of a record: its type's name.
---@field placeholder? string Of a map: what the help calls a key.
---@field strict? boolean Of a list: with a mistake in it, it is empty.
---@field closed? boolean Of a record: a key that is not in `fields` is a mistake.
---@field check? fun(record: table): string?, string? Of a record: the key and what is wrong with it.
---@field switch? boolean Of a record: `false` switches all its keys off.
---@field above_zero? boolean Of a number.
---@field callable? boolean Of a list: a function that returns one will do, too.
---@field brief? boolean Of a list: the help describes its items elsewhere.

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

--- The agents that are known without any configuration, by name.
---@type table<string, acp.Agent>
local presets = {}
for name, preset in pairs(require("acp.presets")) do
  presets[name] = {
    command = preset.command,
    args = preset.args or {},
    env = preset.env or {},
    missing_file = preset.missing_file or "error",
    install = preset.install,
    additional_dirs = {},
    mcp_servers = {},
    tools = "stdio",
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
      doc = "What the agent calls it. Of two with one name, that of the agent counts.",
    }),
    field("type", {
      kind = "enum",
      values = { "stdio", "http", "sse" },
      doc = "How it is reached. Without it: stdio if there is a command, http if there is a url.",
    }),
    field("command", {
      kind = "string",
      doc = "The program that the agent runs, found on `$PATH` or given by its path.",
    }),
    field("args", { kind = "list", item = { kind = "string" }, doc = "Its arguments." }),
    field("env", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "Variables for it.",
    }),
    field("url", { kind = "string", doc = "Where a server listens that runs already." }),
    field("headers", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      doc = "HTTP headers for it.",
    }),
  },
}

--- Makes a field for MCP servers.
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
  fields = {
    field("command", {
      kind = "string",
      required = true,
      doc = "The program, found on `$PATH` or given by its path. Every agent needs one; the presets "
        .. "have theirs.",
    }),
    field("args", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "Its arguments. They replace a preset's.",
    }),
    field("env", {
      kind = "map",
      placeholder = "name",
      item = { kind = "string" },
      default = {},
      doc = "Variables added to Neovim's own environment, which the agent gets whole.",
    }),
    field("cwd", {
      kind = "string",
      doc = "The folder its sessions work in. Without it: the current folder (|:pwd|) when the "
        .. "session starts.",
    }),
    field("additional_dirs", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "Folders besides that one in which its sessions work, for agents that take them. It may "
        .. "read and write there through Neovim.",
    }),
    mcp_servers(
      "MCP servers for this agent, besides those of |acp-config-mcp_servers|; a list, or a function "
        .. "as there.",
      true
    ),
    field("tools", {
      kind = "enum",
      values = { "stdio", "http", false },
      default = "stdio",
      doc = "How its sessions reach the tools of Neovim (|acp-tools|): by a program that the agent "
        .. "starts, or over HTTP on 127.0.0.1, for agents that start none; `false`: not at all.",
    }),
    field("missing_file", {
      kind = "enum",
      values = { "error", "empty" },
      default = "error",
      doc = "What the agent is answered when it reads a file that does not exist: the protocol's "
        .. "error, or an empty text. The preset of Gemini CLI has the latter, because an error keeps "
        .. "it from making new files.",
    }),
    field("install", {
      kind = "string",
      doc = "What to do when the command is not found, shown by |:checkhealth| and `:Acp agents`.",
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
        "Goes where the line leads: to the file and line, to the terminal, to the whole of what is "
          .. "cut. A line that leads nowhere: opens or closes the fold at the cursor."
      )
    ),
    field(
      "file",
      keys(
        { "gf", "gF" },
        "Goes to the file of the line, at its line. On another line of a tool call: to the first "
          .. "place the call names."
      )
    ),
    field(
      "raw",
      keys(
        "gr",
        "Shows all that is known of the tool call at the cursor, its raw input and output among it, "
          .. "as JSON in a window of its own."
      )
    ),
    field("toggle", keys("za", "Opens or closes the fold at the cursor.")),
    field("mode", keys("<S-Tab>", "Goes to the agent's next mode (|:Acp-mode|).")),
    field("cancel", keys("<C-c>", "Cancels the turn.")),
    field("close", keys("q", "Closes the chat's windows. The session goes on.")),
  },
}

---@type acp.schema.Node
local input_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Input",
  switch = true,
  doc = "In the input window.",
  fields = {
    field("send", keys("<CR>", "Normal mode: sends the prompt.")),
    field("send_insert", keys({ "<CR>", "<C-s>" }, "Insert mode: sends the prompt.")),
    field(
      "interrupt",
      keys(
        "<M-CR>",
        "Normal and insert mode: sends the prompt at once; what the agent is doing is cancelled. "
          .. "With an empty input: the prompt that waits longest."
      )
    ),
    field("newline", keys({ "<S-CR>", "<C-j>" }, "Insert mode: starts a new line.")),
    field(
      "mode",
      keys("<S-Tab>", "Normal and insert mode: goes to the agent's next mode (|:Acp-mode|).")
    ),
    field("cancel", keys("<C-c>", "Normal and insert mode: cancels the turn.")),
    field(
      "older",
      keys("<Up>", "In the first line: goes to the prompt that was written before in this project.")
    ),
    field(
      "newer",
      keys("<Down>", "In the last line: goes to the next prompt, and at the end back to the draft.")
    ),
    field(
      "complete",
      keys(
        "<Tab>",
        "Insert mode: takes what is selected in the menu of completions, or the first one. "
          .. "Without a menu it is the key it always is."
      )
    ),
    field(
      "detach",
      keys("<BS>", "Normal mode: takes away what was attached last (|acp-attachments|).")
    ),
    field("close", keys("q", "Normal mode: closes the chat's windows. The session goes on.")),
  },
}

---@type acp.schema.Node
local queue_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Queue",
  switch = true,
  doc = "In the panel with the prompts that wait (|acp-queue|), in normal mode.",
  fields = {
    field("edit", keys({ "<CR>", "e" }, "Takes the prompt back into the input.")),
    field("remove", keys({ "dd", "x" }, "Takes the prompt out. `p` puts its text elsewhere.")),
    field("send", keys("!", "Sends the prompt now: what the agent is doing is cancelled.")),
    field("down", keys("J", "Moves the prompt down: it goes out later.")),
    field("up", keys("K", "Moves the prompt up: it goes out earlier.")),
    field("close", keys("q", "Goes back to the input.")),
  },
}

---@type acp.schema.Node
local permission_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Permission",
  switch = true,
  doc = "In the permission window, besides each option's number and letter.",
  fields = {
    field(
      "leave",
      keys({ "q", "<Esc>" }, "Goes back to the window before. The question stays open.")
    ),
    field(
      "insert",
      keys("i", "Goes back to the window before to write there. The question stays open.")
    ),
    field(
      "show",
      keys(
        { "gf", "o" },
        "Shows what is asked for in the file it would change, opened if need be. Of several files "
          .. "it is the first; pressed again, the next."
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
  doc = "In the window of a form or a page that an agent asks you for. <CR> does what its line is "
    .. "for.",
  fields = {
    field("edit", keys({ "i", "a", "I", "A" }, "Writes into the field at the cursor.")),
    field("toggle", keys("<Space>", "Ticks or chooses what is at the cursor.")),
    field("next", keys("<Tab>", "Goes to the next field, also while you write into one.")),
    field("prev", keys("<S-Tab>", "Goes to the field before, also while you write into one.")),
    field("newline", keys({ "<S-CR>", "<C-j>" }, "In a field: starts a new line.")),
    field("submit", keys("<C-s>", "Gives the agent what the form is filled in with.")),
    field("yes", keys({ "y", "<C-s>" }, "Says yes to a question without fields.")),
    field("no", keys({ "n", "D" }, "Says no to it.")),
    field("open", keys("o", "Opens the page in your browser.")),
    field("copy", keys("y", "Copies the page's address.")),
    field("decline", keys("D", "Answers no.")),
    field("dismiss", keys("X", "Answers neither yes nor no.")),
    field(
      "leave",
      keys({ "q", "<Esc>" }, "Goes back to the window before. The question stays open.")
    ),
    field("cancel", keys("<C-c>", "Cancels the turn, and with it the question.")),
  },
}

---@type acp.schema.Node
local review_keys = {
  kind = "record",
  class = "acp.Config.Keymaps.Review",
  switch = true,
  doc = "In normal mode, in a buffer with hunks to review, as long as it has any.",
  fields = {
    field(
      "accept_hunk",
      keys(
        "<LocalLeader>a",
        "Accepts the hunk at the cursor; in visual mode what lies in the selected lines."
      )
    ),
    field(
      "reject_hunk",
      keys(
        "<LocalLeader>r",
        "Rejects the hunk at the cursor; in visual mode what lies in the selected lines."
      )
    ),
    field("accept_file", keys("<LocalLeader>A", "Accepts all hunks of the buffer.")),
    field("reject_file", keys("<LocalLeader>R", "Rejects all hunks of the buffer.")),
    field("next_hunk", keys("]a", "Goes to the next hunk.")),
    field("prev_hunk", keys("[a", "Goes to the previous hunk.")),
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
      keys("a", "Accepts the hunk or file under the cursor; in visual mode all that are selected.")
    ),
    field(
      "reject",
      keys("r", "Rejects the hunk or file under the cursor; in visual mode all that are selected.")
    ),
    field("accept_all", keys("A", "Accepts everything, after a question.")),
    field("reject_all", keys("R", "Rejects everything, after a question.")),
    field("undo", keys("u", "Takes the last decision back.")),
    field("preview", keys("p", "Shows or hides the preview.")),
    field("close", keys("q", "Closes the list.")),
    field("help", keys("?", "Shows these keys.")),
  },
}

--- The kinds of tool calls, as the protocol has them.
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

--- The kinds that a `path` may allow: what they do is done to the paths they name.
---@type table<string, boolean?>
local by_path =
  { read = true, edit = true, delete = true, move = true, search = true, other = true }

--- Returns which key of a rule is wrong ("" for all of it), and why.
---@param rule acp.Rule
---@return string? key
---@return string? why
local function check_rule(rule)
  if not (rule.agent or rule.kind or rule.path or rule.command) then
    return "", "there is nothing to match on: expected agent, kind, path or command"
  elseif rule.action ~= "allow" then
    return
  elseif not (rule.path or rule.command) then
    return "", '"allow" has to say what it allows: expected path or command'
  elseif not rule.command then
    local given = rule.kind or {}
    for _, kind in ipairs(type(given) == "table" and given or { given }) do
      if not by_path[kind] then
        local text = "a path alone does not allow %q: %s"
        local advice = kind == "execute" and "give this rule a command" or "it is always asked"
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
      doc = "What is done with a request that the rule matches.",
    }),
    field("agent", {
      kind = "string",
      doc = "The agent's name in the configuration; `*` stands for any characters, `?` for one.",
    }),
    field("kind", {
      kind = "strings",
      values = kinds,
      doc = "What the agent calls the tool call, or a list of that: "
        .. table.concat(kinds, ", ")
        .. ".",
    }),
    field("path", {
      kind = "strings",
      doc = "A glob, or a list of them, for the files it names.",
    }),
    field("command", {
      kind = "strings",
      doc = "A pattern, or a list of them, for the commands it runs.",
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
    field("close", keys("q", "Closes the window. What runs in the terminal goes on.")),
    field("kill", keys("<C-c>", "Ends what runs in the terminal.")),
  },
}

--- What a statusline can say.
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
      doc = "They are offered, in sessions that are opened from now on.",
    }),
    field("builtin", {
      kind = "boolean",
      default = true,
      doc = "Those that come with the plugin (|acp-tools-builtin|) are among them.",
    }),
    field("permissions", {
      kind = "map",
      placeholder = "name",
      item = { kind = "enum", values = { "allow", "ask", "reject" } },
      default = {},
      doc = "Who lets a tool run, by its name, whatever the tool itself says: nobody is asked, you "
        .. "are, or it never runs.",
    }),
    field("disabled", {
      kind = "list",
      item = { kind = "string" },
      default = {},
      doc = "The names of tools that agents are not told of. `:Acp tools` switches them on and off "
        .. "until Neovim ends.",
    }),
    field("time_limit", {
      kind = "number",
      above_zero = true,
      default = 60,
      doc = "How many seconds a tool may take that says nothing of it, the time you take to answer "
        .. "not counted.",
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
      doc = "The agents, by the name that |:AcpChat| takes. Those of |acp-agents| are there already; "
        .. "a key given here for one of them replaces just that key.",
    }),
    field("default_agent", {
      kind = "string",
      doc = "The agent of |:AcpChat| without a name. Without it: the agent used last, else the first "
        .. "of the agents in your own configuration (by name) that is installed, else the tutor.",
    }),
    field("library", {
      kind = "string",
      doc = "The path of the plugin's library. Without it: the newest `libacp_nvim.so` (macOS: "
        .. "`.dylib`) in `target/release`, `target/debug` and `lib` of the plugin's folder and in "
        .. "`$CARGO_TARGET_DIR`. Read when the library is loaded, once.",
    }),
    field("permissions", {
      kind = "record",
      class = "acp.Config.Permissions",
      fields = {
        field("allowed_dirs", {
          kind = "list",
          item = { kind = "string" },
          default = {},
          doc = "Folders outside the session's own in which an agent may read and write files "
            .. "through Neovim.",
        }),
        field("rules", {
          kind = "list",
          item = rule,
          strict = true,
          default = {},
          doc = "Permission requests that are answered without you. See |acp-rules|. The list "
            .. "holds whole or not at all: with a mistake in it, everything is asked.",
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
          doc = "Signs beside changed lines.",
        }),
        field("virtual_lines", {
          kind = "boolean",
          default = true,
          doc = "Removed lines as virtual lines above the hunk.",
        }),
        field("word_diff", {
          kind = "boolean",
          default = true,
          doc = "Changed words of a line are marked.",
        }),
        field("preview", {
          kind = "enum",
          values = { "loaded", "open", false },
          default = "loaded",
          doc = "Where to show what an agent proposes before it is written, hunk by hunk: in the "
            .. 'buffers that are loaded; with "open" a file that is in no window is opened in one '
            .. "beside yours when permission is asked; with `false` in the permission window alone.",
        }),
        field("feedback", {
          kind = "boolean",
          default = true,
          doc = "Hunks that you reject are told to the agent with the next prompt, as a short diff "
            .. "that the chat shows before. `:Acp drop-feedback` lets them not be told.",
        }),
      },
    }),
    field("follow", {
      kind = "enum",
      values = { false, true, "edits" },
      default = false,
      doc = "A window goes along with the agent from file to file (|acp-follow|), in sessions that "
        .. 'are opened from now on: with "edits" only where it changes something.',
    }),
    field("statusline", {
      kind = "record",
      class = "acp.Config.Statusline",
      fields = {
        field("parts", {
          kind = "strings",
          values = parts,
          doc = "What |acp.statusline()| says, in this order, of what there is: "
            .. table.concat(parts, ", ")
            .. ". `tools` is the tool call that began last, `usage` how full the model's context is, "
            .. "`questions` what other sessions wait for. Without it: agent, phase, plan, mode, "
            .. "tools, review, usage, questions.",
        }),
      },
    }),
    field("notify", {
      kind = "record",
      class = "acp.Config.Notify",
      switch = true,
      doc = "Messages (|vim.notify()|) about sessions whose chat the tab page does not show, and "
        .. "about all while you are in another program (|FocusLost|).",
      fields = {
        field("turn_end", {
          kind = "boolean",
          default = true,
          doc = "A turn is over that you have not cancelled.",
        }),
        field("question", {
          kind = "boolean",
          default = true,
          doc = "A question waits for your answer and is not on the screen.",
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
          doc = "Where the chat opens: at a side of the tab page, or in a tab page of its own.",
        }),
        field("width", {
          kind = "number",
          above_zero = true,
          default = 0.4,
          doc = "How wide it is: below 1 a share of the screen (at least 40 columns where there is "
            .. 'room for them), else columns. With the layout "bottom", how high: a share of the '
            .. "screen, or lines. On a screen narrower than 60 columns the chat opens below.",
        }),
        field("input_height", {
          kind = "number",
          above_zero = true,
          default = 6,
          doc = "How many lines the input window has.",
        }),
        field("completion", {
          kind = "enum",
          values = { "auto", "manual", false },
          default = "auto",
          doc = "When the input completes commands after `/` and context after `@` "
            .. "(|acp-completion|): while you write, or by |i_CTRL-X_CTRL-O| alone.",
        }),
        field("plan", {
          kind = "enum",
          values = { "panel", "transcript" },
          default = "panel",
          doc = "Where the agent's plan is shown while it works it off: in a panel between the "
            .. "transcript and the input, or in the transcript alone. What has become of it is in the "
            .. "transcript either way.",
        }),
      },
    }),
    field("history", {
      kind = "record",
      class = "acp.Config.History",
      switch = true,
      doc = "What is kept of sessions, for |:Acp-sessions| and for agents that forget theirs. `false` "
        .. "keeps nothing.",
      fields = {
        field("enabled", {
          kind = "boolean",
          default = true,
          doc = 'Sessions are written down as they go, below `stdpath("state")`, for your eyes only.',
        }),
        field("days", {
          kind = "number",
          above_zero = true,
          default = 90,
          doc = "Sessions in which nothing was said for so many days are given up; so are the oldest "
            .. "where they are more than 2000, or take more than 512 MiB.",
        }),
      },
    }),
    mcp_servers(
      "MCP servers that the agents shall connect to: a list, or a function that gets the session's "
        .. "folder and returns one. What an agent cannot reach it is not given, and the chat says so. "
        .. "See |acp-mcp|.",
      false
    ),
    field("tools", tools),
    field("keymaps", {
      kind = "record",
      class = "acp.Config.Keymaps",
      doc = "The keys in the plugin's own windows and in reviewed buffers: a key, a list of keys, or "
        .. "`false` for none. `false` for a group switches the whole group off.",
      fields = {
        field("chat", chat_keys),
        field("input", input_keys),
        field("queue", queue_keys),
        field("permission", permission_keys),
        field("form", form_keys),
        field("review", review_keys),
        field("review_list", review_list_keys),
        field("terminal", terminal_keys),
      },
    }),
    field("request_timeout", {
      kind = "number",
      above_zero = true,
      default = 90,
      doc = "How many seconds an agent may take to start up and to open a session. A prompt may take "
        .. "as long as it needs.",
    }),
    field("log_level", {
      kind = "enum",
      values = { "debug", "info", "warn", "error" },
      default = "info",
      doc = 'What goes to the log file. "debug" logs every message to and from the agents, with all '
        .. "they contain.",
    }),
  },
}

return root
