//! A session's record after a crash: every complete line can be read again, and a truncated file
//! loses its last line at most.

#![no_main]

use acp_core::conversation::history::lines::{first_line, header, line, record};
use acp_core::spine::history::{Header, Past, Record};
use libfuzzer_sys::fuzz_target;

fn past_of(header: &Header, records: &[Record]) -> Past {
    let mut past = Past::new(header.clone());
    for record in records {
        past.take(&line(record));
    }
    past
}

fuzz_target!(|input: (u16, u8, &str)| {
    let (cut, damage, text) = input;
    // Any text can be read.
    let _ = Past::of(text);
    let known = text.lines().next().and_then(header);
    let header = known.unwrap_or_else(|| Header {
        version: 1,
        agent: "a".into(),
        cwd: "/p".into(),
        project: "/p".into(),
        ..Header::default()
    });
    let records: Vec<Record> = text.lines().filter_map(record).collect();
    let mut file = first_line(&header);
    let mut ends = vec![file.len()];
    for one in &records {
        let written = line(one);
        assert_eq!(written.find('\n'), Some(written.len() - 1), "one line");
        assert_eq!(record(&written).as_ref(), Some(one));
        file.push_str(&written);
        ends.push(file.len());
    }
    assert_eq!(Past::of(&file), Some(past_of(&header, &records)));
    // The host reads bytes, and a line may end within a character.
    let left = usize::from(cut) % (file.len() + 1);
    let torn = String::from_utf8_lossy(&file.as_bytes()[..left]);
    // The line end itself may be missing.
    let whole = ends.iter().filter(|end| **end <= left + 1).count();
    match whole.checked_sub(1) {
        Some(whole) => assert_eq!(Past::of(&torn), Some(past_of(&header, &records[..whole]))),
        None => assert_eq!(Past::of(&torn), None),
    }
    // A line in the middle that was torn by another write costs itself alone.
    let torn = usize::from(damage) % (records.len() + 1);
    if torn < records.len() {
        let start = ends[torn];
        let half = (start + ends[torn + 1]) / 2;
        let mut bytes = file.clone().into_bytes();
        bytes.drain(half..ends[torn + 1] - 1);
        let mut others = records.clone();
        others.remove(torn);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(Past::of(&text), Some(past_of(&header, &others)));
    }
});
