//! Tool calls in their persistent form, with all fields that messages have set.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::{KeptLine, bounded, bounded_text};
use crate::render::toolcall::ToolCall;
use crate::terminals::ShownTerminal;
use acp::{Content, Location, TerminalId, ToolCallId, ToolContent, ToolKind, ToolStatus};

/// A diff with more text is not saved.
const MAX_DIFF: usize = 512 * 1024;

/// A tool call in its persistent form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptTool {
    pub tool_call_id: String,
    pub title: String,
    pub kind: String,
    pub status: KeptStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<KeptToolContent>,
    /// The rows of their files at which the content's diffs were located.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(usize, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<KeptLocation>,
    /// The output its terminals showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terminals: Vec<KeptTerminal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptToolContent {
    Content {
        content: KeptContent,
    },
    Diff {
        path: String,
        #[serde(default, rename = "oldText", skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        #[serde(rename = "newText")]
        new: String,
    },
    Terminal {
        #[serde(rename = "terminalId")]
        id: String,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// A content block; of one that is not text, only its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptContent {
    Text {
        text: String,
    },
    Image {
        mime: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
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
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLocation {
    pub path: String,
    /// 0-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u32>,
}

/// The part of a terminal's output that the transcript showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTerminal {
    pub id: String,
    pub lines: Option<Vec<KeptLine>>,
    pub has_output: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl KeptTool {
    pub(super) fn of(tool: &ToolCall) -> Self {
        let content: Vec<KeptToolContent> = tool.content.iter().map(kept_item).collect();
        let is_diff = |at: usize| matches!(content.get(at), Some(KeptToolContent::Diff { .. }));
        let places = (0..content.len()).filter(|&at| is_diff(at));
        let places = places.filter_map(|at| Some((at, tool.texts.diff(at)?.place()?)));
        let places = places.collect();
        Self {
            tool_call_id: tool.id.0.to_string(),
            title: bounded_text(&tool.title),
            kind: tool.kind.name().to_owned(),
            status: kept_status(tool.status),
            content,
            places,
            locations: tool.locations.iter().map(kept_location).collect(),
            terminals: tool.terminals.all().map(kept_terminal).collect(),
            raw_input: tool.raw_input.as_ref().and_then(bounded),
            raw_output: tool.raw_output.as_ref().and_then(bounded),
        }
    }

    /// Returns the tool call; one that was still running is restored as ended.
    pub(super) fn restored(&self) -> ToolCall {
        let mut tool = ToolCall::new(ToolCallId(self.tool_call_id.as_str().into()));
        tool.title.clone_from(&self.title);
        tool.kind = kind(&self.kind);
        tool.status = status(self.status);
        tool.content = self.content.iter().map(item).collect();
        tool.locations = self.locations.iter().map(location).collect();
        tool.raw_input.clone_from(&self.raw_input);
        tool.raw_output.clone_from(&self.raw_output);
        tool.texts.set(&tool.content);
        for (at, diff) in tool.texts.diffs_mut() {
            if let Some((_, row)) = self.places.iter().find(|(place, _)| *place == at) {
                diff.set_place(*row);
            }
        }
        for terminal in &self.terminals {
            tool.terminals.restore(terminal_of(terminal));
        }
        tool
    }
}

fn kept_status(status: ToolStatus) -> KeptStatus {
    match status {
        ToolStatus::Pending => KeptStatus::Pending,
        ToolStatus::InProgress => KeptStatus::InProgress,
        ToolStatus::Completed => KeptStatus::Completed,
        ToolStatus::Failed => KeptStatus::Failed,
        ToolStatus::Cancelled => KeptStatus::Cancelled,
    }
}

fn status(status: KeptStatus) -> ToolStatus {
    match status {
        KeptStatus::Completed => ToolStatus::Completed,
        KeptStatus::Failed => ToolStatus::Failed,
        KeptStatus::Pending | KeptStatus::InProgress | KeptStatus::Cancelled => {
            ToolStatus::Cancelled
        }
    }
}

fn kind(name: &str) -> ToolKind {
    let known = [
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Delete,
        ToolKind::Move,
        ToolKind::Search,
        ToolKind::Execute,
        ToolKind::Think,
        ToolKind::Fetch,
        ToolKind::SwitchMode,
        ToolKind::Other,
    ];
    let mut known = known.into_iter();
    let kind = known.find(|kind| kind.name() == name);
    kind.unwrap_or_else(|| ToolKind::Unknown(name.to_owned()))
}

fn kept_item(item: &ToolContent) -> KeptToolContent {
    match item {
        ToolContent::Content(content) => KeptToolContent::Content {
            content: kept_content(content),
        },
        ToolContent::Diff { path, old, new } => {
            let bytes = old.as_ref().map_or(0, String::len) + new.len();
            let path = path.to_string_lossy().into_owned();
            if bytes > MAX_DIFF {
                let text = format!("{path}: a diff of {} KiB was not kept", bytes >> 10);
                let content = KeptContent::Text { text };
                return KeptToolContent::Content { content };
            }
            let (old, new) = (old.clone(), new.clone());
            KeptToolContent::Diff { path, old, new }
        }
        ToolContent::Terminal { id } => KeptToolContent::Terminal {
            id: id.0.to_string(),
        },
        ToolContent::Unknown { kind, raw } => KeptToolContent::Unknown {
            kind: kind.clone(),
            raw: bounded(raw).unwrap_or_default(),
        },
    }
}

fn item(item: &KeptToolContent) -> ToolContent {
    match item {
        KeptToolContent::Content { content: block } => ToolContent::Content(content(block)),
        KeptToolContent::Diff { path, old, new } => ToolContent::Diff {
            path: path.into(),
            old: old.clone(),
            new: new.clone(),
        },
        KeptToolContent::Terminal { id } => ToolContent::Terminal {
            id: TerminalId(id.as_str().into()),
        },
        KeptToolContent::Unknown { kind, raw } => ToolContent::Unknown {
            kind: kind.clone(),
            raw: raw.clone(),
        },
    }
}

fn kept_content(content: &Content) -> KeptContent {
    match content.clone() {
        Content::Text(text) => KeptContent::Text {
            text: bounded_text(&text),
        },
        Content::Image { mime, uri, bytes } => KeptContent::Image { mime, uri, bytes },
        Content::Audio { mime, bytes } => KeptContent::Audio { mime, bytes },
        Content::ResourceLink { uri, name } => KeptContent::ResourceLink { uri, name },
        Content::Resource { uri, text } => KeptContent::Resource {
            uri,
            text: text.as_deref().map(bounded_text),
        },
        Content::Unknown { kind, raw } => KeptContent::Unknown {
            kind,
            raw: bounded(&raw).unwrap_or_default(),
        },
    }
}

fn content(content: &KeptContent) -> Content {
    match content.clone() {
        KeptContent::Text { text } => Content::Text(text),
        KeptContent::Image { mime, uri, bytes } => Content::Image { mime, uri, bytes },
        KeptContent::Audio { mime, bytes } => Content::Audio { mime, bytes },
        KeptContent::ResourceLink { uri, name } => Content::ResourceLink { uri, name },
        KeptContent::Resource { uri, text } => Content::Resource { uri, text },
        KeptContent::Unknown { kind, raw } => Content::Unknown { kind, raw },
    }
}

fn kept_location(location: &Location) -> KeptLocation {
    KeptLocation {
        path: location.path.to_string_lossy().into_owned(),
        row: location.row,
    }
}

fn location(location: &KeptLocation) -> Location {
    Location {
        path: location.path.as_str().into(),
        row: location.row,
    }
}

fn kept_terminal(shown: &ShownTerminal) -> KeptTerminal {
    let lines = shown.lines.as_ref();
    KeptTerminal {
        id: shown.id.0.to_string(),
        lines: lines.map(|lines| lines.iter().map(KeptLine::of).collect()),
        has_output: shown.has_output,
        command: shown.command.clone(),
    }
}

fn terminal_of(kept: &KeptTerminal) -> ShownTerminal {
    let lines = kept.lines.as_ref();
    ShownTerminal {
        id: TerminalId(kept.id.as_str().into()),
        lines: lines.map(|lines| lines.iter().map(KeptLine::restored).collect()),
        has_output: kept.has_output,
        command: kept.command.clone(),
    }
}
