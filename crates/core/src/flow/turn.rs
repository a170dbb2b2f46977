//! Prompt turns: the prompt is sent, updates arrive, a stop reason ends the turn.
//!
//! Invariant: a turn ends only by the response to its own request, or because its agent ends.

use serde_json::Value;

use crate::conversation::agent::Call;
use crate::conversation::queue::When;
use crate::conversation::session::{Phase, Session};
use crate::model::Model;
use crate::questions::Question;
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, EditorEffect, HostEffect, Level};
use crate::spine::event::Prompt;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::pending::{Token, reply};
use crate::tools;
use crate::workspace::window;
use acp::client::{self, PromptBlock};
use acp::{Content, Role, RpcError, SessionId, StopReason, ToolCallId, Update, rpc};

/// The end of a turn.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    Stopped(StopReason),
    /// The agent has answered the prompt with an error.
    Failed,
    AgentExited,
}

impl Model {
    pub(crate) fn prompt(&mut self, key: SessionKey, prompt: Prompt, when: When, fx: &mut Effects) {
        let mut prompt = prompt;
        self.conversation.take_attached(key, &mut prompt);
        if prompt.is_empty() {
            fx.push(notify(
                Level::Warn,
                "The prompt is empty: nothing was sent.",
            ));
            return;
        }
        if when == When::Steer {
            match self.steer(key, prompt, fx) {
                None => return,
                Some(left) => prompt = left,
            }
        }
        let Some(session) = self.conversation.session(key) else {
            return;
        };
        let cannot_steer = when == When::Steer && !self.conversation.can_steer(session);
        let name = session.name().to_owned();
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        session.queue_mut().push(prompt, when);
        let is_busy = session.is_in_turn();
        let needs_login = session.needs_login();
        if self.conversation.serving(key).is_none() {
            self.connect(key, fx);
        } else if needs_login {
            self.try_again(key, fx);
        } else if is_busy {
            match when {
                // Not in the transcript: a notice there would interrupt the agent's message.
                When::Steer if cannot_steer => {
                    let text =
                        format!("Queued: the agent \"{name}\" accepts no prompts during a turn.");
                    fx.push(notify(Level::Info, text));
                }
                When::InTurn | When::Steer => fx.push(EditorEffect::Queued { session: key }),
                When::AtOnce => self.cancel(key, fx),
            }
        }
        self.next_prompt(key, fx);
    }

    /// Begins the turn of the first queued prompt, if the session is ready.
    pub(crate) fn next_prompt(&mut self, key: SessionKey, fx: &mut Effects) {
        let is_served = self.conversation.serving(key).is_some();
        let session = self.conversation.session_mut(key);
        if !session.is_some_and(|session| is_served && session.begin_turn()) {
            return;
        }
        self.view.turn_begins(key);
        self.conversation.wait_a_second(key, fx);
        self.workspace.set_in_turn(key, true);
        self.workspace.ask_checkpoint(key, fx);
        fx.push(emit(Announcement::TurnStarted { session: key }));
    }

    /// Counts a second of a turn. While the user is asked or a command runs, the agent is not silent.
    pub(crate) fn second_passed(
        &mut self,
        key: SessionKey,
        token: Token<reply::Timer>,
        fx: &mut Effects,
    ) {
        let is_excused = self.phase(key) == Phase::Waiting || self.terminals.running(key) > 0;
        self.conversation.second_passed(key, token, is_excused, fx);
        if self.conversation.has_run(key, window::PATIENCE) {
            self.workspace.checkpoint_is_late(key, fx);
        }
    }

    /// Sends the prompt that waited for a checkpoint and its contents.
    ///
    /// If its agent was asked to end, the prompt waits for that end.
    pub(crate) fn send_prompt(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(agent) = self.conversation.serving(key) else {
            return;
        };
        if !self.has_contents(agent, key, fx) {
            return;
        }
        self.conversation.ask_chosen_option(key, None, fx);
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let Some((mut prompt, id)) = session.take_outgoing() else {
            return;
        };
        let shown = prompt.shown(session.cwd());
        // A command is sent alone: an agent may ignore the rest of such a prompt.
        let is_command = session.is_command(&prompt);
        self.workspace.turn_begins(key, &shown);
        let feedback = (!is_command).then(|| self.take_reports(key)).flatten();
        let takes = self.conversation.takes(agent);
        self.conversation.tell_left_out(key, &prompt, takes);
        let past = (!is_command)
            .then(|| self.conversation.take_past(key, takes.embedded))
            .flatten();
        let mut rest = prompt.text.clone();
        rest.push_str(feedback.as_deref().unwrap_or_default());
        if let Some(PromptBlock::Text(text)) = &past {
            rest.push_str(text);
        }
        if let Some(session) = self.conversation.session_mut(key) {
            session.expect_echo(rest);
            session.keep_outgoing(&prompt, feedback.as_deref(), past.is_some());
        }
        // The user's text comes first: agents look there for a command and for a title.
        let last = feedback.map(PromptBlock::Text);
        let all = std::mem::take(&mut prompt).into_blocks(takes);
        let all = all.into_iter().chain(last).chain(past);
        let params = client::prompt(&id, all.collect());
        let Some(request) = self
            .conversation
            .request(agent, Call::Prompt(key), params, fx)
        else {
            return;
        };
        if let Some(session) = self.conversation.session_mut(key) {
            session.prompt_sent(request);
        }
        self.workspace.open_window(key);
    }

    /// Takes the report of rejected changes, after the one that the agent refused.
    fn take_reports(&mut self, key: SessionKey) -> Option<String> {
        let session = self.conversation.session_mut(key);
        let refused = session.and_then(Session::take_refused_report);
        let reports = refused.into_iter().chain(self.take_feedback(key));
        reports.reduce(|first, next| format!("{first}\n{next}"))
    }

    pub(crate) fn cancel(&mut self, key: SessionKey, fx: &mut Effects) {
        // The agent receives the cancel first: otherwise it would continue with the calls' results.
        let mut answers = Effects::default();
        let had_uses = self.cancel_uses(key, &mut answers);
        self.cancel_turn(key, had_uses, fx);
        fx.append(&mut answers);
    }

    fn cancel_turn(&mut self, key: SessionKey, had_uses: bool, fx: &mut Effects) {
        let is_its = |question: &Question| question.session == key;
        let had_questions = self.questions.iter().any(is_its);
        let works = self.shows_work(key);
        self.cancel_questions(key, fx);
        let mut of_subagents = self.conversation.subagent_cancels(key);
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let served = session.agent().zip(session.id().cloned());
        let is_in_turn = session.is_in_turn();
        let Some((agent, id)) = served.clone().filter(|_| is_in_turn) else {
            let had_work = had_questions || !of_subagents.is_empty() || works;
            if had_work {
                session.cancel_tools_inside();
            }
            if let Some((agent, id)) = served.filter(|_| works || had_questions) {
                let line = rpc::notification(client::CANCEL, client::cancel(&id));
                fx.push(HostEffect::Send { agent, line });
            }
            if works {
                let text = "The agent works outside a turn and was asked to stop. If it goes on, `:Acp \
                            stop` ends it.";
                fx.push(notify(Level::Info, text));
            }
            fx.append(&mut of_subagents);
            if !self.conversation.cancel_login(key, fx) && !had_uses && !had_work {
                fx.push(notify(Level::Info, "Nothing is running in this chat."));
            }
            return;
        };
        if session.outgoing().is_some() {
            let text = "Cancelled before the prompt was sent.";
            session.notice(Level::Warn, text);
            fx.append(&mut of_subagents);
            self.finish_turn(key, &TurnEnd::Stopped(StopReason::Cancelled), fx);
            return self.next_prompt(key, fx);
        }
        let line = rpc::notification(client::CANCEL, client::cancel(&id));
        fx.push(HostEffect::Send { agent, line });
        // An agent may spare its sub-agents. They end later than it, so it does not go on with what
        // they return.
        fx.append(&mut of_subagents);
        if let Some(request) = session.cancel_turn() {
            self.conversation.limit_cancel(key, request, fx);
        }
        self.terminals.kill_turn(key, fx);
    }

    /// Reports that the agent has not answered the cancel of a turn.
    pub(crate) fn cancel_is_late(&mut self, key: SessionKey, request: u64, fx: &mut Effects) {
        let session = self.conversation.session(key);
        if session.is_some_and(|session| session.awaited() == Some(request)) {
            let text = "The agent has not answered the cancel, so its turn goes on: `:Acp stop` ends \
                        the agent, and `:Acp restart` continues with a new one.";
            fx.notice(key, Level::Warn, text);
            fx.push(notify(Level::Warn, text));
        }
    }

    pub(crate) fn prompt_answered(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        request: u64,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        if !session.is_served_by(agent) || session.awaited() != Some(request) {
            return;
        }
        let spoke = session.has_spoken() || self.workspace.has_changed_in_turn(key);
        let cancelled = session.is_cancelled();
        let is_unheeded = session.is_unheeded() && !cancelled;
        // The plan is settled before the notice about the end of the turn.
        session.transcript_mut().settle_plan();
        let mut refused = None;
        let end = match result {
            Ok(value) => {
                let reason = client::stop_reason(&value);
                if reason == StopReason::EndTurn && is_unheeded {
                    // Codex keeps such words in its history, and acts on them with the next prompt.
                    let text = "The turn ended right after the agent had accepted this prompt: if it \
                                does not act on it with your next one, send it again.";
                    session.notice(Level::Warn, text);
                } else if let Some(text) = stop_notice(&reason, spoke) {
                    session.notice(Level::Warn, text);
                }
                TurnEnd::Stopped(reason)
            }
            Err(_) if cancelled => {
                session.notice(Level::Warn, "Cancelled.");
                TurnEnd::Stopped(StopReason::Cancelled)
            }
            Err(error) if error.code == rpc::AUTH_REQUIRED => {
                refused = Some(error);
                TurnEnd::Failed
            }
            Err(error) => {
                let text = format!("The agent reports an error: {error}.");
                session.notice(Level::Error, text);
                TurnEnd::Failed
            }
        };
        self.finish_turn(key, &end, fx);
        if let Some(error) = refused {
            self.login_needed(agent, key, &error, fx);
        } else if let Some(session) = self.conversation.session_mut(key) {
            session.prompt_accepted();
        }
        self.next_prompt(key, fx);
    }

    pub(crate) fn finish_turn(&mut self, key: SessionKey, end: &TurnEnd, fx: &mut Effects) {
        let has_subagents = self.conversation.working_subagents(key) > 0;
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let ended = session.end_turn(end.name());
        // No report of a call that is still open need follow; a later one is shown all the same.
        let is_cut = match end {
            TurnEnd::Stopped(reason) => *reason == StopReason::Cancelled,
            TurnEnd::Failed => true,
            // Its calls end with it.
            TurnEnd::AgentExited => false,
        };
        // One that was not sent has no calls.
        if ended.was_sent && (is_cut || ended.is_cancelled) && !has_subagents {
            let is_asked = |id: &ToolCallId| self.questions.are_about(key, id);
            session.transcript_mut().cancel_tools_but(is_asked);
        }
        if ended.was_sent {
            session.forget_outside_calls();
        }
        self.workspace.set_in_turn(key, false);
        // What it changes is the agent's, also after the turn.
        self.settle_outside(key, fx);
        self.view.turn_ends(key);
        self.conversation.touch_feedback();
        self.tools.tools_turn_ends(key);
        self.terminals.end_turn(key, ended.is_cancelled, fx);
        // The host was told of a turn whose prompt was not sent, too.
        self.workspace.ask_checkpoint(key, fx);
        fx.push(emit(Announcement::TurnEnded {
            session: key,
            stop_reason: end.name().to_owned(),
        }));
    }

    /// Opens a window when an agent begins to work outside a turn: a prompt that was sent has its own.
    pub(crate) fn settle_outside(&mut self, key: SessionKey, fx: &mut Effects) {
        let session = self.conversation.session(key);
        let is_outside = session.is_some_and(|session| session.awaited().is_none());
        if is_outside && self.has_work_outside(key) {
            self.conversation.saw_work(key, fx);
            self.workspace.work_begins(key, fx);
        }
    }

    /// Closes the window of work outside a turn once nothing shows that it goes on.
    pub(crate) fn quiet_passed(&mut self, key: SessionKey, fx: &mut Effects) {
        let was_quiet = self.conversation.was_quiet(key);
        if !self.workspace.works_outside(key) {
            return;
        }
        if self.has_work_outside(key) {
            // It has worked until now.
            self.conversation.saw_work(key, fx);
        } else if !was_quiet || !self.workspace.work_ends(key, fx) {
            self.conversation.wait_for_quiet(key, fx);
        }
    }

    fn has_work_outside(&self, key: SessionKey) -> bool {
        self.shows_work(key) || self.conversation.working_subagents(key) > 0
    }

    /// Returns whether a session's agent shows that it works outside a turn, its sub-agents aside.
    pub(crate) fn shows_work(&self, key: SessionKey) -> bool {
        let is_asked = |id: &ToolCallId| self.questions.are_about(key, id);
        let session = self.conversation.session(key);
        session.is_some_and(|session| session.shows_work(is_asked))
    }

    pub(crate) fn session_update(
        &mut self,
        agent: AgentKey,
        id: SessionId,
        update: Update,
        fx: &mut Effects,
    ) {
        let Some((id, update)) = self.conversation.translate_update(agent, id, update) else {
            return;
        };
        if let Some(key) = self.conversation.session_of(agent, &id) {
            self.apply_update(key, update, fx);
            self.settle_outside(key, fx);
            return;
        }
        self.conversation.hold_update(agent, id, update, fx);
    }

    /// Applies the updates that arrived before the session's id was known.
    pub(crate) fn take_early_updates(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        id: &SessionId,
        fx: &mut Effects,
    ) {
        for update in self.conversation.take_held_updates(agent, id) {
            self.apply_update(key, update, fx);
        }
    }

    fn apply_update(&mut self, key: SessionKey, update: Update, fx: &mut Effects) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let mode = update.mode_of_gemini();
        let mode = mode.filter(|mode| session.options().has_mode(mode));
        let mode = mode.map(|mode| Update::Mode(mode.to_owned()));
        let Some(update) = session.hold(mode.unwrap_or(update)) else {
            return;
        };
        let is_output = match &update {
            // Some agents echo the prompt.
            Update::Chunk { role, content, .. } => *role != Role::User && !is_blank(content),
            Update::ToolCall(_)
            | Update::Plan(_)
            | Update::Compaction(_)
            | Update::Unknown { .. } => true,
            _ => false,
        };
        if is_output {
            session.writes(match &update {
                Update::Chunk { message, .. } => message.as_deref(),
                _ => None,
            });
        }
        match update {
            Update::ToolCall(mut patch) => {
                tools::keep_apart(&mut patch);
                let id = patch.id.clone();
                self.workspace.tool_named(key, &patch);
                self.merge_tool(key, patch);
                if let Some(session) = self.conversation.session_mut(key) {
                    session.note_outside_call(&id);
                }
                self.tool_proposes(key, &id);
                self.follow_tool(key, &id);
                self.consult_again(key, &id, fx);
            }
            Update::Plan(entries) => {
                self.conversation.plan(key, entries);
            }
            Update::Commands(_) => {
                session.apply(update);
                fx.push(EditorEffect::Candidates { session: key });
            }
            update => session.apply(update),
        }
    }
}

impl TurnEnd {
    /// Returns its name in events, records and the API.
    fn name(&self) -> &str {
        match self {
            TurnEnd::Stopped(StopReason::EndTurn) => "end_turn",
            TurnEnd::Stopped(StopReason::MaxTokens) => "max_tokens",
            TurnEnd::Stopped(StopReason::MaxTurnRequests) => "max_turn_requests",
            TurnEnd::Stopped(StopReason::Refusal) => "refusal",
            TurnEnd::Stopped(StopReason::Cancelled) => "cancelled",
            TurnEnd::Stopped(StopReason::Unknown(name)) => name,
            TurnEnd::Failed => "error",
            TurnEnd::AgentExited => "agent_exited",
        }
    }
}

fn is_blank(content: &Content) -> bool {
    matches!(content, Content::Text(text) if text.trim().is_empty())
}

/// Returns the notice for a stop reason; a normal end needs none unless the agent sent no output
/// and changed nothing.
fn stop_notice(reason: &StopReason, spoke: bool) -> Option<String> {
    Some(match reason {
        StopReason::EndTurn if spoke => return None,
        StopReason::EndTurn => {
            "The agent ended its turn and said nothing; `:Acp log` may say why.".into()
        }
        StopReason::MaxTokens => "Stopped: the model's token limit is reached (max_tokens).".into(),
        StopReason::MaxTurnRequests => {
            "Stopped: the agent made as many requests as one turn may (max_turn_requests).".into()
        }
        StopReason::Refusal => {
            "The agent refuses to go on (refusal); this prompt is not part of its history.".into()
        }
        StopReason::Cancelled => "Cancelled.".into(),
        StopReason::Unknown(name) => format!("Stopped: {name}."),
    })
}
