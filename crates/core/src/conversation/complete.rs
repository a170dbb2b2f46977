//! Completion in an input: the candidates and the kinds of words they complete.
//!
//! Invariant: the number of candidates is bounded, however large the project is.

use std::sync::Arc;

use crate::conversation::mention;
use crate::text::fuzzy;
use acp;

/// Maximum number of files offered.
const MAX_FILES: usize = 50;

/// A project's files, relative to its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub paths: Vec<Box<str>>,
}

/// A completion candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The replacement text.
    pub word: String,
    /// A word for its kind.
    pub kind: &'static str,
    /// Details, on one line.
    pub about: String,
}

/// The sources of candidates.
#[derive(Debug, Default)]
pub struct Sources<'a> {
    pub commands: &'a [acp::Command],
    pub files: Option<&'a Arc<Files>>,
    /// The files in buffers, most recently used first, relative to the project's folder.
    pub buffers: Vec<String>,
    /// Symbols in those buffers, such as functions, and the place of each.
    pub symbols: Vec<(String, String)>,
}

/// The word being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead<'a> {
    /// The byte of the line at which the word begins.
    pub start: usize,
    pub kind: LeadKind,
    pub text: &'a str,
    /// In quotes only a file is meant, or a symbol.
    pub is_quoted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadKind {
    /// A command of the agent; only at the very beginning of the input.
    Command,
    Mention,
    Symbol,
}

/// Returns the word being typed in a line of an input; `before` is the text before the cursor.
pub fn lead(row: usize, before: &str) -> Option<Lead<'_>> {
    if row == 0
        && let Some(text) = before.strip_prefix('/')
        && !text.contains(char::is_whitespace)
    {
        return Some(Lead {
            start: 0,
            kind: LeadKind::Command,
            text,
            is_quoted: false,
        });
    }
    let (start, text) = mention::open(before)?;
    let is_quoted = before.get(start..)?.starts_with("@\"");
    Some(match text.strip_prefix("symbol:") {
        Some(text) => Lead {
            start,
            kind: LeadKind::Symbol,
            text,
            is_quoted,
        },
        None => Lead {
            start,
            kind: LeadKind::Mention,
            text,
            is_quoted,
        },
    })
}

/// Returns the candidates, best first.
pub fn candidates(lead: Lead<'_>, sources: &Sources<'_>) -> Vec<Candidate> {
    match lead.kind {
        LeadKind::Command => commands(lead.text, sources),
        LeadKind::Mention => mentions(lead, sources),
        LeadKind::Symbol => symbols(lead.text, sources),
    }
}

fn commands(lead: &str, sources: &Sources<'_>) -> Vec<Candidate> {
    let names = sources.commands.iter().map(|command| command.name.as_str());
    let best = fuzzy::best(names, lead, usize::MAX);
    let command = |name: &str| {
        let mut commands = sources.commands.iter();
        commands.find(|command| command.name == name)
    };
    let found = best.into_iter().filter_map(command);
    let found = found.map(|command| Candidate {
        word: format!("/{}", command.name),
        kind: "command",
        about: command.description.replace('\n', " "),
    });
    found.collect()
}

fn mentions(lead: Lead<'_>, sources: &Sources<'_>) -> Vec<Candidate> {
    let words = mention::WORDS.iter();
    let words = words.filter(|(word, _)| !lead.is_quoted && word.starts_with(lead.text));
    let words = words.map(|(word, about)| Candidate {
        word: format!("@{word}"),
        kind: "context",
        about: (*about).to_owned(),
    });
    let buffers = sources.buffers.iter().map(String::as_str);
    let open = fuzzy::best(buffers, lead.text, MAX_FILES);
    let files = sources.files.map(|files| files.paths.as_slice());
    let files = files.unwrap_or_default().iter().map(|path| &**path);
    let others = fuzzy::best(files, lead.text, MAX_FILES);
    let others = others.into_iter().filter(|path| !open.contains(path));
    let file = |path: &str, about: &str| Candidate {
        word: mention::written(path),
        kind: "file",
        about: about.to_owned(),
    };
    let open = open.iter().map(|path| file(path, "open"));
    let all = words.chain(open);
    let others = others.map(|path| file(path, ""));
    let mut all: Vec<Candidate> = all.chain(others).collect();
    all.truncate(MAX_FILES + mention::WORDS.len());
    all
}

fn symbols(lead: &str, sources: &Sources<'_>) -> Vec<Candidate> {
    let names = sources.symbols.iter().map(|(name, _)| name.as_str());
    let mut best = fuzzy::best(names, lead, MAX_FILES);
    best.dedup();
    let place = |name: &str| {
        let mut symbols = sources.symbols.iter();
        symbols.find(|(known, _)| known == name)
    };
    let found = best.into_iter().filter_map(place);
    let found = found.map(|(name, place)| Candidate {
        word: mention::written(&format!("symbol:{name}")),
        kind: "symbol",
        about: place.clone(),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: usize, before: &str, want: &[&str]) {
        let command = |name: &str| acp::Command {
            name: name.into(),
            description: "Does it".into(),
            hint: None,
        };
        let commands = [command("compact"), command("review")];
        let files = Arc::new(Files {
            paths: ["a b.rs", "build.rs", "src/buffer.rs"]
                .map(Into::into)
                .into(),
        });
        let sources = Sources {
            commands: &commands,
            files: Some(&files),
            buffers: vec!["src/buffer.rs".into()],
            symbols: vec![("build".into(), "build.rs:3".into())],
        };
        let found = lead(row, before).map(|lead| candidates(lead, &sources));
        let found = found.unwrap_or_default();
        let words: Vec<&str> = found.iter().map(|found| found.word.as_str()).collect();
        assert_eq!(words, want, "{before:?}");
    }

    #[test]
    fn commands_stand_at_the_beginning() {
        check(0, "/", &["/compact", "/review"]);
        check(0, "/rev", &["/review"]);
        check(0, "/review ", &[]);
        check(0, " /", &[]);
        check(1, "/", &[]);
        check(0, "either/or", &[]);
    }

    #[test]
    fn words_come_before_open_files_and_those_before_others() {
        check(3, "see @bu", &["@buffer", "@src/buffer.rs", "@build.rs"]);
        check(0, "@ab", &["@\"a b.rs\""]);
        check(0, "@\"bu", &["@src/buffer.rs", "@build.rs"]);
        check(0, "@diag", &["@diagnostics", "@diagnostics:all"]);
        check(0, "@symbol:b", &["@symbol:build"]);
        check(0, "a@b", &[]);
    }
}
