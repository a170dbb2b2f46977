//! The languages loaded so far.
//!
//! Loading a language takes up to a hundred milliseconds and happens on another thread; until it is
//! reported, its code has no highlights.
//!
//! Invariant: answers depend only on requests and reports, and never load anything: even names are
//! not looked up before the first language, and with it the table of names, was reported as loaded.

use std::collections::BTreeSet;

use super::language::{self, Language};

/// The requested and the loaded languages.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    /// The table of names is loaded.
    named: bool,
    ready: BTreeSet<&'static str>,
    /// The requested names; each is requested once.
    asked: BTreeSet<String>,
    /// Requests not yet taken by [`Languages::take_wanted`].
    wanted: Vec<String>,
    /// Number of reports.
    reports: u64,
}

/// The result of looking up an info string.
#[derive(Debug)]
pub(super) enum Found {
    /// Unknown, or not a language that can be highlighted.
    None,
    /// Not loaded yet.
    Waiting,
    Ready(Language),
}

impl Languages {
    /// Takes the new requests for languages.
    ///
    /// Run [`super::preload`] for each of them, outside the core thread, and report it to
    /// [`Languages::loaded`].
    pub fn take_wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    /// Records that [`super::preload`] has run for `name`.
    ///
    /// Failures are not reported: the language's code stays plain.
    pub fn loaded(&mut self, name: &str) {
        self.reports += 1;
        self.named = true;
        if let Some(language) = language::find(name) {
            self.ready.insert(language.name());
        }
    }

    /// Returns a number that grows with each report.
    pub(super) fn reports(&self) -> u64 {
        self.reports
    }

    /// Returns the language of an info string.
    pub(super) fn find(&self, info: &str) -> Found {
        if info.trim().is_empty() {
            return Found::None;
        }
        if !self.named {
            return Found::Waiting;
        }
        match language::find(info) {
            None => Found::None,
            Some(language) if self.ready.contains(language.name()) => Found::Ready(language),
            Some(_) => Found::Waiting,
        }
    }

    /// Requests the language of an info string, unless it was requested before.
    pub(super) fn want(&mut self, info: &str) {
        let language = self.named.then(|| language::find(info)).flatten();
        let name = language.map_or(info, |language| language.name());
        if self.asked.insert(name.to_owned()) {
            self.wanted.push(name.to_owned());
        }
    }
}
