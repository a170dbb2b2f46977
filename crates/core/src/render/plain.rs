//! A command's output as plain text, without escape codes and with overwrites applied.
//!
//! Invariants: the text does not depend on the chunks; it is valid UTF-8, the end of all output,
//! within the limit; it is reported as cut if and only if something is missing.

use std::fmt;

use vte::Parser;

use super::screen::{Screen, ceil};

/// Minimum size kept for the screen.
const KEPT: usize = 64 * 1024;

/// Returns a text as a screen would show it; `None` if it contains no escape code.
pub fn without_codes(text: &str) -> Option<String> {
    text.contains('\x1b').then(|| on_screen(text))
}

/// Returns a text as a screen would show it: without escape codes and control characters.
pub fn on_screen(text: &str) -> String {
    let mut plain = Plain::new(text.len());
    plain.push(text.as_bytes());
    plain.finish();
    plain.text().0.to_owned()
}

/// Plain text that drops its beginning when it grows too long.
pub struct Plain {
    parser: Parser,
    /// The bytes of an incomplete character.
    partial: Vec<u8>,
    screen: Screen,
    limit: usize,
}

impl Plain {
    /// Returns an empty text that gives out at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self::keeping(limit, limit.max(KEPT))
    }

    fn keeping(limit: usize, keep: usize) -> Self {
        Self {
            parser: Parser::new(),
            partial: Vec::new(),
            screen: Screen::new(keep),
            limit,
        }
    }

    /// Appends output; a chunk can end anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !self.partial.is_empty()
            && let Some((&first, rest)) = bytes.split_first()
        {
            self.partial.push(first);
            bytes = rest;
            let partial = std::mem::take(&mut self.partial);
            self.take(&partial);
        }
        self.take(bytes);
    }

    /// Ends the output; an incomplete character becomes U+FFFD.
    pub fn finish(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.parser.advance(&mut self.screen, REPLACEMENT);
        }
    }

    /// Returns the end of the text, within the limit, and whether its beginning is missing.
    pub fn text(&self) -> (&str, bool) {
        let text = &self.screen.text;
        let start = ceil(text, text.len().saturating_sub(self.limit));
        let is_cut = self.screen.is_cut || start > 0;
        (text.get(start..).unwrap_or_default(), is_cut)
    }

    /// Returns the last lines, at most `most`, and the number of lines above them.
    ///
    /// Trailing blank lines do not count.
    pub fn last_lines(&self, most: usize) -> (Vec<&str>, usize) {
        let text = self.screen.text.trim_end_matches(['\n', ' ']);
        if text.is_empty() {
            return (Vec::new(), 0);
        }
        let mut lines: Vec<&str> = text.rsplit('\n').take(most).collect();
        lines.reverse();
        let trimmed = self.screen.text.get(text.len()..).unwrap_or_default();
        let blank = trimmed.matches('\n').count();
        let all = self.screen.ends - blank + 1;
        let above = all.saturating_sub(lines.len());
        (lines, above)
    }

    /// Discards text that agents can no longer ask for.
    pub fn shrink(&mut self) {
        self.limit = self.limit.min(KEPT);
        self.screen.keep = KEPT;
        self.screen.cut();
        self.screen.text.shrink_to_fit();
    }

    /// Parses bytes that start at a character; the parser never gets an incomplete one.
    fn take(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.parser
                .advance(&mut self.screen, chunk.valid().as_bytes());
            let odd = chunk.invalid();
            if odd.is_empty() {
                continue;
            }
            if chunks.peek().is_none() && may_go_on(odd) {
                self.partial = odd.to_vec();
            } else {
                self.parser.advance(&mut self.screen, REPLACEMENT);
            }
        }
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain")
            .field("screen", &self.screen)
            .finish_non_exhaustive()
    }
}

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Returns whether bytes are an incomplete character.
fn may_go_on(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::screen::LINE;

    /// Minimum size kept in tests that cut often.
    const FEW: usize = 3 * LINE;

    fn plain(output: &[u8], limit: usize) -> Plain {
        let mut plain = Plain::new(limit);
        plain.push(output);
        plain.finish();
        plain
    }

    #[track_caller]
    fn check(output: &[u8], want: &str) {
        let plain = plain(output, 1 << 20);
        assert_eq!(plain.text(), (want, false));
    }

    #[test]
    fn escape_codes_are_left_out() {
        check(
            b"\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain\r\n",
            "red and plain\n",
        );
        check(b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link");
        check(b"\x1bPq#0\x1b\\a\x1b(Bb\x07\x00c\x7f", "abc");
        check(b"\x1b[38:2::1:2:3mx\x1b[?25l\x1b[>4;1my", "xy");
    }

    #[test]
    fn a_line_is_what_was_left_of_it() {
        check(b"10%\r20%\r100%\r\n", "100%\n");
        check(b"abc\rX\n", "Xbc\n");
        check(b"abc\x08\x08X", "aXc");
        check(b"long line\r\x1b[Kshort\n", "short\n");
        check(b"abc\x1b[2K\rd\n", "d\n");
        check(b"abc\x1b[2Kd\n", "   d\n");
        check(b"abcdef\x1b[3D\x1b[1KX", "   Xef");
        check(b"a\x1b[5Cb\x1b[2Gc", "ac    b");
        check("äöü\rxy\x08ß\n".as_bytes(), "xßü\n");
        check(b"name\x1b[10G[ok]\n", "name     [ok]\n");
        check(b"a\tb\n", "a\tb\n");
        check(b"\x08\x08\r\x1b[9Da", "a");
        check(b"top\x1b[2;5Hnext\x1b[2Jmore", "top\nnextmore");
    }

    #[test]
    fn what_is_no_text_is_told_so() {
        check(b"a\xffb\xe2\x82", "a\u{fffd}b\u{fffd}");
        check(b"\x80\x9b31m", "\u{fffd}\u{fffd}31m");
        check(b"\xc3\n", "\u{fffd}\n");
    }

    #[test]
    fn nothing_is_lost_of_a_line_that_is_too_long_to_change() {
        let long = "x".repeat(3 * LINE) + "\rnew";
        let plain = plain(long.as_bytes(), 1 << 20);
        let (text, _) = plain.text();
        assert_eq!(text.len(), 3 * LINE);
        assert!(text.contains("new"));
    }

    #[test]
    fn the_last_lines_and_the_rest_by_number() {
        let check = |output: &str, most, want: &[&str], above| {
            let plain = plain(output.as_bytes(), 10);
            assert_eq!(plain.last_lines(most), (want.to_vec(), above), "{output:?}");
        };
        check("", 3, &[], 0);
        check("\n\n", 3, &[], 0);
        check("a", 3, &["a"], 0);
        check("a\nb\nc\n", 3, &["a", "b", "c"], 0);
        check("a\nb\nc\nd", 3, &["b", "c", "d"], 1);
        check("a\n\nb\n \n\n", 2, &["", "b"], 1);
        let many = "a line of text\n".repeat(20_000);
        check(&many, 2, &["a line of text"; 2], 19_998);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        for line in [&b"x"[..], b"\xff\x1b[31m", b"a line\r\n", b"\x1b]0;title"] {
            let mut plain = Plain::new(KEPT);
            for _ in 0..200 {
                plain.push(&line.repeat(2000));
            }
            assert!(plain.screen.text.capacity() < 4 * KEPT);
        }
    }

    fn output() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            4 => "[a-c ]{0,12}".prop_map(String::into_bytes),
            2 => "[äß€😀]{0,4}".prop_map(String::into_bytes),
            2 => Just(b"\r\n".to_vec()),
            1 => Just(b"\n".to_vec()),
            1 => Just(b"\r".to_vec()),
            1 => Just(b"\x08".to_vec()),
            1 => Just(b"\t".to_vec()),
            1 => Just(b"\x1b[31m".to_vec()),
            1 => (0..4u8, "[CDGKHJP]")
                .prop_map(|(n, action)| format!("\x1b[{n}{action}").into_bytes()),
            1 => Just(b"\x1b]0;t\x1b\\".to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_text(
            output in output(),
            times in 1..100usize,
            cuts in proptest::collection::vec(0..300usize, 0..40),
            limit in 0..200usize,
        ) {
            let output = output.repeat(times);
            let mut whole = Plain::keeping(limit, FEW);
            whole.push(&output);
            whole.finish();
            let mut pieces = Plain::keeping(limit, FEW);
            let mut rest = &output[..];
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()) % 7);
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            pieces.finish();
            prop_assert_eq!(pieces.text(), whole.text());
            prop_assert_eq!(pieces.last_lines(3), whole.last_lines(3));
        }

        #[test]
        fn the_text_is_the_end_of_the_whole(
            output in output(),
            times in 1..400usize,
            limit in 0..2000usize,
        ) {
            let output = output.repeat(times);
            let mut cut = Plain::keeping(limit, FEW);
            cut.push(&output);
            cut.finish();
            let all = plain(&output, usize::MAX);
            let ((text, is_cut), (all, _)) = (cut.text(), all.text());
            prop_assert!(text.len() <= limit);
            prop_assert!(all.ends_with(text));
            prop_assert_eq!(is_cut, text.len() < all.len());
            // At most one character that does not fit is missing.
            prop_assert!(!is_cut || text.len() + 4 > limit);
        }

        #[test]
        fn text_without_escape_codes_is_itself(text in "[ -~äß€😀\n\t]{0,80}") {
            let plain = plain(text.as_bytes(), usize::MAX / 2);
            prop_assert_eq!(plain.text(), (&*text, false));
        }
    }
}
