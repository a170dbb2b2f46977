//! Lines of a file, highlighted outside of any message.

use super::code::Code;
use super::languages::Languages;
use crate::render::view::Span;

/// Lines of one language, one after the other.
#[derive(Debug, Clone)]
pub struct CodeLines(Code);

impl CodeLines {
    /// Starts lines of the file with this name. A language that is not there is asked for.
    pub fn of(name: &str, languages: &mut Languages) -> Self {
        let code = Code::new(languages.find(name));
        if code.is_waiting() {
            languages.want(name);
        }
        Self(code)
    }

    /// Returns whether its language is not there yet.
    pub fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    /// Returns whether lines cost what highlighting costs, and have spans at all.
    pub fn is_highlighted(&self) -> bool {
        self.0.is_highlighted()
    }

    /// Returns the spans of the next line, which has no line end.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        match self.is_highlighted() {
            true => self.0.line(line),
            false => Vec::new(),
        }
    }
}
