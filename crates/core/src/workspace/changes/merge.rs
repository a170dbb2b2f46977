//! Merges the text on disk into a buffer, both for reported changes and for changes an agent's
//! write finds on disk.
//!
//! Invariant: the user's edits are merged, never replaced. A document's saved text becomes the text
//! on disk only after the editor has made the edits.

use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Level, Save};
use crate::spine::event::{DiskFile, EditDone, SaveError, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::text::Text;
use crate::text::diff::{Conflict, Merge, diff, merge};
use crate::text::format::Encoding;
use crate::workspace::Workspace;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{BufferEdit, Kind};

/// A merge of the text on disk into a buffer.
#[derive(Debug)]
pub(crate) struct DiskMerge {
    pub buf: BufId,
    pub disk: DiskFile,
    /// The session whose agent wrote the text on disk.
    pub by: Option<SessionKey>,
    /// The expected text on disk.
    base: Text,
    /// The text of the buffer.
    ours: Text,
    theirs: Text,
    /// The base of the next merge: the text on disk. Of a file that is gone, it is what the buffer
    /// has kept, so that this is not added again when the file comes back.
    next_base: Text,
    conflicts: Vec<Conflict>,
    /// The stamp of the buffer's saved file when the merge began.
    over: Option<Stamp>,
}

/// A buffer that receives an agent's change on disk, and its text before.
pub type Landed = Option<(BufId, Text)>;

impl DiskMerge {
    /// Merges the changes from `base` to `theirs` into a buffer; `theirs` is the text of `disk`. If
    /// the agent has written that again, it has changed nothing.
    pub fn plan(
        buf: BufId,
        document: &Document,
        disk: DiskFile,
        (base, theirs): (Text, Text),
        by: Option<SessionKey>,
    ) -> (Self, BufferEdit) {
        let ours = &document.text;
        let from = match document.is_written_again(by, &theirs) {
            true => &theirs,
            false => &base,
        };
        let Merge { edits, conflicts } = merge(from, ours, &theirs);
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
        let mut next_base = theirs.clone();
        if disk.content.is_none() {
            next_base.clone_from(&base);
            advance(&mut next_base, ours, &merged);
        }
        let edit = BufferEdit::new(buf, document, edits, save);
        let over = document.stamp;
        let merge = Self {
            buf,
            disk,
            by,
            base,
            ours: ours.clone(),
            theirs,
            next_base,
            conflicts,
            over,
        };
        (merge, edit)
    }

    /// Gives a buffer this text, in which unsaved lines are beside those of a file that is back:
    /// `theirs` is the text of `disk`.
    pub fn plan_beside(
        buf: BufId,
        document: &Document,
        disk: DiskFile,
        theirs: Text,
        text: &Text,
    ) -> (Self, BufferEdit) {
        let format = disk.content.as_ref().map(|content| document.reads(content));
        let save = Save::Merged {
            stamp: disk.stamp,
            is_clean: false,
            format: format.map_or(document.state.format, |content| content.format),
        };
        let edit = BufferEdit::new(buf, document, diff(&document.text, text), save);
        let merge = Self {
            buf,
            disk,
            by: None,
            base: Text::default(),
            ours: document.text.clone(),
            next_base: theirs.clone(),
            theirs,
            conflicts: Vec::new(),
            over: document.stamp,
        };
        (merge, edit)
    }

    /// Returns the buffer and its text before the merge, if an agent wrote the text on disk.
    pub fn lands(&self) -> Landed {
        self.by.map(|_| (self.buf, self.ours.clone()))
    }

    /// Returns whether the user and the disk changed the same lines differently.
    pub fn has_conflicts(&self) -> bool {
        !self.conflicts.is_empty()
    }
}

impl Workspace {
    /// Records a merge that the editor has made. Returns `false` if the disk or the buffer's file
    /// has changed since and must be read again.
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
        let DiskMerge {
            buf,
            disk,
            next_base,
            conflicts,
            ..
        } = merge;
        let is_agents = merge.by.is_some();
        let mut conflicts = conflicts;
        if let Some(review) = self.reviews.get_mut(&path) {
            if !was_saved {
                review.file_changed(&merge.base, &merge.theirs, is_agents);
            }
            if is_agents {
                review.withdraw_reverted(&mut conflicts, &merge.theirs);
            }
        }
        self.offer_disk(&path, conflicts, disk.content.is_none(), fx);
        if !was_saved {
            // This holds even if the disk has changed again: the buffer contains its previous text.
            self.documents.set_disk(buf, next_base, disk.stamp);
        }
        !is_stale && !was_saved
    }

    /// Carries out the user's choices about hunks that a merge has brought into a buffer.
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

    /// Offers the user the lines on disk that conflict with the user's own changes.
    pub(super) fn offer_disk(
        &mut self,
        path: &std::path::Path,
        conflicts: Vec<Conflict>,
        is_gone: bool,
        fx: &mut Effects,
    ) {
        if conflicts.is_empty() {
            return;
        }
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let is_news = review.tell_of_offers();
        for conflict in conflicts {
            match is_gone {
                true => review.offer_deletion(conflict),
                false => review.offer(conflict),
            }
        }
        self.reviews.touch(path);
        if is_news {
            let path = path.display();
            let text = match is_gone {
                true => format!(
                    "{path} was deleted on disk, but you have changed it: your text stays, and \
                     `:Acp review` shows the deletion."
                ),
                false => {
                    format!("{path}: lines you changed also changed on disk; see `:Acp review`.")
                }
            };
            fx.push(notify(Level::Warn, text));
        }
    }

    /// Updates the text a session has seen after its agent changed the file on disk. That text is
    /// the base of the next write, but not of a write sent earlier.
    pub fn agent_has_left(
        &mut self,
        session: SessionKey,
        real: &std::path::Path,
        before: &Text,
        after: &Text,
    ) {
        let is_write = |kind| matches!(kind, Kind::Write(_));
        if self.fileops.may_have(real, is_write) {
            return;
        }
        let session = self.sessions.get_mut(&session);
        if let Some(seen) = session.and_then(|session| session.seen.get_mut(real)) {
            advance(seen, before, after);
        }
    }
}

/// Applies the change from `before` to `after` to another text, except where it conflicts.
fn advance(text: &mut Text, before: &Text, after: &Text) {
    if text == before {
        text.clone_from(after);
    } else {
        let edits = merge(before, text, after).edits;
        text.apply_all(&edits);
    }
}

/// Returns the text on disk under a buffer, as the buffer would read it; `None` when the file does
/// not exist.
///
/// # Errors The file has changed, and only Neovim can read it.
pub fn known_on_disk(document: &Document, disk: &DiskFile) -> Result<Option<Text>, &'static str> {
    let Some(content) = &disk.content else {
        return Ok(None);
    };
    if document.stamp.is_some() && document.stamp == disk.stamp {
        // The file is unchanged. Bytes that are not text look different in a buffer.
        return Ok(document.saved.clone());
    }
    let now = document.reads(content);
    let (encoding, found) = (document.state.format.encoding, now.format.encoding);
    // Bytes that are not UTF-8 are read as latin-1.
    let is_known = match encoding {
        Encoding::Utf8 | Encoding::Latin1 => true,
        Encoding::Named(_) => found != Encoding::Latin1,
        Encoding::Other => found == encoding,
    };
    if is_known {
        return Ok(Some(now.text));
    }
    match (document.stamp, encoding) {
        (None, Encoding::Other) => Ok(document.saved.clone()),
        _ => Err(
            "another program has changed it on disk, in an encoding that only the editor \
             reads; ask the user to load it again",
        ),
    }
}
