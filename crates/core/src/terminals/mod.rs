//! Terminals: the commands agents run here, and the output agents only display.
//!
//! Invariants: every terminal request is answered exactly once, even if the command, its session or
//! its agent ends first; a command ends with its session and its agent; output is kept in bounded
//! memory and reaches the screen only through frames.

mod entries;
mod event;
pub mod info;
mod life;
mod lines;
mod pace;
mod requests;
mod shown;
mod tail;
mod told;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

pub use self::pace::{Pace, TYPING};
pub(crate) use self::requests::Caller;
pub use self::shown::Output;
use self::shown::Shown;
use self::tail::Tail;
use crate::render::plain::Plain;
use crate::spine::event::TerminalExit;
use crate::spine::ids::{AgentKey, SessionKey, TerminalKey};
use crate::terminals::info::TerminalInfo;
use acp::{RequestId, TerminalId, client};
pub(crate) use entries::Showing;
pub use event::TerminalEvent;

/// Default and maximum number of bytes of output an agent can ask for.
const DEFAULT_LIMIT: usize = 1 << 20;
const MAX_LIMIT: usize = 16 << 20;

/// Number of finished terminals that keep their full screen output, and that are kept in total.
const WHOLE: usize = 50;
const KEPT: usize = 500;

/// All terminals.
#[derive(Debug, Default)]
pub struct Terminals {
    all: BTreeMap<TerminalKey, Terminal>,
    names: HashMap<Name, Named>,
    /// Terminals whose transcript entries are stale.
    dirty: BTreeSet<Name>,
    /// Terminals shown in windows.
    shown: BTreeSet<TerminalKey>,
    /// A terminal was added, removed or has ended: lists and window bars are stale.
    has_news: bool,
    /// Maximum amount of terminal output per frame.
    output: Output,
    next: u32,
}

/// A terminal id, which is unique only within its session.
type Name = (SessionKey, TerminalId);

/// The terminal with a given name, and the transcript entries that show it.
#[derive(Debug, Default)]
struct Named {
    terminal: Option<TerminalKey>,
    entries: BTreeSet<usize>,
}

#[derive(Debug)]
pub struct Terminal {
    session: SessionKey,
    id: TerminalId,
    /// This client runs, or has run, a command in it.
    pub(crate) has_process: bool,
    /// The agent process that requested it.
    agent: Option<AgentKey>,
    /// The full command line.
    pub(crate) command: String,
    title: Arc<str>,
    cwd: Arc<Path>,
    state: CommandState,
    pub(crate) plain: Plain,
    tail: Tail,
    /// The pending `terminal/create` request.
    created: Option<RequestId>,
    /// Pending `terminal/wait_for_exit` requests.
    waiters: Vec<RequestId>,
    /// The agent has released it.
    is_released: bool,
    /// It was created in the running turn.
    is_of_turn: bool,
    /// It is killed as soon as it has started.
    is_doomed: bool,
    /// Its output is only the text of the tool call's result, because the agent sent nothing else.
    is_stand_in: bool,
    shown: Option<Shown>,
}

/// The state of a terminal's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// The command is being started.
    Starting,
    Running,
    Exited(TerminalExit),
    /// The command could not be started: a sentence with the next step.
    Failed(String),
}

impl CommandState {
    /// Returns its name.
    pub fn word(&self) -> &'static str {
        match self {
            CommandState::Starting => "starting",
            CommandState::Running => "running",
            CommandState::Exited(_) => "exited",
            CommandState::Failed(_) => "failed",
        }
    }

    /// Returns whether the command has ended or could not be started.
    pub fn is_over(&self) -> bool {
        matches!(self, CommandState::Exited(_) | CommandState::Failed(_))
    }

    /// Returns how the command ended: `exit code 3`, `killed by SIGKILL`, `ended`, or why it could
    /// not be started.
    pub fn end(&self) -> Option<String> {
        match self {
            CommandState::Starting | CommandState::Running => None,
            CommandState::Failed(why) => Some(why.clone()),
            CommandState::Exited(exit) => Some(match (&exit.signal, exit.code) {
                (Some(signal), _) => format!("killed by {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "ended".to_owned(),
            }),
        }
    }

    /// Returns the exit status to send to the agent.
    fn exit(&self) -> Option<client::Exit<'_>> {
        match self {
            CommandState::Exited(exit) => Some(client::Exit {
                code: exit.code,
                signal: exit.signal.as_deref(),
            }),
            _ => None,
        }
    }
}

impl Terminal {
    /// Returns a terminal without a process; `limit` bounds the output the agent can ask for.
    fn new(session: SessionKey, id: TerminalId, limit: usize, cwd: &Path) -> Self {
        Self {
            session,
            title: Arc::clone(&id.0),
            id,
            has_process: false,
            agent: None,
            command: String::new(),
            cwd: cwd.into(),
            state: CommandState::Running,
            plain: Plain::new(limit),
            tail: Tail::default(),
            created: None,
            waiters: Vec::new(),
            is_released: false,
            is_of_turn: false,
            is_doomed: false,
            is_stand_in: false,
            shown: None,
        }
    }

    /// Appends output.
    fn print(&mut self, bytes: &[u8]) {
        self.plain.push(bytes);
        self.tail.push(bytes);
    }

    fn runs(&self) -> bool {
        self.has_process && !self.state.is_over()
    }

    fn info(&self, key: TerminalKey) -> TerminalInfo {
        TerminalInfo {
            key,
            session: self.session,
            title: Arc::clone(&self.title),
            cwd: Arc::clone(&self.cwd),
            state: self.state.clone(),
            bytes: self.tail.end(),
            has_process: self.has_process,
            is_released: self.is_released,
        }
    }
}

impl Terminals {
    /// Returns a description of each terminal, oldest first.
    pub fn infos(&self) -> Vec<TerminalInfo> {
        let all = self.all.iter();
        all.map(|(key, terminal)| terminal.info(*key)).collect()
    }

    /// Returns the number of running terminals of a session.
    pub fn running(&self, session: SessionKey) -> usize {
        let all = self.all.values();
        all.filter(|terminal| terminal.session == session && !terminal.state.is_over())
            .count()
    }

    /// Returns the terminal with an agent's id.
    pub fn find(&self, session: SessionKey, id: &TerminalId) -> Option<TerminalKey> {
        self.names.get(&(session, id.clone()))?.terminal
    }

    /// Returns whether the next frame has a change to draw.
    pub(crate) fn is_dirty(&self) -> bool {
        let is_printed = !self.dirty.is_empty() || self.is_shown_dirty();
        self.has_news || is_printed && self.output != Output::Held
    }

    /// Returns the raw ids of an agent's pending requests that wait for a command to start or end.
    #[cfg(test)]
    pub(crate) fn waiting(&self, agent: AgentKey) -> Vec<String> {
        let mine = self.all.values().filter(|t| t.agent == Some(agent));
        let mine = mine.filter(|terminal| terminal.runs());
        mine.flat_map(|terminal| terminal.created.iter().chain(&terminal.waiters))
            .map(|request| request.0.get().to_owned())
            .collect()
    }

    /// Returns the output windows should show, for commands that printed little.
    #[cfg(test)]
    pub(crate) fn windows(&self) -> Vec<(TerminalKey, Vec<u8>)> {
        let shown = self.shown.iter().filter_map(|key| {
            let terminal = self.all.get(key).filter(|terminal| terminal.has_process)?;
            Some((*key, terminal.tail.read(0, tail::TAIL).to_vec()))
        });
        shown.collect()
    }

    fn insert(&mut self, terminal: Terminal) -> TerminalKey {
        self.next += 1;
        self.has_news = true;
        let key = TerminalKey(self.next);
        let name = (terminal.session, terminal.id.clone());
        self.names.entry(name).or_default().terminal = Some(key);
        self.all.insert(key, terminal);
        key
    }

    /// Returns the keys of a session's terminals.
    fn of(&self, session: SessionKey) -> Vec<TerminalKey> {
        let all = self.all.iter();
        all.filter(|(_, terminal)| terminal.session == session)
            .map(|(key, _)| *key)
            .collect()
    }

    /// Marks a terminal's transcript entries stale.
    fn mark(&mut self, session: SessionKey, id: &TerminalId) {
        let name = (session, id.clone());
        let is_named = |named: &Named| !named.entries.is_empty();
        if self.names.get(&name).is_some_and(is_named) {
            self.dirty.insert(name);
        }
    }

    /// Shrinks and then removes the oldest finished terminals beyond [`WHOLE`] and [`KEPT`].
    fn tidy(&mut self) {
        let is_over = |terminal: &Terminal| {
            terminal.state.is_over() && (terminal.is_released || !terminal.has_process)
        };
        let over = self.all.iter().filter(|(_, terminal)| is_over(terminal));
        let over: Vec<TerminalKey> = over.map(|(key, _)| *key).collect();
        let few = over.len().saturating_sub(WHOLE);
        for key in over.iter().take(few) {
            if let Some(terminal) = self.all.get_mut(key) {
                terminal.tail.shrink();
                terminal.plain.shrink();
            }
        }
        let surplus = over.len().saturating_sub(KEPT);
        let unseen = over.iter().filter(|key| !self.shown.contains(key));
        let gone: Vec<TerminalKey> = unseen.take(surplus).copied().collect();
        for key in gone {
            self.remove(key);
        }
    }

    /// Removes a terminal; the transcript keeps its lines.
    fn remove(&mut self, key: TerminalKey) {
        self.shown.remove(&key);
        self.has_news = true;
        let Some(terminal) = self.all.remove(&key) else {
            return;
        };
        let name = (terminal.session, terminal.id);
        if let Some(named) = self.names.get_mut(&name)
            && named.terminal == Some(key)
        {
            named.terminal = None;
            if named.entries.is_empty() {
                self.names.remove(&name);
            }
        }
    }
}
