//! What an agent says, after decoding: the closed set of messages the core understands.
//!
//! The v1 messages are adapted here into upserts by id (as draft v2 does), so that the core
//! never sees the difference between `tool_call` and `tool_call_update`.
//! Invariant: every message an agent can send has a variant; none is dropped silently.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::options::SessionOption;

/// The id of a request as the raw JSON it came as; echoed byte for byte in the response.
#[derive(Debug, Clone)]
pub struct RequestId(pub Arc<RawValue>);

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for RequestId {}

/// The id the agent gave a session (`sessionId`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// A line that is no JSON-RPC message, at most 200 characters of it.
    Noise(String),
    /// A line of `bytes` bytes went past the cap and was dropped.
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

/// The message, what the data adds to it, and the code.
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

/// What an agent asks of the terminals of a session.
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

/// A request an agent makes of the client.
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
    /// `elicitation/create`: the user is asked for something.
    Elicitation {
        scope: ElicitationScope,
        /// What it is asked for, where the agent says so.
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

/// What a question to the user belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitationScope {
    Session(SessionId),
    /// A request of the client's that is being answered.
    Request(u64),
    /// The agent does not say.
    Agent,
}

/// How the user is asked for something.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationMode {
    /// By a form; `schema` is the JSON schema of an object, or null.
    Form { schema: Value },
    /// By a page; `id` is what [`AgentNotification::ElicitationComplete`] names it by.
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
    /// `$/cancel_request`: the agent takes back its own request.
    CancelRequest { id: RequestId },
    /// `elicitation/complete`: what was asked for by a URL is there.
    ElicitationComplete { id: String },
    /// A notification this client does not know; ignored, logged.
    Unknown { method: String },
    /// A known notification that could not be decoded even after repair.
    Invalid { method: String, why: String },
}

/// One `session/update`.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once and moved a few times; a box would cost each reader"
)]
pub enum Update {
    /// A piece of a message; `message` is its id where the agent gives one, `parent` the tool
    /// call whose sub-agent says it.
    Chunk {
        role: Role,
        message: Option<String>,
        parent: Option<ToolCallId>,
        content: Content,
    },
    /// `tool_call` and `tool_call_update` alike.
    ToolCall(ToolCallPatch),
    /// The plan, replaced whole.
    Plan(Vec<PlanEntry>),
    /// The commands the agent offers after `/`.
    Commands(Vec<Command>),
    /// The mode the session is in now.
    Mode(String),
    /// All config options there are, with their values.
    ConfigOptions(Vec<SessionOption>),
    /// The session's title (`None` = unchanged).
    Info { title: Option<String> },
    /// Tokens used and the size of the context window, `cost` as text ("0.12 USD").
    Usage {
        used: u64,
        size: u64,
        cost: Option<String>,
    },
    /// Information for the user that is no part of the history.
    Notice { severity: Severity, text: String },
    /// The agent shortens what it remembers: what is said of one such compaction.
    Compaction(CompactionPatch),
    /// An update of a kind nobody here knows, kept whole and shown.
    Unknown { kind: String, raw: Value },
}

/// How much a notice matters; an unknown word counts as [`Severity::Info`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// What a message says about a compaction: the fields it carries, and no others.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPatch {
    pub id: String,
    pub status: Option<CompactionStatus>,
    pub summary: Option<Summary>,
    pub error: Option<String>,
}

/// The summary that takes the place of what was compacted.
#[derive(Debug, Clone, PartialEq)]
pub enum Summary {
    /// All of it; `None` when there is none any more.
    Whole(Option<Content>),
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
    /// Content of an unknown type, kept whole.
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// What a message says about a tool call: the fields it carries, and no others.
///
/// `None` = not said. An empty `raw_input` object counts as not said, so does an empty title.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallPatch {
    pub id: ToolCallId,
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
    /// Returns a patch that says nothing but the id.
    pub fn new(id: ToolCallId) -> Self {
        Self {
            id,
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

    /// Returns the tool call whose sub-agent makes this one, where the agent says so.
    pub fn parent(&self) -> Option<ToolCallId> {
        let meta = self.meta.as_ref()?;
        let parent = meta.get("claudeCode")?.get("parentToolUseId")?.as_str()?;
        (!parent.is_empty()).then(|| ToolCallId(parent.into()))
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
    /// Returns the wire's name.
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

/// The status of a tool call. `Cancelled` is the client's own word for one that a cancel cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
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

/// A place in a file; `row` is 0-based (the wire's `line` less one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    pub row: Option<u32>,
}

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    pub text: String,
    pub priority: Priority,
    pub status: PlanStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// One option of a permission request. Its id alone says which it is: kinds may repeat.
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
