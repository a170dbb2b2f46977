//! Converts between a file's bytes and its lines: line ends, final newline, byte order mark,
//! encoding.
//!
//! Invariant: `encode(decode(bytes).1, decode(bytes).0)` returns the same bytes for every file with
//! uniform line ends; mixed files are treated as unix, with `\r` in the lines.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// How a file's lines are stored: a buffer's `'fileformat'`, `'endofline'`, `'bomb'` and
/// `'fileencoding'`, or the format found on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    pub line_end: LineEnd,
    /// The last line is followed by a line end.
    pub final_newline: bool,
    pub bom: bool,
    pub encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

/// The encodings written here; Neovim saves buffers in any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    Utf8,
    Latin1,
    /// Known only to Neovim: such a file can be changed only through its buffer.
    Other,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            line_end: LineEnd::Lf,
            final_newline: true,
            bom: false,
            encoding: Encoding::Utf8,
        }
    }
}

impl LineEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        }
    }
}

impl Format {
    /// Returns `rows` of `text` as sent to the agent: with the file's line ends, without a byte
    /// order mark.
    pub fn to_wire(&self, text: &Text, rows: std::ops::Range<usize>) -> String {
        let total = text.len();
        let rows = rows.start.min(total)..rows.end.min(total);
        let mut out = String::with_capacity(text.len_bytes());
        let last = rows.end;
        for (row, line) in rows.clone().zip(text.lines(rows)) {
            out.push_str(&line);
            if row + 1 < last || last < total || self.final_newline {
                out.push_str(self.line_end.as_str());
            }
        }
        out
    }

    /// Returns the lines of content sent by the agent for a file of this format, and whether it
    /// ends with a line end.
    ///
    /// A byte order mark is dropped; in a CRLF file both `\r\n` and `\n` end a line.
    pub fn from_wire(&self, content: &str) -> (Text, bool) {
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        let final_newline = content.ends_with(['\n', '\r']) || content.is_empty();
        let text = match self.line_end {
            LineEnd::Lf => Text::from_text(content),
            LineEnd::CrLf => Text::from_text(&content.replace("\r\n", "\n")),
            LineEnd::Cr => Text::from_text(&content.replace("\r\n", "\n").replace('\r', "\n")),
        };
        (text, final_newline)
    }

    /// Returns the bytes of `text` in this format.
    ///
    /// # Errors
    /// The first character the encoding cannot represent; with `Other`, that is any character.
    pub fn encode(&self, text: &Text) -> Result<Vec<u8>, char> {
        let wire = self.to_wire(text, 0..text.len());
        match self.encoding {
            Encoding::Utf8 => {
                let mut bytes = Vec::with_capacity(wire.len() + 3);
                if self.bom {
                    bytes.extend_from_slice("\u{feff}".as_bytes());
                }
                bytes.extend_from_slice(wire.as_bytes());
                Ok(bytes)
            }
            Encoding::Latin1 => wire
                .chars()
                .map(|c| u8::try_from(c).map_err(|_| c))
                .collect(),
            Encoding::Other => Err(wire.chars().next().unwrap_or('\u{fffd}')),
        }
    }

    /// Returns a file's format and lines.
    ///
    /// Invalid UTF-8 is read as latin-1, like Neovim's default `'fileencodings'` does.
    pub fn decode(bytes: &[u8]) -> (Format, Text) {
        let (bom, rest) = match bytes.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        let (encoding, content) = match std::str::from_utf8(rest) {
            Ok(content) => (Encoding::Utf8, std::borrow::Cow::from(content)),
            Err(_) => (
                Encoding::Latin1,
                bytes
                    .iter()
                    .map(|&b| char::from(b))
                    .collect::<String>()
                    .into(),
            ),
        };
        let bom = bom && encoding == Encoding::Utf8;
        let ends = content.matches('\n').count();
        let line_end = if ends > 0 && content.matches("\r\n").count() == ends {
            LineEnd::CrLf
        } else {
            LineEnd::Lf
        };
        let format = Format {
            line_end,
            final_newline: content.is_empty() || content.ends_with('\n'),
            bom,
            encoding,
        };
        let text = match line_end {
            LineEnd::CrLf => Text::from_text(&content.replace("\r\n", "\n")),
            _ => Text::from_text(&content),
        };
        (format, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_bytes(bytes: &[u8]) {
        let (format, text) = Format::decode(bytes);
        assert_eq!(format.encode(&text).as_deref(), Ok(bytes), "{format:?}");
    }

    #[test]
    fn bytes_survive_the_round_trip() {
        check_bytes(b"");
        check_bytes(b"a");
        check_bytes(b"a\nb\n");
        check_bytes(b"a\r\nb\r\n");
        check_bytes(b"a\r\nb");
        check_bytes(b"a\r\nb\n");
        check_bytes(b"\xef\xbb\xbfa\n");
        check_bytes(b"caf\xe9\n");
        check_bytes(b"\n");
    }

    #[test]
    fn the_agent_sees_the_line_ends_of_the_file() {
        let format = Format {
            line_end: LineEnd::CrLf,
            final_newline: false,
            ..Format::default()
        };
        let text = Text::from_lines(["a", "b"]);
        assert_eq!(format.to_wire(&text, 0..2), "a\r\nb");
        assert_eq!(format.to_wire(&text, 0..1), "a\r\n");
        assert_eq!(format.from_wire("a\r\nb").0, text);
        assert_eq!(format.from_wire("a\nb").0, text);
    }
}
