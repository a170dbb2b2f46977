//! The verbs of a story: what the user does, what an agent does, what the test checks.

use std::path::Path;

use serde_json::{Value, json};

use super::agent::Life;
use super::disk::Disk;
use super::editor::Editor;
use super::world::{A1, S1, World, spec};
use crate::conversation::reach::Reach;
use crate::event::{AgentEvent, Event, ReviewEvent, SessionEvent};
use crate::spine::effect::{EditorEffect, Save};
use crate::spine::event::{AgentSpec, Origin, Prompt, ReviewAction, Scope};
use crate::spine::ids::{AgentKey, BufId, SessionKey};
use acp::{SessionId, rpc};

impl World {
    // The user.

    pub fn opens(&mut self, session: u32, agent: &str) {
        self.opens_as(session, spec(agent));
    }

    pub fn opens_as(&mut self, session: u32, spec: AgentSpec) {
        self.happens(Event::Session(SessionEvent::Open {
            session: SessionKey(session),
            spec: Box::new(spec),
            roots: vec!["/p".into()],
            project: "/p".into(),
            origin: Origin::New,
            reach: Reach::default(),
        }));
    }

    /// Opens a session of the past.
    pub fn reopens(&mut self, session: u32, agent: &str, id: &str) {
        self.happens(Event::Session(SessionEvent::Open {
            session: SessionKey(session),
            spec: Box::new(spec(agent)),
            roots: vec!["/p".into()],
            project: "/p".into(),
            origin: Origin::Past {
                id: SessionId(id.into()),
            },
            reach: Reach::default(),
        }));
    }

    pub fn prompts(&mut self, text: &str) {
        self.prompts_in(S1, text);
    }

    pub fn prompts_in(&mut self, session: SessionKey, text: &str) {
        let prompt = Prompt {
            text: text.into(),
            ..Prompt::default()
        };
        self.happens(Event::Session(SessionEvent::Prompt { session, prompt }));
    }

    /// Changes buffers, as the user does, or the editor on the user's behalf.
    pub fn edits<R>(
        &mut self,
        action: impl FnOnce(&mut Editor, &mut Disk, &mut Vec<Event>) -> R,
    ) -> R {
        let mut out = Vec::new();
        let result = action(&mut self.editor, &mut self.disk, &mut out);
        self.to_core.extend(out);
        self.settle();
        result
    }

    /// The user decides about changes.
    pub fn decides(&mut self, action: ReviewAction, scope: Scope) {
        self.happens(Event::Review(ReviewEvent::Decide { action, scope }));
    }

    /// Opens a file in a buffer.
    pub fn opens_file(&mut self, path: &str) -> BufId {
        self.edits(|editor, disk, out| editor.open(Path::new(path), disk, out))
    }

    // Agents.

    /// An agent prints a line.
    pub fn prints(&mut self, agent: AgentKey, line: &str) {
        let decoded = rpc::decode(line.as_bytes());
        for message in decoded {
            if let (acp::Message::Request { id, .. }, Some(known)) =
                (&message, self.agents.get_mut(&agent))
            {
                known.asks(id.0.get());
            }
            self.to_core
                .push_back(Event::Agent(AgentEvent::Message { agent, message }));
        }
        self.settle();
    }

    pub fn notifies(&mut self, agent: AgentKey, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.prints(agent, &message.to_string());
    }

    /// The first agent sends an update of the first session.
    pub fn updates(&mut self, update: Value) {
        let params = json!({ "sessionId": "s1", "update": update });
        self.notifies(A1, "session/update", &params);
    }

    /// The first agent sends a message chunk.
    pub fn says(&mut self, text: &str) {
        self.updates(json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": text },
        }));
    }

    /// The first agent makes a request; `id` is raw JSON.
    pub fn asks(&mut self, id: &str, method: &str, params: &Value) {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.prints(A1, &line);
    }

    /// The first agent writes a file.
    pub fn writes(&mut self, path: &str, content: &str) {
        let id = format!("\"w{}\"", self.agents[&A1].answers.len());
        let params = json!({ "sessionId": "s1", "path": path, "content": content });
        self.asks(&id, "fs/write_text_file", &params);
    }

    /// An agent answers the oldest pending call of a method.
    pub fn answers(&mut self, agent: AgentKey, method: &str, result: Result<Value, Value>) {
        let known = self.agents.get_mut(&agent).unwrap();
        let at = known.calls.iter().position(|call| call.1 == method);
        let Some(at) = at else {
            panic!("no open call of {method}: {:?}", known.calls);
        };
        let id = known.calls.remove(at).0;
        let (name, value) = match result {
            Ok(value) => ("result", value),
            Err(value) => ("error", value),
        };
        self.prints(
            agent,
            &json!({ "jsonrpc": "2.0", "id": id, name: value }).to_string(),
        );
    }

    /// The first agent ends its turn.
    pub fn ends_turn(&mut self, reason: &str) {
        self.answers(A1, "session/prompt", Ok(json!({ "stopReason": reason })));
    }

    /// An agent's process ends.
    pub fn exits(&mut self, agent: AgentKey, status: &str, stderr: &[&str]) {
        self.agents.get_mut(&agent).unwrap().life = Life::Gone;
        self.happens(Event::Agent(AgentEvent::Exited {
            agent,
            status: status.into(),
            stderr: stderr.iter().map(|line| (*line).to_owned()).collect(),
        }));
    }

    /// A held editor does all that waits; returns how the edits were to be saved.
    pub fn saves_edits(&mut self) -> Vec<Save> {
        let mut saves = Vec::new();
        while let Some(effect) = self.to_editor.front() {
            if let EditorEffect::Edit { save, .. } = effect {
                saves.push(*save);
            }
            self.editor_moves();
            self.settle();
        }
        saves
    }

    /// All timers fire.
    pub fn time_passes(&mut self) {
        while let Some(token) = self.timers.pop_front() {
            self.to_core.push_back(Event::Timer { token });
        }
        self.settle();
    }

    /// Lets time pass without a sign of an agent's work.
    pub fn rests(&mut self) {
        (0..3).for_each(|_| self.time_passes());
    }

    // Checks.

    /// Compares the log since the last check.
    #[track_caller]
    pub fn saw(&mut self, want: &[&str]) {
        let log = std::mem::take(&mut self.log);
        assert_eq!(log, want, "\nthe chat:\n{}", self.chat());
    }

    /// Returns whether the log since the last check contains this.
    pub fn was_told(&self, part: &str) -> bool {
        self.log.iter().any(|line| line.contains(part))
    }

    /// Clears the log.
    pub fn skip(&mut self) {
        self.log.clear();
    }

    /// Returns the first session's transcript as shown on the screen.
    pub fn chat(&self) -> String {
        let chat = self.editor.chats.get(&S1);
        chat.map(|chat| chat.text()).unwrap_or_default()
    }

    /// Returns the answer to the first agent's last request with this raw id.
    pub fn answer(&self, id: &str) -> &Result<Value, Value> {
        let answers = &self.agents[&A1].answers;
        match answers.iter().rev().find(|answer| answer.0 == id) {
            Some((_, answer)) => answer,
            None => panic!("no answer to {id}: {answers:?}"),
        }
    }

    pub fn buffer(&self, path: &str) -> String {
        let buf = self.editor.find(Path::new(path));
        let buf = buf.unwrap_or_else(|| panic!("{path} is in no buffer"));
        self.editor.buffers[&buf].text.to_string()
    }

    pub fn buf(&self, path: &str) -> BufId {
        self.editor.find(Path::new(path)).unwrap()
    }
}
