//! Highlights code line by line.
//!
//! Invariant: the spans of a line depend only on the lines before it, so a highlighted line is
//! final, and a line costs the same in every position.

use std::ops::Range;

use syntect::parsing::{BasicScopeStackOp, ScopeStack, SyntaxReference};

use super::engine::Parser;
use super::language::{self, Language};
use super::{groups as g, scopes};
use crate::spine::view::{Group, Span};

/// Longer lines are not highlighted: minified code would cost milliseconds per line, for no
/// benefit.
const MAX_LINE: usize = 500;

/// Code in one language, from its first line on.
#[derive(Debug, Clone)]
pub(super) enum Code {
    /// Its language is missing or unknown.
    Unknown,
    /// A shell session.
    Console(&'static SyntaxReference),
    Known(State),
}

/// The state of the syntax definition between two lines.
#[derive(Debug, Clone)]
pub(super) struct State {
    parser: Parser,
    scopes: ScopeStack,
    /// The group of each scope on the stack.
    groups: Vec<Option<Group>>,
    /// Groups of words in scopes without a group.
    words: Option<fn(&str) -> Option<Group>>,
}

impl Code {
    /// Starts code in the language of an info string or a file name. The first code in a language
    /// loads it, which takes milliseconds: do not run it on the core thread.
    pub fn of(info: &str) -> Self {
        match language::find(info) {
            None => Self::Unknown,
            Some(Language::Console(shell)) => Self::Console(shell),
            Some(Language::Syntax(syntax)) => Self::Known(State::new(syntax)),
        }
    }

    pub fn is_known(&self) -> bool {
        matches!(self, Self::Console(_) | Self::Known(_))
    }

    /// Returns the spans of the next line, given without its line end.
    ///
    /// Code in an unknown language has one span, `AcpCodeBlock`. Plain words of known languages
    /// have none, so that they look as in a buffer.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        match self {
            Self::Unknown => plain(line),
            Self::Console(_) | Self::Known(_) if line.len() > MAX_LINE => Vec::new(),
            Self::Console(shell) => console(shell, line),
            Self::Known(state) => state.line(line),
        }
    }
}

impl State {
    fn new(syntax: &SyntaxReference) -> Self {
        Self {
            parser: Parser::new(syntax),
            scopes: ScopeStack::new(),
            groups: Vec::new(),
            words: (syntax.name == "Rust").then_some(rust_word),
        }
    }

    fn line(&mut self, line: &str) -> Vec<Span> {
        let terminated = format!("{line}\n");
        let Some(ops) = self.parser.parse(&terminated) else {
            return Vec::new();
        };
        let mut spans = Spans::default();
        let mut start = 0;
        for (at, op) in ops {
            let at = at.min(line.len());
            if at > start {
                self.text(line, start..at, &mut spans);
                start = at;
            }
            let groups = &mut self.groups;
            // An error means that a definition pops more than it pushed: the line stays plain.
            let _ = self.scopes.apply_with_hook(&op, |op, _| match op {
                BasicScopeStackOp::Push(scope) => {
                    let outer = groups.last().copied().flatten();
                    groups.push(scopes::group(scope, outer));
                }
                BasicScopeStackOp::Pop => {
                    groups.pop();
                }
            });
        }
        self.text(line, start..line.len(), &mut spans);
        spans.0
    }

    /// Adds the spans of a part of a line in the present scopes.
    fn text(&self, line: &str, range: Range<usize>, spans: &mut Spans) {
        let text = line.get(range.clone()).unwrap_or_default();
        if text.trim().is_empty() {
            return;
        }
        match (self.groups.last().copied().flatten(), self.words) {
            (Some(group @ (g::SYN_KEYWORD | g::SYN_TYPE)), _) => {
                spans.push(range.start, range.end, keyword_or_type(group, text));
            }
            (Some(group), _) => spans.push(range.start, range.end, group),
            (None, Some(words)) => spans.push_words(text, range.start, words),
            (None, None) => {}
        }
    }
}

/// The spans of a line so far; adjacent spans of one group are merged.
#[derive(Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn push(&mut self, start: usize, end: usize, group: Group) {
        match self.0.last_mut() {
            Some(last) if last.group == group && last.end as usize == start => {
                last.end = end as u32;
            }
            _ => self.0.push(span(start, end, group)),
        }
    }

    /// Adds the words of text without a scope's group that have a group themselves.
    fn push_words(&mut self, text: &str, start: usize, group: fn(&str) -> Option<Group>) {
        let mut at = 0;
        for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(group) = group(name) {
                self.push(start + at, start + at + name.len(), group);
            }
            at += word.len();
        }
    }
}

/// Returns the group of a word that the outdated definition of Rust treats as plain text.
fn rust_word(word: &str) -> Option<Group> {
    let camel = word.starts_with(char::is_uppercase)
        && (word.len() == 1 || word.contains(char::is_lowercase));
    match word {
        "async" | "await" | "dyn" => Some(g::SYN_KEYWORD),
        _ => camel.then_some(g::SYN_TYPE),
    }
}

/// Returns the group of a keyword or type; many definitions use one scope for `let` and `u8`.
fn keyword_or_type(group: Group, word: &str) -> Group {
    let is_type = match word {
        "bool" | "byte" | "char" | "decimal" | "double" | "float" | "int" | "long" | "object"
        | "sbyte" | "short" | "str" | "string" | "uint" | "ulong" | "ushort" | "void" | "Self" => {
            true
        }
        "class" | "enum" | "struct" | "typedef" | "typename" | "union" => false,
        _ => match word.strip_prefix(['i', 'u', 'f']) {
            Some("8" | "16" | "32" | "64" | "128" | "size") => true,
            _ => return group,
        },
    };
    if is_type { g::SYN_TYPE } else { g::SYN_KEYWORD }
}

/// Highlights a line of a shell session: only the command after a prompt.
///
/// Each command is parsed separately, because the output before it is not shell.
fn console(shell: &SyntaxReference, line: &str) -> Vec<Span> {
    let command = ["$ ", "# ", "% ", "> "]
        .iter()
        .find_map(|prompt| line.trim_start().strip_prefix(prompt));
    let Some(command) = command else {
        return plain(line);
    };
    let start = line.len() - command.len();
    // The prompt is one character and a space.
    let mut spans = vec![span(start - 2, start - 1, g::FENCE)];
    spans.extend(shift(State::new(shell).line(command), start));
    spans
}

/// Returns the spans of a line of code in an unknown language.
pub(crate) fn plain(line: &str) -> Vec<Span> {
    let end = line.trim_end().len();
    let start = line.len() - line.trim_start().len();
    if start < end {
        vec![span(start, end, g::CODE_BLOCK)]
    } else {
        Vec::new()
    }
}

/// Returns `spans` moved right by `by` bytes.
pub(crate) fn shift(spans: Vec<Span>, by: usize) -> impl Iterator<Item = Span> {
    spans.into_iter().map(move |span| Span {
        start: span.start + by as u32,
        end: span.end + by as u32,
        ..span
    })
}

/// Returns a span; columns fit, because lines highlighted here have at most a few KiB.
pub(crate) fn span(start: usize, end: usize, group: Group) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
        group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spine::view::Line;

    /// Returns the lines of a text, each with its spans.
    fn all(language: &str, text: &str) -> Vec<Line> {
        let mut code = Code::of(language);
        let line = |text: &str| Line::new(text, code.line(text));
        text.lines().map(line).collect()
    }

    fn groups(line: &Line) -> Vec<Group> {
        line.spans.iter().map(|span| span.group).collect()
    }

    #[test]
    fn the_state_is_kept_from_line_to_line_and_over_long_ones() {
        let long = "x".repeat(MAX_LINE + 1);
        let lines = all("src/a.rs", &format!("/* a\n{long}\nb */ fn"));
        assert_eq!(groups(&lines[0]), [g::SYN_COMMENT]);
        assert!(groups(&lines[1]).is_empty());
        assert_eq!(groups(&lines[2]), [g::SYN_COMMENT, g::SYN_KEYWORD]);
    }

    #[test]
    fn only_commands_of_a_shell_session_are_shell() {
        let lines = all("console", "  $ echo 'a'\nit's\n");
        assert_eq!(
            groups(&lines[0]),
            [g::FENCE, g::SYN_FUNCTION, g::SYN_STRING]
        );
        assert_eq!(groups(&lines[1]), [g::CODE_BLOCK]);
    }
}
