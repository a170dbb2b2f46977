//! All that is outside the editor, on tokio: agents, files, timers, the log.
//!
//! [`Host`] carries out [`HostEffect`]s and reports [`Event`]s; it decides nothing.
//!
//! Invariants: [`Host::run`] never waits. Every effect that asks for an answer gets exactly one.
//! A panic in here ends one operation, and the core is told.
//!
//! When Neovim itself is killed (`kill -9`), nothing of this runs: the agents' stdin closes, which
//! ends those that behave. (Linux could signal them, by PR_SET_PDEATHSIG, but that needs unsafe
//! code between fork and exec, and it follows the death of a thread, not of the process.)

mod agent;
mod along;
mod command;
mod disk;
mod ending;
mod environment;
mod guard;
mod history;
mod log;
mod mcp;
mod pipes;
mod process;
mod project;
mod still;
mod terminal;
mod write;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::agent::Agent;
use self::disk::{Disk, Operation};
pub use self::environment::Environment;
use self::guard::{guarded, guarded_call};
use self::history::History;
use self::log::Log;
use self::mcp::McpServer;
pub use self::project::Limits as ProjectLimits;
use self::project::Projects;
pub use self::still::Stillness;
use self::still::Writers;
use self::terminal::Terminals;
use acp_core::render::markdown;
use acp_core::spine::effect::{HostEffect, Level};
use acp_core::spine::event::Event;
use acp_core::spine::ids::{AgentKey, Token};
use acp_edge::inbox::Inbox;

/// How the host is to run.
#[derive(Debug, Clone)]
pub struct HostConfig {
    pub log_path: PathBuf,
    /// The folder for what outlives this Neovim: contents, checkpoints, reviews.
    pub state_path: PathBuf,
    /// Where the server of Neovim's tools is to listen, in a folder that is not there yet.
    pub tools_socket: PathBuf,
    /// Lines below this level are not written; `Debug` includes what goes over the wire.
    pub log_level: Level,
    /// What agents see of the user's environment.
    ///
    /// With `ACP_TEST_PANIC=host` in it, the first read of a file panics: it is how the tests of
    /// the whole plugin show that Neovim survives that. Looked at once, when the host starts.
    pub environment: Environment,
    pub limits: Limits,
}

impl HostConfig {
    /// Returns a config with the usual limits; captures the environment, so call it on Neovim's
    /// main thread.
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

/// The times and sizes the host keeps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From stdin being closed to SIGTERM.
    pub term_after: Duration,
    /// From SIGTERM to SIGKILL.
    pub kill_after: Duration,
    /// From an agent's exit until its output is no longer waited for: children of its may hold
    /// the pipes open.
    pub exit_grace: Duration,
    /// The bytes that may wait for an agent to read its stdin; with more it is ended as dead.
    pub stdin_backlog: usize,
    /// The largest file that is read.
    pub file_bytes: u64,
    /// The size at which the log file is rotated.
    pub log_bytes: u64,
    /// How long a client of Neovim's tools may take to show its token.
    pub tools_hello: Duration,
    /// The bytes that may wait for such a client to read them before no more is read from it.
    pub tools_backlog: usize,
    pub project: ProjectLimits,
    pub stillness: Stillness,
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
            tools_hello: Duration::from_secs(5),
            tools_backlog: 32 << 20,
            project: ProjectLimits::default(),
            stillness: Stillness::default(),
        }
    }
}

/// The room's door: effects go in here, events come out of the inbox.
///
/// Dropping it without [`Host::shutdown`] kills every agent and every terminal's command at once.
#[derive(Debug)]
pub struct Host {
    /// There until the host is shut down or dropped.
    runtime: Option<Runtime>,
    kit: Kit,
    disk: Disk,
    projects: Projects,
    terminals: Terminals,
    history: History,
    mcp: McpServer,
    /// One permit is out for each prompt that is being kept.
    prompts: Arc<Semaphore>,
    state_path: PathBuf,
}

impl Host {
    /// Starts the host's threads; agents and files come by effects.
    ///
    /// A log file that cannot be written is no error: nothing is logged then.
    ///
    /// # Errors
    /// The system gives no threads or no event queue.
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
            writers: Arc::new(Writers::new(config.limits.stillness)),
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
            prompts: Arc::new(Semaphore::new(PROMPTS as usize)),
            state_path: config.state_path,
            kit,
        })
    }

    /// Carries out an effect, or sees to it that it is; never waits.
    pub fn run(&self, effect: HostEffect) {
        match effect {
            HostEffect::Spawn { agent, spec } => self.spawn(agent, spec),
            HostEffect::Send { agent, line } => match self.kit.agent(agent) {
                Some(agent) => agent.send(line),
                None => self.say(
                    Level::Debug,
                    &format!("{agent:?} is gone: not sent: {line}"),
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
            HostEffect::WriteDisk {
                token,
                path,
                over,
                text,
                format,
            } => {
                let operation = Operation::Write {
                    token,
                    over,
                    text,
                    format,
                };
                self.file(path, operation);
            }
            HostEffect::Resolve { token, paths } => self.resolve(token, paths),
            HostEffect::DeleteDisk { token, path } => self.file(path, Operation::Delete { token }),
            HostEffect::OpenProject { root } => self.projects.open(root, &self.kit),
            HostEffect::CloseProject { root } => self.projects.close(&root),
            HostEffect::Checkpoint { token, root, turns } => {
                self.projects.checkpoint(token, &root, turns, &self.kit);
            }
            HostEffect::KeepReviews { root, files, over } => {
                self.projects.keep(&root, files, over, &self.kit)
            }
            HostEffect::History(order) => self.history.does(order),
            HostEffect::Look { root, paths } => self.projects.look(&root, paths),
            HostEffect::Track { root, paths } => self.projects.track(&root, paths),
            HostEffect::Reviewed { root, paths } => self.projects.review(&root, paths),
            HostEffect::Restore { token, path, state } => {
                self.file(path, Operation::Restore { token, state });
            }
            HostEffect::MoveDisk { token, from, to } => {
                self.file(from, Operation::Move { token, to });
            }
            HostEffect::Timer { token, ms } => {
                let inbox = self.kit.inbox.clone();
                self.kit.spawn("a timer", async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    inbox.send(Event::Timer { token });
                });
            }
            HostEffect::ReadImage { token, path } => along::image(token, path, &self.kit),
            HostEffect::RecallPrompts { folder } => {
                along::recall(self.state_path.clone(), folder, &self.kit);
            }
            HostEffect::KeepPrompt { folder, text } => {
                let busy = self.prompts.clone().try_acquire_owned().ok();
                along::keep_prompt(self.state_path.clone(), folder, text, busy, &self.kit);
            }
            HostEffect::ListFiles { folder } => along::list(folder, &self.kit),
            HostEffect::Diff { token, folder } => along::diff(token, folder, &self.kit),
            HostEffect::OfferTools(tools) => self.mcp.offer(tools, &self.kit),
            HostEffect::AdmitToTools { session, token } => {
                self.mcp.admit(session, token, &self.kit)
            }
            HostEffect::ShutOutOfTools { session } => self.mcp.shut_out(session),
            HostEffect::ServeToolsByHttp => self.mcp.serve_http(&self.kit),
            HostEffect::AnswerTool { id, result } => self.mcp.answer(id, result),
            HostEffect::ReportTool { id, progress } => self.mcp.report(id, progress),
            HostEffect::Preload { language } => self.preload(language),
            HostEffect::Log { level, line } => self.say(level, &line),
        }
    }

    /// Ends every agent and every terminal's command, all at once, and lets what is being written
    /// to disk be finished; after `deadline` those that are left are killed.
    ///
    /// Waits for that, so well-behaved ones make it quick. Not to be called from a task.
    pub fn shutdown(mut self, deadline: Duration) {
        let agents = self.kit.all_agents();
        for agent in &agents {
            // Leaves a quarter of the time for SIGKILL to work.
            agent.end_within(self.usual_end().min(deadline * 3 / 4));
        }
        let terminals = self.terminals.all();
        for terminal in &terminals {
            terminal.end_within(deadline * 3 / 4);
        }
        let (disk, projects) = (self.disk.clone(), self.projects.clone());
        let (kit, prompts) = (self.kit.clone(), self.prompts.clone());
        let done = async {
            for agent in &agents {
                agent.gone().await;
            }
            for terminal in &terminals {
                terminal.gone().await;
            }
            disk.idle().await;
            let _ = prompts.acquire_many(PROMPTS).await;
            projects.end(&kit).await;
        };
        if let Some(runtime) = self.runtime.take() {
            // When the time is over, it is over.
            let _ = runtime.block_on(async { timeout(deadline, done).await });
            for agent in &agents {
                agent.kill();
            }
            for terminal in &terminals {
                terminal.kill();
            }
            self.history.flush(HISTORY_FLUSH);
            self.kit.log.flush(LOG_FLUSH);
            runtime.shutdown_background();
        }
    }

    fn usual_end(&self) -> Duration {
        self.kit.limits.term_after + self.kit.limits.kill_after
    }

    fn spawn(&self, key: AgentKey, spec: acp_core::spine::event::AgentSpec) {
        let mut agents = self.kit.lock();
        let agent = Agent::start(key, spec, &self.kit);
        if let Some(old) = agents.insert(key, agent) {
            // Each life has a key of its own; should one be used twice, no process is orphaned.
            old.end();
        }
    }

    fn file(&self, path: PathBuf, operation: Operation) {
        self.disk.run(path, operation, &self.kit);
    }

    /// Looks where paths lead; should even that fail, they lead nowhere that anything is allowed.
    fn resolve(&self, token: Token, paths: Vec<PathBuf>) {
        let kit = self.kit.clone();
        self.kit.spawn("where paths lead", async move {
            let count = paths.len();
            let work = move || paths.iter().map(|path| leads_to(path)).collect();
            let done = kit.blocking("where paths lead", work).await;
            let paths = done.unwrap_or_else(|| vec![PathBuf::new(); count]);
            kit.inbox.send(Event::Resolved { token, paths });
        });
    }

    fn preload(&self, language: String) {
        let kit = self.kit.clone();
        self.kit.spawn("a language", async move {
            let name = language.clone();
            let work = move || markdown::preload(&name);
            let done = kit.blocking("a language", work).await;
            kit.inbox.send(Event::LanguageReady {
                language,
                result: done.ok_or_else(|| "its definition could not be loaded".to_owned()),
            });
        });
    }

    fn say(&self, level: Level, line: &str) {
        self.kit.log.line(level, "core", line);
    }
}

/// Returns where a path leads, also one where nothing is yet; nowhere, if a link in it is broken:
/// whoever writes there makes a file that nobody can name before.
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

/// How many prompts may be on their way to the disk.
const PROMPTS: u32 = 1024;

/// How long the end of the host waits for what is kept of sessions to be written.
const HISTORY_FLUSH: Duration = Duration::from_millis(300);

/// How long the end of the host waits for the log's disk.
const LOG_FLUSH: Duration = Duration::from_millis(200);

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            for agent in self.kit.all_agents() {
                agent.kill();
            }
            for terminal in self.terminals.all() {
                terminal.kill();
            }
            runtime.shutdown_background();
        }
    }
}

/// What every task of the host may use; cloning is cheap.
#[derive(Debug, Clone)]
struct Kit {
    runtime: Handle,
    inbox: Inbox,
    log: Log,
    environment: Environment,
    /// The agents that live, or are starting or ending.
    agents: Arc<Mutex<HashMap<AgentKey, Arc<Agent>>>>,
    /// Who is at writing which file.
    writers: Arc<Writers>,
    limits: Limits,
}

impl Kit {
    /// Spawns a task behind the guard.
    fn spawn(&self, place: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let inbox = self.inbox.clone();
        self.runtime
            .spawn(async move { guarded(place, &inbox, work).await });
    }

    /// Spawns a task behind the guard whose output is wanted; when it panics, `panicked` is called.
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

    /// Runs work that blocks, behind the guard; `None` when it panicked or the host is ending.
    async fn blocking<T: Send + 'static>(
        &self,
        place: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let inbox = self.inbox.clone();
        let work = move || guarded_call(place, &inbox, work);
        self.runtime.spawn_blocking(work).await.ok().flatten()
    }

    fn agent(&self, key: AgentKey) -> Option<Arc<Agent>> {
        self.lock().get(&key).cloned()
    }

    fn all_agents(&self) -> Vec<Arc<Agent>> {
        self.lock().values().cloned().collect()
    }

    fn forget(&self, agent: &Arc<Agent>) {
        let mut agents = self.lock();
        if agents
            .get(&agent.key())
            .is_some_and(|there| Arc::ptr_eq(there, agent))
        {
            agents.remove(&agent.key());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentKey, Arc<Agent>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
