//! The report of rejected changes that goes with the next prompt, as the transcript shows it.

use crate::conversation::Conversation;
use crate::conversation::session::Session;
use crate::conversation::transcript::Entry;
use crate::workspace::feedback::Feedback;

impl Conversation {
    /// Marks the reports as outdated.
    pub(crate) fn touch_feedback(&mut self) {
        self.feedback_is_dirty = true;
    }

    /// Returns whether the reports are outdated, and marks them as current.
    pub(crate) fn take_feedback_dirty(&mut self) -> bool {
        std::mem::take(&mut self.feedback_is_dirty)
    }
}

impl Session {
    /// Shows the report that is attached to the next prompt.
    pub(crate) fn show_feedback(&mut self, feedback: Option<&Feedback>) {
        let entry = match (feedback, self.along) {
            (Some(feedback), _) => entry(feedback, "The next prompt reports"),
            (None, Some(_)) => Entry::Along {
                head: "No rejected changes to report.".into(),
                lines: Vec::new(),
            },
            (None, None) => return,
        };
        match self.along {
            Some(at) => self.transcript.replace(at, entry),
            // An entry here would split a message.
            None if self.is_in_turn() => {}
            None => self.along = Some(self.transcript.push(entry)),
        }
    }

    /// Shows the report as sent, and returns its text.
    pub(crate) fn feedback_sent(&mut self, feedback: Option<Feedback>) -> Option<String> {
        let known = self.along.take();
        let feedback = feedback?;
        let entry = entry(&feedback, "This prompt reported");
        match known {
            Some(at) => self.transcript.replace(at, entry),
            None => drop(self.transcript.push(entry)),
        }
        Some(feedback.text())
    }
}

fn entry(feedback: &Feedback, words: &str) -> Entry {
    let (head, lines) = feedback.shown(words);
    Entry::Along { head, lines }
}
