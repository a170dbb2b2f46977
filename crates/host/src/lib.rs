//! Everything outside the editor, on tokio: agents, terminals, files, timers, the log.
//!
//! [`Host`] carries out [`HostEffect`]s and reports [`Event`]s; it makes no decisions.
//!
//! Invariants: [`Host::run`] never blocks. Every effect that expects an answer gets exactly one. A
//! panic ends one operation and is reported to the core.
//!
//! If Neovim itself is killed (`kill -9`), none of this code runs: the agents' stdin closes, and
//! well-behaved agents exit. (On Linux, PR_SET_PDEATHSIG could signal them, but it needs unsafe
//! code between fork and exec, and it follows the death of a thread, not of the process.)

mod agent;
mod attachments;
mod command;
mod cookie;
mod disk;
mod ending;
mod environment;
mod guard;
mod held;
mod history;
mod locked;
mod log;
mod mcp;
mod open_files;
mod pipes;
mod process;
mod project;
mod quiescence;
mod refusal;
mod terminal;
mod watchdog;
mod write;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::agent::Agent;
use self::attachments::prompts::Prompts;
use self::disk::{Disk, Operation};
pub use self::environment::Environment;
use self::guard::{guarded, guarded_call};
use self::history::History;
use self::log::Log;
use self::mcp::McpServer;
pub use self::project::Limits as ProjectLimits;
use self::project::Projects;
pub use self::quiescence::Quiescence;
use self::quiescence::Writers;
use self::terminal::Terminals;
use acp_core::code::Code;
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::effect::{HostEffect, Level};
use acp_core::spine::event::SaveStep;
use acp_core::spine::ids::AgentKey;
use acp_core::spine::pending::{Token, reply};
use acp_edge::inbox::Inbox;
use acp_edge::panics::lock;

/// Configuration of the host.
#[derive(Debug, Clone)]
pub struct HostConfig {
    pub log_path: PathBuf,
    /// The folder for data that outlives this Neovim: contents, checkpoints, reviews.
    pub state_path: PathBuf,
    /// The socket of the tool server, in a folder that does not exist yet.
    pub tools_socket: PathBuf,
    /// Entries below this level are dropped; `Debug` includes all protocol messages.
    pub log_level: Level,
    /// The environment that agents inherit.
    ///
    /// `ACP_TEST_PANIC=host` in it makes the first read of a file panic, which lets end-to-end
    /// tests show that Neovim survives. It is read once, when the host starts.
    pub environment: Environment,
    pub limits: Limits,
}

impl HostConfig {
    /// Returns a config with the default limits. It captures the environment, so call it on
    /// Neovim's main thread.
    pub fn new(
        log_path: PathBuf,
        state_path: PathBuf,
        tools_socket: PathBuf,
        log_level: Level,
    ) -> Self {
        Self {
            log_path,
            state_path,
            tools_socket,
            log_level,
            environment: Environment::capture(),
            limits: Limits::default(),
        }
    }
}

/// The delays and sizes the host uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Delay from closing stdin to SIGTERM.
    pub term_after: Duration,
    /// Delay from SIGTERM to SIGKILL.
    pub kill_after: Duration,
    /// Time limit for reading output after an agent's exit; its children may hold the pipes open.
    pub exit_grace: Duration,
    /// Maximum number of bytes queued for stdin; an agent that exceeds it is ended.
    pub stdin_backlog: usize,
    /// Maximum size of a file that is read.
    pub file_bytes: u64,
    /// Size at which the log file is rotated.
    pub log_bytes: u64,
    /// Time limit for resolving the links in the paths of a request.
    pub resolve: Duration,
    /// Time limit for a client of the tool server to present its token.
    pub tools_hello: Duration,
    /// Bytes queued for such a client above which reading from it pauses.
    pub tools_backlog: usize,
    pub project: ProjectLimits,
    pub quiescence: Quiescence,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            term_after: Duration::from_millis(300),
            kill_after: Duration::from_secs(1),
            exit_grace: Duration::from_millis(500),
            stdin_backlog: 256 << 20,
            file_bytes: 64 << 20,
            log_bytes: 5 << 20,
            resolve: Duration::from_secs(5),
            tools_hello: Duration::from_secs(5),
            tools_backlog: 32 << 20,
            project: ProjectLimits::default(),
            quiescence: Quiescence::default(),
        }
    }
}

/// The crate's interface: effects go in here, events come out of the inbox.
///
/// Dropping it without [`Host::shutdown`] kills all agents and terminal commands immediately.
#[derive(Debug)]
pub struct Host {
    /// `Some` until the host is shut down or dropped.
    runtime: Option<Runtime>,
    kit: Kit,
    disk: Disk,
    projects: Projects,
    terminals: Terminals,
    history: History,
    mcp: McpServer,
    prompts: Prompts,
}

impl Host {
    /// Starts the host's threads; agents and files follow as effects.
    ///
    /// An unwritable log file is not an error; logging is then disabled.
    ///
    /// # Errors
    /// The system has no threads or no event queue left.
    pub fn start(inbox: Inbox, mut config: HostConfig) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(32)
            .thread_name("acp-host")
            .enable_all()
            .build()?;
        let panic = config.environment.has("ACP_TEST_PANIC", "host");
        if let Some(watches) = config.environment.number("ACP_TEST_WATCHES") {
            config.limits.project.watches = watches;
        }
        let history = History::start(config.state_path.join("sessions"), inbox.clone());
        let kit = Kit {
            runtime: runtime.handle().clone(),
            inbox,
            log: Log::start(config.log_path, config.log_level, config.limits.log_bytes),
            environment: config.environment,
            agents: Arc::default(),
            writers: Arc::new(Writers::new(config.limits.quiescence)),
            limits: config.limits,
        };
        let projects = Projects::new(&config.state_path, kit.limits.project.clone());
        Ok(Self {
            runtime: Some(runtime),
            disk: Disk::new(kit.limits.file_bytes, projects.store(), panic),
            projects,
            terminals: Terminals::default(),
            history,
            mcp: McpServer::new(config.tools_socket),
            prompts: Prompts::new(config.state_path),
            kit,
        })
    }

    /// Returns a test for files that a program has open and writes to; it takes their size, too, and
    /// waits a moment for such a program to close the file.
    pub fn is_being_written(&self) -> impl Fn(&Path, u64) -> bool + use<> {
        let writers = Arc::clone(&self.kit.writers);
        move |path, bytes| writers.stays_open(path, bytes)
    }

    /// Returns a function that notes a step of a write of Neovim's to a file.
    pub fn note_saving(&self) -> impl Fn(&Path, SaveStep) + use<> {
        let writers = Arc::clone(&self.kit.writers);
        move |path, step| writers.note_saving(path, step)
    }

    /// Returns a function that sets the lowest level of the log's entries.
    pub fn set_log_level(&self) -> impl Fn(Level) + use<> {
        let log = self.kit.log.clone();
        move |level| log.set_level(level)
    }

    /// Carries out an effect or starts it; never blocks.
    pub fn run(&self, effect: HostEffect) {
        match effect {
            HostEffect::Spawn { agent, spec } => self.spawn(agent, spec),
            HostEffect::Send { agent, line } => match self.kit.agent(agent) {
                Some(agent) => agent.send(line),
                None => self.say(
                    Level::Debug,
                    &format!("{agent:?} is gone: not sent: {}", pipes::shown(&line)),
                ),
            },
            HostEffect::Shutdown { agent } => {
                if let Some(agent) = self.kit.agent(agent) {
                    agent.end();
                }
            }
            HostEffect::StartTerminal { terminal, spec } => {
                self.terminals.start(terminal, spec, &self.kit);
            }
            HostEffect::TerminalInput { terminal, bytes } => self.terminals.input(terminal, bytes),
            HostEffect::ResizeTerminal {
                terminal,
                columns,
                rows,
            } => self.terminals.resize(terminal, columns, rows),
            HostEffect::KillTerminal { terminal } => self.terminals.kill(terminal),
            HostEffect::ReadDisk { token, path } => self.file(path, Operation::Read { token }),
            HostEffect::Saved { stamp } => self.kit.writers.note_own_write(stamp),
            HostEffect::WriteDisk {
                token,
                path,
                roots,
                over,
                hard_links,
                text,
                format,
            } => {
                let operation = Operation::Write {
                    token,
                    roots,
                    over,
                    hard_links,
                    text,
                    format,
                };
                self.file(path, operation);
            }
            HostEffect::Resolve { token, paths } => self.resolve(token, paths),
            HostEffect::DeleteDisk {
                token,
                path,
                roots,
                over,
            } => self.file(path, Operation::Delete { token, roots, over }),
            HostEffect::OpenProject { root } => self.projects.open(root, &self.kit),
            HostEffect::CloseProject { root } => {
                let line = format!("{}: closed", root.display());
                self.kit.log.line(Level::Info, "project", &line);
                self.projects.close(&root);
            }
            HostEffect::Checkpoint { token, root, turns } => {
                self.projects.checkpoint(token, &root, turns, &self.kit);
            }
            HostEffect::TurnsAreOver { root } => self.projects.turns_are_over(&root),
            HostEffect::KeepReviews {
                root,
                files,
                over,
                saved,
            } => self.projects.keep(&root, files, over, saved, &self.kit),
            HostEffect::History(order) => self.history.does(order),
            HostEffect::Look { root, paths } => self.projects.look(&root, paths),
            HostEffect::Track { root, paths } => self.projects.track(&root, paths),
            HostEffect::Reviewed { root, begun, ended } => {
                self.projects.review(&root, begun, ended);
            }
            HostEffect::Restore {
                token,
                path,
                roots,
                state,
                over,
                hard_links,
            } => self.file(
                path,
                Operation::Restore {
                    token,
                    roots,
                    state,
                    over,
                    hard_links,
                },
            ),
            HostEffect::MoveDisk {
                token,
                from,
                to,
                roots,
            } => self.file(from, Operation::Move { token, roots, to }),
            HostEffect::Timer { token, ms } => {
                let inbox = self.kit.inbox.clone();
                self.kit.spawn("a timer", async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    // What an agent has sent in time is handled before, if it was read.
                    inbox.send_behind_agents(Event::Timer { token });
                });
            }
            HostEffect::ReadImage { token, path } => attachments::image(token, path, &self.kit),
            HostEffect::RecallPrompts { folder } => self.prompts.recall(folder, &self.kit),
            HostEffect::KeepPrompt { folder, text } => self.prompts.keep(folder, text, &self.kit),
            HostEffect::ListFiles { folder } => attachments::list(folder, &self.kit),
            HostEffect::Diff { token, folder } => attachments::diff(token, folder, &self.kit),
            HostEffect::OfferTools(tools) => self.mcp.offer(tools, &self.kit),
            HostEffect::AdmitToTools { session, token } => {
                self.mcp.admit(session, token, &self.kit)
            }
            HostEffect::ShutOutOfTools { session } => self.mcp.shut_out(session),
            HostEffect::AnswerTool { id, result } => self.mcp.answer(id, result),
            HostEffect::ReportTool { id, progress } => self.mcp.report(id, progress),
            HostEffect::Highlight { token, code } => self.highlight(token, code),
            HostEffect::Log { level, line } => self.say(level, &line),
        }
    }

    /// Finishes pending writes, for at most `deadline` and the time to flush the history and the
    /// log. Must not be called from a task.
    ///
    /// A process that exits then loses nothing; its agents and commands are ended by the watchdog.
    pub fn finish_writes(&self, deadline: Duration) {
        let Some(runtime) = &self.runtime else {
            return;
        };
        // A timeout is fine: a disk that hangs must not keep Neovim from quitting.
        let _ = runtime.block_on(async { timeout(deadline, self.all_written()).await });
        self.mcp.close();
        self.history.flush(HISTORY_FLUSH);
        self.kit.log.flush(LOG_FLUSH);
    }

    /// Ends all agents and terminal commands at the same time and finishes pending writes; kills
    /// the agents and commands that remain after `deadline`.
    ///
    /// Blocks until then; well-behaved agents make it quick. Must not be called from a task.
    pub fn shutdown(mut self, deadline: Duration) {
        let agents = self.kit.all_agents();
        for agent in &agents {
            // Leaves a quarter of the time for SIGKILL to take effect.
            agent.end_within(self.usual_end().min(deadline * 3 / 4));
        }
        let terminals = self.terminals.all();
        for terminal in &terminals {
            terminal.end_within(deadline * 3 / 4);
        }
        if let Some(runtime) = &self.runtime {
            let done = async {
                for agent in &agents {
                    agent.gone().await;
                }
                for terminal in &terminals {
                    terminal.gone().await;
                }
                self.all_written().await;
            };
            // A timeout is fine: the rest is killed below.
            let _ = runtime.block_on(async { timeout(deadline, done).await });
        }
        for agent in &agents {
            agent.kill();
        }
        for terminal in &terminals {
            terminal.kill();
        }
        self.history.flush(HISTORY_FLUSH);
        self.kit.log.flush(LOG_FLUSH);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Waits until nothing is left to write.
    async fn all_written(&self) {
        self.disk.idle().await;
        self.prompts.finish(&self.kit).await;
        self.projects.end(&self.kit).await;
    }

    fn usual_end(&self) -> Duration {
        self.kit.limits.term_after + self.kit.limits.kill_after
    }

    fn spawn(&self, key: AgentKey, spec: acp_core::spine::event::AgentSpec) {
        let mut agents = lock(&self.kit.agents);
        let agent = Agent::start(key, spec, &self.kit);
        if let Some(old) = agents.insert(key, agent) {
            // Keys are unique; if one were reused, the old process must not be orphaned.
            old.end();
        }
    }

    fn file(&self, path: PathBuf, operation: Operation) {
        self.disk.run(path, operation, &self.kit);
    }

    /// Resolves links in paths; if that fails, returns empty paths, which no rule allows.
    fn resolve(&self, token: Token<reply::Resolved>, paths: Vec<PathBuf>) {
        let kit = self.kit.clone();
        self.kit.spawn("where paths lead", async move {
            let count = paths.len();
            let work = move || paths.iter().map(|path| leads_to(path)).collect();
            let done = kit.blocking("where paths lead", work);
            // A file system may not answer; the user is asked then.
            let done = timeout(kit.limits.resolve, done).await.ok().flatten();
            let paths = done.unwrap_or_else(|| vec![PathBuf::new(); count]);
            kit.inbox.send(Event::Resolved { token, paths });
        });
    }

    /// Highlights code; if that panics, the code stays plain.
    fn highlight(&self, token: Token<reply::Highlighted>, code: Code) {
        let kit = self.kit.clone();
        self.kit.spawn("highlighting", async move {
            let result = kit.blocking("highlighting", || code.highlight()).await;
            kit.inbox
                .send(Event::View(ViewEvent::Highlighted { token, result }));
        });
    }

    fn say(&self, level: Level, line: &str) {
        self.kit.log.line(level, "core", line);
    }
}

/// Returns where a path leads, also if the file does not exist yet. Returns an empty path if a link
/// in it is broken: writing through one creates a file whose location cannot be known in advance.
fn leads_to(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !path.is_symlink() => {
            let parent = leads_to(parent);
            match parent.as_os_str().is_empty() {
                true => parent,
                false => parent.join(name),
            }
        }
        _ => PathBuf::new(),
    }
}

/// Time limit at shutdown for writing session histories.
const HISTORY_FLUSH: Duration = Duration::from_millis(300);

/// Time limit at shutdown for writing the log.
const LOG_FLUSH: Duration = Duration::from_millis(200);

impl Host {
    /// Kills all agents and terminals, and returns the runtime of the remaining tasks.
    fn kill_all(&mut self) -> Option<Runtime> {
        let runtime = self.runtime.take()?;
        for agent in self.kit.all_agents() {
            agent.kill();
        }
        for terminal in self.terminals.all() {
            terminal.kill();
        }
        Some(runtime)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(runtime) = self.kill_all() {
            runtime.shutdown_background();
        }
    }
}

/// Shared handles for the host's tasks; cheap to clone.
#[derive(Debug, Clone)]
struct Kit {
    runtime: Handle,
    inbox: Inbox,
    log: Log,
    environment: Environment,
    /// Agents that are starting, running or ending.
    agents: Arc<Mutex<HashMap<AgentKey, Arc<Agent>>>>,
    /// Tracks which files are being written.
    writers: Arc<Writers>,
    limits: Limits,
}

impl Kit {
    /// Spawns a guarded task.
    fn spawn(&self, place: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let inbox = self.inbox.clone();
        self.runtime
            .spawn(async move { guarded(place, &inbox, work).await });
    }

    /// Spawns a guarded task with an output; calls `panicked` if it panics.
    fn spawn_or<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl Future<Output = T> + Send + 'static,
        panicked: impl FnOnce() + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let inbox = self.inbox.clone();
        self.runtime.spawn(async move {
            let output = guarded(place, &inbox, work).await;
            if output.is_none() {
                panicked();
            }
            output
        })
    }

    /// Runs blocking work, guarded; `None` if it panicked or the host is ending.
    async fn blocking<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let inbox = self.inbox.clone();
        let work = move || {
            acp_edge::slow::pause("host");
            guarded_call(place, &inbox, work)
        };
        self.runtime.spawn_blocking(work).await.ok().flatten()
    }

    fn agent(&self, key: AgentKey) -> Option<Arc<Agent>> {
        lock(&self.agents).get(&key).cloned()
    }

    fn all_agents(&self) -> Vec<Arc<Agent>> {
        lock(&self.agents).values().cloned().collect()
    }

    fn forget(&self, agent: &Arc<Agent>) {
        let mut agents = lock(&self.agents);
        if agents
            .get(&agent.key())
            .is_some_and(|there| Arc::ptr_eq(there, agent))
        {
            agents.remove(&agent.key());
        }
    }
}
