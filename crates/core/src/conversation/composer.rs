//! The attachments of a session's next prompt, until it is sent.
//!
//! Invariant: an attachment is sent with the next prompt unless the user removes it; a prompt waits
//! until its attachments are fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::conversation::attachment::Takes;
use crate::conversation::complete::Files;
use crate::conversation::session::Session;
use crate::spine::attachment::{Attachment, Content};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::Prompt;
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::spine::view::{Frame, Patch};
use crate::text::plural;

/// The files of projects, by their folders.
#[derive(Debug, Default)]
pub struct Listings {
    known: BTreeMap<PathBuf, Arc<Files>>,
    /// Folders with a pending listing.
    asked: BTreeSet<PathBuf>,
}

impl Listings {
    pub fn get(&self, folder: &Path) -> Option<Arc<Files>> {
        self.known.get(folder).cloned()
    }
}

/// The attachments of a session's next prompt.
#[derive(Debug, Default)]
pub struct Attached {
    pub(crate) items: Vec<Attachment>,
    pub(crate) is_dirty: bool,
}

impl Attached {
    pub fn items(&self) -> &[Attachment] {
        &self.items
    }

    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Adds the items that are not yet attached.
    fn extend(&mut self, items: Vec<Attachment>) {
        for item in items {
            if !self.items.contains(&item) {
                self.items.push(item);
            }
        }
        self.is_dirty = true;
    }

    fn take(&mut self) -> Vec<Attachment> {
        self.is_dirty |= !self.items.is_empty();
        std::mem::take(&mut self.items)
    }
}

impl Conversation {
    /// Attaches items to the next prompt.
    pub(crate) fn attach(&mut self, key: SessionKey, items: Vec<Attachment>) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.attached.extend(items);
        }
    }

    /// Returns whether images can be attached. If the agent's capabilities are still unknown, they
    /// are checked when the prompt is sent.
    pub(crate) fn takes_images(&self, session: &Session) -> bool {
        let agent = session.agent.and_then(|agent| self.agents.get(&agent));
        let info = agent.and_then(|agent| agent.info.as_ref());
        info.is_none_or(|info| info.image)
    }

    /// Attaches the image in a file, or the one in the clipboard.
    pub(crate) fn attach_image(
        &mut self,
        key: SessionKey,
        path: Option<PathBuf>,
        fx: &mut Effects,
    ) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        if !self.takes_images(session) {
            let text = format!(
                "The agent \"{}\" takes no images: nothing was attached.",
                session.spec.name
            );
            return fx.push(notify(Level::Warn, text));
        }
        let id = self.jobs.content();
        fx.push(Effect::Host(HostEffect::ReadImage {
            token: self.jobs.images.add(id),
            path: path.clone(),
        }));
        let image = Content::Asked(id);
        self.attach(key, vec![Attachment::Image { path, image }]);
    }

    /// Removes one attachment, or all.
    pub(crate) fn detach(&mut self, key: SessionKey, which: Option<usize>, fx: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        let attached = &mut session.attached;
        let count = attached.items.len();
        match which {
            Some(index) if index < count => {
                attached.items.remove(index);
                attached.is_dirty = true;
            }
            None if count > 0 => drop(attached.take()),
            _ => {
                let text = match count {
                    0 => "Nothing is attached.".to_owned(),
                    _ => format!("There is no such attachment: there are {count}."),
                };
                fx.push(notify(Level::Info, text));
            }
        }
    }

    /// Moves the pending attachments into a prompt.
    pub(crate) fn take_attached(&mut self, key: SessionKey, prompt: &mut Prompt) {
        if let Some(session) = self.sessions.get_mut(&key) {
            let attached = session.attached.take();
            prompt.attached.splice(0..0, attached);
        }
    }

    /// Reports the attachments that are left out of the outgoing prompt.
    pub(crate) fn tell_left_out(&mut self, key: SessionKey, prompt: &Prompt, takes: Takes) {
        let is_image = |item: &&Attachment| matches!(item, Attachment::Image { .. });
        let images = prompt.along().filter(is_image).count();
        if images > 0 && !takes.images {
            let text = format!(
                "The agent takes no images: {} did not go along.",
                plural(images, "image")
            );
            self.notice(key, Level::Warn, text);
        }
    }

    /// Lists the files of a session's project, unless a listing is pending.
    pub(crate) fn list_files(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let folder = session.spec.cwd.clone();
        if self.listings.asked.insert(folder.clone()) {
            fx.push(Effect::Host(HostEffect::ListFiles { folder }));
        }
    }

    pub(crate) fn files_listed(&mut self, folder: PathBuf, paths: Vec<Box<str>>, fx: &mut Effects) {
        self.listings.asked.remove(&folder);
        let is_there = |session: &Session| session.spec.cwd == folder;
        let sessions = self.sessions.iter();
        let sessions: Vec<SessionKey> = sessions
            .filter(|(_, session)| is_there(session))
            .map(|(key, _)| *key)
            .collect();
        let files = Files { paths };
        let is_new = self
            .listings
            .known
            .get(&folder)
            .is_none_or(|known| **known != files);
        if sessions.is_empty() {
            // No session works there.
            self.listings.known.remove(&folder);
        } else if is_new {
            self.listings.known.insert(folder, Arc::new(files));
            for session in sessions {
                fx.push(Effect::Editor(EditorEffect::Candidates { session }));
            }
        }
    }

    /// Adds patches for the attachment lists that have changed.
    pub(crate) fn attached_patches(&mut self, frame: &mut Frame) {
        for (key, session) in &mut self.sessions {
            if std::mem::take(&mut session.attached.is_dirty) {
                frame.patches.push(Patch::Attached {
                    session: *key,
                    labels: session.labels().collect(),
                });
            }
        }
    }
}

impl Session {
    /// Returns the names of the attachments.
    pub fn labels(&self) -> impl Iterator<Item = OneLine> {
        let items = self.attached.items.iter();
        items.map(|item| item.label(&self.spec.cwd))
    }
}
