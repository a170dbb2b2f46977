//! Queries git in a separate task, so that looks never wait for a slow git, and the end of a turn
//! only for a while.
//!
//! Invariant: the latest query wins; queries that arrive while git runs are merged. An answer that may
//! hold what a turn did says so, however late it comes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch::{self, Receiver, Sender};

use super::committed::Reviews;
use super::git::Git;
use super::watch::Watch;
use crate::Kit;
use acp_core::event::{Event, ProjectEvent};
use acp_core::spine::effect::{Level, Turns};
use acp_edge::panics::lock;

/// The time between two attempts to query a git that could not be started.
const AGAIN: Duration = Duration::from_secs(1);

/// The files under review, each with the number of its review.
#[derive(Debug, Default)]
struct UnderReview {
    files: BTreeMap<PathBuf, u64>,
    last: u64,
    /// The number of queries that were asked for.
    queries: u64,
    /// The number of the last one about what a turn did.
    of_turn: u64,
    turns: Turns,
}

/// A handle on the task, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct GitQueries {
    asked: Sender<UnderReview>,
    /// The number of the last query that was answered.
    answered: Receiver<u64>,
}

impl GitQueries {
    /// Starts the task of a project; `watch` gets the files that signal a change.
    pub(super) fn start(root: &Path, git: Git, watch: Arc<Mutex<Watch>>, kit: &Kit) -> Self {
        let asked = Sender::new(UnderReview::default());
        let (answers, answered) = watch::channel(0);
        let task = Task {
            root: root.to_owned(),
            reviews: Arc::new(Mutex::new(Reviews::new(git))),
            watch,
            kit: kit.clone(),
        };
        kit.spawn("asking git", task.run(asked.subscribe(), answers));
        Self { asked, answered }
    }

    /// Reports git's versions of files whose review has begun, now and after each change. The end of
    /// a review needs no query.
    pub(super) fn review(&self, begun: Vec<PathBuf>, ended: Vec<PathBuf>) {
        self.asked.send_if_modified(|asked| {
            for path in ended {
                asked.files.remove(&path);
            }
            let is_query_due = !begun.is_empty();
            for path in begun {
                asked.last += 1;
                asked.files.entry(path).or_insert(asked.last);
            }
            is_query_due
        });
    }

    /// Sets whether turns run from now on.
    pub(super) fn turns(&self, turns: Turns) {
        self.asked.send_if_modified(|asked| {
            asked.turns = turns;
            false
        });
    }

    /// Queries git again.
    pub(super) fn again(&self) {
        self.asked.send_modify(|asked| asked.queries += 1);
    }

    /// Queries git again at the end of a turn if files are under review, and waits for the answer,
    /// but not longer than `patience`.
    pub(super) async fn catch_up(&self, patience: Duration) {
        if self.asked.borrow().files.is_empty() {
            return;
        }
        self.asked.send_modify(|asked| {
            asked.queries += 1;
            asked.of_turn = asked.queries;
        });
        let query = self.asked.borrow().queries;
        let mut answered = self.answered.clone();
        let answer = answered.wait_for(|&answered| answered >= query);
        // An answer that comes later is still known as the turn's.
        let _ = tokio::time::timeout(patience, answer).await;
    }
}

struct Task {
    root: PathBuf,
    reviews: Arc<Mutex<Reviews>>,
    watch: Arc<Mutex<Watch>>,
    kit: Kit,
}

impl Task {
    async fn run(self, mut asked: Receiver<UnderReview>, answers: Sender<u64>) {
        let mut last = 0;
        while asked.changed().await.is_ok() {
            let (files, query) = {
                let asked = asked.borrow_and_update();
                (Arc::new(asked.files.clone()), asked.queries)
            };
            // While git ran, a turn may have begun, or even ended.
            let turns = || match &*asked.borrow() {
                now if now.of_turn > last => Turns::Running,
                now => now.turns,
            };
            // A commit may have happened before the watches were in place.
            while self.ask(Arc::clone(&files), turns).await {}
            answers.send_replace(query);
            last = query;
        }
    }

    /// Queries git and reports new versions; returns whether it must be queried again: watches were
    /// added, or it could not be started.
    async fn ask(&self, asked: Arc<BTreeMap<PathBuf, u64>>, turns: impl Fn() -> Turns) -> bool {
        let (reviews, watch) = (Arc::clone(&self.reviews), Arc::clone(&self.watch));
        let work = move || {
            let mut reviews = lock(&reviews);
            let mut files = Vec::new();
            let done = reviews.ask(&asked, &mut files);
            let placed = lock(&watch).listen(reviews.signals());
            (files, done, placed, asked.len())
        };
        let Some((files, done, placed, asked)) = self.kit.blocking("asking git", work).await else {
            return false;
        };
        let (news, turns) = (files.len(), turns());
        if news > 0 {
            self.kit
                .inbox
                .send(Event::Project(ProjectEvent::Committed { files, turns }));
        }
        let root = self.root.clone();
        let line = format!(
            "{}: asked git about {asked} files: {news} news",
            root.display()
        );
        self.kit.log.line(Level::Debug, "project", &line);
        if let Some(why) = placed.limited {
            self.kit
                .inbox
                .send(Event::Project(ProjectEvent::WatchLimited { root, why }));
        }
        if done.is_err() {
            tokio::time::sleep(AGAIN).await;
        }
        placed.any || done.is_err()
    }
}
