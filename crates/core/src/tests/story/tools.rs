//! Calls of Neovim's tools in a random story.

use super::*;
use crate::conversation::session::Phase;
use crate::event::ToolEvent;
use crate::spine::ids::ToolUseId;
use crate::spine::tool::{Progress, ToolAsk, ToolResult};

impl Story {
    /// An event about the call in one of three slots.
    pub(super) fn tool(&mut self, what: &str, at: u64) {
        let session = self.session().0;
        let found = self.w.model.conversation.session(session);
        if found.is_some_and(|found| found.phase(false) == Phase::Starting) {
            // An agent that still opens a session calls no tool in it.
            return;
        }
        let id = ToolUseId(self.tools[at as usize]);
        let arguments = match at {
            0 => json!({}),
            1 => json!({ "path": FILES[0] }),
            _ => json!({ "path": FILES[1] }),
        };
        let event = match what.split_once(' ') {
            Some(("begin", name)) => {
                self.tools_of[at as usize] = session;
                Event::Tool(ToolEvent::Begun {
                    id: self.new_use(at),
                    session,
                    name: name.into(),
                })
            }
            Some(("use", name)) => {
                // The call that has begun, or a new one.
                let (id, session) = match self.is_used(id) {
                    true => (self.new_use(at), session),
                    false => (id, self.tools_of[at as usize]),
                };
                self.w.calls.uses(id);
                Event::Tool(ToolEvent::Used {
                    id,
                    session,
                    name: if name == "wrongly" { "look" } else { name }.into(),
                    arguments: match (name, arguments.as_object()) {
                        ("wrongly", _) | (_, None) => Err("wrong".into()),
                        (_, Some(arguments)) => Ok(arguments.clone()),
                    },
                })
            }
            _ => match what {
                "give up" => {
                    // The call never runs.
                    self.w.calls.uses(id);
                    Event::Tool(ToolEvent::GivenUp { id })
                }
                "progress" => Event::Tool(ToolEvent::Progressed {
                    id,
                    progress: Progress {
                        done: 1.0,
                        total: None,
                        message: None,
                    },
                }),
                "read" => self.tool_asks(
                    id,
                    // Only a part of the file: the agent does not learn about this read.
                    ToolAsk::Read {
                        path: FILES[0].into(),
                        line: Some(2),
                        limit: Some(1),
                    },
                ),
                "form" => self.tool_asks(
                    id,
                    ToolAsk::Form {
                        message: "?".into(),
                        schema: json!({}),
                    },
                ),
                "done" => {
                    if !self.w.calls.runs(id) {
                        return;
                    }
                    let result = ToolResult::text("done");
                    Event::Tool(ToolEvent::Done { id, result })
                }
                "off" | "on" => Event::Tool(ToolEvent::Switched {
                    name: "change".into(),
                    on: what == "on",
                }),
                "announce" => {
                    return self.update(json!({
                        "sessionUpdate": "tool_call", "toolCallId": format!("t{at}"),
                        "title": "mcp__neovim__change", "rawInput": arguments,
                    }));
                }
                "ask" => {
                    let tool = json!({
                        "toolCallId": format!("t{at}"), "title": "mcp__neovim__change",
                        "rawInput": arguments,
                    });
                    let options = json!([{ "optionId": "y", "name": "Y", "kind": "allow_once" }]);
                    let params = json!({ "toolCall": tool, "options": options });
                    self.ids += 1;
                    self.ask(self.ids, "session/request_permission", params);
                    return;
                }
                other => panic!("a tool does not {other}"),
            },
        };
        self.w.happens(event);
    }

    fn new_use(&mut self, at: u64) -> ToolUseId {
        self.uses += 1;
        self.tools[at as usize] = self.uses;
        ToolUseId(self.uses)
    }

    fn is_used(&self, id: ToolUseId) -> bool {
        id.0 == 0 || self.w.calls.is_used(id)
    }

    fn tool_asks(&mut self, id: ToolUseId, ask: ToolAsk) -> Event {
        self.ids += 1;
        let number = self.ids;
        Event::Tool(ToolEvent::Asked { id, number, ask })
    }

    /// A tool's handler writes a file as the session has seen it, with edits.
    pub(super) fn tool_writes(&mut self, at: u64, file: usize, places: &[(usize, usize, usize)]) {
        let id = ToolUseId(self.tools[at as usize]);
        let key = (self.session().2, file);
        let text = self.w.disk.get(FILES[file]);
        let is_binary = text.is_some_and(|text| text.contains('\0'));
        if !self.w.model.tools.runs_in(id, self.session().0) || is_binary {
            return;
        }
        let Some(lines) = self.changed(&key, places) else {
            return;
        };
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = FILES[file].into();
        let event = self.tool_asks(id, ToolAsk::Write { path, content });
        self.seen.insert(key, lines);
        self.w.happens(event);
    }
}
