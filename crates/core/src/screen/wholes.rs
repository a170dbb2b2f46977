//! Full views of content that the transcript cuts or omits.
//!
//! Invariant: a view is built on request from the model's state; nothing is stored for it.

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::rawview;
use crate::render::toolcall::ToolCall;
use crate::render::toolview::title;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::spine::view::{Piece, Whole, WholeLanguage, WholeView};
use crate::view::wholes::{content, pretty, raw};
use crate::workspace::FileEdit;

impl Model {
    /// Shows an entry of a transcript, or a piece of it, in full.
    pub(crate) fn show_whole(&mut self, key: SessionKey, whole: Whole, fx: &mut Effects) {
        match self.whole(key, whole) {
            Some(view) => fx.push(EditorEffect::ShowWhole(view)),
            None => fx.push(notify(Level::Info, "All of this is shown already.")),
        }
    }

    fn whole(&self, key: SessionKey, whole: Whole) -> Option<WholeView> {
        let session = self.conversation.session(key)?;
        let entry = session.transcript().entries().get(whole.entry as usize)?;
        let name = |of: &str, title: &str| {
            let title: String = title.chars().take(MAX_NAME).collect();
            let title = title.replace('/', "∕");
            OneLine::new(format!("acp://{}/{}/{of}/{title}", session.name(), key.0))
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
        let (documents, reviews) = (self.workspace.documents(), self.workspace.reviews());
        if let Some(session) = self.conversation.session_mut(key) {
            session.transcript_mut().place_diffs(entry, |path| {
                let document = documents.named(path).map(|(_, found)| found.text.clone());
                document.or_else(|| Some(reviews.get(path)?.ledger.current().clone()))
            });
        }
    }

    /// Locates the diffs of an edit that were shown before its file was read.
    pub(crate) fn place_diffs_of(&mut self, edit: &FileEdit) {
        if let Some(session) = self.conversation.session_mut(edit.session) {
            session
                .transcript_mut()
                .place_new_diffs(&edit.path, &edit.after);
        }
    }
}

/// Maximum length of a title in a buffer's name, in characters.
const MAX_NAME: usize = 60;

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
