//! Forwards the output of a terminal's command to the core.
//!
//! Invariants: all output reaches the core, once and in order; at most one piece per terminal is
//! held beyond what the core has capacity for.

use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until};

use super::super::pipes::{Pipe, read};
use acp_core::event::Event;
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::TerminalEvent;
use acp_edge::inbox::Inbox;

/// Maximum size of one read, which is also Linux's limit.
const CHUNK: usize = 4 << 10;

/// Maximum size of one event.
const PIECE: usize = 64 << 10;

/// Time to gather output after an event, so that a command that prints line by line does not cost
/// one event per line. The first output after a pause is sent immediately.
const GATHER: Duration = Duration::from_millis(4);

/// Maximum bytes per second read from a command that prints without a pause: forwarding output
/// faster than anyone can read it would take the CPU time Neovim needs for the next key.
const RATE: u64 = 32 << 20;

/// Duration for which a command may exceed the rate.
const BURST: Duration = Duration::from_millis(250);

/// Reads a terminal to its end and sends the output to the core.
///
/// Returns at the end of the [`Pipe`], or when the core is gone.
pub(super) async fn read_output(mut pipe: Pipe, terminal: TerminalKey, inbox: &Inbox) {
    let mut chunk = [0; CHUNK];
    let mut due = Instant::now();
    let mut is_open = true;
    let mut pace = Pace::new();
    while is_open {
        // While waiting, each of possibly hundreds of terminals holds only this small buffer.
        let count = pipe.read(&mut chunk).await;
        let mut bytes = chunk.get(..count).unwrap_or_default().to_vec();
        is_open = count > 0;
        while is_open && bytes.len() + CHUNK <= PIECE {
            tokio::select! {
                // Output that is already available is included even when the time is over.
                biased;
                count = pipe.read(&mut chunk) => {
                    bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
                    is_open = count > 0;
                }
                () = sleep_until(due) => break,
            }
        }
        if bytes.is_empty() {
            return;
        }
        bytes.shrink_to_fit();
        let rest = pace.spend(bytes.len(), Instant::now());
        let Some(permit) = inbox.terminal_permit(bytes.len()).await else {
            return;
        };
        inbox.send_agent(
            [Event::Terminal(TerminalEvent::Output { terminal, bytes })],
            permit,
        );
        due = Instant::now() + GATHER;
        if let Some(until) = rest {
            sleep_until(until).await;
        }
    }
}

/// A command's lead over [`RATE`].
#[derive(Debug)]
struct Pace {
    /// The time at which all output so far would have been printed at that rate.
    even: Instant,
}

impl Pace {
    fn new() -> Self {
        Self {
            even: Instant::now(),
        }
    }

    /// Counts bytes read, and returns the time until which reading should pause.
    fn spend(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let time = Duration::from_nanos(bytes as u64 * 1_000_000_000 / RATE);
        self.even = self.even.max(now) + time;
        let until = self.even.checked_sub(BURST)?;
        (until > now).then_some(until)
    }
}

/// Reads and drops the output of processes that outlive the command: without a reader they would
/// block, and without a terminal their writes would fail.
pub(super) async fn discard(terminal: &Receiver) {
    let mut chunk = [0; CHUNK];
    while read(terminal, &mut chunk)
        .await
        .is_ok_and(|count| count > 0)
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spends megabytes at the given milliseconds, and returns the pause after each in
    /// milliseconds.
    fn rests(spent: &[(u64, usize)]) -> Vec<u64> {
        let mut pace = Pace::new();
        let start = pace.even;
        let spend = |&(at, mb): &(u64, usize)| {
            let now = start + Duration::from_millis(at);
            let until = pace.spend(mb << 20, now);
            until.map_or(0, |until| (until - now).as_millis() as u64)
        };
        spent.iter().map(spend).collect()
    }

    #[test]
    fn bursts_of_output_are_read_at_full_speed() {
        assert_eq!(rests(&[(0, 4), (4, 4), (1000, 8)]), [0, 0, 0]);
    }

    #[test]
    fn a_flood_is_read_at_the_rate() {
        assert_eq!(rests(&[(0, 8), (0, 8), (0, 16)]), [0, 250, 750]);
        // A preceding pause allows only one burst.
        assert_eq!(rests(&[(60_000, 16)]), [250]);
    }
}
