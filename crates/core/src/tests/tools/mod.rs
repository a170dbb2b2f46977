//! Neovim's own tools: the invariants of each call, and the verbs of their tests.

mod asks;
mod calls;
mod cancel;
mod offering;
mod twins;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::world::{S1, World, spec};
use crate::conversation::reach::Reach;
use crate::event::{Event, SessionEvent, ToolEvent};
use crate::model::Model;
use crate::questions::Answer;
use crate::spine::effect::{Announcement, EditorEffect, Effect, HostEffect};
use crate::spine::event::Origin;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::{Door, Progress, ToolAsk, ToolPermission, ToolResult, ToolSpec};

/// Tracks calls and checks the invariants: each is answered once, and runs only if permitted.
#[derive(Debug, Default)]
pub struct Calls {
    used: BTreeMap<ToolUseId, (SessionKey, String)>,
    answered: BTreeSet<ToolUseId>,
    ran: BTreeSet<ToolUseId>,
    complete: BTreeSet<ToolUseId>,
    told: BTreeSet<(ToolUseId, u32)>,
    /// The calls the user has allowed.
    allowed: BTreeSet<ToolUseId>,
    always: BTreeSet<(SessionKey, String)>,
    /// The sessions in which the user has allowed a request of an agent.
    agents: BTreeSet<SessionKey>,
    permissions: BTreeMap<String, ToolPermission>,
    off: BTreeSet<String>,
    /// The tokens by which agents may connect.
    pub tokens: Vec<(SessionKey, String)>,
}

impl Calls {
    /// Notes that a call is complete, or will never be.
    pub fn uses(&mut self, id: ToolUseId) {
        self.complete.insert(id);
    }

    pub fn is_used(&self, id: ToolUseId) -> bool {
        self.complete.contains(&id)
    }

    /// Returns whether a handler runs, from the editor's view.
    pub fn runs(&self, id: ToolUseId) -> bool {
        self.ran.contains(&id)
    }

    /// Records an event.
    pub fn happens(&mut self, model: &Model, event: &Event) {
        match event {
            Event::Tool(ToolEvent::Defined(all)) => {
                self.off = all
                    .iter()
                    .filter(|tool| !tool.is_on)
                    .map(|tool| tool.name.clone())
                    .collect();
                self.permissions = all
                    .iter()
                    .map(|tool| (tool.name.clone(), tool.permission))
                    .collect();
            }
            Event::Tool(ToolEvent::Switched { name, on }) => {
                match on {
                    true => self.off.remove(name),
                    false => self.off.insert(name.clone()),
                };
            }
            Event::Tool(ToolEvent::Used {
                id,
                session,
                name,
                arguments: Ok(_),
            }) => {
                self.used.insert(*id, (*session, name.clone()));
            }
            Event::Answer {
                id,
                answer: Answer::Option(option),
            } => {
                let Some(open) = model.questions.get(*id) else {
                    return;
                };
                match (open.asker.tool(), &**option) {
                    (Some(tool), "allow" | "always") => {
                        self.allowed.insert(tool);
                        if option == "always" {
                            self.always.insert(self.used[&tool].clone());
                        }
                    }
                    (None, "y") => {
                        self.agents.insert(open.session);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Checks the effects of an event.
    pub fn comes_of_it(&mut self, effects: &[Effect]) {
        let is_ruled = |effect: &Effect| {
            let Effect::Editor(EditorEffect::Emit(told)) = effect else {
                return false;
            };
            let Announcement::PermissionAnswered { option, rule, .. } = told else {
                return false;
            };
            rule.is_some() && option.as_deref() == Some("allow")
        };
        for effect in effects {
            match effect {
                Effect::Host(HostEffect::AnswerTool { id, .. }) => {
                    assert!(self.used.contains_key(id), "{id:?} is not complete");
                    assert!(self.answered.insert(*id), "{id:?} is answered twice");
                }
                Effect::Editor(EditorEffect::RunTool { id, name, .. }) => {
                    let known = &self.used[id];
                    let is_on = !self.off.contains(name);
                    let permission = self.permissions.get(name).filter(|_| is_on);
                    let may = match permission {
                        Some(ToolPermission::Allow) => true,
                        Some(ToolPermission::Ask) => {
                            self.allowed.contains(id)
                                || self.always.contains(known)
                                || self.agents.contains(&known.0)
                                || effects.iter().any(is_ruled)
                        }
                        Some(ToolPermission::Reject) | None => false,
                    };
                    assert!(may, "nobody has let {id:?} run");
                    assert!(!self.answered.contains(id), "{id:?} runs too late");
                    assert!(self.ran.insert(*id), "{id:?} runs twice");
                }
                Effect::Editor(EditorEffect::StopTool { id }) => {
                    assert!(self.ran.contains(id), "{id:?} does not run");
                }
                Effect::Editor(EditorEffect::ToolAnswer { id, number, .. }) => {
                    assert!(
                        self.told.insert((*id, *number)),
                        "{id:?} hears {number} twice"
                    );
                }
                _ => {}
            }
        }
    }

    /// Checks that every complete call is answered, unless it is open.
    pub fn check(&self, model: &Model, when: &str) {
        for id in self.used.keys() {
            let is_open = model.tools.is_open(*id);
            assert_eq!(self.answered.contains(id), !is_open, "{id:?} {when}");
        }
    }
}

/// Returns a host effect about tools as one line.
pub fn host_in_short(effect: &HostEffect) -> String {
    match effect {
        HostEffect::OfferTools(all) => {
            let names: Vec<&str> = all.iter().map(|tool| &*tool.name).collect();
            format!("offer {}", names.join(" "))
        }
        HostEffect::AdmitToTools { session, .. } => format!("admit {}", session.0),
        HostEffect::ShutOutOfTools { session } => format!("shut out {}", session.0),
        HostEffect::AnswerTool { id, result } => {
            let how = if result.is_error { "fails" } else { "is done" };
            let text = result.content.iter().filter_map(|one| one["text"].as_str());
            let text: Vec<&str> = text.collect();
            format!("tool {} {how}: {}", id.0, text.join("|"))
        }
        HostEffect::ReportTool { id, progress } => {
            let Progress {
                done,
                total,
                message,
            } = progress;
            let total = total.map(|total| format!("/{total}")).unwrap_or_default();
            let message = message.as_deref().unwrap_or_default();
            format!("tool {} reports {done}{total} {message}", id.0)
        }
        other => format!("{other:?}"),
    }
}

/// Returns an editor effect about a call as one line.
pub fn editor_in_short(effect: &EditorEffect) -> Option<String> {
    Some(match effect {
        EditorEffect::RunTool {
            id,
            session,
            name,
            arguments,
            ..
        } => {
            let arguments = Value::Object(arguments.clone());
            format!("run {} {name} {arguments} for {}", id.0, session.0)
        }
        EditorEffect::ToolAnswer { id, number, result } => match result {
            Ok(value) => format!("tool {} gets {number}: {value}", id.0),
            Err(why) => format!("tool {} gets {number}, not: {why}", id.0),
        },
        EditorEffect::StopTool { id } => format!("stop {}", id.0),
        _ => return None,
    })
}

/// A tool with this name and permission.
pub fn tool(name: &str, permission: ToolPermission) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        title: Some(format!("The {name}")),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        is_read_only: false,
        permission,
        is_on: true,
        limit_ms: Some(1000),
        kind: "other".into(),
        is_builtin: false,
    }
}

/// One tool that may be called, one that asks the user, one that is rejected.
pub fn tools() -> Vec<ToolSpec> {
    vec![
        tool("look", ToolPermission::Allow),
        tool("change", ToolPermission::Ask),
        tool("never", ToolPermission::Reject),
    ]
}

pub fn door() -> Door {
    Door {
        socket: "/run/mcp.sock".into(),
        proxy: Some("/lib/acp-mcp".into()),
        secret: [7; 32],
    }
}

/// A variant of a test: its name and its steps.
type Story = (&'static str, fn(&mut World));

fn id(number: u64) -> ToolUseId {
    ToolUseId(number)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

impl World {
    /// Defines tools; sessions opened from now on can reach them.
    pub fn has_tools(&mut self) {
        self.happens(Event::Tool(ToolEvent::Door(door())));
        self.happens(Event::Tool(ToolEvent::Defined(tools())));
    }

    /// Opens a session whose agent is offered the tools.
    fn opens_with_tools(&mut self, session: u32) {
        self.opens_reaching(session, true);
    }

    fn opens_reaching(&mut self, session: u32, tools: bool) {
        self.happens(Event::Session(SessionEvent::Open {
            session: SessionKey(session),
            spec: Box::new(spec("bot")),
            roots: vec!["/p".into()],
            project: "/p".into(),
            origin: Origin::New,
            reach: Reach {
                tools,
                ..Reach::default()
            },
        }));
    }

    /// A world in which the session 1 reaches the tools, and a turn runs.
    fn with_tools() -> Self {
        let mut w = Self::new();
        w.has_tools();
        w.opens_with_tools(1);
        w.prompts("hi");
        w.skip();
        w
    }

    fn begins(&mut self, number: u64, name: &str) {
        self.happens(Event::Tool(ToolEvent::Begun {
            id: id(number),
            session: S1,
            name: name.into(),
        }));
    }

    fn uses(&mut self, number: u64, name: &str, arguments: Value) {
        self.happens(Event::Tool(ToolEvent::Used {
            id: id(number),
            session: S1,
            name: name.into(),
            arguments: Ok(object(arguments)),
        }));
    }

    fn tool_is_done(&mut self, number: u64, text: &str) {
        let (id, result) = (id(number), ToolResult::text(text));
        self.happens(Event::Tool(ToolEvent::Done { id, result }));
    }

    fn tool_asks(&mut self, tool: u64, number: u32, ask: ToolAsk) {
        let id = id(tool);
        self.happens(Event::Tool(ToolEvent::Asked { id, number, ask }));
    }
}
