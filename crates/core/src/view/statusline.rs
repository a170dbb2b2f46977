//! What a statusline says of a session, part by part.

use crate::model::Phase;
use crate::render::view::Group;
use crate::view::snapshot::{SessionInfo, Snapshot, ToolsInfo};
use acp::Purpose;

/// How much room a title has, in characters.
const TITLE: usize = 30;

/// Something that a statusline can say; nothing where there is nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Agent,
    Phase,
    /// `2/5`
    Plan,
    Mode,
    Model,
    /// The tool call that began last, and how many run besides.
    Tools,
    /// The hunks to review.
    Review,
    /// How full the model's context is.
    Usage,
    Cost,
    Title,
    /// The questions of other sessions.
    Questions,
}

impl Part {
    /// What is said unless the user wants something else.
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

    /// Returns the part that the configuration calls so.
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

    /// Tells whether it goes on with what stands before it, without a dot.
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
                1 => ("1 hunk".to_owned(), "AcpSign"),
                hunks => (format!("{hunks} hunks"), "AcpSign"),
            },
            Part::Usage => {
                let usage = usage.filter(|usage| usage.used > 0)?;
                (usage.gauge(), usage.group())
            }
            Part::Cost => (usage?.cost.clone()?, "AcpDim"),
            Part::Title => (short(info.title.as_deref()?), "AcpDim"),
            Part::Questions => {
                let open = snapshot.permissions.iter();
                let others = open.filter(|open| open.session != info.session);
                match others.count() {
                    0 => return None,
                    1 => ("1 question elsewhere".to_owned(), "AcpWarning"),
                    all => (format!("{all} questions elsewhere"), "AcpWarning"),
                }
            }
        })
    }
}

/// Returns what is said of a session, with what goes between.
pub fn statusline(snapshot: &Snapshot, info: &SessionInfo, parts: &[Part]) -> Vec<(String, Group)> {
    let mut line: Vec<(String, Group)> = Vec::new();
    let mut was_close = false;
    for part in parts {
        let Some(said) = part.said(info, snapshot) else {
            continue;
        };
        if !line.is_empty() {
            let between = if was_close && part.is_close() {
                " "
            } else {
                " · "
            };
            line.push((between.to_owned(), "AcpDim"));
        }
        line.push(said);
        was_close = part.is_close();
    }
    line
}

fn phase_group(phase: Phase) -> Group {
    match phase {
        Phase::Starting => "AcpToolPending",
        Phase::Idle => "AcpDim",
        Phase::Running => "AcpToolRunning",
        Phase::Waiting => "AcpWarning",
        Phase::Dead => "AcpToolFailed",
    }
}

/// Returns what runs: the latest tool call, and how many besides.
fn running(tools: &ToolsInfo) -> Option<String> {
    let (title, _) = tools.latest.as_ref()?;
    let text = short(title);
    match tools.running {
        0 | 1 => Some(text),
        running => Some(format!("{text} +{}", running - 1)),
    }
}

fn short(title: &str) -> String {
    let mut text: String = title.chars().take(TITLE).collect();
    if text.len() < title.len() {
        text.push('…');
    }
    text
}
