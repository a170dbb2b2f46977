//! Code, highlighted line by line.
//!
//! Invariant: the spans of a line depend on the lines before it alone, so a line that is done
//! stays as it is, and a line costs the same wherever it stands.

use std::ops::Range;

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

/// A bit of any language: it reaches the patterns that ordinary code needs.
const SAMPLE: &str = "import a from \"b\";
class A extends B { f(x: number, y): C { return 'c' + 1.5 * x[0]; } }
fn f(x: u8) -> C { let y = g(\"a\\n\", &x)?; }
def f(x, y=1): # comment
if x then y = { a = 1 } else z() end // comment
<a b=\"c\">d</a> /* comment */
";

/// What the syntax definition knows between two lines.
#[derive(Debug, Clone)]
struct State {
    parser: ParseState,
    scopes: ScopeStack,
    /// The group of each scope on the stack.
    groups: Vec<Option<Group>>,
    /// The group of a word that stands in no scope of a group.
    words: Option<fn(&str) -> Option<Group>>,
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
    for line in SAMPLE.lines() {
        code.line(line);
    }
}

impl State {
    fn new(syntax: &SyntaxReference) -> Self {
        Self {
            parser: ParseState::new(syntax),
            scopes: ScopeStack::new(),
            groups: Vec::new(),
            words: (syntax.name == "Rust").then_some(rust_word),
        }
    }

    fn line(&mut self, line: &str) -> Vec<Span> {
        let terminated = format!("{line}\n");
        let Ok(ops) = self.parser.parse_line(&terminated, language::syntaxes()) else {
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
        self.text(line, start..line.len(), &mut spans);
        spans.0
    }

    /// Adds the spans of a part of a line that lies in the scopes as they are now.
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

/// The spans of one line so far; neighbours of one group are one span.
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

    /// Adds the words of plain text that have a group all the same.
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

/// Returns the group of a word that the definition of Rust, which is old, takes for plain text.
fn rust_word(word: &str) -> Option<Group> {
    let camel = word.starts_with(char::is_uppercase)
        && (word.len() == 1 || word.contains(char::is_lowercase));
    match word {
        "async" | "await" | "dyn" => Some(g::SYN_KEYWORD),
        _ => camel.then_some(g::SYN_TYPE),
    }
}

/// Returns the group of a keyword or type; many definitions have one scope for `let` and `u8`.
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

/// Highlights a line of a shell session: the command after a prompt, nothing else.
///
/// Each command is read by itself, since what the one before it printed is no shell.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(line: &Line) -> Vec<Group> {
        line.spans.iter().map(|span| span.group).collect()
    }

    #[test]
    fn the_state_is_kept_from_line_to_line_and_over_long_ones() {
        let long = "x".repeat(MAX_LINE + 1);
        let lines = code("src/a.rs", &format!("/* a\n{long}\nb */ fn"), usize::MAX);
        assert_eq!(groups(&lines[0]), [g::SYN_COMMENT]);
        assert!(groups(&lines[1]).is_empty());
        assert_eq!(groups(&lines[2]), [g::SYN_COMMENT, g::SYN_KEYWORD]);
    }

    #[test]
    fn past_the_budget_lines_are_plain() {
        let lines = code("rust", "fn a() {}\nfn b() {}\nfn c() {}", 15);
        assert_eq!(lines.len(), 3);
        assert!(!lines[1].spans.is_empty());
        assert!(lines[2].spans.is_empty());
    }

    #[test]
    fn only_commands_of_a_shell_session_are_shell() {
        let lines = code("console", "  $ echo 'a'\nit's\n", usize::MAX);
        assert_eq!(
            groups(&lines[0]),
            [g::FENCE, g::SYN_FUNCTION, g::SYN_STRING]
        );
        assert_eq!(groups(&lines[1]), [g::CODE_BLOCK]);
    }

    #[test]
    fn preloading_unknown_languages_does_nothing() {
        preload("no such language");
        assert!(!Code::new("no such language").is_known());
        assert!(Code::new("a.rs").is_known());
    }
}
