//! One terminal's life: its command is started, heard, typed into, ended, reported.
//!
//! Invariants: a terminal that was asked for is answered by `TerminalFailed`, or by
//! `TerminalStarted` and then, after its last output, by exactly one `TerminalExited`. What is
//! printed later, by somebody whom the command has left behind, is not told.
//!
//! Whoever outlives the command has withstood the SIGHUP that the system sends to the group then
//! (`nohup`): it is meant to stay. It ends with Neovim.

use acp_core::terminals::TerminalEvent;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
use super::jobs::Sessions;
use super::output::discard;
use super::serve::{spawn_end, spawn_reader, spawn_writer};
use super::{Terminals, pty};
use acp_core::spine::effect::Level;
use acp_core::spine::event::{Event, TerminalExit, TerminalSpec};
use acp_core::spine::ids::TerminalKey;

/// The bytes that may wait for a command to read what is typed; what comes on top is dropped, as a
/// terminal drops it.
const INPUT_BACKLOG: usize = 1 << 20;

/// The host's hold on a terminal, shared with the tasks that serve it.
#[derive(Debug)]
pub(in super::super) struct Terminal {
    key: TerminalKey,
    input: UnboundedSender<Vec<u8>>,
    /// The bytes that wait for the command to read them.
    queued: AtomicUsize,
    screen: Mutex<Screen>,
    phase: Mutex<Phase>,
    end: End,
    /// Set once there is a process.
    group: OnceLock<Arc<Group>>,
    limits: Limits,
}

#[derive(Debug)]
struct Screen {
    size: Winsize,
    /// Our end of the terminal, as long as it is there.
    master: Option<Arc<Receiver>>,
}

/// What the core has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Ended,
}

impl Terminal {
    /// Starts a command on a terminal; returns at once, all else is told by events.
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

    /// Queues what is typed.
    pub(super) fn input(&self, bytes: Vec<u8>) {
        let size = bytes.len();
        if self.queued.fetch_add(size, Ordering::Relaxed) + size > INPUT_BACKLOG {
            self.queued.fetch_sub(size, Ordering::Relaxed);
        } else {
            // An error means that nobody reads it any more.
            let _ = self.input.send(bytes);
        }
    }

    pub(super) fn resize(&self, columns: u16, rows: u16) {
        let mut screen = self.lock_screen();
        screen.size = pty::size(columns, rows);
        screen.apply();
    }

    /// Ends the command and its group: SIGHUP and SIGTERM at once, SIGKILL after the usual time.
    pub(super) fn end(&self) {
        self.end_within(self.limits.kill_after);
    }

    /// As [`Terminal::end`], with SIGKILL after `kill` from now on at the latest.
    pub(in super::super) fn end_within(&self, kill: Duration) {
        let kill = kill.min(self.limits.kill_after);
        self.end.plan(Duration::ZERO, kill, None);
    }

    /// Kills the whole group at once.
    pub(in super::super) fn kill(&self) {
        if let Some(group) = self.group.get() {
            group.signal(Signal::KILL);
        }
    }

    /// Waits until nothing of the command is left running.
    pub(in super::super) async fn gone(&self) {
        self.end.over().await;
    }

    /// Returns the count of the bytes that wait for the command to read them.
    pub(super) fn queued(&self) -> &AtomicUsize {
        &self.queued
    }

    /// Returns how far its end has come.
    pub(super) fn ending(&self) -> &End {
        &self.end
    }

    /// Returns whether the core knows that the command has ended.
    pub(super) fn has_ended(&self) -> bool {
        *self.lock_phase() == Phase::Ended
    }

    /// Moves on to a phase, and returns the one before.
    fn enter(&self, phase: Phase) -> Phase {
        std::mem::replace(&mut *self.lock_phase(), phase)
    }

    fn attach(&self, master: &Arc<Receiver>) {
        let mut screen = self.lock_screen();
        screen.master = Some(Arc::clone(master));
        // It may have changed since the command was asked for.
        screen.apply();
    }

    fn lock_screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    fn apply(&self) {
        if let Some(master) = &self.master {
            // A terminal that is hung up has no size any more.
            let _ = tcsetwinsize(master, self.size);
        }
    }
}

/// Runs a terminal's life; when that itself panics, the command is killed and reported as gone.
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
    sessions: Sessions,
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
    let line = format!("started as process {pid}: {} {:?}", spec.command, spec.args);
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
        // Stuck in the kernel: the core must not wait for it.
        () = terminal.end.survived() => {
            reader.abort();
            None
        }
    };
    // From now on there is an end to what can be read. Some systems make whoever closes a terminal
    // wait until all of it is read.
    let held = process.ways;
    kit.runtime.spawn_blocking(move || drop(held));
    // A task that was cut off has been reported, and leaves nothing behind.
    let _ = reader.await;
    writer.abort();
    let words = exit.as_ref().map(Exit::to_string);
    let words = words.unwrap_or_else(|| "still there, not even SIGKILL has ended it".to_owned());
    kit.log.line(Level::Info, &name, &words);
    terminal.enter(Phase::Ended);
    kit.inbox
        .send_behind_agents(Event::Terminal(TerminalEvent::Exited {
            terminal: key,
            exit: exit.as_ref().map(told).unwrap_or_default(),
        }));

    tokio::select! {
        () = discard(&master) => {}
        () = terminal.end.wanted() => {}
    }
    // Hangs up.
    drop(master);
    terminal.lock_screen().master = None;
    if matches!(ended.await, Ok(Some(Outcome::Alive))) {
        let line = format!("processes of group {pid} could not be ended; they are left alone");
        kit.log.line(Level::Warn, &name, &line);
    }
}

/// Returns an end in the protocol's words.
fn told(exit: &Exit) -> TerminalExit {
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

/// Starts the command; an error is a sentence.
async fn spawn(
    terminal: &Arc<Terminal>,
    spec: &TerminalSpec,
    kit: &Kit,
) -> Result<(Process<OwnedFd>, Arc<Receiver>), String> {
    let (spec_here, environment) = (spec.clone(), kit.environment.clone());
    // Looks at the disk, which may be slow.
    let command = kit
        .blocking("looking up a command", move || {
            command(&Program::of_terminal(&spec_here), &environment)
        })
        .await;
    let failed = |error| start_failure(&Program::of_terminal(spec), &error);
    let command = command.unwrap_or_else(|| Err(failed(io::Error::other("an internal error"))))?;
    let size = terminal.lock_screen().size;
    let registry = Arc::clone(terminal);
    let started = move |group: &Arc<Group>| {
        // Set once, here.
        let _ = registry.group.set(Arc::clone(group));
    };
    let thread = format!("acp-term-{}", terminal.key.0);
    let Ok(process) = start(thread, move || pty::spawn(command, size), started).await else {
        return Err(failed(io::Error::other("no thread could be started")));
    };
    let process = process.map_err(failed)?;
    let master = pipes::terminal(process.ways.ours).map_err(|error| {
        process.group.signal(Signal::KILL);
        failed(error)
    })?;
    let master = Arc::new(master);
    terminal.attach(&master);
    let process = Process {
        ways: process.ways.commands,
        group: process.group,
        exited: process.exited,
    };
    Ok((process, master))
}
