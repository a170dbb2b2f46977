//! One agent's life: started, talked to, ended, reported.
//!
//! Invariants: an agent that was asked for is answered by `AgentFailed`, or by `AgentStarted` and
//! then, after its last message, by exactly one `AgentExited`; whatever ends it, its whole process
//! group is ended: stdin closed, then SIGTERM, then SIGKILL, as far as that is needed.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep_until};

use super::command::{command, start_failure};
use super::guard::guarded;
use super::pipes::{Pipe, read_stderr, read_stdout, write_stdin};
use super::process::{Group, Process, start};
use super::{Limits, Tools};
use crate::core::effect::Level;
use crate::core::event::{AgentSpec, Event};
use crate::core::ids::AgentKey;

/// How often a group without its leader is looked at while it is being ended.
const LOOK: Duration = Duration::from_millis(10);

/// How long a group may survive SIGKILL before it is left to itself (a process stuck in the
/// kernel, or a zombie whose parent does not reap it).
const GIVE_UP: Duration = Duration::from_millis(500);

/// The host's hold on an agent, shared with the tasks that serve it.
#[derive(Debug)]
pub(super) struct Agent {
    key: AgentKey,
    name: String,
    /// The way to stdin; taken away when the agent is to end.
    lines: Mutex<Option<UnboundedSender<String>>>,
    /// The bytes that wait for the agent to read them.
    queued: AtomicUsize,
    /// When the agent is to be ended; `None` as long as nobody wants that.
    ending: watch::Sender<Option<Ending>>,
    group: OnceLock<Arc<Group>>,
    /// The leader got a signal from here while it lived.
    signalled: AtomicBool,
    /// Nothing of the agent is left running, or ever was.
    gone: watch::Sender<bool>,
    limits: Limits,
}

/// When an agent that does not end by itself gets which signal.
#[derive(Debug, Clone)]
struct Ending {
    term: Instant,
    kill: Instant,
    blame: Option<Blame>,
}

/// What went wrong, if that is why an agent is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// It does not read: this many MiB were waiting.
    Backlog(usize),
    Stdin,
    Stdout,
    Panic,
}

impl Blame {
    /// Returns the words for the exit status; `None` when the exit speaks for itself: who dies
    /// closes its pipes first.
    fn words(self, how: Death) -> Option<String> {
        match (self, how) {
            (Blame::Backlog(mib), _) => Some(format!(
                "it did not read its input while more than {mib} MiB were waiting"
            )),
            (_, Death::Own) => None,
            (Blame::Stdin, Death::Ours) => Some("it had closed its stdin".to_owned()),
            (Blame::Stdout, Death::Ours) => Some("it had closed its stdout".to_owned()),
            (Blame::Panic, Death::Ours) => Some("an internal error of this client".to_owned()),
        }
    }
}

/// Who brought an agent's end about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    Own,
    /// A signal of this client had been sent.
    Ours,
}

impl Agent {
    /// Starts an agent; returns at once, all else is told by events.
    pub(super) fn start(key: AgentKey, spec: AgentSpec, tools: &Tools) -> Arc<Self> {
        let (lines, queue) = unbounded_channel();
        let agent = Arc::new(Self {
            key,
            name: spec.name.clone(),
            lines: Mutex::new(Some(lines)),
            queued: AtomicUsize::new(0),
            ending: watch::Sender::new(None),
            group: OnceLock::new(),
            signalled: AtomicBool::new(false),
            gone: watch::Sender::new(false),
            limits: tools.limits.clone(),
        });
        let life = live(Arc::clone(&agent), spec, queue, tools.clone());
        let guard = guard_life(Arc::clone(&agent), tools.clone(), life);
        tools.runtime.spawn(guard);
        agent
    }

    pub(super) fn key(&self) -> AgentKey {
        self.key
    }

    /// Queues a line for stdin; an agent that is ending does not get it any more.
    ///
    /// An agent that lets too much pile up will never read it: it is ended.
    pub(super) fn send(&self, line: String) {
        let size = line.len();
        let queued = self.queued.fetch_add(size, Ordering::Relaxed) + size;
        if queued > self.limits.stdin_backlog {
            let mib = self.limits.stdin_backlog >> 20;
            self.end_for(Some(Blame::Backlog(mib)));
            return;
        }
        if let Some(lines) = self.lock_lines().as_ref() {
            // An error means that the writer has ended, and with it the agent's life.
            let _ = lines.send(line);
        }
    }

    /// Ends the agent: stdin is closed behind what is queued; SIGTERM and SIGKILL follow after the
    /// usual times.
    pub(super) fn end(&self) {
        self.end_for(None);
    }

    fn end_for(&self, blame: Option<Blame>) {
        let (term, kill) = (self.limits.term_after, self.limits.kill_after);
        self.plan(term, term + kill, blame);
    }

    /// As [`Agent::end`], with SIGKILL after `kill` from now on at the latest.
    pub(super) fn end_within(&self, kill: Duration) {
        self.plan(self.limits.term_after.min(kill / 3), kill, None);
    }

    /// Plans the end; of several plans the earlier times and the first blame hold.
    fn plan(&self, term: Duration, kill: Duration, blame: Option<Blame>) {
        let now = Instant::now();
        let (term, kill) = (now + term, now + kill);
        self.lock_lines().take();
        self.ending.send_modify(|ending| match ending {
            Some(ending) => {
                ending.term = ending.term.min(term);
                ending.kill = ending.kill.min(kill);
            }
            None => *ending = Some(Ending { term, kill, blame }),
        });
    }

    /// Kills the whole group at once.
    pub(super) fn kill(&self) {
        if let Some(group) = self.group.get() {
            group.signal(Signal::KILL);
        }
    }

    /// Returns the exit status with what went wrong, where it does not speak for itself.
    fn with_blame(&self, status: String) -> String {
        let death = match self.signalled.load(Ordering::Relaxed) {
            true => Death::Ours,
            false => Death::Own,
        };
        let blame = self.ending.borrow().as_ref().and_then(|plan| plan.blame);
        match blame.and_then(|blame| blame.words(death)) {
            Some(words) => format!("{status}: {words}"),
            None => status,
        }
    }

    /// Waits until nothing of the agent is left running.
    pub(super) async fn gone(&self) {
        // The sender is a field of this very agent, so it cannot be gone.
        let _ = self.gone.subscribe().wait_for(|&gone| gone).await;
    }

    fn lock_lines(&self) -> std::sync::MutexGuard<'_, Option<UnboundedSender<String>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs an agent's life; when that itself panics, the agent is killed and reported as gone.
async fn guard_life(agent: Arc<Agent>, tools: Tools, life: impl Future<Output = ()>) {
    if guarded("the task of an agent", &tools.inbox, life)
        .await
        .is_none()
    {
        agent.kill();
        agent.gone.send_replace(true);
        tools.inbox.send_behind_agents(Event::AgentExited {
            agent: agent.key,
            status: "killed after an internal error of this client".to_owned(),
            stderr: Vec::new(),
        });
    }
    tools.forget(&agent);
}

async fn live(agent: Arc<Agent>, spec: AgentSpec, queue: UnboundedReceiver<String>, tools: Tools) {
    let process = match spawn(&agent, &spec, &tools).await {
        Ok(process) => process,
        Err(why) => {
            tools.log.line(Level::Error, &agent.name, &why);
            agent.gone.send_replace(true);
            let agent = agent.key;
            tools.inbox.send(Event::AgentFailed { agent, why });
            return;
        }
    };
    let pid = process.group.pid();
    tools.log.line(
        Level::Info,
        &agent.name,
        &format!("started as process {pid}: {} {:?}", spec.command, spec.args),
    );
    tools.inbox.send(Event::AgentStarted {
        agent: agent.key,
        pid,
    });

    let Process {
        group,
        stdin,
        stdout,
        stderr,
        mut exited,
    } = process;
    let writer = spawn_writer(&agent, stdin.into(), queue, &tools);
    let reader = spawn_reader(&agent, stdout, exited.clone(), &tools);
    let errors = spawn_errors(&agent, stderr, exited.clone(), &tools);
    let end = end_group(Arc::clone(&agent), group, exited.clone(), writer);
    let ended = spawn_guarded("the end of an agent", &agent, &tools, end);

    let status = match exited.wait_for(Option::is_some).await {
        Ok(status) => status.clone().unwrap_or_default(),
        Err(_) => "exit status unknown".to_owned(),
    };
    // A task that was cut off has been reported, and leaves nothing behind.
    let _ = reader.await;
    let stderr = errors.await.ok().flatten().unwrap_or_default();
    let status = agent.with_blame(status);
    tools.log.line(Level::Info, &agent.name, &status);
    tools.inbox.send_behind_agents(Event::AgentExited {
        agent: agent.key,
        status,
        stderr,
    });
    if matches!(ended.await, Ok(Some(Outcome::Alive))) {
        let line = format!("processes of group {pid} could not be ended; they are left alone");
        tools.log.line(Level::Warn, &agent.name, &line);
    }
}

/// Starts the process; an error is a sentence.
async fn spawn(agent: &Arc<Agent>, spec: &AgentSpec, tools: &Tools) -> Result<Process, String> {
    let (spec_here, environment) = (spec.clone(), tools.environment.clone());
    // Looks at the disk, which may be slow.
    let command = tools
        .blocking("looking up an agent", move || {
            command(&spec_here, &environment)
        })
        .await
        .unwrap_or_else(|| Err(start_failure(spec, &io::Error::other("an internal error"))))?;
    let registry = Arc::clone(agent);
    let started = move |group: &Arc<Group>| {
        // Set once, here.
        let _ = registry.group.set(Arc::clone(group));
    };
    match start(command, format!("acp-agent-{}", agent.key.0), started).await {
        Ok(Ok(process)) => Ok(process),
        Ok(Err(error)) => Err(start_failure(spec, &error)),
        Err(_) => Err(start_failure(
            spec,
            &io::Error::other("no thread could be started"),
        )),
    }
}

/// Spawns a task of an agent's; when it panics, the agent is ended.
pub(super) fn spawn_guarded<T: Send + 'static>(
    place: &'static str,
    agent: &Arc<Agent>,
    tools: &Tools,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    let (agent, inbox) = (Arc::clone(agent), tools.inbox.clone());
    tools.runtime.spawn(async move {
        let output = guarded(place, &inbox, work).await;
        if output.is_none() {
            agent.end_for(Some(Blame::Panic));
        }
        output
    })
}

fn spawn_writer(
    agent: &Arc<Agent>,
    stdin: OwnedFd,
    queue: UnboundedReceiver<String>,
    tools: &Tools,
) -> AbortHandle {
    let (own, log) = (Arc::clone(agent), tools.log.clone());
    let work = async move {
        if let Err(error) = write_stdin(stdin, queue, &own.queued, &own.name, &log).await {
            log.line(Level::Warn, &own.name, &format!("stdin: {error}"));
            // Whatever it waits for can never be told to it.
            own.end_for(Some(Blame::Stdin));
        }
    };
    spawn_guarded("writing to an agent", agent, tools, work).abort_handle()
}

fn spawn_reader(
    agent: &Arc<Agent>,
    stdout: ChildStdout,
    exited: watch::Receiver<Option<String>>,
    tools: &Tools,
) -> JoinHandle<Option<()>> {
    let (own, tools_here) = (Arc::clone(agent), tools.clone());
    let work = async move {
        let Tools { inbox, log, .. } = &tools_here;
        match Pipe::new(stdout.into(), exited, own.limits.exit_grace) {
            Ok(pipe) => read_stdout(pipe, own.key, &own.name, inbox, log).await,
            Err(error) => log.line(Level::Error, &own.name, &format!("stdout: {error}")),
        }
        // Nothing more will ever be heard of it.
        own.end_for(Some(Blame::Stdout));
    };
    spawn_guarded("reading from an agent", agent, tools, work)
}

fn spawn_errors(
    agent: &Arc<Agent>,
    stderr: ChildStderr,
    exited: watch::Receiver<Option<String>>,
    tools: &Tools,
) -> JoinHandle<Option<Vec<String>>> {
    let (own, log) = (Arc::clone(agent), tools.log.clone());
    let work = async move {
        match Pipe::new(stderr.into(), exited, own.limits.exit_grace) {
            Ok(pipe) => read_stderr(pipe, &own.name, &log).await,
            Err(error) => vec![format!("(stderr could not be read: {error})")],
        }
    };
    spawn_guarded("reading an agent's stderr", agent, tools, work)
}

/// What became of an agent's group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Gone,
    /// It survived even SIGKILL.
    Alive,
}

/// Waits until the agent is to end or ends by itself, and ends what is left of its group.
async fn end_group(
    agent: Arc<Agent>,
    group: Arc<Group>,
    mut exited: watch::Receiver<Option<String>>,
    writer: AbortHandle,
) -> Outcome {
    let mut ending = agent.ending.subscribe();
    tokio::select! {
        // Errors cannot be: the agent owns that sender, and the reaping thread reports first.
        _ = ending.wait_for(Option::is_some) => {}
        _ = exited.wait_for(Option::is_some) => agent.end(),
    }
    let mut sent = None;
    let outcome = loop {
        if group.is_gone() {
            break Outcome::Gone;
        }
        let now = Instant::now();
        let plan = ending.borrow_and_update().clone();
        let (term, kill) = plan.map_or((now, now), |plan| (plan.term, plan.kill));
        if now >= kill + GIVE_UP {
            break Outcome::Alive;
        }
        let due = match now {
            now if now >= kill => Some(Signal::KILL),
            now if now >= term => Some(Signal::TERM),
            _ => None,
        };
        if due != sent
            && let Some(signal) = due
        {
            // Some agents stay as long as stdin is open, whatever the signal.
            writer.abort();
            if exited.borrow().is_none() {
                agent.signalled.store(true, Ordering::Relaxed);
            }
            group.signal(signal);
            sent = due;
        }
        let next = if now < term {
            term
        } else if now < kill {
            kill
        } else {
            kill + GIVE_UP
        };
        let led = exited.borrow().is_none();
        tokio::select! {
            () = sleep_until(next) => {}
            _ = ending.changed() => {}
            // The group cannot be empty before its leader has been reaped.
            _ = exited.changed(), if led => {}
            () = tokio::time::sleep(LOOK), if !led => {}
        }
    };
    writer.abort();
    agent.gone.send_replace(true);
    outcome
}
