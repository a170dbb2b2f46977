//! Starts, initializes and ends agents' processes, and opens their sessions.
//!
//! Invariant: once a process has ended, no session, permission or turn waits for it.

use serde_json::Value;

use crate::conversation::agent::{AgentState, Call};
use crate::conversation::queue::tell_unsent;
use crate::conversation::session::Session;
use crate::flow::turn::TurnEnd;
use crate::model::Model;
use crate::spine::cx::{Effects, emit, log, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::RpcError;

impl Model {
    pub(crate) fn open(&mut self, key: SessionKey, session: Session, fx: &mut Effects) {
        let folders = session.folders();
        if !self.conversation.add_session(key, session) {
            return;
        }
        self.workspace.open_session(key, folders, fx);
        self.view.session_opened(key);
        let is_open = self.conversation.is_open_elsewhere(key);
        if !is_open && !self.conversation.find_kept(key, fx) {
            self.connect(key, fx);
        }
    }

    /// Assigns a process to a session: a running one with the same command, or a new one.
    pub(crate) fn connect(&mut self, key: SessionKey, fx: &mut Effects) {
        self.leave(key, fx);
        if let Some(agent) = self.conversation.assign(key, fx) {
            self.ask_for_session(agent, key, fx);
        }
    }

    pub(crate) fn agent_failed(&mut self, agent: AgentKey, why: String, fx: &mut Effects) {
        fx.push(notify(Level::Error, why.clone()));
        self.bury(agent, "not started", Level::Error, why, fx);
    }

    pub(crate) fn agent_exited(
        &mut self,
        agent: AgentKey,
        status: String,
        stderr: &[String],
        fx: &mut Effects,
    ) {
        let Some(gone) = self.conversation.agent(agent) else {
            return;
        };
        let name = gone.spec().name.clone();
        if gone.state() == AgentState::Leaving {
            let text = format!("The agent \"{name}\" has ended ({status}).");
            self.bury(agent, &status, Level::Info, text, fx);
            return;
        }
        let mut text = format!("The agent \"{name}\" ended unexpectedly: {status}.");
        let skipped = stderr.len().saturating_sub(STDERR_SHOWN);
        for line in stderr.iter().skip(skipped) {
            text.push_str("\n  ");
            text.push_str(line);
        }
        text.push_str("\nThe next prompt starts it again; `:Acp log` has the rest.");
        let short = format!("The agent \"{name}\" ended unexpectedly: {status}.");
        fx.push(notify(Level::Error, short));
        self.bury(agent, &status, Level::Error, text, fx);
    }

    /// Ends everything that waited for a process, and reports the prompts still in the queue.
    fn bury(
        &mut self,
        agent: AgentKey,
        status: &str,
        level: Level,
        text: String,
        fx: &mut Effects,
    ) {
        for key in self.end_sessions(agent, status, level, &text, fx) {
            self.conversation.tell_waiting(key);
        }
    }

    /// Ends everything that waited for a process, and returns its sessions.
    fn end_sessions(
        &mut self,
        agent: AgentKey,
        status: &str,
        level: Level,
        text: &str,
        fx: &mut Effects,
    ) -> Vec<SessionKey> {
        self.conversation.fail_calls(agent, fx);
        let Some(gone) = self.conversation.forget_agent(agent) else {
            return Vec::new();
        };
        self.questions.forget_agent(agent);
        let keys = self.conversation.sessions_of(agent);
        for &key in &keys {
            self.cancel_questions(key, fx);
            let Some(session) = self.conversation.session_mut(key) else {
                continue;
            };
            session.transcript_mut().cancel_tools();
            session.notice(level, text.to_owned());
            self.leave(key, fx);
            fx.push(emit(Announcement::AgentExited {
                session: key,
                agent: gone.spec().name.clone(),
                status: status.to_owned(),
            }));
        }
        keys
    }

    /// Cancels everything a session expects from a process that has stopped serving it.
    pub(crate) fn leave(&mut self, key: SessionKey, fx: &mut Effects) {
        self.cancel_questions(key, fx);
        self.terminals.end_session(key, fx);
        self.tools.shut_out_of_tools(key, fx);
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        session.leave_agent();
        if session.is_in_turn() {
            self.finish_turn(key, &TurnEnd::AgentExited, fx);
        }
        if !self.workspace.work_ends(key, fx) {
            self.conversation.wait_for_quiet(key, fx);
        }
    }

    /// Answers an agent's questions and asks it to end; its sessions are notified when it has
    /// ended.
    pub(crate) fn shut_down(&mut self, agent: AgentKey, fx: &mut Effects) {
        for key in self.conversation.sessions_of(agent) {
            self.cancel_questions(key, fx);
            self.terminals.end_session(key, fx);
        }
        self.conversation.dismiss(agent, fx);
    }

    pub(crate) fn stop(&mut self, key: SessionKey, fx: &mut Effects) {
        match self.conversation.session(key).and_then(Session::agent) {
            Some(agent) => self.shut_down(agent, fx),
            None => fx.push(notify(
                Level::Info,
                "This chat's agent is not running; a prompt starts it.",
            )),
        }
    }

    pub(crate) fn restart(&mut self, key: SessionKey, fx: &mut Effects) {
        if let Some(agent) = self.conversation.session(key).and_then(Session::agent) {
            self.shut_down(agent, fx);
            // The old process ends without supervision; its sessions are notified now.
            let text = "The agent is started again.";
            for other in self.end_sessions(agent, "restarted", Level::Info, text, fx) {
                // The queue of this session is sent now.
                if other != key {
                    self.conversation.tell_waiting(other);
                }
            }
        }
        if let Some(session) = self.conversation.session_mut(key) {
            session.allow_resuming();
        }
        self.connect(key, fx);
    }

    pub(crate) fn close(&mut self, key: SessionKey, fx: &mut Effects) {
        self.cancel_questions(key, fx);
        self.terminals.forget_session(key, fx);
        self.questions.forget_session(key);
        self.tools.forget_tools(key, fx);
        let session = self.conversation.session(key);
        for queued in session.map_or(Vec::new(), |session| session.queue().infos()) {
            self.conversation.remember(key, &queued.text, fx);
        }
        let Some(mut session) = self.conversation.remove_session(key) else {
            return;
        };
        self.conversation.end_history(key, &mut session, fx);
        self.view.session_closed(key);
        tell_unsent(session.queue(), fx);
        self.workspace.close_session(key, fx);
        if let Some(agent) = session.agent() {
            self.conversation.abandon(agent, key, &session, fx);
            if self.conversation.sessions_of(agent).is_empty() {
                self.shut_down(agent, fx);
            }
        }
    }

    pub(crate) fn quit(&mut self, fx: &mut Effects) {
        let agents: Vec<AgentKey> = self.conversation.agents().map(|(key, _)| key).collect();
        for agent in agents {
            self.shut_down(agent, fx);
        }
    }

    /// Writes all remaining entries of all sessions, and the changes that wait to be reapplied,
    /// because Neovim quits.
    pub fn farewell(&mut self, fx: &mut Effects) {
        self.workspace.reapply_all(fx);
        self.conversation.finish_history(fx);
    }

    pub(crate) fn initialized(
        &mut self,
        agent: AgentKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        match self.conversation.initialized(agent, result) {
            Ok(keys) => {
                for key in keys {
                    self.ask_for_session(agent, key, fx);
                }
            }
            Err(text) => self.give_up(agent, text, fx),
        }
    }

    /// Ends an unusable connection, and reports why.
    fn give_up(&mut self, agent: AgentKey, text: String, fx: &mut Effects) {
        self.shut_down(agent, fx);
        fx.push(notify(Level::Error, text.clone()));
        self.bury(agent, "unusable", Level::Error, text, fx);
    }

    /// Handles a request whose timeout has expired.
    ///
    /// If the request concerns one session of several, the others continue.
    pub(crate) fn control_timeout(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) {
        let Some(call) = self.conversation.pending_call(agent, id) else {
            return;
        };
        if let Call::SetOption {
            session, change, ..
        } = call
        {
            self.conversation.cancel_request_of(agent, id, fx);
            let seconds = seconds(self.conversation.limits().control_ms);
            let why = format!("no answer for {seconds} seconds");
            self.conversation
                .option_answered(agent, session, change, Err(why), fx);
            // It may have waited for a value of the config.
            return self.next_prompt(session, fx);
        }
        if let Call::Steer(session) = call {
            self.conversation.cancel_request_of(agent, id, fx);
            return self.steer_is_late(session, id, fx);
        }
        if let Some(key) = call.opens()
            && let Some(session) = self.conversation.session_mut(key)
            && session.is_telling()
        {
            return self.conversation.limit(agent, id, fx);
        }
        let name = self.conversation.agent(agent);
        let name = name.map(|agent| agent.spec().name.clone());
        let text = format!(
            "The agent \"{}\" has not answered {} for {} seconds",
            name.unwrap_or_default(),
            call.method(),
            seconds(self.conversation.limits().control_ms)
        );
        if !call.is_for_all()
            || call
                .opens()
                .is_some_and(|key| self.conversation.serves_others(agent, key))
        {
            return self.call_failed(agent, id, &text, fx);
        }
        self.conversation.cancel_request_of(agent, id, fx);
        let text = format!(
            "{text} and was stopped. `:Acp log` shows what it printed; a prompt starts it again. \
             If it needs longer, as for a download, raise `request_timeout` in the configuration."
        );
        self.give_up(agent, text, fx);
    }

    /// Starts a separate process for a session that the process it was to share has refused.
    pub(crate) fn part(&mut self, key: SessionKey, why: &str, fx: &mut Effects) {
        fx.push(log(Level::Warn, why));
        self.conversation.part(key);
        self.connect(key, fx);
    }
}

/// Number of trailing stderr lines that the transcript shows.
const STDERR_SHOWN: usize = 20;

/// Returns a time in seconds as the user writes it in the configuration: `90`, `0.5`.
fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        (ms / 1000).to_string()
    } else {
        format!("{:.1}", ms as f64 / 1000.0)
    }
}
