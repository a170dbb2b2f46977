//! Frames: the changes of the screen since the last frame, composed when the editor asks for one.
//!
//! Invariant: the editor is woken once per batch of changes, and at most one frame is pending; a
//! blocked editor costs no memory except the transcript itself.

use std::collections::BTreeMap;

use crate::conversation::clock::Clock;
use crate::conversation::session::{Phase, Session};
use crate::model::Model;
use crate::render::ops::Ops;
use crate::spine::cx::Effects;
use crate::spine::effect::EditorEffect;
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::spine::view::{Frame, Group, Patch};
use crate::text::plural;
use crate::view::Composing;
use crate::view::chat::Means;
use crate::view::statusline::phase_group;
use acp::Purpose;

impl Model {
    /// Requests highlights, and wakes the editor if something is dirty and it was not woken yet.
    pub(crate) fn settle_view(&mut self, fx: &mut Effects) {
        self.request_colours(fx);
        if self.view.may_wake() && self.is_dirty() {
            self.view.wake(fx);
        }
    }

    fn is_dirty(&self) -> bool {
        self.questions.is_dirty()
            || self.workspace.is_dirty()
            || self.conversation.is_dirty()
            || self.view.is_dirty()
            || self.terminals.is_dirty()
            || self
                .conversation
                .sessions()
                .any(|(key, session)| !self.view.has_title(key, &self.chat_title(key, session)))
    }

    /// Composes the frame that the editor requested, or a slice of it.
    pub(crate) fn compose(&mut self, fx: &mut Effects) {
        let begun = self.view.take_frame();
        self.refresh_feedback();
        if begun.is_none() {
            self.refresh_terminals();
        }
        let mut composing = begun.unwrap_or_else(|| self.view.new_frame());
        let more = self.render_slice(&mut composing);
        if more && composing.budget.is_left() {
            return self.view.keep_frame(composing);
        }
        let mut frame = Frame {
            is_behind: more,
            ..Frame::default()
        };
        self.chat_patches(composing.chats, &mut frame);
        self.view.frame_is_complete();
        self.conversation.plan_patches(&mut frame);
        self.conversation.queue_patches(&mut frame);
        self.title_patches(&mut frame);
        self.conversation.attached_patches(&mut frame);
        self.follow_patches(&mut frame);
        self.question_patch(&mut frame);
        if self.workspace.is_dirty() {
            self.view.touch_list();
        }
        self.list_patches(&mut frame);
        frame.patches.extend(self.terminals.shown_patches());
        frame.patches.extend(self.workspace.review_patches());
        fx.push(EditorEffect::Frame(frame));
    }

    /// Renders a slice of the first dirty chat; returns whether more is left.
    fn render_slice(&mut self, composing: &mut Composing) -> bool {
        let is_dirty = |session: &Session| !session.transcript().dirty().is_empty();
        let mut sessions = self.conversation.sessions_mut();
        let Some((key, session)) = sessions.find(|(_, session)| is_dirty(session)) else {
            return false;
        };
        let (transcript, cwd) = session.transcript_in_cwd();
        let mut means = Means {
            budget: &mut composing.budget,
            ops: composing.chats.entry(key).or_default(),
            cwd,
        };
        let chat = self.view.chat_mut(key);
        chat.render(transcript, &mut means) || sessions.any(|(_, session)| is_dirty(session))
    }

    fn chat_patches(&mut self, mut chats: BTreeMap<SessionKey, Ops>, frame: &mut Frame) {
        for (key, _) in self.conversation.sessions() {
            let mut ops = chats.remove(&key).unwrap_or_default();
            if let Some(folds) = self.view.take_folds(key) {
                ops.set_folds(folds);
            }
            let ops = ops.into_ops();
            if !ops.is_empty() {
                frame.patches.push(Patch::Chat {
                    session: key,
                    life: self.view.chat_mut(key).life(),
                    ops,
                });
            }
        }
    }

    fn question_patch(&mut self, frame: &mut Frame) {
        let is_rendered = self.question_is_rendered();
        let is_better = self.view.question_is_rendered(is_rendered);
        let asked = self.questions.front().map(|question| question.session);
        let asker = asked.and_then(|session| self.asker_name(session));
        let is_renamed = self.view.question_is_of(asker);
        if self.questions.is_dirty() || is_better || is_renamed {
            self.questions.show();
            frame.patches.push(Patch::Question(self.question_view()));
        }
    }

    fn question_is_rendered(&self) -> bool {
        let open = self.questions.front();
        let tool = open.and_then(|open| self.conversation.question_call(open));
        tool.is_none_or(|tool| tool.texts.is_rendered())
    }

    fn title_patches(&mut self, frame: &mut Frame) {
        for (key, session) in self.conversation.sessions() {
            let title = self.chat_title(key, session);
            frame.patches.extend(self.view.title_patch(key, title));
        }
    }

    /// Returns the parts of the chat's window bar, the most important first: parts that do not fit
    /// are dropped from the end.
    fn chat_title(&self, key: SessionKey, session: &Session) -> Vec<(OneLine, Group)> {
        let phase = self.phase(key);
        let word = match phase {
            _ if session.needs_login() => "log in",
            _ if session.is_cancelled() => "cancelling",
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Running => "working",
            Phase::Waiting => "waiting for you",
            Phase::Dead => "not running",
        };
        let clock = session.clock().filter(|_| phase == Phase::Running);
        let word = match clock.and_then(Clock::ran) {
            Some(time) => format!("{word} {time}"),
            None => word.to_owned(),
        };
        let mut title = vec![
            (session.name().into(), "AcpTitle"),
            (word.into(), phase_group(phase)),
        ];
        let working = self.conversation.working_subagents(key);
        if working > 0 && phase == Phase::Idle {
            let text = format!("{} working", plural(working, "sub-agent"));
            title.push((text.into(), "AcpToolRunning"));
        } else if phase == Phase::Idle && self.shows_work(key) {
            title.push(("works on its own".into(), "AcpToolRunning"));
        }
        if let Some(time) = clock.and_then(Clock::silence) {
            title.push((format!("silent for {time}").into(), "AcpWarning"));
        }
        let (files, hunks) = self.workspace.reviews().counts(key);
        if files > 0 {
            let text = match (files, hunks) {
                (_, 0) => plural(files, "changed file"),
                (1, _) => plural(hunks, "hunk"),
                _ => format!("{} in {}", plural(hunks, "hunk"), plural(files, "file")),
            };
            title.push((text.into(), "AcpSign"));
        }
        if let Some(mode) = session.options().of(Purpose::Mode) {
            title.push((mode.shown().into(), "AcpMode"));
        }
        match session.queue().len() {
            0 => {}
            waiting => title.push((
                format!("{} queued", plural(waiting, "prompt")).into(),
                "AcpDim",
            )),
        }
        if let Some(follow) = self.view.follow_mode(key).title() {
            title.push((follow.into(), "AcpAgentMark"));
        }
        if let Some((done, all)) = session.transcript().plan_progress() {
            title.push((format!("plan {done}/{all}").into(), "AcpDim"));
        }
        if let Some(usage) = session.usage() {
            let parts = usage.title().into_iter();
            title.extend(parts.map(|(text, group)| (text.into(), group)));
        }
        if let Some(model) = session.options().of(Purpose::Model) {
            title.push((model.shown().into(), "AcpDim"));
        }
        if let Some(name) = session.title() {
            title.push((name.into(), "AcpDim"));
        }
        title
    }
}
