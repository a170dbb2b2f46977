//! Progress of a session: running tool calls, and pending announcements about them and the plan.
//!
//! Invariants: changes are announced with the next frame, or before any other announcement if that
//! is sooner; of several changes of one thing only the last is announced. So a burst costs an
//! editor only what it shows, and a blocked editor costs no memory.

use std::collections::BTreeSet;

use crate::spine::effect::Announcement;
use crate::spine::event::TerminalExit;
use crate::spine::ids::TerminalKey;
use crate::terminals::CommandState;
use crate::terminals::info::TerminalInfo;
use acp::ToolStatus;

/// Entries of a transcript, by their index.
#[derive(Debug, Default)]
pub struct Progress {
    /// Unfinished tool calls of this turn, the latest last.
    running: BTreeSet<usize>,
    /// Tool calls that began, or whose status differs from the announced one.
    pub(super) tools: BTreeSet<usize>,
    pub(super) is_plan_new: bool,
}

impl Progress {
    /// Records a tool call's status; `before` is the previous one.
    pub fn tool(&mut self, index: usize, before: Option<ToolStatus>, now: ToolStatus) {
        match is_finished(now) {
            true => self.running.remove(&index),
            false => self.running.insert(index),
        };
        if before != Some(now) {
            self.tools.insert(index);
        }
    }

    pub fn plan(&mut self) {
        self.is_plan_new = true;
    }

    /// Ends the turn: tool calls that are still unfinished no longer count as running.
    pub fn end_turn(&mut self) {
        self.running.clear();
    }

    /// Drops all pending announcements.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of running tool calls, and the latest one.
    pub fn running(&self) -> (usize, Option<usize>) {
        (self.running.len(), self.running.last().copied())
    }

    pub(super) fn is_new(&self) -> bool {
        self.is_plan_new || !self.tools.is_empty()
    }
}

/// Returns whether a tool call with this status has ended.
fn is_finished(status: ToolStatus) -> bool {
    match status {
        ToolStatus::Pending | ToolStatus::InProgress => false,
        ToolStatus::Completed
        | ToolStatus::Failed
        | ToolStatus::Cancelled
        | ToolStatus::Rejected => true,
    }
}

/// The terminals that were announced: running ones, and ended ones.
#[derive(Debug, Default)]
pub struct TerminalsTold {
    running: BTreeSet<TerminalKey>,
    over: BTreeSet<TerminalKey>,
}

impl TerminalsTold {
    /// Suppresses all announcements about these terminals.
    pub fn pass_over(&mut self, terminals: impl IntoIterator<Item = TerminalKey>) {
        self.over.extend(terminals);
    }

    /// Announces the terminals that have begun or ended since the last call.
    pub(super) fn tell(&mut self, all: &[TerminalInfo], news: &mut Vec<Announcement>) {
        for info in all {
            if self.over.contains(&info.key) {
                continue;
            }
            let has_run = matches!(info.state, CommandState::Running | CommandState::Exited(_));
            if has_run && self.running.insert(info.key) {
                news.push(Announcement::TerminalStarted {
                    session: info.session,
                    terminal: info.key,
                    title: info.title.to_string(),
                    cwd: info.cwd.to_path_buf(),
                });
            }
            let (exit, why) = match &info.state {
                CommandState::Exited(exit) => (exit.clone(), None),
                CommandState::Failed(why) => (TerminalExit::default(), Some(why.clone())),
                CommandState::Starting | CommandState::Running => continue,
            };
            self.over.insert(info.key);
            news.push(Announcement::TerminalExited {
                session: info.session,
                terminal: info.key,
                title: info.title.to_string(),
                exit,
                why,
            });
        }
        // Forgets terminals that have been removed; `all` is sorted by key.
        let is_kept = |key: &TerminalKey| all.binary_search_by_key(key, |info| info.key).is_ok();
        self.over.retain(is_kept);
        self.running.retain(is_kept);
    }
}

/// Returns whether an autocommand's pattern may match one of the plugin's `User` events.
pub fn may_match(pattern: &str) -> bool {
    let literal = pattern.find(['*', '?', '[', '{', '\\', ',']);
    let (literal, _) = pattern.split_at(literal.unwrap_or(pattern.len()));
    literal.starts_with("Acp") || "Acp".starts_with(literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_may_match_is_heard() {
        for pattern in [
            "AcpToolCall",
            "Acp*",
            "*",
            "",
            "A?pPlan*",
            "{Acp,Foo}*",
            "Acp,Foo",
        ] {
            assert!(may_match(pattern), "{pattern}");
        }
        for pattern in ["LazyDone", "Foo*", "B*", "AbcToolCall"] {
            assert!(!may_match(pattern), "{pattern}");
        }
    }
}
