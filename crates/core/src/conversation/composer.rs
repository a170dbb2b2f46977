//! The attachments of a session's next prompt, until it is sent.
//!
//! Invariant: an attachment is sent with the next prompt unless the user removes it; a prompt waits
//! until its attachments are fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::conversation::attachment::{Fetch, Takes, whole};
use crate::conversation::complete::Files;
use crate::conversation::session::Session;
use crate::spine::attachment::{Attachment, Content, Image};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, HostEffect, Level};
use crate::spine::event::{DiskFile, Prompt, ReadError};
use crate::spine::ids::{AgentKey, ContentId, SessionKey};
use crate::spine::oneline::OneLine;
use crate::spine::pending::{Token, reply};
use crate::spine::view::{Frame, Patch};
use crate::text::plural;

/// The files of projects, by their folders.
#[derive(Debug, Default)]
pub struct Listings {
    known: BTreeMap<PathBuf, Arc<Files>>,
    /// Folders with a pending listing.
    asked: BTreeSet<PathBuf>,
}

/// The attachments of a session's next prompt.
#[derive(Debug, Default)]
pub struct Attached {
    items: Vec<Attachment>,
    is_dirty: bool,
}

impl Attached {
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

    /// Returns the kinds of content that an agent accepts in a prompt.
    pub(crate) fn takes(&self, agent: AgentKey) -> Takes {
        Takes::of(self.info(agent))
    }

    /// Returns whether images can be attached. If the agent's capabilities are still unknown, they
    /// are checked when the prompt is sent.
    pub(crate) fn takes_images(&self, session: &Session) -> bool {
        let info = session.agent.and_then(|agent| self.info(agent));
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
                "The agent \"{}\" accepts no images: nothing was attached.",
                session.spec.name
            );
            return fx.push(notify(Level::Warn, text));
        }
        let id = self.jobs.content();
        fx.push(HostEffect::ReadImage {
            token: self.jobs.images.add(id),
            path: path.clone(),
        });
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
                let text = match which {
                    Some(index) if count > 0 => format!("There is no attachment {}.", index + 1),
                    _ => "Nothing is attached.".to_owned(),
                };
                fx.push(notify(Level::Info, text));
            }
        }
    }

    /// Moves the pending attachments into a prompt. One that its text also names is sent once.
    pub(crate) fn take_attached(&mut self, key: SessionKey, prompt: &mut Prompt) {
        if let Some(session) = self.sessions.get_mut(&key) {
            let attached = session.attached.take();
            prompt.attached.splice(0..0, attached);
        }
        let Prompt {
            attached,
            mentioned,
            ..
        } = prompt;
        mentioned.retain(|item| !attached.iter().any(|other| other.is_same(item)));
    }

    /// Reports the attachments that are left out of the outgoing prompt.
    pub(crate) fn tell_left_out(&mut self, key: SessionKey, prompt: &Prompt, takes: Takes) {
        let is_image = |item: &&Attachment| matches!(item, Attachment::Image { .. });
        let images = prompt.along().filter(is_image).count();
        if images > 0 && !takes.images {
            let text = format!(
                "The agent accepts no images: {} left out.",
                plural(images, "image")
            );
            self.notice(key, Level::Warn, text);
        }
    }

    /// Returns the contents to fetch for the outgoing prompt, by the attachments' places.
    pub(crate) fn wanted(&self, agent: AgentKey, key: SessionKey) -> Vec<(usize, Fetch)> {
        let takes = self.takes(agent);
        let prompt = self.sessions.get(&key).and_then(Session::outgoing);
        let along = prompt.into_iter().flat_map(Prompt::along).enumerate();
        along
            .filter_map(|(at, item)| Some((at, item.wants(takes)?)))
            .collect()
    }

    /// Fetches the content of an attachment of the outgoing prompt, unless its text is here.
    pub(crate) fn fetch(
        &mut self,
        key: SessionKey,
        at: usize,
        fetch: Fetch,
        text: Option<String>,
        fx: &mut Effects,
    ) {
        let prompt = self.sessions.get_mut(&key).and_then(Session::outgoing_mut);
        let Some(item) = prompt.and_then(|prompt| prompt.along_mut().nth(at)) else {
            return;
        };
        if text.is_some() {
            return item.set_text(text);
        }
        let id = self.jobs.content();
        item.ask(id);
        fx.push(match fetch {
            Fetch::File(path) => HostEffect::ReadDisk {
                token: self.jobs.reads.add(id),
                path,
            },
            Fetch::Diff(folder) => HostEffect::Diff {
                token: self.jobs.diffs.add(id),
                folder,
            },
            Fetch::Image(path) => HostEffect::ReadImage {
                token: self.jobs.images.add(id),
                path: Some(path),
            },
        });
    }

    /// Returns whether no content of the outgoing prompt is pending.
    pub(crate) fn has_contents(&mut self, key: SessionKey) -> bool {
        let prompt = self.sessions.get_mut(&key).and_then(Session::outgoing_mut);
        let mut is_complete = true;
        for item in prompt.into_iter().flat_map(Prompt::along_mut) {
            match item.asked() {
                Some(id) if self.jobs.is_fetching(id) => is_complete = false,
                // Its fetch is no longer pending.
                Some(_) => item.give_up(),
                None => {}
            }
        }
        is_complete
    }

    /// Handles the content of a file; returns the session whose prompt waited for it.
    pub(crate) fn content_read(
        &mut self,
        token: Token<reply::DiskRead>,
        result: Result<DiskFile, ReadError>,
    ) -> Option<SessionKey> {
        let id = self.jobs.reads.take(token)?;
        let content = result.ok().and_then(|file| file.content);
        let text = content.map(|content| whole(&content.text, content.format));
        self.content_came(id, |item| item.set_text(text))
    }

    /// Handles a diff; returns the session whose prompt waited for it.
    pub(crate) fn diff_read(
        &mut self,
        token: Token<reply::DiffRead>,
        result: Result<String, String>,
        fx: &mut Effects,
    ) -> Option<SessionKey> {
        let id = self.jobs.diffs.take(token)?;
        if let Err(why) = &result {
            fx.push(notify(Level::Warn, why.clone()));
        }
        self.content_came(id, |item| item.set_text(result.ok()))
    }

    /// Handles an image; returns the session whose prompt waited for it.
    pub(crate) fn image_read(
        &mut self,
        token: Token<reply::ImageRead>,
        result: Result<Image, String>,
        fx: &mut Effects,
    ) -> Option<SessionKey> {
        let id = self.jobs.images.take(token)?;
        match result {
            Ok(image) => self.content_came(id, |item| item.set_image(image)),
            Err(why) => {
                fx.push(notify(Level::Warn, why));
                for session in self.sessions.values_mut() {
                    let attached = &mut session.attached;
                    attached.items.retain(|item| item.asked() != Some(id));
                    attached.is_dirty = true;
                }
                self.content_came(id, Attachment::give_up)
            }
        }
    }

    /// Stores fetched content in the attachment that waits for it, in a prompt or in the composer;
    /// returns the session whose outgoing prompt waited for it.
    fn content_came(
        &mut self,
        id: ContentId,
        take: impl FnOnce(&mut Attachment),
    ) -> Option<SessionKey> {
        let waits = |item: &&mut Attachment| item.asked() == Some(id);
        for (key, session) in &mut self.sessions {
            session.attached.is_dirty |= !session.attached.items.is_empty();
            let attached = session.attached.items.iter_mut();
            let queued = session.queue.iter_mut().flat_map(Prompt::along_mut);
            if let Some(item) = attached.chain(queued).find(waits) {
                take(item);
                return None;
            }
            let outgoing = session.outgoing_mut().into_iter();
            if let Some(item) = outgoing.flat_map(Prompt::along_mut).find(waits) {
                take(item);
                return Some(*key);
            }
        }
        None
    }

    /// Returns the files of a project, once they are known.
    pub(crate) fn files_in(&self, folder: &Path) -> Option<Arc<Files>> {
        self.listings.known.get(folder).cloned()
    }

    /// Lists the files of a session's project, unless a listing is pending.
    pub(crate) fn list_files(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let folder = session.spec.cwd.clone();
        if self.listings.asked.insert(folder.clone()) {
            fx.push(HostEffect::ListFiles { folder });
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
                fx.push(EditorEffect::Candidates { session });
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
