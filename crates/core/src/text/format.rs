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
    /// Of an open file: no file on disk is taken for one in such an encoding by its bytes alone.
    Legacy(&'static encoding_rs::Encoding),
    /// Known only to Neovim: such a file can be changed only through its buffer.
    Other,
}

impl Encoding {
    /// Returns the encoding of a buffer with this `'fileencoding'`.
    pub fn of_option(name: &str) -> Self {
        let label = match name {
            "" | "utf-8" => return Self::Utf8,
            "latin1" => return Self::Latin1,
            // Names of Windows' code pages and of older character sets within them.
            "cp932" => "shift_jis",
            "cp936" | "euc-cn" => "gbk",
            "cp949" => "euc-kr",
            "cp950" => "big5",
            other => other,
        };
        match encoding_rs::Encoding::for_label(label.as_bytes()) {
            // The rest is read, but not written, or has line ends that are no ASCII.
            Some(known) if known.is_ascii_compatible() && known.output_encoding() == known => {
                Self::Legacy(known)
            }
            _ => Self::Other,
        }
    }

    /// Returns whether a file with this encoding on disk may have `other`: any bytes are latin-1.
    pub fn hides(self, other: Self) -> bool {
        matches!((self, other), (Self::Latin1, Self::Legacy(_)))
    }

    /// Returns its name for the user.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin1 => "latin-1",
            Self::Legacy(known) => known.name(),
            Self::Other => "another encoding",
        }
    }
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
            Encoding::Legacy(known) => {
                let is_lost = |text: &str| known.encode(text).2;
                match known.encode(&wire) {
                    (bytes, _, false) => Ok(bytes.into_owned()),
                    _ => Err(wire
                        .chars()
                        .find(|c| is_lost(c.encode_utf8(&mut [0; 4])))
                        .unwrap_or('\u{fffd}')),
                }
            }
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
        Self::of_content(&content, bom, encoding)
    }

    /// Returns the format and lines of a file whose bytes were taken for latin-1, in the encoding
    /// that Neovim reads it in; `None` if they are no text in that, or need no other one.
    pub fn decode_again(self, text: &Text, encoding: Encoding) -> Option<(Format, Text)> {
        let Encoding::Legacy(known) = encoding else {
            return None;
        };
        if !self.encoding.hides(encoding) {
            return None;
        }
        let bytes = self.encode(text).ok()?;
        let content = known.decode_without_bom_handling_and_without_replacement(&bytes)?;
        let (format, text) = Self::of_content(&content, false, encoding);
        (format.encode(&text).ok()? == bytes).then_some((format, text))
    }

    fn of_content(content: &str, bom: bool, encoding: Encoding) -> (Format, Text) {
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
            _ => Text::from_text(content),
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

    #[track_caller]
    fn check_option(name: &str, bytes: &[u8], expected: &str) {
        let (format, text) = Format::decode(bytes);
        let again = format.decode_again(&text, Encoding::of_option(name));
        let (format, text) = again.expect("it is text");
        assert_eq!(format.to_wire(&text, 0..text.len()), expected);
        assert_eq!(format.encode(&text).as_deref(), Ok(bytes));
    }

    #[test]
    fn a_file_is_read_in_the_encoding_of_its_buffer() {
        check_option(
            "cp936",
            b"\xd6\xd0\xce\xc4\r\na\r\n",
            "\u{4e2d}\u{6587}\r\na\r\n",
        );
        check_option("euc-jp", b"\xc6\xfc\xcb\xdc", "\u{65e5}\u{672c}");
        check_option("sjis", b"\x93\xfa\x96{\n", "\u{65e5}\u{672c}\n");
        check_option("cp949", b"\xc7\xd1\n", "\u{d55c}\n");
        check_option("cp950", b"\xa4\xa4\n", "\u{4e2d}\n");
        check_option("cp1251", b"\xcc\xe8\xf0\n", "\u{41c}\u{438}\u{440}\n");
        check_option("koi8-r", b"\xed\n", "\u{41c}\n");
        check_option("iso-8859-2", b"\xb1\n", "\u{105}\n");
    }

    #[test]
    fn only_neovim_knows_the_rest() {
        for name in [
            "utf-16",
            "utf-16le",
            "ucs-4",
            "iso-2022-jp",
            "cp437",
            "euc-tw",
        ] {
            assert_eq!(Encoding::of_option(name), Encoding::Other, "{name}");
        }
        let gbk = Encoding::Legacy(encoding_rs::GBK);
        let (format, text) = Format::decode(b"\xff\xff\n");
        assert_eq!(format.decode_again(&text, gbk), None);
        let format = Format {
            encoding: gbk,
            ..Format::default()
        };
        assert_eq!(
            format.encode(&Text::from_text("a\u{1f600}b\n")),
            Err('\u{1f600}')
        );
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
