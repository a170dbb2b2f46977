//! The tasks that serve a terminal: one reads, one types, one sees to the end.
//!
//! Invariant: whichever of them panics, the command is ended.

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
use super::super::ending::{Outcome, Step};
use super::super::guard::guarded;
use super::super::pipes::Pipe;
use super::super::process::{Exit, Group};
use super::Terminal;
use super::jobs::{Jobs, Sessions};
use super::output::read_output;

/// How often those whom a command has left behind are looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Spawns a task of a terminal's; when it panics, the command is ended.
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
        // Few terminals are typed into, and only they need another descriptor.
        let master = master.as_fd().try_clone_to_owned();
        let sender = master.and_then(Sender::from_owned_fd_unchecked);
        // Nobody can read it, or nobody does: what is typed is lost as on any terminal.
        if let Ok(sender) = sender {
            let _ = write_input(&sender, first, queue, own.queued()).await;
        }
    };
    spawn_guarded("typing into a terminal", terminal, kit, work)
}

/// Writes what is typed, until nobody reads it any more.
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

/// Waits until the command is to end and ends it, or until it has ended by itself and has left
/// nobody behind.
pub(super) fn spawn_end(
    terminal: &Arc<Terminal>,
    group: Arc<Group>,
    exited: watch::Receiver<Option<Exit>>,
    sessions: Sessions,
    kit: &Kit,
) -> JoinHandle<Option<Outcome>> {
    let (own, tools_here) = (Arc::clone(terminal), kit.clone());
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
                    Step::Over(outcome) => return outcome,
                    // Who is stopped learns of it too.
                    Step::Send(Signal::TERM) => &[Signal::HUP, Signal::TERM, Signal::CONT],
                    Step::Send(_) => &[Signal::KILL],
                };
                // Before the leader gets it: without a leader nobody can be found.
                jobs.look(&group, &sessions, &tools_here).await;
                for &signal in signals {
                    jobs.signal(signal);
                    group.signal(signal);
                }
            }
        };
        let outcome = guarded("ending a command", &tools_here.inbox, end).await;
        if outcome.is_none() {
            own.kill();
        }
        own.ending().finish(outcome.unwrap_or(Outcome::Gone));
        outcome
    })
}

/// Waits until nobody of a group is left.
async fn empty(group: &Group, mut exited: watch::Receiver<Option<Exit>>) {
    // An error means that the thread which reaps is gone: as good as an exit.
    let _ = exited.wait_for(Option::is_some).await;
    while !group.is_gone() {
        sleep(LOOK).await;
    }
}
