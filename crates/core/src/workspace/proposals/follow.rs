//! Proposals follow what is known: questions and tool calls, buffers and the disk.
//!
//! Invariant: after every event but an edit, each proposal belongs to an open question or to a
//! call that still is pending in a running turn, and its hunks lie in the text of the moment.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Base, Diff, FileProposal, Note, Preview, Proposal};
use crate::model::{Model, Session};
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::DiskFile;
use crate::spine::ids::{QuestionId, SessionKey};
use crate::spine::jobs::ReadJob;
use crate::text::paths::normalized;
use crate::text::{Text, moved};
use crate::workspace::ledger::diff;
use acp::{ToolCallId, ToolContent, ToolStatus};

/// Who asks, what it is called, what would change.
type Wanted = (Option<QuestionId>, String, Vec<FileProposal>);

impl Model {
    /// Lets the proposals be what is known of a tool call by now.
    pub(crate) fn tool_proposes(&mut self, key: SessionKey, id: &ToolCallId) {
        if self.proposals.preview == Preview::Off {
            return;
        }
        let wanted = self.wanted(key, id);
        for (permission, title, files) in wanted {
            self.propose(key, id, permission, title, files);
        }
    }

    /// Returns what the open questions about a tool call propose, or the call itself while it is
    /// pending.
    fn wanted(&self, key: SessionKey, id: &ToolCallId) -> Vec<Wanted> {
        let Some(session) = self.sessions.get(&key) else {
            return Vec::new();
        };
        let wants = |permission, tool: &ToolCall| {
            let files = files_of(tool, &session.spec.cwd);
            (permission, toolview::title(tool), files)
        };
        let open = self.questions.asked();
        let open = open.filter(|open| {
            open.permission().is_some() && open.session == key && open.tool.as_ref() == Some(id)
        });
        let asked = open.filter_map(|open| Some(wants(Some(open.id), self.question_call(open)?)));
        let asked: Vec<Wanted> = asked.collect();
        if !asked.is_empty() || !self.is_pending(key, id) {
            return asked;
        }
        let tool = session.transcript.find_tool(id);
        tool.map(|tool| wants(None, tool)).into_iter().collect()
    }

    /// Tells whether a call waits to be carried out, and nobody has been asked about it.
    fn is_pending(&self, key: SessionKey, id: &ToolCallId) -> bool {
        let asked = self.proposals.asked.contains(&(key, id.clone()));
        let runs = |session: &&Session| {
            let turn = session.turn.as_ref();
            turn.is_some_and(|turn| !turn.cancelled)
        };
        let session = self.sessions.get(&key).filter(runs);
        let tool = session.and_then(|session| session.transcript.find_tool(id));
        !asked && tool.is_some_and(|tool| tool.status == ToolStatus::Pending)
    }

    fn propose(
        &mut self,
        session: SessionKey,
        tool: &ToolCallId,
        permission: Option<QuestionId>,
        title: String,
        files: Vec<FileProposal>,
    ) {
        let is_same = |one: &Proposal, permission| {
            one.session == session && one.tool == *tool && one.permission == permission
        };
        if permission.is_some() {
            self.proposals.asked.insert((session, tool.clone()));
            // What was pending is asked about now: its choices stay.
            let mut all = self.proposals.all.iter_mut();
            if let Some(pending) = all.find(|one| is_same(one, None)) {
                pending.permission = permission;
            }
        }
        let mut all = self.proposals.all.iter_mut();
        match all.find(|one| is_same(one, permission)) {
            Some(proposal) => {
                if proposal.title != title {
                    let named = proposal.files.iter().map(|file| file.path.clone());
                    self.reviews.dirty.extend(named);
                }
                proposal.title = title;
                let mut before = std::mem::take(&mut proposal.files);
                let files = files.into_iter();
                proposal.files = files.map(|file| file.or_known(&mut before)).collect();
                let gone = before.into_iter().map(|file| file.path);
                self.reviews.dirty.extend(gone);
            }
            None if files.is_empty() => return,
            None => self.proposals.all.push(Proposal {
                session,
                tool: tool.clone(),
                permission,
                title,
                files,
            }),
        }
        if permission.is_some() {
            self.questions.touch();
        }
    }

    /// Ends what nobody proposes any more, and locates the rest where something has changed.
    pub(crate) fn refresh_proposals(&mut self, fx: &mut Effects) {
        if self.proposals.preview == Preview::Off {
            for proposal in std::mem::take(&mut self.proposals.all) {
                let paths = proposal.files.into_iter().map(|file| file.path);
                self.reviews.dirty.extend(paths);
                self.questions.touch();
            }
        }
        self.end_proposals();
        self.forget_choices();
        let mut to_read = Vec::new();
        let mut all = std::mem::take(&mut self.proposals.all);
        for proposal in &mut all {
            let mut is_other = false;
            for file in proposal.files.iter_mut().filter(|file| file.stale) {
                is_other |= self.set_base(proposal.session, file, &mut to_read);
            }
            if is_other && proposal.permission.is_some() {
                self.questions.touch();
            }
        }
        self.proposals.all = all;
        for path in to_read {
            let token = self.jobs.reads.add(ReadJob::Proposal(path.clone()));
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
        }
    }

    /// Locates a file's proposal in its buffer; one in no buffer has to be read from disk.
    fn set_base(
        &mut self,
        session: SessionKey,
        file: &mut FileProposal,
        to_read: &mut Vec<PathBuf>,
    ) -> bool {
        if self.documents.is_loading(&file.path) {
            return false;
        }
        let Some((_, document)) = self.documents.find(&file.path) else {
            let is_outside = self.check_root(session, &file.path).is_err();
            if is_outside {
                let text = "Not previewed: the file is outside the session's folders.";
                file.notes = vec![Note::Misfit(text.to_owned())];
                file.stale = false;
                self.reviews.dirty.insert(file.path.clone());
            } else if !std::mem::replace(&mut file.reading, true) && !to_read.contains(&file.path) {
                to_read.push(file.path.clone());
            }
            return is_outside;
        };
        let seen = self.sessions.get(&session);
        let seen = seen.and_then(|session| session.seen.get(&document.real));
        let known: Vec<Text> = document.saved.iter().chain(seen).cloned().collect();
        if let (None, Some(saved)) = (&file.base, &document.saved) {
            // The agent counts the lines of the file.
            let edits = diff(saved, &document.text);
            for (_, near) in &mut file.diffs {
                *near = near.map(|row| moved(row, &edits));
            }
        }
        file.path.clone_from(&document.path);
        file.real = Some(document.real.clone());
        file.base = Some(Base {
            text: document.text.clone(),
            line_end: document.state.format.line_end,
            known,
            is_missing: document.text.is_empty() && document.stamp.is_none(),
        });
        file.locate();
        self.reviews.dirty.insert(file.path.clone());
        true
    }

    /// The disk has what a proposal's file is.
    pub(crate) fn proposal_read(
        &mut self,
        path: &Path,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let buffer = result.as_ref().ok();
        let buffer = buffer.and_then(|disk| self.documents.find(&disk.real));
        let buffer = buffer.map(|(_, document)| document.path.clone());
        let sessions = &self.sessions;
        let mut is_asked = false;
        for proposal in &mut self.proposals.all {
            let session = sessions.get(&proposal.session);
            for file in proposal.files.iter_mut() {
                if file.path != path || !std::mem::take(&mut file.reading) {
                    continue;
                }
                is_asked |= proposal.permission.is_some();
                match (&result, &buffer) {
                    (_, Some(buffer)) => file.path.clone_from(buffer),
                    (Ok(disk), None) => {
                        let seen = session.and_then(|session| session.seen.get(&disk.real));
                        file.set_disk(disk, seen.cloned());
                    }
                    (Err(why), None) => {
                        file.notes = vec![Note::Misfit(format!("Not previewed: {why}."))];
                        file.stale = false;
                    }
                }
                self.reviews.dirty.insert(file.path.clone());
            }
        }
        if is_asked {
            self.questions.touch();
        }
        self.refresh_proposals(fx);
    }

    /// A file is another than it was: in a buffer now, in none any more, written by somebody.
    pub(crate) fn proposals_stale(&mut self, path: &Path, real: &Path) {
        for file in self.proposals.files_mut() {
            if file.path == path || file.path == real || file.real.as_deref() == Some(real) {
                file.stale = true;
                file.reading = false;
            }
        }
    }

    fn end_proposals(&mut self) {
        let mut over = Vec::new();
        let mut at = 0;
        while let Some(proposal) = self.proposals.all.get(at) {
            let stands = match proposal.permission {
                Some(id) => self.questions.get(id).is_some(),
                None => self.is_pending(proposal.session, &proposal.tool),
            };
            match stands {
                true => at += 1,
                false => over.push(self.proposals.all.remove(at)),
            }
        }
        for proposal in over {
            for file in &proposal.files {
                self.reviews.dirty.insert(file.path.clone());
            }
            if proposal.permission.is_none() && self.is_carried_out(&proposal) {
                self.keep_choices(proposal);
            }
        }
    }

    fn is_carried_out(&self, proposal: &Proposal) -> bool {
        let session = self.sessions.get(&proposal.session);
        let tool = session.and_then(|session| session.transcript.find_tool(&proposal.tool));
        let status = tool.map(|tool| tool.status);
        matches!(status, Some(ToolStatus::InProgress | ToolStatus::Completed))
    }
}

impl FileProposal {
    /// Becomes what is known of the file already, if the diffs are the same.
    fn or_known(self, known: &mut Vec<FileProposal>) -> Self {
        let at = known.iter().position(|file| {
            let mut pairs = file.diffs.iter().zip(&self.diffs);
            file.named == self.named
                && file.diffs.len() == self.diffs.len()
                && pairs.all(|(a, b)| a.0 == b.0)
        });
        if let Some(at) = at {
            return known.remove(at);
        }
        let other = known.iter().position(|file| file.named == self.named);
        let other = other.map(|at| known.remove(at));
        // The hunks of before keep their choices, where they are the same.
        match other {
            Some(other) => Self {
                path: other.path,
                real: other.real,
                base: other.base,
                hunks: other.hunks,
                ..self
            },
            None => self,
        }
    }

    fn set_disk(&mut self, disk: &DiskFile, seen: Option<Text>) {
        self.real = Some(disk.real.clone());
        let content = disk.content.as_ref();
        self.base = Some(Base {
            text: content
                .map(|content| content.text.clone())
                .unwrap_or_default(),
            line_end: content
                .map(|content| content.format)
                .unwrap_or_default()
                .line_end,
            known: seen.into_iter().collect(),
            is_missing: content.is_none(),
        });
        self.locate();
    }
}

/// Returns what a tool call would change, file by file, in the order of its diffs.
fn files_of(tool: &ToolCall, cwd: &Path) -> Vec<FileProposal> {
    let mut files: Vec<FileProposal> = Vec::new();
    for item in &tool.content {
        let ToolContent::Diff { path, old, new } = item else {
            continue;
        };
        let place = normalized(&cwd.join(path));
        let diff = Diff {
            old: old.clone(),
            new: new.clone(),
            everywhere: replaces_all(tool.raw_input.as_ref()),
        };
        match files.iter_mut().find(|file| file.named == place) {
            Some(file) => file.diffs.push((diff, None)),
            None => files.push(FileProposal::new(place, vec![(diff, None)])),
        }
    }
    for file in &mut files {
        let rows: Vec<usize> = tool
            .locations
            .iter()
            .filter(|location| normalized(&cwd.join(&location.path)) == file.named)
            .filter_map(|location| usize::try_from(location.row?).ok())
            .collect();
        let is_each = rows.len() == file.diffs.len();
        for (at, (_, near)) in file.diffs.iter_mut().enumerate() {
            *near = rows.get(if is_each { at } else { 0 }).copied();
        }
    }
    files
}

/// Tells whether an edit is meant for every place where its text is.
fn replaces_all(input: Option<&Value>) -> bool {
    let flag = |name: &str| input.is_some_and(|input| input[name] == Value::Bool(true));
    flag("replace_all") || flag("replaceAll")
}
