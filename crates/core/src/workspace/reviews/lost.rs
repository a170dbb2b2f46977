//! Files of a turn that undoing it leaves unchanged, and the reasons.
//!
//! Invariant: a reason known in advance is reported in advance; such a file is left unchanged, even
//! in part.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::turns::Of;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::ids::TurnKey;
use crate::spine::project::{Body, FileState, MAX_KEPT};
use crate::workspace::Workspace;
use crate::workspace::documents::Document;

impl FileReview {
    /// Returns why the state before a turn cannot be restored; `None` if it can, or already is.
    fn lost_of(&self, turn: TurnKey, document: Option<&Document>) -> Option<String> {
        let origin = &self.of_turn(turn)?.origin;
        let is_other = origin.body != self.now.body;
        match &origin.body {
            Body::Bytes { bytes, blob: None } if is_other => {
                return Some(match *bytes > MAX_KEPT {
                    true => format!(
                        "it was larger than {} MB, so its content was not kept",
                        MAX_KEPT >> 20
                    ),
                    false => "it was a binary file, and its content was not kept".to_owned(),
                });
            }
            Body::Unreadable(_) if is_other => {
                return Some(
                    "it could not be read earlier, so its content was not kept".to_owned(),
                );
            }
            _ => {}
        }
        let plan = self.without_turn(turn, Of::All)?;
        let is_deleted = plan.whole.as_ref().is_some_and(FileState::is_missing);
        if is_deleted && document.is_none() {
            return None;
        }
        let is_protected = document.is_some_and(|document| document.state.readonly);
        let nobody_may = |state: &FileState| state.mode.is_some_and(|mode| mode & 0o222 == 0);
        // A file that was writable before the turn becomes writable again.
        let stays = plan.whole.as_ref().is_none_or(nobody_may);
        let is_written = !plan.edits.is_empty() && stays;
        if is_protected && !plan.edits.is_empty() {
            Some("its buffer is 'readonly' or 'nomodifiable'".to_owned())
        } else if is_written && nobody_may(&self.now) {
            Some("it is read-only; `chmod u+w` lets it be restored".to_owned())
        } else {
            None
        }
    }
}

impl Workspace {
    /// Returns why undoing a turn leaves a file unchanged; `None` if it does not.
    pub(super) fn lost_of(&self, path: &Path, turn: TurnKey) -> Option<String> {
        let document = self.documents.find(path).map(|(_, document)| document);
        self.reviews.get(path)?.lost_of(turn, document)
    }

    /// Reports the files that are left unchanged, if any.
    pub(super) fn tell_lost(&self, turn: TurnKey, lost: &[(PathBuf, String)], fx: &mut Effects) {
        if lost.is_empty() {
            return;
        }
        let names = lost
            .iter()
            .map(|(path, why)| format!("{} ({why})", self.name_in(turn, path)));
        let names: Vec<String> = names.collect();
        let text = format!("Left as they are: {}.", names.join(", "));
        fx.push(notify(Level::Warn, text));
    }

    /// Returns a file's name below the folder of a turn's session.
    pub(super) fn name_in(&self, turn: TurnKey, path: &Path) -> String {
        let session = self.sessions.get(&turn.session);
        let short = session.and_then(|session| path.strip_prefix(&session.folders.cwd).ok());
        short.unwrap_or(path).display().to_string()
    }
}
