//! The one inbox: the only channel by which anything reaches the core.
//!
//! It has two lanes. The *prompt lane* takes what the user, the editor, timers and the disk
//! report; it is unbounded, because its senders must never wait and are slow or few. Whoever tells
//! of thousands of changed files is neither: it takes [`Room`] for the texts it tells of. The *agent
//! lane* takes agents' messages and is bounded by the bytes they were decoded from: whoever reads
//! an agent's pipe takes [`Room`] first, and waits for it while the core is busy, so that a slow
//! core slows the agent instead of growing a queue. What commands print in terminals goes by the
//! agent lane too, and has a smaller bound of its own: agents' messages never wait for room because
//! of it, and never behind much of it.
//!
//! Invariants: events of one lane come out in the order they went in; the prompt lane goes first
//! (a cancel does not wait behind ten thousand chunks); room is given back when the event it was
//! taken for is taken out, or when the sender drops it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use acp_core::spine::event::Event;

/// What one unit of room stands for; each message takes at least one.
const UNIT_BYTES: usize = 16 << 10;

/// The units of the agent lane: 64 MiB of messages, or 4096 small ones.
const UNITS: usize = (64 << 20) / UNIT_BYTES;

/// The units of what commands have printed and the core has not taken yet: 8 MiB.
const TERMINAL_UNITS: usize = (8 << 20) / UNIT_BYTES;

/// The units of the texts of changed files that wait for the core: 8 MiB, or one change that is
/// larger.
const DISK_UNITS: usize = (8 << 20) / UNIT_BYTES;

/// Returns both ends of a new inbox.
pub fn inbox() -> (Inbox, Outlet) {
    let shared = Arc::new(Shared {
        queues: Mutex::new(Queues {
            senders: 1,
            ..Queues::default()
        }),
        arrived: Condvar::new(),
        room: Arc::new(Semaphore::new(UNITS)),
        terminal_room: Arc::new(Semaphore::new(TERMINAL_UNITS)),
        disk_room: Arc::new(Semaphore::new(DISK_UNITS)),
    });
    let inbox = Inbox {
        shared: Arc::clone(&shared),
    };
    (inbox, Outlet { shared })
}

/// The end that everyone may have a clone of.
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
}

/// The end that the core owns. When it is dropped, whatever was or is sent is dropped too.
#[derive(Debug)]
pub struct Outlet {
    shared: Arc<Shared>,
}

/// A share of what may wait for the core, held until what it was taken for has reached it.
#[derive(Debug)]
pub struct Room {
    _permit: OwnedSemaphorePermit,
}

impl Inbox {
    /// Sends by the prompt lane; never waits, never drops while the core lives.
    pub fn send(&self, event: Event) {
        let mut queues = self.shared.lock();
        if !queues.closed {
            queues.prompt.push_back((event, None));
            // Whoever wakes up finds the lock free.
            drop(queues);
            self.shared.arrived.notify_one();
        }
    }

    /// Takes room for a message of `bytes` bytes, waiting until there is some.
    ///
    /// A message larger than the whole lane takes all of it. Waiting is first come, first served,
    /// needs no runtime, and may be given up by dropping the future. `None`: the core is gone.
    pub async fn room(&self, bytes: usize) -> Option<Room> {
        take(&self.shared.room, bytes, UNITS).await
    }

    /// Takes room for `bytes` bytes that a command has printed, as [`Inbox::room`] does.
    pub async fn terminal_room(&self, bytes: usize) -> Option<Room> {
        take(&self.shared.terminal_room, bytes, TERMINAL_UNITS).await
    }

    /// Takes room for changes of files with texts of `bytes` bytes, as [`Inbox::room`] does.
    pub async fn disk_room(&self, bytes: usize) -> Option<Room> {
        take(&self.shared.disk_room, bytes, DISK_UNITS).await
    }

    /// Sends by the prompt lane what room was taken for.
    pub fn send_with(&self, event: Event, room: Room) {
        let mut queues = self.shared.lock();
        if !queues.closed {
            queues.prompt.push_back((event, Some(room)));
            drop(queues);
            self.shared.arrived.notify_one();
        }
    }

    /// Sends by the agent lane what was decoded from one message; `room` is given back with the
    /// last of the events. No event at all gives it back at once.
    pub fn send_agent(&self, events: impl IntoIterator<Item = Event>, room: Room) {
        let mut events: VecDeque<Event> = events.into_iter().collect();
        let Some(last) = events.pop_back() else {
            return;
        };
        let mut queues = self.shared.lock();
        if !queues.closed {
            queues.agent.extend(events.into_iter().map(|e| (e, None)));
            queues.agent.push_back((last, Some(room)));
            self.shared.arrived.notify_one();
        }
    }

    /// Sends by the agent lane without taking room: for the few events that must not overtake an
    /// agent's messages, such as its exit.
    pub fn send_behind_agents(&self, event: Event) {
        let mut queues = self.shared.lock();
        if !queues.closed {
            queues.agent.push_back((event, None));
            self.shared.arrived.notify_one();
        }
    }
}

/// Takes room for `bytes` bytes out of `most` units.
async fn take(semaphore: &Arc<Semaphore>, bytes: usize, most: usize) -> Option<Room> {
    let units = bytes.div_ceil(UNIT_BYTES).clamp(1, most);
    // `most` is at most UNITS, which is 4096.
    let units = u32::try_from(units).ok()?;
    let permit = Arc::clone(semaphore).acquire_many_owned(units).await.ok()?;
    Some(Room { _permit: permit })
}

impl Clone for Inbox {
    fn clone(&self) -> Self {
        self.shared.lock().senders += 1;
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queues = self.shared.lock();
        queues.senders -= 1;
        if queues.senders == 0 {
            self.shared.arrived.notify_one();
        }
    }
}

impl Outlet {
    /// Takes the next event, waiting for one; `None` when all is taken and no sender is left.
    pub fn recv(&self) -> Option<Event> {
        let mut queues = self.shared.lock();
        loop {
            if let Some((event, room)) = queues.pop() {
                drop(queues);
                drop(room);
                return Some(event);
            }
            if queues.senders == 0 {
                return None;
            }
            queues = self
                .shared
                .arrived
                .wait(queues)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the next event if there is one.
    pub fn try_recv(&self) -> Option<Event> {
        let popped = self.shared.lock().pop();
        popped.map(|(event, _room)| event)
    }

    /// Returns the number of agents' messages that wait to be taken.
    pub fn agent_messages(&self) -> usize {
        self.shared.lock().agent.len()
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // Whoever waits for room learns that nobody will ever make any.
        self.shared.room.close();
        self.shared.terminal_room.close();
        self.shared.disk_room.close();
        let mut queues = self.shared.lock();
        queues.closed = true;
        let dropped = (
            std::mem::take(&mut queues.prompt),
            std::mem::take(&mut queues.agent),
        );
        drop(queues);
        drop(dropped);
    }
}

#[derive(Debug)]
struct Shared {
    queues: Mutex<Queues>,
    arrived: Condvar,
    room: Arc<Semaphore>,
    terminal_room: Arc<Semaphore>,
    disk_room: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Queues {
    prompt: VecDeque<(Event, Option<Room>)>,
    agent: VecDeque<(Event, Option<Room>)>,
    senders: usize,
    closed: bool,
}

impl Shared {
    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    /// Returns the next event, with the room that comes back when it is dropped: that wakes those
    /// who wait for it, which takes longer than the lock may be held.
    fn pop(&mut self) -> Option<(Event, Option<Room>)> {
        self.prompt.pop_front().or_else(|| self.agent.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use acp_core::spine::ids::Token;

    fn timer(n: u64) -> Event {
        Event::Timer { token: Token(n) }
    }

    /// Takes room that must be there at once.
    fn room(inbox: &Inbox, bytes: usize) -> Room {
        match poll(pin!(inbox.room(bytes))) {
            Poll::Ready(room) => room.expect("the core lives"),
            Poll::Pending => panic!("no room for {bytes} bytes"),
        }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Takes all there is and compares it with the expected timers.
    fn check(outlet: &Outlet, expected: &[u64]) {
        let mut got = Vec::new();
        while let Some(Event::Timer { token }) = outlet.try_recv() {
            got.push(token.0);
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn each_lane_keeps_its_order_and_the_prompt_lane_goes_first() {
        let (inbox, outlet) = inbox();
        let share = room(&inbox, 1);
        inbox.send_agent([timer(10), timer(11)], share);
        inbox.send(timer(1));
        inbox.send_behind_agents(timer(12));
        inbox.send(timer(2));
        check(&outlet, &[1, 2, 10, 11, 12]);
    }

    #[test]
    fn a_full_lane_makes_readers_wait_until_the_core_takes_a_message() {
        let (inbox, outlet) = inbox();
        let share = room(&inbox, usize::MAX);
        inbox.send_agent([timer(1)], share);
        let mut waiting = pin!(inbox.room(1));
        assert!(poll(waiting.as_mut()).is_pending());
        // The editor is not held up by that.
        inbox.send(timer(0));
        check(&outlet, &[0, 1]);
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn whoever_tells_of_many_files_waits_for_the_core_and_keeps_nobody_else_waiting() {
        let (inbox, outlet) = inbox();
        let share = |inbox: &Inbox| match poll(pin!(inbox.disk_room(5 << 20))) {
            Poll::Ready(room) => room,
            Poll::Pending => None,
        };
        let first = share(&inbox).expect("there is room at first");
        inbox.send_with(timer(1), first);
        assert!(share(&inbox).is_none());
        // Agents and the editor have nothing to do with it.
        room(&inbox, usize::MAX);
        inbox.send(timer(2));
        assert!(outlet.try_recv().is_some());
        let next = share(&inbox).expect("there is room again");
        inbox.send_with(timer(3), next);
        check(&outlet, &[2, 3]);
    }

    #[test]
    fn commands_that_print_wait_for_the_core_and_keep_no_agent_waiting() {
        let (inbox, outlet) = inbox();
        let share = |inbox: &Inbox| match poll(pin!(inbox.terminal_room(8 << 20))) {
            Poll::Ready(room) => room,
            Poll::Pending => None,
        };
        let first = share(&inbox).expect("there is room at first");
        inbox.send_agent([timer(1)], first);
        assert!(share(&inbox).is_none());
        let all = room(&inbox, usize::MAX);
        inbox.send_agent([timer(2)], all);
        assert!(outlet.try_recv().is_some());
        assert!(share(&inbox).is_some());
        check(&outlet, &[2]);
    }

    #[test]
    fn room_comes_back_with_the_last_event_of_its_message() {
        let (inbox, outlet) = inbox();
        let share = room(&inbox, usize::MAX);
        inbox.send_agent([timer(1), timer(2)], share);
        let mut waiting = pin!(inbox.room(1));
        outlet.try_recv();
        assert!(poll(waiting.as_mut()).is_pending());
        outlet.try_recv();
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn room_that_was_not_used_comes_back() {
        let (inbox, _outlet) = inbox();
        drop(room(&inbox, usize::MAX));
        inbox.send_agent([], room(&inbox, usize::MAX));
        room(&inbox, usize::MAX);
    }

    #[test]
    fn a_small_message_takes_one_unit() {
        let (inbox, _outlet) = inbox();
        let shares: Vec<Room> = (0..UNITS).map(|_| room(&inbox, 1)).collect();
        assert!(poll(pin!(inbox.room(1))).is_pending());
        drop(shares);
    }

    #[test]
    fn nobody_waits_for_a_core_that_is_gone() {
        let (inbox, outlet) = inbox();
        let share = room(&inbox, usize::MAX);
        let mut waiting = pin!(inbox.room(1));
        assert!(poll(waiting.as_mut()).is_pending());
        drop(outlet);
        assert!(matches!(poll(waiting.as_mut()), Poll::Ready(None)));
        inbox.send_agent([timer(1)], share);
        inbox.send(timer(2));
        assert!(inbox.shared.lock().pop().is_none());
    }

    #[test]
    fn the_core_ends_when_all_is_taken_and_nobody_is_left_to_send() {
        let (inbox, outlet) = inbox();
        let other = inbox.clone();
        let sender = std::thread::spawn(move || {
            other.send(timer(1));
        });
        drop(inbox);
        assert!(matches!(outlet.recv(), Some(Event::Timer { .. })));
        assert!(outlet.recv().is_none());
        sender.join().expect("the sender does not panic");
    }
}
