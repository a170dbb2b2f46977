//! What a terminal's command prints, on its way to the core.
//!
//! Invariants: all that was printed reaches the core, once and in order; no more of it is held than
//! one piece for each terminal and what the core has room for.

use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until};

use super::super::pipes::{Pipe, read};
use crate::core::event::Event;
use crate::core::ids::TerminalKey;
use crate::inbox::Inbox;

/// How much is read at once; Linux gives no more.
const CHUNK: usize = 4 << 10;

/// How much is sent at once at most.
const PIECE: usize = 64 << 10;

/// How long a piece is gathered after the one before it: a command that prints line by line must
/// not cost the core an event for each. The first piece after a pause goes out at once.
const GATHER: Duration = Duration::from_millis(4);

/// Reads a terminal to its end and sends what was printed to the core.
///
/// Returns at the end of [`Pipe`], or when the core is gone.
pub(super) async fn read_output(mut pipe: Pipe, terminal: TerminalKey, inbox: &Inbox) {
    let mut chunk = [0; CHUNK];
    let mut due = Instant::now();
    let mut is_open = true;
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
        let Some(room) = inbox.terminal_room(bytes.len()).await else {
            return;
        };
        inbox.send_agent([Event::TerminalOutput { terminal, bytes }], room);
        due = Instant::now() + GATHER;
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
