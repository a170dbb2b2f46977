//! Each project's prompt history on disk: one file, one JSON string per line.
//!
//! Invariants: prompts are saved in the order in which they were sent. Concurrent Neovims lose none
//! of each other's: a file is written or shortened only while its lock is held. Unreadable lines are
//! skipped.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{FlockOperation, flock};

use crate::Kit;
use acp_core::conversation::recall::MAX_PROMPTS;
use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::effect::Level;
use acp_edge::panics::lock;

/// Size above which a file is shortened.
const MAX_BYTES: u64 = 2 << 20;

/// Reads and saves the prompts of all projects.
#[derive(Debug, Clone)]
pub(crate) struct Prompts {
    state: PathBuf,
    /// Unsaved prompts with their folders, the oldest first.
    waiting: Arc<Mutex<VecDeque<(PathBuf, String)>>>,
    /// Held while one is saved.
    saving: Arc<tokio::sync::Mutex<()>>,
}

impl Prompts {
    pub(crate) fn new(state: PathBuf) -> Self {
        Self {
            state,
            waiting: Arc::default(),
            saving: Arc::default(),
        }
    }

    /// Reads the earlier prompts of a folder.
    pub(crate) fn recall(&self, folder: PathBuf, kit: &Kit) {
        let (state, kit) = (self.state.clone(), kit.clone());
        kit.clone().spawn("the prompt history", async move {
            let place = folder.clone();
            let work = move || load(&state, &place);
            let done = kit.blocking("the prompt history", work).await;
            // On an error, the user only loses the prompt history.
            let texts = done.and_then(Result::ok).unwrap_or_default();
            let recalled = ConversationEvent::PromptsRecalled { folder, texts };
            kit.inbox.send(Event::Conversation(recalled));
        });
    }

    /// Saves a prompt of a folder; returns at once.
    pub(crate) fn keep(&self, folder: PathBuf, text: String, kit: &Kit) {
        lock(&self.waiting).push_back((folder, text));
        let (here, kit) = (self.clone(), kit.clone());
        kit.clone()
            .spawn("a prompt", async move { here.finish(&kit).await });
    }

    /// Saves what waits.
    pub(crate) async fn finish(&self, kit: &Kit) {
        let _saving = self.saving.lock().await;
        loop {
            let Some((folder, text)) = lock(&self.waiting).pop_front() else {
                return;
            };
            let state = self.state.clone();
            let work = move || keep(&state, &folder, &text);
            if let Some(Err(error)) = kit.blocking("a prompt", work).await {
                let line = format!("a prompt could not be saved: {error}");
                kit.log.line(Level::Warn, "host", &line);
            }
        }
    }
}

/// Returns the path of a project's history.
fn file_of(state: &Path, folder: &Path) -> PathBuf {
    let name = blake3::hash(folder.as_os_str().as_bytes()).to_hex();
    state.join("prompts").join(format!("{}.jsonl", &name[..32]))
}

/// Opens a project's history; the lock lasts as long as the file is open.
fn open(state: &Path, folder: &Path) -> io::Result<File> {
    let path = file_of(state, folder);
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create(true).mode(0o600);
    let file = file.open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Returns the prompts of a project, oldest first.
fn load(state: &Path, folder: &Path) -> io::Result<Vec<String>> {
    if !fs::exists(file_of(state, folder))? {
        return Ok(Vec::new());
    }
    let mut file = open(state, folder)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let texts = lines.filter_map(|line| serde_json::from_slice::<String>(line).ok());
    let mut texts: Vec<String> = texts.collect();
    let first = texts.len().saturating_sub(MAX_PROMPTS);
    texts.drain(..first);
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        let lines: String = texts.iter().map(|text| line(text)).collect();
        file.write_all(lines.as_bytes())?;
    }
    Ok(texts)
}

/// Appends a prompt to a project's history.
fn keep(state: &Path, folder: &Path, text: &str) -> io::Result<()> {
    open(state, folder)?.write_all(line(text).as_bytes())
}

/// Starts with a newline as well, because the line before may be torn.
fn line(text: &str) -> String {
    format!("\n{}\n", serde_json::Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_prompts_are_loaded_again() {
        let state = tempfile::tempdir().unwrap();
        let (state, here) = (state.path(), Path::new("/p"));
        assert!(load(state, here).unwrap().is_empty());
        keep(state, here, "one\ntwo").unwrap();
        let mut torn = open(state, here).unwrap();
        torn.write_all(b"\"torn").unwrap();
        drop(torn);
        keep(state, here, "three").unwrap();
        keep(state, Path::new("/q"), "other").unwrap();
        assert_eq!(load(state, here).unwrap(), ["one\ntwo", "three"]);
    }

    #[test]
    fn the_history_file_stays_bounded() {
        let state = tempfile::tempdir().unwrap();
        let (state, here) = (state.path(), Path::new("/p"));
        let long = "x".repeat(3 << 20);
        let few: String = (0..MAX_PROMPTS).map(|nth| line(&nth.to_string())).collect();
        keep(state, here, &long).unwrap();
        open(state, here)
            .unwrap()
            .write_all(few.as_bytes())
            .unwrap();
        assert_eq!(load(state, here).unwrap().len(), MAX_PROMPTS);
        assert!(fs::metadata(file_of(state, here)).unwrap().len() < 10_000);
        assert_eq!(load(state, here).unwrap().len(), MAX_PROMPTS);
    }
}
