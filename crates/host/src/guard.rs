//! Catches panics in everything the host runs, so that a panic ends one operation and nothing else.
//!
//! Invariant: every task and thread of the host runs inside [`guarded`] or [`guarded_call`]; each
//! panic reaches the core once, as [`Event::Panicked`].

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use acp_core::event::Event;
use acp_edge::inbox::Inbox;
use acp_edge::panics;

/// Runs `work` to completion; if it panics, reports that with `place` and returns `None`.
///
/// Shared state must survive an interruption between two statements: the host's is a few counters,
/// queues and flags, each consistent after every statement.
pub(super) async fn guarded<F: Future>(
    place: &'static str,
    inbox: &Inbox,
    work: F,
) -> Option<F::Output> {
    let mut work = Box::pin(work);
    let outcome =
        poll_fn(
            |context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
                Err(payload) => Poll::Ready(Err(payload)),
            },
        )
        .await;
    report(place, inbox, outcome)
}

/// Like [`guarded`], for blocking work.
pub(super) fn guarded_call<T>(
    place: &'static str,
    inbox: &Inbox,
    work: impl FnOnce() -> T,
) -> Option<T> {
    report(place, inbox, catch_unwind(AssertUnwindSafe(work)))
}

fn report<T>(
    place: &'static str,
    inbox: &Inbox,
    outcome: Result<T, Box<dyn Any + Send>>,
) -> Option<T> {
    outcome
        .map_err(|payload| {
            inbox.send(Event::Panicked {
                place,
                message: panics::message(payload.as_ref()),
            });
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_edge::inbox::inbox;

    #[test]
    fn a_panic_becomes_an_event() {
        let (inbox, outlet) = inbox();
        assert_eq!(guarded_call("a place", &inbox, || 1), Some(1));
        let none: Option<()> = guarded_call("a place", &inbox, || panic!("odd {}", "thing"));
        assert_eq!(none, None);
        match outlet.try_recv() {
            Some(Event::Panicked { place, message }) => {
                assert_eq!((place, message.as_str()), ("a place", "odd thing"));
            }
            other => panic!("{other:?}"),
        }
        assert!(outlet.try_recv().is_none());
    }
}
