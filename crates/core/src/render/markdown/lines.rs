//! Highlights lines of a file, independently of messages.

use super::code::Code;
use super::languages::Languages;
use crate::spine::view::Span;

/// Consecutive lines in one language.
#[derive(Debug, Clone)]
pub struct CodeLines(Code);

impl CodeLines {
    /// Starts with the language of a file name; requests it if it is not loaded.
    pub fn of(name: &str, languages: &mut Languages) -> Self {
        let code = Code::new(languages.find(name));
        if code.is_waiting() {
            languages.want(name);
        }
        Self(code)
    }

    /// Returns whether its language is not loaded yet.
    pub fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    /// Returns whether lines are highlighted, with the cost of that.
    pub fn is_highlighted(&self) -> bool {
        self.0.is_highlighted()
    }

    /// Returns the spans of the next line, given without its line end.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        match self.is_highlighted() {
            true => self.0.line(line),
            false => Vec::new(),
        }
    }
}
