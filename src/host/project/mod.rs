//! Projects: what is in a folder, how that changes, and what it was at each checkpoint.
//!
//! A [`Shadow`] holds the last known state of every file below a root; whoever thinks that
//! something has changed (the watcher, a checkpoint) has it look again, and the core is told the
//! difference. What files contain lies in one [`Store`] for all projects and all Neovims.
//!
//! Invariants: the operations of a project are carried out one at a time, in the order in which
//! they were issued, on threads that may block. Nothing below a root is written to by looking at
//! it. Each checkpoint is answered once, after the changes it has found.

mod attend;
mod checkpoints;
mod codec;
mod committed;
mod compare;
mod excludes;
mod gather;
mod git;
mod kept;
mod life;
mod limits;
mod manifest;
mod prune;
mod reading;
mod restore;
mod rules;
mod scan;
mod shadow;
mod store;
mod told;
mod watch;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::attend::Attention;
use self::gather::{Due, Where};
use self::git::Git;
use self::kept::Keeper;
pub use self::limits::Limits;
pub(super) use self::restore::{move_to, restore};
use self::shadow::{Looked, Shadow};
pub(super) use self::store::Store;
use super::Tools;
use crate::core::effect::{Level, Turns};
use crate::core::event::Event;
use crate::core::ids::Token;
use crate::core::project::{Checkpoint, KeptReview};

/// The projects that are open.
#[derive(Debug, Clone)]
pub(super) struct Projects {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    open: Mutex<HashMap<PathBuf, Project>>,
    /// Those of closed projects too: their reviews may go on.
    keepers: Mutex<HashMap<PathBuf, Arc<Keeper>>>,
    store: Arc<Store>,
}

/// The door to one open project; cloning is cheap. Nothing here waits.
///
/// A project ends when all of its doors are gone: who is part of it keeps a weak one.
#[derive(Debug, Clone)]
pub(super) struct Project {
    operations: UnboundedSender<Operation>,
}

/// What can be asked of a project.
///
/// The queue is not bounded: its senders must never wait, and each sends one entry for a burst.
#[derive(Debug)]
enum Operation {
    #[cfg(test)]
    Look(Vec<PathBuf>),
    /// These files are known and watched though `.gitignore` hides them.
    Track(Vec<PathBuf>),
    /// These files are under review.
    Review(Vec<PathBuf>),
    Checkpoint(Token, Turns),
}

impl Project {
    /// Has these paths compared with what is known of them, as when the watches tell of them.
    #[cfg(test)]
    pub(super) fn look(&self, paths: Vec<PathBuf>) {
        self.send(Operation::Look(paths));
    }

    fn send(&self, operation: Operation) {
        // Without a worker the host is ending.
        let _ = self.operations.send(operation);
    }
}

impl Projects {
    /// Returns the projects of a host that keeps its data below `folder`.
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                open: Mutex::default(),
                keepers: Mutex::default(),
                store: Arc::new(Store::new(folder, limits)),
            }),
        }
    }

    /// Returns where contents are kept.
    pub(super) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.shared.store)
    }

    pub(super) fn open(&self, root: PathBuf, tools: &Tools) {
        let mut open = self.lock();
        if open.contains_key(&root) {
            return;
        }
        let (operations, queue) = unbounded_channel();
        open.insert(root.clone(), Project { operations });
        let (shared, here) = (Arc::clone(&self.shared), tools.clone());
        let keeper = self.keeper(&root);
        tools.runtime.spawn(async move {
            let store = Arc::clone(&shared.store);
            let work = run(root, queue, keeper, store, here.clone());
            super::guarded("a project", &here.inbox, work).await;
        });
    }

    /// Closes a project: what was asked of it before is still done.
    pub(super) fn close(&self, root: &Path) {
        self.lock().remove(root);
    }

    /// Takes a checkpoint; a root that is not open is an error of the answer.
    pub(super) fn checkpoint(&self, token: Token, root: &Path, turns: Turns, tools: &Tools) {
        match self.lock().get(root) {
            Some(project) => project.send(Operation::Checkpoint(token, turns)),
            None => answer(tools, token, Err(not_open(root))),
        }
    }

    /// Returns the door to an open project.
    #[cfg(test)]
    pub(super) fn project(&self, root: &Path) -> Option<Project> {
        self.lock().get(root).cloned()
    }

    /// Keeps reviews, a moment later: what comes until then counts instead.
    pub(super) fn keep(&self, root: &Path, files: Vec<KeptReview>, tools: &Tools) {
        let keeper = self.keeper(root);
        if !keeper.note(files) {
            return;
        }
        let here = tools.clone();
        tools.spawn("keeping reviews", async move {
            tokio::time::sleep(here.limits.project.keep_after).await;
            flush(&keeper, &here).await;
        });
    }

    pub(super) fn track(&self, root: &Path, paths: Vec<PathBuf>) {
        self.send(root, Operation::Track(paths));
    }

    pub(super) fn review(&self, root: &Path, paths: Vec<PathBuf>) {
        self.send(root, Operation::Review(paths));
    }

    fn send(&self, root: &Path, operation: Operation) {
        if let Some(project) = self.lock().get(root) {
            project.send(operation);
        }
    }

    /// Closes all projects, and waits until their reviews are kept; looks that are under way are
    /// of no use to anybody any more.
    pub(super) async fn end(&self, tools: &Tools) {
        self.lock().clear();
        let keepers = std::mem::take(&mut *self.keepers());
        for keeper in keepers.values() {
            flush(keeper, tools).await;
        }
    }

    fn keeper(&self, root: &Path) -> Arc<Keeper> {
        let new = || Arc::new(Keeper::new(root, self.store()));
        Arc::clone(self.keepers().entry(root.to_owned()).or_insert_with(new))
    }

    fn keepers(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Keeper>>> {
        let keepers = self.shared.keepers.lock();
        keepers.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Project>> {
        self.shared
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works off what is asked of one project until nobody can ask any more.
async fn run(
    root: PathBuf,
    mut operations: UnboundedReceiver<Operation>,
    keeper: Arc<Keeper>,
    store: Arc<Store>,
    tools: Tools,
) {
    let excludes = excludes::excludes_file(&tools.environment);
    let git = Git::new(tools.environment.clone(), tools.limits.project.file_bytes);
    let mut worker = Worker {
        shadow: Arc::new(Mutex::new(Shadow::new(
            root.clone(),
            Arc::clone(&store),
            excludes,
        ))),
        keeper,
        store,
        attention: Attention::new(&root, git.clone(), &tools),
        root,
        tools,
    };
    worker.open(git).await;
    loop {
        // What was asked goes first: a checkpoint covers what is told meanwhile.
        tokio::select! {
            biased;
            operation = operations.recv() => match operation {
                Some(operation) => worker.carry_out(operation).await,
                None => return,
            },
            due = worker.attention.next() => worker.attend(due).await,
        }
    }
}

/// One project's worker.
struct Worker {
    root: PathBuf,
    shadow: Arc<Mutex<Shadow>>,
    keeper: Arc<Keeper>,
    store: Arc<Store>,
    attention: Attention,
    tools: Tools,
}

impl Worker {
    async fn open(&mut self, git: Git) {
        let root = self.root.clone();
        let keeper = Arc::clone(&self.keeper);
        let open = move |shadow: &mut Shadow| {
            let life = keeper.life();
            shadow.open(life.as_ref().ok().cloned());
            let tracked = git.tracked_although_ignored(&root);
            shadow.include(tracked.clone());
            let kept = shadow.keep().map(|_| life.map(|_| ()));
            let trouble = kept.map_or_else(Some, Result::err);
            (shadow.folders().collect(), tracked, trouble)
        };
        let open = self.on_shadow("opening a project", open).await;
        let (folders, tracked, trouble) = open.unwrap_or_default();
        self.warn(trouble);
        self.take_over().await;
        self.attention.start(folders, tracked).await;
    }

    /// Tells of the reviews that Neovims before this one have left.
    async fn take_over(&self) {
        let keeper = Arc::clone(&self.keeper);
        let taken = self
            .tools
            .blocking("taking over reviews", move || keeper.take_over());
        match taken.await {
            Some(Ok(files)) if !files.is_empty() => {
                let root = self.root.clone();
                self.tools.inbox.send(Event::ReviewsKept { root, files });
            }
            Some(Err(why)) => self.warn(Some(why)),
            _ => {}
        }
    }

    fn warn(&self, why: Option<String>) {
        if let Some(why) = why {
            self.tools.log.line(Level::Warn, "project", &why);
        }
    }

    async fn carry_out(&mut self, operation: Operation) {
        match operation {
            #[cfg(test)]
            Operation::Look(paths) => {
                self.look(Where::At(paths.into_iter().collect())).await;
            }
            Operation::Checkpoint(token, turns) => {
                self.attention.turns(turns);
                self.checkpoint(token).await;
            }
            Operation::Track(paths) => {
                let known = paths.clone();
                let work = move |shadow: &mut Shadow| shadow.include(known);
                self.on_shadow("reading files", work).await;
                let fresh = self.attention.track(paths).await;
                self.look(Where::At(fresh.into_iter().collect())).await;
            }
            Operation::Review(paths) => self.attention.review(paths).await,
        }
    }

    async fn attend(&mut self, due: Due) {
        if let Some(place) = due.tree {
            let (start, is_all) = (Instant::now(), place == Where::Everything);
            self.look(place).await;
            self.attention.rest(start.elapsed());
            if is_all {
                self.attention.compared(start.elapsed());
            }
        }
        if due.repository {
            self.attention.committed().await;
        }
    }

    /// Runs work on the shadow, where blocking is allowed; `None` when it panicked.
    async fn on_shadow<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl FnOnce(&mut Shadow) -> T + Send + 'static,
    ) -> Option<T> {
        let shadow = Arc::clone(&self.shadow);
        let work = move || work(&mut shadow.lock().unwrap_or_else(PoisonError::into_inner));
        self.tools.blocking(place, work).await
    }

    /// Has the shadow look, tells the core what has changed, and follows with the watches; returns
    /// what the look did not cover, or `None` when it panicked.
    async fn look(&mut self, place: Where) -> Option<Option<String>> {
        let (mut place, mut limited) = (place, None);
        while place != Where::At(BTreeSet::new()) {
            let looked = self.look_once(place).await?;
            limited = looked.limited.or(limited);
            let (new, gone) = (looked.new_folders, looked.gone_folders);
            // Files may have come into a new folder before it was watched.
            let fresh = self.attention.follow(new, gone).await;
            place = Where::At(fresh.into_iter().collect());
        }
        Some(limited)
    }

    async fn look_once(&mut self, place: Where) -> Option<Looked> {
        let start = Instant::now();
        if place == Where::Everything {
            self.attention.looking_at_everything();
        }
        let what = match &place {
            Where::Everything => "everything".to_owned(),
            Where::At(paths) => format!("{} paths", paths.len()),
        };
        let work = move |shadow: &mut Shadow| match place {
            Where::Everything => shadow.look_all(),
            Where::At(paths) => shadow.look(&paths.into_iter().collect::<Vec<_>>()),
        };
        let mut looked = self.on_shadow("looking at a project", work).await?;
        let took = start.elapsed();
        let (root, changes) = (self.root.clone(), std::mem::take(&mut looked.changes));
        let found = changes.len();
        let line = format!(
            "{}: looked at {what} in {took:.1?}: {found} changes",
            root.display()
        );
        self.tools.log.line(Level::Debug, "project", &line);
        if found > 0 {
            self.tools.inbox.send(Event::DiskChanged { root, changes });
        }
        Some(looked)
    }

    async fn checkpoint(&mut self, token: Token) {
        let start = Instant::now();
        let result = match self.look(Where::Everything).await {
            Some(limited) => {
                let files = self.on_shadow("keeping a checkpoint", Shadow::keep).await;
                files
                    .unwrap_or_else(|| Err(failed(&self.root)))
                    .map(|files| Checkpoint { files, limited })
            }
            None => Err(failed(&self.root)),
        };
        self.attention.compared(start.elapsed());
        answer(&self.tools, token, result);
        let (store, tools) = (Arc::clone(&self.store), self.tools.clone());
        self.tools.spawn("pruning", async move {
            let pruned = tools
                .blocking("pruning", move || prune::prune(&store))
                .await;
            if let Some(Err(error)) = pruned {
                let line = format!("what nobody needs any more was not removed: {error}");
                tools.log.line(Level::Warn, "project", &line);
            }
        });
    }
}

/// Writes down what is to be kept.
async fn flush(keeper: &Arc<Keeper>, tools: &Tools) {
    let keeper = Arc::clone(keeper);
    let kept = tools.blocking("keeping reviews", move || keeper.flush());
    if let Some(Err(why)) = kept.await {
        tools.log.line(Level::Warn, "project", &why);
    }
}

fn answer(tools: &Tools, token: Token, result: Result<Checkpoint, String>) {
    tools.inbox.send(Event::CheckpointTaken { token, result });
}

fn not_open(root: &Path) -> String {
    format!(
        "No checkpoint was taken of {}: it is not open; start a session there.",
        root.display()
    )
}

fn failed(root: &Path) -> String {
    format!(
        "No checkpoint was taken of {}: an internal error of this client; see the log (:Acp log).",
        root.display()
    )
}
