//! Projects as the core sees them: real folders, effects in, changes out as readable lines.
//!
//! A change is `path: before > after`, with `old => path` for a move. A state is its text in
//! quotes, or `-` for a missing file; the mode is given only where it differs.

mod changes;
mod committed;
mod hidden;
mod histories;
mod kept;
mod limits;
mod restore;
mod untouched;

use acp_core::event::ProjectEvent;
use std::fs;

use super::*;
use acp_core::spine::effect::{HardLinks, MayReplace, Turns};
use acp_core::spine::event::DiskText;
use acp_core::spine::project::{Body, Checkpoint, FileChange, FileState};
use acp_core::text::format::Format;

pub(super) const CHECKPOINT: Token<reply::CheckpointTaken> = Token::new(11);

/// A host and a user's folder.
pub(super) struct Work {
    pub(super) run: Run,
    pub(super) root: PathBuf,
    /// The host's data folder.
    pub(super) state: PathBuf,
}

impl Work {
    /// Creates these files; the project is not open yet.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, |_| ())
    }

    pub(super) fn with(files: &[(&str, &str)], change: impl FnOnce(&mut HostConfig)) -> Self {
        let run = Run::with(|config| {
            // The user's own git config must not matter here.
            config.environment = Environment::from_variables([]);
            // Watches have their own tests.
            config.limits.project.watches = 0;
            // Quiescence has its own tests.
            config.limits.quiescence.after = Duration::ZERO;
            config.limits.quiescence.patience = Duration::ZERO;
            change(config);
        });
        let root = run.path("p");
        fs::create_dir(&root).expect("a folder");
        let state = run.path("acp.state");
        let work = Self { run, root, state };
        for (name, text) in files {
            work.file(name, text);
        }
        work
    }

    /// Creates these files and opens the project.
    pub(super) fn open(files: &[(&str, &str)]) -> Self {
        let work = Self::new(files);
        work.opened();
        work
    }

    pub(super) fn opened(&self) {
        let root = self.root.clone();
        self.run.host.run(HostEffect::OpenProject { root });
        assert_eq!(self.changes(), [""; 0], "opening tells no change");
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until a file's times distinguish it from a later version.
    pub(super) fn settle(&self, name: &str) {
        wait_for("a file to be settled", || {
            let meta = fs::metadata(self.path(name)).expect("a file");
            let age = meta.modified().expect("a time").elapsed();
            age.is_ok_and(|age| age > Duration::from_millis(60))
        });
    }

    /// Writes a file with the usual mode, and creates its parent folders.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, content).expect("a file");
        set_mode(&path, 0o644);
    }

    /// Takes a checkpoint; returns the changes reported before the answer, and the answer.
    pub(super) fn checkpoint(&self) -> (Vec<FileChange>, Result<Checkpoint, String>) {
        let (told, result) = self.looks();
        (told.concat(), result)
    }

    /// Like `checkpoint`, with the changes of each look separately.
    pub(super) fn looks(&self) -> (Vec<Vec<FileChange>>, Result<Checkpoint, String>) {
        self.run.host.run(HostEffect::Checkpoint {
            token: CHECKPOINT,
            root: self.root.clone(),
            turns: Turns::Over,
        });
        let mut told = Vec::new();
        loop {
            match self.run.next() {
                Event::Project(ProjectEvent::Changed { root, changes }) => {
                    assert_eq!(root, self.root);
                    assert!(!changes.is_empty(), "no news is not told");
                    told.push(changes);
                }
                Event::Project(ProjectEvent::CheckpointTaken { token, result }) => {
                    assert_eq!(token, CHECKPOINT);
                    return (told, result);
                }
                Event::Project(ProjectEvent::WatchLimited { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Takes a checkpoint; returns the changes as lines.
    #[track_caller]
    pub(super) fn changes(&self) -> Vec<String> {
        let (changes, result) = self.checkpoint();
        result.expect("a checkpoint");
        changes.iter().map(|change| self.line(change)).collect()
    }

    /// Looks at these paths only; returns the changes as lines.
    #[track_caller]
    pub(super) fn look(&self, names: &[&str]) -> Vec<String> {
        let project = self.run.host.projects.project(&self.root);
        let paths = names.iter().map(|name| self.path(name)).collect();
        project.expect("an open project").look(paths);
        match self.run.next() {
            Event::Project(ProjectEvent::Changed { changes, .. }) => {
                changes.iter().map(|change| self.line(change)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn line(&self, change: &FileChange) -> String {
        let name = |path: &Path| {
            path.strip_prefix(&self.root)
                .expect("below")
                .display()
                .to_string()
        };
        let from = change
            .from
            .as_deref()
            .map(|from| format!("{} => ", name(from)));
        let modes = [change.before.mode, change.after.mode];
        let shows = modes[0] != modes[1] && !modes.contains(&None);
        format!(
            "{}{}: {} > {}",
            from.unwrap_or_default(),
            name(&change.path),
            state(&change.before, shows),
            state(&change.after, shows),
        )
    }
}

fn state(state: &FileState, shows_mode: bool) -> String {
    let body = match &state.body {
        Body::Missing => "-".to_owned(),
        Body::Text(text) => format!("{:?}", text.format.to_wire(&text.text, 0..text.text.len())),
        Body::Bytes { bytes, blob: None } => format!("{bytes} bytes, not kept"),
        Body::Bytes { bytes, .. } => format!("{bytes} bytes"),
        Body::Link(to) => format!("link {}", to.display()),
        Body::Unreadable(_) => "unreadable".to_owned(),
    };
    match state.mode {
        Some(mode) if shows_mode => format!("{body} {mode:o}"),
        _ => body,
    }
}

impl Work {
    /// Returns a state with this text and no mode.
    pub(super) fn text(&self, text: &str) -> FileState {
        let (format, text) = Format::decode(text.as_bytes());
        FileState {
            body: Body::Text(DiskText { text, format }),
            mode: None,
            stamp: None,
        }
    }

    /// Returns the files of all stored contents.
    pub(super) fn blobs(&self) -> Vec<PathBuf> {
        let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let shards = below(self.state.join("blobs")).map(|entry| entry.path());
        let mut files: Vec<PathBuf> = shards.flat_map(below).map(|entry| entry.path()).collect();
        files.sort();
        files
    }
}
