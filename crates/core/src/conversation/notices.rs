//! Notices about sessions that no window shows.

use crate::conversation::info::SessionInfo;
use crate::conversation::session::Phase;
use crate::spine::effect::Level;
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::text::cut::shortened;

/// Maximum length of a title in a message, in characters.
const TITLE: usize = 40;

/// Returns the notice for a turn that has ended; `None` if the user ended it, or if the end of its
/// agent is reported separately.
pub fn turn_ended(info: &SessionInfo, stop_reason: &str) -> Option<(Level, String)> {
    let who = name(info);
    Some(match stop_reason {
        "cancelled" | "agent_exited" => return None,
        "end_turn" => (Level::Info, format!("{who} is done.")),
        "error" => (Level::Warn, format!("{who} has stopped with an error.")),
        reason => (Level::Warn, format!("{who} has stopped: {reason}.")),
    })
}

/// Returns the notice for a question.
pub fn waits(info: &SessionInfo) -> String {
    format!("{} waits for your answer.", name(info))
}

/// Returns which agents wait for the user, or else which work, for the terminal's title.
pub fn overall(sessions: &[SessionInfo]) -> Option<OneLine> {
    let agents_in = |phase| {
        let found = sessions.iter().filter(move |info| info.phase == phase);
        found.map(|info| info.agent.as_str()).collect::<Vec<_>>()
    };
    let text = match (
        &agents_in(Phase::Waiting)[..],
        &agents_in(Phase::Running)[..],
    ) {
        ([], []) => return None,
        ([], [agent]) => format!("{agent} works"),
        ([], agents) => format!("{} agents work", agents.len()),
        ([agent], _) => format!("{agent} waits for you"),
        (agents, _) => format!("{} agents wait for you", agents.len()),
    };
    Some(OneLine::new(text))
}

fn name(info: &SessionInfo) -> String {
    identified(&info.agent, info.title.as_deref(), info.session)
}

/// Returns a name that identifies a session: its agent and its title, or else its number.
pub fn identified(agent: &str, title: Option<&str>, session: SessionKey) -> String {
    let title = shortened(title.unwrap_or_default(), TITLE);
    match title.trim() {
        "" => format!("{agent} (session {})", session.0),
        title => format!("{agent} ({title})"),
    }
}
