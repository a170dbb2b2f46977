//! Terminals: requests of agents, entries and windows.

mod entries;
mod requests;
mod windows;

use serde_json::{Value, json};

use super::world::World;
use crate::spine::ids::TerminalKey;

const T1: TerminalKey = TerminalKey(1);

/// A world in which a turn runs and its agent has started a command in `term-1`.
fn running() -> World {
    let mut world = World::ready();
    world.prompts("go");
    world.creates("1", json!({ "command": "make" }));
    world.skip();
    world
}

impl World {
    /// The first agent requests a command.
    fn creates(&mut self, id: &str, mut params: Value) {
        params["sessionId"] = json!("s1");
        self.asks(id, "terminal/create", &params);
    }

    /// The first agent makes a request about a terminal.
    fn asks_of(&mut self, id: &str, what: &str, terminal: &str) {
        let params = json!({ "sessionId": "s1", "terminalId": terminal });
        self.asks(id, &format!("terminal/{what}"), &params);
    }

    fn prints_in(&mut self, terminal: TerminalKey, text: &str) {
        let event = self.pty.prints(terminal, text.as_bytes());
        self.happens(event.expect("it runs"));
    }

    fn ends(&mut self, terminal: TerminalKey, code: u32) {
        let event = self.pty.ends(terminal, code);
        self.happens(event.expect("it runs"));
    }

    /// A tool call of the first session shows a terminal.
    fn shows(&mut self, terminal: &str) {
        self.updates(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Build",
            "kind": "execute",
            "status": "in_progress",
            "content": [{ "type": "terminal", "terminalId": terminal }],
        }));
    }

    /// A tool call sends an update with this `_meta`.
    fn tells(&mut self, tool: &str, meta: Value) {
        self.updates(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": tool,
            "_meta": meta,
        }));
    }

    /// Returns the code and the message of an error.
    fn error(&self, id: &str) -> (i64, String) {
        let error = self.answer(id).as_ref().expect_err("an error");
        let message = error["message"].as_str().unwrap_or_default();
        (error["code"].as_i64().unwrap_or(0), message.to_owned())
    }

    /// Returns the lines of the chat below the tool call's title.
    fn entry(&self) -> Vec<String> {
        let chat = self.chat();
        let mut lines = chat.lines().skip_while(|line| !line.contains("Build"));
        lines.next();
        let lines = lines.map(|line| line.trim().to_owned());
        lines.take_while(|line| !line.is_empty()).collect()
    }
}
