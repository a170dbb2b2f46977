//! The binary format of stored files: numbers, bytes and paths in sequence, compressed, sealed with
//! a hash.
//!
//! Invariant: [`unseal`] returns what [`seal`] was given, or nothing if the file is incomplete or
//! damaged.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use acp_core::spine::project::Blob;

const HASH: usize = 32;

/// Returns the bytes of a file that starts with `magic`.
pub(super) fn seal(magic: &[u8; 8], bytes: &[u8]) -> Vec<u8> {
    let packed = lz4_flex::block::compress_prepend_size(bytes);
    let mut all = Vec::with_capacity(magic.len() + HASH + packed.len());
    all.extend_from_slice(magic);
    all.extend_from_slice(blake3::hash(&packed).as_bytes());
    all.extend_from_slice(&packed);
    all
}

/// Returns the sealed bytes; `None` if the file has another format or is damaged.
pub(super) fn unseal(magic: &[u8; 8], bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(magic)?;
    let (hash, packed) = rest.split_first_chunk::<HASH>()?;
    if blake3::hash(packed) != *hash {
        return None;
    }
    lz4_flex::block::decompress_size_prepended(packed).ok()
}

pub(super) fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_time(out: &mut Vec<u8>, (seconds, nanos): (i64, i64)) {
    put_number(out, seconds.cast_unsigned());
    put_number(out, nanos.cast_unsigned());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn put_path(out: &mut Vec<u8>, path: &Path) {
    put_bytes(out, path.as_os_str().as_bytes());
}

/// Reads values from the front; `None` if the input ends too early.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn time(&mut self) -> Option<(i64, i64)> {
        Some((self.number()?.cast_signed(), self.number()?.cast_signed()))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub(super) fn path(&mut self) -> Option<PathBuf> {
        Some(OsString::from_vec(self.bytes()?.to_vec()).into())
    }

    pub(super) fn blob(&mut self) -> Option<Blob> {
        Some(Blob(self.bytes()?.try_into().ok()?))
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
}
