//! The prompts the user has written in each project, for recall in the input.
//!
//! Invariant: the newest is the last, and each is in the list once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::spine::cx::Effects;
use crate::spine::effect::{EditorEffect, HostEffect};
use crate::spine::ids::SessionKey;

/// Maximum number of prompts kept per project.
pub const MAX_PROMPTS: usize = 500;

/// A longer prompt was not written by hand, so it is not kept.
const MAX_BYTES: usize = 256 << 10;

/// A project's prompts, oldest first.
pub type Prompts = Arc<[Arc<str>]>;

/// The prompts of all projects, by their folders.
#[derive(Debug, Default)]
pub struct Recall {
    known: BTreeMap<PathBuf, Prompts>,
}

impl Recall {
    fn get(&self, folder: &Path) -> Prompts {
        self.known.get(folder).cloned().unwrap_or_default()
    }
}

/// Returns the prompts with `text` moved or added to the end.
fn with(prompts: &[Arc<str>], text: &str) -> Prompts {
    let others = prompts.iter().filter(|known| &***known != text).cloned();
    let all: Vec<Arc<str>> = others.chain([Arc::from(text)]).collect();
    let first = all.len().saturating_sub(MAX_PROMPTS);
    all.get(first..).unwrap_or_default().into()
}

impl Conversation {
    pub(crate) fn prompts_in(&self, folder: &Path) -> Prompts {
        self.recall.get(folder)
    }

    /// Requests the project's stored prompts, once per folder.
    pub(crate) fn recall(&mut self, key: SessionKey, fx: &mut Effects) {
        if let Some(session) = self.sessions.get(&key) {
            let folder = session.spec.cwd.clone();
            if !self.recall.known.contains_key(&folder) {
                self.recall.known.insert(folder.clone(), Prompts::default());
                fx.push(HostEffect::RecallPrompts { folder });
            }
        }
    }

    /// Merges the stored prompts into the list; prompts written since the request are newer.
    pub(crate) fn recalled(&mut self, folder: PathBuf, texts: Vec<String>, fx: &mut Effects) {
        let newer = self.recall.get(&folder);
        let older = texts.iter().map(String::as_str);
        let all = older.chain(newer.iter().map(|text| &**text));
        let prompts = all.fold(Prompts::default(), |prompts, text| with(&prompts, text));
        self.recall.known.insert(folder.clone(), prompts);
        for (key, session) in &self.sessions {
            if session.spec.cwd == folder {
                let session = *key;
                fx.push(EditorEffect::Candidates { session });
            }
        }
    }

    /// Adds a prompt to the project's list, and stores it unless the user wants nothing stored.
    pub(crate) fn remember(&mut self, key: SessionKey, text: &str, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        if text.trim().is_empty() || text.len() > MAX_BYTES {
            return;
        }
        let folder = session.spec.cwd.clone();
        let known = self.recall.get(&folder);
        if known.last().is_some_and(|last| &**last == text) {
            return;
        }
        self.recall.known.insert(folder.clone(), with(&known, text));
        if !self.past.is_off {
            let text = text.to_owned();
            fx.push(HostEffect::KeepPrompt { folder, text });
        }
        fx.push(EditorEffect::Candidates { session: key });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_last_and_none_is_there_twice() {
        let texts = ["a", "b", "a", "c"].into_iter();
        let all = texts.fold(Prompts::default(), |all, text| with(&all, text));
        let all: Vec<&str> = all.iter().map(|text| &**text).collect();
        assert_eq!(all, ["b", "a", "c"]);
        let many = (0..MAX_PROMPTS + 5).map(|nth| nth.to_string());
        let many = many.fold(Prompts::default(), |all, text| with(&all, &text));
        assert_eq!((many.len(), &*many[0]), (MAX_PROMPTS, "5"));
    }
}
