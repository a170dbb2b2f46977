//! The worker of one project: carries out operations and notifications, one at a time.
//!
//! Invariant: it lives as long as a handle does; a panic ends one operation, and a checkpoint is
//! still answered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;

use super::compare::Difference;
use super::effort::{Effort, cpu_time_of};
use super::gather::{Due, PostponedPaths, Where};
use super::git::Git;
use super::reading::{Attempt, Exhausted, now};
use super::reviews::{Keeper, Left};
use super::shadow::{Looked, Shadow};
use super::store::Store;
use super::wakeups::Wakeups;
use super::{Operation, answer, excludes, on_keeper, prune};
use crate::Kit;
use crate::guard::guarded;
use acp_core::event::{Event, ProjectEvent};
use acp_core::spine::effect::{Level, Turns};
use acp_core::spine::pending::{Token, reply};
use acp_core::spine::project::Checkpoint;
use acp_edge::panics::lock;

/// The place named in panic reports.
const PLACE: &str = "a project";

/// Maximum size of text per event, because the core handles one event at a time.
const PART: usize = 1 << 20;

/// Carries out a project's operations until all handles are gone.
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
            git.clone(),
        ))),
        keeper,
        store,
        wakeups: Wakeups::new(&root, git.clone(), &kit),
        git,
        is_tracked_known: false,
        held: None,
        is_copying: false,
        cpu_micros: Arc::default(),
        root,
        kit,
    };
    let inbox = worker.kit.inbox.clone();
    guarded(PLACE, &inbox, worker.open()).await;
    loop {
        // Operations go first: a checkpoint covers pending notifications.
        tokio::select! {
            biased;
            operation = operations.recv() => match operation {
                Some(operation) => worker.carry_out_guarded(operation).await,
                None => return,
            },
            due = worker.wakeups.next() => {
                guarded(PLACE, &inbox, worker.attend(due)).await;
            }
            // Last, so that copying delays nothing else by more than one slice.
            () = std::future::ready(()), if worker.is_copying => {
                guarded(PLACE, &inbox, worker.copy()).await;
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
    wakeups: Wakeups,
    git: Git,
    /// Git has said which hidden files it tracks.
    is_tracked_known: bool,
    /// Paths that the last look postponed.
    held: Option<PostponedPaths>,
    /// Contents are left to copy.
    is_copying: bool,
    /// The CPU time that work on the shadow has used.
    cpu_micros: Arc<AtomicU64>,
    kit: Kit,
}

impl Worker {
    async fn open(&mut self) {
        let (root, git) = (self.root.clone(), self.git.clone());
        let keeper = Arc::clone(&self.keeper);
        let open = move |shadow: &mut Shadow, attempt: Attempt| {
            let lease = keeper.lease();
            let left = keeper.left().and_then(|left| Ok((left.cut_turn()?, left)));
            let tracked = git.tracked_although_ignored(&root);
            if attempt == Attempt::One && (left.is_err() || tracked.is_err()) {
                return Err(Exhausted);
            }
            // If reviews left by a Neovim cannot be read, they stay for the next one.
            let left_is_unknown = left.is_err();
            let (cut, left) = left.unwrap_or_default();
            let looked = shadow.open(lease.as_ref().ok().cloned(), cut, tracked.is_ok());
            let tracked = tracked.ok();
            shadow.include(tracked.as_deref().unwrap_or_default(), Attempt::Last)?;
            let unknown = left_is_unknown.then(|| exhausted(&root));
            let trouble = unknown.or(lease.err()).or(shadow.keep().err());
            let is_copying = shadow.is_copying();
            let folders = shadow.folders().collect();
            Ok((folders, tracked, trouble, is_copying, looked, left))
        };
        let open = self.until_known("opening a project", open).await;
        let open = open.and_then(Result::ok).unwrap_or_default();
        let (folders, tracked, trouble, is_copying, looked, left) = open;
        self.is_copying = is_copying;
        self.is_tracked_known = tracked.is_some();
        self.warn(trouble);
        self.take_over(left, looked).await;
        let tracked = tracked.unwrap_or_default();
        self.wakeups.start(folders, tracked).await;
    }

    /// Asks git again which hidden files it tracks, unless it has said so.
    async fn find_tracked(&mut self) {
        if self.is_tracked_known {
            return;
        }
        let (root, git) = (self.root.clone(), self.git.clone());
        let ask = move |_: &mut Shadow| git.tracked_although_ignored(&root);
        if let Some(Ok(tracked)) = self.on_shadow("asking git", ask).await {
            self.is_tracked_known = true;
            self.track(tracked).await;
        }
    }

    /// Tracks and watches these files although rules hide them.
    async fn track(&mut self, paths: Vec<PathBuf>) {
        let known = paths.clone();
        let include = move |shadow: &mut Shadow, attempt| shadow.include(&known, attempt);
        self.until_known("reading files", include).await;
        let fresh = self.wakeups.track(paths).await;
        self.look(Where::At(fresh.into_iter().collect())).await;
    }

    /// Reports the reviews that earlier Neovims have left, with the changes since a turn that was
    /// cut.
    async fn take_over(&self, left: Left, looked: Looked) {
        let (mut changes, mut held) = (looked.changes, looked.held);
        while let Some(PostponedPaths { paths, again }) = held {
            tokio::time::sleep_until(again.into()).await;
            let paths: Vec<PathBuf> = paths.into_iter().collect();
            let look = move |shadow: &mut Shadow| shadow.look(&paths);
            let looked = self.on_shadow("looking at a project", look).await;
            let looked = looked.unwrap_or_default();
            changes.extend(looked.changes);
            held = looked.held;
        }
        let keeper = Arc::clone(&self.keeper);
        let take_over = move |shadow: &mut Shadow, _| {
            let changes = changes.iter();
            let changes = changes.map(|change| shadow.file_change(change, Attempt::One));
            keeper.take_over(&left, changes.collect::<Result<_, _>>()?)
        };
        match self.until_known("taking over reviews", take_over).await {
            Some(Ok(Ok(files))) if !files.is_empty() => {
                let root = self.root.clone();
                self.kit
                    .inbox
                    .send(Event::Project(ProjectEvent::ReviewsKept { root, files }));
            }
            Some(Ok(Err(why))) => self.warn(Some(why)),
            _ => {}
        }
    }

    fn warn(&self, why: Option<String>) {
        if let Some(why) = why {
            self.kit.log.line(Level::Warn, "project", &why);
        }
    }

    /// Carries out an operation; a checkpoint that panics is still answered.
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
                let begun = now();
                // A checkpoint while a turn runs may end another one.
                let begins = turns == Turns::Running && self.wakeups.turns(turns) == Turns::Over;
                let place = match begins {
                    true => self.changed().await,
                    false => Where::Everything,
                };
                self.find_tracked().await;
                if !begins {
                    // What the agent has committed must not be taken for the user's commit.
                    self.wakeups.committed_until_now().await;
                }
                // Not before: until then, what git answers may be what the turn did.
                self.wakeups.turns(turns);
                self.checkpoint(token, begun, place, turns).await;
            }
            Operation::Track(paths) => self.track(paths).await,
            Operation::Review(begun, ended) => self.wakeups.review(begun, ended),
            // In its place among the checkpoints, because the next one may begin a turn.
            Operation::TurnsAreOver => {
                on_keeper(&self.keeper, &self.kit, Keeper::turns_are_over).await;
            }
        }
    }

    async fn attend(&mut self, due: Due) {
        if let Some(place) = due.tree {
            let place = match self.held.take() {
                Some(_) => self.with_news(place).await,
                None => place,
            };
            let (begun, is_all) = (self.begin(), place == Where::Everything);
            self.look(place).await;
            let effort = self.effort_since(begun);
            self.wakeups.rest(effort);
            if is_all {
                self.wakeups.compared(effort);
            }
        }
        if due.repository {
            self.wakeups.committed();
        }
    }

    /// Runs blocking work on the shadow; `None` if it panicked.
    async fn on_shadow<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl FnOnce(&mut Shadow) -> T + Send + 'static,
    ) -> Option<T> {
        let (shadow, sum) = (Arc::clone(&self.shadow), Arc::clone(&self.cpu_micros));
        let work = move || {
            let mut shadow = lock(&shadow);
            let (done, cpu) = cpu_time_of(|| work(&mut shadow));
            let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
            sum.fetch_add(micros, Ordering::Relaxed);
            done
        };
        self.kit.blocking(place, work).await
    }

    /// Returns the measures at the beginning, for [`Worker::effort_since`].
    fn begin(&self) -> (Instant, u64) {
        (Instant::now(), self.cpu_micros.load(Ordering::Relaxed))
    }

    fn effort_since(&self, (start, micros): (Instant, u64)) -> Effort {
        let now = self.cpu_micros.load(Ordering::Relaxed);
        Effort {
            cpu: Duration::from_micros(now.saturating_sub(micros)),
            took: start.elapsed(),
        }
    }

    /// Repeats work on the shadow for a while as long as the system is exhausted; `None` if it
    /// panicked.
    async fn until_known<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl Fn(&mut Shadow, Attempt) -> Result<T, Exhausted> + Send + Sync + 'static,
    ) -> Option<Result<T, Exhausted>> {
        let (work, begun) = (Arc::new(work), Instant::now());
        let quiescence = self.kit.writers.quiescence();
        let mut attempt = Attempt::One;
        loop {
            let work = Arc::clone(&work);
            let done = self.on_shadow(place, move |shadow| work(shadow, attempt));
            match done.await? {
                Err(Exhausted) if attempt == Attempt::One => {
                    tokio::time::sleep(quiescence.after).await;
                    if begun.elapsed() >= quiescence.exhausted() {
                        attempt = Attempt::Last;
                    }
                }
                done => {
                    if done.is_err() {
                        self.warn(Some(exhausted(&self.root)));
                    }
                    return Some(done);
                }
            }
        }
    }

    /// Looks, reports changes to the core, and updates the watches; `None` if it panicked.
    async fn look(&mut self, place: Where) -> Option<()> {
        let mut place = place;
        while place != Where::At(BTreeSet::new()) {
            let looked = self.look_once(place).await?;
            let (new, gone) = (looked.new_folders, looked.gone_folders);
            // Files may have been created in a new folder before it was watched.
            let fresh = self.wakeups.follow(new, gone).await;
            place = Where::At(fresh.into_iter().collect());
        }
        Some(())
    }

    async fn look_once(&mut self, place: Where) -> Option<Looked> {
        let start = Instant::now();
        if place == Where::Everything {
            self.wakeups.looking_at_everything();
        }
        let what = match &place {
            Where::Everything => "everything".to_owned(),
            Where::At(paths) => format!("{} paths", paths.len()),
        };
        let work = move |shadow: &mut Shadow| {
            let looked = match place {
                Where::Everything => shadow.look_all(),
                Where::At(paths) => shadow.look(&paths.into_iter().collect::<Vec<_>>()),
            };
            (looked, shadow.is_copying())
        };
        let looked = self.on_shadow("looking at a project", work).await?;
        let (mut looked, is_copying) = looked;
        self.is_copying = is_copying;
        self.wakeups.hold(looked.held.as_ref());
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

    /// Reports changes in parts, as fast as the core accepts them; `None` if it panicked.
    async fn tell(&self, changes: Vec<Difference>) -> Option<()> {
        for part in parts(changes) {
            let bytes = part.iter().map(Difference::weight).sum();
            let Some(permit) = self.kit.inbox.disk_permit(bytes).await else {
                // The core is gone.
                return Some(());
            };
            let read = move |shadow: &mut Shadow, attempt| {
                let changes = part.iter();
                let changes = changes.map(|change| shadow.file_change(change, attempt));
                changes.collect::<Result<Vec<_>, _>>()
            };
            let changes = self.until_known("reading what has changed", read).await?;
            let changes = changes.unwrap_or_default();
            let root = self.root.clone();
            let event = Event::Project(ProjectEvent::Changed { root, changes });
            self.kit.inbox.send_with(event, permit);
        }
        Some(())
    }

    /// Returns the scope of a look at a turn's beginning: what may have changed since the last look.
    async fn changed(&self) -> Where {
        let unwatched = |shadow: &mut Shadow| shadow.unwatched();
        let unwatched = self.on_shadow("looking for changes", unwatched).await;
        let Some(unwatched) = unwatched.flatten() else {
            return Where::Everything;
        };
        match self.wakeups.changed().await {
            Where::Everything => Where::Everything,
            Where::At(mut paths) => {
                paths.extend(unwatched);
                Where::At(paths)
            }
        }
    }

    /// Adds the changes until now to the scope of a look at postponed paths: each may be half of a
    /// move.
    async fn with_news(&self, place: Where) -> Where {
        match (place, self.wakeups.news().await) {
            (Where::At(paths), Where::At(news)) => {
                Where::At(paths.into_iter().chain(news).collect())
            }
            (Where::Everything, _) | (_, Where::Everything) => Where::Everything,
        }
    }

    /// Looks at a place, and again at postponed paths, until all changes there are reported; `None`
    /// if it panicked.
    async fn look_until_still(&mut self, place: Where) -> Option<()> {
        let (begun, is_all) = (self.begin(), place == Where::Everything);
        self.look(place).await?;
        if is_all {
            self.wakeups.compared(self.effort_since(begun));
        }
        while let Some(PostponedPaths { paths, again }) = self.held.take() {
            tokio::time::sleep_until(again.into()).await;
            let place = self.with_news(Where::At(paths)).await;
            self.look(place).await?;
        }
        Some(())
    }

    async fn checkpoint(
        &mut self,
        token: Token<reply::CheckpointTaken>,
        begun: i128,
        place: Where,
        turns: Turns,
    ) {
        let result = match self.look_until_still(place).await {
            Some(()) => {
                // What can be written nowhere is in memory: only the next Neovim lacks it.
                let keep = move |shadow: &mut Shadow| {
                    shadow.knows_all_until(begun);
                    let kept = shadow.keep();
                    Checkpoint {
                        files: shadow.count(),
                        limited: shadow.limited(kept.err()),
                    }
                };
                let kept = self.on_shadow("keeping a checkpoint", keep).await;
                kept.ok_or_else(|| failed(&self.root))
            }
            None => Err(failed(&self.root)),
        };
        if turns == Turns::Running {
            self.note_turns().await;
        }
        answer(&self.kit, token, result);
        let (store, kit) = (Arc::clone(&self.store), self.kit.clone());
        self.kit.spawn("pruning", async move {
            let pruned = kit.blocking("pruning", move || prune::prune(&store)).await;
            if let Some(Err(error)) = pruned {
                let line = format!("old data was not pruned: {error}");
                kit.log.line(Level::Warn, "project", &line);
            }
        });
    }

    /// Notes for the next Neovim that turns run, before the prompt is sent.
    async fn note_turns(&self) {
        let keeper = Arc::clone(&self.keeper);
        let noted = self.on_shadow("keeping a checkpoint", move |shadow| {
            shadow.hold_lease(keeper.lease()?);
            keeper.turns_run(&shadow.checkpoint()?)
        });
        self.warn(noted.await.and_then(Result::err));
    }

    /// Copies more of the contents that are not stored yet.
    async fn copy(&mut self) {
        let copied = self.on_shadow("copying files", Shadow::copy).await;
        self.is_copying = copied == Some(true);
        if !self.is_copying {
            let kept = self.on_shadow("keeping a checkpoint", Shadow::keep).await;
            self.warn(kept.and_then(Result::err));
        }
    }
}

/// Splits changes into parts of about [`PART`] bytes of text, at least one change each.
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

fn exhausted(root: &Path) -> String {
    format!(
        "Some kept data of {} could not be read, because the system has no file descriptors, \
         processes or memory left; end some programs, or raise `ulimit -n`, and restart Neovim.",
        root.display()
    )
}

fn failed(root: &Path) -> String {
    format!(
        "No checkpoint was taken of {}: an internal error in acp.nvim; see the log (:Acp log).",
        root.display()
    )
}
