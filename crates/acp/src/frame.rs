//! Framing: from the bytes of an agent's stdout to lines.
//!
//! Invariants: the frames depend on the bytes alone, not on how they were cut into reads; every
//! byte is looked at once; no more than the cap is ever held, and nothing of a line is held after
//! it was handed out.

use super::message::Message;
use super::rpc;

/// The longest line that is taken in, its line end not counted: 64 MiB.
pub const MAX_LINE: usize = 64 << 20;

/// The room for a partial line that is kept from one line to the next.
const KEPT: usize = 64 << 10;

/// One line of an agent's stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line that is not empty, without its line end.
    Line(&'a [u8]),
    /// A line past the cap, dropped; `bytes` is its full size without the `\n`.
    TooLong { bytes: usize },
}

impl Frame<'_> {
    /// Returns the messages in this frame; see [`rpc::decode()`].
    pub fn decode(self) -> Vec<Message> {
        match self {
            Frame::Line(line) => rpc::decode(line),
            Frame::TooLong { bytes } => vec![Message::TooLong { bytes }],
        }
    }
}

/// Cuts a stream of bytes into lines.
///
/// A line ends with `\n` or `\r\n`; empty lines and a byte order mark at the very start are
/// skipped.
#[derive(Debug)]
pub struct LineDecoder {
    max_line: usize,
    /// The start of a line whose end has not come yet.
    partial: Vec<u8>,
    /// How much of the line at hand was dropped; not zero means that it is past the cap.
    dropped: usize,
    at_start: bool,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl LineDecoder {
    /// Returns a decoder with the cap [`MAX_LINE`].
    pub fn new() -> Self {
        Self::with_max_line(MAX_LINE)
    }

    /// Returns a decoder that drops lines of more than `max_line` bytes.
    pub fn with_max_line(max_line: usize) -> Self {
        Self {
            max_line,
            partial: Vec::new(),
            dropped: 0,
            at_start: true,
        }
    }

    /// Takes in the bytes of one read and hands out the lines that end in it.
    ///
    /// A line that lies in `bytes` as a whole is not copied.
    pub fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(Frame<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.line(bytes.get(start..end).unwrap_or_default(), out);
            start = end + 1;
        }
        self.hold(bytes.get(start..).unwrap_or_default());
    }

    /// Hands out the last line, if the stream ended without a line end.
    pub fn finish(&mut self, out: &mut impl FnMut(Frame<'_>)) {
        self.line(&[], out);
    }

    /// Hands out the line that ends with `tail`.
    fn line(&mut self, tail: &[u8], out: &mut impl FnMut(Frame<'_>)) {
        let at_start = std::mem::take(&mut self.at_start);
        let fits = self.dropped == 0 && self.partial.len() + tail.len() <= self.max_line;
        if fits && self.partial.is_empty() {
            emit(tail, at_start, out);
            return;
        }
        if fits {
            self.hold(tail);
            emit(&self.partial, at_start, out);
        } else {
            let bytes = self.dropped + self.partial.len() + tail.len();
            out(Frame::TooLong { bytes });
        }
        self.dropped = 0;
        self.partial.clear();
        if self.partial.capacity() > KEPT {
            self.partial = Vec::new();
        }
    }

    /// Keeps the piece of a line whose end has not come yet, or counts it if the line is too long.
    fn hold(&mut self, piece: &[u8]) {
        let len = self.partial.len() + piece.len();
        if self.dropped > 0 || len > self.max_line {
            self.dropped += len;
            self.partial = Vec::new();
            return;
        }
        if len > self.partial.capacity() {
            // Doubled, as a Vec does by itself, but never past the cap.
            let room = (2 * len).min(self.max_line);
            self.partial.reserve_exact(room - self.partial.len());
        }
        self.partial.extend_from_slice(piece);
    }
}

fn emit(line: &[u8], at_start: bool, out: &mut impl FnMut(Frame<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if at_start => rest,
        _ => line,
    };
    if !line.is_empty() {
        out(Frame::Line(line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What came out, owned: a line, or the size of one that was too long.
    #[derive(Debug, PartialEq)]
    enum Got {
        Line(Vec<u8>),
        TooLong(usize),
    }

    fn run<'a>(max_line: usize, reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Got> {
        let mut decoder = LineDecoder::with_max_line(max_line);
        let mut got = Vec::new();
        let mut out = |frame: Frame<'_>| {
            got.push(match frame {
                Frame::Line(line) => Got::Line(line.to_vec()),
                Frame::TooLong { bytes } => Got::TooLong(bytes),
            });
        };
        for read in reads {
            decoder.push(read, &mut out);
            assert!(decoder.partial.len() <= max_line);
            assert!(decoder.partial.capacity() <= max_line.max(8));
        }
        decoder.finish(&mut out);
        got
    }

    fn check(stream: &str, lines: &[&str]) {
        let lines: Vec<_> = lines.iter().map(|l| Got::Line((*l).into())).collect();
        let bytes = stream.as_bytes();
        assert_eq!(run(MAX_LINE, [bytes]), lines, "{stream:?} in one read");
        assert_eq!(run(MAX_LINE, bytes.chunks(1)), lines, "{stream:?} by bytes");
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(run(MAX_LINE, [a, b]), lines, "{stream:?} cut at {at}");
        }
    }

    #[test]
    fn lines_are_the_same_wherever_the_reads_are_cut() {
        check("", &[]);
        check("a", &["a"]);
        check("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("a\r\nb\r\n", &["a", "b"]);
        check("a\rb\n", &["a\rb"]);
        check("\n\n\r\na\n\n", &["a"]);
        check("no end", &["no end"]);
        check("no end\r", &["no end"]);
        check("ä€𝄞\n𝄞", &["ä€𝄞", "𝄞"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_very_start_only() {
        check("\u{feff}a\n\u{feff}b\n", &["a", "\u{feff}b"]);
        check("\u{feff}\na\n", &["a"]);
        check("\n\u{feff}a\n", &["\u{feff}a"]);
    }

    #[test]
    fn a_line_past_the_cap_is_reported_with_its_size_and_the_stream_goes_on() {
        let stream = b"12345\n123456\n\n1234567890123\r\nok\n1234567";
        let want = [
            Got::Line(b"12345".into()),
            Got::TooLong(6),
            Got::TooLong(14),
            Got::Line(b"ok".into()),
            Got::TooLong(7),
        ];
        for size in 1..=stream.len() {
            assert_eq!(run(5, stream.chunks(size)), want, "reads of {size}");
        }
    }

    #[test]
    fn eighty_megabytes_in_one_line_cost_no_more_than_the_cap() {
        let read = vec![b'x'; 1 << 20];
        let mut decoder = LineDecoder::new();
        let mut none = |frame: Frame<'_>| panic!("{frame:?}");
        let mut most = 0;
        for _ in 0..80 {
            decoder.push(&read, &mut none);
            most = most.max(decoder.partial.capacity());
        }
        assert_eq!(most, MAX_LINE);
        assert_eq!(decoder.partial.capacity(), 0, "held after it was dropped");
        let mut got = Vec::new();
        decoder.push(b"\nnext\n", &mut |frame| {
            got.push(format!("{frame:?}"));
        });
        let next = Frame::Line(b"next");
        let long = Frame::TooLong { bytes: 80 << 20 };
        assert_eq!(got, [format!("{long:?}"), format!("{next:?}")]);
    }

    #[test]
    fn the_room_of_a_big_line_is_given_back() {
        let mut decoder = LineDecoder::new();
        let mut lines = 0;
        for _ in 0..16 {
            decoder.push(&[b'x'; 1 << 16], &mut |_| lines += 1);
        }
        decoder.push(b"\n", &mut |_| lines += 1);
        assert_eq!((lines, decoder.partial.capacity()), (1, 0));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_the_reads(
            stream in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..20),
            max_line in 1usize..40,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(stream.len())).collect();
            cuts.sort_unstable();
            let mut reads = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().chain([stream.len()]) {
                reads.push(&stream[from..to]);
                from = to;
            }
            let whole = run(max_line, [&stream[..]]);
            prop_assert_eq!(run(max_line, reads), whole);
        }
    }
}
