//! Records as lines of JSON, and back.
//!
//! Invariant: a line that is torn, or of a kind of a version to come, is passed over; it costs no
//! other line.

use std::collections::BTreeMap;

use super::entry::KeptEntry;
use super::{Header, Meta, Record, VERSION};

/// A record that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    pub header: Header,
    pub meta: Meta,
    /// By number, each with the number of the tool call it belongs to.
    pub entries: BTreeMap<u32, (Option<u32>, KeptEntry)>,
    /// The beginning was too much to be read.
    pub is_cut: bool,
}

/// Returns a line of a record, with its line end.
pub fn line(record: &Record) -> String {
    with_end(serde_json::to_string(record))
}

/// Returns the first line of a record, with its line end.
pub fn first_line(header: &Header) -> String {
    with_end(serde_json::to_string(header))
}

fn with_end(json: serde_json::Result<String>) -> String {
    // Plain data with text for keys can always be written; should it not, the line is passed over.
    let mut line = json.unwrap_or_default();
    line.push('\n');
    line
}

/// Reads the first line of a record; `None` when it is none, or of a version to come.
pub fn header(line: &str) -> Option<Header> {
    let header: Header = serde_json::from_str(line).ok()?;
    (header.version <= VERSION && !header.agent.is_empty()).then_some(header)
}

/// Reads another line of a record.
pub fn record(line: &str) -> Option<Record> {
    serde_json::from_str(line).ok()
}

impl Past {
    /// Returns a record of which nothing but the first line is read.
    pub fn new(header: Header) -> Self {
        let meta = Meta {
            id: header.id.clone(),
            ..Meta::default()
        };
        Self {
            header,
            meta,
            ..Self::default()
        }
    }

    /// Takes in another line.
    pub fn take(&mut self, line: &str) {
        match record(line) {
            Some(Record::Entry { at, below, entry }) => {
                self.entries.insert(at, (below, entry));
            }
            Some(Record::Meta(meta)) => self.meta = meta,
            Some(Record::Permission { .. } | Record::Turn { .. }) | None => {}
        }
    }

    /// Reads all of a record.
    pub fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut past = Self::new(header(lines.next()?)?);
        lines.for_each(|line| past.take(line));
        Some(past)
    }
}
