//! Decoded messages of an agent: the closed set the core understands.
//!
//! Version 1's messages are converted here into upserts by id (as in draft v2), so the core does
//! not distinguish `tool_call` from `tool_call_update`.
//! Invariant: every message has a variant; none is dropped silently.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::options::SessionOption;

/// The id of a request as raw JSON; echoed byte for byte in the response.
#[derive(Debug, Clone)]
pub struct RequestId(pub Arc<RawValue>);

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for RequestId {}

/// The id the agent gave a session (`sessionId`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SessionId(pub Arc<str>);

/// The id the agent gave a tool call (`toolCallId`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolCallId(pub Arc<str>);

/// The id of a terminal (`terminalId`): the client's own, or one the agent made up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TerminalId(pub Arc<str>);

/// One message from an agent's stdout.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request of the agent; it gets exactly one response with this id.
    Request { id: RequestId, call: AgentRequest },
    /// A notification; never answered.
    Notification(AgentNotification),
    /// The answer to the client's request `id`.
    Response {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// A line that is not a JSON-RPC message; at most 200 characters of it.
    Noise(String),
    /// A line of `bytes` bytes exceeded the cap and was dropped.
    TooLong { bytes: usize },
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    /// Returns an error without data; the codes are those of [`super::rpc`].
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

/// Formats the message, details from the data, and the code.
impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.trim_end_matches('.'))?;
        let data = self.data.as_ref();
        let details = ["details", "message", "error", "reason"]
            .iter()
            .find_map(|key| data?.get(key)?.as_str())
            .or(data.and_then(Value::as_str));
        if let Some(details) = details.filter(|details| !self.message.contains(*details)) {
            write!(f, ": {}", details.trim_end_matches('.'))?;
        }
        write!(f, " ({})", self.code)
    }
}

/// A request about a session's terminals.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalCall {
    /// `terminal/create`.
    Create {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<PathBuf>,
        /// `outputByteLimit`.
        limit: Option<u64>,
    },
    /// `terminal/output`.
    Output(TerminalId),
    /// `terminal/wait_for_exit`.
    WaitForExit(TerminalId),
    /// `terminal/kill`.
    Kill(TerminalId),
    /// `terminal/release`.
    Release(TerminalId),
}

/// A request from an agent to the client.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once and moved a few times; a box would cost each reader"
)]
pub enum AgentRequest {
    /// `fs/read_text_file`; `line` is 1-based as on the wire, 0 is read as 1.
    ReadTextFile {
        session: SessionId,
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// `fs/write_text_file`.
    WriteTextFile {
        session: SessionId,
        path: PathBuf,
        content: String,
    },
    /// `session/request_permission`.
    Permission {
        session: SessionId,
        tool_call: ToolCallPatch,
        options: Vec<PermissionOption>,
    },
    /// `elicitation/create`: a question to the user.
    Elicitation {
        scope: ElicitationScope,
        /// The tool call it belongs to, if the agent says so.
        tool: Option<ToolCallId>,
        message: String,
        mode: ElicitationMode,
    },
    /// `terminal/*`.
    Terminal {
        session: SessionId,
        call: TerminalCall,
    },
    /// A method this client does not know: answered `-32601`.
    Unknown { method: String },
    /// A known method with bad parameters: answered `-32602`, `why` names the field.
    Invalid { method: String, why: String },
}

/// The scope of a question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitationScope {
    Session(SessionId),
    /// A request of the client that is still pending.
    Request(u64),
    /// The agent does not say.
    Agent,
}

/// How the user answers a question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationMode {
    /// In a form; `schema` is the JSON schema of an object, or null.
    Form { schema: Value },
    /// On a web page; [`AgentNotification::ElicitationComplete`] refers to it by `id`.
    Url { id: String, url: String },
}

/// A notification of an agent.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once and moved a few times; a box would cost each reader"
)]
pub enum AgentNotification {
    /// `session/update`.
    Update { session: SessionId, update: Update },
    /// `$/cancel_request`: the agent withdraws its request.
    CancelRequest { id: RequestId },
    /// `elicitation/complete`: the user has finished on the page.
    ElicitationComplete { id: String },
    /// A notification this client does not know; ignored, logged.
    Unknown { method: String },
    /// A known notification that could not be decoded, even after repair.
    Invalid { method: String, why: String },
}

/// One `session/update`.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once and moved a few times; a box would cost each reader"
)]
pub enum Update {
    /// A chunk of a message; `message` is its id if the agent gives one, `parent` the tool call
    /// whose sub-agent sent it.
    Chunk {
        role: Role,
        message: Option<String>,
        parent: Option<ToolCallId>,
        content: Content,
    },
    /// A `tool_call` or a `tool_call_update`.
    ToolCall(ToolCallPatch),
    /// The complete plan, replacing the earlier one.
    Plan(Vec<PlanEntry>),
    /// The commands the agent offers after `/`.
    Commands(Vec<Command>),
    /// The session's new mode.
    Mode(String),
    /// All config options with their values.
    ConfigOptions(Vec<SessionOption>),
    /// The session's title (`None` = unchanged, an empty one = none any more).
    Info { title: Option<String> },
    /// Whether the agent works on the session, in a turn or outside of one.
    Active(bool),
    /// Tokens used and the size of the context window, `cost` as text ("0.12 USD").
    Usage {
        used: u64,
        size: u64,
        cost: Option<String>,
    },
    /// A message to the user that is not part of the history.
    Notice { severity: Severity, text: String },
    /// An update about the compaction of the context.
    Compaction(CompactionPatch),
    /// A sub-agent of this session, which has a separate session.
    SubAgent(SubAgentPatch),
    /// A message from one session to another.
    SessionMessage(SessionMessage),
    /// More text of such a message.
    SessionMessageChunk { id: String, content: Content },
    /// An update of an unknown kind, kept and shown in full.
    Unknown { kind: String, raw: Value },
}

impl Update {
    /// Returns the mode in a message that Gemini CLI sends in place of `current_mode_update`. Any
    /// agent may write such a text: it is a mode only if the session has it.
    pub fn mode_of_gemini(&self) -> Option<&str> {
        let Update::Chunk {
            role: Role::Agent,
            message: None,
            parent: None,
            content: Content::Text(text),
        } = self
        else {
            return None;
        };
        let mode = text.strip_prefix("[MODE_UPDATE] ")?;
        let is_id = !mode.is_empty() && !mode.contains(char::is_whitespace);
        is_id.then_some(mode)
    }
}

/// The severity of a notice; an unknown word counts as [`Severity::Info`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// An update of a compaction; absent fields are unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPatch {
    pub id: String,
    pub status: Option<CompactionStatus>,
    pub summary: Option<Summary>,
    /// `Some(None)` clears it.
    pub error: Option<Option<String>>,
}

/// The summary that replaces the compacted part.
#[derive(Debug, Clone, PartialEq)]
pub enum Summary {
    /// The complete summary; an empty one clears it.
    Whole(Vec<Content>),
    More(Content),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionStatus {
    InProgress,
    Completed,
    Failed,
    Cancelled,
    Unknown(String),
}

/// An update of a sub-agent that has a separate session; absent fields are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentPatch {
    /// The sub-agent's own session.
    pub session: SessionId,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Whether `session/cancel` for its session ends its work.
    pub can_cancel: Option<bool>,
    pub work: Option<Work>,
}

/// What a sub-agent does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// It works, or waits for an answer of the user's.
    Running,
    Done,
    Cancelled,
    /// It has ended with an error; the message, if the agent gives one.
    Failed(Option<String>),
    /// The agent cannot say.
    Unknown,
}

/// A message between an agent and its sub-agent; each session has its own view of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMessage {
    pub id: Option<String>,
    pub sender: Option<SessionId>,
    pub recipient: Option<SessionId>,
    /// `None` leaves it as it is.
    pub content: Option<Vec<Content>>,
}

/// Who a chunk of text is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    User,
    Agent,
    Thought,
}

/// A content block.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    /// `bytes` is the size of the decoded data.
    Image {
        mime: String,
        uri: Option<String>,
        bytes: usize,
    },
    Audio {
        mime: String,
        bytes: usize,
    },
    ResourceLink {
        uri: String,
        name: String,
    },
    /// An embedded resource; `text` is `None` for a blob.
    Resource {
        uri: String,
        text: Option<String>,
    },
    /// Content of an unknown type, kept in full.
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// An update of a tool call; absent fields are unchanged.
///
/// `None` means absent, and so do an empty `raw_input` object and an empty title.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallPatch {
    pub id: ToolCallId,
    /// The tool call whose sub-agent made this one.
    pub parent: Option<ToolCallId>,
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<ToolStatus>,
    pub content: Option<Vec<ToolContent>>,
    pub locations: Option<Vec<Location>>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    pub meta: Option<Value>,
}

impl ToolCallPatch {
    /// Returns a patch with nothing but the id.
    pub fn new(id: ToolCallId) -> Self {
        Self {
            id,
            parent: None,
            title: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
            meta: None,
        }
    }
}

/// The kind of a tool call (`kind`); unknown kinds are kept by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
    Unknown(String),
}

impl ToolKind {
    /// Returns the wire name.
    pub fn name(&self) -> &str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Delete => "delete",
            ToolKind::Move => "move",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Think => "think",
            ToolKind::Fetch => "fetch",
            ToolKind::SwitchMode => "switch_mode",
            ToolKind::Other => "other",
            ToolKind::Unknown(name) => name,
        }
    }
}

/// The status of a tool call. `Cancelled` is the client's addition, for calls that a cancel
/// interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
    /// The user, or a rule, has rejected it. No agent sends this.
    Rejected,
}

/// One item of a tool call's content.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolContent {
    Content(Content),
    /// `old` is `None` when absent or null.
    Diff {
        path: PathBuf,
        old: Option<String>,
        new: String,
    },
    Terminal {
        id: TerminalId,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// Serializes a path as text; bytes that are not UTF-8 are replaced.
pub fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A position in a file; `row` is 0-based (the wire's `line` is 1-based).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u32>,
}

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    #[serde(rename = "content")]
    pub text: String,
    pub priority: Priority,
    pub status: PlanStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

/// A command the agent offers (`/name`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub name: String,
    pub description: String,
    pub hint: Option<String>,
}

/// One option of a permission request. Only its id identifies it: kinds may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: OptionKind,
}

/// The kind of a permission option. An unknown kind never counts as "allow".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    Unknown(String),
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    Unknown(String),
}
