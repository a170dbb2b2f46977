//! The attachments of a session's next prompt, until it is sent.
//!
//! Invariant: an attachment is sent with the next prompt unless the user removes it; a prompt waits
//! until its attachments are fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::attachment::{Attachment, Content, Fetch, Image, Takes, whole};
use crate::conversation::complete::Files;
use crate::model::{Model, Session, Stage};
use crate::render::view::{Frame, Patch};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, Prompt};
use crate::spine::ids::{AgentKey, ContentId, SessionKey};
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
    items: Vec<Attachment>,
    is_dirty: bool,
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

impl Model {
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

    /// Fetches the current content that the outgoing prompt names; returns `false` while some of it
    /// is pending.
    pub(crate) fn has_contents(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        fx: &mut Effects,
    ) -> bool {
        let info = self.agents.get(&agent);
        let takes = Takes::of(info.and_then(|agent| agent.info.as_ref()));
        let wanted: Vec<(usize, Fetch)> = match self.sessions.get(&key).and_then(outgoing) {
            Some(prompt) => {
                let wanted = prompt.along().enumerate();
                wanted
                    .filter_map(|(at, item)| Some((at, item.wants(takes)?)))
                    .collect()
            }
            None => return true,
        };
        for (at, fetch) in wanted {
            let text = match &fetch {
                Fetch::File(path) => {
                    let found = self.workspace.documents.find(path);
                    found.map(|(_, open)| whole(&open.text, open.state.format))
                }
                Fetch::Diff(_) | Fetch::Image(_) => None,
            };
            let is_here = text.is_some();
            let session = self.sessions.get_mut(&key);
            let item = session.and_then(outgoing_mut);
            let Some(item) = item.and_then(|prompt| prompt.along_mut().nth(at)) else {
                continue;
            };
            if is_here {
                item.set_text(text);
                continue;
            }
            let id = self.jobs.content();
            item.ask(id);
            fx.push(Effect::Host(match fetch {
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
            }));
        }
        let jobs = &self.jobs;
        let prompt = self.sessions.get_mut(&key).and_then(outgoing_mut);
        let mut is_complete = true;
        for item in prompt.into_iter().flat_map(Prompt::along_mut) {
            match item.asked() {
                Some(id) if jobs.is_fetching(id) => is_complete = false,
                // Its fetch is no longer pending.
                Some(_) => item.give_up(),
                None => {}
            }
        }
        is_complete
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

    pub(crate) fn content_read(
        &mut self,
        id: ContentId,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let content = result.ok().and_then(|file| file.content);
        let text = content.map(|content| whole(&content.text, content.format));
        self.content_came(id, fx, |item| item.set_text(text));
    }

    pub(crate) fn diff_read(
        &mut self,
        id: ContentId,
        result: Result<String, String>,
        fx: &mut Effects,
    ) {
        if let Err(why) = &result {
            fx.push(notify(Level::Warn, why.clone()));
        }
        self.content_came(id, fx, |item| item.set_text(result.ok()));
    }

    pub(crate) fn image_read(
        &mut self,
        id: ContentId,
        result: Result<Image, String>,
        fx: &mut Effects,
    ) {
        match result {
            Ok(image) => self.content_came(id, fx, |item| item.set_image(image)),
            Err(why) => {
                fx.push(notify(Level::Warn, why));
                for session in self.sessions.values_mut() {
                    let attached = &mut session.attached;
                    attached.items.retain(|item| item.asked() != Some(id));
                    attached.is_dirty = true;
                }
                self.content_came(id, fx, Attachment::give_up);
            }
        }
    }

    /// Stores fetched content in the attachment that waits for it, in a prompt or in the composer,
    /// and sends a prompt that waited for it.
    fn content_came(
        &mut self,
        id: ContentId,
        fx: &mut Effects,
        take: impl FnOnce(&mut Attachment),
    ) {
        let waits = |item: &&mut Attachment| item.asked() == Some(id);
        let mut sender = None;
        let mut take = Some(take);
        for (key, session) in &mut self.sessions {
            session.attached.is_dirty |= !session.attached.items.is_empty();
            let attached = session.attached.items.iter_mut();
            let queued = session.queue.iter_mut().flat_map(Prompt::along_mut);
            let waiting = attached.chain(queued).find(waits);
            if let Some(item) = waiting
                && let Some(take) = take.take()
            {
                take(item);
                break;
            }
            let outgoing = outgoing_mut(session).into_iter();
            let waiting = outgoing.flat_map(Prompt::along_mut).find(waits);
            if let Some(item) = waiting
                && let Some(take) = take.take()
            {
                take(item);
                sender = Some(*key);
                break;
            }
        }
        if let Some(key) = sender {
            self.send_prompt(key, fx);
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
                    labels: session.attached_labels(),
                });
            }
        }
    }
}

impl Session {
    /// Returns the names of the attachments.
    pub fn attached_labels(&self) -> Vec<String> {
        let items = self.attached.items.iter();
        items.map(|item| item.label(&self.spec.cwd)).collect()
    }
}

/// Returns the outgoing prompt of a session.
fn outgoing(session: &Session) -> Option<&Prompt> {
    match &session.turn.as_ref()?.stage {
        Stage::Checkpoint(prompt) => Some(prompt),
        Stage::Answer(_) => None,
    }
}

fn outgoing_mut(session: &mut Session) -> Option<&mut Prompt> {
    match &mut session.turn.as_mut()?.stage {
        Stage::Checkpoint(prompt) => Some(prompt),
        Stage::Answer(_) => None,
    }
}
