//! Accepts changes that the user commits: reads the repository's versions of files under review.
//!
//! Invariant: only hunks that have reached the index or HEAD since the last version, and not by an
//! agent, are accepted.

use super::FileReview;
use crate::spine::event::DiskText;
use crate::spine::ids::SessionKey;
use crate::spine::project::Committed;
use crate::text::Text;
use crate::workspace::Workspace;
use crate::workspace::ledger::Which;

impl Workspace {
    /// Applies new versions of files from the repository.
    pub(crate) fn committed(&mut self, files: Vec<Committed>) {
        for mut version in files {
            let Committed {
                path, index, head, ..
            } = &mut version;
            for content in [index, head].into_iter().flatten() {
                self.read_as_known(path, content);
            }
            let by = self.agent_at(&version.path);
            let name = self.reviews.name_of(&version.path, &version.path);
            if let Some(file) = self.reviews.get_mut(&name)
                && file.take_version(version, by)
            {
                self.reviews.touch(&name);
            }
        }
    }
}

impl FileReview {
    /// Records the repository's version; returns whether it accepts any hunk.
    fn take_version(&mut self, version: Committed, by: Option<SessionKey>) -> bool {
        let is_first = version.is_first;
        // A version from before the review ended and began again says nothing about what followed.
        let known = self.repository.replace(version).filter(|_| !is_first);
        if known.is_none() && std::mem::take(&mut self.is_changed_since) {
            return self.is_left_as_committed();
        }
        let (Some(known), Some(now), None) = (known, self.repository.clone(), by) else {
            // The first version is only recorded for comparison; an agent's commit accepts nothing.
            return false;
        };
        let index = self.accept_version(known.index.as_ref(), now.index.as_ref());
        index | self.accept_version(known.head.as_ref(), now.head.as_ref())
    }

    /// Accepts all if another program, such as `git checkout`, has left the repository's version.
    fn is_left_as_committed(&mut self) -> bool {
        let is_left = self.is_pending()
            && self.repository.iter().any(|version| {
                let mut versions = [&version.head, &version.index].into_iter().flatten();
                versions.any(|version| version.text == *self.ledger.current())
            });
        if is_left {
            self.accept(&Which::All);
        }
        is_left
    }

    fn accept_version(&mut self, before: Option<&DiskText>, after: Option<&DiskText>) -> bool {
        let text = |version: &DiskText| -> Text { version.text.clone() };
        if before == after || !self.is_pending() {
            return false;
        }
        let is_all = match after {
            Some(after) => !self.now.is_missing() && after.text == *self.ledger.current(),
            None => self.now.is_missing(),
        };
        let is_open = |file: &Self| file.ledger.hunks().iter().any(|h| h.conflict.is_some());
        if is_all && !is_open(self) {
            self.accept(&Which::All);
            return true;
        }
        let Some(after) = after else {
            return false;
        };
        let before = before.map(text);
        let found = self.ledger.accept_landed(before.as_ref(), &after.text);
        if found && self.ledger.hunks().is_empty() {
            self.accept_content();
        }
        found
    }
}
