//! The row of loading a session: an agent replays 100 MB of conversation.
//!
//! The floor cannot load sessions; it gets the same data as the answer to a prompt.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::client::{Client, Script, end, gate};
use crate::harness::Project;
use crate::probe;
use crate::rows::Measured;

/// Number of prompts, each answered by [`ANSWER`] bytes.
const TURNS: usize = 1600;

const ANSWER: usize = 64 << 10;

fn conversation() -> Json {
    let answer = json!({"big_say": {"bytes": ANSWER, "kind": "mixed", "chunk": 4096}});
    let tool = json!({"tool": {"id": "t${i}", "title": "Read file ${i}", "kind": "read",
        "status": "completed"}});
    json!({"repeat": TURNS, "do": [{"echo": "ask ${i}"}, answer, tool]})
}

/// Returns the main thread's CPU time, its longest busy period, and the additional memory of
/// Neovim.
pub fn load(client: Client) -> Measured {
    let chat = match client {
        Client::Ours => {
            let load = [
                json!({"defaults": {"initialize": {"agentCapabilities": {"loadSession": true}}}}),
                json!({"expect": "session/load", "as": "l"}),
                gate("go"),
                conversation(),
                end("load"),
                json!({"reply": "l", "result": {}}),
            ];
            let lines: Vec<String> = load.iter().map(Json::to_string).collect();
            let chat = client.start(Project::new().agent("bench", &lines.join("\n")));
            let open = "require('acp').open({ session_id = 'old' })";
            chat.nvim.lua(open, ());
            chat
        }
        Client::Floor => {
            let steps = [conversation(), end("load")];
            client.chat(Project::new(), &Script::new(steps))
        }
    };
    let pid = chat.nvim.pid();
    let (before, memory) = (probe::rest(pid), probe::peak_memory_mb(pid));
    chat.go();
    let mut longest = Duration::ZERO;
    chat.wait("the end", || {
        longest = longest.max(chat.longest_answer());
        chat.nvim.screen().has("END-OF-load")
    });
    let cost = probe::rest(pid) - before;
    let memory = probe::peak_memory_mb(pid) - memory;
    let values = [cost, longest.as_secs_f64() * 1000.0, memory];
    chat.measured(values)
}
