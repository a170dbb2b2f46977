//! The life of one agent process: starting it, its pipes, ending it, reporting its exit.
//!
//! Invariants: every spawn request is answered, either by `AgentFailed`, or by `AgentStarted`
//! followed, after the agent's last message, by exactly one `AgentExited`. However the agent ends,
//! its whole process group is ended too: stdin is closed, then SIGTERM, then SIGKILL, stopping as
//! soon as the group is empty.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use super::command::{Program, command, start_failure};
use super::ending::{Blame, End, EndStep, Outcome};
use super::guard::guarded;
use super::pipes::{Pipe, read_stderr, read_stdout, write_stdin};
use super::process::{Exit, Group, Process, forking, start};
use super::{Kit, Limits};
use acp_core::event::{AgentEvent, Event};
use acp_core::spine::effect::Level;
use acp_core::spine::event::AgentSpec;
use acp_core::spine::ids::AgentKey;
use acp_edge::panics::lock;

/// The host's handle on an agent, shared with the tasks that serve it.
#[derive(Debug)]
pub(super) struct Agent {
    key: AgentKey,
    name: String,
    /// The queue for stdin; `None` once the agent is to end.
    lines: Mutex<Option<UnboundedSender<String>>>,
    /// Bytes queued for stdin and not yet written.
    queued: AtomicUsize,
    end: End,
    /// Set once the process runs.
    group: OnceLock<Arc<Group>>,
    limits: Limits,
}

impl Agent {
    /// Starts an agent and returns at once; success and failure are reported as events.
    pub(super) fn start(key: AgentKey, spec: AgentSpec, kit: &Kit) -> Arc<Self> {
        let (lines, queue) = unbounded_channel();
        let agent = Arc::new(Self {
            key,
            name: spec.name.clone(),
            lines: Mutex::new(Some(lines)),
            queued: AtomicUsize::new(0),
            end: End::new(),
            group: OnceLock::new(),
            limits: kit.limits.clone(),
        });
        let life = live(Arc::clone(&agent), spec, queue, kit.clone());
        let guard = guard_life(Arc::clone(&agent), kit.clone(), life);
        kit.runtime.spawn(guard);
        agent
    }

    pub(super) fn key(&self) -> AgentKey {
        self.key
    }

    /// Queues a line for stdin; dropped if the agent is ending.
    ///
    /// An agent with too large a backlog has stopped reading, so it is ended.
    pub(super) fn send(&self, line: String) {
        let size = line.len();
        let queued = self.queued.fetch_add(size, Ordering::Relaxed) + size;
        if queued > self.limits.stdin_backlog {
            let mib = self.limits.stdin_backlog >> 20;
            self.end_for(Some(Blame::Backlog(mib)));
            return;
        }
        if let Some(lines) = lock(&self.lines).as_ref() {
            // An error means that the writer task has ended, and the agent with it.
            let _ = lines.send(line);
        }
    }

    /// Ends the agent: closes stdin after the queued lines, then sends SIGTERM and SIGKILL after
    /// the configured delays.
    pub(super) fn end(&self) {
        self.end_for(None);
    }

    fn end_for(&self, blame: Option<Blame>) {
        let (term, kill) = (self.limits.term_after, self.limits.kill_after);
        self.plan(term, term + kill, blame);
    }

    /// Like [`Agent::end`], but sends SIGKILL no later than `kill` from now.
    pub(super) fn end_within(&self, kill: Duration) {
        self.plan(self.limits.term_after.min(kill / 3), kill, None);
    }

    fn plan(&self, term: Duration, kill: Duration, blame: Option<Blame>) {
        lock(&self.lines).take();
        self.end.plan(term, kill, blame);
    }

    /// Kills the whole group immediately.
    pub(super) fn kill(&self) {
        if let Some(group) = self.group.get() {
            group.signal(Signal::KILL);
        }
    }

    /// Waits until the whole group has ended.
    pub(super) async fn gone(&self) {
        self.end.over().await;
    }
}

/// Runs an agent's main task; if it panics, kills the agent and reports it as exited.
async fn guard_life(agent: Arc<Agent>, kit: Kit, life: impl Future<Output = ()>) {
    if guarded("the task of an agent", &kit.inbox, life)
        .await
        .is_none()
    {
        agent.kill();
        agent.end.finish(Outcome::Gone);
        kit.inbox
            .send_behind_agents(Event::Agent(AgentEvent::Exited {
                agent: agent.key,
                status: "killed after an internal error in acp.nvim".to_owned(),
                stderr: Vec::new(),
            }));
    }
    kit.forget(&agent);
}

async fn live(agent: Arc<Agent>, spec: AgentSpec, queue: UnboundedReceiver<String>, kit: Kit) {
    let process = match spawn(&agent, &spec, &kit).await {
        Ok(process) => process,
        Err(why) => {
            kit.log.line(Level::Error, &agent.name, &why);
            agent.end.finish(Outcome::Gone);
            let agent = agent.key;
            kit.inbox
                .send(Event::Agent(AgentEvent::Failed { agent, why }));
            return;
        }
    };
    let pid = process.group.pid();
    kit.log.line(
        Level::Info,
        &agent.name,
        // An argument may hold a key.
        &format!("started as process {pid}: {}", spec.command),
    );
    kit.inbox.send(Event::Agent(AgentEvent::Started {
        agent: agent.key,
        pid,
    }));

    let Process {
        group,
        io: (stdin, stdout, stderr),
        mut exited,
    } = process;
    let writer = spawn_writer(&agent, stdin.into(), queue, &kit);
    let reader = spawn_reader(&agent, stdout, exited.clone(), &kit);
    let errors = spawn_errors(&agent, stderr, exited.clone(), &kit);
    let ended = spawn_end(&agent, group, exited.clone(), writer, &kit);

    let status = tokio::select! {
        exited = exited.wait_for(Option::is_some) => match exited {
            Ok(exit) => exit.as_ref().map(Exit::to_string).unwrap_or_default(),
            Err(_) => "exit status unknown".to_owned(),
        },
        // The process is stuck in the kernel; the core must not wait for it.
        () = agent.end.survived() => {
            reader.abort();
            errors.abort();
            "still running: SIGKILL did not end it".to_owned()
        }
    };
    // A panicked or aborted task has already been reported.
    let _ = reader.await;
    let stderr = errors.await.ok().flatten().unwrap_or_default();
    let status = agent.end.explain(status);
    kit.log.line(Level::Info, &agent.name, &status);
    kit.inbox
        .send_behind_agents(Event::Agent(AgentEvent::Exited {
            agent: agent.key,
            status,
            stderr,
        }));
    if matches!(ended.await, Ok(Some(Outcome::Alive))) {
        let line = format!("some processes of group {pid} survived SIGKILL and were left running");
        kit.log.line(Level::Warn, &agent.name, &line);
    }
}

/// An agent's stdin, stdout and stderr.
type Pipes = (ChildStdin, ChildStdout, ChildStderr);

/// Starts the process.
///
/// # Errors
/// Why it could not be started, as a sentence for the user.
async fn spawn(agent: &Arc<Agent>, spec: &AgentSpec, kit: &Kit) -> Result<Process<Pipes>, String> {
    let (spec_here, environment) = (spec.clone(), kit.environment.clone());
    // This reads the disk, which may be slow.
    let command = kit
        .blocking("looking up an agent", move || {
            command(&Program::of_agent(&spec_here), &environment)
        })
        .await;
    let failed = |error| start_failure(&Program::of_agent(spec), &error);
    let command = command.unwrap_or_else(|| Err(failed(io::Error::other("an internal error"))))?;
    let registry = Arc::clone(agent);
    let started = move |group: &Arc<Group>| {
        // `started` runs once, so the cell is empty.
        let _ = registry.group.set(Arc::clone(group));
    };
    let thread = format!("acp-agent-{}", agent.key.0);
    match start(thread, || with_pipes(command), started).await {
        Ok(process) => process.map_err(failed),
        Err(_) => Err(failed(io::Error::other("no thread could be started"))),
    }
}

/// Spawns a command as the leader of its group, connected by three pipes.
fn with_pipes(mut command: Command) -> io::Result<(Child, Pipes)> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = forking(|| command.spawn())?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((child, (stdin, stdout, stderr))),
        // Cannot happen: all three were requested above.
        _ => {
            let _ = child.kill().and_then(|()| child.wait());
            Err(io::Error::other("its pipes are missing"))
        }
    }
}

/// Spawns a task that serves an agent; a panic ends the agent.
pub(super) fn spawn_guarded<T: Send + 'static>(
    place: &'static str,
    agent: &Arc<Agent>,
    kit: &Kit,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    let agent = Arc::clone(agent);
    kit.spawn_or(place, work, move || agent.end_for(Some(Blame::Panic)))
}

fn spawn_writer(
    agent: &Arc<Agent>,
    stdin: OwnedFd,
    queue: UnboundedReceiver<String>,
    kit: &Kit,
) -> AbortHandle {
    let (own, log) = (Arc::clone(agent), kit.log.clone());
    let work = async move {
        if let Err(error) = write_stdin(stdin, queue, &own.queued, &own.name, &log).await {
            log.line(Level::Warn, &own.name, &format!("stdin: {error}"));
            // The agent would wait for input that can no longer reach it.
            own.end_for(Some(Blame::Stdin));
        }
    };
    spawn_guarded("writing to an agent", agent, kit, work).abort_handle()
}

fn spawn_reader(
    agent: &Arc<Agent>,
    stdout: ChildStdout,
    exited: watch::Receiver<Option<Exit>>,
    kit: &Kit,
) -> JoinHandle<Option<()>> {
    let (own, kit_here) = (Arc::clone(agent), kit.clone());
    let work = async move {
        let Kit { inbox, log, .. } = &kit_here;
        match Receiver::from_owned_fd(stdout.into()) {
            Ok(pipe) => {
                let pipe = Pipe::new(Arc::new(pipe), exited, own.limits.exit_grace);
                read_stdout(pipe, own.key, &own.name, inbox, log).await;
            }
            Err(error) => log.line(Level::Error, &own.name, &format!("stdout: {error}")),
        }
        // Its messages can no longer be read.
        own.end_for(Some(Blame::Stdout));
    };
    spawn_guarded("reading from an agent", agent, kit, work)
}

fn spawn_errors(
    agent: &Arc<Agent>,
    stderr: ChildStderr,
    exited: watch::Receiver<Option<Exit>>,
    kit: &Kit,
) -> JoinHandle<Option<Vec<String>>> {
    let (own, log) = (Arc::clone(agent), kit.log.clone());
    let work = async move {
        match Receiver::from_owned_fd(stderr.into()) {
            Ok(pipe) => {
                let pipe = Pipe::new(Arc::new(pipe), exited, own.limits.exit_grace);
                read_stderr(pipe, &own.name, &log).await
            }
            Err(error) => vec![format!("(stderr could not be read: {error})")],
        }
    };
    spawn_guarded("reading an agent's stderr", agent, kit, work)
}

/// Waits until the agent exits or is to end, then ends the rest of its group.
fn spawn_end(
    agent: &Arc<Agent>,
    group: Arc<Group>,
    mut exited: watch::Receiver<Option<Exit>>,
    writer: AbortHandle,
    kit: &Kit,
) -> JoinHandle<Option<Outcome>> {
    let (own, inbox) = (Arc::clone(agent), kit.inbox.clone());
    kit.runtime.spawn(async move {
        let end = async {
            tokio::select! {
                () = own.end.wanted() => {}
                _ = exited.wait_for(Option::is_some) => own.end(),
            }
            let mut steps = own.end.steps(exited);
            let outcome = loop {
                match steps.next(|| group.is_gone()).await {
                    EndStep::Send(signal) => {
                        // Some agents ignore SIGTERM while stdin is open.
                        writer.abort();
                        group.signal(signal);
                    }
                    EndStep::Over(outcome) => break outcome,
                }
            };
            writer.abort();
            outcome
        };
        let outcome = guarded("ending an agent", &inbox, end).await;
        if outcome.is_none() {
            own.kill();
        }
        own.end.finish(outcome.unwrap_or(Outcome::Gone));
        outcome
    })
}
