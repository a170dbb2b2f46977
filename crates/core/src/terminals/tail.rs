//! The end of a command's raw output, for windows that follow it.
//!
//! Invariants: memory is bounded; a reader gets each byte once and in order, or learns that it must
//! start again; if output is missing before a read, the read begins with a line; no code in it sets
//! the user's clipboard.

/// Maximum size kept for the screen.
pub const TAIL: usize = 1 << 20;

/// Maximum size kept of an old terminal that has ended, when there are many.
const REST: usize = 64 * 1024;

/// Turns the code that sets the clipboard (OSC 52) into one that terminals ignore: a window that
/// shows the output would set it, and again each time it is opened.
#[derive(Debug, Default)]
struct Disarm {
    seen: Seen,
    /// It has changed a byte.
    is_used: bool,
}

/// The part of the code that has been read; zeros before its number count for nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Seen {
    #[default]
    Nothing,
    Escape,
    Begin,
    Five,
}

impl Disarm {
    fn apply(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..) {
            if self.seen == Seen::Nothing {
                at += match memchr::memchr(b'\x1b', rest) {
                    Some(escape) => escape + 1,
                    None => return,
                };
                self.seen = Seen::Escape;
                continue;
            }
            let Some(byte) = rest.first_mut() else {
                return;
            };
            at += 1;
            self.seen = match (self.seen, *byte) {
                (_, b'\x1b') => Seen::Escape,
                (_, b'\x07' | b'\x18' | b'\x1a') => Seen::Nothing,
                // Terminals carry out these within a code.
                (seen, ..b' ' | b'\x7f') => seen,
                (Seen::Escape, b']') | (Seen::Begin, b'0') => Seen::Begin,
                (Seen::Begin, b'5') => Seen::Five,
                (Seen::Five, b'2') => {
                    *byte = b'9';
                    self.is_used = true;
                    Seen::Nothing
                }
                _ => Seen::Nothing,
            };
        }
    }
}

/// The last bytes of the output, numbered from the first byte ever printed.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: Vec<u8>,
    /// Number of the first byte kept.
    start: u64,
    disarm: Disarm,
}

impl Tail {
    pub fn push(&mut self, bytes: &[u8]) {
        let before = self.bytes.len();
        // Copies only the end of a chunk larger than the limit.
        if let Some(skipped) = bytes.len().checked_sub(TAIL)
            && skipped > 0
        {
            self.start = self.end() + skipped as u64;
            self.bytes.clear();
            self.bytes
                .extend_from_slice(bytes.get(skipped..).unwrap_or_default());
            self.disarm.apply(&mut self.bytes);
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let new = self.bytes.get_mut(before..).unwrap_or_default();
        self.disarm.apply(new);
        if self.bytes.len() > TAIL + TAIL / 4 {
            self.keep(TAIL);
        }
    }

    /// Discards all but the last `REST` bytes.
    pub fn shrink(&mut self) {
        self.keep(REST);
        self.bytes.shrink_to_fit();
    }

    fn keep(&mut self, most: usize) {
        let surplus = self.bytes.len().saturating_sub(most);
        self.bytes.drain(..surplus);
        self.start += surplus as u64;
    }

    /// Returns the number of bytes ever printed.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns whether all bytes from `at` are kept.
    pub fn has(&self, at: u64) -> bool {
        at >= self.start
    }

    /// Returns where to start reading at most the last `most` bytes: at the first byte ever
    /// printed, or at a line.
    pub fn begin(&self, most: usize) -> u64 {
        let from = self.bytes.len().saturating_sub(most);
        if from == 0 && self.start == 0 {
            return 0;
        }
        let rest = self.bytes.get(from..).unwrap_or_default();
        let line = memchr::memchr(b'\n', rest).map_or(0, |at| at + 1);
        self.start + (from + line) as u64
    }

    /// Returns at most `most` bytes from `at`.
    pub fn read(&self, at: u64, most: usize) -> &[u8] {
        let from = at.saturating_sub(self.start);
        let from =
            usize::try_from(from).map_or(self.bytes.len(), |from| from.min(self.bytes.len()));
        let to = from.saturating_add(most).min(self.bytes.len());
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// Returns the byte before `at`, if it is kept.
    pub fn before(&self, at: u64) -> Option<u8> {
        let index = at.checked_sub(self.start)?.checked_sub(1)?;
        self.bytes.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns whether `text` repeats all output so far and continues it.
    pub fn is_begun_by(&self, text: &[u8]) -> bool {
        let Ok(end) = usize::try_from(self.end()) else {
            return false;
        };
        if end == 0 || text.len() <= end {
            return false;
        }
        let start = end - self.bytes.len();
        if !self.disarm.is_used {
            return text.get(start..end) == Some(&self.bytes);
        }
        let mut text = text.get(..end).unwrap_or_default().to_vec();
        Disarm::default().apply(&mut text);
        text.get(start..) == Some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(pieces: &[&[u8]]) -> Tail {
        let mut tail = Tail::default();
        for piece in pieces {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn what_was_printed_is_read_once_and_in_order() {
        let tail = tail(&[b"abc", b"def"]);
        assert_eq!(tail.read(0, 4), b"abcd");
        assert_eq!(tail.read(4, 4), b"ef");
        assert_eq!(tail.read(6, 4), b"");
        assert_eq!((tail.before(0), tail.before(4)), (None, Some(b'd')));
        assert_eq!(tail.begin(100), 0);
    }

    #[test]
    fn no_code_sets_the_clipboard() {
        for code in [
            "\x1b]52;c;aGFjaw==\x07",
            "\x1b]\x00052;;YQ==\x1b\\",
            "\x1b\x1b]5\r2;c;\x07",
        ] {
            let output = format!("a\x1b[31m{code}b 52");
            let code = code.as_bytes();
            for cut in 0..output.len() {
                let (one, two) = output.as_bytes().split_at(cut);
                let mut tail = tail(&[one, two]);
                let found = tail.read(0, usize::MAX).to_vec();
                assert_eq!(found.len(), output.len());
                assert!(found.ends_with(b"b 52") && found.starts_with(b"a\x1b[31m\x1b"));
                assert!(!found.windows(code.len()).any(|part| part == code));
                let all = format!("{output}more");
                assert!(tail.is_begun_by(all.as_bytes()), "sent again");
                tail.push(b"\x1b]520;x\x07");
            }
        }
        let others = b"\x1b]0;52\x07\x1b]8;;x\x1b\\\x1b[52m]52;c;\x1b5\x1b]152;";
        assert_eq!(tail(&[others]).read(0, usize::MAX), others);
    }

    #[test]
    fn memory_is_bounded_and_what_is_left_begins_with_a_line() {
        let line = b"0123456789\n".repeat(100);
        let mut tail = Tail::default();
        for _ in 0..3000 {
            tail.push(&line);
        }
        assert_eq!(tail.end(), 3_300_000);
        assert!(tail.bytes.len() <= TAIL + TAIL / 4);
        assert!(!tail.has(0));
        let begin = tail.begin(TAIL);
        assert_eq!(begin % 11, 0);
        assert!(tail.has(begin));
        assert_eq!(tail.read(begin, 11), b"0123456789\n");
        tail.shrink();
        assert_eq!((tail.end(), tail.bytes.len()), (3_300_000, REST));
        tail.push(&b"x".repeat(TAIL + 5));
        assert_eq!(
            (tail.end(), tail.bytes.len()),
            (3_300_005 + TAIL as u64, TAIL)
        );
    }

    #[test]
    fn all_of_it_sent_again_is_known_by_its_beginning() {
        let tail = tail(&[b"one\n"]);
        assert!(tail.is_begun_by(b"one\ntwo\n"));
        assert!(!tail.is_begun_by(b"one\n"));
        assert!(!tail.is_begun_by(b"two\none\n"));
        assert!(!Tail::default().is_begun_by(b"one\n"));
    }
}
