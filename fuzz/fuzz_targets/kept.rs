//! Reviews on disk: a stored review reads back equal, and a truncated or damaged file is never taken
//! for a whole one.

#![no_main]

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;

use acp_core::spine::event::{DiskText, Stamp};
use acp_core::spine::project::{Blob, Body, FileState, KeptOffer, KeptReview};
use acp_core::text::format::Format;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/host/src/project/codec.rs"]
#[allow(dead_code, reason = "the host uses more of it")]
mod codec;

const MAGIC: &[u8; 8] = b"fuzzed 1";

#[derive(Debug, Arbitrary)]
enum Content {
    Missing,
    Text(Vec<u8>),
    Bytes(u64, Option<[u8; 32]>),
    Link(Vec<u8>),
    Unreadable(String),
}

#[derive(Debug, Arbitrary)]
struct Review {
    path: Vec<u8>,
    from: Option<Vec<u8>>,
    base: Content,
    now: Content,
    mode: Option<u32>,
    stamp: Option<(u64, u64, i64, i64)>,
    offers: Vec<(Range<usize>, Vec<String>)>,
}

impl Content {
    fn state(self, mode: Option<u32>, stamp: Option<Stamp>) -> FileState {
        let body = match self {
            Content::Missing => Body::Missing,
            // The text itself is kept elsewhere.
            Content::Text(bytes) => Body::Text(DiskText {
                format: Format::decode(&bytes).0,
                text: Default::default(),
            }),
            Content::Bytes(bytes, blob) => Body::Bytes {
                bytes,
                blob: blob.map(Blob),
            },
            Content::Link(to) => Body::Link(OsString::from_vec(to).into()),
            Content::Unreadable(why) => Body::Unreadable(why),
        };
        FileState { body, mode, stamp }
    }
}

impl Review {
    fn kept(self) -> KeptReview {
        let path = |bytes: Vec<u8>| OsString::from_vec(bytes).into();
        let stamp = self.stamp.map(|(inode, bytes, seconds, nanos)| Stamp {
            inode,
            bytes,
            modified: (seconds, nanos),
        });
        KeptReview {
            path: path(self.path),
            from: self.from.map(path),
            accepted: None,
            base: self.base.state(self.mode, stamp),
            current: None,
            alone: None,
            now: self.now.state(self.mode, stamp),
            is_uncommitted: false,
            offers: self
                .offers
                .into_iter()
                .map(|(rows, lines)| KeptOffer { rows, lines })
                .collect(),
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Damage {
    Cut(u16),
    Bit(u16, u8),
    Longer(u8),
}

fuzz_target!(|input: (Vec<Review>, Damage, Vec<u8>)| {
    let (reviews, damage, text) = input;
    let reviews: Vec<KeptReview> = reviews.into_iter().map(Review::kept).collect();
    let json = serde_json::to_vec(&reviews).expect("reviews are plain data");
    let sealed = codec::seal(MAGIC, &json);
    let bytes = codec::unseal(MAGIC, &sealed).expect("it is whole");
    let again: Vec<KeptReview> = serde_json::from_slice(&bytes).expect("it is what was written");
    assert_eq!(again, reviews);
    let mut other = sealed.clone();
    match damage {
        Damage::Cut(at) => other.truncate(usize::from(at) % sealed.len()),
        Damage::Bit(at, bit) => other[usize::from(at) % sealed.len()] ^= 1 << (bit % 8),
        Damage::Longer(byte) => other.push(byte),
    }
    assert_eq!(codec::unseal(MAGIC, &other), None);
    // The texts of reviews are kept as plain lines; other files keep their format.
    let (format, lines) = Format::decode(&text);
    if let Ok(written) = format.encode(&lines) {
        assert_eq!(written, text, "{format:?}");
    }
    // A list of values that ends anywhere.
    let mut reader = codec::Reader(&text);
    while reader.path().is_some() || reader.byte().is_some() {}
    assert!(reader.is_empty());
});
