//! The actions of a lesson during a turn: talk, think, plan, call tools, ask.
//!
//! Invariant: when a turn is cancelled, each unfinished tool call gets one last update, and the
//! turn sends nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::wire::{Cancelled, Session, Wire};

/// Why a lesson ends early.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    Cancelled,
    /// The failure, as a sentence for the user.
    Failed(String),
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Stop::Cancelled
    }
}

/// The result of an action; an error ends the lesson.
pub type Flow<T = ()> = Result<T, Stop>;

/// The id of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool(String);

/// The option the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

impl Choice {
    /// Returns the option's kind, which is its id as well.
    fn kind(self) -> &'static str {
        match self {
            Choice::AllowOnce => "allow_once",
            Choice::AllowAlways => "allow_always",
            Choice::RejectOnce => "reject_once",
            Choice::RejectAlways => "reject_always",
        }
    }
}

/// One running turn of a session.
pub struct Turn<'a> {
    wire: &'a Wire,
    session: &'a str,
    open: Vec<Tool>,
}

impl<'a> Turn<'a> {
    pub fn new(wire: &'a Wire, session: &'a str) -> Self {
        Self {
            wire,
            session,
            open: Vec::new(),
        }
    }

    /// Gives access to the session's state.
    pub fn session<T: Default>(&self, look: impl FnOnce(&mut Session) -> T) -> T {
        self.wire.with(self.session, look)
    }

    pub fn cwd(&self) -> PathBuf {
        self.session(|session| session.cwd.clone())
    }

    /// Returns whether the client reads and whether it writes files.
    pub fn abilities(&self) -> (bool, bool) {
        self.wire.abilities()
    }

    /// Returns whether the client runs commands.
    pub fn runs_commands(&self) -> bool {
        self.wire.runs_commands()
    }

    /// Streams a message in markdown, word by word.
    pub fn say(&self, text: &str) -> Flow {
        self.stream("agent_message_chunk", text)
    }

    /// Streams a thought, word by word.
    pub fn think(&self, text: &str) -> Flow {
        self.stream("agent_thought_chunk", text)
    }

    fn stream(&self, kind: &str, text: &str) -> Flow {
        for word in words(text) {
            self.beat(1)?;
            let content = json!({"type": "text", "text": word});
            self.update(&json!({"sessionUpdate": kind, "content": content}));
        }
        Ok(())
    }

    /// Pauses for as long as streaming this many words takes.
    pub fn beat(&self, words: u32) -> Flow {
        self.wire.pause(self.session, self.time(words))?;
        Ok(())
    }

    /// Returns the time that streaming this many words takes.
    pub fn time(&self, words: u32) -> Duration {
        let time = self.wire.delay.checked_mul(words);
        time.unwrap_or(Duration::MAX)
    }

    pub fn title(&self, title: &str) {
        self.update(&json!({"sessionUpdate": "session_info_update", "title": title}));
    }

    /// Sends a plan whose first `done` entries are completed and whose next one is in progress.
    pub fn plan(&self, entries: &[(&str, &str)], done: usize) {
        let entries: Vec<Value> = entries
            .iter()
            .enumerate()
            .map(|(i, (content, priority))| {
                let status = match i.cmp(&done) {
                    std::cmp::Ordering::Less => "completed",
                    std::cmp::Ordering::Equal => "in_progress",
                    std::cmp::Ordering::Greater => "pending",
                };
                json!({"content": content, "priority": priority, "status": status})
            })
            .collect();
        self.update(&json!({"sessionUpdate": "plan", "entries": entries}));
    }

    /// Announces a tool call; `fields` are more fields of ACP's `ToolCall`.
    pub fn tool(&mut self, title: &str, kind: &str, fields: Value) -> Tool {
        let number = self.session(|session| {
            session.tools += 1;
            session.tools
        });
        let tool = Tool(format!("{}-call-{number}", self.session));
        let mut update = Map::from_iter([
            ("sessionUpdate".to_owned(), json!("tool_call")),
            ("toolCallId".to_owned(), json!(tool.0)),
            ("title".to_owned(), json!(title)),
            ("kind".to_owned(), json!(kind)),
            ("status".to_owned(), json!("pending")),
        ]);
        if let Value::Object(fields) = fields {
            update.extend(fields);
        }
        self.update(&Value::Object(update));
        self.open.push(tool.clone());
        tool
    }

    /// Updates fields of a tool call.
    pub fn tool_update(&mut self, tool: &Tool, fields: Value) {
        let status = fields.get("status").and_then(Value::as_str);
        if matches!(status, Some("completed" | "failed")) {
            self.open.retain(|open| open != tool);
        }
        let mut update = Map::from_iter([
            ("sessionUpdate".to_owned(), json!("tool_call_update")),
            ("toolCallId".to_owned(), json!(tool.0)),
        ]);
        if let Value::Object(fields) = fields {
            update.extend(fields);
        }
        self.update(&Value::Object(update));
    }

    /// Ends a tool call with a status and a text about the outcome.
    pub fn tool_end(&mut self, tool: &Tool, status: &str, text: &str) {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        self.tool_update(tool, json!({"status": status, "content": content}));
    }

    /// Adds a last text to a tool call without changing its status: the client marks the tool
    /// calls of a cancelled turn itself.
    pub fn tool_stop(&mut self, tool: &Tool, text: &str) {
        self.open.retain(|open| open != tool);
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        self.tool_update(tool, json!({"content": content}));
    }

    /// Asks for permission with these options; the outcome `cancelled` ends the turn.
    pub fn permission(
        &self,
        tool: &Tool,
        fields: Value,
        offered: &[(Choice, &str)],
    ) -> Flow<Choice> {
        let mut call = Map::from_iter([("toolCallId".to_owned(), json!(tool.0))]);
        if let Value::Object(fields) = fields {
            call.extend(fields);
        }
        let options: Vec<Value> = offered
            .iter()
            .map(|(choice, name)| {
                let kind = choice.kind();
                json!({"optionId": kind, "name": name, "kind": kind})
            })
            .collect();
        let params = json!({"sessionId": self.session, "toolCall": call, "options": options});
        let answer = self
            .wire
            .ask(self.session, "session/request_permission", &params)?;
        let outcome = answer.pointer("/result/outcome").ok_or_else(|| {
            Stop::Failed(format!(
                "I asked for permission and got this answer: {}.",
                error_of(&answer)
            ))
        })?;
        if outcome.get("outcome") == Some(&json!("cancelled")) {
            return Err(Stop::Cancelled);
        }
        let id = outcome.get("optionId").and_then(Value::as_str);
        offered
            .iter()
            .map(|(choice, _)| *choice)
            .find(|choice| Some(choice.kind()) == id)
            .ok_or_else(|| {
                Stop::Failed(format!(
                    "I never offered the option that was chosen: {outcome}."
                ))
            })
    }

    /// Reads a file through the client. The outer error ends the lesson, the inner one is the
    /// client's refusal.
    pub fn read(&self, path: &Path) -> Flow<Result<String, String>> {
        let params = json!({"sessionId": self.session, "path": path});
        let answer = self.wire.ask(self.session, "fs/read_text_file", &params)?;
        let content = answer.pointer("/result/content").and_then(Value::as_str);
        Ok(content.map(str::to_owned).ok_or_else(|| error_of(&answer)))
    }

    /// Writes a file through the client.
    pub fn write(&self, path: &Path, content: &str) -> Flow {
        let params = json!({"sessionId": self.session, "path": path, "content": content});
        let answer = self.wire.ask(self.session, "fs/write_text_file", &params)?;
        if answer.get("error").is_some() {
            let name = path.display();
            let why = error_of(&answer);
            return Err(Stop::Failed(format!("I could not write `{name}`: {why}.")));
        }
        Ok(())
    }

    /// Sends a request about this session and returns its result; a refusal ends the lesson.
    pub fn request(&self, method: &str, params: Value) -> Flow<Value> {
        let mut asked = Map::from_iter([("sessionId".to_owned(), json!(self.session))]);
        if let Value::Object(params) = params {
            asked.extend(params);
        }
        let mut answer = self.wire.ask(self.session, method, &Value::Object(asked))?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => {
                let why = error_of(&answer);
                Err(Stop::Failed(format!(
                    "The client refused `{method}`: {why}."
                )))
            }
        }
    }

    /// Sends the last update of each unfinished tool call.
    pub fn leave(&mut self, stop: &Stop) {
        for tool in std::mem::take(&mut self.open) {
            match stop {
                Stop::Cancelled => self.tool_stop(&tool, "Cancelled."),
                Stop::Failed(_) => self.tool_end(&tool, "failed", "This did not work."),
            }
        }
    }

    fn update(&self, update: &Value) {
        self.wire.update(self.session, update);
    }
}

fn error_of(answer: &Value) -> String {
    answer
        .pointer("/error/message")
        .and_then(Value::as_str)
        .map_or_else(
            || answer.to_string(),
            |why| why.trim_end_matches('.').to_owned(),
        )
}

/// Splits a text after each run of white space.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (_, after) = rest.split_at(word);
        let space = after
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(after.len());
        let (first, after) = rest.split_at(word + space);
        rest = after;
        Some(first).filter(|first| !first.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let got: Vec<&str> = words(text).collect();
        assert_eq!(got, expected);
        assert_eq!(got.concat(), text);
    }

    #[test]
    fn words_keep_their_space() {
        check("", &[]);
        check("one", &["one"]);
        check("one two\n\nthree\n", &["one ", "two\n\n", "three\n"]);
        check("  x", &["  ", "x"]);
        check("für ö", &["für ", "ö"]);
    }
}
