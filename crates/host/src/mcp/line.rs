//! Bytes of the socket to lines, and what can be told of a line that is not whole.
//!
//! Invariants: no more is held than the limit and the two ends of a line that is longer; the lines
//! are the same however the bytes are cut.

use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// How much is kept of either end of a line that is too long.
const END_BYTES: usize = 4 << 10;

/// What memory is kept for lines to come.
const KEPT_BYTES: usize = 64 << 10;

/// What the bytes come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Line(Vec<u8>),
    /// A line of so many bytes, of which the ends are left.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
        bytes: usize,
    },
}

#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// What there is of a line that has not ended: all, or the head of one that is too long.
    open: Vec<u8>,
    over: Option<Over>,
}

/// The rest of a line that is too long.
#[derive(Debug)]
struct Over {
    tail: Vec<u8>,
    bytes: usize,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Vec::new(),
            over: None,
        }
    }

    /// Takes bytes from `input` up to the end of a line, and returns that; `None` when `input` is
    /// used up.
    pub fn next(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let end = memchr::memchr(b'\n', input);
        let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
        self.add(piece);
        *input = rest.get(1..).unwrap_or_default();
        end?;
        let line = std::mem::take(&mut self.open);
        Some(match self.over.take() {
            None => {
                self.open.reserve(line.len().min(KEPT_BYTES));
                Frame::Line(line)
            }
            Some(over) => Frame::TooLong {
                head: line,
                tail: over.tail,
                bytes: over.bytes,
            },
        })
    }

    /// Returns the beginning of the line that has not ended.
    pub fn beginning(&self) -> &[u8] {
        self.open.get(..END_BYTES).unwrap_or(&self.open)
    }

    /// Returns whether the line that has not ended is longer than its beginning.
    pub fn is_long(&self) -> bool {
        self.open.len() > END_BYTES || self.over.is_some()
    }

    fn add(&mut self, piece: &[u8]) {
        if let Some(over) = &mut self.over {
            over.add(piece);
        } else if self.open.len() + piece.len() <= self.limit {
            self.open.extend_from_slice(piece);
        } else {
            let mut over = Over {
                tail: Vec::new(),
                bytes: 0,
            };
            over.add(&self.open);
            over.add(piece);
            self.open
                .extend_from_slice(piece.get(..END_BYTES).unwrap_or(piece));
            self.open.truncate(END_BYTES);
            self.open.shrink_to_fit();
            self.over = Some(over);
        }
    }
}

impl Over {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let last = piece.len().saturating_sub(END_BYTES);
        self.tail
            .extend_from_slice(piece.get(last..).unwrap_or_default());
        let old = self.tail.len().saturating_sub(END_BYTES);
        self.tail.drain(..old);
    }
}

/// Returns the name of the tool that a line calls, of which there is only the beginning.
pub(super) fn called(beginning: &[u8]) -> Option<String> {
    let fields = fields(beginning);
    let method = fields.iter().find(|(key, _)| key == "method")?.1;
    if text(method)? != "tools/call" {
        return None;
    }
    let params = fields.iter().find(|(key, _)| key == "params")?.1;
    let name = self::fields(params);
    let name = name.iter().find(|(key, _)| key == "name")?.1;
    text(name)
}

/// Returns the id of a request of which there are but the ends, as it stands there.
pub(super) fn id(head: &[u8], tail: &[u8]) -> Option<String> {
    let fields = fields(head);
    let in_head = fields.iter().find(|(key, _)| key == "id");
    if let Some((_, value)) = in_head
        && let Some(id) = as_id(value)
    {
        return Some(id);
    }
    id_at_end(tail)
}

/// Returns the id if it is among the last fields of the message.
///
/// Within a text, quotes are escaped, so the key cannot stand there; within an inner object more
/// than one brace follows.
fn id_at_end(tail: &[u8]) -> Option<String> {
    let key = br#""id""#;
    let mut end = tail.len();
    loop {
        let at = memchr::memmem::rfind(tail.get(..end)?, key)?;
        end = at;
        let is_escaped = at.checked_sub(1).and_then(|i| tail.get(i)) == Some(&b'\\');
        // With a brace before it, what follows is the object from its first field on.
        let mut object = b"{".to_vec();
        object.extend_from_slice(tail.get(at..)?);
        if !is_escaped
            && let Ok(Ends { id: Some(id) }) = serde_json::from_slice(&object)
            && let Some(id) = as_id(id.get().as_bytes())
        {
            return Some(id);
        }
    }
}

#[derive(Deserialize)]
struct Ends<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

fn as_id(value: &[u8]) -> Option<String> {
    let id: Json = serde_json::from_slice(value).ok()?;
    matches!(id, Json::String(_) | Json::Number(_)).then(|| id.to_string())
}

fn text(value: &[u8]) -> Option<String> {
    serde_json::from_slice(value).ok()
}

/// Returns the fields of an object that may end anywhere: each key and the bytes of its value, the
/// last of which may be cut off. What is no object has none.
fn fields(object: &[u8]) -> Vec<(String, &[u8])> {
    let mut fields = Vec::new();
    let mut at = blank(object, 0);
    if object.get(at) != Some(&b'{') {
        return fields;
    }
    at += 1;
    loop {
        at = blank(object, at);
        let key_end = value_end(object, at);
        let key = object.get(at..key_end).and_then(text);
        at = blank(object, key_end);
        let (Some(key), Some(b':')) = (key, object.get(at)) else {
            return fields;
        };
        let start = blank(object, at + 1);
        at = value_end(object, start);
        match object.get(start..at) {
            // A number at the end may go on.
            Some([b'"' | b'{' | b'[', ..]) => {}
            Some(_) if at < object.len() => {}
            _ => return fields,
        }
        fields.push((key, object.get(start..at).unwrap_or_default()));
        at = blank(object, at);
        if object.get(at) != Some(&b',') {
            return fields;
        }
        at += 1;
    }
}

/// Returns where blanks end.
fn blank(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns where a value ends that starts at `at`, or the end of the text.
fn value_end(text: &[u8], mut at: usize) -> usize {
    let (mut depth, mut in_text) = (0_usize, false);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the frames of `bytes`, handed over in pieces of these lengths, over and over.
    fn frames(bytes: &[u8], pieces: &[usize], limit: usize) -> Vec<Frame> {
        let mut lines = Lines::new(limit);
        let mut frames = Vec::new();
        let mut rest = bytes;
        for &length in pieces.iter().cycle() {
            let (mut piece, more) = rest.split_at(length.clamp(1, rest.len()));
            rest = more;
            while let Some(frame) = lines.next(&mut piece) {
                frames.push(frame);
            }
            if rest.is_empty() {
                break;
            }
        }
        frames
    }

    proptest! {
        #[test]
        fn frames_are_the_same_however_the_bytes_are_cut(
            lengths in prop::collection::vec(0..12_000_usize, 1..6),
            pieces in prop::collection::vec(1..9000_usize, 1..9),
        ) {
            let mut bytes = Vec::new();
            for (n, &length) in lengths.iter().enumerate() {
                bytes.extend((0..length).map(|i| b'a' + ((i + n) % 23) as u8));
                bytes.push(b'\n');
            }
            let whole = frames(&bytes, &[bytes.len()], 10_000);
            prop_assert_eq!(whole.len(), lengths.len());
            prop_assert_eq!(frames(&bytes, &pieces, 10_000), whole);
        }

        #[test]
        fn no_beginning_is_too_odd(text in r#"[{}\[\]":,\\a1 ]{0,40}"#) {
            let _ = called(text.as_bytes());
            let _ = id(text.as_bytes(), text.as_bytes());
        }
    }

    #[test]
    fn of_a_line_that_is_too_long_only_the_ends_are_held() {
        let mut lines = Lines::new(1 << 20);
        let piece = vec![b'x'; 64 << 10];
        let mut most = 0;
        for _ in 0..1000 {
            assert_eq!(lines.next(&mut piece.as_slice()), None);
            let tail = lines.over.as_ref().map_or(0, |over| over.tail.capacity());
            most = most.max(lines.open.capacity() + tail);
        }
        assert!(most <= 2 << 20, "{most}");
        assert!(lines.open.capacity() <= END_BYTES);
        match lines.next(&mut b"end\n".as_slice()) {
            Some(Frame::TooLong { head, tail, bytes }) => {
                assert_eq!(bytes, 1000 * (64 << 10) + 3);
                assert!(head.starts_with(b"x") && head.len() == END_BYTES);
                assert!(tail.ends_with(b"xend") && tail.len() == END_BYTES);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            lines.next(&mut b"short\n".as_slice()),
            Some(Frame::Line(b"short".to_vec()))
        );
    }

    #[test]
    fn a_name_is_read_where_it_belongs_and_nowhere_else() {
        let check = |beginning: &str, name: Option<&str>| {
            assert_eq!(called(beginning.as_bytes()).as_deref(), name, "{beginning}");
        };
        let call = r#"{"method":"tools/call","params":{"name":"a\u0062"#;
        check(&format!("{call}\""), Some("ab"));
        check(call, None);
        check(r#"{"params":{"name":"a"},"method":"tools/call""#, Some("a"));
        check(r#"{"params":{"name":"a"},"method":"tools/cal"#, None);
        check(
            r#"{"method":"tools/call","params":{"arguments":{"name":"a"}"#,
            None,
        );
        check(r#"{"method":"tools/call","name":"a","params":{"#, None);
        check(r#"{"method":"other","params":{"name":"a""#, None);
        check(
            r#"{"method":"tools/call","params":{"_meta":{"a":"}\"{"},"name":"x","#,
            Some("x"),
        );
        check("[1]", None);
        check("", None);
    }

    #[test]
    fn an_id_is_found_at_either_end() {
        let check = |head: &str, tail: &str, expected: Option<&str>| {
            let found = id(head.as_bytes(), tail.as_bytes());
            assert_eq!(found.as_deref(), expected, "{head} {tail}");
        };
        check(r#"{"id":7,"params":{"#, "}}", Some("7"));
        check(
            r#"{"jsonrpc":"2.0","id":"a\"b","params":"#,
            "",
            Some(r#""a\"b""#),
        );
        check(
            r#"{"params":{"id":1,"#,
            r#""}},"jsonrpc":"2.0","id":7}"#,
            Some("7"),
        );
        check(
            "{",
            r#"x"},"id" : "q" , "jsonrpc":"2.0" } "#,
            Some(r#""q""#),
        );
        // Within a text or an inner object it is none.
        check("{", r#"x\"id\":3}"}"#, None);
        check("{", r#"{"id":3}}}"#, None);
        check("{", r#"x","id":8}"#, Some("8"));
        check(r#"{"id":12"#, "", None);
        check(r#"{"id":null,"#, "}", None);
    }
}
