//! Keeps proposals in step with questions, tool calls, buffers and the disk.
//!
//! Invariant: after every event except an edit, each proposal belongs to an open question, or to a
//! pending call of a running turn, and its hunks lie in the present text.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Base, Diff, FileProposal, Note, Preview, Proposal, Standing};
use crate::render::toolcall::ToolCall;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::event::{DiskFile, ReadError};
use crate::spine::ids::{QuestionId, SessionKey};
use crate::text::diff::diff;
use crate::text::paths::normalized;
use crate::text::{Text, moved};
use crate::workspace::Workspace;
use crate::workspace::jobs::ReadJob;
use acp::{ToolCallId, ToolContent};

impl Workspace {
    /// Returns whether a tool call has raised a question in this turn.
    pub(crate) fn was_asked(&self, key: SessionKey, id: &ToolCallId) -> bool {
        self.proposals.asked.contains(&(key, id.clone()))
    }

    /// Notes that a tool call has raised a question; it no longer counts as pending.
    pub(crate) fn note_asked(&mut self, session: SessionKey, tool: ToolCallId) {
        self.proposals.asked.insert((session, tool));
    }

    /// Returns whether the proposal of an open question has changed since the last call.
    pub(crate) fn take_asked_changed(&mut self) -> bool {
        std::mem::take(&mut self.proposals.is_asked_changed)
    }

    /// Updates the proposal of a tool call.
    pub(crate) fn propose(
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
            // The pending proposal becomes the question's, and keeps its choices.
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
            self.proposals.is_asked_changed = true;
        }
    }

    /// Ends obsolete proposals, and locates those whose files have changed.
    pub(crate) fn refresh_proposals(
        &mut self,
        standing: impl Fn(&Proposal) -> Standing,
        fx: &mut Effects,
    ) {
        if self.proposals.preview == Preview::Off {
            for proposal in std::mem::take(&mut self.proposals.all) {
                let paths = proposal.files.into_iter().map(|file| file.path);
                self.reviews.dirty.extend(paths);
                self.proposals.is_asked_changed = true;
            }
        }
        self.end_proposals(standing);
        self.forget_choices();
        let mut to_read = Vec::new();
        let mut all = std::mem::take(&mut self.proposals.all);
        for proposal in &mut all {
            let mut is_other = false;
            for file in proposal.files.iter_mut().filter(|file| file.stale) {
                is_other |= self.set_base(proposal.session, file, &mut to_read);
            }
            if is_other && proposal.permission.is_some() {
                self.proposals.is_asked_changed = true;
            }
        }
        self.proposals.all = all;
        for path in to_read {
            let token = self.jobs.reads.add(ReadJob::Proposal(path.clone()));
            fx.push(HostEffect::ReadDisk { token, path });
        }
    }

    /// Locates a file's proposal in its buffer, or has the file read from disk; returns whether the
    /// proposal has changed.
    fn set_base(
        &mut self,
        session: SessionKey,
        file: &mut FileProposal,
        to_read: &mut Vec<PathBuf>,
    ) -> bool {
        if self.documents.is_loading(&file.path) {
            return false;
        }
        let Some((_, document)) = self.documents.named(&file.path) else {
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
        let seen = seen.and_then(|session| session.seen.get(&document.path));
        let known: Vec<Text> = document.saved.iter().chain(seen).cloned().collect();
        if let (None, Some(saved)) = (&file.base, &document.saved) {
            // The agent's line numbers refer to the saved file.
            let edits = diff(saved, &document.text);
            for (_, near) in &mut file.diffs {
                *near = near.map(|row| moved(row, &edits));
            }
        }
        file.path.clone_from(&document.path);
        file.real = Some(document.path.clone());
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

    /// Handles the result of reading a proposal's file from disk.
    pub(crate) fn proposal_read(
        &mut self,
        path: &Path,
        result: Result<DiskFile, ReadError>,
        _fx: &mut Effects,
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
                    (Err(ReadError::Folder(why) | ReadError::Failed(why)), None) => {
                        file.notes = vec![Note::Misfit(format!("Not previewed: {why}."))];
                        file.stale = false;
                    }
                }
                self.reviews.dirty.insert(file.path.clone());
            }
        }
        if is_asked {
            self.proposals.is_asked_changed = true;
        }
    }

    /// Marks a file's proposals as stale: its buffer or its content has changed.
    pub(crate) fn proposals_stale(&mut self, path: &Path) {
        for file in self.proposals.files_mut() {
            if file.path == path || file.real.as_deref() == Some(path) {
                file.stale = true;
                file.reading = false;
            }
        }
    }

    fn end_proposals(&mut self, standing: impl Fn(&Proposal) -> Standing) {
        let asked = &self.proposals.asked;
        let is_over = |one: &mut Proposal| match standing(one) {
            Standing::Open => one.permission.is_none() && asked.contains(&one.key()),
            Standing::CarriedOut | Standing::Over => true,
        };
        let over: Vec<Proposal> = self.proposals.all.extract_if(.., is_over).collect();
        for proposal in over {
            for file in &proposal.files {
                self.reviews.dirty.insert(file.path.clone());
            }
            if matches!(standing(&proposal), Standing::CarriedOut) {
                self.keep_choices(proposal);
            }
        }
    }
}

impl FileProposal {
    /// Returns the known proposal if its diffs are the same; otherwise `self`, with the known base
    /// and hunks.
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
        // Hunks that stay the same keep their choices.
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

/// Returns the changes that a tool call proposes, by file, in the order of its diffs.
pub fn files_of(tool: &ToolCall, cwd: &Path) -> Vec<FileProposal> {
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

/// Returns whether an edit replaces every occurrence of its text.
fn replaces_all(input: Option<&Value>) -> bool {
    let flag = |name: &str| input.is_some_and(|input| input[name] == Value::Bool(true));
    flag("replace_all") || flag("replaceAll")
}
