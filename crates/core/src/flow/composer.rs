//! The attachments of a session's next prompt, until it is sent.
//!
//! Invariant: an attachment is sent with the next prompt unless the user removes it; a prompt waits
//! until its attachments are fetched.

use crate::conversation::attachment::{Fetch, Takes, whole};
use crate::conversation::session::{Session, TurnStage};
use crate::model::Model;
use crate::spine::attachment::{Attachment, Image};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, Prompt};
use crate::spine::ids::{AgentKey, ContentId, SessionKey};

impl Model {
    /// Fetches the current content that the outgoing prompt names; returns `false` while some of it
    /// is pending.
    pub(crate) fn has_contents(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        fx: &mut Effects,
    ) -> bool {
        let info = self.conversation.agents.get(&agent);
        let takes = Takes::of(info.and_then(|agent| agent.info.as_ref()));
        let wanted: Vec<(usize, Fetch)> =
            match self.conversation.sessions.get(&key).and_then(outgoing) {
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
                    let found = self.workspace.documents().find(path);
                    found.map(|(_, open)| whole(&open.text, open.state.format))
                }
                Fetch::Diff(_) | Fetch::Image(_) => None,
            };
            let is_here = text.is_some();
            let session = self.conversation.sessions.get_mut(&key);
            let item = session.and_then(outgoing_mut);
            let Some(item) = item.and_then(|prompt| prompt.along_mut().nth(at)) else {
                continue;
            };
            if is_here {
                item.set_text(text);
                continue;
            }
            let id = self.conversation.jobs.content();
            item.ask(id);
            fx.push(Effect::Host(match fetch {
                Fetch::File(path) => HostEffect::ReadDisk {
                    token: self.conversation.jobs.reads.add(id),
                    path,
                },
                Fetch::Diff(folder) => HostEffect::Diff {
                    token: self.conversation.jobs.diffs.add(id),
                    folder,
                },
                Fetch::Image(path) => HostEffect::ReadImage {
                    token: self.conversation.jobs.images.add(id),
                    path: Some(path),
                },
            }));
        }
        let jobs = &self.conversation.jobs;
        let prompt = self
            .conversation
            .sessions
            .get_mut(&key)
            .and_then(outgoing_mut);
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
                for session in self.conversation.sessions.values_mut() {
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
        for (key, session) in &mut self.conversation.sessions {
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
}

/// Returns the outgoing prompt of a session.
fn outgoing(session: &Session) -> Option<&Prompt> {
    match &session.turn.as_ref()?.stage {
        TurnStage::Checkpoint(prompt) => Some(prompt),
        TurnStage::Answer(_) => None,
    }
}

fn outgoing_mut(session: &mut Session) -> Option<&mut Prompt> {
    match &mut session.turn.as_mut()?.stage {
        TurnStage::Checkpoint(prompt) => Some(prompt),
        TurnStage::Answer(_) => None,
    }
}
