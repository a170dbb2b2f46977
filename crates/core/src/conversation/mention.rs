//! Mentions: the names after an `@` in a prompt's text, and their syntax.
//!
//! Invariant: only an unambiguous mention is treated as one; an address, a decorator or a package's
//! scope stays text.

use std::ops::Range;

/// A word of a text that begins with an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its byte range, with the `@` and quotes.
    pub bytes: Range<usize>,
    pub name: String,
}

/// The target of a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// The file from which the user opened the chat.
    Buffer,
    /// The last selection in that file.
    Selection,
    /// Diagnostics of that file, or of all buffers.
    Diagnostics {
        all: bool,
    },
    /// Changes since the last commit.
    Diff,
    /// A symbol in an open file, such as a function.
    Symbol(&'a str),
    Url(&'a str),
    /// A file, if it exists; relative to the session's folder.
    Path(&'a str),
}

/// The words that name something other than a file, and their meaning, short enough for a menu at the
/// edge of the screen.
pub const WORDS: [(&str, &str); 6] = [
    ("buffer", "the last file"),
    ("selection", "the last selection"),
    ("diagnostics", "in the last file"),
    ("diagnostics:all", "in all buffers"),
    ("diff", "uncommitted changes"),
    ("symbol:", "a function or type"),
];

impl Mention {
    pub fn named(&self) -> Named<'_> {
        match self.name.as_str() {
            "buffer" => Named::Buffer,
            "selection" => Named::Selection,
            "diagnostics" => Named::Diagnostics { all: false },
            "diagnostics:all" => Named::Diagnostics { all: true },
            "diff" => Named::Diff,
            name if name.starts_with("https://") || name.starts_with("http://") => Named::Url(name),
            name => match name.strip_prefix("symbol:") {
                Some(symbol) => Named::Symbol(symbol),
                None => Named::Path(name),
            },
        }
    }
}

/// Returns all mentions of a text, in order.
pub fn all(text: &str) -> Vec<Mention> {
    let signs = text.match_indices('@');
    let mut found: Vec<Mention> = Vec::new();
    for (at, _) in signs {
        let is_inside = found.last().is_some_and(|last| at < last.bytes.end);
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        if !is_inside && begins(before) {
            found.extend(mention(text, at));
        }
    }
    found
}

/// Returns a name as it is written after the `@`.
pub fn written(name: &str) -> String {
    match name.contains(char::is_whitespace) || name.ends_with(TRAILING) {
        true => format!("@\"{name}\""),
        false => format!("@{name}"),
    }
}

/// Returns the start of the mention being typed at the end of `before`, and the part of its name
/// typed so far.
pub fn open(before: &str) -> Option<(usize, &str)> {
    let start = before.rfind('@')?;
    let (head, name) = before.split_at_checked(start)?;
    let name = name.strip_prefix('@')?;
    if !begins(head.chars().next_back()) {
        return None;
    }
    match name.strip_prefix('"') {
        Some(quoted) if !quoted.contains('"') => Some((start, quoted)),
        None if !name.contains(char::is_whitespace) => Some((start, name)),
        _ => None,
    }
}

/// Characters that end a sentence or enclose a mention are not part of its name.
const TRAILING: [char; 12] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '`'];

/// Returns whether an `@` after this character begins a word.
fn begins(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "([{'\"`".contains(c))
}

fn mention(text: &str, at: usize) -> Option<Mention> {
    let rest = text.get(at + 1..)?;
    let (name, len) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let name = quoted.get(..quoted.find(['"', '\n'])?)?;
            quoted.get(name.len()..)?.starts_with('"').then_some(())?;
            (name, name.len() + 2)
        }
        None => {
            let word = rest.split(char::is_whitespace).next()?;
            let name = word.trim_end_matches(TRAILING);
            // The name has not been typed yet.
            let name = if word == "symbol:" { word } else { name };
            (name, name.len())
        }
    };
    (!name.is_empty() && !name.starts_with('@')).then(|| Mention {
        bytes: at..at + 1 + len,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let found = all(text);
        let names: Vec<&str> = found.iter().map(|mention| mention.name.as_str()).collect();
        assert_eq!(names, want, "{text:?}");
        for mention in found {
            let word = &text[mention.bytes.clone()];
            assert_eq!(word.trim_matches(['@', '"']), mention.name);
        }
    }

    #[test]
    fn a_mention_is_a_word_of_its_own() {
        check("look at @src/a.rs, and (@b.rs).", &["src/a.rs", "b.rs"]);
        check("@a\n@b", &["a", "b"]);
        check("me@example.org, a@b", &[]);
        check("@ nothing @", &[]);
        check("@\"a b.rs\" and `@c`", &["a b.rs", "c"]);
        check("@\"open", &[]);
        check("see @https://x.org/a?b=c.", &["https://x.org/a?b=c"]);
        check("@@a", &[]);
        check("@ä/ö.rs!", &["ä/ö.rs"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for name in ["a", "src/a b.rs", "what.", "ä"] {
            check(&format!("x {} y", written(name)), &[name]);
        }
    }

    #[test]
    fn a_mention_names_a_file_unless_it_is_a_word() {
        let check = |name: &str, want| {
            let mention = Mention {
                bytes: 0..0,
                name: name.into(),
            };
            assert_eq!(mention.named(), want);
        };
        check("buffer", Named::Buffer);
        check("buffers", Named::Path("buffers"));
        check("diagnostics:all", Named::Diagnostics { all: true });
        check("symbol:main", Named::Symbol("main"));
        check("http://x", Named::Url("http://x"));
        for (word, _) in WORDS {
            let mention = Mention {
                bytes: 0..0,
                name: word.into(),
            };
            assert!(!matches!(mention.named(), Named::Path(_)), "{word}");
        }
    }

    #[test]
    fn what_is_being_written_is_known() {
        let check = |before: &str, want| assert_eq!(open(before), want, "{before:?}");
        check("look at @", Some((8, "")));
        check("look at @src/a", Some((8, "src/a")));
        check("look at @\"a b", Some((8, "a b")));
        check("look at @\"a b\"", None);
        check("look at @a b", None);
        check("a@b", None);
        check("", None);
    }
}
