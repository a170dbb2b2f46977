//! The world around a model: it carries out every effect and returns the result as an event.
//!
//! Tests call verbs (see [`super::verbs`]); visible results go into a log that the test compares
//! ([`World::saw`]). Usually all pending work is done before a verb returns; [`World::holds`] keeps
//! a part of the world from moving, so that other things happen in between.
//!
//! Invariants checked at each event: at most one wake-up is pending, base + hunks = current, a
//! reviewed buffer's text is its ledger's current text, and the snapshot contains everything
//! announced. When a world ends: nothing is dirty, the screen shows the model, every request of an
//! agent has had exactly one response.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::{Agent, Life};
use super::disk::Disk;
use super::editor::Editor;
use super::pty::Pty;
use super::records::Records;
use super::shadow::Shadow;
use super::tools::{self, Calls};
use crate::code::Code;
use crate::conversation::clock::SILENCE_MS;
use crate::conversation::session::Session;
use crate::event::{AgentEvent, ConversationEvent, Event, ProjectEvent, ViewEvent};
use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Announcement, EditorEffect, Effect, HostEffect};
use crate::spine::event::{AgentSpec, Stamp};
use crate::spine::history::Granted;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::pending::{Token, reply};
use crate::spine::project::KeptReview;
use crate::spine::view::FrameSize;
use crate::terminals::Output;
use crate::update::{is_streamed, update};
use acp::rpc;

/// The editor requests a frame while the user does not type.
pub const FRAME: Event = Event::View(ViewEvent::FrameWanted {
    output: Output::Much,
    size: FrameSize(64 * 1024),
});

/// A part of the world that can be kept from moving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Editor,
    Disk,
    /// Checkpoints.
    Shadow,
    /// The watcher: the shadow's looks at the disk.
    Watcher,
    /// Agents' own actions: answers to `initialize` and `session/new`, their exits.
    Agents,
    /// The highlighting of code.
    Colours,
    /// Starts and kills of commands in terminals.
    Terminals,
    /// The core continues a frame only in [`World::goes_on`].
    Frames,
}

#[derive(Debug)]
pub struct World {
    pub model: Model,
    pub editor: Editor,
    pub disk: Disk,
    pub shadow: Shadow,
    pub pty: Pty,
    pub records: Records,
    /// Replies to requests to the history, by number.
    pub granted: BTreeMap<u32, Granted>,
    pub agents: BTreeMap<AgentKey, Agent>,
    pub to_core: VecDeque<Event>,
    pub to_editor: VecDeque<EditorEffect>,
    pub timers: VecDeque<Token<reply::Timer>>,
    /// The prompt capabilities that agents report.
    pub capabilities: Value,
    /// Pending reads for prompts; the test sends their results.
    pub images: Vec<Token<reply::ImageRead>>,
    pub diffs: Vec<Token<reply::DiffRead>>,
    /// Code to highlight.
    pub to_highlight: VecDeque<(Token<reply::Highlighted>, Code)>,
    /// Paths to resolve.
    to_resolve: VecDeque<(Token<reply::Resolved>, Vec<PathBuf>)>,
    held: Vec<Part>,
    /// Agents go on to replay a conversation after their answer, until time passes.
    pub tells_late: bool,
    pub log: Vec<String>,
    /// All announcements.
    pub announced: Vec<Announcement>,
    /// Every event and effect, if a test compares them.
    pub journal: Option<Vec<String>>,
    /// The reviews the host keeps.
    pub kept: Vec<KeptReview>,
    /// The files whose versions in the user's repository the host reports.
    pub asked: BTreeSet<PathBuf>,
    /// The stamps of the user's saves that the host received.
    pub saved: Vec<Stamp>,
    /// The files the host watches.
    pub tracked: Vec<PathBuf>,
    /// Agents' abilities with sessions, as in `initialize`.
    pub abilities: Value,
    /// Updates that agents send when they load a session, by session id.
    pub told: BTreeMap<String, Vec<Value>>,
    /// State of the calls of Neovim's tools.
    pub calls: Calls,
    /// Events that stream in are settled together.
    pub batch: bool,
    wakes: usize,
    sessions: u32,
}

/// The session of most tests.
pub const S1: SessionKey = SessionKey(1);
/// The agent of most tests.
pub const A1: AgentKey = AgentKey(1);

pub fn spec(name: &str) -> AgentSpec {
    AgentSpec {
        name: name.into(),
        command: format!("/bin/{name}"),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/p".into(),
        missing_is_empty: false,
        defaults: Default::default(),
        awaits_remembered: false,
    }
}

impl World {
    /// Returns a session that is open.
    pub fn session(&self, key: SessionKey) -> &Session {
        let session = self.model.conversation.session(key);
        session.expect("the session is open")
    }

    /// A new world without events.
    pub fn new() -> Self {
        Self {
            model: Model::default(),
            editor: Editor::default(),
            disk: Disk::default(),
            shadow: Shadow::default(),
            pty: Pty::default(),
            records: Records::default(),
            granted: BTreeMap::new(),
            agents: BTreeMap::new(),
            to_core: VecDeque::new(),
            to_editor: VecDeque::new(),
            timers: VecDeque::new(),
            capabilities: json!({ "embeddedContext": true }),
            images: Vec::new(),
            diffs: Vec::new(),
            to_highlight: VecDeque::new(),
            to_resolve: VecDeque::new(),
            held: Vec::new(),
            tells_late: false,
            log: Vec::new(),
            announced: Vec::new(),
            journal: None,
            kept: Vec::new(),
            asked: BTreeSet::new(),
            saved: Vec::new(),
            tracked: Vec::new(),
            abilities: json!({}),
            told: BTreeMap::new(),
            calls: Calls::default(),
            batch: true,
            wakes: 0,
            sessions: 0,
        }
    }

    /// A world in which the session 1 is ready for a prompt.
    pub fn ready() -> Self {
        let mut world = Self::new();
        world.opens(1, "bot");
        world.log.clear();
        world
    }

    /// Returns the Neovim after this one, with a session in the project: it knows the disk and the
    /// stored reviews.
    pub fn next_neovim(&self) -> Self {
        let mut next = Self::new();
        next.disk = self.disk.left();
        next.opens(1, "bot");
        next.kept.clone_from(&self.kept);
        let (root, mut files) = (PathBuf::from("/p"), self.kept.clone());
        next.disk.recognise(&mut files);
        next.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        next
    }

    // Events and their consequences.

    /// Applies an event, and lets the world react.
    pub fn happens(&mut self, event: Event) {
        self.to_core.push_back(event);
        self.settle();
    }

    /// Keeps a part of the world from moving until [`World::goes_on`].
    pub fn holds(&mut self, part: Part) {
        self.held.push(part);
    }

    pub fn goes_on(&mut self) {
        self.held.clear();
        self.settle();
    }

    /// Runs until no work is pending.
    pub fn settle(&mut self) {
        for _ in 0..50_000 {
            if !self.moves() {
                return;
            }
        }
        panic!("the world does not come to rest");
    }

    fn moves(&mut self) -> bool {
        if let Some(event) = self.to_core.pop_front() {
            self.apply(event);
            return true;
        }
        if self.model.view.is_composing() && !self.held.contains(&Part::Frames) {
            self.apply(Event::View(ViewEvent::FrameSlice));
            return true;
        }
        self.moves_if(Part::Agents, Self::agents_move)
            || self.moves_if(Part::Disk, Self::disk_moves)
            || self.moves_if(Part::Editor, Self::editor_moves)
            || self.moves_if(Part::Colours, Self::highlights)
            || self.moves_if(Part::Terminals, Self::pty_moves)
            || self.moves_if(Part::Shadow, Self::shadow_moves)
            || self.moves_if(Part::Watcher, Self::watches)
    }

    fn moves_if(&mut self, part: Part, moves: fn(&mut Self) -> bool) -> bool {
        !self.held.contains(&part) && moves(self)
    }

    /// Takes a checkpoint, or reports one.
    fn shadow_moves(&mut self) -> bool {
        if let Some(event) = self.shadow.tells() {
            self.to_core.push_back(event);
            return true;
        }
        self.shadow.checks(&mut self.disk)
    }

    /// Looks at the disk; returns whether anything changed.
    fn watches(&mut self) -> bool {
        self.shadow.looks(&mut self.disk);
        let event = self.shadow.tells();
        let is_new = event.is_some();
        self.to_core.extend(event);
        is_new
    }

    fn disk_moves(&mut self) -> bool {
        if self.resolves() {
            return true;
        }
        let path = self.disk.busy().into_iter().next();
        let event = path.and_then(|path| self.disk.work(&path));
        let moved = event.is_some();
        self.to_core.extend(event);
        moved
    }

    /// Starts a command, or ends a killed one.
    pub fn pty_moves(&mut self) -> bool {
        let event = self.pty.moves();
        let moved = event.is_some();
        self.to_core.extend(event);
        moved
    }

    /// Carries out the next effect on the main thread.
    pub fn editor_moves(&mut self) -> bool {
        let Some(effect) = self.to_editor.pop_front() else {
            return false;
        };
        let mut out = Vec::new();
        match effect {
            EditorEffect::Wake if self.editor.is_asking => {}
            EditorEffect::Wake => {
                self.editor.is_asking = true;
                out.push(FRAME);
            }
            EditorEffect::Frame(frame) => self.editor.shows(frame, &mut out),
            EditorEffect::ShowWhole(view) => self.editor.whole = Some(view),
            EditorEffect::Edit {
                token,
                buf,
                tick,
                edits,
                save,
                ..
            } => {
                let job = (token, buf, tick);
                self.editor
                    .edit(job, &edits, save, &mut self.disk, &mut out);
            }
            EditorEffect::AskUndo { turn, view } => self.editor.asked = Some((turn, view)),
            EditorEffect::Moved { buf, path } => self.editor.moved(buf, path),
            EditorEffect::Relinked { buf } => self.editor.relinked(buf, &self.disk, &mut out),
            EditorEffect::PutPrompt { session, prompt } => self.editor.put.push((session, prompt)),
            EditorEffect::Granted { number, granted } => {
                let before = self.granted.insert(number, granted);
                assert!(before.is_none(), "granted twice");
            }
            EditorEffect::Notify { .. }
            | EditorEffect::Queued { .. }
            | EditorEffect::Candidates { .. }
            | EditorEffect::RunTool { .. }
            | EditorEffect::ToolAnswer { .. }
            | EditorEffect::StopTool { .. }
            | EditorEffect::Emit(_)
            | EditorEffect::Deleted { .. } => {}
        }
        self.to_core.extend(out);
        true
    }

    /// Makes agents do what they do without a test's help.
    pub fn agents_move(&mut self) -> bool {
        for (&agent, known) in &mut self.agents {
            if known.life == Life::Leaving {
                known.life = Life::Gone;
                let (status, stderr) = ("exit code 0".to_owned(), Vec::new());
                self.to_core.push_back(Event::Agent(AgentEvent::Exited {
                    agent,
                    status,
                    stderr,
                }));
                return true;
            }
            if known.life == Life::Starting {
                known.life = Life::Alive;
                let pid = 100 + agent.0;
                self.to_core
                    .push_back(Event::Agent(AgentEvent::Started { agent, pid }));
                return true;
            }
            let control = known.calls.iter().find(|call| call.1 != "session/prompt");
            if known.life == Life::Alive
                && let Some((_, method, params)) = control
            {
                let method = method.clone();
                let id = params["sessionId"].as_str().unwrap_or_default();
                let id = id.to_owned();
                if method == "session/load"
                    && let Some(told) = self.told.get(&id).cloned()
                {
                    self.tells_again(agent, &id, &told);
                }
                let result = self.usual_answer(&method);
                self.answers(agent, &method, Ok(result));
                return true;
            }
        }
        false
    }

    /// An agent sends updates of a session.
    pub fn tells_again(&mut self, agent: AgentKey, id: &str, updates: &[Value]) {
        for update in updates {
            let params = json!({ "sessionId": id, "update": update });
            let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
            for message in rpc::decode(line.to_string().as_bytes()) {
                self.to_core
                    .push_back(Event::Agent(AgentEvent::Message { agent, message }));
            }
        }
    }

    /// Returns the usual answer of an agent.
    pub fn usual_answer(&mut self, method: &str) -> Value {
        match method {
            "initialize" => {
                let mut abilities = self.abilities.clone();
                abilities["promptCapabilities"] = self.capabilities.clone();
                json!({ "protocolVersion": 1, "agentCapabilities": abilities })
            }
            "session/load" | "session/resume" => json!({}),
            "session/list" => json!({ "sessions": [] }),
            "session/close" | "session/delete" => json!({}),
            "session/set_mode" | "session/set_config_option" | "session/set_model" => json!({}),
            _ => {
                self.sessions += 1;
                json!({ "sessionId": format!("s{}", self.sessions) })
            }
        }
    }

    /// Applies one event to the core.
    pub fn apply(&mut self, event: Event) {
        if let Some(journal) = &mut self.journal {
            journal.push(format!("{event:?}"));
        }
        if matches!(event, Event::View(ViewEvent::FrameWanted { .. })) {
            self.wakes = 0;
        }
        self.calls.happens(&self.model, &event);
        let mut effects = Effects::default();
        let (queue, batch) = (&mut self.to_core, self.batch);
        let more = || {
            let is_next = batch && queue.front().is_some_and(is_streamed);
            is_next.then(|| queue.pop_front()).flatten()
        };
        update(&mut self.model, event, &mut effects, more);
        let effects: Vec<Effect> = effects.drain().collect();
        self.calls.comes_of_it(&effects);
        self.check_announced(&effects);
        super::laws::check_model(&self.model);
        for effect in effects {
            self.carries_out(effect);
        }
    }

    /// Carries out an effect in the editor or the host.
    pub fn carries_out(&mut self, effect: Effect) {
        if let Some(journal) = &mut self.journal {
            journal.push(format!("  {effect:?}"));
        }
        match effect {
            Effect::Host(effect) => self.host_does(effect),
            Effect::Editor(effect) => {
                match &effect {
                    EditorEffect::Wake => {
                        self.wakes += 1;
                        assert!(self.wakes <= 1, "woken twice");
                    }
                    EditorEffect::Notify { level, text } => {
                        self.log.push(format!("{level:?}: {text}"));
                    }
                    EditorEffect::Emit(announcement) => {
                        self.log.extend(in_short(announcement));
                        self.announced.push(announcement.clone());
                    }
                    EditorEffect::RunTool { .. }
                    | EditorEffect::ToolAnswer { .. }
                    | EditorEffect::StopTool { .. } => {
                        self.log.extend(tools::editor_in_short(&effect));
                    }
                    EditorEffect::Queued { session } => {
                        self.log.push(format!("a prompt of {} waits", session.0));
                    }
                    EditorEffect::Granted { .. }
                    | EditorEffect::PutPrompt { .. }
                    | EditorEffect::Candidates { .. }
                    | EditorEffect::AskUndo { .. }
                    | EditorEffect::Frame(_)
                    | EditorEffect::Edit { .. }
                    | EditorEffect::Deleted { .. }
                    | EditorEffect::Relinked { .. }
                    | EditorEffect::ShowWhole(_)
                    | EditorEffect::Moved { .. } => {}
                }
                self.to_editor.push_back(effect);
            }
        }
    }

    pub fn host_does(&mut self, effect: HostEffect) {
        if let HostEffect::AdmitToTools { session, token } = &effect {
            self.calls.tokens.push((*session, token.clone()));
        }
        match effect {
            HostEffect::OfferTools(_)
            | HostEffect::AdmitToTools { .. }
            | HostEffect::ShutOutOfTools { .. }
            | HostEffect::AnswerTool { .. }
            | HostEffect::ReportTool { .. } => self.log.push(tools::host_in_short(&effect)),
            HostEffect::Spawn { agent, spec } => {
                self.log
                    .push(format!("spawn {} as a{}", spec.name, agent.0));
                self.agents.insert(agent, Agent::new());
            }
            HostEffect::Send { agent, line } => {
                let known = self.agents.get_mut(&agent).unwrap();
                if known.life < Life::Gone {
                    let heard = known.hears(&line);
                    self.log.push(format!("a{} <- {heard}", agent.0));
                }
            }
            HostEffect::Shutdown { agent } => {
                self.log.push(format!("shutdown a{}", agent.0));
                let known = self.agents.get_mut(&agent).unwrap();
                known.life = known.life.max(Life::Leaving);
            }
            HostEffect::ReadDisk { ref path, .. }
            | HostEffect::WriteDisk { ref path, .. }
            | HostEffect::DeleteDisk { ref path, .. } => {
                let path = path.clone();
                self.disk.queue(path, effect);
            }
            HostEffect::Resolve { token, paths } => self.to_resolve.push_back((token, paths)),
            // An agent that has answered is silent.
            HostEffect::Timer { token, ms } if ms == SILENCE_MS && !self.tells_late => {
                self.to_core.push_back(Event::Timer { token });
            }
            HostEffect::Timer { token, .. } => self.timers.push_back(token),
            HostEffect::Highlight { token, code } => self.to_highlight.push_back((token, code)),
            HostEffect::OpenProject { root } => self.shadow.opens(root, &mut self.disk),
            HostEffect::CloseProject { root } => {
                self.asked.retain(|path| !path.starts_with(&root));
                self.shadow.closes(&root);
            }
            HostEffect::Checkpoint { token, root, turns } => {
                self.shadow.is_asked(token, &root, turns);
            }
            HostEffect::TurnsAreOver { root } => self.shadow.turns_are_over(&root),
            HostEffect::Restore { ref path, .. } | HostEffect::MoveDisk { from: ref path, .. } => {
                let path = path.clone();
                self.disk.queue(path, effect);
            }
            HostEffect::KeepReviews {
                files, over, saved, ..
            } => {
                self.saved.extend(saved);
                let is_news =
                    |path: &PathBuf| over.contains(path) || files.iter().any(|f| f.path == *path);
                self.kept.retain(|kept| !is_news(&kept.path));
                self.kept.extend(files);
                self.kept.sort_by(|a, b| a.path.cmp(&b.path));
            }
            HostEffect::StartTerminal { terminal, spec } => {
                let cwd = spec.cwd.display();
                self.log.push(format!(
                    "terminal {} runs {} in {cwd}",
                    terminal.0, spec.command
                ));
                self.pty.starts(terminal, spec);
            }
            HostEffect::TerminalInput { terminal, bytes } => self.pty.typed.push((terminal, bytes)),
            HostEffect::ResizeTerminal {
                terminal,
                columns,
                rows,
            } => self.pty.sizes.push((terminal, columns, rows)),
            HostEffect::KillTerminal { terminal } => {
                self.log.push(format!("kill {}", terminal.0));
                self.pty.kills(terminal);
            }
            HostEffect::History(order) => self.to_core.extend(self.records.does(order)),
            HostEffect::Track { paths, .. } => self.tracked.extend(paths),
            HostEffect::ReadImage { token, .. } => self.images.push(token),
            HostEffect::Diff { token, .. } => self.diffs.push(token),
            HostEffect::ListFiles { folder } => {
                let paths = self.disk.states().into_keys();
                let inside =
                    paths.filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_owned()));
                let paths = inside
                    .map(|path| path.display().to_string().into())
                    .collect();
                self.to_core
                    .push_back(Event::Conversation(ConversationEvent::FilesListed {
                        folder,
                        paths,
                    }));
            }
            HostEffect::RecallPrompts { .. } => {}
            HostEffect::KeepPrompt { text, .. } => self.records.prompts.push(text),
            HostEffect::Reviewed { begun, ended, .. } => {
                // Each is sent once, however many there are.
                for path in ended {
                    assert!(self.asked.remove(&path), "{path:?}");
                }
                for path in begun {
                    assert!(self.asked.insert(path.clone()), "{path:?}");
                }
            }
            HostEffect::Look { .. } | HostEffect::Saved { .. } | HostEffect::Log { .. } => {}
        }
    }

    /// Resolves the paths of the oldest request.
    pub fn resolves(&mut self) -> bool {
        let Some((token, paths)) = self.to_resolve.pop_front() else {
            return false;
        };
        let paths = paths.iter().map(|path| self.disk.leads_to(path)).collect();
        self.to_core.push_back(Event::Resolved { token, paths });
        true
    }

    /// Highlights the code that was requested first.
    fn highlights(&mut self) -> bool {
        let Some((token, code)) = self.to_highlight.pop_front() else {
            return false;
        };
        let result = Some(code.highlight());
        self.to_core
            .push_back(Event::View(ViewEvent::Highlighted { token, result }));
        true
    }

    /// Checks that the snapshot published with an announcement contains it.
    fn check_announced(&self, effects: &[Effect]) {
        let announced = effects.iter().filter_map(|effect| match effect {
            Effect::Editor(EditorEffect::Emit(announcement)) => Some(announcement),
            _ => None,
        });
        let announced: Vec<&Announcement> = announced.collect();
        if !announced.is_empty() {
            super::laws::check_announced(&self.model.snapshot(), &announced);
        }
    }
}

/// The end of every test: all pending work is done, and nothing may remain.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.goes_on();
        super::laws::check_rest(self);
    }
}

/// Returns an announcement as one line, or `None` for those that would fill the log.
fn in_short(announcement: &Announcement) -> Option<String> {
    Some(match announcement {
        Announcement::ToolCall { .. }
        | Announcement::PlanChanged { .. }
        | Announcement::QueueChanged { .. }
        | Announcement::TerminalStarted { .. }
        | Announcement::TerminalExited { .. } => return None,
        Announcement::SessionStarted {
            session, is_loaded, ..
        } => {
            let how = if *is_loaded { "is back" } else { "started" };
            format!("session {} {how}", session.0)
        }
        Announcement::LoginNeeded { session, .. } => {
            format!("session {} needs a log-in", session.0)
        }
        Announcement::TurnStarted { session } => format!("turn of {} started", session.0),
        Announcement::TurnEnded {
            session,
            stop_reason,
        } => format!("turn of {} ended: {stop_reason}", session.0),
        Announcement::PermissionRequested { session, id } => {
            format!("permission {id} of {} requested", session.0)
        }
        Announcement::PermissionAnswered {
            session,
            id,
            option,
            rule,
        } => {
            let option = option.as_deref().unwrap_or("-");
            let by = rule.map(|rule| format!(" by rule {rule}"));
            let by = by.unwrap_or_default();
            format!("permission {id} of {} answered{by}: {option}", session.0)
        }
        Announcement::ElicitationRequested { session, id } => {
            format!("question {id} of {} asked", session.0)
        }
        Announcement::ElicitationAnswered {
            session,
            id,
            action,
        } => {
            let action = action.as_deref().unwrap_or("-");
            format!("question {id} of {} answered: {action}", session.0)
        }
        Announcement::ReviewChanged { path, hunks } => {
            format!("review of {}: {hunks}", path.display())
        }
        Announcement::OptionsChanged { session, changed } => {
            format!("options of {}: {}", session.0, changed.join(" "))
        }
        Announcement::AgentExited {
            session, status, ..
        } => format!("agent of {} exited: {status}", session.0),
    })
}
