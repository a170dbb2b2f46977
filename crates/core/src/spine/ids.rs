//! The newtypes that name things across rooms; each is only ever compared and copied.

use serde::Serialize;

/// One life of an agent's process: a restart gets a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentKey(pub u32);

/// A session as the client counts them; it exists before the agent has given it an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SessionKey(pub u32);

/// A Neovim buffer handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufId(pub i32);

/// Something that is fetched for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId(pub u64);

/// A terminal, one that a command of an agent's runs in or one that only shows what the agent tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct TerminalKey(pub u32);

/// A prompt that waits in its session's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u64);

/// An open permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PermissionId(pub u64);

/// An open question by a form or a page; no permission request has the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElicitationId(pub u64);

/// A call of one of Neovim's tools, over all sessions; the host counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolUseId(pub u64);

/// A turn of a session, counted from 1; 0 is what its agent did before any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnKey {
    pub session: SessionKey,
    pub number: u32,
}

/// A file or hunk in the review list, told from the others by what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemKey(pub u64);
