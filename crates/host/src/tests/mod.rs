//! The host as the core sees it: effects in, events out, with small shell scripts as agents.
//!
//! Every wait has a deadline: a timer of the host that fails the test.

mod agents;
mod ending;
#[cfg(target_os = "linux")]
pub(crate) mod exhausted;
mod files;
pub(crate) mod git;
mod highlighting;
mod history;
mod mcp;
mod project;
mod terminals;
mod watch;

use acp_core::event::AgentEvent;
use std::path::{Path, PathBuf};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use acp::Message;
use acp_core::spine::event::AgentSpec;
use acp_core::spine::pending::{Token, reply};
use acp_edge::inbox::{Outlet, inbox};

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
const DEADLINE_TOKEN: Token<reply::Timer> = Token::new(u64::MAX);
const AGENT: AgentKey = AgentKey(1);

/// A host, the core's end of the inbox, and a folder to work in.
struct Run {
    host: Ends,
    outlet: Outlet,
    folder: TempDir,
}

/// A host that has ended when it is dropped: what its tasks and its log still write would create
/// the folder again once that is removed.
struct Ends(Option<Host>);

impl Ends {
    fn shutdown(mut self, deadline: Duration) {
        if let Some(host) = self.0.take() {
            host.shutdown(deadline);
        }
    }
}

impl std::ops::Deref for Ends {
    type Target = Host;

    fn deref(&self) -> &Host {
        self.0.as_ref().expect("it is taken at its end")
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let Some(mut host) = self.0.take() else {
            return;
        };
        if let Some(runtime) = host.kill_all() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
        host.kit.log.flush(DEADLINE);
    }
}

/// The events of an agent's life, up to its exit.
#[derive(Debug)]
struct Life {
    lines: Vec<String>,
    status: String,
    stderr: Vec<String>,
}

impl Run {
    fn new() -> Self {
        Self::with(|_| ())
    }

    /// Starts a host with a changed config.
    fn with(change: impl FnOnce(&mut HostConfig)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let state = folder.path().join("acp.state");
        let (inbox, outlet) = inbox();
        let socket = folder.path().join("acp.nvim.1.test/mcp.sock");
        let log = folder.path().join("acp.log");
        let mut config = HostConfig::new(log, state, socket, Level::Debug);
        change(&mut config);
        let host = Ends(Some(Host::start(inbox, config).expect("a host")));
        let run = Self {
            host,
            outlet,
            folder,
        };
        run.set_deadline();
        run
    }

    fn set_deadline(&self) {
        self.host.run(HostEffect::Timer {
            token: DEADLINE_TOKEN,
            ms: DEADLINE.as_millis() as u64,
        });
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a spec of an agent that is a shell script, run in the folder.
    fn script(&self, script: &str) -> AgentSpec {
        AgentSpec {
            name: "tester".to_owned(),
            command: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![],
            cwd: self.folder.path().to_owned(),
            missing_is_empty: false,
            defaults: Default::default(),
            awaits_remembered: false,
        }
    }

    fn spawn(&self, spec: AgentSpec) {
        self.host.run(HostEffect::Spawn { agent: AGENT, spec });
    }

    fn send(&self, line: &str) {
        self.host.run(HostEffect::Send {
            agent: AGENT,
            line: line.to_owned(),
        });
    }

    fn shut_down_agent(&self) {
        self.host.run(HostEffect::Shutdown { agent: AGENT });
    }

    /// Returns the next event.
    fn next(&self) -> Event {
        let begin = Instant::now();
        loop {
            match self.outlet.recv() {
                Some(Event::Timer {
                    token: DEADLINE_TOKEN,
                }) => {
                    if begin.elapsed() >= DEADLINE {
                        self.host.kit.log.flush(DEADLINE);
                        // There is none if nothing was logged.
                        let log = std::fs::read_to_string(self.path("acp.log"));
                        let log = log.unwrap_or_default();
                        panic!("nothing came in {DEADLINE:?}; the log:\n{log}");
                    }
                    // It was set in an earlier wait.
                    self.set_deadline();
                }
                Some(event) => return event,
                None => panic!("the host has forgotten the core"),
            }
        }
    }

    /// Starts an agent that must start, and returns its pid.
    fn started(&self, script: &str) -> u32 {
        self.spawn(self.script(script));
        match self.next() {
            Event::Agent(AgentEvent::Started { agent: AGENT, pid }) => pid,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the agent's next line of output; the scripts here do not print JSON.
    fn line(&self) -> String {
        match self.next() {
            Event::Agent(AgentEvent::Message {
                agent: AGENT,
                message: Message::Noise(line),
            }) => line,
            other => panic!("{other:?}"),
        }
    }

    /// Handles events up to the agent's exit.
    fn life(&self) -> Life {
        let mut lines = Vec::new();
        loop {
            match self.next() {
                Event::Agent(AgentEvent::Message {
                    agent: AGENT,
                    message: Message::Noise(line),
                }) => lines.push(line),
                Event::Agent(AgentEvent::Exited {
                    agent: AGENT,
                    status,
                    stderr,
                }) => {
                    return Life {
                        lines,
                        status,
                        stderr,
                    };
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits until 64 messages of 1 MiB fill the agent lane completely.
    fn wait_for_full_lane(&self) {
        let inbox = &self.host.kit.inbox;
        wait_for("the lane to be full", || {
            let permit = std::pin::pin!(inbox.permit(1));
            let mut context = Context::from_waker(Waker::noop());
            permit.poll(&mut context).is_pending() && self.outlet.agent_messages() == 64
        });
    }

    /// Starts an agent that must start, and handles events up to its exit.
    fn whole_life(&self, script: &str) -> Life {
        self.started(script);
        self.life()
    }
}

/// Waits for a condition that no event reports.
pub(crate) fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns whether a process runs; a zombie does not.
fn runs(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// Returns the one-letter state of a process; `None` if the pid does not exist.
fn state(pid: u32) -> Option<char> {
    let stat = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .expect("ps");
    String::from_utf8_lossy(&stat.stdout).trim().chars().next()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file that can be read")
}

/// Writes a program by another process: while a process that this one forks still has the file open
/// for writing, it cannot be executed.
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", "printf %s \"$2\" >\"$1\"; chmod 755 \"$1\"", "sh"]);
    let status = shell.arg(path).arg(text).status();
    assert!(status.expect("a shell").success());
}

fn set_mode(path: &Path, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(path, mode).expect("a mode");
}
