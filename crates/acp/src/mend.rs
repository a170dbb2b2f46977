//! Repairs text that is not valid Unicode: stray bytes, and unpaired surrogates in escapes.
//!
//! Invariant: only unreadable places change, and each becomes `U+FFFD`.

use std::borrow::Cow;

/// Returns a line as text; borrowed if nothing had to be repaired.
pub fn mend(line: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => mend_escapes(text).map_or(Cow::Borrowed(text), Cow::Owned),
        Cow::Owned(text) => Cow::Owned(mend_escapes(&text).unwrap_or(text)),
    }
}

/// Returns `json` with unpaired surrogates replaced, or `None` if there are none.
///
/// Agents that split text by UTF-16 units write such halves (`"\ud83d"`). JSON's grammar allows
/// them, but no Rust string can hold them.
fn mend_escapes(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    // Most lines have none; one fast scan rules them out.
    memchr::memchr_iter(b'\\', bytes)
        .find(|&at| matches!(bytes.get(at + 1..at + 3), Some(b"ud" | b"uD")))?;
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + next;
        at = escape + 2;
        match unit(bytes, escape) {
            Some(0xd800..=0xdbff) => match unit(bytes, escape + 6) {
                Some(0xdc00..=0xdfff) => at = escape + 12,
                _ => at = replace(json, &mut mended, &mut copied, escape),
            },
            Some(0xdc00..=0xdfff) => at = replace(json, &mut mended, &mut copied, escape),
            _ => {}
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(json.get(copied..)?);
    Some(mended)
}

/// Writes the text before `escape` and a replacement; returns the position to continue from.
fn replace(json: &str, mended: &mut String, copied: &mut usize, escape: usize) -> usize {
    mended.push_str(json.get(*copied..escape).unwrap_or_default());
    mended.push_str("\\ufffd");
    *copied = escape + 6;
    *copied
}

/// Returns the UTF-16 unit of the escape `\uXXXX` at `at`, if there is one.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !hex.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8], want: &str) {
        assert_eq!(mend(line), want);
        let untouched = line == want.as_bytes();
        assert_eq!(matches!(mend(line), Cow::Borrowed(_)), untouched);
    }

    #[test]
    fn readable_text_is_unchanged() {
        check("ä𝄞".as_bytes(), "ä𝄞");
        check(br#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(br#""\uD83D\uDE00 \u00e4""#, r#""\uD83D\uDE00 \u00e4""#);
        check(br#""C:\\ud83d""#, r#""C:\\ud83d""#);
        check(br#""\ud8"#, r#""\ud8"#);
    }

    #[test]
    fn unreadable_text_becomes_a_replacement_character() {
        check(b"a\xffb", "a\u{fffd}b");
        check(br#""\ud83d""#, r#""\ufffd""#);
        check(br#""a\ude00b\uDBFF\n""#, r#""a\ufffdb\ufffd\n""#);
        check(br#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(b"\"\xff\\ud83d\"", "\"\u{fffd}\\ufffd\"");
    }
}
