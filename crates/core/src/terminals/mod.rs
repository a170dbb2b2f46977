//! Terminals: what agents run in them, and what they only show there.
//!
//! Invariants: every request for a terminal is answered exactly once, however the command, its
//! session and its agent end; what runs here is ended with its session and its agent; output is kept
//! in bounded memory, and reaches the screen by frames alone.

mod entries;
mod event;
mod life;
mod lines;
mod pace;
mod plain;
mod requests;
mod screen;
mod shown;
mod tail;
mod told;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

pub(crate) use entries::Showing;
pub use event::TerminalEvent;
pub use lines::{ShownTerminal, ShownTerminals};

pub use self::pace::{Pace, TYPING};
use self::plain::Plain;
pub use self::plain::{on_screen, without_codes};
pub(crate) use self::requests::Caller;
pub use self::shown::Output;
use self::shown::Shown;
use self::tail::Tail;
use crate::spine::event::TerminalExit;
use crate::spine::ids::{AgentKey, SessionKey, TerminalKey};
use crate::view::snapshot::TerminalInfo;
use acp::{RequestId, TerminalId, client};

/// How much text an agent gets that names no limit, and the most one may ask for.
const DEFAULT_LIMIT: usize = 1 << 20;
const MAX_LIMIT: usize = 16 << 20;

/// How many that are over keep all that is kept for the screen, and how many are kept at all.
const WHOLE: usize = 50;
const KEPT: usize = 500;

/// All terminals.
#[derive(Debug, Default)]
pub struct Terminals {
    all: BTreeMap<TerminalKey, Terminal>,
    names: HashMap<Name, Named>,
    /// What the transcript does not show as it is.
    dirty: BTreeSet<Name>,
    /// Those that windows show.
    shown: BTreeSet<TerminalKey>,
    /// One has come, gone or ended: lists and window bars shall say so.
    has_news: bool,
    /// How much frames may bring of what is printed.
    output: Output,
    next: u32,
}

/// A terminal as a session's agent calls it.
type Name = (SessionKey, TerminalId);

/// What a name stands for, and the entries of the transcript that name it.
#[derive(Debug, Default)]
struct Named {
    terminal: Option<TerminalKey>,
    entries: BTreeSet<usize>,
}

#[derive(Debug)]
pub struct Terminal {
    session: SessionKey,
    id: TerminalId,
    /// A command of this client's runs in it, or has run.
    has_process: bool,
    /// The process of the agent that asked for it.
    agent: Option<AgentKey>,
    /// The command line, whole.
    command: String,
    title: Arc<str>,
    cwd: Arc<Path>,
    state: State,
    plain: Plain,
    tail: Tail,
    /// The request that made it, until it is answered.
    created: Option<RequestId>,
    /// Requests that wait for its end.
    waiters: Vec<RequestId>,
    /// The agent needs it no more.
    is_released: bool,
    /// It was made in the turn that is running.
    is_of_turn: bool,
    /// It is to end as soon as it has begun.
    is_doomed: bool,
    /// What it shows is what the tool call said of its output, for want of more.
    is_stand_in: bool,
    shown: Option<Shown>,
}

/// How a terminal stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The command is being started.
    Starting,
    Running,
    Exited(TerminalExit),
    /// The command could not be started: a sentence with the next step.
    Failed(String),
}

impl State {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Running => "running",
            State::Exited(_) => "exited",
            State::Failed(_) => "failed",
        }
    }

    /// Tells whether nothing more will come of it.
    pub fn is_over(&self) -> bool {
        matches!(self, State::Exited(_) | State::Failed(_))
    }

    /// Returns how it has ended, if it has: `exit code 3`, `killed by SIGKILL`, `ended`, or why it
    /// was never started.
    pub fn end(&self) -> Option<String> {
        match self {
            State::Starting | State::Running => None,
            State::Failed(why) => Some(why.clone()),
            State::Exited(exit) => Some(match (&exit.signal, exit.code) {
                (Some(signal), _) => format!("killed by {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "ended".to_owned(),
            }),
        }
    }

    /// Returns how the command has ended, for the agent.
    fn exit(&self) -> Option<client::Exit<'_>> {
        match self {
            State::Exited(exit) => Some(client::Exit {
                code: exit.code,
                signal: exit.signal.as_deref(),
            }),
            _ => None,
        }
    }
}

impl Terminal {
    /// Returns one that only shows what it is told, of which the agent can ask for `limit` bytes.
    fn new(session: SessionKey, id: TerminalId, limit: usize, cwd: &Path) -> Self {
        Self {
            session,
            title: Arc::clone(&id.0),
            id,
            has_process: false,
            agent: None,
            command: String::new(),
            cwd: cwd.into(),
            state: State::Running,
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

    /// Takes in more output.
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
    /// Returns what is known of each, oldest first.
    pub fn infos(&self) -> Vec<TerminalInfo> {
        let all = self.all.iter();
        all.map(|(key, terminal)| terminal.info(*key)).collect()
    }

    /// Returns how many of a session's are running.
    pub fn running(&self, session: SessionKey) -> usize {
        let all = self.all.values();
        all.filter(|terminal| terminal.session == session && !terminal.state.is_over())
            .count()
    }

    /// Finds the terminal an agent means.
    pub fn find(&self, session: SessionKey, id: &TerminalId) -> Option<TerminalKey> {
        self.names.get(&(session, id.clone()))?.terminal
    }

    /// Tells whether a frame has something to bring.
    pub(crate) fn is_dirty(&self) -> bool {
        let is_printed = !self.dirty.is_empty() || self.is_shown_dirty();
        self.has_news || is_printed && self.output != Output::Held
    }

    /// Returns the raw ids of an agent's requests that wait for a command, most often for its end.
    #[cfg(test)]
    pub(crate) fn waiting(&self, agent: AgentKey) -> Vec<String> {
        let mine = self.all.values().filter(|t| t.agent == Some(agent));
        let mine = mine.filter(|terminal| terminal.runs());
        mine.flat_map(|terminal| terminal.created.iter().chain(&terminal.waiters))
            .map(|request| request.0.get().to_owned())
            .collect()
    }

    /// Returns what windows should show of commands that have printed little.
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

    /// Says that the transcript does not show a terminal as it is.
    fn mark(&mut self, session: SessionKey, id: &TerminalId) {
        let name = (session, id.clone());
        let is_named = |named: &Named| !named.entries.is_empty();
        if self.names.get(&name).is_some_and(is_named) {
            self.dirty.insert(name);
        }
    }

    /// Gives up what is kept of terminals that are over, the oldest first, where there are many.
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

    /// Forgets a terminal; what the transcript shows of it stays.
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
