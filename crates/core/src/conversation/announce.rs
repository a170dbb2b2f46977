//! Announces the progress of all sessions.

use std::path::Path;

use crate::conversation::Conversation;
use crate::conversation::session::Session;
use crate::conversation::transcript::Entry;
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::spine::effect::Announcement;
use crate::spine::ids::{SessionKey, TerminalKey};
use crate::terminals::info::TerminalInfo;
use crate::text::paths::normalized;
use acp::Location;

impl Conversation {
    /// Returns the pending announcements of all sessions.
    pub(crate) fn take_progress(&mut self, terminals: &[TerminalInfo]) -> Vec<Announcement> {
        let mut news = Vec::new();
        self.terminals_told.tell(terminals, &mut news);
        for (key, session) in &mut self.sessions {
            tell(*key, session, &mut news);
        }
        news
    }

    /// Suppresses all announcements about these terminals.
    pub(crate) fn pass_over_terminals(&mut self, all: impl IntoIterator<Item = TerminalKey>) {
        self.terminals_told.pass_over(all);
    }
}

fn tell(key: SessionKey, session: &mut Session, news: &mut Vec<Announcement>) {
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
        status: tool.status,
        title: toolview::title(tool),
        locations: locations.collect(),
    }
}
