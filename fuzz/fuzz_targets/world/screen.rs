//! The chat's buffer: its lines.

use acp_core::spine::view::{ChatOp, Line};

#[derive(Debug, Default)]
pub struct Chat {
    pub lines: Vec<Line>,
}

impl Chat {
    pub fn apply(&mut self, ops: Vec<ChatOp>) {
        for op in ops {
            if let ChatOp::Splice {
                start,
                removed,
                lines,
            } = op
            {
                self.lines.splice(start..start + removed, lines);
            }
        }
    }

    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}
