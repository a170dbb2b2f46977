//! The tasks that serve a terminal: one reads, one writes input, one ends the command.
//!
//! Invariant: if any of them panics, the command is ended.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::Kit;
use super::super::ending::{EndStep, Outcome};
use super::super::guard::guarded;
use super::super::pipes::Pipe;
use super::super::process::{Exit, Group};
use super::Terminal;
use super::jobs::{Jobs, SessionTables};
use super::output::read_output;

/// Polling interval for processes that outlive their command.
const LOOK: Duration = Duration::from_millis(250);

/// Spawns a task that serves a terminal; a panic ends the command.
pub(in super::super) fn spawn_guarded(
    place: &'static str,
    terminal: &Arc<Terminal>,
    kit: &Kit,
    work: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<Option<()>> {
    let terminal = Arc::clone(terminal);
    kit.spawn_or(place, work, move || terminal.end())
}

pub(super) fn spawn_reader(
    terminal: &Arc<Terminal>,
    pipe: Pipe,
    kit: &Kit,
) -> JoinHandle<Option<()>> {
    let (key, inbox) = (terminal.key(), kit.inbox.clone());
    let work = async move { read_output(pipe, key, &inbox).await };
    spawn_guarded("reading from a terminal", terminal, kit, work)
}

pub(super) fn spawn_writer(
    terminal: &Arc<Terminal>,
    master: &Arc<Receiver>,
    mut queue: UnboundedReceiver<Vec<u8>>,
    kit: &Kit,
) -> JoinHandle<Option<()>> {
    let (own, master) = (Arc::clone(terminal), Arc::clone(master));
    let work = async move {
        let Some(first) = queue.recv().await else {
            return;
        };
        // Duplicated only on the first input, because most terminals never get any.
        let master = master.as_fd().try_clone_to_owned();
        let sender = master.and_then(Sender::from_owned_fd_unchecked);
        // An error loses the input, as on any terminal without a reader.
        if let Ok(sender) = sender {
            let _ = write_input(&sender, first, queue, own.queued()).await;
        }
    };
    spawn_guarded("typing into a terminal", terminal, kit, work)
}

/// Writes input until the terminal is closed.
async fn write_input(
    sender: &Sender,
    first: Vec<u8>,
    mut queue: UnboundedReceiver<Vec<u8>>,
    queued: &AtomicUsize,
) -> io::Result<()> {
    let mut next = Some(first);
    while let Some(bytes) = next {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            sender.writable().await?;
            match sender.try_write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        queued.fetch_sub(bytes.len(), Ordering::Relaxed);
        next = queue.recv().await;
    }
    Ok(())
}

/// Waits until the command is to end, and ends it; or until it has exited and left no process
/// behind.
pub(super) fn spawn_end(
    terminal: &Arc<Terminal>,
    group: Arc<Group>,
    exited: watch::Receiver<Option<Exit>>,
    sessions: SessionTables,
    kit: &Kit,
) -> JoinHandle<Option<Outcome>> {
    let (own, kit_here) = (Arc::clone(terminal), kit.clone());
    kit.runtime.spawn(async move {
        let end = async {
            tokio::select! {
                () = own.ending().wanted() => {}
                () = empty(&group, exited.clone()) => return Outcome::Gone,
            }
            let jobs = Jobs::of(&group);
            let mut steps = own.ending().steps(exited);
            loop {
                let step = steps.next(|| group.is_gone() && jobs.are_gone()).await;
                let signals: &[Signal] = match step {
                    EndStep::Over(outcome) => return outcome,
                    // SIGCONT lets a stopped process handle the other two.
                    EndStep::Send(Signal::TERM) => &[Signal::HUP, Signal::TERM, Signal::CONT],
                    EndStep::Send(_) => &[Signal::KILL],
                };
                // Before the leader gets it: without a leader the session's processes cannot be
                // found.
                jobs.look(&group, &sessions, &kit_here).await;
                for &signal in signals {
                    jobs.signal(signal);
                    group.signal(signal);
                }
            }
        };
        let outcome = guarded("ending a command", &kit_here.inbox, end).await;
        if outcome.is_none() {
            own.kill();
        }
        own.ending().finish(outcome.unwrap_or(Outcome::Gone));
        outcome
    })
}

/// Waits until a group is empty.
async fn empty(group: &Group, mut exited: watch::Receiver<Option<Exit>>) {
    // An error means that the reaping thread is gone, which counts as an exit.
    let _ = exited.wait_for(Option::is_some).await;
    while !group.is_gone() {
        sleep(LOOK).await;
    }
}
