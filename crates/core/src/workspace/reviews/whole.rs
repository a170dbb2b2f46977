//! Changes of a file as a whole: created, deleted, moved, another mode, no longer text.
//!
//! Invariant: `origin` is the state that the user has accepted, `now` the state reported last.
//! Their differences, apart from the lines, are pending.

use std::path::{Path, PathBuf};

use super::FileReview;
use crate::spine::project::{Body, FileState, Whole};
use crate::text::Text;
use crate::text::format::{Encoding, Format, LineEnd};
use crate::text::paths::normalized;
use crate::workspace::feedback::RejectedWhole;

impl FileState {
    /// Returns the state of a text file whose mode is unknown.
    pub fn of_text(text: Text, format: Format) -> Self {
        Self {
            body: Body::Text(crate::spine::event::DiskText { text, format }),
            mode: None,
            stamp: None,
        }
    }

    /// Returns the text, empty if the file is not text; `None` if it is unreadable.
    pub fn text(&self) -> Option<Text> {
        match &self.body {
            Body::Text(content) => Some(content.text.clone()),
            Body::Unreadable(_) => None,
            Body::Missing | Body::Bytes { .. } | Body::Link(_) => Some(Text::default()),
        }
    }

    pub fn format(&self) -> Option<Format> {
        match &self.body {
            Body::Text(content) => Some(content.format),
            _ => None,
        }
    }

    /// Returns whether this is a text that is no UTF-8.
    pub fn is_latin1(&self) -> bool {
        self.format()
            .is_some_and(|format| format.encoding == Encoding::Latin1)
    }

    pub fn is_missing(&self) -> bool {
        self.body == Body::Missing
    }

    /// Returns the target if this is a link.
    pub fn link(&self) -> Option<&Path> {
        match &self.body {
            Body::Link(to) => Some(to),
            _ => None,
        }
    }

    /// Returns the path of the target if this is a link at a path.
    pub fn link_at(&self, path: &Path) -> Option<PathBuf> {
        Some(normalized(&path.parent()?.join(self.link()?)))
    }

    pub fn is_unreadable(&self) -> bool {
        matches!(self.body, Body::Unreadable(_))
    }

    pub fn is_text(&self) -> bool {
        matches!(self.body, Body::Text(_))
    }

    /// Sets the text of a file that this client or Neovim has written, and that the host sees as
    /// bytes: it is too large to be kept, holds a NUL, or has an encoding that only Neovim reads.
    pub fn is_this_text(&mut self, text: &FileState) {
        if matches!(self.body, Body::Bytes { .. }) && text.is_text() {
            self.body.clone_from(&text.body);
        }
    }

    /// Returns whether both modes are known and differ.
    pub fn has_other_mode(&self, other: &FileState) -> bool {
        let modes = self.mode.zip(other.mode);
        modes.is_some_and(|(one, two)| one != two)
    }

    /// Returns whether two states differ at most in the lines of a text and in the stamp; unknown
    /// parts count as equal.
    pub fn is_like(&self, other: &FileState) -> bool {
        !self.has_other_mode(other)
            && match (&self.body, &other.body) {
                (Body::Text(one), Body::Text(two)) => {
                    let (old, new) = ((one.format, &one.text), (two.format, &two.text));
                    as_shown(old, new) == one.format
                }
                (Body::Unreadable(_), _) | (_, Body::Unreadable(_)) => true,
                (one, two) => one == two,
            }
    }
}

/// A change of a file as a whole that another program has taken away: the accepted state and the
/// agent's.
#[derive(Debug)]
pub(super) struct Away {
    origin: FileState,
    now: FileState,
}

impl Away {
    /// Returns whether a state is the agent's; a new file has to have the same text.
    fn is_back(&self, after: &FileState) -> bool {
        let is_same = !self.origin.is_missing() || self.now.text() == after.text();
        is_same && self.now.is_like(after)
    }
}

impl FileReview {
    /// Returns whether the agent created the file: rejecting all of it deletes it.
    pub fn is_created(&self) -> bool {
        self.origin.is_missing()
    }

    /// Returns whether the agent has made the file binary, or changed its bytes.
    pub(super) fn has_agents_bytes(&self) -> bool {
        matches!(self.now.body, Body::Bytes { .. }) && self.now.body != self.origin.body
    }

    /// Returns where a state of the file is restored, if not under its name: a link to the file stays
    /// one.
    pub fn place_of(&self, state: &FileState) -> Option<&Path> {
        let all = [&self.origin, &self.now, state];
        let is_about_link = all.iter().any(|state| state.link().is_some());
        (!is_about_link).then_some(&*self.path)
    }

    /// Returns whether the whole text is pending, and nothing was there before.
    fn is_all_pending(&self) -> bool {
        self.ledger.base().is_empty() && !self.ledger.hunks().is_empty()
    }

    /// Returns whether a state is already recorded: this client produced it.
    pub fn knows(&self, there: &FileState) -> bool {
        self.now.is_like(there) && there.text().as_ref() == Some(self.ledger.current())
    }

    /// Returns whether any decision is pending.
    pub fn is_pending(&self) -> bool {
        !self.ledger.hunks().is_empty() || !self.whole().is_empty()
    }

    /// Returns the changes of the file as a whole.
    pub fn whole(&self) -> Vec<Whole> {
        let texts = (self.ledger.base(), self.ledger.current());
        // While another program has moved it back, it is where it was.
        let from = self.from.as_deref().filter(|from| *from != self.path);
        between(&self.origin, &self.now, texts, from)
    }

    /// Records rejected changes of the file as a whole, to be reported to the agent once they are
    /// reverted.
    pub(super) fn note_rejected_whole(&mut self, whole: Vec<Whole>) {
        for whole in whole {
            let rejected = RejectedWhole::of(whole, &self.now, &self.path);
            let mut known = self.rejected_whole.iter();
            if !known.any(|known| known.is_same(&rejected)) {
                self.rejected_whole.push(rejected);
            }
        }
    }

    /// Returns the rejected changes of the file as a whole that are not back.
    pub fn told_rejected_whole(&self) -> impl Iterator<Item = &RejectedWhole> {
        let is_pending = !self.ledger.hunks().is_empty();
        // An undo in the buffer brings the text of a created file back before it is saved.
        let is_created = move |rejected: &RejectedWhole| rejected.is_created() && is_pending;
        let rejected = self.rejected_whole.iter();
        rejected.filter(move |rejected| {
            !rejected.is_there(&self.now, &self.path) && !is_created(rejected)
        })
    }

    /// Clears the rejected changes that are back.
    pub(super) fn whole_is_back(&mut self) {
        let (now, path) = (&self.now, &self.path);
        self.rejected_whole
            .retain(|rejected| !rejected.is_there(now, path));
    }

    /// Returns whether the format differs from the accepted one.
    pub(super) fn has_other_format(&self) -> bool {
        let formats = self.origin.format().zip(self.format());
        formats.is_some_and(|(old, new)| new != old)
    }

    /// Returns the present format; what the text does not show of it is as in the accepted one.
    pub fn format(&self) -> Option<Format> {
        let now = self.now.format()?;
        Some(match self.origin.format() {
            Some(old) => as_shown((old, self.ledger.base()), (now, self.ledger.current())),
            None => now,
        })
    }

    /// Records a state left by the user or another program; its changes are not the agent's, unless
    /// they restore an agent's change that another program had reverted.
    pub fn others_left(&mut self, before: &FileState, after: FileState) {
        let pending = (!self.whole().is_empty()).then(|| Away {
            origin: self.origin.with_text(self.ledger.base()),
            now: self.now.clone(),
        });
        let away = self.away.take_if(|away| away.is_back(&after));
        if let Some(Away { origin, .. }) = away.filter(|_| pending.is_none()) {
            if let (Some(base), false) = (origin.text(), after.is_text()) {
                self.rebase(base);
            }
            (self.origin, self.now) = (origin, after);
            return;
        }
        self.others_took(before, after);
        if self.whole().is_empty() && pending.is_some() {
            self.away = pending;
        }
    }

    fn others_took(&mut self, before: &FileState, after: FileState) {
        // A mode that is already recorded was set by this client.
        if before.has_other_mode(&after) && self.now.mode != after.mode {
            self.origin.mode = after.mode;
        }
        if let Body::Unreadable(_) = after.body {
            // No report says that the content has changed: pending changes stay.
            let body = self.now.body.clone();
            self.now = FileState {
                body,
                stamp: None,
                ..after
            };
            return;
        }
        let is_binary = matches!(after.body, Body::Bytes { .. }) && self.now.body != after.body;
        let kinds = [&self.now.body, &after.body].map(std::mem::discriminant);
        if is_binary || kinds[0] != kinds[1] {
            // Another author created, deleted or overwrote the file, so this change is not pending.
            // If the text returns, so does its earlier state.
            if after.text().is_none_or(|text| text.is_empty()) {
                self.rebase(self.ledger.current().clone());
            }
            let is_back = self.is_created() && self.now.is_missing() && self.is_all_pending();
            if !is_back {
                self.origin.body = after.body.clone();
                self.from = None;
            }
        }
        if let (Body::Text(origin), Body::Text(old), Body::Text(new)) =
            (&mut self.origin.body, &before.body, &after.body)
        {
            let shown = as_shown((old.format, &old.text), (new.format, &new.text));
            if shown != old.format && self.now.format() != Some(shown) {
                origin.format = shown;
            }
        }
        self.has_state(after);
    }

    /// Accepts the present content, but not the mode and path.
    pub fn accept_content(&mut self) {
        self.origin.body = self.now.body.clone();
    }

    /// Accepts the whole present state.
    pub fn accept_whole(&mut self) {
        self.origin = self.now.clone();
        self.from = None;
    }
}

/// Returns the changes of a file as a whole between two states with these texts.
pub(super) fn between(
    origin: &FileState,
    now: &FileState,
    texts: (&Text, &Text),
    from: Option<&Path>,
) -> Vec<Whole> {
    let mut whole = Vec::new();
    match (&origin.body, &now.body) {
        (Body::Missing, Body::Missing) => return whole,
        (Body::Missing, _) => whole.push(Whole::Created),
        (_, Body::Missing) => whole.push(Whole::Deleted),
        (Body::Link(old), Body::Link(new)) if old == new => {}
        (Body::Link(_), _) | (_, Body::Link(_)) => whole.push(Whole::Link),
        (Body::Text(old), Body::Text(new)) => {
            let shown = as_shown((old.format, texts.0), (new.format, texts.1));
            if shown != old.format {
                whole.push(Whole::Format(in_words(old.format, shown)));
            }
        }
        (Body::Bytes { .. }, _) | (_, Body::Bytes { .. }) if origin.body != now.body => {
            let kept = !matches!(origin.body, Body::Bytes { blob: None, .. });
            whole.push(Whole::Binary { kept });
        }
        _ => {}
    }
    if let Some(from) = from.filter(|_| !now.is_missing()) {
        whole.push(Whole::Moved(from.to_owned()));
    }
    if let (Some(old), Some(new)) = (origin.mode, now.mode)
        && old != new
    {
        whole.push(Whole::Mode(old, new));
    }
    whole
}

/// Returns the new format as far as the bytes of both texts show it; the rest is taken from the old
/// format.
fn as_shown(old: (Format, &Text), new: (Format, &Text)) -> Format {
    if (old.0.encoding, new.0.encoding) == (Encoding::Other, Encoding::Latin1) {
        // Without its buffer, a file in such an encoding is read as latin-1.
        return old.0;
    }
    let has_end =
        |(format, text): (Format, &Text)| text.len() > 1 || text.len() == 1 && format.final_newline;
    let mut shown = new.0;
    if !has_end(old) || !has_end(new) {
        shown.line_end = old.0.line_end;
    }
    if old.1.is_empty() || new.1.is_empty() {
        shown.final_newline = old.0.final_newline;
    }
    let is_encoded = |(format, text): (Format, &Text)| format.bom || !text.is_ascii();
    if shown.encoding != old.0.encoding && !(is_encoded(old) && is_encoded(new)) {
        shown.encoding = old.0.encoding;
    }
    shown
}

/// Describes the differences between two formats.
fn in_words(old: Format, new: Format) -> String {
    let mut words = Vec::new();
    if old.line_end != new.line_end {
        let name = |end| match end {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
            LineEnd::Cr => "CR",
        };
        let (old, new) = (name(old.line_end), name(new.line_end));
        words.push(format!("line ends {old} to {new}"));
    }
    match (old.final_newline, new.final_newline) {
        (true, false) => words.push("no line end at the end of the file".to_owned()),
        (false, true) => words.push("a line end at the end of the file".to_owned()),
        _ => {}
    }
    match (old.bom, new.bom) {
        (true, false) => words.push("no byte order mark".to_owned()),
        (false, true) => words.push("a byte order mark".to_owned()),
        _ => {}
    }
    if old.encoding != new.encoding {
        let name = |encoding| match encoding {
            Encoding::Utf8 => "UTF-8",
            Encoding::Latin1 => "latin-1",
            Encoding::Named(known) => known.name(),
            Encoding::Other => "another encoding",
        };
        let (old, new) = (name(old.encoding), name(new.encoding));
        words.push(format!("{old} to {new}"));
    }
    words.join(", ")
}
