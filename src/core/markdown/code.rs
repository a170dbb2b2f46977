//! Code, highlighted line by line.
//!
//! Invariant: the spans of a line depend on the lines before it alone, so a line that is done
//! stays as it is, and a line costs the same wherever it stands.

use syntect::parsing::{BasicScopeStackOp, ParseState, ScopeStack, SyntaxReference};

use super::groups as g;
use super::language::{self, Language};
use super::scopes;
use crate::core::view::{Group, Line, Span};

/// Longer lines are not highlighted: minified code would cost seconds and help nobody.
const MAX_LINE: usize = 1000;

/// Code of one language, from its first line on.
#[derive(Debug, Clone)]
pub struct Code {
    language: Option<Language>,
    state: Option<State>,
}

/// What the syntax definition knows between two lines.
#[derive(Debug, Clone)]
struct State {
    parser: ParseState,
    scopes: ScopeStack,
    /// The group of each scope on the stack.
    groups: Vec<Option<Group>>,
}

impl Code {
    /// Starts code whose language is named by an info string, a file name or a path.
    pub fn new(language: &str) -> Self {
        let language = language::find(language);
        let state = match language {
            Some(Language::Syntax(syntax)) => Some(State::new(syntax)),
            Some(Language::Console(_)) | None => None,
        };
        Self { language, state }
    }

    /// Returns whether the language is one that is known here.
    pub fn is_known(&self) -> bool {
        self.language.is_some()
    }

    /// Returns the spans of the next line, which has no line end.
    ///
    /// Code in no known language has one span, `AcpCodeBlock`; plain words of known languages have
    /// none, so that they look as they do in a buffer.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        match (self.language, &mut self.state) {
            (None, _) => plain(line),
            (Some(_), _) if line.len() > MAX_LINE => Vec::new(),
            (Some(Language::Syntax(_)), Some(state)) => state.line(line),
            (Some(Language::Syntax(_)), None) => Vec::new(),
            (Some(Language::Console(shell)), _) => console(shell, line),
        }
    }
}

/// Returns `text`'s lines, highlighted as `language`: an info string, a file name or a path.
///
/// About the first `budget` bytes are highlighted, the lines after them are plain.
pub fn code(language: &str, text: &str, budget: usize) -> Vec<Line> {
    let mut code = Code::new(language);
    let mut spent = 0;
    text.lines()
        .map(|line| {
            let spans = if spent < budget {
                code.line(line)
            } else {
                Vec::new()
            };
            spent += line.len() + 1;
            Line {
                text: line.to_owned(),
                spans,
            }
        })
        .collect()
}

/// Loads what highlighting `language` needs.
///
/// The first line of a language takes tens to hundreds of milliseconds, since its patterns are
/// compiled then, once per process. Any thread may do this ahead of time.
pub fn preload(language: &str) {
    let mut code = Code::new(language);
    code.line("let x = f(\"a\", 1) // a");
}

impl State {
    fn new(syntax: &SyntaxReference) -> Self {
        Self {
            parser: ParseState::new(syntax),
            scopes: ScopeStack::new(),
            groups: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Vec<Span> {
        let mut spans = Spans::default();
        let terminated = format!("{line}\n");
        let Ok(ops) = self.parser.parse_line(&terminated, language::syntaxes()) else {
            return Vec::new();
        };
        let mut start = 0;
        for (at, op) in ops {
            let at = at.min(line.len());
            spans.push(line, start, at, self.groups.last().copied().flatten());
            start = start.max(at);
            let groups = &mut self.groups;
            // An error means that a definition pops what it never pushed: the line stays plain.
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
        spans.push(
            line,
            start,
            line.len(),
            self.groups.last().copied().flatten(),
        );
        spans.0
    }
}

/// The spans of one line so far; neighbours of one group are one span.
#[derive(Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn push(&mut self, line: &str, start: usize, end: usize, group: Option<Group>) {
        let Some(text) = line.get(start..end) else {
            return;
        };
        let Some(group) = group.filter(|_| !text.trim().is_empty()) else {
            return;
        };
        let group = match group {
            g::SYN_KEYWORD if is_primitive(text) => g::SYN_TYPE,
            group => group,
        };
        match self.0.last_mut() {
            Some(last) if last.group == group && last.end as usize == start => {
                last.end = end as u32;
            }
            _ => self.0.push(span(start, end, group)),
        }
    }
}

/// Returns whether a word is a built-in type; some definitions call those what they call `let`.
fn is_primitive(word: &str) -> bool {
    matches!(word, "bool" | "char" | "str" | "Self")
        || word
            .strip_prefix(['i', 'u', 'f'])
            .is_some_and(|size| matches!(size, "8" | "16" | "32" | "64" | "128" | "size"))
}

/// Highlights a line of a shell session: the command after a prompt, nothing else.
///
/// Each command is read by itself, since what the one before it printed is no shell.
fn console(shell: &SyntaxReference, line: &str) -> Vec<Span> {
    let indent = line.len() - line.trim_start().len();
    let Some(prompt) = ["$ ", "# ", "% ", "> "]
        .iter()
        .find(|prompt| line[indent..].starts_with(**prompt))
    else {
        return plain(line);
    };
    let start = indent + prompt.len();
    let mut spans = vec![span(indent, indent + 1, g::FENCE)];
    spans.extend(shift(State::new(shell).line(&line[start..]), start));
    spans
}

/// Returns the spans of a line of code in no known language.
fn plain(line: &str) -> Vec<Span> {
    let end = line.trim_end().len();
    let start = line.len() - line.trim_start().len();
    if start < end {
        vec![span(start, end, g::CODE_BLOCK)]
    } else {
        Vec::new()
    }
}

/// Returns `spans`, `by` bytes further to the right.
pub(super) fn shift(spans: Vec<Span>, by: usize) -> impl Iterator<Item = Span> {
    spans.into_iter().map(move |span| Span {
        start: span.start + by as u32,
        end: span.end + by as u32,
        ..span
    })
}

/// Returns a span; columns fit, since the lines highlighted here are a few KiB long at most.
pub(super) fn span(start: usize, end: usize, group: Group) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
        group,
    }
}
