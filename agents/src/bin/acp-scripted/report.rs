//! The report: a file to which the agent appends lines while it runs, for the test to read.
//!
//! Invariant: the last line is the result of the run: `ok`, `mismatch: …` or `script: …`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// The report; without a file, lines are dropped.
pub struct Report {
    file: Option<File>,
    start: Instant,
}

impl Report {
    /// Opens the report at `path` for appending.
    pub fn open(path: Option<&Path>) -> std::io::Result<Report> {
        let file = path
            .map(|path| OpenOptions::new().append(true).create(true).open(path))
            .transpose()?;
        Ok(Report {
            file,
            start: Instant::now(),
        })
    }

    /// Appends one line.
    pub fn line(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            // The test sees a failed write as a report without its last line.
            let _ = file.write_all(format!("{}\n", text.replace('\n', "\\n")).as_bytes());
        }
    }

    pub fn value(&mut self, value: &Value) {
        self.line(&value.to_string());
    }

    /// Appends `name` with the microseconds since the start and since 1970.
    pub fn mark(&mut self, name: &str) {
        let us = self.start.elapsed().as_micros();
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros());
        self.value(&json!({"mark": name, "us": clamp(us), "unix_us": clamp(unix)}));
    }
}

/// Returns microseconds in the range of a JSON integer.
pub fn clamp(us: u128) -> u64 {
    u64::try_from(us).unwrap_or(u64::MAX)
}
