//! The life of a call: announced, permitted, run, answered.
//!
//! Invariants: a call is removed and answered in one step; it runs only after it was permitted. A
//! call that is incomplete when its turn is cancelled is answered once it is complete, and never
//! runs.

use serde_json::{Map, Value as Json};

use crate::model::Model;
use crate::spine::asker::{Asker, ToolRequest};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{EditorEffect, HostEffect, Level};
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::{Progress, ToolPermission, ToolResult};
use crate::tools::{Use, not_offered};
use acp::ToolStatus;

impl Model {
    pub(crate) fn tool_begun(
        &mut self,
        id: ToolUseId,
        session: SessionKey,
        name: String,
        _fx: &mut Effects,
    ) {
        if self.tools.get(id).is_some() || self.conversation.session(session).is_none() {
            return;
        }
        self.tools.begin(id, session, name);
        if !self.takes_tool_uses(session) {
            self.tools.drop_incomplete(id);
        } else if self.find_twin(id).is_none() {
            self.show_use(id, ToolStatus::Pending, None);
        }
    }

    pub(crate) fn tool_used(
        &mut self,
        id: ToolUseId,
        session: SessionKey,
        name: String,
        arguments: Result<Map<String, Json>, String>,
        fx: &mut Effects,
    ) {
        let known = self.tools.get(id);
        if known.is_some_and(Use::is_complete) {
            return fx.push(log(Level::Error, format!("tool call {} came twice", id.0)));
        }
        let (arguments, wrong) = match arguments {
            Ok(arguments) => (arguments, None),
            Err(words) => (Map::new(), Some(words)),
        };
        let is_dropped = self.tools.complete(id, session, name, arguments);
        self.meet_announced(id);
        if let Some(words) = wrong {
            // The host has answered it.
            self.forget_use(id, ToolStatus::Failed, &ToolResult::error(words));
            return;
        }
        if is_dropped || !self.takes_tool_uses(session) {
            return self.cancel_use(id, fx);
        }
        self.show_use(id, ToolStatus::Pending, None);
        if let Some(session) = self.conversation.session_mut(session) {
            session.speaks();
        }
        let spec = self.tools.get(id).and_then(|of| of.spec.clone());
        match spec.filter(|spec| spec.is_on) {
            None => self.stop_use(id, not_offered(), fx),
            Some(spec) => match spec.permission {
                ToolPermission::Allow => self.run_use(id, fx),
                ToolPermission::Ask => self.ask_for_use(id, fx),
                ToolPermission::Reject => {
                    let text = "The user's configuration rejects calls of this tool: go on \
                                without it.";
                    self.stop_use(id, ToolResult::error(text), fx);
                }
            },
        }
    }

    /// Returns whether a session's agent may call tools now.
    fn takes_tool_uses(&self, key: SessionKey) -> bool {
        let session = self.conversation.session(key);
        session.is_some_and(|session| !session.is_cancelled())
            && self.conversation.serving(key).is_some()
    }

    /// Runs the handler of a permitted call.
    pub(super) fn run_use(&mut self, id: ToolUseId, fx: &mut Effects) {
        if let Err(answer) = self.tools.start(id) {
            return self.stop_use(id, answer, fx);
        }
        let Some(of) = self.tools.get(id) else {
            return;
        };
        let (session, name) = (of.session, of.name.clone());
        let arguments = of.arguments.clone().unwrap_or_default();
        let state = self.conversation.session(session);
        let roots = state.map(|state| state.folders().roots);
        self.show_use(id, ToolStatus::InProgress, None);
        self.tools.mind_the_clock(id, fx);
        fx.push(EditorEffect::RunTool {
            id,
            session,
            name,
            roots: roots.unwrap_or_default(),
            arguments,
        });
    }

    pub(crate) fn tool_progressed(&mut self, id: ToolUseId, progress: Progress, fx: &mut Effects) {
        if self.tools.report(id, progress.clone(), fx) {
            self.show_progress(id, &progress);
        }
    }

    pub(crate) fn tool_done(&mut self, id: ToolUseId, result: ToolResult, fx: &mut Effects) {
        if self.tools.running(id).is_none() {
            let line = format!("tool call {} is over already", id.0);
            return fx.push(log(Level::Debug, line));
        }
        let status = match result.is_error {
            true => ToolStatus::Failed,
            false => ToolStatus::Completed,
        };
        self.end_use(id, status, result, fx);
    }

    pub(crate) fn tool_given_up(&mut self, id: ToolUseId, fx: &mut Effects) {
        match self.tools.get(id) {
            Some(of) if of.is_complete() => {
                if of.is_asking() {
                    let text = format!(
                        "The agent gave up this call before you answered: {}.",
                        of.headline()
                    );
                    fx.notice(of.session, Level::Info, text);
                }
                self.cancel_use(id, fx);
            }
            Some(_) => drop(self.forget_use(id, ToolStatus::Cancelled, &cancelled())),
            None => {}
        }
    }

    /// Ends all calls of a session; returns whether it had any.
    pub(crate) fn cancel_uses(&mut self, key: SessionKey, fx: &mut Effects) -> bool {
        let ids = self.tools.calls_of(key);
        for &id in &ids {
            if self.tools.get(id).is_some_and(Use::is_complete) {
                self.cancel_use(id, fx);
            } else if self.tools.drop_incomplete(id) {
                self.show_use(id, ToolStatus::Cancelled, None);
            }
        }
        !ids.is_empty()
    }

    /// Ends a call that was cancelled.
    fn cancel_use(&mut self, id: ToolUseId, fx: &mut Effects) {
        self.tools.halt(id, fx);
        self.end_use(id, ToolStatus::Cancelled, cancelled(), fx);
    }

    /// Ends a call that failed.
    pub(super) fn stop_use(&mut self, id: ToolUseId, result: ToolResult, fx: &mut Effects) {
        self.tools.halt(id, fx);
        self.end_use(id, ToolStatus::Failed, result, fx);
    }

    /// Removes a call and answers it; withdraws its pending requests.
    fn end_use(&mut self, id: ToolUseId, status: ToolStatus, result: ToolResult, fx: &mut Effects) {
        for step in self.forget_use(id, status, &result) {
            let asker = Asker::Tool(id, step);
            let _ =
                self.withdraw_question(&asker, fx) || self.workspace.file_taken_back(&asker, fx);
        }
        fx.push(HostEffect::AnswerTool { id, result });
    }

    /// Shows how a call ended, and removes it; returns its pending requests.
    fn forget_use(
        &mut self,
        id: ToolUseId,
        status: ToolStatus,
        result: &ToolResult,
    ) -> Vec<ToolRequest> {
        // The status already says that it was cancelled.
        let result = (status != ToolStatus::Cancelled).then_some(result);
        self.show_use(id, status, result);
        self.tools.end(id)
    }
}

/// Returns the answer to a cancelled call, which the caller usually ignores.
fn cancelled() -> ToolResult {
    ToolResult::error("The call was cancelled.")
}
