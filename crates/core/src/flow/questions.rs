//! Questions of agents: finds their sessions and turns, and carries out the outcomes.
//!
//! Invariant: every request is answered once, including requests of a session without an id yet and
//! of an agent that is exiting.

use std::path::PathBuf;

use crate::conversation::agent::PermissionRequest;
use crate::conversation::questions::ElicitationRequest;
use crate::form::page::Page;
use crate::form::{Ask, Form};
use crate::model::Model;
use crate::questions::elicitation::Elicitation;
use crate::questions::permission::{Decision, Permission};
use crate::questions::rules::{Asked, Check, Facts};
use crate::questions::{Answer, Outcome, Outcomes};
use crate::render::toolcall::{ToolCall, spell_codes};
use crate::render::toolview;
use crate::spine::asker::{Asker, was_cancelled};
use crate::spine::cx::Effects;
use crate::spine::effect::{HostEffect, Level};
use crate::spine::ids::{AgentKey, QuestionId, SessionKey};
use crate::tools;
use acp::{ElicitationMode, RpcError, ToolCallId, ToolStatus, client, rpc};

impl Model {
    pub(crate) fn permission_requested(
        &mut self,
        agent: AgentKey,
        asked: PermissionRequest,
        fx: &mut Effects,
    ) {
        let Some(key) = self.conversation.session_of(agent, &asked.session) else {
            return self.conversation.hold_permission(agent, asked, fx);
        };
        let PermissionRequest {
            request,
            tool: mut patch,
            options,
            ..
        } = asked;
        tools::keep_apart(&mut patch);
        spell_codes(patch.content.as_deref_mut().unwrap_or_default());
        let is_leaving = !self.conversation.is_staying(agent);
        self.tell_so_far(key);
        let Some(state) = self.conversation.session_mut(key) else {
            return;
        };
        if options.is_empty() {
            let text = "The agent asked for permission without any option to choose from.";
            state.notice(Level::Warn, text);
            let error = RpcError::new(
                rpc::INVALID_PARAMS,
                "params.options: there is none to choose from",
            );
            fx.refuse(agent, &request, error);
            return;
        }
        let tool = patch.id.clone();
        let known = state.transcript().find_tool(&tool);
        let is_repeated =
            self.questions.is_repeated(key, &tool) || known.is_some_and(|known| !known.is_open());
        let alone = is_repeated.then(|| ToolCall::of(patch.clone()));
        let has_content = patch.content.as_ref().is_some_and(|all| !all.is_empty());
        let is_new = |known: &ToolCall| {
            let is_titled = patch.title.as_ref().is_some_and(|it| *it != known.title);
            is_titled || !known.is_open()
        };
        let is_other = is_repeated && (has_content || patch.raw_input.is_some());
        // The agent may not know yet that the user has cancelled the call.
        let is_cut = |known: &ToolCall| known.status == ToolStatus::Cancelled;
        let is_cut = state.is_cancelled() && known.is_some_and(is_cut);
        let is_other = is_other && !is_cut && known.is_some_and(is_new);
        // Two open questions are about two calls, even if they share an id; so is a question after
        // the call's end.
        let has_ended = known.is_some_and(|known| !known.is_open());
        let open = self.questions.set_apart(key, &tool, known);
        if open.is_some() || is_other && has_ended {
            if let Some(known) = known {
                patch.title.get_or_insert_with(|| known.title.clone());
                patch.kind.get_or_insert_with(|| known.kind.clone());
            }
            let parent = state.transcript().find_parent(&tool);
            let parent = parent.map(|parent| parent.id.clone());
            patch.parent = patch.parent.take().or(parent);
            state.begin_anew(&tool, open);
        } else if is_other {
            state.transcript_mut().forget_content(&tool);
        }
        self.workspace.tool_named(key, &patch);
        self.merge_tool(key, patch);
        let Some(state) = self.conversation.session_mut(key) else {
            return;
        };
        if let Some(entry) = state.transcript().entry_of(&tool) {
            let transcript = state.transcript_mut();
            transcript.decide_tool(entry, ToolStatus::Pending);
        }
        state.speaks();
        if is_leaving || state.is_cancelled() {
            state.transcript_mut().cancel_tools();
            fx.respond(agent, &request, Ok(client::cancelled()));
            return;
        }
        self.follow_tool(key, &tool);
        let asker = Asker::Agent(agent, request);
        let permission = Permission::of_agent(options, alone);
        self.ask_permission(key, asker, tool, permission, fx);
    }

    /// Lets the rules answer a permission, or else asks the user.
    pub(crate) fn ask_permission(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: ToolCallId,
        permission: Permission,
        fx: &mut Effects,
    ) {
        let id = self.questions.ask(session, asker, tool, permission);
        self.consult_rules(id, fx);
    }

    /// Asks for the permissions that were held until a session's id is known. Those of other
    /// sessions are held again while one is being created, and refused otherwise.
    pub(crate) fn take_early_permissions(&mut self, agent: AgentKey, fx: &mut Effects) {
        for asked in self.conversation.take_held_permissions(agent) {
            self.permission_requested(agent, asked, fx);
        }
    }

    pub(crate) fn elicited(
        &mut self,
        agent: AgentKey,
        asked: ElicitationRequest,
        fx: &mut Effects,
    ) {
        let session = match self.conversation.elicited_session(agent, &asked.scope) {
            Ok(session) => session,
            Err(error) => return fx.refuse(agent, &asked.request, error),
        };
        let found = session.and_then(|key| self.conversation.session_mut(key));
        let is_cancelled = found.is_some_and(|found| {
            found.speaks();
            found.is_cancelled()
        });
        let (Some(session), false) = (
            session,
            is_cancelled || !self.conversation.is_staying(agent),
        ) else {
            let answer = client::elicitation_cancelled();
            return fx.respond(agent, &asked.request, Ok(answer));
        };
        let elicitation = Elicitation {
            message: asked.message,
            ask: match asked.mode {
                ElicitationMode::Form { schema } => Ask::Form(Form::of_schema(&schema)),
                ElicitationMode::Url { url, id } => Ask::Page {
                    page: Page::new(&url),
                    id,
                },
            },
            importance: None,
        };
        let asker = Asker::Agent(agent, asked.request);
        self.elicit(session, asker, asked.tool, elicitation, fx);
    }

    /// Asks the user a question by a form or a page.
    pub(crate) fn elicit(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: Option<ToolCallId>,
        elicitation: Elicitation,
        fx: &mut Effects,
    ) {
        let mut out = Outcomes::new();
        self.questions
            .elicit(session, asker, tool, elicitation, &mut out);
        self.carry_out(out, fx);
    }

    pub(crate) fn page_is_done(&mut self, agent: AgentKey, name: &str, fx: &mut Effects) {
        let mut out = Outcomes::new();
        self.questions.page_is_done(agent, name, &mut out);
        self.carry_out(out, fx);
    }

    pub(crate) fn question_answered(&mut self, id: QuestionId, answer: Answer, fx: &mut Effects) {
        let mut out = Outcomes::new();
        self.questions.answer(id, answer, &mut out);
        self.carry_out(out, fx);
    }

    /// Cancels every question of a session, and its calls of Neovim's tools.
    pub(crate) fn cancel_questions(&mut self, key: SessionKey, fx: &mut Effects) {
        self.cancel_uses(key, fx);
        let mut out = Outcomes::new();
        self.questions.cancel(key, &mut out);
        self.carry_out(out, fx);
    }

    /// Withdraws the question of a request; returns whether there was one.
    pub(crate) fn withdraw_question(&mut self, asker: &Asker, fx: &mut Effects) -> bool {
        if let Asker::Agent(agent, id) = asker
            && self.conversation.withdraw_held(*agent, id)
        {
            fx.refuse(*agent, id, was_cancelled());
            return true;
        }
        let mut out = Outcomes::new();
        let is_open = self.questions.withdraw(asker, &mut out);
        self.carry_out(out, fx);
        is_open
    }

    fn consult_rules(&mut self, id: QuestionId, fx: &mut Effects) {
        if let Some(facts) = self.facts(id) {
            let mut out = Outcomes::new();
            self.questions.consult(id, &facts, &mut out);
            self.carry_out(out, fx);
        }
    }

    /// Consults the rules again about the open questions of a tool call that an update changed.
    pub(crate) fn consult_again(&mut self, key: SessionKey, tool: &ToolCallId, fx: &mut Effects) {
        for id in self.questions.to_consult_again(key, tool) {
            self.consult_rules(id, fx);
        }
    }

    /// Continues with the resolved paths.
    pub(crate) fn rules_checked(&mut self, check: &Check, real: Vec<PathBuf>, fx: &mut Effects) {
        if let Some(facts) = self.facts(check.question) {
            let mut out = Outcomes::new();
            self.questions.resolved(check, real, facts, &mut out);
            self.carry_out(out, fx);
        }
    }

    /// Returns the facts of an open permission for the rules.
    fn facts(&self, id: QuestionId) -> Option<Facts> {
        let question = self.questions.get(id)?;
        let session = self.conversation.session(question.session)?;
        let permission = question.permission()?;
        let tool = question.tool.as_ref()?;
        let known = session.transcript().find_tool(tool);
        let call = permission.call_for_rules(known)?;
        let title = permission.call(known).map(toolview::in_short);
        Some(Facts {
            asked: Asked::of(call, session.name(), session.cwd()),
            roots: session.folders().roots,
            title: title.unwrap_or_default(),
            has_begun: self
                .workspace
                .proposals()
                .has_choice(question.session, tool),
        })
    }

    fn carry_out(&mut self, outcomes: Outcomes, fx: &mut Effects) {
        for outcome in outcomes {
            match outcome {
                Outcome::Effect(effect) => fx.push(effect),
                Outcome::Notice(session, level, text) => {
                    self.conversation.notice(session, level, text)
                }
                Outcome::Resolve(check) => {
                    let paths = check.paths.clone();
                    let token = self.questions.resolve(check);
                    fx.push(HostEffect::Resolve { token, paths });
                }
                Outcome::Asked(session, tool) => self.tool_proposes(session, &tool),
                Outcome::Decided(decision) => self.permission_decided(decision, fx),
                Outcome::Reply(asker, result) => {
                    fx.reply(&asker, result);
                    self.answer_tools(fx);
                }
            }
        }
    }

    fn permission_decided(&mut self, decision: Decision, fx: &mut Effects) {
        let key = decision.session;
        if decision.rule.is_some() {
            // The rule decides about it, so it is no longer merely proposed.
            self.workspace
                .note_asked(decision.session, decision.tool.clone());
        }
        if let Some(is_allowed) = decision.is_allowed {
            self.workspace
                .proposal_answered(decision.id, is_allowed, decision.rule.is_some());
        }
        if let Some(session) = self.conversation.session_mut(key) {
            let (tool, is_allowed) = (decision.tool.clone(), decision.is_allowed);
            session.decided(decision);
            match is_allowed {
                Some(true) => session.note_outside_call(&tool),
                _ => session.forget_outside_call(&tool),
            }
        }
        self.settle_outside(key, fx);
    }
}
