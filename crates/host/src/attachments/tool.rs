//! Runs a tool and captures its output.
//!
//! Invariant: the call ends within the time limit and leaves no process behind.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
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
    if is_cut || !matches!(bytes, Some(Ok(_))) {
        // The tool may have exited already.
        let _ = child.kill();
    }
    let status = child.wait().map_err(words)?;
    let mut bytes = match bytes {
        Some(bytes) => bytes.map_err(words)?,
        None => return Err(format!("it took more than {} s", patience.as_secs())),
    };
    bytes.truncate(cap);
    Ok(Output {
        bytes,
        is_success: is_cut || status.success(),
        is_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_tools_output_is_bounded() {
        let output = run(sh("printf hello"), 5, Duration::from_secs(20)).unwrap();
        assert_eq!(
            (output.bytes.as_slice(), output.is_cut),
            (&b"hello"[..], false)
        );
        let output = run(sh("yes"), 5, Duration::from_secs(20)).unwrap();
        assert_eq!((output.bytes.len(), output.is_cut), (5, true));
        let output = run(sh("exit 1"), 5, Duration::from_secs(20)).unwrap();
        assert!(!output.is_success);
    }

    #[test]
    fn a_hanging_tool_is_killed() {
        let why = run(sh("exec sleep 1000"), 5, Duration::from_millis(20)).unwrap_err();
        assert_eq!(why, "it took more than 0 s");
    }
}
