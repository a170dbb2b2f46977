---@meta
--- The types of what the functions of `require("acp")` take and return; those of a group of
--- functions, such as `review`, are in its file.

--- The number of a session, as returned by `open`.
---@alias acp.Session integer

---@alias acp.Phase "none"|"starting"|"idle"|"running"|"waiting"|"dead"
--- Whether a window follows the agent: "edits" follows only its changes.
---@alias acp.Follow boolean|"edits"

---@class acp.Status
---@field phase acp.Phase "none": there is no session, and no other field is set.
---@field session? acp.Session
---@field id? string The agent's id of the session, once it has one.
---@field agent? string The agent's name in the configuration.
---@field title? string
---@field stop_reason? string The end of the last turn.
---@field mode? string
---@field model? string
---@field plan? {done: integer, total: integer}
---@field tools? acp.Status.Tools
---@field terminals? integer The number of its running terminals.
---@field permissions? integer The number of open permission requests.
---@field queued? integer The number of queued prompts.
---@field elicitations? integer The number of open forms and pages.
---@field review? {files: integer, hunks: integer}
---@field usage? acp.Status.Usage
---@field follow? acp.Follow
---@field attached? string[] The names of the next prompt's attachments.
---@field login? boolean The agent requires a log-in.
---@field since? integer When its phase began, in seconds since 1970.
---@field cwd? string Its folder.
---@field steering? boolean The agent takes words into a running turn.

--- The usage of the model's context.
---@class acp.Status.Usage
---@field used integer Tokens.
---@field size integer The capacity in tokens; 0 if unknown.
---@field percent? integer
---@field cost? string Of the session, such as "0.12 USD".

--- The running tool calls.
---@class acp.Status.Tools
---@field running integer
---@field title? string The latest call's title.
---@field kind? string The latest call's kind in the protocol.

--- An option of a session: its mode, its model, or another one of its agent.
---@class acp.Option
---@field id string
---@field name string
---@field description? string
---@field category? string "mode", "model", "model_config", "thought_level", or the agent's own category.
---@field type "select"|"boolean"
---@field value string|boolean The current or requested value: the id of one of its `values`.
---@field values acp.OptionValue[] Empty for a boolean.

---@class acp.OptionValue
---@field id string|boolean
---@field name string
---@field description? string
---@field group? string The name of its group.

--- A command of the agent, written as `/` and its name at the start of a prompt.
---@class acp.Command
---@field name string
---@field description string
---@field hint? string A description of its argument.

--- Lines of a file, attached to a prompt.
---@class acp.Context
---@field path string Absolute; "" for a buffer without a file.
---@field first integer The first row, 0-based.
---@field last integer The row after the last one.
---@field text string

---@class acp.SessionOpts
---@field session? acp.Session Default: the session of the tab page's chat, else the one used last.

---@class acp.PromptOpts: acp.SessionOpts
---@field contexts? acp.Context[] Lines to attach.
---@field interrupt? boolean Cancels the running turn; otherwise the prompt is queued.
---@field steer? boolean Sends it into the running turn if the agent supports that; else it is queued.

---@class acp.OpenOpts
---@field agent? string A name in the configuration; default: |acp-config-default_agent|.
---@field new? boolean Opens a new session even if there is one.
---@field session_id? string The agent's id of an earlier session to load.
---@field cwd? string The folder of a new session, or of the one to load.
---@field context? acp.Context Lines for the next prompt.

---@class acp.StatuslineOpts: acp.SessionOpts
---@field parts? string[] Its parts in order; see |acp-config-statusline.parts|.
---@field highlights? boolean Includes highlight groups, for `%{%…%}`; otherwise plain text, for `%{…}`.
