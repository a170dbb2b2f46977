//! Which languages can be highlighted by now.
//!
//! Loading a language takes up to a hundred milliseconds, so it is asked for and happens
//! elsewhere; until it is reported, code in it is plain.
//!
//! Invariant: what is answered here depends on what was asked and reported alone, and an answer
//! loads nothing: not even names are looked up before a first language, and with it the table of
//! names, has been reported as loaded.

use std::collections::BTreeSet;

use super::language::{self, Language};

/// The languages that were asked for, and those that are there.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    /// The names are there.
    named: bool,
    ready: BTreeSet<&'static str>,
    /// Names as they were asked for: each is asked for once.
    asked: BTreeSet<String>,
    /// Those nobody was told of yet.
    wanted: Vec<String>,
    /// How often something was reported.
    reports: u64,
}

/// What is known of a language by its info string.
#[derive(Debug)]
pub(super) enum Found {
    /// It is none, or none that can be highlighted.
    None,
    /// It is not there yet.
    Waiting,
    Ready(Language),
}

impl Languages {
    /// Returns the languages to be loaded that nobody was told of yet.
    ///
    /// Each is to be handed to [`super::preload`], away from the core thread, and then reported.
    pub fn take_wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    /// Takes the report that [`super::preload`] has run for `name`.
    ///
    /// One that failed is not reported: code in it stays plain.
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

    /// Asks for the language of an info string that is waited for.
    pub(super) fn want(&mut self, info: &str) {
        let language = self.named.then(|| language::find(info)).flatten();
        let name = language.map_or(info, |language| language.name());
        if self.asked.insert(name.to_owned()) {
            self.wanted.push(name.to_owned());
        }
    }
}
