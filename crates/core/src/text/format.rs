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
    /// One that only a buffer tells: the bytes do not show it.
    Named(&'static encoding_rs::Encoding),
    /// Known only to Neovim: such a file can be changed only through its buffer.
    Other,
}

impl Encoding {
    /// Returns the encoding of a buffer with this `'fileencoding'`.
    ///
    /// Others that encoding_rs knows have characters that Neovim's iconv reads in another way.
    pub fn of_neovim(name: &str) -> Self {
        let known = match name {
            "" | "utf-8" => return Encoding::Utf8,
            "latin1" => return Encoding::Latin1,
            "cp936" => encoding_rs::GBK,
            "cp932" => encoding_rs::SHIFT_JIS,
            "cp949" => encoding_rs::EUC_KR,
            "gb18030" | "koi8-r" | "cp866" | "cp874" | "cp1250" | "cp1251" | "cp1252"
            | "cp1253" | "cp1254" | "cp1256" | "cp1257" | "iso-8859-2" | "iso-8859-3"
            | "iso-8859-4" | "iso-8859-5" | "iso-8859-6" | "iso-8859-7" | "iso-8859-8"
            | "iso-8859-10" | "iso-8859-13" | "iso-8859-14" | "iso-8859-15" | "iso-8859-16" => {
                let label = if name == "cp874" { "windows-874" } else { name };
                match encoding_rs::Encoding::for_label(label.as_bytes()) {
                    Some(known) => known,
                    None => return Encoding::Other,
                }
            }
            _ => return Encoding::Other,
        };
        Encoding::Named(known)
    }

    /// Returns whether a file can be read here in the encoding of its buffer, or as UTF-8.
    pub fn reads(self, bytes: &[u8]) -> bool {
        let (format, text) = Format::decode(bytes);
        match self {
            Encoding::Utf8 | Encoding::Latin1 => true,
            Encoding::Named(_) => {
                format.encoding != Encoding::Latin1 || format.reread(&text, self).is_some()
            }
            Encoding::Other => false,
        }
    }

    /// Returns the `'fileencoding'` of a buffer; `None` for one that only Neovim knows.
    pub fn name(self) -> Option<String> {
        let name = match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Latin1 => "latin1",
            Encoding::Named(known) if known == encoding_rs::GBK => "cp936",
            Encoding::Named(known) if known == encoding_rs::SHIFT_JIS => "cp932",
            Encoding::Named(known) if known == encoding_rs::EUC_KR => "cp949",
            Encoding::Named(known) if known == encoding_rs::IBM866 => "cp866",
            Encoding::Named(known) => known.name(),
            Encoding::Other => return None,
        };
        Some(name.to_lowercase().replace("windows-", "cp"))
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

    /// Returns whether every line with an end has a CR before it.
    pub fn shows_line_ends(&self, text: &Text) -> bool {
        let unended = usize::from(!self.final_newline);
        let ended = text.len().saturating_sub(unended);
        ended > 0 && text.lines(0..ended).all(|line| line.ends_with('\r'))
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
            Encoding::Named(known) => match known.encode(&wire) {
                (bytes, _, false) if wire.chars().all(|c| is_shared(known, c)) => {
                    Ok(bytes.into_owned())
                }
                _ => Err(first_lacking(known, &wire)),
            },
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
        Self::split(&content, bom, encoding)
    }

    /// Returns a file's format and lines, read in another encoding than UTF-8 and latin-1; `None` if
    /// it is not in that encoding, or has bytes that are written in another way.
    fn decode_as(bytes: &[u8], known: &'static encoding_rs::Encoding) -> Option<(Format, Text)> {
        let content = known.decode_without_bom_handling_and_without_replacement(bytes)?;
        let (again, _, is_lossy) = known.encode(&content);
        let is_exact = !is_lossy && *again == *bytes;
        let is_exact = is_exact && content.chars().all(|c| is_shared(known, c));
        is_exact.then(|| Self::split(&content, false, Encoding::Named(known)))
    }

    /// Returns the text of a file that was read as latin-1 because it is no UTF-8, and its format, in
    /// this encoding of its buffer.
    pub fn reread(self, text: &Text, encoding: Encoding) -> Option<(Format, Text)> {
        match (self.encoding, encoding) {
            (Encoding::Latin1, Encoding::Named(known)) => {
                Self::decode_as(&self.encode(text).ok()?, known)
            }
            _ => None,
        }
    }

    /// Returns the format and the lines of a decoded file.
    fn split(content: &str, bom: bool, encoding: Encoding) -> (Format, Text) {
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

/// Returns whether Neovim's iconv reads and writes a character of an encoding as encoding_rs does: for
/// bytes without a meaning, that has controls and private characters, and for GBK what GB 18030 has
/// added.
fn is_shared(known: &'static encoding_rs::Encoding, c: char) -> bool {
    let is_made_up = matches!(c, '\u{80}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}');
    let is_added = matches!(
        c,
        '\u{1f9}'
            | '\u{1e3f}'
            | '\u{2e80}'..='\u{2eff}'
            | '\u{2ff0}'..='\u{2fff}'
            | '\u{303e}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{9fa6}'..='\u{9fff}'
            | '\u{fe10}'..='\u{fe1f}'
    );
    !(is_made_up || is_added && known == encoding_rs::GBK)
}

/// Returns the first character that an encoding lacks.
fn first_lacking(known: &'static encoding_rs::Encoding, text: &str) -> char {
    let mut buffer = [0; 4];
    let mut is_lacking =
        |c: &char| !is_shared(known, *c) || known.encode(c.encode_utf8(&mut buffer)).2;
    text.chars().find(|c| is_lacking(c)).unwrap_or('\u{fffd}')
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
    fn an_encoding_has_the_name_that_neovim_gives_it() {
        let gbk = Encoding::Named(encoding_rs::GBK);
        for (name, want) in [
            ("", Encoding::Utf8),
            ("utf-8", Encoding::Utf8),
            ("latin1", Encoding::Latin1),
            ("cp936", gbk),
            ("gb18030", Encoding::Named(encoding_rs::GB18030)),
            ("cp932", Encoding::Named(encoding_rs::SHIFT_JIS)),
            ("cp949", Encoding::Named(encoding_rs::EUC_KR)),
            ("koi8-r", Encoding::Named(encoding_rs::KOI8_R)),
            ("cp866", Encoding::Named(encoding_rs::IBM866)),
            ("cp874", Encoding::Named(encoding_rs::WINDOWS_874)),
            ("cp1251", Encoding::Named(encoding_rs::WINDOWS_1251)),
            ("cp1252", Encoding::Named(encoding_rs::WINDOWS_1252)),
            ("iso-8859-2", Encoding::Named(encoding_rs::ISO_8859_2)),
            ("iso-8859-16", Encoding::Named(encoding_rs::ISO_8859_16)),
            ("euc-jp", Encoding::Other),
            ("sjis", Encoding::Other),
            ("iso-8859-9", Encoding::Other),
            ("utf-16le", Encoding::Other),
            ("cp437", Encoding::Other),
        ] {
            assert_eq!(Encoding::of_neovim(name), want, "{name}");
            let again = want.name().map(|name| Encoding::of_neovim(&name));
            assert_eq!(again.unwrap_or(want), want, "{name}");
        }
    }

    #[test]
    fn a_file_is_read_in_the_encoding_of_its_buffer() {
        let gbk = Encoding::of_neovim("cp936");
        let bytes = b"\xc4\xe3\xba\xc3\r\nab\r\n";
        let (raw, text) = Format::decode(bytes);
        let (format, text) = raw.reread(&text, gbk).expect("it is GBK");
        assert_eq!(text, Text::from_lines(["你好", "ab"]));
        assert_eq!((format.encoding, format.line_end), (gbk, LineEnd::CrLf));
        assert_eq!(format.encode(&text).as_deref(), Ok(bytes.as_slice()));
        assert_eq!(format.encode(&Text::from_lines(["你", "é😀"])), Err('😀'));
        // Neither GBK nor UTF-8.
        let added = b"\xa8\xbf\n"; // Of GB 18030.
        for bytes in [
            &b"a\xff\n"[..],
            b"\x81\x20\xff\n",
            added,
            "你好\n".as_bytes(),
        ] {
            let (raw, text) = Format::decode(bytes);
            assert_eq!(raw.reread(&text, gbk), None, "{bytes:?}");
        }
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
