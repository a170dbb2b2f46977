//! Framing: the frames of a stream are its lines, for any cut of its reads, and an incomplete frame
//! is the beginning of a line.

#![no_main]

use acp::{END_BYTES, Frame, LineDecoder};
use libfuzzer_sys::fuzz_target;

/// A frame: a line, or the ends and the size of one that was too long.
#[derive(Debug, PartialEq)]
enum Got {
    Line(Vec<u8>),
    TooLong(Vec<u8>, Vec<u8>, usize),
}

impl Got {
    fn of(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Line(line) => Got::Line(line.to_vec()),
            Frame::TooLong { head, tail, bytes } => {
                Got::TooLong(head.to_vec(), tail.to_vec(), bytes)
            }
        }
    }
}

/// The frame that a line, without its line end, must become.
fn frame_of(line: &[u8], most: usize) -> Option<Got> {
    if line.len() > most {
        let head = &line[..END_BYTES.min(most)];
        let tail = &line[line.len().saturating_sub(END_BYTES)..];
        return Some(Got::TooLong(head.to_vec(), tail.to_vec(), line.len()));
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    (!line.is_empty()).then(|| Got::Line(line.to_vec()))
}

fuzz_target!(|input: (u8, Vec<u8>, &[u8])| {
    let (most, sizes, bytes) = input;
    let most = usize::from(most).max(1);
    let lines = bytes.split(|byte| *byte == b'\n');
    let want: Vec<Got> = lines.filter_map(|line| frame_of(line, most)).collect();
    let mut decoder = LineDecoder::with_max_line(most);
    let mut got = Vec::new();
    let (mut read, mut begun) = (0, 0);
    let mut sizes = sizes.iter().map(|size| usize::from(*size)).cycle();
    while read < bytes.len() {
        let size = sizes.next().unwrap_or(7).max(1);
        let end = (read + size).min(bytes.len());
        decoder.push(&bytes[read..end], &mut |frame| got.push(Got::of(frame)));
        let last = bytes[read..end].iter().rposition(|byte| *byte == b'\n');
        begun = last.map_or(begun, |at| read + at + 1);
        read = end;
        let arrived = &bytes[begun..read];
        let kept = decoder.unfinished();
        assert!(arrived.starts_with(kept), "{kept:?} of {arrived:?}");
        let is_whole = kept.len() == arrived.len();
        assert!(is_whole || arrived.len() > most, "{kept:?} of {arrived:?}");
    }
    decoder.finish(&mut |frame| got.push(Got::of(frame)));
    assert_eq!(got, want);
});
