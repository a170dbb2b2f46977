//! Full views of content that the transcript cuts or omits.
//!
//! Invariant: a view is built on request from the model's state; nothing is stored for it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::contents::content_markdown;
use crate::render::diffview::diff_lines;
use crate::render::rawview;
use crate::render::toolcall::ToolCall;
use crate::render::toolview::{kind_name, status_name, title};
use crate::render::view::{Piece, Whole, WholeLanguage, WholeView};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Effect, Level};
use crate::spine::ids::SessionKey;
use acp::{Content, Location, ToolContent};

/// Maximum length of a title in a buffer's name, in characters.
const MAX_NAME: usize = 60;

impl Model {
    /// Shows an entry of a transcript, or a piece of it, in full.
    pub(crate) fn show_whole(&mut self, key: SessionKey, whole: Whole, fx: &mut Effects) {
        let view = self.whole(key, whole);
        fx.push(match view {
            Some(view) => Effect::Editor(EditorEffect::ShowWhole(view)),
            None => notify(Level::Info, "There is no more of this than is shown."),
        });
    }

    fn whole(&self, key: SessionKey, whole: Whole) -> Option<WholeView> {
        let session = self.sessions.get(&key)?;
        let entry = session.transcript.entries().get(whole.entry as usize)?;
        let name = |of: &str, title: &str| {
            let title: String = title.chars().take(MAX_NAME).collect();
            let title = title.replace(['/', '\n'], "∕");
            format!("acp://{}/{}/{of}/{title}", session.spec.name, key.0)
        };
        match entry {
            Entry::Tool(tool) => {
                let (of, language, text) = piece(tool, whole.piece)?;
                let name = name(&format!("{of} {}", whole.entry), &title(tool));
                Some(WholeView {
                    name,
                    language,
                    text,
                })
            }
            Entry::Unknown { kind, raw } => Some(WholeView {
                name: name(&format!("raw {}", whole.entry), kind),
                language: WholeLanguage::Named("json"),
                text: pretty(raw),
            }),
            _ => None,
        }
    }

    /// Locates the diffs of a tool call in the current texts of their files: of a buffer, or else
    /// of the review.
    pub(crate) fn place_diffs(&mut self, key: SessionKey, entry: usize) {
        let (documents, reviews) = (&self.workspace.documents, &self.workspace.reviews);
        if let Some(session) = self.sessions.get_mut(&key) {
            session.transcript.place_diffs(entry, |path| {
                let document = documents.find(path).map(|(_, found)| found.text.clone());
                document.or_else(|| Some(reviews.get(path)?.ledger.current().clone()))
            });
        }
    }
}

/// Returns a piece's name, language and full text.
fn piece(tool: &ToolCall, piece: Piece) -> Option<(&'static str, WholeLanguage, String)> {
    let named = WholeLanguage::Named;
    match piece {
        Piece::Raw => Some(("raw", named("json"), raw(tool))),
        Piece::Input => match (rawview::command(tool), &tool.raw_input) {
            (Some(command), _) => Some(("input", named("sh"), command)),
            (None, input) => Some(("input", named("json"), pretty(input.as_ref()?))),
        },
        Piece::Output => {
            let raw = tool.raw_output.as_ref()?;
            match rawview::output(raw) {
                Some(text) => Some(("output", named(""), text.into_owned())),
                None => Some(("output", named("json"), pretty(raw))),
            }
        }
        Piece::Content(at) => {
            let (language, text) = content(tool.content.get(at as usize)?);
            Some(("content", language, text))
        }
    }
}

fn content(item: &ToolContent) -> (WholeLanguage, String) {
    let named = WholeLanguage::Named;
    match item {
        ToolContent::Content(Content::Text(text)) => (named("markdown"), text.clone()),
        ToolContent::Content(Content::Resource {
            uri,
            text: Some(text),
        }) => (WholeLanguage::OfFile(uri.clone()), text.clone()),
        ToolContent::Content(Content::Unknown { raw, .. }) | ToolContent::Unknown { raw, .. } => {
            (named("json"), pretty(raw))
        }
        ToolContent::Content(content) => (named("markdown"), content_markdown(content)),
        ToolContent::Diff { path, old, new } => {
            let path = path.display();
            let mut text = format!("--- {path}\n+++ {path}\n");
            for line in diff_lines(old.as_deref().unwrap_or_default(), new) {
                // The first column is the sign; the second is padding.
                let mut chars = line.text.chars();
                let sign = chars.next().unwrap_or(' ');
                text.push(sign);
                text.extend(chars.skip(1));
                text.push('\n');
            }
            (named("diff"), text)
        }
        ToolContent::Terminal { id } => (named(""), format!("terminal {}", id.0)),
    }
}

/// All known fields of a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    tool_call_id: &'a str,
    title: &'a str,
    kind: &'a str,
    status: &'a str,
    locations: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_output: Option<&'a Value>,
    content: Vec<Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Value>,
}

/// Returns all known fields of a tool call as JSON.
fn raw(tool: &ToolCall) -> String {
    let place =
        |place: &Location| json!({ "path": place.path, "line": place.row.map(|row| row + 1) });
    pretty(&Raw {
        tool_call_id: &tool.id.0,
        title: &tool.title,
        kind: kind_name(&tool.kind),
        status: status_name(tool.status),
        locations: tool.locations.iter().map(place).collect(),
        raw_input: tool.raw_input.as_ref(),
        raw_output: tool.raw_output.as_ref(),
        content: tool.content.iter().map(content_json).collect(),
        meta: tool.meta.as_ref(),
    })
}

fn content_json(item: &ToolContent) -> Value {
    match item {
        ToolContent::Content(Content::Text(text)) => json!({ "type": "text", "text": text }),
        ToolContent::Content(Content::Unknown { raw, .. }) | ToolContent::Unknown { raw, .. } => {
            raw.clone()
        }
        ToolContent::Content(content) => json!({ "content": content_markdown(content) }),
        ToolContent::Diff { path, old, new } => {
            json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
        }
        ToolContent::Terminal { id } => json!({ "type": "terminal", "terminalId": &*id.0 }),
    }
}

fn pretty(value: &impl Serialize) -> String {
    // Plain data always serializes.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
