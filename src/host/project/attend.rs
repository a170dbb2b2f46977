//! What a project's worker is woken by: what the watches tell, and comparing at intervals where
//! they cannot tell everything.
//!
//! Invariant: without a change, and without a turn in a project that cannot be watched, nothing
//! here wakes anybody: no timer, no poll.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::committed::Reviews;
use super::gather::{Due, REST, Where};
use super::git::Git;
use super::told::Told;
use super::watch::{Placed, Watch};
use crate::core::effect::Turns;
use crate::core::event::Event;
use crate::host::Tools;

/// What one project's worker pays attention to.
#[derive(Debug)]
pub(super) struct Attention {
    root: PathBuf,
    tools: Tools,
    told: Arc<Told>,
    parts: Arc<Mutex<Parts>>,
    /// What is not watched is compared as often as this, while a turn runs.
    every: Duration,
    is_limited: bool,
    turns: Turns,
    /// When everything may be compared again.
    rested: Instant,
}

/// What asks the system, and waits for it.
#[derive(Debug)]
struct Parts {
    watch: Watch,
    reviews: Reviews,
}

impl Attention {
    /// Returns the attention of a project: nothing is watched yet.
    pub(super) fn new(root: &Path, git: Git, tools: &Tools) -> Self {
        let told = Arc::new(Told::new(root, tools.log.path()));
        let limits = &tools.limits.project;
        Self {
            root: root.to_owned(),
            parts: Arc::new(Mutex::new(Parts {
                watch: Watch::new(root, limits.watches, Arc::clone(&told), tools.inbox.clone()),
                reviews: Reviews::new(git),
            })),
            told,
            every: limits.compare_every,
            is_limited: false,
            turns: Turns::Over,
            rested: Instant::now(),
            tools: tools.clone(),
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
    pub(super) async fn start(&mut self, folders: Vec<PathBuf>, files: Vec<PathBuf>) {
        self.watches(move |watch| watch.start(folders)).await;
        self.watches(move |watch| watch.track(&files)).await;
        // The tree may have changed since it was walked; a checkpoint would see that as well.
        self.told.lock().gather.everything(Instant::now());
    }

    /// Follows the folders of the tree; returns the paths to look at once more.
    pub(super) async fn follow(&mut self, new: Vec<PathBuf>, gone: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.follow(new, &gone)).await
    }

    /// Watches these files as well, wherever they lie; returns the paths to look at once more.
    pub(super) async fn track(&mut self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.track(&paths)).await
    }

    /// Says which files are under review, and tells what the user's repository has of them.
    pub(super) async fn review(&mut self, paths: Vec<PathBuf>) {
        self.ask(Some(paths)).await;
    }

    /// Tells what the user's repository has of the files under review, if that is news.
    pub(super) async fn committed(&mut self) {
        self.ask(None).await;
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

    /// Takes note that everything was compared, and how long that took.
    pub(super) fn compared(&mut self, took: Duration) {
        self.rested = Instant::now() + self.every.max(took * REST);
    }

    /// Returns when to compare everything; `None` when the watches tell what changes, or when it
    /// can wait until the next turn.
    fn compare_at(&self) -> Option<Instant> {
        (self.is_limited && self.turns == Turns::Running).then_some(self.rested)
    }

    async fn watches(
        &mut self,
        change: impl FnOnce(&mut Watch) -> Placed + Send + 'static,
    ) -> Vec<PathBuf> {
        let work = move |parts: &mut Parts| {
            let placed = change(&mut parts.watch);
            (placed, parts.watch.is_limited())
        };
        let done = self.with_parts("watching a project", work).await;
        let (placed, is_limited) = done.unwrap_or_default();
        self.is_limited = is_limited;
        self.tell_limit(placed.limited);
        placed.look
    }

    async fn ask(&mut self, mut paths: Option<Vec<PathBuf>>) {
        loop {
            let paths = paths.take();
            let work = move |parts: &mut Parts| {
                let news = match paths {
                    Some(paths) => parts.reviews.set(&paths),
                    None => parts.reviews.look(),
                };
                let placed = parts.watch.listen(parts.reviews.signals());
                (news, placed)
            };
            let done = self.with_parts("asking git", work).await;
            let (files, placed) = done.unwrap_or_default();
            if !files.is_empty() {
                self.tools.inbox.send(Event::Committed { files });
            }
            self.tell_limit(placed.limited);
            // Something may have been committed before it was watched for.
            if !placed.any {
                return;
            }
        }
    }

    fn tell_limit(&mut self, why: Option<String>) {
        if let Some(why) = why {
            self.is_limited = true;
            let root = self.root.clone();
            self.tools.inbox.send(Event::WatchLimited { root, why });
        }
    }

    async fn with_parts<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl FnOnce(&mut Parts) -> T + Send + 'static,
    ) -> Option<T> {
        let parts = Arc::clone(&self.parts);
        let work = move || work(&mut parts.lock().unwrap_or_else(PoisonError::into_inner));
        self.tools.blocking(place, work).await
    }
}
