//! What a project's worker is woken by: what the watches tell, and comparing at intervals where
//! they cannot tell everything.
//!
//! Invariant: without a change, and without a turn in a project that cannot be watched, nothing
//! here wakes anybody: no timer, no poll.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::asking::Asking;
use super::gather::{Due, Held, REST, Where};
use super::git::Git;
use super::told::Told;
use super::watch::{Placed, Watch};
use crate::Kit;
use acp_core::spine::effect::Turns;
use acp_core::spine::event::Event;

/// What one project's worker pays attention to.
#[derive(Debug)]
pub(super) struct Attention {
    root: PathBuf,
    kit: Kit,
    told: Arc<Told>,
    watch: Arc<Mutex<Watch>>,
    asking: Asking,
    /// What is not watched is compared as often as this, while a turn runs.
    every: Duration,
    turns: Turns,
    /// When everything may be compared again.
    rested: Instant,
}

impl Attention {
    /// Returns the attention of a project: nothing is watched yet.
    pub(super) fn new(root: &Path, git: Git, kit: &Kit) -> Self {
        let told = Arc::new(Told::new(root, kit.log.path(), Arc::clone(&kit.writers)));
        let limits = &kit.limits.project;
        let watch = Watch::new(root, limits.watches, Arc::clone(&told), kit.inbox.clone());
        let watch = Arc::new(Mutex::new(watch));
        Self {
            root: root.to_owned(),
            asking: Asking::start(root, git, Arc::clone(&watch), kit),
            watch,
            told,
            every: limits.compare_every,
            turns: Turns::Over,
            rested: Instant::now(),
            kit: kit.clone(),
        }
    }

    /// Waits until something is to be done; may be dropped and called again.
    pub(super) async fn next(&self) -> Due {
        let compare = async {
            match self.compare_at() {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            due = self.told.due() => due,
            () = compare => Due { tree: Some(Where::Everything), repository: false },
        }
    }

    /// Begins to watch: the folders of the tree, and files that are hidden in it.
    pub(super) async fn start(&self, folders: Vec<PathBuf>, files: Vec<PathBuf>) {
        self.watches(move |watch| watch.start(folders)).await;
        self.watches(move |watch| watch.track(&files)).await;
        // The tree may have changed since it was walked; a checkpoint would see that as well.
        self.told.look_at_everything();
    }

    /// Follows the folders of the tree; returns the paths to look at once more.
    pub(super) async fn follow(&self, new: Vec<PathBuf>, gone: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.follow(new, &gone)).await
    }

    /// Watches these files as well, wherever they lie; returns the paths to look at once more.
    pub(super) async fn track(&self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.track(&paths)).await
    }

    /// Says which files are under review: what the user's repository has of them is told.
    pub(super) fn review(&self, paths: Vec<PathBuf>) {
        self.asking.review(paths);
    }

    /// Has what the user's repository has of the files under review told, if that is news.
    pub(super) fn committed(&self) {
        self.asking.again();
    }

    pub(super) fn turns(&mut self, turns: Turns) {
        self.turns = turns;
    }

    /// Takes note that somebody begins to look at everything: what was told is covered by that.
    pub(super) fn looking_at_everything(&self) {
        self.told.lock().gather.covered();
    }

    /// Takes note of how long a look took that nobody but the watches or the clock asked for.
    pub(super) fn rest(&self, took: Duration) {
        self.told.lock().gather.looked(took, Instant::now());
    }

    /// Sees to it that these paths are looked at again then, and no others that were held before.
    pub(super) fn hold(&self, held: Option<&Held>) {
        self.told.hold(held.cloned());
    }

    /// Takes note that everything was compared, and how long that took.
    pub(super) fn compared(&mut self, took: Duration) {
        self.rested = Instant::now() + self.every.max(took * REST);
    }

    /// Returns when to compare everything; `None` when the watches tell what changes, or when it
    /// can wait until the next turn.
    fn compare_at(&self) -> Option<Instant> {
        (self.turns == Turns::Running && self.told.lock().is_limited).then_some(self.rested)
    }

    async fn watches(
        &self,
        change: impl FnOnce(&mut Watch) -> Placed + Send + 'static,
    ) -> Vec<PathBuf> {
        let watch = Arc::clone(&self.watch);
        let work = move || change(&mut lock(&watch));
        let done = self.kit.blocking("watching a project", work).await;
        let placed = done.unwrap_or_default();
        if let Some(why) = placed.limited {
            let root = self.root.clone();
            self.kit.inbox.send(Event::WatchLimited { root, why });
        }
        placed.look
    }
}

pub(super) fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}
