//! Steps of the user in a random story, and the lines they delete on purpose.

use super::*;
use crate::conversation::queue::QueueAction;
use crate::event::{ReviewEvent, SessionEvent, ViewEvent};
use crate::questions::Answer;
use crate::questions::elicitation::ElicitationAnswer;
use crate::questions::rules::{Action, RuleSpec, Rules};
use crate::spine::event::Prompt;
use crate::spine::ids::{QuestionId, QueueId};
use crate::terminals::TerminalEvent;

impl Story {
    /// The agent answers a pending call of the client, or sends an answer to no call.
    pub(super) fn answer(&mut self, at: usize, kind: u8) {
        let agent = self.session().1;
        if self.is_dead(agent) {
            return;
        }
        let calls = &self.w.agents[&agent].calls;
        if calls.is_empty() || kind == 9 {
            let line = r#"{"jsonrpc":"2.0","id":77,"result":{}}"#;
            return self.w.prints(agent, line);
        }
        let method = calls[at % calls.len()].1.clone();
        let result = match (kind, method.as_str()) {
            (0, _) => Err(json!({ "code": -32000, "message": "log in" })),
            (1, _) => Ok(json!({ "odd": true })),
            (2, "session/load" | "session/resume" | "session/new") => {
                Err(json!({ "code": -32603, "message": "no" }))
            }
            (_, "session/prompt") => Ok(json!({ "stopReason": "end_turn" })),
            (_, method) => Ok(self.w.usual_answer(method)),
        };
        self.w.answers(agent, &method, result);
    }

    pub(super) fn user(&mut self, what: &str) {
        let session = self.session().0;
        let questions = &self.w.model.questions;
        let first = questions.iter().find(|open| open.permission().is_some());
        let is_tools = first.is_some_and(|open| open.asker.tool().is_some());
        let id = first.map_or(QuestionId(0), |open| open.id);
        let option = |option: &str| Event::Answer {
            id,
            answer: Answer::Option(option.into()),
        };
        let event = match what {
            "cancel" => Event::Session(SessionEvent::Cancel { session }),
            "stop" => Event::Session(SessionEvent::Stop { session }),
            "restart" => Event::Session(SessionEvent::Restart { session }),
            "yes" if is_tools => option("allow"),
            "always" if is_tools => option("always"),
            "yes" | "always" => option("y"),
            "odd" => option("?"),
            "tell" | "decline" => {
                let first = questions.iter().find(|open| open.permission().is_none());
                Event::Answer {
                    id: first.map_or(QuestionId(0), |open| open.id),
                    answer: Answer::Elicitation(match what {
                        "tell" => ElicitationAnswer::Accept(Default::default()),
                        _ => ElicitationAnswer::Decline,
                    }),
                }
            }
            "frame" => FRAME,
            "watch" | "unwatch" => Event::Terminal(TerminalEvent::Shown {
                terminal: TerminalKey(1),
                is_shown: what == "watch",
            }),
            "kill" => Event::Terminal(TerminalEvent::Kill {
                terminal: TerminalKey(1),
            }),
            "go" => Event::View(ViewEvent::QuestionWanted { session }),
            "folds" => Event::View(ViewEvent::FoldsWanted { session }),
            "open" => {
                self.sessions += 1;
                return self.w.opens(self.sessions, "bot");
            }
            "open old" | "open first" => {
                self.sessions += 1;
                let id = if what == "open old" { "old" } else { "s1" };
                return self.w.reopens(self.sessions, "bot", id);
            }
            "close" => Event::Session(SessionEvent::Close { session }),
            "rules" => ruled(&[
                rule(Action::Allow, FILES[0]),
                rule(Action::Reject, FILES[1]),
            ]),
            "no rules" => ruled(&[]),
            "interrupt" => Event::Session(SessionEvent::Interrupt {
                session,
                prompt: Prompt {
                    text: "stop".into(),
                    ..Prompt::default()
                },
            }),
            "edit queued" | "remove queued" | "move queued" | "send queued" => {
                Event::Session(SessionEvent::Queued {
                    session,
                    id: self.waiting(session),
                    action: match what {
                        "edit queued" => QueueAction::Edit,
                        "remove queued" => QueueAction::Remove,
                        "move queued" => QueueAction::Move(1),
                        _ => QueueAction::SendNow,
                    },
                })
            }
            "prompt" => return self.w.prompts_in(session, "do **it**"),
            "accept" | "reject" | "accept row" | "reject row" => return self.review(what),
            "accept turn" | "reject turn" | "undo turn" | "turn back" | "list undo" => {
                return self.turns(what);
            }
            other => panic!("the user does not {other}"),
        };
        self.w.happens(event);
    }

    /// Returns the oldest queued prompt, or an unknown id.
    fn waiting(&self, session: SessionKey) -> QueueId {
        let session = self.w.model.conversation.session(session);
        let waiting =
            session.and_then(|session| session.queue().infos().first().map(|info| info.id));
        waiting.unwrap_or(QueueId(0))
    }

    pub(super) fn turns(&mut self, what: &str) {
        let session = None;
        let turn = |action| {
            Event::Review(ReviewEvent::Decide {
                action,
                scope: Scope::Turn { session },
            })
        };
        let undo = |step| Event::Review(ReviewEvent::UndoTurn { session, step });
        let event = match what {
            "accept turn" => turn(ReviewAction::Accept),
            "reject turn" => turn(ReviewAction::Reject),
            "undo turn" => undo(UndoStep::Undo(None)),
            "turn back" => undo(UndoStep::Back),
            _ => Event::View(ViewEvent::List(ListEvent::Undo)),
        };
        self.decided(event);
    }

    fn review(&mut self, what: &str) {
        let action = match what.starts_with("accept") {
            true => ReviewAction::Accept,
            false => ReviewAction::Reject,
        };
        let scope = match (self.buf(0), what.ends_with("row")) {
            (Some(buf), true) => Scope::Hunk { buf, row: 2 },
            _ => Scope::All,
        };
        self.decided(Event::Review(ReviewEvent::Decide { action, scope }));
    }

    /// Returns the lines, by file, that proposals would delete and the user has not decided about.
    fn proposed(&self) -> BTreeSet<(usize, String)> {
        let files = self.w.model.workspace.proposals().files();
        let lines = files.flat_map(|(_, _, proposal)| {
            let number = FILES
                .iter()
                .position(|file| proposal.path == PathBuf::from(file));
            let pending = proposal.hunks.iter().filter(|hunk| hunk.choice.is_none());
            let lines = pending.flat_map(|hunk| hunk.old.clone());
            // The link is another name of the first file.
            lines.map(move |line| (number.unwrap_or(0), line))
        });
        lines.collect()
    }

    /// The user decides about agents' changes in any file.
    fn decided(&mut self, event: Event) {
        let accept = ReviewAction::Accept;
        let accepts = matches!(&event, Event::Review(ReviewEvent::Decide { action, .. }) if *action == accept);
        self.has_accepted |= accepts;
        let proposed = self.proposed();
        self.decides(event);
        if accepts {
            // The agent's write will delete them, as the user has accepted.
            for (file, line) in proposed.difference(&self.proposed()) {
                self.typed.entry(*file).or_default().remove(line);
            }
        }
    }

    fn decides(&mut self, event: Event) {
        let lines = Self::base_lines;
        self.willed(0, lines, |life| {
            life.willed(1, lines, |life| {
                life.willed(2, lines, |life| {
                    life.w.happens(event);
                })
            })
        });
    }

    pub(super) fn buffer(&mut self, file: usize, what: &str) {
        let path = PathBuf::from(FILES[file]);
        if what == "open" {
            if self.w.disk.broken.contains(&path) {
                return;
            }
            self.w
                .edits(|editor, disk, out| editor.open(&path, disk, out));
            return;
        }
        let Some(buf) = self.buf(file) else { return };
        let act = |life: &mut Self| {
            life.w.edits(|editor, disk, out| match what {
                "undo" => editor.travels(buf, Travel::Undo, out),
                "redo" => editor.travels(buf, Travel::Redo, out),
                "save" => editor.saves(buf, disk, out),
                "reload" => editor.reloads(buf, disk, out),
                "tick" => editor.ticks(buf, out),
                "wipe" => {
                    editor.saves(buf, disk, out);
                    if !editor.buffers[&buf].modified {
                        editor.wipes(buf, out);
                    }
                }
                other => panic!("a buffer has no {other}"),
            });
        };
        match what {
            // What others wrote comes back on top of it.
            "save" | "wipe" => act(self),
            _ => self.willed(file, Self::buffer_lines, act),
        }
    }
}

/// Replaces the user's rules for permissions.
fn ruled(rules: &[RuleSpec]) -> Event {
    Event::Configure {
        limits: Default::default(),
        preview: Default::default(),
        accept_allowed: false,
        feedback: Default::default(),
        follow: Default::default(),
        rules: Rules::new(rules, "/home/me".as_ref()).expect("they are right"),
    }
}

fn rule(action: Action, path: &str) -> RuleSpec {
    RuleSpec {
        agent: None,
        kinds: Some(vec!["edit".into(), "other".into()]),
        paths: vec![path.into()],
        commands: Vec::new(),
        action,
    }
}
