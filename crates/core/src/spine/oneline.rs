//! Text for one line of the screen: of a buffer, a title, a label.
//!
//! Invariant: a [`OneLine`] holds no line feed, no NUL, and no character that the screen would obey
//! or hide: those are spelled as Neovim spells them, `^J`, `^[` or `<202e>`. A tab stays.

use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

use super::view::Span;
use crate::text::cut::head;

/// A text that one line shows in full.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneLine(String);

impl OneLine {
    /// Returns the text with its special characters spelled.
    pub fn new(text: impl Into<String>) -> Self {
        Self::mapped(text.into(), &mut [])
    }

    /// Returns a text of several lines on one, its words separated by spaces.
    pub fn from_words(text: &str) -> Self {
        Self::new(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Does as [`OneLine::new`]; the spans of the text become spans of the result.
    pub(super) fn with_spans(text: impl Into<String>, spans: &mut [Span]) -> Self {
        Self::mapped(text.into(), spans)
    }

    fn mapped(text: String, spans: &mut [Span]) -> Self {
        if !may_be_special(&text) {
            return Self(text);
        }
        let mut line = Self(String::with_capacity(text.len() + 8));
        // The end of each spelled character, before and after.
        let mut moved = Vec::new();
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if line.put(c, next) {
                moved.push((at + c.len_utf8(), line.0.len()));
            }
        }
        for span in spans {
            let new = |old: u32| {
                let last = moved.partition_point(|(end, _)| *end <= old as usize);
                let last = last.checked_sub(1).and_then(|last| moved.get(last));
                let (before, after) = last.copied().unwrap_or_default();
                u32::try_from(old as usize - before + after).unwrap_or(u32::MAX)
            };
            (span.start, span.end) = (new(span.start), new(span.end));
        }
        line
    }

    /// Appends a text.
    pub fn push_str(&mut self, text: &str) {
        if !may_be_special(text) {
            return self.0.push_str(text);
        }
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            self.put(c, chars.peek().copied());
        }
    }

    /// Appends a character, `next` being the one after it; returns whether it was spelled.
    fn put(&mut self, c: char, next: Option<char>) -> bool {
        let is_shown = |c: char| !c.is_control() && !is_hidden(c);
        let is_foreign = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && is_shown(c));
        let before = self.0.chars().next_back();
        let is_special = match c {
            '\t' => false,
            // Part of scripts and emoji, where they stand between characters of those.
            '\u{200c}' | '\u{200d}' => {
                !is_foreign(before) || !is_foreign(next.filter(|c| !is_selector(*c)))
            }
            // Part of those behind one of their characters, and of a keycap.
            c if is_selector(c) => match before {
                Some('0'..='9' | '#' | '*') => next != Some('\u{20e3}'),
                before => !is_foreign(before.filter(|c| !is_selector(*c))),
            },
            c => !is_shown(c),
        };
        match c {
            c if !is_special => self.0.push(c),
            '\0'..='\u{1f}' => self.0.extend(['^', char::from(c as u8 ^ 0x40)]),
            '\u{7f}' => self.0.push_str("^?"),
            c => self.0.push_str(&format!("<{:02x}>", u32::from(c))),
        }
        is_special
    }

    /// Puts plain text, such as an indent, before the line.
    pub fn prepend(&mut self, text: &str) {
        self.0.insert_str(0, &Self::new(text));
    }

    /// Cuts the line to at most `most` bytes; returns its length.
    pub fn truncate(&mut self, most: usize) -> usize {
        let end = head(&self.0, most).len();
        self.0.truncate(end);
        end
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a character has no width, or changes the direction of others.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character selects a variant of the one before it, and has no width.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Returns whether a text can have a character to spell: a quick look at its bytes.
fn may_be_special(text: &str) -> bool {
    // Control characters, and the first bytes of those of `is_hidden` and `is_selector`.
    let is_first = |byte: u8| matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3);
    text.bytes()
        .any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f || is_first(byte))
}

impl Deref for OneLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for OneLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for OneLine {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for OneLine {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<OneLine> for String {
    fn from(line: OneLine) -> Self {
        line.0
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for OneLine {
    fn eq(&self, other: &T) -> bool {
        self.0 == other.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(OneLine::new(text).as_str(), want);
        let mut pushed = OneLine::default();
        pushed.push_str(text);
        assert_eq!(pushed.as_str(), want);
    }

    #[test]
    fn special_characters_are_spelled() {
        check("a\nb\r\n\0", "a^Jb^M^J^@");
        check("\x1b[31mred\x7f\u{9b}0m", "^[[31mred^?<9b>0m");
        check("a\u{202e}b\u{200b}c\u{feff}", "a<202e>b<200b>c<feff>");
        check("a\u{200d}b\u{2028}\u{e0041}", "a<200d>b<2028><e0041>");
        check("rm\u{ad} \u{3164}", "rm<ad> <3164>");
        // Joiners join characters that are shown.
        check("é\u{200d}\u{200d}é", "é<200d><200d>é");
        check("é\u{200c}\u{200b}\u{200c}\u{9b}", "é<200c><200b><200c><9b>");
        // Selectors select a variant of a character that may have one.
        check("Makefile\u{fe0f}", "Makefile<fe0f>");
        check("\u{fe0e}a1\u{fe0f} \u{fe00}", "<fe0e>a1<fe0f> <fe00>");
        check("é\u{fe0f}\u{fe0f}", "é\u{fe0f}<fe0f>");
        check("é\u{200d}\u{fe0f}", "é<200d><fe0f>");
    }

    #[test]
    fn text_of_any_script_stays() {
        for text in [
            "a\tb",
            "naïve – “quoted” … ✓",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "日本語",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn spans_cover_the_same_characters() {
        let mut spans = [(0, 1), (1, 2), (2, 5), (5, 6)].map(|(start, end)| Span {
            start,
            end,
            group: "G",
        });
        let line = OneLine::with_spans("a\n\u{202e}b", &mut spans);
        let shown = spans.map(|span| &line[span.start as usize..span.end as usize]);
        assert_eq!(shown, ["a", "^J", "<202e>", "b"]);
    }

    proptest! {
        #[test]
        fn any_text_fits_on_one_line(text: String) {
            let line = OneLine::new(text.clone());
            let is_special = |c: char| c != '\t' && (c.is_control() || "\u{202e}\u{200b}".contains(c));
            prop_assert_eq!(line.find(is_special), None);
            prop_assert_eq!(OneLine::new(line.as_str()), &*line);
            let mut spans: Vec<Span> = text
                .char_indices()
                .map(|(at, c)| Span { start: at as u32, end: (at + c.len_utf8()) as u32, group: "G" })
                .collect();
            let line = OneLine::with_spans(text, &mut spans);
            for span in spans {
                prop_assert!(line.get(span.start as usize..span.end as usize).is_some());
            }
        }

        #[test]
        fn joiners_and_selectors_hide_nothing(text in "[a1é\u{fe0f}\u{200d}\u{20e3}]{0,8}") {
            let line = OneLine::new(text);
            let is_hidden = line.contains("a\u{fe0f}") || line.contains("\u{fe0f}\u{fe0f}");
            prop_assert!(!is_hidden);
            prop_assert_eq!(OneLine::new(line.as_str()), &*line);
        }
    }
}
