//! Terminals: starting commands, their output, input and end.

mod ending;
mod output;
mod running;

use super::*;
use acp_core::spine::event::{TerminalExit, TerminalSpec};
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::TerminalEvent;

const TERMINAL: TerminalKey = TerminalKey(1);

/// The events of a command's life, up to its end.
#[derive(Debug)]
struct Printed {
    bytes: Vec<u8>,
    exit: TerminalExit,
}

impl Printed {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Run {
    /// Returns a spec that runs a script in the folder.
    fn command(&self, script: &str) -> TerminalSpec {
        TerminalSpec {
            command: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![],
            cwd: self.folder.path().to_owned(),
            columns: 91,
            rows: 17,
        }
    }

    fn start(&self, spec: TerminalSpec) {
        let terminal = TERMINAL;
        self.host.run(HostEffect::StartTerminal { terminal, spec });
    }

    /// Starts a script that must start, and returns its pid.
    fn terminal(&self, script: &str) -> u32 {
        self.start(self.command(script));
        self.terminal_started()
    }

    fn terminal_started(&self) -> u32 {
        match self.next() {
            Event::Terminal(TerminalEvent::Started { terminal, pid }) => {
                assert_eq!(terminal, TERMINAL);
                pid
            }
            other => panic!("{other:?}"),
        }
    }

    /// Collects output until it contains `text`, and returns all of it.
    fn printed_until(&self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            match self.next() {
                Event::Terminal(TerminalEvent::Output { bytes, .. }) => {
                    all.push_str(&String::from_utf8_lossy(&bytes));
                }
                other => panic!("{other:?} after {all:?}"),
            }
        }
        all
    }

    /// Handles events up to the terminal's exit.
    fn printed(&self) -> Printed {
        let mut all = Vec::new();
        loop {
            match self.next() {
                Event::Terminal(TerminalEvent::Output { terminal, bytes }) => {
                    assert_eq!(terminal, TERMINAL);
                    assert!(!bytes.is_empty() && bytes.len() <= 64 << 10);
                    all.extend(bytes);
                }
                Event::Terminal(TerminalEvent::Exited { terminal, exit }) => {
                    assert_eq!(terminal, TERMINAL);
                    return Printed { bytes: all, exit };
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn type_in(&self, text: &str) {
        let bytes = text.as_bytes().to_vec();
        let terminal = TERMINAL;
        self.host.run(HostEffect::TerminalInput { terminal, bytes });
    }

    fn kill(&self) {
        let terminal = TERMINAL;
        self.host.run(HostEffect::KillTerminal { terminal });
    }

    fn wait_until_forgotten(&self) {
        wait_for("the terminal to be forgotten", || {
            self.host.terminals.get(TERMINAL).is_none()
        });
    }
}

fn code(code: u32) -> TerminalExit {
    let (code, signal) = (Some(code), None);
    TerminalExit { code, signal }
}

/// Returns whether the tests run with this signal ignored, as `nohup` does; commands inherit that.
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The exit of a command that is killed and does not handle the signal.
fn hung_up() -> TerminalExit {
    signal(if is_ignored(1) { "SIGTERM" } else { "SIGHUP" })
}

fn signal(name: &str) -> TerminalExit {
    let (code, signal) = (None, Some(name.to_owned()));
    TerminalExit { code, signal }
}

/// Keeps a shell running. It handles a signal at once that ends its `sleep`, too.
const FOR_EVER: &str = "while :; do sleep 1; done";

/// For a command that the first of two signals ends: a shell that starts a process blocks signals,
/// and of a blocked one and the next, the system may take the next.
const WAIT: &str = "exec sleep 100";
