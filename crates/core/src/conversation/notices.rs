//! What the user is told of sessions nobody looks at.

use crate::spine::effect::Level;
use crate::view::snapshot::SessionInfo;

/// How much of a title a message has room for, in characters.
const TITLE: usize = 40;

/// Returns what is said of a turn that has ended; nothing of one that the user has ended, or
/// whose agent's end is told of anyway.
pub fn turn_ended(info: &SessionInfo, stop_reason: &str) -> Option<(Level, String)> {
    let who = name(info);
    Some(match stop_reason {
        "cancelled" | "agent_exited" => return None,
        "end_turn" => (Level::Info, format!("{who} is done.")),
        "error" => (Level::Warn, format!("{who} has stopped with an error.")),
        reason => (Level::Warn, format!("{who} has stopped: {reason}.")),
    })
}

/// Returns what is said of a question.
pub fn waits(info: &SessionInfo) -> String {
    format!("{} waits for your answer.", name(info))
}

/// Returns what tells a session from the others: its agent and its title, or else its number.
fn name(info: &SessionInfo) -> String {
    let title = info.title.as_deref().unwrap_or_default();
    let mut short: String = title.chars().take(TITLE).collect();
    if short.len() < title.len() {
        short.push('…');
    }
    match short.trim() {
        "" => format!("{} (session {})", info.agent, info.session.0),
        title => format!("{} ({title})", info.agent),
    }
}
