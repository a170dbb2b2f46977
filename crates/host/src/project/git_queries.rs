//! Queries git in a separate task, so that looks and checkpoints never wait for a slow git.
//!
//! Invariant: the latest query wins; queries that arrive while git runs are merged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch::{Receiver, Sender};

use super::committed::Reviews;
use super::git::Git;
use super::wakeups::lock;
use super::watch::Watch;
use crate::Kit;
use acp_core::event::{Event, ProjectEvent};
use acp_core::spine::effect::Level;

/// A handle on the task, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct GitQueries {
    /// The files under review.
    paths: Sender<Vec<PathBuf>>,
}

impl GitQueries {
    /// Starts the task of a project; `watch` gets the files that signal a change.
    pub(super) fn start(root: &Path, git: Git, watch: Arc<Mutex<Watch>>, kit: &Kit) -> Self {
        let paths = Sender::new(Vec::new());
        let task = Task {
            root: root.to_owned(),
            reviews: Arc::new(Mutex::new(Reviews::new(git))),
            watch,
            kit: kit.clone(),
        };
        kit.spawn("asking git", task.run(paths.subscribe()));
        Self { paths }
    }

    /// Reports git's versions of these files, now and after each change.
    pub(super) fn review(&self, paths: Vec<PathBuf>) {
        self.paths.send_replace(paths);
    }

    /// Queries git again.
    pub(super) fn again(&self) {
        self.paths.send_modify(|_| ());
    }
}

struct Task {
    root: PathBuf,
    reviews: Arc<Mutex<Reviews>>,
    watch: Arc<Mutex<Watch>>,
    kit: Kit,
}

impl Task {
    async fn run(self, mut paths: Receiver<Vec<PathBuf>>) {
        while paths.changed().await.is_ok() {
            let asked = paths.borrow_and_update().clone();
            // A commit may have happened before the watches were in place.
            while self.ask(asked.clone()).await {}
        }
    }

    /// Queries git and reports new versions; returns whether watches were added.
    async fn ask(&self, paths: Vec<PathBuf>) -> bool {
        let (reviews, watch) = (Arc::clone(&self.reviews), Arc::clone(&self.watch));
        let work = move || {
            let mut reviews = reviews.lock().unwrap_or_else(PoisonError::into_inner);
            let files = reviews.ask(&paths);
            (files, lock(&watch).listen(reviews.signals()), paths.len())
        };
        let Some((files, placed, asked)) = self.kit.blocking("asking git", work).await else {
            return false;
        };
        let news = files.len();
        if news > 0 {
            self.kit
                .inbox
                .send(Event::Project(ProjectEvent::Committed { files }));
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
        placed.any
    }
}
