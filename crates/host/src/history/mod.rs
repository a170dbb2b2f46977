//! Session records on disk: one file per session, appended to by a separate thread.
//!
//! Invariants: a record has one writer: it is locked while it is written, and the system releases
//! the lock however a Neovim ends. Orders are carried out in the order they were sent. A failed
//! write is reported and has no other effect.

mod folder;
mod writers;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use self::folder::RecordFolder;
use self::writers::RecordWriters;
use super::guard::guarded_call;
use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::history::{HistoryNews, HistoryOrder};
use acp_core::spine::pending::{Token, reply};
use acp_edge::inbox::Inbox;

/// A sender to the history thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct History {
    /// Unbounded, because the sender must never block. It holds only what agents have just said.
    queue: Option<Sender<Request>>,
}

#[derive(Debug)]
enum Request {
    Order(HistoryOrder),
    Flush(SyncSender<()>),
}

impl History {
    /// Starts the thread; if the system has none left, nothing is recorded.
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
            // Without a thread the host is shutting down.
            let _ = queue.send(Request::Order(order));
        }
    }

    /// Waits until all earlier orders are done, but at most `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, is_done) = sync_channel(1);
        if let Some(queue) = &self.queue
            && queue.send(Request::Flush(done)).is_ok()
        {
            // An error means that the thread is gone or the disk hangs; there is nothing to wait
            // for.
            let _ = is_done.recv_timeout(limit);
        }
    }
}

fn run(asked: &Receiver<Request>, folder: PathBuf, inbox: &Inbox) {
    let folder = RecordFolder::new(folder);
    let mut writers = RecordWriters::default();
    while let Ok(ask) = asked.recv() {
        match ask {
            Request::Order(order) => {
                guarded_call("history", inbox, || {
                    carry_out(order, &folder, &mut writers, inbox);
                });
            }
            Request::Flush(done) => {
                // A full or closed channel means that the receiver gave up.
                let _ = done.try_send(());
            }
        }
    }
}

fn carry_out(
    order: HistoryOrder,
    folder: &RecordFolder,
    writers: &mut RecordWriters,
    inbox: &Inbox,
) {
    let answer = |token: Token<reply::History>, reply| {
        let token = Some(token);
        inbox.send(Event::Conversation(ConversationEvent::History {
            token,
            news: reply,
        }));
    };
    let report = |why: Option<String>| {
        if let Some(why) = why {
            let reply = HistoryNews::Failed(why);
            inbox.send(Event::Conversation(ConversationEvent::History {
                token: None,
                news: reply,
            }));
        }
    };
    match order {
        HistoryOrder::Bound(bounds) => folder.prune(bounds),
        HistoryOrder::Begin {
            session,
            header,
            on,
        } => report(writers.begin(session, header, on, folder)),
        HistoryOrder::Append { session, records } => {
            report(writers.append(session, &records, folder));
        }
        HistoryOrder::End { session } => writers.end(session),
        HistoryOrder::List { token, project } => {
            let mut kept = folder.list(project.as_deref());
            for kept in &mut kept {
                kept.session = writers.session_of(&kept.name);
            }
            answer(token, HistoryNews::Listed(kept));
        }
        HistoryOrder::Find { token, agent, id } => {
            answer(token, HistoryNews::Found(folder.find(&agent, &id)));
        }
        HistoryOrder::Read { token, name } => {
            answer(token, HistoryNews::Read(folder.read(&name)));
        }
        HistoryOrder::Delete { token, name } => {
            let result = match writers.session_of(&name) {
                Some(_) => Err("this Neovim is still writing it".to_owned()),
                None => folder.delete(&name),
            };
            answer(token, HistoryNews::Deleted(result));
        }
    }
}
