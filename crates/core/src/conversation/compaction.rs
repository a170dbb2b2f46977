//! Compactions: an agent shortens its record of a conversation.
//!
//! Invariant: each compaction is one entry of the transcript, however many messages report it, and
//! none is shown as running once its agent has ended.

use std::collections::BTreeMap;

use crate::conversation::transcript::{Entry, Transcript};
use crate::render::contents::content_markdown;
use crate::render::diffview::whole as whole_line;
use acp::{CompactionPatch, CompactionStatus, Summary};

/// The compactions of a session, by the agent's ids.
#[derive(Debug, Default)]
pub struct Compactions(BTreeMap<String, Compaction>);

#[derive(Debug)]
struct Compaction {
    /// Its entry in the transcript.
    entry: usize,
    status: CompactionStatus,
    summary: String,
    error: Option<String>,
}

impl Compactions {
    /// Merges a message's fields, and shows the result.
    pub fn merge(&mut self, patch: CompactionPatch, transcript: &mut Transcript) {
        let compaction = self.0.entry(patch.id).or_insert_with(|| Compaction {
            entry: transcript.push(along(String::new(), "")),
            status: CompactionStatus::InProgress,
            summary: String::new(),
            error: None,
        });
        compaction.status = patch.status.unwrap_or_else(|| compaction.status.clone());
        if let Some(error) = patch.error {
            compaction.error = error;
        }
        match patch.summary {
            None => {}
            Some(Summary::Whole(blocks)) => {
                let texts: Vec<String> = blocks.iter().map(content_markdown).collect();
                compaction.summary = texts.join("\n\n");
            }
            Some(Summary::More(content)) => {
                compaction.summary.push_str(&content_markdown(&content))
            }
        }
        compaction.show(transcript);
    }

    /// Ends the running compactions, because their agent has ended.
    pub fn end(&mut self, transcript: &mut Transcript) {
        for compaction in self.0.values_mut() {
            if compaction.status == CompactionStatus::InProgress {
                compaction.status = CompactionStatus::Cancelled;
                compaction.show(transcript);
            }
        }
    }
}

impl Compaction {
    fn show(&self, transcript: &mut Transcript) {
        let mut head = match &self.status {
            CompactionStatus::InProgress => "◐ The agent is compacting the conversation".to_owned(),
            CompactionStatus::Completed => "✓ The agent has compacted the conversation".to_owned(),
            CompactionStatus::Failed => "✗ The agent could not compact the conversation".to_owned(),
            CompactionStatus::Cancelled => "✗ Compacting the conversation was cancelled".to_owned(),
            CompactionStatus::Unknown(word) => format!("? Compacting the conversation: {word}"),
        };
        if let Some(error) = &self.error {
            head.push_str(&format!(": {}", error.replace('\n', " ")));
        }
        transcript.replace(self.entry, along(head, &self.summary));
    }
}

/// Returns an entry with the summary folded below its head.
fn along(head: String, summary: &str) -> Entry {
    let lines = summary
        .trim_end()
        .lines()
        .map(|line| whole_line(format!("  {line}"), "AcpDim"));
    Entry::Along {
        head,
        lines: lines.collect(),
    }
}
