//! Wakes a project's worker: after notifications of the watches, and at intervals where watches
//! cannot see every change.
//!
//! Invariant: without a change nothing wakes up, and there is no timer, except while a turn runs in
//! a project that cannot be watched completely.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::effort::Effort;
use super::gather::{Due, PostponedPaths, Where};
use super::git::Git;
use super::git_queries::GitQueries;
use super::notifications::Notifications;
use super::watch::{Placed, Watch};
use crate::Kit;
use acp_core::event::{Event, ProjectEvent};
use acp_core::spine::effect::Turns;
use acp_edge::panics::lock;

/// The wake-up sources of one project's worker.
#[derive(Debug)]
pub(super) struct Wakeups {
    root: PathBuf,
    kit: Kit,
    notifications: Arc<Notifications>,
    watch: Arc<Mutex<Watch>>,
    git_queries: GitQueries,
    /// Comparison interval for unwatched files while a turn runs.
    every: Duration,
    turns: Turns,
    /// Earliest time for the next full comparison.
    rested: Instant,
}

impl Wakeups {
    /// Returns the sources of a project; nothing is watched yet.
    pub(super) fn new(root: &Path, git: Git, kit: &Kit) -> Self {
        let notifications = Arc::new(Notifications::new(
            root,
            kit.log.path(),
            Arc::clone(&kit.writers),
        ));
        let limits = &kit.limits.project;
        let watch = Watch::new(
            root,
            limits.watches,
            Arc::clone(&notifications),
            kit.inbox.clone(),
        );
        let watch = Arc::new(Mutex::new(watch));
        Self {
            root: root.to_owned(),
            git_queries: GitQueries::start(root, git, Arc::clone(&watch), kit),
            watch,
            notifications,
            every: limits.compare_every,
            turns: Turns::Over,
            rested: Instant::now(),
            kit: kit.clone(),
        }
    }

    /// Waits until something is due. Cancel-safe.
    pub(super) async fn next(&self) -> Due {
        let compare = async {
            match self.compare_at() {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            due = self.notifications.due() => due,
            () = compare => Due { tree: Some(Where::Everything), repository: false },
        }
    }

    /// Starts watching the folders of the tree, and single files that rules hide.
    pub(super) async fn start(&self, folders: Vec<PathBuf>, files: Vec<PathBuf>) {
        self.watches(move |watch| watch.start(folders)).await;
        self.watches(move |watch| watch.track(&files)).await;
        // The tree may have changed since it was walked; a checkpoint would notice that as well.
        self.notifications.look_at_everything();
    }

    /// Updates the watched folders; returns the paths to look at again.
    pub(super) async fn follow(&self, new: Vec<PathBuf>, gone: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.follow(new, &gone)).await
    }

    /// Watches these files too, wherever they are; returns the paths to look at again.
    pub(super) async fn track(&self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        self.watches(move |watch| watch.track(&paths)).await
    }

    /// Changes the set of files under review, whose versions in the user's repository are reported.
    pub(super) fn review(&self, begun: Vec<PathBuf>, ended: Vec<PathBuf>) {
        self.git_queries.review(begun, ended);
    }

    /// Checks the versions of the files under review and reports changes.
    pub(super) fn committed(&self) {
        self.git_queries.again();
    }

    /// Reports the versions that the files under review have now, as far as git says so in time.
    pub(super) async fn committed_until_now(&self) {
        let patience = self.kit.writers.quiescence().patience;
        self.git_queries.catch_up(patience).await;
    }

    /// Sets whether turns run from now on; returns whether they did before.
    pub(super) fn turns(&mut self, turns: Turns) -> Turns {
        self.git_queries.turns(turns);
        std::mem::replace(&mut self.turns, turns)
    }

    /// Drops pending notifications, because a full look is about to start.
    pub(super) fn looking_at_everything(&self) {
        self.notifications.lock().gather.covered();
    }

    /// Takes the scope of a look at all that has changed until now.
    pub(super) async fn changed(&self) -> Where {
        let root = self.root.clone();
        let changed = move |it: &Notifications| is_local(&root).then(|| it.changed());
        self.caught_up(changed).await.unwrap_or(Where::Everything)
    }

    /// Takes the scope of a look at what the system has reported until now; `Everything` if its reports
    /// are late.
    pub(super) async fn news(&self) -> Where {
        let news = self.caught_up(|it| Some(it.news())).await;
        news.unwrap_or(Where::Everything)
    }

    async fn caught_up(
        &self,
        take: impl FnOnce(&Notifications) -> Option<Due> + Send + 'static,
    ) -> Option<Where> {
        let notifications = Arc::clone(&self.notifications);
        let take = move || take(&notifications);
        let due = self.kit.blocking("catching up with a project", take).await;
        let due = due.flatten()?;
        if due.repository {
            self.committed();
        }
        Some(due.tree.unwrap_or_else(|| Where::At(BTreeSet::new())))
    }

    /// Records the cost of a look that a notification or the timer caused.
    pub(super) fn rest(&self, effort: Effort) {
        self.notifications
            .lock()
            .gather
            .looked(effort, Instant::now());
    }

    /// Schedules another look at these paths, replacing earlier ones.
    pub(super) fn hold(&self, held: Option<&PostponedPaths>) {
        self.notifications.hold(held.cloned());
    }

    /// Records that a full comparison was made, and its cost.
    pub(super) fn compared(&mut self, effort: Effort) {
        self.rested = Instant::now() + self.every.max(effort.rest());
    }

    /// Returns the time of the next full comparison; `None` if the watches cover everything, or no
    /// turn runs.
    fn compare_at(&self) -> Option<Instant> {
        (self.turns == Turns::Running && self.notifications.lock().is_limited)
            .then_some(self.rested)
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
            self.kit
                .inbox
                .send(Event::Project(ProjectEvent::WatchLimited { root, why }));
        }
        placed.look
    }
}

/// Returns whether the system reports all changes of the files of a folder, because only this
/// machine can change them.
fn is_local(folder: &Path) -> bool {
    // Bcachefs, Btrfs, ext2 to ext4, F2FS, overlayfs, tmpfs, XFS and ZFS; see statfs(2).
    #[cfg(target_os = "linux")]
    const LOCAL: [u64; 8] = [
        0xca45_1a4e,
        0x9123_683e,
        0xef53,
        0xf2f5_2010,
        0x794c_7630,
        0x0102_1994,
        0x5846_5342,
        0x2fc1_2fc1,
    ];
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(folder)
        .is_ok_and(|it| u64::try_from(it.f_type).is_ok_and(|kind| LOCAL.contains(&kind)));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}
