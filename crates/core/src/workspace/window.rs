//! Projects and their checkpoints, which bound the window in which changes on disk are attributed
//! to an agent.
//!
//! Invariant: a prompt is sent once its checkpoint is taken, so that earlier changes are not
//! attributed to the agent. The window closes with the first checkpoint after the turn, so that all
//! changes until then are. A turn runs even if its checkpoint fails.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::conversation::transcript::Entry;
use crate::model::{Model, Session};
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{Effect, HostEffect, Level, Turns};
use crate::spine::ids::SessionKey;
use crate::spine::jobs::CheckpointJob;
use crate::spine::project::Checkpoint;
use acp::ToolContent;

/// The open windows, and the limits of projects already reported to the user.
#[derive(Debug, Default)]
pub struct Windows {
    /// In the order in which their turns began.
    open: Vec<Window>,
    /// The reported limits of open projects.
    limited: BTreeSet<(PathBuf, Limit)>,
}

/// A limit on observing a project; each is reported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// Some of its files cannot be watched.
    Watch,
    /// A checkpoint does not hold everything.
    Checkpoint,
    /// The last checkpoint failed.
    Failed,
}

/// The window in which changes below `root` are attributed to the agent.
#[derive(Debug)]
struct Window {
    session: SessionKey,
    root: PathBuf,
    /// The first entry of the turn in the session's transcript.
    entry: usize,
}

impl Windows {
    /// Returns whether a change on disk may still be attributed to any agent.
    pub(crate) fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns whether a change on disk may still be attributed to a session's agent.
    pub(crate) fn is_open(&self, key: SessionKey) -> bool {
        self.open.iter().any(|open| open.session == key)
    }
}

impl Model {
    /// Opens a new session's project.
    pub(crate) fn open_project(&mut self, key: SessionKey, fx: &mut Effects) {
        if let Some(session) = self.sessions.get(&key) {
            let root = session.project.clone();
            self.reviews.knows_project(&root);
            self.track_project(&root);
            fx.push(Effect::Host(HostEffect::OpenProject { root }));
        }
    }

    /// Closes a project without sessions, once its last window is closed.
    pub(crate) fn leave_project(&mut self, root: &Path, fx: &mut Effects) {
        let is_asked = self.jobs.checkpoints.values().any(|job| job.root == root);
        let mut sessions = self.sessions.values();
        if !is_asked && !sessions.any(|session| session.project == root) {
            self.untrack_project(root);
            self.windows.limited.retain(|(limited, _)| limited != root);
            let root = root.to_owned();
            fx.push(Effect::Host(HostEffect::CloseProject { root }));
        }
    }

    /// Requests a checkpoint for a session, unless a request is pending.
    pub(crate) fn ask_checkpoint(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if !std::mem::replace(&mut session.awaits_checkpoint, true) {
            let root = session.project.clone();
            self.take_checkpoint(key, root, fx);
        }
    }

    fn take_checkpoint(&mut self, session: SessionKey, root: PathBuf, fx: &mut Effects) {
        let mut here = self.sessions.values();
        let runs = here.any(|session| session.project == root && session.turn.is_some());
        let turns = if runs { Turns::Running } else { Turns::Over };
        let job = CheckpointJob {
            session,
            root: root.clone(),
        };
        let token = self.jobs.checkpoints.add(job);
        fx.push(Effect::Host(HostEffect::Checkpoint { token, root, turns }));
    }

    /// Closes the window of a closed session once all its changes are reported.
    pub(crate) fn abandon_window(&mut self, key: SessionKey, session: &Session, fx: &mut Effects) {
        let is_open = self.windows.is_open(key);
        if is_open && !session.awaits_checkpoint {
            self.take_checkpoint(key, session.project.clone(), fx);
        }
        self.leave_project(&session.project, fx);
    }

    /// Opens the window of a turn whose prompt is being sent.
    pub(crate) fn open_window(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.get(&key) {
            self.windows.open.push(Window {
                session: key,
                root: session.project.clone(),
                entry: session.transcript.entries().len(),
            });
        }
    }

    /// Handles a finished checkpoint: closes the last turn's window and sends the next prompt.
    pub(crate) fn checkpoint_taken(
        &mut self,
        key: SessionKey,
        root: &Path,
        result: Result<Checkpoint, String>,
        fx: &mut Effects,
    ) {
        match result {
            Ok(Checkpoint { limited, .. }) => {
                let failed = (root.to_owned(), Limit::Failed);
                self.windows.limited.remove(&failed);
                if let Some(why) = limited {
                    self.project_is_limited(root, Limit::Checkpoint, &why, fx);
                }
            }
            Err(why) => {
                let text = format!(
                    "No checkpoint was taken, so changes on disk may be missed in the review: {why}"
                );
                self.project_is_limited(root, Limit::Failed, &text, fx);
            }
        }
        let open = self.windows.open.len();
        self.windows.open.retain(|window| window.session != key);
        if self.windows.open.len() < open {
            let line = format!(
                "session {}: what changes from now on is not the agent's",
                key.0
            );
            fx.push(log(Level::Debug, line));
        }
        if !self.windows.is_any_open() {
            self.all_is_told();
        }
        match self.sessions.get_mut(&key) {
            Some(session) => {
                session.awaits_checkpoint = false;
                self.send_prompt(key, fx);
            }
            None => self.leave_project(root, fx),
        }
    }

    /// Reports to the user, once per limit, that a project is only partly observed.
    pub(crate) fn project_is_limited(
        &mut self,
        root: &Path,
        limit: Limit,
        why: &str,
        fx: &mut Effects,
    ) {
        if !self.windows.limited.insert((root.to_owned(), limit)) {
            return;
        }
        fx.push(notify(Level::Warn, why));
        let here = self.sessions.values_mut();
        for session in here.filter(|session| session.project == root) {
            session.transcript.notice(Level::Warn, why);
        }
    }

    /// Attributes a change at `path` to a session: of several candidates, the one that has named
    /// the file, else the one whose turn began last.
    pub(crate) fn agent_at(&self, path: &Path) -> Option<SessionKey> {
        let open = self.windows.open.iter().rev();
        let over: Vec<&Window> = open
            .filter(|window| path.starts_with(&window.root))
            .collect();
        let last = over.first()?;
        let named = match over.len() {
            1 => None,
            _ => over.iter().find(|window| self.has_named(window, path)),
        };
        Some(named.unwrap_or(last).session)
    }

    /// Returns whether a session's tool calls have named a file since its window opened.
    fn has_named(&self, window: &Window, path: &Path) -> bool {
        let session = self.sessions.get(&window.session);
        let entries = session.map_or(&[][..], |session| session.transcript.entries());
        let mut tools = entries.iter().skip(window.entry).filter_map(|e| match e {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        });
        tools.any(|tool| {
            tool.locations.iter().any(|place| place.path == path)
                || tool.content.iter().any(
                    |part| matches!(part, ToolContent::Diff { path: named, .. } if named == path),
                )
        })
    }
}
