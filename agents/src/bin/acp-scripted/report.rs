//! The report: lines appended to a file, so that a test can read them while the agent runs.
//!
//! Invariant: the last line says how the run ended: `ok`, or `mismatch: …`, or `script: …`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Where the report goes; without a file it goes nowhere.
pub struct Report {
    file: Option<File>,
    start: Instant,
}

impl Report {
    /// Opens the report at `path`; what is there already stays.
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
            // A report that cannot be written shows as one that lacks its last line.
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

/// Microseconds as JSON can hold them.
pub fn clamp(us: u128) -> u64 {
    u64::try_from(us).unwrap_or(u64::MAX)
}
