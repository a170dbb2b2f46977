//! Tool calls in their persistent form, with all fields that messages have set.

use super::entry::{bounded, bounded_text};
use crate::render::terminals::ShownTerminal;
use crate::render::toolcall::ToolCall;
use crate::spine::history::{KeptContent, KeptLine, KeptTerminal, KeptTool, KeptToolContent};
use acp::{Content, TerminalId, ToolCallId, ToolContent, ToolStatus, tool_kind};

/// A diff with more text is not saved.
const MAX_DIFF: usize = 512 * 1024;

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
            status: tool.status,
            content,
            places,
            locations: tool.locations.clone(),
            terminals: tool.terminals.all().map(kept_terminal).collect(),
            raw_input: tool.raw_input.as_ref().and_then(bounded),
            raw_output: tool.raw_output.as_ref().and_then(bounded),
        }
    }

    /// Returns the tool call; one that was still running is restored as ended.
    pub(super) fn restored(&self) -> ToolCall {
        let mut tool = ToolCall::new(ToolCallId(self.tool_call_id.as_str().into()));
        tool.title.clone_from(&self.title);
        tool.kind = tool_kind(self.kind.clone());
        tool.status = ended(self.status);
        tool.content = self.content.iter().map(item).collect();
        tool.locations.clone_from(&self.locations);
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

/// Returns the status of a call that is restored: no call runs any more.
fn ended(status: ToolStatus) -> ToolStatus {
    match status {
        ToolStatus::Pending | ToolStatus::InProgress => ToolStatus::Cancelled,
        ended => ended,
    }
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
