//! What a terminal's command prints, on its way to the core.
//!
//! Invariants: all that was printed reaches the core, once and in order; no more of it is held than
//! one piece for each terminal and what the core has room for.

use acp_core::terminals::TerminalEvent;
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until};

use super::super::pipes::{Pipe, read};
use acp_core::spine::event::Event;
use acp_core::spine::ids::TerminalKey;
use acp_edge::inbox::Inbox;

/// How much is read at once; Linux gives no more.
const CHUNK: usize = 4 << 10;

/// How much is sent at once at most.
const PIECE: usize = 64 << 10;

/// How long a piece is gathered after the one before it: a command that prints line by line must
/// not cost the core an event for each. The first piece after a pause goes out at once.
const GATHER: Duration = Duration::from_millis(4);

/// How many bytes a second are read of a command that prints without a pause. It goes no faster: to
/// carry what nobody can read would take the processor that Neovim needs for the next key.
const RATE: u64 = 32 << 20;

/// How long a command may print faster than that.
const BURST: Duration = Duration::from_millis(250);

/// Reads a terminal to its end and sends what was printed to the core.
///
/// Returns at the end of [`Pipe`], or when the core is gone.
pub(super) async fn read_output(mut pipe: Pipe, terminal: TerminalKey, inbox: &Inbox) {
    let mut chunk = [0; CHUNK];
    let mut due = Instant::now();
    let mut is_open = true;
    let mut pace = Pace::new();
    while is_open {
        // Waits without holding more than this for each of hundreds of terminals.
        let count = pipe.read(&mut chunk).await;
        let mut bytes = chunk.get(..count).unwrap_or_default().to_vec();
        is_open = count > 0;
        while is_open && bytes.len() + CHUNK <= PIECE {
            tokio::select! {
                // What is there comes along, also when the time is over.
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
        let Some(room) = inbox.terminal_room(bytes.len()).await else {
            return;
        };
        inbox.send_agent(
            [Event::Terminal(TerminalEvent::Output { terminal, bytes })],
            room,
        );
        due = Instant::now() + GATHER;
        if let Some(until) = rest {
            sleep_until(until).await;
        }
    }
}

/// How far a command is ahead of [`RATE`].
#[derive(Debug)]
struct Pace {
    /// When all that was read so far would have been printed at that rate.
    even: Instant,
}

impl Pace {
    fn new() -> Self {
        Self {
            even: Instant::now(),
        }
    }

    /// Takes what was read, and returns until when nothing more shall be.
    fn spend(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let time = Duration::from_nanos(bytes as u64 * 1_000_000_000 / RATE);
        self.even = self.even.max(now) + time;
        let until = self.even.checked_sub(BURST)?;
        (until > now).then_some(until)
    }
}

/// Reads what those print who have outlived the command, and drops it: without a reader they would
/// be stuck, and without a terminal they would fail.
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

    /// Spends megabytes at milliseconds, and returns for how many milliseconds to rest each time.
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
    fn what_is_printed_in_bursts_is_read_as_fast_as_it_comes() {
        assert_eq!(rests(&[(0, 4), (4, 4), (1000, 8)]), [0, 0, 0]);
    }

    #[test]
    fn a_flood_is_read_at_the_rate() {
        assert_eq!(rests(&[(0, 8), (0, 8), (0, 16)]), [0, 250, 750]);
        // A pause before it gives no more than a burst.
        assert_eq!(rests(&[(60_000, 16)]), [250]);
    }
}
