//! Updates the proposals of tool calls and questions, and answers a question once its hunks are
//! decided.

use crate::model::Model;
use crate::questions::Answer;
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::event::ReviewAction;
use crate::spine::ids::{QuestionId, SessionKey};
use crate::workspace::proposals::{
    FileProposal, Preview, Proposal, ProposalIndex, Standing, files_of,
};
use acp::{OptionKind, PermissionOption, ToolCallId};

impl Model {
    /// Updates the proposals of a tool call.
    pub(crate) fn tool_proposes(&mut self, key: SessionKey, id: &ToolCallId) {
        if self.workspace.proposals().preview == Preview::Off {
            return;
        }
        for (permission, title, files) in self.wanted(key, id) {
            self.workspace.propose(key, id, permission, title, files);
        }
        if self.workspace.take_asked_changed() {
            self.questions.touch();
        }
    }

    /// Returns what the open questions about a tool call propose, or the call itself while it is
    /// pending.
    fn wanted(&self, key: SessionKey, id: &ToolCallId) -> Vec<Wanted> {
        let Some(session) = self.conversation.session(key) else {
            return Vec::new();
        };
        let wants = |permission, tool: &ToolCall| {
            let files = files_of(tool, session.cwd());
            (permission, toolview::title(tool), files)
        };
        let open = self.questions.about(key, id);
        let open = open.filter(|open| open.is_asked() && open.permission().is_some());
        let asked = open
            .filter_map(|open| Some(wants(Some(open.id), self.conversation.question_call(open)?)));
        let asked: Vec<Wanted> = asked.collect();
        let is_pending = session.is_pending(id) && !self.workspace.was_asked(key, id);
        if !asked.is_empty() || !is_pending {
            return asked;
        }
        let tool = session.transcript().find_tool(id);
        tool.map(|tool| wants(None, tool)).into_iter().collect()
    }

    /// Ends finished proposals, and locates stale ones again.
    pub(crate) fn refresh_proposals(&mut self, fx: &mut Effects) {
        let (questions, conversation) = (&self.questions, &self.conversation);
        let standing = |proposal: &Proposal| {
            let session = conversation.session(proposal.session);
            let open = proposal.permission.map(|id| questions.get(id).is_some());
            match (open, session) {
                (Some(true), _) => Standing::Open,
                (Some(false), _) | (None, None) => Standing::Over,
                (None, Some(session)) => session.standing(&proposal.tool),
            }
        };
        self.workspace.refresh_proposals(standing, fx);
        if self.workspace.take_asked_changed() {
            self.questions.touch();
        }
    }

    /// Asks the user for an option if no change of a file can be decided by hunks.
    pub(crate) fn ask_about_files(&mut self, files: &[ProposalIndex], fx: &mut Effects) {
        for id in self.workspace.proposals().undecidable(files) {
            self.ask_for_option(id, false, fx);
        }
    }

    /// Answers the questions whose hunks are all decided.
    pub(crate) fn answer_decided(&mut self, fx: &mut Effects) {
        for (id, choice, is_whole) in self.workspace.proposals().decided() {
            match self.once_option(id, choice).filter(|_| is_whole) {
                Some(option) => self.question_answered(id, Answer::Option(option), fx),
                None => self.ask_for_option(id, is_whole, fx),
            }
        }
    }

    /// Returns the option for this action, once, if there is exactly one.
    fn once_option(&self, id: QuestionId, choice: ReviewAction) -> Option<String> {
        let open = self.questions.get(id)?.permission()?;
        let kind = match choice {
            ReviewAction::Accept => OptionKind::AllowOnce,
            ReviewAction::Reject => OptionKind::RejectOnce,
        };
        let mut fitting = open.options.iter().filter(|option| option.kind == kind);
        match (fitting.next(), fitting.next()) {
            (Some(PermissionOption { id, .. }), None) => Some(id.clone()),
            _ => None,
        }
    }

    fn ask_for_option(&mut self, id: QuestionId, is_whole: bool, fx: &mut Effects) {
        let why = match is_whole {
            true => "no option, or more than one, stands for your choice",
            false => "not all that the agent asks for can be shown in the files",
        };
        let text = format!(
            "Choose an option in the question (`:Acp permission`): {why}. Your choices by hunk \
             are kept."
        );
        fx.push(notify(Level::Info, text));
        self.questions.bring_forward(id);
    }
}

/// The question about a change, its title, and the changed files.
type Wanted = (Option<QuestionId>, String, Vec<FileProposal>);
