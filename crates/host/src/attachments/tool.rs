//! Runs a tool and captures its output.
//!
//! Invariant: the call ends within the time limit and leaves no process behind.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::ended;

/// The output of a tool.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    pub(super) is_success: bool,
    /// The output was longer.
    pub(super) is_cut: bool,
}

/// Runs a command and returns at most `cap` bytes of its output.
///
/// # Errors
/// It could not be started or took too long; a clause to complete a sentence.
pub(super) fn run(mut command: Command, cap: usize, patience: Duration) -> Result<Output, String> {
    let words = |error: io::Error| error.to_string();
    let until = Instant::now() + patience;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // What it starts ends with it.
        .process_group(0);
    let mut child = command.spawn().map_err(words)?;
    let Some(stdout) = child.stdout.take() else {
        return Err("it has no output".into());
    };
    let (done, read) = mpsc::channel();
    let reader = thread::Builder::new().name("acp-tool".into());
    let spawned = reader.spawn(move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(cap).unwrap_or(u64::MAX).saturating_add(1);
        let result = stdout.take(limit).read_to_end(&mut bytes);
        // After a timeout the receiver is gone.
        let _ = done.send(result.map(|_| bytes));
    });
    let bytes = match spawned {
        Ok(_) => read.recv_timeout(patience).ok(),
        Err(error) => Some(Err(error)),
    };
    let is_cut = matches!(&bytes, Some(Ok(bytes)) if bytes.len() > cap);
    let is_whole = !is_cut && matches!(bytes, Some(Ok(_)));
    // It may have closed its output and go on.
    let ended = match is_whole {
        true => ended(&mut child, until).map_err(words)?,
        false => None,
    };
    if ended.is_none() {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.wait().map_err(words)?;
    }
    let mut bytes = match bytes {
        Some(Ok(bytes)) if ended.is_some() || is_cut => bytes,
        Some(Err(error)) => return Err(words(error)),
        _ => return Err(format!("it took more than {} s", patience.as_secs())),
    };
    bytes.truncate(cap);
    Ok(Output {
        bytes,
        is_success: is_cut || ended.is_some_and(|status| status.success()),
        is_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::DEADLINE;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_tools_output_is_bounded() {
        let output = run(sh("printf hello"), 5, DEADLINE).unwrap();
        assert_eq!(
            (output.bytes.as_slice(), output.is_cut),
            (&b"hello"[..], false)
        );
        let output = run(sh("yes"), 5, DEADLINE).unwrap();
        assert_eq!((output.bytes.len(), output.is_cut), (5, true));
        let output = run(sh("exit 1"), 5, DEADLINE).unwrap();
        assert!(!output.is_success);
    }

    #[test]
    fn a_hanging_tool_is_killed() {
        for script in [
            "exec sleep 1000",
            "exec >&-; sleep 1000",
            "sleep 1000 & wait",
        ] {
            let why = run(sh(script), 5, Duration::from_millis(20)).unwrap_err();
            assert_eq!(why, "it took more than 0 s", "{script}");
        }
    }

    #[test]
    fn what_a_tool_has_started_is_killed_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        // It prints too much, and is killed for that.
        let script = format!("sleep 1000 & echo $! >{}; yes", pid.display());
        assert!(run(sh(&script), 5, DEADLINE).unwrap().is_cut);
        let pid: i32 = std::fs::read_to_string(&pid)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = Pid::from_raw(pid).expect("a process");
        let is_there = || rustix::process::test_kill_process(pid).is_ok();
        // It ends soon after the signal.
        let until = Instant::now() + DEADLINE;
        while is_there() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_there(), "it runs");
    }
}
