//! Framing: splits an agent's stdout into lines.
//!
//! Invariants: the frames depend only on the bytes, not on how they were split into reads; each
//! byte is examined once; at most the cap is buffered, and nothing of a line is kept after it was
//! passed on.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::message::{AgentRequest, Message, RequestId};
use super::{ends, rpc};

/// Maximum length of a line without its line end: 64 MiB.
pub const MAX_LINE: usize = 64 << 20;

/// Capacity for a partial line that is kept between lines.
const KEPT: usize = 64 << 10;

/// Maximum size of each end kept of a line that exceeds the cap.
pub const END_BYTES: usize = 4 << 10;

/// One line of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line that is not empty, without its line end.
    Line(&'a [u8]),
    /// A dropped line that exceeded the cap: its first and last bytes, and its full size without
    /// the `\n`.
    TooLong {
        head: &'a [u8],
        tail: &'a [u8],
        bytes: usize,
    },
}

impl Frame<'_> {
    /// Returns the messages in this frame; see [`rpc::decode()`].
    pub fn decode(self) -> Vec<Message> {
        match self {
            Frame::Line(line) => rpc::decode(line),
            Frame::TooLong { head, tail, bytes } => {
                let request = too_long(head, tail);
                let news = std::iter::once(Message::TooLong { bytes });
                news.chain(request).collect()
            }
        }
    }
}

/// Returns the request that a dropped line was, by its ends: it is still answered.
fn too_long(head: &[u8], tail: &[u8]) -> Option<Message> {
    let method = ends::method(head)?;
    let id = RawValue::from_string(ends::id(head, tail)?).ok()?;
    let why = format!("the message has more than {} MiB", MAX_LINE >> 20);
    Some(Message::Request {
        id: RequestId(Arc::from(id)),
        call: AgentRequest::Invalid { method, why },
    })
}

/// Splits a stream of bytes into lines.
///
/// Lines end with `\n` or `\r\n`; empty lines, and a byte order mark before a line, are skipped.
#[derive(Debug)]
pub struct LineDecoder {
    max_line: usize,
    /// The beginning of an unfinished line; only its first bytes once it exceeds the cap.
    partial: Vec<u8>,
    /// Set once the current line exceeds the cap.
    rest: Option<Rest>,
}

/// The end of a line that exceeds the cap.
#[derive(Debug, Default)]
struct Rest {
    /// The line's last bytes.
    tail: Vec<u8>,
    /// The size of the line.
    bytes: usize,
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
            rest: None,
        }
    }

    /// Processes the bytes of one read and emits the lines that end in them.
    ///
    /// A line completely inside `bytes` is not copied.
    pub fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(Frame<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.line(bytes.get(start..end).unwrap_or_default(), out);
            start = end + 1;
        }
        self.hold(bytes.get(start..).unwrap_or_default());
    }

    /// Emits the last line if the stream ended without a line end.
    pub fn finish(&mut self, out: &mut impl FnMut(Frame<'_>)) {
        self.line(&[], out);
    }

    /// Returns the unfinished line, or only its first bytes once it exceeds the cap.
    pub fn unfinished(&self) -> &[u8] {
        &self.partial
    }

    /// Emits the line that ends with `tail`.
    fn line(&mut self, tail: &[u8], out: &mut impl FnMut(Frame<'_>)) {
        let is_whole = self.partial.is_empty() && tail.len() <= self.max_line;
        if is_whole {
            emit(tail, out);
            return;
        }
        self.hold(tail);
        match self.rest.take() {
            None => emit(&self.partial, out),
            Some(Rest { tail, bytes }) => out(Frame::TooLong {
                head: &self.partial,
                tail: &tail,
                bytes,
            }),
        }
        self.partial.clear();
        if self.partial.capacity() > KEPT {
            self.partial = Vec::new();
        }
    }

    /// Buffers a piece of an unfinished line, or only the line's ends if it is too long.
    fn hold(&mut self, piece: &[u8]) {
        let len = self.partial.len() + piece.len();
        if let Some(rest) = &mut self.rest {
            rest.add(piece);
            return;
        }
        if len > self.max_line {
            let rest = self.rest.insert(Rest::default());
            rest.add(&self.partial);
            rest.add(piece);
            let ends = END_BYTES.min(self.max_line);
            let head = self.partial.iter().chain(piece).take(ends);
            self.partial = head.copied().collect();
            return;
        }
        if len > self.partial.capacity() {
            // Doubles like a Vec, but never beyond the cap.
            let room = (2 * len).min(self.max_line);
            self.partial.reserve_exact(room - self.partial.len());
        }
        self.partial.extend_from_slice(piece);
    }
}

impl Rest {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        self.tail.extend_from_slice(last(piece));
        let surplus = self.tail.len() - last(&self.tail).len();
        self.tail.drain(..surplus);
    }
}

/// Returns the last bytes of a piece, at most [`END_BYTES`].
fn last(piece: &[u8]) -> &[u8] {
    let start = piece.len().saturating_sub(END_BYTES);
    piece.get(start..).unwrap_or_default()
}

fn emit(line: &[u8], out: &mut impl FnMut(Frame<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if !line.is_empty() {
        out(Frame::Line(line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An owned frame: a line, or the ends and the size of one that was too long.
    #[derive(Debug, PartialEq)]
    enum Got {
        Line(Vec<u8>),
        TooLong(Vec<u8>, Vec<u8>, usize),
    }

    fn too_long(head: &str, tail: &str, bytes: usize) -> Got {
        Got::TooLong(head.into(), tail.into(), bytes)
    }

    fn run<'a>(max_line: usize, reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Got> {
        let mut decoder = LineDecoder::with_max_line(max_line);
        let mut got = Vec::new();
        let mut out = |frame: Frame<'_>| {
            got.push(match frame {
                Frame::Line(line) => Got::Line(line.to_vec()),
                Frame::TooLong { head, tail, bytes } => {
                    Got::TooLong(head.into(), tail.into(), bytes)
                }
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
    fn a_byte_order_mark_is_skipped_before_any_line() {
        check("\u{feff}a\n\u{feff}b\n", &["a", "b"]);
        check("\u{feff}\na\n", &["a"]);
        check("\n\u{feff}a\n", &["a"]);
        check("a\u{feff}b\n", &["a\u{feff}b"]);
    }

    #[test]
    fn an_oversized_line_is_reported_with_its_size_and_the_stream_continues() {
        let stream = b"12345\n123456\n\n1234567890123\r\nok\n1234567";
        let want = [
            Got::Line(b"12345".into()),
            too_long("12345", "123456", 6),
            too_long("12345", "1234567890123\r", 14),
            Got::Line(b"ok".into()),
            too_long("12345", "1234567", 7),
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
        let tail = decoder.rest.as_ref().map_or(0, |rest| rest.tail.capacity());
        let held = decoder.partial.capacity() + tail;
        assert!(held <= 4 * END_BYTES, "{held} held after it was dropped");
        let mut got = Vec::new();
        decoder.push(b"end\nnext\n", &mut |frame| {
            got.push(format!("{frame:?}"));
        });
        let next = Frame::Line(b"next");
        let long = Frame::TooLong {
            head: &read[..END_BYTES],
            tail: &[&read[..END_BYTES - 3], b"end"].concat(),
            bytes: (80 << 20) + 3,
        };
        assert_eq!(got, [format!("{long:?}"), format!("{next:?}")]);
    }

    #[test]
    fn the_buffer_of_a_big_line_is_freed() {
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
