//! A terminal's text does not depend on how its output was cut, is the end of all of it, and has no
//! control codes; its lines fit on one line of the screen.

#![no_main]

use acp_core::render::plain::Plain;
use acp_core::spine::oneline::OneLine;
use libfuzzer_sys::fuzz_target;

fn plain<'a>(limit: usize, reads: impl Iterator<Item = &'a [u8]>) -> Plain {
    let mut plain = Plain::new(limit);
    reads.for_each(|read| plain.push(read));
    plain.finish();
    plain
}

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (size, limit, bytes) = input;
    let limit = usize::from(limit % 600);
    let whole = plain(limit, std::iter::once(bytes));
    let cut = plain(limit, bytes.chunks(usize::from(size).max(1)));
    let (text, is_cut) = whole.text();
    assert_eq!((text, is_cut), cut.text());
    assert_eq!(whole.last_lines(5), cut.last_lines(5));
    let all = plain(usize::MAX / 2, std::iter::once(bytes));
    assert!(text.len() <= limit && all.text().0.ends_with(text));
    assert_eq!(is_cut, text.len() < all.text().0.len());
    let is_code = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert_eq!(text.find(is_code), None, "{text:?}");
    for line in whole.last_lines(100).0 {
        assert!(!line.contains('\n'), "{line:?}");
    }
    // As on the screen, for any bytes in a program or a name.
    let raw = String::from_utf8_lossy(bytes);
    let line = OneLine::new(&*raw);
    let is_obeyed =
        |c: char| c != '\t' && (c.is_control() || "\u{202e}\u{2066}\u{200b}".contains(c));
    assert_eq!(line.find(is_obeyed), None, "{line:?}");
    assert_eq!(OneLine::new(line.as_str()), *line);
});
