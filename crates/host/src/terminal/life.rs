//! The life of one terminal: starting its command, output, input, ending it, reporting its exit.
//!
//! Invariants: every start request is answered, either by `TerminalFailed`, or by `TerminalStarted`
//! followed, after the last output, by exactly one `TerminalExited`. Later output of surviving
//! processes is not reported.
//!
//! Processes that survive the command have ignored the SIGHUP that the system sends to the group
//! (`nohup`), so they are meant to stay. They are ended with Neovim.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustix::process::Signal;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::command::{Program, command, start_failure};
use super::super::ending::{End, Outcome};
use super::super::guard::guarded;
use super::super::pipes::{self, Pipe};
use super::super::process::{Exit, Group, Process, signal_name, start};
use super::super::{Kit, Limits};
use super::jobs::SessionTables;
use super::output::discard;
use super::serve::{spawn_end, spawn_reader, spawn_writer};
use super::{Terminals, pty};
use acp_core::event::Event;
use acp_core::spine::effect::Level;
use acp_core::spine::event::{TerminalExit, TerminalSpec};
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::TerminalEvent;
use acp_edge::panics::lock;

/// Maximum number of unread input bytes; further input is dropped, as terminals do.
const INPUT_BACKLOG: usize = 1 << 20;

/// The host's handle on a terminal, shared with the tasks that serve it.
#[derive(Debug)]
pub(in super::super) struct Terminal {
    key: TerminalKey,
    input: UnboundedSender<Vec<u8>>,
    /// Input bytes not yet written.
    queued: AtomicUsize,
    screen: Mutex<Screen>,
    phase: Mutex<Phase>,
    end: End,
    /// Set once the process runs.
    group: OnceLock<Arc<Group>>,
    limits: Limits,
}

#[derive(Debug)]
struct Screen {
    size: Winsize,
    /// The editor's side of the pseudo-terminal, while it is open.
    master: Option<Arc<Receiver>>,
}

/// The command's state as reported to the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Ended,
}

impl Terminal {
    /// Starts a command on a terminal and returns at once; the rest is reported as events.
    pub(super) fn start(
        key: TerminalKey,
        spec: TerminalSpec,
        terminals: &Terminals,
        kit: &Kit,
    ) -> Arc<Self> {
        let (input, queue) = unbounded_channel();
        let terminal = Arc::new(Self {
            key,
            input,
            queued: AtomicUsize::new(0),
            screen: Mutex::new(Screen {
                size: pty::size(spec.columns, spec.rows),
                master: None,
            }),
            phase: Mutex::new(Phase::Starting),
            end: End::new(),
            group: OnceLock::new(),
            limits: kit.limits.clone(),
        });
        let sessions = terminals.sessions.clone();
        let life = live(Arc::clone(&terminal), spec, queue, sessions, kit.clone());
        let guard = guard_life(Arc::clone(&terminal), terminals.clone(), kit.clone(), life);
        kit.runtime.spawn(guard);
        terminal
    }

    pub(super) fn key(&self) -> TerminalKey {
        self.key
    }

    /// Queues input.
    pub(super) fn input(&self, bytes: Vec<u8>) {
        let size = bytes.len();
        if self.queued.fetch_add(size, Ordering::Relaxed) + size > INPUT_BACKLOG {
            self.queued.fetch_sub(size, Ordering::Relaxed);
        } else {
            // An error means that the writer task has ended.
            let _ = self.input.send(bytes);
        }
    }

    pub(super) fn resize(&self, columns: u16, rows: u16) {
        let mut screen = lock(&self.screen);
        screen.size = pty::size(columns, rows);
        screen.apply();
    }

    /// Ends the command and its group: SIGHUP and SIGTERM immediately, SIGKILL after the configured
    /// delay.
    pub(super) fn end(&self) {
        self.end_within(self.limits.kill_after);
    }

    /// Like [`Terminal::end`], but sends SIGKILL no later than `kill` from now.
    pub(in super::super) fn end_within(&self, kill: Duration) {
        let kill = kill.min(self.limits.kill_after);
        self.end.plan(Duration::ZERO, kill, None);
    }

    /// Kills the whole group immediately.
    pub(in super::super) fn kill(&self) {
        if let Some(group) = self.group.get() {
            group.signal(Signal::KILL);
        }
    }

    /// Waits until every process of the command has ended.
    pub(in super::super) async fn gone(&self) {
        self.end.over().await;
    }

    /// Returns the counter of input bytes not yet written.
    pub(super) fn queued(&self) -> &AtomicUsize {
        &self.queued
    }

    /// Returns the progress of ending the command.
    pub(super) fn ending(&self) -> &End {
        &self.end
    }

    /// Returns whether the command's end has been reported to the core.
    pub(super) fn has_ended(&self) -> bool {
        *lock(&self.phase) == Phase::Ended
    }

    /// Enters a phase and returns the previous one.
    fn enter(&self, phase: Phase) -> Phase {
        std::mem::replace(&mut *lock(&self.phase), phase)
    }

    fn attach(&self, master: &Arc<Receiver>) {
        let mut screen = lock(&self.screen);
        screen.master = Some(Arc::clone(master));
        // The size may have changed since the command was requested.
        screen.apply();
    }
}

impl Screen {
    fn apply(&self) {
        if let Some(master) = &self.master {
            // A terminal that was hung up has no size.
            let _ = tcsetwinsize(master, self.size);
        }
    }
}

/// Runs a terminal's main task; if it panics, kills the command and reports it as ended.
async fn guard_life(
    terminal: Arc<Terminal>,
    terminals: Terminals,
    kit: Kit,
    life: impl Future<Output = ()>,
) {
    let key = terminal.key;
    if guarded("the task of a terminal", &kit.inbox, life)
        .await
        .is_none()
    {
        terminal.kill();
        terminal.end.finish(Outcome::Gone);
        match terminal.enter(Phase::Ended) {
            Phase::Starting => kit.inbox.send(Event::Terminal(TerminalEvent::Failed {
                terminal: key,
                why: "The command could not be run: an internal error; see the log (:Acp log)."
                    .to_owned(),
            })),
            Phase::Running => {
                kit.inbox
                    .send_behind_agents(Event::Terminal(TerminalEvent::Exited {
                        terminal: key,
                        exit: TerminalExit::default(),
                    }))
            }
            Phase::Ended => {}
        }
    }
    terminals.forget(&terminal);
}

async fn live(
    terminal: Arc<Terminal>,
    spec: TerminalSpec,
    queue: UnboundedReceiver<Vec<u8>>,
    sessions: SessionTables,
    kit: Kit,
) {
    let key = terminal.key;
    let name = format!("terminal {}", key.0);
    let (process, master) = match spawn(&terminal, &spec, &kit).await {
        Ok(started) => started,
        Err(why) => {
            kit.log.line(Level::Warn, &name, &why);
            terminal.end.finish(Outcome::Gone);
            terminal.enter(Phase::Ended);
            let failed = Event::Terminal(TerminalEvent::Failed { terminal: key, why });
            kit.inbox.send(failed);
            return;
        }
    };
    let pid = process.group.pid();
    // An argument may hold a key.
    let line = format!("started as process {pid}: {}", spec.command);
    kit.log.line(Level::Info, &name, &line);
    terminal.enter(Phase::Running);
    let started = Event::Terminal(TerminalEvent::Started { terminal: key, pid });
    kit.inbox.send(started);

    let mut exited = process.exited;
    let writer = spawn_writer(&terminal, &master, queue, &kit);
    let pipe = Pipe::new(
        Arc::clone(&master),
        exited.clone(),
        terminal.limits.exit_grace,
    );
    let reader = spawn_reader(&terminal, pipe, &kit);
    let ended = spawn_end(&terminal, process.group, exited.clone(), sessions, &kit);

    let exit = tokio::select! {
        biased;
        exit = exited.wait_for(Option::is_some) => match exit {
            Ok(exit) => exit.clone(),
            Err(_) => None,
        },
        // The process is stuck in the kernel; the core must not wait for it.
        () = terminal.end.survived() => {
            reader.abort();
            None
        }
    };
    // Dropping the command's side lets the reader reach the end. On some systems, closing a
    // terminal blocks until its output has been read.
    let held = process.io;
    kit.runtime.spawn_blocking(move || drop(held));
    // A panicked or aborted task has already been reported.
    let _ = reader.await;
    writer.abort();
    let words = exit.as_ref().map(Exit::to_string);
    let words = words.unwrap_or_else(|| "still running: SIGKILL did not end it".to_owned());
    kit.log.line(Level::Info, &name, &words);
    terminal.enter(Phase::Ended);
    kit.inbox
        .send_behind_agents(Event::Terminal(TerminalEvent::Exited {
            terminal: key,
            exit: exit.as_ref().map(exit_status).unwrap_or_default(),
        }));

    tokio::select! {
        () = discard(&master) => {}
        () = terminal.end.wanted() => {}
    }
    // Closing the editor's side hangs up the terminal.
    drop(master);
    lock(&terminal.screen).master = None;
    if matches!(ended.await, Ok(Some(Outcome::Alive))) {
        let line = format!("some processes of group {pid} survived SIGKILL and were left running");
        kit.log.line(Level::Warn, &name, &line);
    }
}

/// Converts an exit status to the protocol's form.
fn exit_status(exit: &Exit) -> TerminalExit {
    match exit {
        Exit::Code(code) => TerminalExit {
            code: u32::try_from(*code).ok(),
            signal: None,
        },
        Exit::Signal(signal) => TerminalExit {
            code: None,
            signal: Some(signal_name(*signal).map_or_else(|| signal.to_string(), str::to_owned)),
        },
        Exit::Unknown(_) => TerminalExit::default(),
    }
}

/// Starts the command.
///
/// # Errors
/// Why it could not be started, as a sentence for the user.
async fn spawn(
    terminal: &Arc<Terminal>,
    spec: &TerminalSpec,
    kit: &Kit,
) -> Result<(Process<OwnedFd>, Arc<Receiver>), String> {
    let (spec_here, environment) = (spec.clone(), kit.environment.clone());
    // This reads the disk, which may be slow.
    let command = kit
        .blocking("looking up a command", move || {
            command(&Program::of_terminal(&spec_here), &environment)
        })
        .await;
    let failed = |error| start_failure(&Program::of_terminal(spec), &error);
    let command = command.unwrap_or_else(|| Err(failed(io::Error::other("an internal error"))))?;
    let size = lock(&terminal.screen).size;
    let registry = Arc::clone(terminal);
    let started = move |group: &Arc<Group>| {
        // `started` runs once, so the cell is empty.
        let _ = registry.group.set(Arc::clone(group));
    };
    let thread = format!("acp-term-{}", terminal.key.0);
    let Ok(process) = start(thread, move || pty::spawn(command, size), started).await else {
        return Err(failed(io::Error::other("no thread could be started")));
    };
    let process = process.map_err(failed)?;
    let master = pipes::terminal(process.io.editor_side).map_err(|error| {
        process.group.signal(Signal::KILL);
        failed(error)
    })?;
    let master = Arc::new(master);
    terminal.attach(&master);
    let process = Process {
        io: process.io.command_side,
        group: process.group,
        exited: process.exited,
    };
    Ok((process, master))
}
