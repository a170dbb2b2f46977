//! Projects: the files of a folder, how they change, and their state at each checkpoint.
//!
//! A [`shadow::Shadow`] holds the last known state of every file below a root. Watches and
//! checkpoints make it look again, and the core receives the differences. Contents are in one
//! [`Store`] for all projects and all Neovims.
//!
//! Invariants: the operations of a project run one at a time, in the order they were issued, on
//! threads that may block. Looking at a root never writes below it. Each checkpoint is answered
//! once, after the changes it found.

mod checkpoints;
mod codec;
mod committed;
mod compare;
mod effort;
mod excludes;
mod gaps;
mod gather;
mod git;
mod git_index;
mod git_queries;
mod gitrun;
mod lease;
mod limits;
mod manifest;
mod notifications;
mod postponed;
mod prune;
mod reading;
mod restore;
mod reviews;
mod root;
mod rules;
mod scan;
mod shadow;
mod similarity;
mod store;
mod wakeups;
mod watch;
mod worker;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

pub use self::limits::Limits;
pub(super) use self::restore::{is_over, move_to, restore};
use self::reviews::Keeper;
pub(super) use self::store::Store;
use super::Kit;
use acp_core::event::{Event, ProjectEvent};
use acp_core::spine::effect::{Level, Turns};
use acp_core::spine::event::Stamp;
use acp_core::spine::pending::{Token, reply};
use acp_core::spine::project::{Checkpoint, KeptReview};
use acp_edge::panics::lock;

/// The open projects.
#[derive(Debug)]
pub(super) struct Projects {
    open: Mutex<HashMap<PathBuf, Project>>,
    /// Also those of closed projects, whose reviews may continue.
    keepers: Mutex<HashMap<PathBuf, Arc<Keeper>>>,
    store: Arc<Store>,
}

/// A handle on one open project; cheap to clone. No call blocks.
///
/// A project ends when all of its handles are gone.
#[derive(Debug, Clone)]
pub(super) struct Project {
    operations: UnboundedSender<Operation>,
}

/// The operations of a project.
///
/// The queue is unbounded because its senders must never block; each sends one entry per burst.
#[derive(Debug)]
enum Operation {
    Look(Vec<PathBuf>),
    /// Track and watch these files although `.gitignore` hides them.
    Track(Vec<PathBuf>),
    /// The first files are under review from now on, the others no longer.
    Review(Vec<PathBuf>, Vec<PathBuf>),
    Checkpoint(Token<reply::CheckpointTaken>, Turns),
    /// All that turns changed is in the reviews to store.
    TurnsAreOver,
}

impl Project {
    /// Compares these paths with their known state, like a notification of the watches.
    #[cfg(test)]
    pub(super) fn look(&self, paths: Vec<PathBuf>) {
        self.send(Operation::Look(paths));
    }

    fn send(&self, operation: Operation) {
        // Without a worker the host is shutting down.
        let _ = self.operations.send(operation);
    }
}

impl Projects {
    /// Returns the projects of a host that stores its data below `folder`.
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self {
            open: Mutex::default(),
            keepers: Mutex::default(),
            store: Arc::new(Store::new(folder, limits)),
        }
    }

    /// Returns the store of contents.
    pub(super) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    pub(super) fn open(&self, root: PathBuf, kit: &Kit) {
        let mut open = lock(&self.open);
        if open.contains_key(&root) {
            return;
        }
        let (operations, queue) = unbounded_channel();
        open.insert(root.clone(), Project { operations });
        let (keeper, store) = (self.keeper(&root), self.store());
        let work = worker::run(root, queue, keeper, store, kit.clone());
        kit.runtime.spawn(work);
    }

    /// Closes a project; queued operations are still carried out.
    pub(super) fn close(&self, root: &Path) {
        lock(&self.open).remove(root);
    }

    /// Takes a checkpoint; a root that is not open is answered with an error.
    pub(super) fn checkpoint(
        &self,
        token: Token<reply::CheckpointTaken>,
        root: &Path,
        turns: Turns,
        kit: &Kit,
    ) {
        match lock(&self.open).get(root) {
            Some(project) => project.send(Operation::Checkpoint(token, turns)),
            None => answer(kit, token, Err(not_open(root))),
        }
    }

    /// Returns the handle on an open project.
    #[cfg(test)]
    pub(super) fn project(&self, root: &Path) -> Option<Project> {
        lock(&self.open).get(root).cloned()
    }

    /// Stores reviews and drops ended ones; if the last write was recent, after a short delay, together
    /// with further changes until then.
    pub(super) fn keep(
        &self,
        root: &Path,
        files: Vec<KeptReview>,
        over: Vec<PathBuf>,
        saved: Option<Stamp>,
        kit: &Kit,
    ) {
        let keeper = self.keeper(root);
        if !keeper.note(files, over, saved) {
            return;
        }
        let here = kit.clone();
        kit.spawn("keeping reviews", async move {
            tokio::time::sleep(keeper.pause()).await;
            on_keeper(&keeper, &here, Keeper::flush).await;
        });
    }

    /// Compares these paths of a project with their known state.
    pub(super) fn look(&self, root: &Path, paths: Vec<PathBuf>) {
        self.send(root, Operation::Look(paths));
    }

    pub(super) fn track(&self, root: &Path, paths: Vec<PathBuf>) {
        self.send(root, Operation::Track(paths));
    }

    pub(super) fn review(&self, root: &Path, begun: Vec<PathBuf>, ended: Vec<PathBuf>) {
        self.send(root, Operation::Review(begun, ended));
    }

    /// States that [`Projects::keep`] was given the reviews of all that the last turns changed.
    pub(super) fn turns_are_over(&self, root: &Path) {
        self.send(root, Operation::TurnsAreOver);
    }

    fn send(&self, root: &Path, operation: Operation) {
        if let Some(project) = lock(&self.open).get(root) {
            project.send(operation);
        }
    }

    /// Closes all projects after their agents have ended, and waits until their reviews are stored;
    /// looks in progress are not awaited.
    pub(super) async fn end(&self, kit: &Kit) {
        lock(&self.open).clear();
        let keepers = std::mem::take(&mut *lock(&self.keepers));
        for keeper in keepers.into_values() {
            on_keeper(&keeper, kit, Keeper::agents_have_ended).await;
        }
    }

    fn keeper(&self, root: &Path) -> Arc<Keeper> {
        let new = || Arc::new(Keeper::new(root, self.store()));
        let mut keepers = lock(&self.keepers);
        Arc::clone(keepers.entry(root.to_owned()).or_insert_with(new))
    }
}

/// Writes what a keeper has to write.
async fn on_keeper(keeper: &Arc<Keeper>, kit: &Kit, work: fn(&Keeper) -> Result<(), String>) {
    let keeper = Arc::clone(keeper);
    let kept = kit.blocking("keeping reviews", move || work(&keeper));
    if let Some(Err(why)) = kept.await {
        kit.log.line(Level::Warn, "project", &why);
    }
}

fn answer(kit: &Kit, token: Token<reply::CheckpointTaken>, result: Result<Checkpoint, String>) {
    kit.inbox
        .send(Event::Project(ProjectEvent::CheckpointTaken {
            token,
            result,
        }));
}

fn not_open(root: &Path) -> String {
    format!(
        "No checkpoint was taken of {}: it is not open; start a session there.",
        root.display()
    )
}
