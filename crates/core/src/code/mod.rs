//! Highlights code, outside the core thread: [`Code::highlight`].
//!
//! Invariant: the highlights depend on nothing but the code, and on the order of its lines.

mod engine;
pub(crate) mod groups;
mod language;
mod scopes;
mod state;

use std::ops::Range;

use crate::spine::view::Span;
pub(crate) use state::{plain, shift, span};

/// Code to highlight.
#[derive(Debug)]
pub enum Code {
    Lines(Lines),
    Diff(Diff),
}

/// The highlights of [`Code`].
#[derive(Debug)]
pub enum Colours {
    Lines(LineColours),
    /// The spans of each row.
    Diff(Vec<Vec<Span>>),
}

/// Consecutive lines of a code block.
#[derive(Debug)]
pub struct Lines {
    pub from: From,
    pub text: String,
    /// The lines without their line ends, as ranges of the text.
    pub lines: Vec<Range<usize>>,
    /// A line that follows them, and that more text may continue.
    pub last: Option<Range<usize>>,
}

/// The highlights of [`Lines`].
#[derive(Debug)]
pub struct LineColours {
    /// The place after the lines.
    pub next: From,
    pub lines: Vec<Vec<Span>>,
    pub last: Vec<Span>,
}

/// A place in a code block.
#[derive(Debug, Clone)]
pub enum From {
    /// The start of a block with this info string.
    Start(String),
    /// After some lines.
    After(Box<State>),
}

/// The state between two lines of code.
#[derive(Debug, Clone)]
pub struct State(state::Code);

/// The rows of a diff.
#[derive(Debug)]
pub struct Diff {
    /// The name of the file.
    pub name: String,
    pub rows: Vec<Row>,
}

/// A row of a diff.
#[derive(Debug)]
pub enum Row {
    /// Lines that are not shown.
    Gap,
    Same(String),
    Removed(String),
    Added(String),
}

impl Code {
    /// Highlights the code. It takes milliseconds, for the first code in a language up to a
    /// hundred: do not run it on the core thread.
    pub fn highlight(self) -> Colours {
        match self {
            Self::Lines(lines) => Colours::Lines(lines.highlight()),
            Self::Diff(diff) => Colours::Diff(diff.highlight()),
        }
    }
}

impl Lines {
    fn highlight(self) -> LineColours {
        let mut state = match self.from {
            From::After(state) => state,
            From::Start(info) => Box::new(State(state::Code::of(&info))),
        };
        let line = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let lines = self
            .lines
            .into_iter()
            .map(|range| state.0.line(line(range)));
        let lines = lines.collect();
        let last = self.last.map(|range| state.0.clone().line(line(range)));
        LineColours {
            next: From::After(state),
            lines,
            last: last.unwrap_or_default(),
        }
    }
}

impl Diff {
    fn highlight(self) -> Vec<Vec<Span>> {
        // Names of one or two letters could match a language by accident.
        let is_telling = self.name.contains('.') || self.name.len() > 2;
        let start = state::Code::of(if is_telling { &self.name } else { "" });
        if !start.is_known() {
            return Vec::new();
        }
        let (mut old, mut new) = (start.clone(), start.clone());
        let mut was_removed = false;
        let rows = self.rows.into_iter().map(|row| {
            let is_first = !std::mem::replace(&mut was_removed, matches!(row, Row::Removed(_)));
            match row {
                Row::Gap => {
                    (old, new) = (start.clone(), start.clone());
                    Vec::new()
                }
                Row::Removed(line) => {
                    if is_first {
                        old = new.clone();
                    }
                    old.line(&line)
                }
                Row::Same(line) | Row::Added(line) => new.line(&line),
            }
        });
        rows.collect()
    }
}
