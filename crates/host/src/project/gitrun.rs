//! One run of git: its input is written while its output is read.
//!
//! Invariant: a run that says nothing for [`PATIENCE`], or does not end after its output, is ended
//! with what it has started. A pipe in the place of a `.gitignore` would hold git up for good.

use std::io::{self, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::ended;

/// The longest silence of git, in seconds: in a large repository on a cold disk it takes a while.
const PATIENCE: i64 = 300;
/// The time git has to end after its output.
const END: Duration = Duration::from_secs(2);

/// A run, in a process group of its own.
pub(super) struct Run {
    child: Child,
    output: BufReader<Output>,
}

/// What git prints; the end comes at the latest after a long silence.
pub(super) struct Output {
    pipe: ChildStdout,
    group: Pid,
    patience: i64,
}

impl Run {
    /// Starts git; without an input it reads none.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(command: Command, input: Option<Vec<u8>>) -> io::Result<Self> {
        Self::start_within(command, input, PATIENCE)
    }

    fn start_within(
        mut command: Command,
        input: Option<Vec<u8>>,
        patience: i64,
    ) -> io::Result<Self> {
        command.stdin(match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        });
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let (stdin, pipe) = (child.stdin.take(), child.stdout.take());
        let output = Output {
            pipe: pipe.ok_or(io::ErrorKind::BrokenPipe)?,
            group: Pid::from_child(&child),
            patience,
        };
        let run = Self {
            child,
            output: BufReader::new(output),
        };
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // In another thread, because git answers before it has read everything. If it has ended,
            // reading its answers fails too.
            std::thread::Builder::new()
                .name("acp-git".to_owned())
                .spawn(move || stdin.write_all(&input))?;
        }
        Ok(run)
    }

    pub(super) fn output(&mut self) -> &mut BufReader<Output> {
        &mut self.output
    }

    /// Waits for the end, after the output.
    ///
    /// # Errors
    /// Git failed, or does not end.
    pub(super) fn end(mut self) -> io::Result<()> {
        match ended(&mut self.child, Instant::now() + END)? {
            Some(status) if status.success() => Ok(()),
            Some(_) => Err(io::Error::other("git failed")),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Not if it has ended: its id may be another's.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process_group(self.output.get_ref().group, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Read for Output {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec {
            tv_sec: self.patience,
            tv_nsec: 0,
        };
        loop {
            match poll(
                &mut [PollFd::new(&self.pipe, PollFlags::IN)],
                Some(&patience),
            ) {
                Ok(0) => {
                    // The next read finds the end. The child has not been waited for.
                    let _ = kill_process_group(self.group, Signal::KILL);
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(_) => return self.pipe.read(bytes),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    /// Longer than a slow machine takes, in seconds.
    const LONG: i64 = 30;

    fn run(script: &str, input: Option<Vec<u8>>, patience: i64) -> Run {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        Run::start_within(command, input, patience).expect("a shell")
    }

    fn read(run: &mut Run) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        run.output().read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn an_input_and_an_output_of_any_size_pass() {
        let input = vec![b'a'; 1 << 20];
        let mut good = run("cat", Some(input.clone()), LONG);
        assert!(read(&mut good).expect("an output") == input);
        good.end().expect("it has ended");
        let mut bad = run("exit 3", None, LONG);
        assert_eq!(read(&mut bad).expect("an output"), b"");
        let error = bad.end().expect_err("it has failed");
        assert_eq!(error.to_string(), "git failed");
    }

    #[test]
    fn a_run_that_says_nothing_is_ended_with_what_it_has_started() {
        let mut run = run("sleep 1000 & echo $!; wait", None, 1);
        let error = read(&mut run).expect_err("a time limit");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // No second wait, except for the end of what was killed.
        run.output().get_mut().patience = LONG;
        assert!(read(&mut run).is_ok());
        assert!(run.end().is_err());
    }
}
