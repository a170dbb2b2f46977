//! Reads the texts of a review in the encoding of the buffer that its file is loaded into.
//!
//! Invariant: a text is read again only if it was read as latin-1, and all of a ledger or nothing.

use super::FileReview;
use super::turns::TurnReview;
use crate::spine::project::FileState;
use crate::text::Text;
use crate::text::format::Encoding;
use crate::workspace::ledger::Review;

impl FileReview {
    /// Takes the texts in the encoding of a buffer that was just loaded.
    pub(super) fn read_in(&mut self, encoding: Encoding) {
        let states = (&self.origin, &self.now);
        if !matches!(encoding, Encoding::Named(_))
            || !self.now.is_latin1() && !self.origin.is_latin1()
        {
            return;
        }
        let Some(ledger) = reread(&self.ledger, states, encoding) else {
            return;
        };
        let now = &self.now;
        self.turns
            .retain_mut(|turn| turn.read_in(now, encoding).is_some());
        self.ledger = ledger;
        self.origin.read_in(encoding);
        self.now.read_in(encoding);
    }
}

impl TurnReview {
    fn read_in(&mut self, now: &FileState, encoding: Encoding) -> Option<()> {
        self.ledger = reread(&self.ledger, (&self.origin, now), encoding)?;
        let text = |text: &Text| text_in(text, &self.origin, encoding);
        self.first = text(&self.first)?;
        self.before = text(&self.before)?;
        self.began = text(&self.began)?;
        self.accepted = text(&self.accepted)?;
        self.changed();
        self.origin.read_in(encoding);
        Some(())
    }
}

/// Returns a review in another encoding, of a file that was in the first state and is in the second.
fn reread(
    ledger: &Review,
    (before, now): (&FileState, &FileState),
    encoding: Encoding,
) -> Option<Review> {
    let mut review = Review::new(text_in(ledger.base(), before, encoding)?);
    review.agent_wrote(text_in(ledger.current(), now, encoding)?);
    Some(review)
}

fn text_in(text: &Text, file: &FileState, encoding: Encoding) -> Option<Text> {
    match file
        .format()
        .filter(|_| file.is_latin1() && !text.is_ascii())
    {
        Some(format) => Some(format.reread(text, encoding)?.1),
        None => Some(text.clone()),
    }
}
