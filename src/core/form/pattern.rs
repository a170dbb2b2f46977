//! Patterns of texts, written in the language of ECMA 262, as JSON schemas have them.
//!
//! Invariant: looking for a pattern takes time in proportion to the text, whatever the pattern:
//! one that only an engine that goes back could follow is not looked for at all.

use std::sync::Arc;

use regex_automata::meta::Regex;

/// A pattern that a text has to match somewhere.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Arc<str>,
    /// `None` for one that cannot be looked for here: whoever asks has to look.
    regex: Option<Arc<Regex>>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Pattern {
    pub fn new(source: &str) -> Self {
        Self {
            source: source.into(),
            regex: Regex::new(&translated(source)).ok().map(Arc::new),
        }
    }

    /// Returns the pattern as it came.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Tells whether a text matches, as far as that is known.
    pub fn fits(&self, text: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

const SPACE: &str = r"\t\n\x0B\x0C\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

/// Returns the pattern in the engine's language: there `\d` is any digit of any script, and a `[`
/// within brackets begins another set.
fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut is_set = false;
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('s') => out.push_str(&format!("[{SPACE}]")),
                Some('S') => out.push_str(&format!("[^{SPACE}]")),
                Some('b') if is_set => out.push_str(r"\x08"),
                Some('b') => out.push_str(r"(?-u:\b)"),
                // Two letters of what else would have to be bytes.
                Some('B') => out.push_str(r"(?-u:\B)"),
                Some('/') => out.push('/'),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !is_set => {
                is_set = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if is_set => {
                is_set = false;
                out.push(']');
            }
            '[' | '&' | '~' if is_set => out.extend(['\\', c]),
            // Any character but those that end a line.
            '.' if !is_set => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
        let pattern = Pattern::new(pattern);
        assert!(pattern.regex.is_some(), "{}", pattern.source());
        for text in good {
            assert!(pattern.fits(text), "{}: {text:?}", pattern.source());
        }
        for text in bad {
            assert!(!pattern.fits(text), "{}: {text:?}", pattern.source());
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_in_a_schema() {
        check("b", &["abc"], &["ac"]);
        check("^[a-z]+$", &["abc"], &["ab\n", "ab\ncd", "Ab", ""]);
        check(r"^\d{4}$", &["2026"], &["٢٠٢٦", "20260"]);
        check(r"^[\w.-]+$", &["a_1.b-c"], &["ä", "a b"]);
        check(r"^\S+\s\S+$", &["a b", "a\u{a0}b"], &["ab"]);
        check(r"^[[\]&~/]+$", &["[]", "&&", "~/"], &["a"]);
        check(r"^https?:\/\/", &["http://x"], &["ftp://x"]);
        check(r"\bcat\b", &["a cat."], &["cats"]);
        check("^.$", &["ä", "👍"], &["\n", "ab"]);
        check(r"^\u00e4$", &["ä"], &["a"]);
        check("^(?:a|b){2,3}$", &["ab"], &["a", "abab"]);
    }

    #[test]
    fn what_cannot_be_looked_for_is_left_to_who_asks() {
        for source in [r"^(?=.*\d)", r"(a)\1", "(", "[", "*"] {
            assert!(Pattern::new(source).fits("anything"), "{source}");
        }
    }
}
