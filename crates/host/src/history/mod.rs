//! Records of sessions on disk: one file each, written line by line by a thread of its own.
//!
//! Invariants: a record has one writer, whoever else is about: it is locked for as long as it is
//! written to, and the system gives the lock back however a Neovim ends. Orders are carried out in
//! the order in which they came. What cannot be written costs a message and nothing else.

mod shelf;
mod writing;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use self::shelf::Shelf;
use self::writing::Writings;
use super::guard::guarded_call;
use acp_core::conversation::history::{HistoryNews, HistoryOrder};
use acp_core::spine::event::Event;
use acp_core::spine::ids::Token;
use acp_edge::inbox::Inbox;

/// The way to the records. The thread ends with it.
#[derive(Debug)]
pub(super) struct History {
    /// Not bounded: its sender must never wait. It holds what agents have just said.
    queue: Option<Sender<Ask>>,
}

#[derive(Debug)]
enum Ask {
    Order(HistoryOrder),
    Flush(SyncSender<()>),
}

impl History {
    /// Starts the thread; without one (out of threads) nothing is kept.
    pub(super) fn start(folder: PathBuf, inbox: Inbox) -> Self {
        let (queue, asked) = channel();
        let thread = std::thread::Builder::new()
            .name("acp-history".to_owned())
            .spawn(move || run(&asked, folder, &inbox));
        Self {
            queue: thread.is_ok().then_some(queue),
        }
    }

    pub(super) fn does(&self, order: HistoryOrder) {
        if let Some(queue) = &self.queue {
            // Without a thread the host is ending.
            let _ = queue.send(Ask::Order(order));
        }
    }

    /// Waits until all that was asked for before is done, at most for `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, is_done) = sync_channel(1);
        if let Some(queue) = &self.queue
            && queue.send(Ask::Flush(done)).is_ok()
        {
            // An error means that the thread is gone or the disk hangs: nothing to wait for.
            let _ = is_done.recv_timeout(limit);
        }
    }
}

fn run(asked: &Receiver<Ask>, folder: PathBuf, inbox: &Inbox) {
    let shelf = Shelf::new(folder);
    let mut writings = Writings::default();
    while let Ok(ask) = asked.recv() {
        match ask {
            Ask::Order(order) => {
                guarded_call("history", inbox, || {
                    carry_out(order, &shelf, &mut writings, inbox);
                });
            }
            Ask::Flush(done) => {
                // Nobody waits any more: no matter.
                let _ = done.try_send(());
            }
        }
    }
}

fn carry_out(order: HistoryOrder, shelf: &Shelf, writings: &mut Writings, inbox: &Inbox) {
    let answer = |token: Token, news| {
        let token = Some(token);
        inbox.send(Event::History { token, news });
    };
    let told = |why: Option<String>| {
        if let Some(why) = why {
            let news = HistoryNews::Failed(why);
            inbox.send(Event::History { token: None, news });
        }
    };
    match order {
        HistoryOrder::Bound(bounds) => shelf.prune(bounds),
        HistoryOrder::Begin {
            session,
            header,
            on,
        } => told(writings.begin(session, header, on, shelf)),
        HistoryOrder::Append { session, records } => {
            told(writings.append(session, &records, shelf));
        }
        HistoryOrder::End { session } => writings.end(session),
        HistoryOrder::List { token, project } => {
            let mut kept = shelf.list(project.as_deref());
            for kept in &mut kept {
                kept.session = writings.session_of(&kept.name);
            }
            answer(token, HistoryNews::Listed(kept));
        }
        HistoryOrder::Find { token, agent, id } => {
            answer(token, HistoryNews::Found(shelf.find(&agent, &id)));
        }
        HistoryOrder::Read { token, name } => {
            answer(token, HistoryNews::Read(shelf.read(&name)));
        }
        HistoryOrder::Delete { token, name } => {
            let result = match writings.session_of(&name) {
                Some(_) => Err("it is being written down by this Neovim".to_owned()),
                None => shelf.delete(&name),
            };
            answer(token, HistoryNews::Deleted(result));
        }
    }
}
