//! Permission requests of agents, and of calls of Neovim's tools, as one queue over all sessions,
//! oldest first.
//!
//! Invariant: a request in the queue has had no response yet; leaving the queue and being
//! answered are one step.

use std::collections::{HashSet, VecDeque};

use crate::model::{Call, EARLY_UPDATES, Model, Question};
use crate::questions::rules::Rules;
use crate::render::rawview;
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::render::view::{Group, Line, OptionView, PermissionView};
use crate::spine::asker::Asker;
use crate::spine::cx::{Effects, emit, log, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{AgentKey, PermissionId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::Resolved;
use crate::tools;
use acp::{
    OptionKind, PermissionOption, RequestId, RpcError, SessionId, ToolCallId, ToolContent, client,
    rpc,
};

/// Open requests. An agent waits for its answers, so there are few; one that asks without end
/// fills its own transcript first.
#[derive(Debug, Default)]
pub struct Permissions {
    /// What is answered without the user.
    pub rules: Rules,
    queue: VecDeque<Permission>,
    next: u64,
    /// The one that is shown, if it is not the oldest.
    front: Option<PermissionId>,
    /// Tool calls that were asked about: some agents use one id for all their questions.
    known: HashSet<(SessionKey, ToolCallId)>,
}

/// A question of an agent that waits for the user.
#[derive(Debug)]
pub struct Permission {
    pub id: PermissionId,
    pub session: SessionKey,
    pub asker: Asker,
    pub tool: ToolCallId,
    /// What it is about, where the agent has used the same id for another question since.
    own: Option<Box<ToolCall>>,
    pub options: Vec<PermissionOption>,
    /// The user is asked; until then the rules are.
    is_asked: bool,
    /// The user has been shown a command or a path: no rule allows it any more.
    has_shown_something: bool,
    /// What a rule waits for before it allows this.
    checking: Option<Token<Resolved>>,
    /// What this request has shown by itself, where its id has stood for something else before.
    alone: Option<Box<ToolCall>>,
}

impl Permission {
    /// Returns a question that has no number yet.
    fn new(
        session: SessionKey,
        asker: Asker,
        tool: ToolCallId,
        options: Vec<PermissionOption>,
    ) -> Self {
        Self {
            id: PermissionId(0),
            session,
            asker,
            tool,
            own: None,
            options,
            is_asked: false,
            has_shown_something: false,
            checking: None,
            alone: None,
        }
    }

    /// Returns a question of a tool of Neovim's, about this and nothing that an agent says.
    pub(crate) fn of_tool(
        session: SessionKey,
        asker: Asker,
        (tool, about): (ToolCallId, ToolCall),
        options: Vec<PermissionOption>,
    ) -> Self {
        let mut question = Self::new(session, asker, tool, options);
        question.own = Some(Box::new(about));
        question
    }

    /// Tells whether it is about a tool call, and not about what its id stood for before.
    pub(crate) fn is_about(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        self.session == session && self.tool == *tool && self.own.is_none()
    }

    /// Tells whether it waits for the user alone.
    pub(crate) fn is_still(&self) -> bool {
        self.is_asked && self.checking.is_none()
    }
}

impl Permissions {
    /// Returns all that have had no answer yet.
    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.queue.iter()
    }

    /// Returns those that the user is asked.
    pub fn asked(&self) -> impl Iterator<Item = &Permission> {
        self.queue.iter().filter(|open| open.is_asked)
    }

    /// Lets the user be asked; returns what it is about, unless that was so before.
    pub(crate) fn begin_asking(&mut self, id: PermissionId) -> Option<(SessionKey, ToolCallId)> {
        let open = self.queue.iter_mut().find(|open| open.id == id)?;
        let is_new = !std::mem::replace(&mut open.is_asked, true);
        is_new.then(|| (open.session, open.tool.clone()))
    }

    /// Notes that the user sees what a request is about.
    pub(crate) fn shows_something(&mut self, id: PermissionId) {
        if let Some(open) = self.queue.iter_mut().find(|open| open.id == id) {
            open.has_shown_something = true;
        }
    }

    pub(crate) fn has_shown_something(&self, id: PermissionId) -> bool {
        let mut open = self.queue.iter();
        open.any(|open| open.id == id && open.has_shown_something)
    }

    /// Notes what a rule waits for before it allows a request.
    pub(crate) fn is_checked(&mut self, id: PermissionId, token: Option<Token<Resolved>>) {
        if let Some(open) = self.queue.iter_mut().find(|open| open.id == id) {
            open.checking = token;
        }
    }

    pub(crate) fn is_checked_by(&self, id: PermissionId, token: Token<Resolved>) -> bool {
        let mut open = self.queue.iter();
        open.any(|open| open.id == id && open.checking == Some(token))
    }

    pub fn count(&self, session: SessionKey) -> usize {
        let of_session = |permission: &&Permission| permission.session == session;
        self.asked().filter(of_session).count()
    }

    /// Returns the one that is shown: the oldest, unless another was brought forward.
    pub fn shown(&self) -> Option<&Permission> {
        let front = self.asked().find(|open| Some(open.id) == self.front);
        front.or_else(|| self.asked().next())
    }

    /// Returns the number of a new question: the older ones have lower numbers, also those that
    /// are no permissions.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Tells whether one is shown before the older ones because the user has to answer it.
    pub(crate) fn is_brought_forward(&self) -> bool {
        self.asked().any(|open| Some(open.id) == self.front)
    }

    /// Shows a request before the older ones.
    pub(crate) fn bring_forward(&mut self, id: PermissionId) {
        self.front = Some(id);
    }

    fn take(&mut self, matches: impl Fn(&Permission) -> bool) -> Option<Permission> {
        let index = self.queue.iter().position(matches)?;
        self.queue.remove(index)
    }
}

impl Model {
    pub(crate) fn permission_requested(
        &mut self,
        agent: AgentKey,
        question: Question,
        fx: &mut Effects,
    ) {
        let Some(key) = self.session_of(agent, &question.session) else {
            return self.hold_question(agent, question, fx);
        };
        let Question {
            request,
            tool: mut patch,
            options,
            ..
        } = question;
        tools::keep_apart(&mut patch);
        let is_leaving = !self.is_staying(agent);
        self.tell_so_far(key);
        let Some(state) = self.sessions.get_mut(&key) else {
            return;
        };
        if options.is_empty() {
            let text = "The agent asked for permission without any option to choose from.";
            state.transcript.notice(Level::Warn, text);
            let error = RpcError::new(
                rpc::INVALID_PARAMS,
                "params.options: there is none to choose from",
            );
            fx.refuse(agent, &request, error);
            return;
        }
        let tool = patch.id.clone();
        let is_over = |tool: &ToolCall| !tool.is_open();
        let is_repeated = !self.permissions.known.insert((key, tool.clone()))
            || state.transcript.find_tool(&tool).is_some_and(is_over);
        let alone = is_repeated.then(|| Box::new(ToolCall::of(patch.clone())));
        let is_asked =
            |open: &&mut Permission| open.session == key && open.tool == tool && open.own.is_none();
        if let Some(open) = self.permissions.queue.iter_mut().find(is_asked) {
            // Two questions at once are about two things, whatever their ids say.
            let known = state.transcript.find_tool(&tool).cloned();
            open.own = known.map(Box::new);
            state.transcript.forget_content(&tool);
        }
        self.tracked.named(&patch);
        self.merge_tool(key, patch);
        let Some(state) = self.sessions.get_mut(&key) else {
            return;
        };
        if let Some(turn) = &mut state.turn {
            turn.spoke = true;
        }
        if is_leaving || state.turn.as_ref().is_some_and(|turn| turn.cancelled) {
            state.transcript.cancel_tools();
            fx.respond(agent, &request, Ok(client::cancelled()));
            return;
        }
        let asker = Asker::Agent(agent, request);
        let mut question = Permission::new(key, asker, tool.clone(), options);
        question.alone = alone;
        self.follow_tool(key, &tool);
        self.put_question(question, fx);
    }

    /// Has the rules answer a question, or the user.
    pub(crate) fn put_question(&mut self, mut question: Permission, fx: &mut Effects) {
        let id = PermissionId(self.permissions.number());
        question.id = id;
        self.permissions.queue.push_back(question);
        self.consult_rules(id, fx);
    }

    /// Keeps a question of a session whose id is not known yet; others are refused.
    fn hold_question(&mut self, agent: AgentKey, question: Question, fx: &mut Effects) {
        let creating = |call: &Call| matches!(call, Call::NewSession(_));
        match self.agents.get_mut(&agent) {
            Some(state)
                if state.pending.values().any(creating)
                    && state.early_questions.len() < EARLY_UPDATES =>
            {
                state.early_questions.push(question);
            }
            _ => {
                let error = unknown_session(&question.session);
                fx.refuse(agent, &question.request, error);
            }
        }
    }

    /// Answers what was held `cancelled`.
    pub(crate) fn cancel_early_questions(&mut self, agent: AgentKey, fx: &mut Effects) {
        let state = self.agents.get_mut(&agent);
        let held = state.map(|state| std::mem::take(&mut state.early_questions));
        for question in held.unwrap_or_default() {
            fx.respond(agent, &question.request, Ok(client::cancelled()));
        }
    }

    /// Asks what was held until a session's id is known; when no other is to come, what is left
    /// is refused.
    pub(crate) fn take_early_questions(&mut self, agent: AgentKey, fx: &mut Effects) {
        let Some(state) = self.agents.get_mut(&agent) else {
            return;
        };
        for question in std::mem::take(&mut state.early_questions) {
            // Held again if need be.
            self.permission_requested(agent, question, fx);
        }
    }

    pub(crate) fn permission_answered(&mut self, id: PermissionId, option: &str, fx: &mut Effects) {
        let known = self.permissions.asked().find(|open| open.id == id);
        let Some(open) = known else {
            fx.push(notify(
                Level::Info,
                "That permission request is no longer open.",
            ));
            return;
        };
        if !open.options.iter().any(|known| known.id == option) {
            let ids: Vec<&str> = open.options.iter().map(|known| known.id.as_str()).collect();
            fx.push(notify(
                Level::Error,
                format!(
                    "This request has no option \"{option}\": it has {}.",
                    ids.join(", ")
                ),
            ));
            return;
        }
        self.answer(id, option, None, fx);
    }

    /// Answers a request with one of its options, for the user or for a rule.
    pub(crate) fn answer(
        &mut self,
        id: PermissionId,
        option: &str,
        rule: Option<usize>,
        fx: &mut Effects,
    ) {
        let known = self.permissions.iter().find(|open| open.id == id);
        let options = known.map(|open| &open.options);
        let chosen = options.and_then(|all| all.iter().find(|known| known.id == option));
        let Some(chosen) = chosen else {
            return;
        };
        let is_allowed = matches!(chosen.kind, OptionKind::AllowOnce | OptionKind::AllowAlways);
        let result = client::selected(&chosen.id);
        let line = format!("permission {}: {} ({option})", id.0, chosen.name);
        fx.push(log(Level::Info, line));
        self.proposal_answered(id, is_allowed);
        if let Some(open) = self.permissions.take(|open| open.id == id) {
            let by = (Some(option.to_owned()), rule);
            self.settle(open, by, Ok(result), fx);
        }
    }

    /// Forgets what a session's questions were about.
    pub(crate) fn forget_questions(&mut self, key: SessionKey) {
        self.permissions
            .known
            .retain(|(session, _)| *session != key);
    }

    /// Answers every open question of a session `cancelled`.
    pub(crate) fn close_permissions(&mut self, key: SessionKey, fx: &mut Effects) {
        self.cancel_uses(key, fx);
        self.close_elicitations(key, fx);
        while let Some(open) = self.permissions.take(|open| open.session == key) {
            self.settle(open, (None, None), Ok(client::cancelled()), fx);
        }
    }

    /// The agent takes back a request; tells whether it was one of these.
    pub(crate) fn permission_taken_back(
        &mut self,
        agent: AgentKey,
        id: &RequestId,
        fx: &mut Effects,
    ) -> bool {
        if let Some(state) = self.agents.get_mut(&agent) {
            let held = &mut state.early_questions;
            let taken = held.extract_if(.., |question| question.request == *id);
            if taken.count() > 0 {
                fx.refuse(agent, id, was_cancelled());
                return true;
            }
        }
        self.question_taken_back(&Asker::Agent(agent, id.clone()), fx)
    }

    /// A request that waits is taken back; tells whether there was one.
    pub(crate) fn question_taken_back(&mut self, asker: &Asker, fx: &mut Effects) -> bool {
        let Some(open) = self.permissions.take(|open| open.asker == *asker) else {
            return false;
        };
        self.settle(open, (None, None), Err::<(), _>(was_cancelled()), fx);
        true
    }

    fn settle(
        &mut self,
        open: Permission,
        (option, rule): (Option<String>, Option<usize>),
        result: Result<impl serde::Serialize, RpcError>,
        fx: &mut Effects,
    ) {
        self.reply(&open.asker, result, fx);
        self.frame.permission_dirty = true;
        if let Some(session) = self.sessions.get_mut(&open.session) {
            let tool = session.transcript.find_tool(&open.tool);
            let tool = tool.map_or(&open.tool, |tool| &tool.id);
            let history = &mut session.history;
            history.answered(&tool.0, option.clone(), rule);
        }
        // Nobody has heard of one that was taken back before it was shown.
        if open.is_asked || rule.is_some() {
            fx.push(emit(Announcement::PermissionAnswered {
                session: open.session,
                id: open.id.0,
                option,
                rule,
            }));
        }
    }

    /// Returns the tool call a permission is about.
    pub fn permission_tool<'a>(&'a self, open: &'a Permission) -> Option<&'a ToolCall> {
        let session = self.sessions.get(&open.session)?;
        let own = open.own.as_deref();
        own.or_else(|| session.transcript.find_tool(&open.tool))
    }

    /// Returns the tool call as far as rules may look at it: what is shown of this question, and
    /// nothing that was shown of one before.
    pub(crate) fn permission_for_rules<'a>(&'a self, open: &'a Permission) -> Option<&'a ToolCall> {
        open.alone.as_deref().or_else(|| self.permission_tool(open))
    }

    /// Renders the oldest open request.
    pub(crate) fn permission_view(&self) -> Option<PermissionView> {
        let open = self.permission_shown()?;
        let agent = self.sessions.get(&open.session)?.spec.name.as_str();
        let mut lines = Vec::new();
        let title = format!("{agent} asks for permission");
        if let Some(tool) = self.permission_tool(open) {
            let mut head = Line::default();
            toolview::push(&mut head, toolview::kind_name(&tool.kind), "AcpToolKind");
            let title = toolview::title(tool);
            if !is_command(tool, &title) {
                toolview::push(&mut head, "  ", "AcpToolKind");
                toolview::push(&mut head, &title, "AcpToolTitle");
            }
            lines.push(head);
            lines.extend(self.proposals.notes(open.id));
            if !has_diff(tool) {
                for location in &tool.locations {
                    let text = location.path.display().to_string();
                    lines.push(toolview::whole_line(text, "AcpPath"));
                }
            }
            lines.extend(toolview::body(tool));
        }
        lines.iter_mut().for_each(Line::flatten);
        Some(PermissionView {
            id: open.id,
            session: open.session,
            title,
            lines,
            options: option_views(&open.options),
            places: self.proposals.places(open.id),
            waiting: self.questions_behind(),
        })
    }
}

/// Returns the error for a session id the agent was never given.
pub(crate) fn unknown_session(session: &SessionId) -> RpcError {
    let message = format!("params.sessionId: no session \"{}\" here", session.0);
    RpcError::new(rpc::INVALID_PARAMS, message)
}

/// Returns the error for a request that was taken back.
pub(crate) fn was_cancelled() -> RpcError {
    RpcError::new(rpc::REQUEST_CANCELLED, "The request was cancelled")
}

/// Tells whether a title says no more than the command, which is shown in full anyway.
fn is_command(tool: &ToolCall, title: &str) -> bool {
    rawview::command(tool).is_some_and(|command| command.trim() == title.trim_matches('`'))
}

/// Tells whether the call's content names the files already.
fn has_diff(tool: &ToolCall) -> bool {
    let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
    tool.content.iter().any(is_diff)
}

/// Gives each option its mnemonic: `y`, `a` or `n` by kind, else a letter of its name.
fn option_views(options: &[PermissionOption]) -> Vec<OptionView> {
    let mut used = Vec::new();
    let mut views = Vec::new();
    for option in options {
        let (first, group): (&str, Group) = match option.kind {
            OptionKind::AllowOnce => ("y", "AcpAllow"),
            OptionKind::AllowAlways => ("a", "AcpAllow"),
            OptionKind::RejectOnce => ("n", "AcpReject"),
            OptionKind::RejectAlways => ("", "AcpReject"),
            OptionKind::Unknown(_) => ("", "AcpOption"),
        };
        let letters = option.name.to_lowercase();
        let letters = letters.chars().filter(char::is_ascii_lowercase);
        let taken = |key: &char| used.contains(key) || RESERVED.contains(*key);
        let key = first.chars().chain(letters).find(|key| !taken(key));
        used.extend(key);
        views.push(OptionView {
            option: option.id.clone(),
            name: option.name.clone(),
            key,
            group,
        });
    }
    views
}

/// Keys that move in the window or leave it: never a mnemonic.
const RESERVED: &str = "bdfghijkloquvwz";

#[cfg(test)]
mod tests {
    use super::*;

    fn check_keys(kinds: &[(&str, OptionKind)], want: &[Option<char>]) {
        let options: Vec<PermissionOption> = kinds
            .iter()
            .map(|(name, kind)| PermissionOption {
                id: (*name).into(),
                name: (*name).into(),
                kind: kind.clone(),
            })
            .collect();
        let keys: Vec<Option<char>> = option_views(&options).iter().map(|view| view.key).collect();
        assert_eq!(keys, want);
    }

    #[test]
    fn each_option_has_a_key_of_its_own() {
        check_keys(
            &[
                ("Allow", OptionKind::AllowOnce),
                ("Always", OptionKind::AllowAlways),
                ("Always here", OptionKind::AllowAlways),
                ("Reject", OptionKind::RejectOnce),
                ("Never", OptionKind::RejectAlways),
                ("??", OptionKind::Unknown("x".into())),
            ],
            &[Some('y'), Some('a'), Some('s'), Some('n'), Some('e'), None],
        );
    }
}
