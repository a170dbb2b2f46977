//! The inbox: the only channel into the core.
//!
//! It has two lanes. The *prompt lane* carries reports of the user, the editor and the disk. It is
//! unbounded, because its senders must never block and are slow or few. Reports of changed files can
//! be large, so their sender takes a permit ([`Permit`]) for the size of their texts. The *agent lane*
//! carries agents' messages and is bounded by the bytes they were decoded from: the reader of a pipe
//! takes a permit first, and waits for it while the core is busy, so a slow core slows the agent down
//! instead of growing a queue. Output of terminals uses the agent lane too, with a smaller, separate
//! bound, so that messages of agents never wait for its permits and never queue behind much of it.
//! Timers use it without a bound: a time limit must not overtake an answer.
//!
//! Invariants: events of one lane are delivered in order; the prompt lane goes first (a cancel does
//! not wait behind ten thousand chunks); a permit is returned when its event is received, or when
//! the sender drops it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::panics::lock;
use acp_core::event::Event;

/// The bytes per unit of capacity; each message takes at least one unit.
const UNIT_BYTES: usize = 16 << 10;

/// Capacity of the agent lane: 64 MiB of messages, or 4096 small ones.
const UNITS: usize = (64 << 20) / UNIT_BYTES;

/// Capacity for terminal output that the core has not received: 8 MiB.
const TERMINAL_UNITS: usize = (8 << 20) / UNIT_BYTES;

/// Capacity for texts of changed files that the core has not received: 8 MiB, or one larger change.
const DISK_UNITS: usize = (8 << 20) / UNIT_BYTES;

/// Returns both ends of a new inbox.
pub fn inbox() -> (Inbox, Outlet) {
    let shared = Arc::new(Shared {
        queues: Mutex::new(Queues {
            senders: 1,
            ..Queues::default()
        }),
        arrived: Condvar::new(),
        agent_permits: Arc::new(Semaphore::new(UNITS)),
        terminal_permits: Arc::new(Semaphore::new(TERMINAL_UNITS)),
        disk_permits: Arc::new(Semaphore::new(DISK_UNITS)),
    });
    let inbox = Inbox {
        shared: Arc::clone(&shared),
    };
    (inbox, Outlet { shared })
}

/// The sending end; can be cloned.
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
}

/// The receiving end, owned by the core. Dropping it drops all pending and future events.
#[derive(Debug)]
pub struct Outlet {
    shared: Arc<Shared>,
}

/// A permit for a part of the capacity, returned once its event is received.
#[derive(Debug)]
pub struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl Inbox {
    /// Sends on the prompt lane; never blocks, and drops nothing while the core runs.
    pub fn send(&self, event: Event) {
        self.put(|queues| queues.prompt.push_back((event, None)));
    }

    /// Takes a permit for a message of `bytes` bytes, waiting if necessary.
    ///
    /// A message larger than the whole lane takes all of it. Waiting is first come, first served,
    /// needs no runtime, and ends when the future is dropped. Returns `None` if the core is gone.
    pub async fn permit(&self, bytes: usize) -> Option<Permit> {
        take(&self.shared.agent_permits, bytes, UNITS).await
    }

    /// Takes a permit for `bytes` bytes of terminal output, like [`Inbox::permit`].
    pub async fn terminal_permit(&self, bytes: usize) -> Option<Permit> {
        take(&self.shared.terminal_permits, bytes, TERMINAL_UNITS).await
    }

    /// Takes a permit for `bytes` bytes of changed files' texts, like [`Inbox::permit`].
    pub async fn disk_permit(&self, bytes: usize) -> Option<Permit> {
        take(&self.shared.disk_permits, bytes, DISK_UNITS).await
    }

    /// Sends an event that has a permit on the prompt lane.
    pub fn send_with(&self, event: Event, permit: Permit) {
        self.put(|queues| queues.prompt.push_back((event, Some(permit))));
    }

    /// Takes a permit like [`Inbox::permit`] if there is one now.
    pub fn permit_now(&self, bytes: usize) -> Option<Permit> {
        let units = units(bytes, UNITS)?;
        let semaphore = Arc::clone(&self.shared.agent_permits);
        let permit = semaphore.try_acquire_many_owned(units).ok()?;
        Some(Permit { _permit: permit })
    }

    /// Sends the events of one message on the agent lane; `permit` is returned with the last of them,
    /// or immediately if there are none.
    pub fn send_agent(&self, events: impl IntoIterator<Item = Event>, permit: Permit) {
        self.send_agents([(events, permit)]);
    }

    /// Sends the events of several messages like [`Inbox::send_agent`], and wakes the core once.
    pub fn send_agents<E: IntoIterator<Item = Event>>(
        &self,
        messages: impl IntoIterator<Item = (E, Permit)>,
    ) {
        let mut all = Vec::new();
        for (events, permit) in messages {
            let before = all.len();
            all.extend(events.into_iter().map(|event| (event, None)));
            if let Some((_, last)) = all.get_mut(before..).and_then(<[_]>::last_mut) {
                *last = Some(permit);
            }
        }
        if !all.is_empty() {
            self.put(|queues| queues.agent.extend(all));
        }
    }

    /// Sends on the agent lane without a permit: for the few events that must not overtake an
    /// agent's messages, such as its exit and the end of a time limit.
    pub fn send_behind_agents(&self, event: Event) {
        self.put(|queues| queues.agent.push_back((event, None)));
    }

    /// Queues events and wakes the core, unless it is gone.
    fn put(&self, events: impl FnOnce(&mut Queues)) {
        let mut queues = lock(&self.shared.queues);
        if !queues.closed {
            events(&mut queues);
            // Release the lock first, so that the receiver finds it free.
            drop(queues);
            self.shared.arrived.notify_one();
        }
    }
}

/// Takes a permit for `bytes` bytes of a capacity of `most` units.
async fn take(semaphore: &Arc<Semaphore>, bytes: usize, most: usize) -> Option<Permit> {
    let units = units(bytes, most)?;
    let permit = Arc::clone(semaphore).acquire_many_owned(units).await.ok()?;
    Some(Permit { _permit: permit })
}

/// Returns the units for `bytes` bytes: at least one, at most `most`.
fn units(bytes: usize, most: usize) -> Option<u32> {
    // `most` is at most UNITS, which is 4096.
    u32::try_from(bytes.div_ceil(UNIT_BYTES).clamp(1, most)).ok()
}

impl Clone for Inbox {
    fn clone(&self) -> Self {
        lock(&self.shared.queues).senders += 1;
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queues = lock(&self.shared.queues);
        queues.senders -= 1;
        if queues.senders == 0 {
            self.shared.arrived.notify_one();
        }
    }
}

impl Outlet {
    /// Receives the next event, waiting for one; `None` if the queue is empty and all senders are
    /// gone.
    pub fn recv(&self) -> Option<Event> {
        let mut queues = lock(&self.shared.queues);
        loop {
            if let Some((event, permit)) = queues.pop() {
                drop(queues);
                drop(permit);
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

    /// Receives the next event if there is one.
    pub fn try_recv(&self) -> Option<Event> {
        let popped = lock(&self.shared.queues).pop();
        popped.map(|(event, _room)| event)
    }

    /// Receives the next event if there is one and it `is_wanted`.
    pub fn try_recv_if(&self, is_wanted: impl Fn(&Event) -> bool) -> Option<Event> {
        let mut queues = lock(&self.shared.queues);
        let next = queues.prompt.front().or_else(|| queues.agent.front());
        let popped = next.is_some_and(|(event, _)| is_wanted(event));
        let popped = popped.then(|| queues.pop()).flatten();
        drop(queues);
        popped.map(|(event, _permit)| event)
    }

    /// Returns whether no event waits.
    pub fn is_empty(&self) -> bool {
        let queues = lock(&self.shared.queues);
        queues.prompt.is_empty() && queues.agent.is_empty()
    }

    /// Returns the number of agents' messages that are queued.
    pub fn agent_messages(&self) -> usize {
        lock(&self.shared.queues).agent.len()
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // Wakes all waiters with an error, because the capacity will never grow.
        self.shared.agent_permits.close();
        self.shared.terminal_permits.close();
        self.shared.disk_permits.close();
        let mut queues = lock(&self.shared.queues);
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
    agent_permits: Arc<Semaphore>,
    terminal_permits: Arc<Semaphore>,
    disk_permits: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Queues {
    prompt: VecDeque<(Event, Option<Permit>)>,
    agent: VecDeque<(Event, Option<Permit>)>,
    senders: usize,
    closed: bool,
}

impl Queues {
    /// Returns the next event with its permit. The caller drops the permit outside the lock,
    /// because waking the waiters takes longer than the lock may be held.
    fn pop(&mut self) -> Option<(Event, Option<Permit>)> {
        self.prompt.pop_front().or_else(|| self.agent.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use acp_core::spine::pending::Token;

    fn timer(n: u64) -> Event {
        Event::Timer {
            token: Token::new(n),
        }
    }

    /// Takes a permit that must be available.
    fn permit(inbox: &Inbox, bytes: usize) -> Permit {
        match poll(pin!(inbox.permit(bytes))) {
            Poll::Ready(permit) => permit.expect("the core lives"),
            Poll::Pending => panic!("no permit for {bytes} bytes"),
        }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Receives all pending events and compares them with the expected timers.
    fn check(outlet: &Outlet, expected: &[u64]) {
        let mut got = Vec::new();
        while let Some(Event::Timer { token }) = outlet.try_recv() {
            got.push(token);
        }
        let expected: Vec<_> = expected.iter().map(|number| Token::new(*number)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn each_lane_keeps_its_order_and_the_prompt_lane_goes_first() {
        let (inbox, outlet) = inbox();
        let held = permit(&inbox, 1);
        inbox.send_agent([timer(10), timer(11)], held);
        inbox.send(timer(1));
        inbox.send_behind_agents(timer(12));
        inbox.send(timer(2));
        check(&outlet, &[1, 2, 10, 11, 12]);
    }

    #[test]
    fn a_full_lane_makes_readers_wait_until_the_core_takes_a_message() {
        let (inbox, outlet) = inbox();
        let held = permit(&inbox, usize::MAX);
        inbox.send_agent([timer(1)], held);
        let mut waiting = pin!(inbox.permit(1));
        assert!(poll(waiting.as_mut()).is_pending());
        // The editor is not blocked by that.
        inbox.send(timer(0));
        check(&outlet, &[0, 1]);
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn reports_of_many_files_wait_for_the_core_without_delaying_others() {
        let (inbox, outlet) = inbox();
        let held = |inbox: &Inbox| match poll(pin!(inbox.disk_permit(5 << 20))) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        };
        let first = held(&inbox).expect("a permit at first");
        inbox.send_with(timer(1), first);
        assert!(held(&inbox).is_none());
        // Agents and the editor are not affected.
        permit(&inbox, usize::MAX);
        inbox.send(timer(2));
        assert!(outlet.try_recv().is_some());
        let next = held(&inbox).expect("a permit again");
        inbox.send_with(timer(3), next);
        check(&outlet, &[2, 3]);
    }

    #[test]
    fn terminal_output_waits_for_the_core_without_delaying_agents() {
        let (inbox, outlet) = inbox();
        let held = |inbox: &Inbox| match poll(pin!(inbox.terminal_permit(8 << 20))) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        };
        let first = held(&inbox).expect("a permit at first");
        inbox.send_agent([timer(1)], first);
        assert!(held(&inbox).is_none());
        let all = permit(&inbox, usize::MAX);
        inbox.send_agent([timer(2)], all);
        assert!(outlet.try_recv().is_some());
        assert!(held(&inbox).is_some());
        check(&outlet, &[2]);
    }

    #[test]
    fn a_permit_is_returned_with_the_last_event_of_its_message() {
        let (inbox, outlet) = inbox();
        let held = permit(&inbox, usize::MAX);
        inbox.send_agent([timer(1), timer(2)], held);
        let mut waiting = pin!(inbox.permit(1));
        outlet.try_recv();
        assert!(poll(waiting.as_mut()).is_pending());
        outlet.try_recv();
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn messages_sent_together_return_a_permit_each() {
        let (inbox, outlet) = inbox();
        let rest = (UNITS - 1) * UNIT_BYTES;
        let (one, two) = (permit(&inbox, UNIT_BYTES), permit(&inbox, rest));
        assert!(inbox.permit_now(1).is_none());
        inbox.send_agents([(vec![timer(1), timer(2)], one), (vec![timer(3)], two)]);
        outlet.try_recv();
        assert!(inbox.permit_now(1).is_none());
        outlet.try_recv();
        assert!(inbox.permit_now(UNIT_BYTES).is_some());
        assert!(inbox.permit_now(UNIT_BYTES + 1).is_none());
        check(&outlet, &[3]);
        assert!(inbox.permit_now(usize::MAX).is_some());
    }

    #[test]
    fn an_event_that_is_not_wanted_stays_in_its_place() {
        let (inbox, outlet) = inbox();
        inbox.send_agent([timer(1), timer(2)], permit(&inbox, 1));
        let is_one =
            |event: &Event| matches!(event, Event::Timer { token } if *token == Token::new(1));
        assert!(outlet.try_recv_if(is_one).is_some());
        assert!(outlet.try_recv_if(is_one).is_none());
        inbox.send(timer(1));
        inbox.send(timer(3));
        // The prompt lane goes first here, too.
        assert!(outlet.try_recv_if(is_one).is_some());
        assert!(outlet.try_recv_if(is_one).is_none());
        check(&outlet, &[3, 2]);
    }

    #[test]
    fn an_unused_permit_is_returned() {
        let (inbox, _outlet) = inbox();
        drop(permit(&inbox, usize::MAX));
        inbox.send_agent([], permit(&inbox, usize::MAX));
        permit(&inbox, usize::MAX);
    }

    #[test]
    fn a_small_message_takes_one_unit() {
        let (inbox, _outlet) = inbox();
        let permits: Vec<Permit> = (0..UNITS).map(|_| permit(&inbox, 1)).collect();
        assert!(poll(pin!(inbox.permit(1))).is_pending());
        drop(permits);
    }

    #[test]
    fn senders_do_not_wait_for_a_core_that_is_gone() {
        let (inbox, outlet) = inbox();
        let held = permit(&inbox, usize::MAX);
        let mut waiting = pin!(inbox.permit(1));
        assert!(poll(waiting.as_mut()).is_pending());
        drop(outlet);
        assert!(matches!(poll(waiting.as_mut()), Poll::Ready(None)));
        inbox.send_agent([timer(1)], held);
        inbox.send(timer(2));
        assert!(lock(&inbox.shared.queues).pop().is_none());
    }

    #[test]
    fn the_core_ends_after_the_last_event_without_senders() {
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
