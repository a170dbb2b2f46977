//! Asking git, on a task of its own: however slow it is, no look and no checkpoint waits for it.
//!
//! Invariant: what is asked last is what counts; questions that come while git answers are one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch::{Receiver, Sender};

use super::attend::lock;
use super::committed::Reviews;
use super::git::Git;
use super::watch::Watch;
use crate::Kit;
use acp_core::spine::effect::Level;
use acp_core::spine::event::Event;

/// The way to ask; the task ends when it is dropped.
#[derive(Debug)]
pub(super) struct Asking {
    /// The files under review.
    paths: Sender<Vec<PathBuf>>,
}

impl Asking {
    /// Starts the task of a project; what it wants to be told of is watched by `watch`.
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

    /// Has what git knows of these files told, now and whenever it changes.
    pub(super) fn review(&self, paths: Vec<PathBuf>) {
        self.paths.send_replace(paths);
    }

    /// Has git asked once more.
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
            // Something may have been committed before it was watched for.
            while self.ask(asked.clone()).await {}
        }
    }

    /// Asks, and tells what is news; returns whether there are watches where there were none.
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
            self.kit.inbox.send(Event::Committed { files });
        }
        let root = self.root.clone();
        let line = format!(
            "{}: asked git about {asked} files: {news} news",
            root.display()
        );
        self.kit.log.line(Level::Debug, "project", &line);
        if let Some(why) = placed.limited {
            self.kit.inbox.send(Event::WatchLimited { root, why });
        }
        placed.any
    }
}
