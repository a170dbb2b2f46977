//! Projects and their checkpoints, which bound the window in which changes on disk are attributed
//! to an agent.
//!
//! Invariant: a prompt is sent once its checkpoint is taken, so that earlier changes are not
//! attributed to the agent, or after [`PATIENCE`] without one. The window closes with the first
//! checkpoint after the turn, so that all changes until then are. A turn runs even if its checkpoint fails.
//! Work outside a turn waits for no checkpoint: the earlier state of a file is what the host last
//! saw of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{HostEffect, Level, Turns};
use crate::spine::ids::SessionKey;
use crate::spine::project::Checkpoint;
use crate::workspace::jobs::CheckpointJob;
use crate::workspace::sessions::SessionFiles;
use crate::workspace::tracked::named;
use crate::workspace::{Folders, Signal, Workspace};
use acp::ToolCallPatch;

/// The seconds that a prompt waits for its checkpoint.
pub(crate) const PATIENCE: u32 = 30;

/// The open windows, and the limits of projects already reported to the user.
#[derive(Debug, Default)]
pub struct Windows {
    /// In the order in which they were opened.
    open: Vec<Window>,
    /// The projects whose turns are over and reported, but perhaps not yet all in the reviews.
    over: BTreeSet<PathBuf>,
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
    /// The files that tool calls have named since.
    named: BTreeSet<PathBuf>,
    /// The files of git's that were reported to the user.
    told: BTreeSet<PathBuf>,
}

impl Windows {
    /// Returns whether a file is reported to the user for the first time in a session's turn.
    pub(crate) fn is_first_of(&mut self, key: SessionKey, path: &Path) -> bool {
        let window = self.open.iter_mut().find(|open| open.session == key);
        window.is_some_and(|window| window.told.insert(path.to_owned()))
    }

    /// Returns whether a change on disk may still be attributed to a session's agent.
    pub(crate) fn is_open(&self, key: SessionKey) -> bool {
        self.open.iter().any(|open| open.session == key)
    }
}

impl Workspace {
    /// Opens a new session, and its project.
    pub(crate) fn open_session(&mut self, key: SessionKey, folders: Folders, fx: &mut Effects) {
        let root = folders.project.clone();
        self.roots.insert(root.clone());
        self.roots.extend(folders.roots.iter().cloned());
        self.sessions.insert(key, SessionFiles::new(folders));
        let begun = self.reviews.project_opens(&root);
        self.track_project(&root);
        fx.push(HostEffect::OpenProject { root: root.clone() });
        if !begun.is_empty() {
            let ended = Vec::new();
            fx.push(HostEffect::Reviewed { root, begun, ended });
        }
    }

    /// Closes a project without sessions, once its last window is closed and the host knows.
    pub(crate) fn leave_project(&mut self, root: &Path, fx: &mut Effects) {
        let is_busy = self.is_asked(root) || self.windows.over.contains(root);
        let mut sessions = self.sessions.values();
        if !is_busy && !sessions.any(|session| session.folders.project == root) {
            self.untrack_project(root);
            self.reviews.project_closes(root);
            self.changes.project_closes(root);
            self.windows.limited.retain(|(limited, _)| limited != root);
            let root = root.to_owned();
            fx.push(HostEffect::CloseProject { root });
        }
    }

    /// Requests a checkpoint for a session, unless a request is pending.
    pub(crate) fn ask_checkpoint(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if !std::mem::replace(&mut session.awaits_checkpoint, true) {
            let root = session.folders.project.clone();
            self.take_checkpoint(Some(key), root, fx);
        }
    }

    /// Returns whether an agent works in a project.
    fn turns_in(&self, root: &Path) -> Turns {
        let mut here = self.sessions.values();
        match here.any(|session| session.folders.project == root && session.is_at_work()) {
            true => Turns::Running,
            false => Turns::Over,
        }
    }

    /// Tells the host if work has begun or ended since a checkpoint was requested, unless another one was
    /// requested since. A session that was closed before its prompt was sent has ended its turn, too.
    pub(super) fn tell_turns(&mut self, taken: &CheckpointJob, fx: &mut Effects) {
        if !self.is_asked(&taken.root) && self.turns_in(&taken.root) != taken.turns {
            self.take_checkpoint(None, taken.root.clone(), fx);
        }
    }

    /// Returns whether a checkpoint of a project is pending.
    fn is_asked(&self, root: &Path) -> bool {
        self.jobs.checkpoints.values().any(|job| job.root == root)
    }

    /// Notes whether a checkpoint has reported all that turns in a project changed.
    pub(super) fn note_over(&mut self, taken: &CheckpointJob, is_taken: bool) {
        match is_taken && taken.turns == Turns::Over {
            true => self.windows.over.insert(taken.root.clone()),
            false => self.windows.over.remove(&taken.root),
        };
    }

    /// Tells the host of turns that are over, once no change waits to become part of a review: an
    /// edit may be held while the user types.
    pub(super) fn tell_over(&mut self, fx: &mut Effects) {
        for root in std::mem::take(&mut self.windows.over) {
            if self.is_asked(&root) || self.fileops.has_below(&root) {
                self.windows.over.insert(root);
                continue;
            }
            fx.push(HostEffect::TurnsAreOver { root: root.clone() });
            self.leave_project(&root, fx);
        }
    }

    fn take_checkpoint(&mut self, session: Option<SessionKey>, root: PathBuf, fx: &mut Effects) {
        let turns = self.turns_in(&root);
        let job = CheckpointJob {
            session,
            root: root.clone(),
            turns,
        };
        let token = self.jobs.checkpoints.add(job);
        self.changes.asked(&root, token);
        fx.push(HostEffect::Checkpoint { token, root, turns });
    }

    /// Closes a session; its window closes once all its changes are reported.
    pub(crate) fn close_session(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.remove(&key) else {
            return;
        };
        let root = session.folders.project;
        // The host also knows a turn whose prompt was not sent.
        let is_running = self.windows.is_open(key) || session.is_in_turn;
        if is_running && (session.works_outside || !session.awaits_checkpoint) {
            // One that is pending may have looked before the agent's last change.
            let jobs = self.jobs.checkpoints.values_mut();
            let its = jobs.filter(|job| job.session == Some(key));
            its.for_each(|job| job.session = None);
            self.take_checkpoint(Some(key), root.clone(), fx);
        }
        self.leave_project(&root, fx);
    }

    /// Returns whether changes on disk may still be those of a session's agent.
    pub(crate) fn is_in_turn(&self, key: SessionKey) -> bool {
        self.windows.is_open(key)
    }

    /// Opens the window of a turn whose prompt is being sent; it takes the place of an earlier one.
    pub(crate) fn open_window(&mut self, key: SessionKey) {
        self.windows.open.retain(|window| window.session != key);
        if let Some(session) = self.sessions.get_mut(&key) {
            session.works_outside = false;
            self.windows.open.push(Window {
                session: key,
                root: session.folders.project.clone(),
                named: BTreeSet::new(),
                told: BTreeSet::new(),
            });
        }
    }

    /// Opens a session's window, or keeps it open, because its agent works outside a turn. A checkpoint
    /// tells the host.
    pub(crate) fn work_begins(&mut self, key: SessionKey, fx: &mut Effects) {
        if self.works_outside(key) {
            return;
        }
        if !self.windows.is_open(key) {
            self.open_window(key);
        }
        if let Some(session) = self.sessions.get_mut(&key) {
            session.works_outside = true;
        }
        self.ask_checkpoint(key, fx);
    }

    /// Closes the window of work outside a turn with a checkpoint; `false` if one is pending, which may
    /// have looked before the agent's last change.
    pub(crate) fn work_ends(&mut self, key: SessionKey, fx: &mut Effects) -> bool {
        let Some(session) = self.sessions.get_mut(&key) else {
            return true;
        };
        if session.works_outside && session.awaits_checkpoint {
            return false;
        }
        if std::mem::take(&mut session.works_outside) {
            self.ask_checkpoint(key, fx);
        }
        true
    }

    /// Ends a session's wait for a checkpoint that does not come: what holds up the look at the files,
    /// such as a file system that does not answer, must not hold up the prompts.
    pub(crate) fn checkpoint_is_late(&mut self, key: SessionKey, fx: &mut Effects) {
        let waits = |job: &&mut CheckpointJob| job.session == Some(key);
        let Some(job) = self.jobs.checkpoints.values_mut().find(waits) else {
            return;
        };
        job.session = None;
        let root = job.root.clone();
        let why = format!(
            "The checkpoint of {} takes more than {PATIENCE} s, so the prompt is sent without it.",
            root.display()
        );
        self.checkpoint_taken(key, &root, Err(why), fx);
    }

    /// Handles a finished checkpoint: closes the window, unless the agent works outside a turn, and
    /// sends the next prompt.
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
                let text = format!("{why} Changes on disk may be missed in the review.");
                self.project_is_limited(root, Limit::Failed, &text, fx);
            }
        }
        let open = self.windows.open.len();
        let stays = self.works_outside(key);
        self.windows
            .open
            .retain(|window| stays || window.session != key);
        if self.windows.open.len() < open {
            let line = format!(
                "session {}: what changes from now on is not the agent's",
                key.0
            );
            fx.push(log(Level::Debug, line));
        }
        match self.sessions.get_mut(&key) {
            Some(session) => {
                session.awaits_checkpoint = false;
                self.signal(Signal::CheckpointTaken(key));
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
        for (key, session) in &self.sessions {
            if session.folders.project == root {
                fx.notice(*key, Level::Warn, why);
            }
        }
    }

    /// Attributes a change at `path` to a session: of several candidates, the one that has named
    /// the file, else the one whose window was opened last.
    pub(crate) fn agent_at(&self, path: &Path) -> Option<SessionKey> {
        let open = self.windows.open.iter().rev();
        let over: Vec<&Window> = open
            .filter(|window| path.starts_with(&window.root))
            .collect();
        let last = over.first()?;
        let named = match over.len() {
            1 => None,
            _ => over.iter().find(|window| window.named.contains(path)),
        };
        Some(named.unwrap_or(last).session)
    }

    /// Records the files that a tool call of a session names.
    pub(crate) fn tool_named(&mut self, key: SessionKey, patch: &ToolCallPatch) {
        self.tracked.named(patch);
        let mut open = self.windows.open.iter_mut();
        if let Some(window) = open.find(|window| window.session == key) {
            window.named.extend(named(patch).map(Path::to_owned));
        }
    }
}
