//! Accepts changes that the user commits: reads the repository's versions of files under review.
//!
//! Invariant: only hunks that have reached the index or HEAD since the last version, and not by an
//! agent, are accepted.

use super::FileReview;
use crate::spine::cx::Effects;
use crate::spine::effect::Turns;
use crate::spine::event::DiskText;
use crate::spine::project::Committed;
use crate::text::Text;
use crate::text::format::Format;
use crate::workspace::Workspace;
use crate::workspace::ledger::Which;

impl Workspace {
    /// Applies new versions of files from the repository.
    pub(crate) fn committed(&mut self, files: Vec<Committed>, turns: Turns, fx: &mut Effects) {
        let mut paths = Vec::with_capacity(files.len());
        for mut version in files {
            let Committed {
                path, index, head, ..
            } = &mut version;
            for content in [index, head].into_iter().flatten() {
                self.read_as_known(path, content);
            }
            let is_agents = turns == Turns::Running || self.agent_at(&version.path).is_some();
            let path = version.path.clone();
            if let Some(file) = self.reviews.get_mut(&path) {
                let was_uncommitted = file.is_uncommitted();
                if file.take_version(version, is_agents) || file.is_uncommitted() != was_uncommitted
                {
                    self.reviews.touch(&path);
                }
            }
            paths.push(path);
        }
        self.versions_are_known(&paths, fx);
    }
}

impl FileReview {
    /// Records the repository's version; returns whether it accepts any hunk.
    fn take_version(&mut self, version: Committed, is_agents: bool) -> bool {
        let is_first = version.is_first;
        // A version from before the review ended and began again says nothing about what followed.
        let known = self.repository.replace(version).filter(|_| !is_first);
        if known.is_none() && std::mem::take(&mut self.may_be_committed) {
            return self.accept_committed();
        }
        let (Some(known), Some(now), false) = (known, self.repository.clone(), is_agents) else {
            // The first version is only recorded for comparison; an agent's commit accepts nothing.
            return false;
        };
        let index = self.accept_version(known.index.as_ref(), now.index.as_ref());
        let head = self.accept_version(known.head.as_ref(), now.head.as_ref());
        // One that was unknown may be the agent's.
        let is_mode = known.is_executable.is_some() && known.is_executable != now.is_executable;
        index | head | (is_mode && self.accept_mode(&now))
    }

    /// Accepts all if the index has got the file's mode, and has its content.
    fn accept_mode(&mut self, now: &Committed) -> bool {
        // Git knows no other permission bits.
        let is_executable = self.now.mode.map(|mode| mode & 0o100 != 0);
        let is_in_index = is_executable == now.is_executable && self.is_version(now.index.as_ref());
        is_in_index && self.is_pending() && self.accept_every()
    }

    /// Accepts all if the repository has the file as it is: the user has committed or added it, or
    /// another program, such as `git checkout`, has left it so.
    fn accept_committed(&mut self) -> bool {
        self.is_pending() && self.is_in_repository() == Some(true) && self.accept_every()
    }

    /// Accepts all, unless a conflict is to be decided.
    fn accept_every(&mut self) -> bool {
        let mut hunks = self.ledger.hunks().iter();
        if hunks.any(|hunk| hunk.conflict.is_some()) {
            return false;
        }
        self.accept(&Which::All);
        true
    }

    /// Returns whether HEAD or the index has the file as it is; `None` if neither was read.
    fn is_in_repository(&self) -> Option<bool> {
        let version = self.repository.as_ref()?;
        let mut versions = [&version.head, &version.index].into_iter();
        Some(versions.any(|version| self.is_version(version.as_ref())))
    }

    /// Returns whether the repository is known to have the file otherwise.
    fn is_uncommitted(&self) -> bool {
        self.is_left_uncommitted(self.ledger.current())
    }

    /// Returns whether the repository is known to have another file than one with the text that is left
    /// of it.
    pub(super) fn is_left_uncommitted(&self, left: &Text) -> bool {
        let is_left = |version: &Option<DiskText>| self.is_version_with(version.as_ref(), left);
        let known = self.repository.as_ref();
        known.is_some_and(|known| !is_left(&known.head) && !is_left(&known.index))
    }

    fn is_version(&self, version: Option<&DiskText>) -> bool {
        self.is_version_with(version, self.ledger.current())
    }

    fn is_version_with(&self, version: Option<&DiskText>, text: &Text) -> bool {
        match (version, self.now.link()) {
            // Git has the target of a link as its content.
            (Some(version), Some(to)) => {
                version.text == Format::decode(to.as_os_str().as_encoded_bytes()).1
            }
            (Some(version), None) => !self.now.is_missing() && version.text == *text,
            (None, _) => self.now.is_missing(),
        }
    }

    fn accept_version(&mut self, before: Option<&DiskText>, after: Option<&DiskText>) -> bool {
        let text = |version: &DiskText| -> Text { version.text.clone() };
        if before == after || !self.is_pending() {
            return false;
        }
        if self.is_version(after) && self.accept_every() {
            return true;
        }
        let Some(after) = after else {
            return false;
        };
        let before = before.map(text);
        let base = self.ledger.base().clone();
        let found = self.ledger.accept_landed(before.as_ref(), &after.text);
        self.turns_accept(&base);
        if found && self.ledger.hunks().is_empty() {
            self.accept_content();
        }
        found
    }
}
