//! Stands in for the wire's line decoder until that room is built.

use crate::acp::Message;

pub(super) enum Frame<'a> {
    Line(&'a [u8]),
}

impl Frame<'_> {
    pub(super) fn decode(self) -> Vec<Message> {
        let Frame::Line(line) = self;
        vec![Message::Noise(String::from_utf8_lossy(line).into_owned())]
    }
}

pub(super) struct LineDecoder {
    partial: Vec<u8>,
}

impl LineDecoder {
    pub(super) fn new() -> Self {
        Self { partial: vec![] }
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(Frame<'_>)) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.partial.pop();
                self.finish(out);
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut impl FnMut(Frame<'_>)) {
        if !self.partial.is_empty() {
            out(Frame::Line(&self.partial));
        }
        self.partial.clear();
    }
}
