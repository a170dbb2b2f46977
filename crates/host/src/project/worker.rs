//! The worker of one project: what it is asked for, and what the watches tell, one after the other.
//!
//! Invariant: it lives as long as somebody can ask; a panic costs one operation, and a checkpoint
//! is answered all the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc::UnboundedReceiver;

use super::attend::Attention;
use super::compare::Difference;
use super::gather::{Due, Held, Where};
use super::git::Git;
use super::kept::Keeper;
use super::shadow::{Looked, Shadow};
use super::store::Store;
use super::{Operation, answer, excludes, prune};
use crate::Kit;
use crate::guard::guarded;
use acp_core::spine::effect::Level;
use acp_core::spine::event::Event;
use acp_core::spine::ids::Token;
use acp_core::spine::project::Checkpoint;

/// Where a panic was, in words.
const PLACE: &str = "a project";

/// How many bytes of text are told at once: the core does nothing else while it takes them in.
const PART: usize = 1 << 20;

/// Works off what is asked of one project until nobody can ask any more.
pub(super) async fn run(
    root: PathBuf,
    mut operations: UnboundedReceiver<Operation>,
    keeper: Arc<Keeper>,
    store: Arc<Store>,
    kit: Kit,
) {
    let excludes = excludes::excludes_file(&kit.environment);
    let git = Git::new(kit.environment.clone(), kit.limits.project.file_bytes);
    let mut worker = Worker {
        shadow: Arc::new(Mutex::new(Shadow::new(
            root.clone(),
            Arc::clone(&store),
            excludes,
            Arc::clone(&kit.writers),
        ))),
        keeper,
        store,
        attention: Attention::new(&root, git.clone(), &kit),
        held: None,
        root,
        kit,
    };
    let inbox = worker.kit.inbox.clone();
    guarded(PLACE, &inbox, worker.open(git)).await;
    loop {
        // What was asked goes first: a checkpoint covers what is told meanwhile.
        tokio::select! {
            biased;
            operation = operations.recv() => match operation {
                Some(operation) => worker.carry_out_guarded(operation).await,
                None => return,
            },
            due = worker.attention.next() => {
                guarded(PLACE, &inbox, worker.attend(due)).await;
            }
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
    /// What the last look has left for another one.
    held: Option<Held>,
    kit: Kit,
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
            .kit
            .blocking("taking over reviews", move || keeper.take_over());
        match taken.await {
            Some(Ok(files)) if !files.is_empty() => {
                let root = self.root.clone();
                self.kit.inbox.send(Event::ReviewsKept { root, files });
            }
            Some(Err(why)) => self.warn(Some(why)),
            _ => {}
        }
    }

    fn warn(&self, why: Option<String>) {
        if let Some(why) = why {
            self.kit.log.line(Level::Warn, "project", &why);
        }
    }

    /// Carries out an operation; one that panics is answered all the same.
    async fn carry_out_guarded(&mut self, operation: Operation) {
        let token = match operation {
            Operation::Checkpoint(token, _) => Some(token),
            _ => None,
        };
        let inbox = self.kit.inbox.clone();
        let done = guarded(PLACE, &inbox, self.carry_out(operation)).await;
        if let (None, Some(token)) = (done, token) {
            answer(&self.kit, token, Err(failed(&self.root)));
        }
    }

    async fn carry_out(&mut self, operation: Operation) {
        match operation {
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
            Operation::Review(paths) => self.attention.review(paths),
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
            self.attention.committed();
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
        self.kit.blocking(place, work).await
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
        self.attention.hold(looked.held.as_ref());
        let took = start.elapsed();
        self.held = looked.held.take();
        let (root, changes) = (self.root.clone(), std::mem::take(&mut looked.changes));
        let found = changes.len();
        let line = format!(
            "{}: looked at {what} in {took:.1?}: {found} changes",
            root.display()
        );
        self.kit.log.line(Level::Debug, "project", &line);
        self.tell(changes).await?;
        Some(looked)
    }

    /// Tells the core what has changed, a part at a time, as fast as it takes that in; `None` when
    /// it panicked.
    async fn tell(&self, changes: Vec<Difference>) -> Option<()> {
        for part in parts(changes) {
            let bytes = part.iter().map(Difference::weight).sum();
            let Some(room) = self.kit.inbox.disk_room(bytes).await else {
                // The core is gone.
                return Some(());
            };
            let read = move |shadow: &mut Shadow| {
                let told = part.iter().map(|change| shadow.told(change));
                told.collect::<Vec<_>>()
            };
            let changes = self.on_shadow("reading what has changed", read).await?;
            let root = self.root.clone();
            let event = Event::DiskChanged { root, changes };
            self.kit.inbox.send_with(event, room);
        }
        Some(())
    }

    /// Has everything looked at, and again what is being written, until that is told as well.
    async fn look_until_still(&mut self) -> Option<Option<String>> {
        let limited = self.look(Where::Everything).await?;
        while let Some(Held { paths, again }) = self.held.take() {
            tokio::time::sleep_until(again.into()).await;
            self.look(Where::At(paths)).await?;
        }
        Some(limited)
    }

    async fn checkpoint(&mut self, token: Token) {
        let start = Instant::now();
        let result = match self.look_until_still().await {
            Some(limited) => {
                let files = self.on_shadow("keeping a checkpoint", Shadow::keep).await;
                files
                    .unwrap_or_else(|| Err(failed(&self.root)))
                    .map(|files| Checkpoint { files, limited })
            }
            None => Err(failed(&self.root)),
        };
        self.attention.compared(start.elapsed());
        answer(&self.kit, token, result);
        let (store, kit) = (Arc::clone(&self.store), self.kit.clone());
        self.kit.spawn("pruning", async move {
            let pruned = kit.blocking("pruning", move || prune::prune(&store)).await;
            if let Some(Err(error)) = pruned {
                let line = format!("what nobody needs any more was not removed: {error}");
                kit.log.line(Level::Warn, "project", &line);
            }
        });
    }
}

/// Cuts changes into parts of about [`PART`] bytes of text, each with one at least.
fn parts(changes: Vec<Difference>) -> Vec<Vec<Difference>> {
    let mut parts: Vec<Vec<Difference>> = Vec::new();
    let mut bytes = 0;
    for change in changes {
        let weight = change.weight();
        bytes += weight;
        match parts.last_mut() {
            Some(part) if bytes <= PART => part.push(change),
            _ => {
                bytes = weight;
                parts.push(vec![change]);
            }
        }
    }
    parts
}

fn failed(root: &Path) -> String {
    format!(
        "No checkpoint was taken of {}: an internal error of this client; see the log (:Acp log).",
        root.display()
    )
}
