//! What the disk has, merged into a buffer: the same way for a change that was told and for one
//! that an agent's write comes across.
//!
//! Invariant: what the user has typed is merged with, never replaced; the saved text of a document
//! is the disk's when the editor has made the edits, not before.

use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Level, Save};
use crate::spine::event::{DiskFile, EditDone, SaveError, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::text::Text;
use crate::text::format::Encoding;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{BufferEdit, Kind};
use crate::workspace::ledger::{Conflict, Merge, merge};

/// What is on disk, on its way into a buffer.
#[derive(Debug)]
pub(crate) struct DiskMerge {
    pub buf: BufId,
    pub disk: DiskFile,
    /// The session whose agent has written it.
    pub by: Option<SessionKey>,
    /// What the buffer was thought to have on disk.
    base: Text,
    /// What the buffer has.
    ours: Text,
    theirs: Text,
    conflicts: Vec<Conflict>,
    /// The file the buffer was known to be saved as, when this began.
    over: Option<Stamp>,
}

/// A buffer that an agent's change on disk comes into, and its text before.
pub type Landed = Option<(BufId, Text)>;

impl DiskMerge {
    /// Merges what changed from `base` to `theirs` into a buffer; `theirs` is what `disk` has.
    pub fn plan(
        buf: BufId,
        document: &Document,
        disk: DiskFile,
        (base, theirs): (Text, Text),
        by: Option<SessionKey>,
    ) -> (Self, BufferEdit) {
        let ours = &document.text;
        let Merge { edits, conflicts } = merge(&base, ours, &theirs);
        let mut merged = ours.clone();
        merged.apply_all(&edits);
        let is_clean = merged == theirs;
        let save = match &disk.content {
            None if is_clean => Save::Deleted,
            None => Save::No,
            Some(content) => Save::Merged {
                stamp: disk.stamp,
                is_clean,
                format: document.reads(content).format,
            },
        };
        let edit = BufferEdit::new(buf, document, edits, save);
        let over = document.stamp;
        let merge = Self {
            buf,
            disk,
            by,
            base,
            ours: ours.clone(),
            theirs,
            conflicts,
            over,
        };
        (merge, edit)
    }

    /// Returns the buffer, and what it had before, if an agent has written what comes.
    pub fn lands(&self) -> Landed {
        self.by.map(|_| (self.buf, self.ours.clone()))
    }

    /// Returns whether the user has changed lines that the disk has others of.
    pub fn has_conflicts(&self) -> bool {
        !self.conflicts.is_empty()
    }
}

impl Model {
    /// Takes note of a merge that the editor has made; `false` when the disk or the buffer's file
    /// has moved on meanwhile, and has to be looked at again.
    pub(crate) fn disk_is_merged(
        &mut self,
        merge: DiskMerge,
        done: &EditDone,
        fx: &mut Effects,
    ) -> bool {
        let Some(document) = self.documents.get(merge.buf) else {
            return false;
        };
        let path = document.path.clone();
        let is_stale = done.saved == Some(Err(SaveError::Stale));
        let was_saved = document.stamp != merge.over;
        if let Some(session) = merge.by {
            self.agent_has_left(session, &merge.disk.real, &merge.base, &merge.theirs);
        }
        self.offer_disk(&merge, &path, fx);
        let DiskMerge {
            buf, disk, theirs, ..
        } = merge;
        if !was_saved {
            // Also where the disk has more by now: what it had is in the buffer.
            self.documents.set_disk(buf, theirs, disk.stamp);
        }
        !is_stale && !was_saved
    }

    /// Has the choices carried out that were made of what a merge has brought into a buffer.
    pub fn disk_has_landed(&mut self, landed: Landed, fx: &mut Effects) {
        let Some((buf, ours)) = landed else {
            return;
        };
        let document = self.documents.get(buf);
        let path = document.map(|document| document.path.clone());
        let review = path.and_then(|path| Some((self.reviews.get(&path)?, path)));
        if let Some((now, path)) = review.map(|(review, path)| (review.ledger.current(), path)) {
            let now = now.clone();
            self.proposals_landed(&path, &ours, &now, fx);
        }
    }

    /// Offers the user what the disk has over lines that the user has changed too.
    fn offer_disk(&mut self, merge: &DiskMerge, path: &std::path::Path, fx: &mut Effects) {
        if merge.conflicts.is_empty() {
            return;
        }
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        for conflict in &merge.conflicts {
            review.offer(conflict.clone());
        }
        self.reviews.touch(path);
        let text = format!(
            "{} was changed on disk where you have: yours stays, `:Acp review` has both.",
            path.display()
        );
        fx.push(notify(Level::Warn, text));
    }

    /// Lets what a session has seen of a file follow its agent's own change on disk: the base of
    /// its next write, but not of one that was sent before.
    pub fn agent_has_left(
        &mut self,
        session: SessionKey,
        real: &std::path::Path,
        before: &Text,
        after: &Text,
    ) {
        let is_write = |kind| matches!(kind, Kind::Write(_));
        if self.fileops.may_have(&self.names_of(real), is_write) {
            return;
        }
        let session = self.sessions.get_mut(&session);
        if let Some(seen) = session.and_then(|session| session.seen.get_mut(real)) {
            advance(seen, before, after);
        }
    }
}

/// Makes the change from `before` to `after` in another text, as far as it goes.
pub fn advance(text: &mut Text, before: &Text, after: &Text) {
    if text == before {
        text.clone_from(after);
    } else {
        let edits = merge(before, text, after).edits;
        text.apply_all(&edits);
    }
}

/// Returns the text that is on disk under a buffer, as the buffer would have it; `None` when there
/// is no file.
///
/// # Errors
/// Somebody has changed it, and only Neovim can read it.
pub fn known_on_disk(document: &Document, disk: &DiskFile) -> Result<Option<Text>, &'static str> {
    let Some(content) = &disk.content else {
        return Ok(None);
    };
    if document.stamp.is_some() && document.stamp == disk.stamp {
        // Nobody has written since; bytes that are no text look different in a buffer.
        return Ok(document.saved.clone());
    }
    let now = document.reads(content);
    let encoding = document.state.format.encoding;
    if encoding == now.format.encoding || encoding != Encoding::Other {
        return Ok(Some(now.text));
    }
    match document.stamp {
        Some(_) => Err(
            "somebody else has changed it on disk, in an encoding that only the editor \
             reads; ask the user to load it again",
        ),
        None => Ok(document.saved.clone()),
    }
}
