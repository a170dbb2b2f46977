//! The parts of a statusline for a session.

use crate::conversation::info::{SessionInfo, ToolsInfo};
use crate::conversation::session::Phase;
use crate::spine::oneline::OneLine;
use crate::spine::view::Group;
use crate::text::cut::shortened;
use crate::text::plural;
use crate::view::snapshot::Snapshot;
use acp::Purpose;

/// Maximum length of a title, in characters.
const TITLE: usize = 30;

/// A part of a statusline; a part without content is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Agent,
    Phase,
    /// `2/5`
    Plan,
    Mode,
    Model,
    /// The latest tool call, and the number of others that run.
    Tools,
    /// The number of hunks to review.
    Review,
    /// The used share of the model's context.
    Usage,
    Cost,
    Title,
    /// The number of open questions in other sessions.
    Questions,
}

impl Part {
    /// The default parts.
    pub const USUAL: [Part; 8] = [
        Part::Agent,
        Part::Phase,
        Part::Plan,
        Part::Mode,
        Part::Tools,
        Part::Review,
        Part::Usage,
        Part::Questions,
    ];

    pub const ALL: [Part; 11] = [
        Part::Agent,
        Part::Phase,
        Part::Plan,
        Part::Mode,
        Part::Model,
        Part::Tools,
        Part::Review,
        Part::Usage,
        Part::Cost,
        Part::Title,
        Part::Questions,
    ];

    /// Returns the part with this name in the configuration.
    pub fn named(name: &str) -> Option<Part> {
        Some(match name {
            "agent" => Part::Agent,
            "phase" => Part::Phase,
            "plan" => Part::Plan,
            "mode" => Part::Mode,
            "model" => Part::Model,
            "tools" => Part::Tools,
            "review" => Part::Review,
            "usage" => Part::Usage,
            "cost" => Part::Cost,
            "title" => Part::Title,
            "questions" => Part::Questions,
            _ => return None,
        })
    }

    /// Returns whether a blank separates it from a similar part before it, instead of a dot.
    fn is_close(self) -> bool {
        matches!(self, Part::Agent | Part::Phase | Part::Plan)
    }

    fn said(self, info: &SessionInfo, snapshot: &Snapshot) -> Option<(String, Group)> {
        let usage = info.usage.as_ref();
        Some(match self {
            Part::Agent => (info.agent.clone(), "AcpTitle"),
            Part::Phase => (info.phase.name().to_owned(), phase_group(info.phase)),
            Part::Plan => {
                let (done, all) = info.plan?;
                (format!("{done}/{all}"), "AcpDim")
            }
            Part::Mode => {
                let mode = Purpose::Mode.find(&info.options)?;
                (mode.shown().to_owned(), "AcpMode")
            }
            Part::Model => {
                let model = Purpose::Model.find(&info.options)?;
                (model.shown().to_owned(), "AcpDim")
            }
            Part::Tools => (running(&info.tools)?, "AcpToolRunning"),
            Part::Review => match info.review.1 {
                0 => return None,
                hunks => (plural(hunks, "hunk"), "AcpSign"),
            },
            Part::Usage => {
                let usage = usage.filter(|usage| usage.used > 0)?;
                (usage.gauge(), usage.group())
            }
            Part::Cost => (usage?.cost.clone()?, "AcpDim"),
            Part::Title => (shortened(info.title.as_deref()?, TITLE), "AcpDim"),
            Part::Questions => {
                let open = snapshot.questions.iter();
                let others = open.filter(|open| open.session != info.session);
                match others.count() {
                    0 => return None,
                    all => (
                        format!("{} elsewhere", plural(all, "question")),
                        "AcpWarning",
                    ),
                }
            }
        })
    }
}

/// Returns a session's statusline, with separators.
pub fn statusline(
    snapshot: &Snapshot,
    info: &SessionInfo,
    parts: &[Part],
) -> Vec<(OneLine, Group)> {
    let mut line: Vec<(OneLine, Group)> = Vec::new();
    let mut was_close = false;
    for part in parts {
        let Some((said, group)) = part.said(info, snapshot) else {
            continue;
        };
        if !line.is_empty() {
            let between = if was_close && part.is_close() {
                " "
            } else {
                " · "
            };
            line.push((between.into(), "AcpDim"));
        }
        line.push((said.into(), group));
        was_close = part.is_close();
    }
    line
}

/// Returns the highlight group of a session's phase.
pub fn phase_group(phase: Phase) -> Group {
    match phase {
        Phase::Starting => "AcpToolPending",
        Phase::Idle => "AcpDim",
        Phase::Running => "AcpToolRunning",
        Phase::Waiting => "AcpWarning",
        Phase::Dead => "AcpToolFailed",
    }
}

/// Returns the latest tool call, and the number of others that run.
fn running(tools: &ToolsInfo) -> Option<String> {
    let (title, _) = tools.latest.as_ref()?;
    let text = shortened(title, TITLE);
    match tools.running {
        0 | 1 => Some(text),
        running => Some(format!("{text} +{}", running - 1)),
    }
}
