//! The events of the screen.

use std::ops::Range;

use crate::code::Colours;
use crate::spine::event::ListEvent;
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};
use crate::spine::view::{Follow, FrameSize, Whole};
use crate::terminals::Output;

/// Events of the screen.
#[derive(Debug)]
pub enum ViewEvent {
    /// The main thread is ready for a frame, with at most this much terminal output and text.
    FrameWanted { output: Output, size: FrameSize },
    /// The core thread has time for the next slice of the frame it is composing.
    FrameSlice,
    /// A transcript's buffer is new or was emptied: send all of it.
    ChatEmpty { session: SessionKey },
    /// A window shows these rows of a transcript, or some of them.
    ChatSeen {
        session: SessionKey,
        rows: Range<usize>,
    },
    /// The user goes to a session: show its question first.
    QuestionWanted { session: SessionKey },
    /// A new window shows a transcript: send its folds.
    FoldsWanted { session: SessionKey },
    /// Sets whether a session's agent is followed; without `to`, toggles it.
    Follow {
        session: SessionKey,
        to: Option<Follow>,
    },
    /// The user wants to see part of a transcript in full; answered by `ShowWhole`.
    WholeWanted { session: SessionKey, whole: Whole },
    /// An event in the review list's window.
    List(ListEvent),
    /// The answer to `Highlight`; without a result, the code stays plain.
    Highlighted {
        token: Token<reply::Highlighted>,
        result: Option<Colours>,
    },
}
