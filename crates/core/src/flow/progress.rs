//! Progress of a session: running tool calls, and pending announcements about them and the plan.
//!
//! Invariants: changes are announced with the next frame, or before any other announcement if that
//! is sooner; of several changes of one thing only the last is announced. So a burst costs the
//! editor only the changes it shows, and a blocked editor costs no memory.

use std::path::Path;

use crate::conversation::progress::status_name;
use crate::conversation::session::Session;
use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::spine::cx::{Effects, emit};
use crate::spine::effect::{Announcement, EditorEffect, Effect};
use crate::spine::ids::SessionKey;
use crate::text::paths::normalized;
use acp::Location;

impl Model {
    /// Announces the pending changes of all sessions, before any other announcement of the event.
    ///
    /// Called after each event; `is_due` is set with a frame, and when a terminal begins or ends.
    pub(crate) fn tell_progress(&mut self, is_due: bool, fx: &mut Effects) {
        let is_emit = |fx: &Effect| matches!(fx, Effect::Editor(EditorEffect::Emit(_)));
        let before = fx.iter().position(is_emit);
        if !is_due && before.is_none() {
            return;
        }
        let mut news = Vec::new();
        self.conversation
            .terminals_told
            .tell(&self.terminals.infos(), &mut news);
        for (key, session) in &mut self.conversation.sessions {
            tell(*key, session, &mut news);
        }
        let at = before.unwrap_or(fx.len());
        fx.insert_all(at, news.into_iter().map(emit));
    }
}

pub(crate) fn tell(key: SessionKey, session: &mut Session, news: &mut Vec<Announcement>) {
    let (transcript, cwd) = (&mut session.transcript, &session.spec.cwd);
    if !transcript.progress.is_new() {
        return;
    }
    for index in std::mem::take(&mut transcript.progress.tools) {
        if let Some(Entry::Tool(tool)) = transcript.entries().get(index) {
            news.push(announced(key, cwd, tool));
        }
    }
    if std::mem::take(&mut transcript.progress.is_plan_new) {
        // A withdrawn plan has no steps left.
        let (done, total) = transcript.plan_progress().unwrap_or_default();
        news.push(Announcement::PlanChanged {
            session: key,
            done,
            total,
        });
    }
}

fn announced(key: SessionKey, cwd: &Path, tool: &ToolCall) -> Announcement {
    let locations = tool.locations.iter().map(|location| Location {
        path: normalized(&cwd.join(&location.path)),
        row: location.row,
    });
    Announcement::ToolCall {
        session: key,
        id: tool.id.0.to_string(),
        kind: tool.kind.name().to_owned(),
        status: status_name(tool.status),
        title: toolview::title(tool),
        locations: locations.collect(),
    }
}
