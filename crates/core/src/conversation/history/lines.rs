//! Records as lines of JSON, and back.
//!
//! Invariant: a torn line, or one of a kind that a later version added, is skipped; the other lines
//! are still read.

use crate::spine::history::{Header, Meta, Past, Record, VERSION};

/// Returns a line of a record, with its line end.
pub fn line(record: &Record) -> String {
    with_end(serde_json::to_string(record))
}

/// Returns the first line of a record, with its line end.
pub fn first_line(header: &Header) -> String {
    with_end(serde_json::to_string(header))
}

fn with_end(json: serde_json::Result<String>) -> String {
    // Plain data with string keys always serializes; if it did not, the line would be skipped.
    let mut line = json.unwrap_or_default();
    line.push('\n');
    line
}

/// Reads the first line of a record; `None` when it is not a header, or has a later version.
pub fn header(line: &str) -> Option<Header> {
    let header: Header = serde_json::from_str(line).ok()?;
    (header.version <= VERSION && !header.agent.is_empty()).then_some(header)
}

/// Reads another line of a record.
pub fn record(line: &str) -> Option<Record> {
    serde_json::from_str(line).ok()
}

impl Past {
    /// Returns a record of which only the first line has been read.
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

    /// Applies another line.
    pub fn take(&mut self, line: &str) {
        match record(line) {
            Some(Record::Entry { at, below, entry }) => {
                self.entries.insert(at, (below, entry));
            }
            Some(Record::Meta(meta)) => self.meta = meta,
            Some(Record::Permission { .. } | Record::Turn { .. }) | None => {}
        }
    }

    /// Reads a whole record.
    pub fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut past = Self::new(header(lines.next()?)?);
        lines.for_each(|line| past.take(line));
        Some(past)
    }
}
