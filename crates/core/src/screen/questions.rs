//! The question on the screen: a permission with its options, a form, or a page.

use std::path::Path;

use crate::conversation::notices;
use crate::conversation::session::Session;
use crate::form::Ask;
use crate::model::Model;
use crate::questions::elicitation::Elicitation;
use crate::questions::permission::Permission;
use crate::questions::{Content, Question};
use crate::render::toolcall::ToolCall;
use crate::render::{rawview, toolview};
use crate::spine::ids::SessionKey;
use crate::spine::view::{ElicitationView, Line, PermissionView, QuestionView};
use crate::view::questions::option_views;
use acp::ToolContent;

impl Model {
    /// Renders the question to show.
    pub(crate) fn question_view(&self) -> Option<QuestionView> {
        let question = self.questions.front()?;
        let agent = &self.asker_name(question.session)?;
        Some(match &question.content {
            Content::Permission(permission) => {
                QuestionView::Permission(self.permission_view(question, permission, agent))
            }
            Content::Elicitation(asked) => {
                QuestionView::Form(self.elicitation_view(question, asked, agent))
            }
        })
    }

    /// Returns the name of a session's agent, with the session's title if that agent has several.
    pub(crate) fn asker_name(&self, asked: SessionKey) -> Option<String> {
        let session = self.conversation.session(asked)?;
        let mut sessions = self.conversation.sessions();
        let is_one_of_several =
            sessions.any(|(key, other)| key != asked && other.name() == session.name());
        Some(match is_one_of_several {
            true => notices::identified(session.name(), session.topic(), asked),
            false => session.name().to_owned(),
        })
    }

    fn permission_view(
        &self,
        question: &Question,
        permission: &Permission,
        agent: &str,
    ) -> PermissionView {
        let mut lines = Vec::new();
        if let Some(parent) = self.conversation.question_parent(question) {
            let mut line = Line::default();
            line.push("sub-agent", "AcpToolKind");
            line.push("  ", "AcpToolKind");
            line.push(&toolview::title(parent), "AcpToolTitle");
            lines.push(line);
        }
        if let Some(tool) = self.conversation.question_call(question) {
            let mut head = Line::default();
            head.push(toolview::kind_name(&tool.kind), "AcpToolKind");
            let title = toolview::title(tool);
            if !is_command(tool, &title) {
                head.push("  ", "AcpToolKind");
                head.push(&title, "AcpToolTitle");
            }
            lines.push(head);
            lines.extend(self.workspace.proposals().notes(question.id));
            if !has_diff(tool) {
                for location in &tool.locations {
                    let text = location.path.display().to_string();
                    lines.push(toolview::whole_line(text, "AcpPath"));
                }
            }
            let session = self.conversation.session(question.session);
            let cwd = session.map_or(Path::new(""), Session::cwd);
            lines.extend(toolview::body(tool, cwd));
        }
        PermissionView {
            id: question.id,
            session: question.session,
            title: format!("{agent} asks for permission").into(),
            lines,
            options: option_views(&permission.options),
            places: self.workspace.proposals().places(question.id),
            waiting: self.questions.behind(),
        }
    }

    fn elicitation_view(
        &self,
        question: &Question,
        asked: &Elicitation,
        agent: &str,
    ) -> ElicitationView {
        let mut head = Vec::new();
        if let Some(tool) = self.conversation.question_call(question) {
            let mut line = Line::default();
            line.push(toolview::kind_name(&tool.kind), "AcpToolKind");
            line.push("  ", "AcpToolKind");
            // The message already describes a call of Neovim's tools.
            let own = question
                .asker
                .tool()
                .and_then(|id| self.tools.tool_title(id));
            let title = own.map_or_else(|| toolview::title(tool), str::to_owned);
            line.push(&title, "AcpToolTitle");
            head.push(line);
        }
        head.extend(asked.message.trim().lines().map(Line::plain));
        let mut title = match asked.ask {
            Ask::Form(_) => format!("{agent} asks you"),
            Ask::Page { .. } => format!("{agent} asks you to open a page"),
        };
        if let Some(importance) = asked.importance {
            title.push_str(&format!(" ({} importance)", importance.name()));
        }
        ElicitationView {
            id: question.id,
            session: question.session,
            title: title.into(),
            head,
            ask: asked.ask.clone(),
            waiting: self.questions.behind(),
        }
    }
}

/// Returns whether a title only repeats the command, which the lines show in full.
fn is_command(tool: &ToolCall, title: &str) -> bool {
    rawview::command(tool).is_some_and(|command| command.trim() == title.trim_matches('`'))
}

/// Returns whether the call's content already names the files.
fn has_diff(tool: &ToolCall) -> bool {
    let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
    tool.content.iter().any(is_diff)
}
