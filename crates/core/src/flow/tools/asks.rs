//! Requests of tool handlers: files, and forms for the user.
//!
//! Invariant: they are handled like agents' requests, and each is answered once while its call is
//! pending.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::form::{Ask, Form};
use crate::model::Model;
use crate::questions::elicitation::{Elicitation, Importance};
use crate::spine::asker::{Asker, ToolRequest};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::ToolAsk;
use crate::tools::Wait;
use acp::RpcError;

impl Model {
    pub(crate) fn tool_asked(
        &mut self,
        id: ToolUseId,
        number: u32,
        ask: ToolAsk,
        fx: &mut Effects,
    ) {
        let Some(of) = self.tools.running(id) else {
            let line = format!("tool call {} asks, and is over", id.0);
            fx.push(log(Level::Debug, line));
            let result = Err("cancelled".into());
            return fx.push(EditorEffect::ToolAnswer { id, number, result });
        };
        let step = ToolRequest::Handler(number);
        let wait = match &ask {
            ToolAsk::Read { .. } | ToolAsk::Write { .. } => Wait::Files,
            ToolAsk::Form { .. } => Wait::User,
        };
        let (key, entry) = (of.session, of.entry.clone());
        self.tools.ask(id, step, wait, fx);
        let asker = Asker::Tool(id, step);
        match ask {
            ToolAsk::Read { path, line, limit } => {
                let path = self.absolute(key, path);
                self.workspace
                    .read_file(asker, key, &path, (line, limit), fx);
            }
            ToolAsk::Write { path, content } => {
                let path = self.absolute(key, path);
                self.workspace.write_file(asker, key, &path, content, fx);
            }
            ToolAsk::Form { message, schema } => {
                let elicitation = Elicitation {
                    message,
                    ask: Ask::Form(Form::of_schema(&schema)),
                    importance: schema.get("x-importance").and_then(Importance::of),
                };
                self.elicit(key, asker, entry, elicitation, fx);
            }
        }
    }

    /// Hands the answers to calls' requests to their handlers.
    pub(crate) fn answer_tools(&mut self, fx: &mut Effects) {
        for (id, step, result) in fx.take_tool_answers() {
            self.tool_is_answered(id, step, result, fx);
        }
    }

    /// Applies the answer to a request of a call.
    fn tool_is_answered(
        &mut self,
        id: ToolUseId,
        step: ToolRequest,
        result: Result<Json, RpcError>,
        fx: &mut Effects,
    ) {
        if !self.tools.is_answered(id, step) {
            return;
        }
        match step {
            ToolRequest::Call => self.use_is_decided(id, result, fx),
            ToolRequest::Handler(number) => {
                let result = result.map_err(|error| error.message);
                fx.push(EditorEffect::ToolAnswer { id, number, result });
            }
        }
        self.tools.mind_the_clock(id, fx);
    }

    /// Resolves a path against the session's folder.
    fn absolute(&self, key: SessionKey, path: PathBuf) -> PathBuf {
        match self.conversation.session(key) {
            Some(session) => session.cwd().join(path),
            None => path,
        }
    }
}
