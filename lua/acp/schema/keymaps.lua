--- The schema of `keymaps`: the keys in the plugin's windows and in reviewed buffers.

local field = require("acp.schema.field")

---@param default string|string[]
---@param doc string
---@return acp.schema.Node
local function keys(default, doc)
  return { kind = "keys", default = type(default) == "table" and default or { default }, doc = doc }
end

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
        "Follows the line: opens its file, its web page, its terminal, or the full text of "
          .. "shortened content. On any other line: opens or closes the fold at the cursor."
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
      "scroll_up",
      keys(
        "<PageUp>",
        "Normal and insert mode: scrolls the transcript up by half of its window, as |CTRL-U| does; "
          .. "a count repeats it."
      )
    ),
    field("scroll_down", keys("<PageDown>", "Normal and insert mode: scrolls it down.")),
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
    field(
      "cancel",
      keys("<C-c>", "Cancels the turn, and with it the question. In a field: leaves the field.")
    ),
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
    field("next_hunk", keys("]a", "Goes [count] hunks forward.")),
    field("prev_hunk", keys("[a", "Goes [count] hunks back.")),
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
    field(
      "answer",
      keys(
        "a",
        "Goes to the question of the session under the cursor, or to the one on the screen if that "
          .. "session asks nothing."
      )
    ),
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
      keys(
        "a",
        "Accepts the hunk or file under the cursor; with a count, those on as many lines; in visual "
          .. "mode, all selected ones."
      )
    ),
    field(
      "reject",
      keys(
        "r",
        "Rejects the hunk or file under the cursor; with a count, those on as many lines; in visual "
          .. "mode, all selected ones."
      )
    ),
    field("accept_all", keys("A", "Accepts everything, after asking you.")),
    field("reject_all", keys("R", "Rejects everything, after asking you.")),
    field("undo", keys("u", "Undoes the last decision.")),
    field("preview", keys("p", "Shows or hides the preview.")),
    field("close", keys("q", "Closes the list.")),
    field("help", keys("?", "Shows these keys.")),
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

---@type acp.schema.Node
return {
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
}
