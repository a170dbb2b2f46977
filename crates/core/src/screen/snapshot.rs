//! Snapshots: the public API's immediate answers, as plain data that the core publishes.
//!
//! Invariant: a snapshot is published with each frame and before each `User` event.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::agent::Agent;
use crate::conversation::info::{SessionInfo, ToolsInfo};
use crate::conversation::session::Session;
use crate::conversation::transcript::{Entry, Transcript};
use crate::model::Model;
use crate::questions::permission::Permission;
use crate::questions::{Content, Question};
use crate::render::toolview;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::oneline::OneLine;
use crate::view::snapshot::{AgentInfo, QuestionContent, QuestionInfo, Snapshot};
use acp::Purpose;

impl Model {
    /// Returns a snapshot of the current state.
    pub fn snapshot(&self) -> Snapshot {
        let sessions = self.conversation.sessions();
        let agents = self.conversation.agents();
        let reviews = self.workspace.reviews().iter();
        Snapshot {
            sessions: sessions
                .map(|(key, session)| self.session_info(key, session))
                .collect(),
            agents: agents
                .map(|(key, agent)| self.agent_info(key, agent))
                .collect(),
            questions: self.question_infos(),
            reviews: reviews.filter_map(|(_, file)| file.info.clone()).collect(),
            proposals: self.workspace.proposals().infos(),
            terminals: self.terminals.infos(),
        }
    }

    fn agent_info(&self, key: AgentKey, agent: &Agent) -> AgentInfo {
        AgentInfo {
            spec: agent.spec().clone(),
            state: agent.state(),
            info: agent.info().cloned(),
            sessions: self.conversation.sessions_of(key),
        }
    }

    fn session_info(&self, key: SessionKey, session: &Session) -> SessionInfo {
        let asked = self.questions.asked();
        let asked = asked.filter(|open| open.session == key);
        let (permissions, others): (Vec<_>, Vec<_>) =
            asked.partition(|open| open.permission().is_some());
        SessionInfo {
            session: key,
            id: session.id().cloned(),
            agent: session.name().to_owned(),
            cwd: session.cwd().to_owned(),
            phase: self.phase(key),
            stop_reason: session.stop_reason().map(str::to_owned),
            mode: session.options().id_of(Purpose::Mode).map(str::to_owned),
            model: session.options().id_of(Purpose::Model).map(str::to_owned),
            options: Arc::clone(session.options().shown()),
            commands: Arc::clone(session.commands()),
            plan: session.transcript().plan_progress(),
            tools: tools_info(session.transcript()),
            permissions: permissions.len(),
            queue: session.queue().infos(),
            elicitations: others.len(),
            review: self.workspace.reviews().counts(key),
            terminals: self.terminals.running(key),
            usage: session.usage().cloned(),
            title: session
                .topic()
                .map(|topic| OneLine::from_words(topic).into()),
            follow: self.view.follow_mode(key),
            attached: session.labels().map(String::from).collect(),
            files: self.conversation.files_in(session.cwd()),
            prompts: self.conversation.prompts_in(session.cwd()),
            needs_login: session.needs_login(),
            takes_images: self.conversation.takes_images(session),
            steering: self.conversation.can_steer(session),
        }
    }

    fn question_infos(&self) -> Vec<QuestionInfo> {
        let open = self.questions.asked();
        open.map(|open| QuestionInfo {
            id: open.id.0,
            session: open.session,
            content: match &open.content {
                Content::Permission(permission) => self.permission_info(open, permission),
                Content::Elicitation(asked) => QuestionContent::Elicitation {
                    message: asked.message.clone(),
                    ask: asked.ask.clone(),
                },
            },
        })
        .collect()
    }

    fn permission_info(&self, open: &Question, permission: &Permission) -> QuestionContent {
        let tool = self.conversation.question_call(open);
        let title = tool.map(toolview::title).unwrap_or_default();
        let id = open.tool.as_ref().map(|tool| &*tool.0);
        let mut tool_call = json!({ "toolCallId": id, "title": title });
        if let Some(tool) = tool {
            tool_call["kind"] = json!(tool.kind.name());
            if let Some(input) = &tool.raw_input {
                tool_call["rawInput"] = input.clone();
            }
            let paths = tool.locations.iter();
            let paths: Vec<Value> = paths
                .map(|location| {
                    json!({ "path": location.path, "line": location.row.map(|row| row + 1) })
                })
                .collect();
            tool_call["locations"] = Value::Array(paths);
        }
        QuestionContent::Permission {
            title,
            tool_call,
            options: permission.options.clone(),
        }
    }
}

fn tools_info(transcript: &Transcript) -> ToolsInfo {
    let (running, latest) = transcript.progress.running();
    let latest = latest.and_then(|index| transcript.entries().get(index));
    ToolsInfo {
        running,
        latest: match latest {
            Some(Entry::Tool(tool)) => {
                let kind = tool.kind.name().to_owned();
                Some((toolview::title(tool), kind))
            }
            _ => None,
        },
    }
}
