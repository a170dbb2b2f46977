//! The review list: files and hunks to review, with proposals that are not written yet, as lines of
//! a window, and a preview of the item under the cursor.
//!
//! Invariants: nothing is rendered while no window shows the list. An item is identified by its
//! change, not by its position: a decision applies to the change the user saw, or to nothing.

mod items;
mod lines;
mod preview;

use std::path::PathBuf;

use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::event::{ListEvent, ReviewAction};
use crate::spine::ids::ItemKey;
use crate::spine::view::Frame;
use crate::view::reviewlist::items::{Item, What};
use crate::workspace::ledger::Which;
use crate::workspace::proposals::ProposalIndex;

impl Model {
    /// Handles an event of the list's window.
    pub(crate) fn list(&mut self, event: ListEvent, fx: &mut Effects) {
        match event {
            ListEvent::Opened { cwd } => self.view.list_opened(cwd),
            ListEvent::Closed => self.view.list_closed(),
            ListEvent::At { item } => self.view.preview_item(item),
            ListEvent::Decide { action, items } => self.decide_items(action, &items, fx),
            ListEvent::Undo => self.workspace.undo_decision(fx),
        }
    }

    /// Accepts or rejects the items on some lines of the list.
    fn decide_items(&mut self, action: ReviewAction, keys: &[ItemKey], fx: &mut Effects) {
        let mut items = self.items();
        items.retain(|item| keys.contains(&item.key));
        if items.is_empty() && !keys.is_empty() {
            let text = "This change was updated just now: look at it again in the list.";
            fx.push(notify(Level::Info, text));
        }
        let written = written(&items);
        let places: Vec<ProposalIndex> = items
            .iter()
            .filter_map(|item| item.what.proposed())
            .collect();
        let proposed = self.workspace.proposals().meant(&places);
        self.workspace.review_files(action, written, fx);
        self.workspace.decide_places(action, &proposed);
        self.ask_about_files(&places, fx);
        self.answer_decided(fx);
    }

    /// Updates the list and the preview, if a window shows them.
    pub(crate) fn list_patches(&mut self, frame: &mut Frame) {
        if self.view.take_list() {
            let view = self.list_view();
            frame.patches.extend(self.view.list_patch(view));
        }
        if self.view.take_preview() {
            let view = self.preview();
            frame.patches.extend(self.view.preview_patch(view));
        }
    }
}

/// Returns the written changes among some items: whole files, or the rows of consecutive hunks.
fn written(items: &[Item<'_>]) -> Vec<(PathBuf, Which)> {
    let mut meant: Vec<(PathBuf, Which)> = Vec::new();
    for item in items {
        let path = item.path;
        let rows = match item.what {
            What::File(_) => {
                meant.push((path.to_owned(), Which::All));
                continue;
            }
            What::Hunk(_, hunk) => hunk.row..hunk.row + hunk.count,
            What::Proposal(..) | What::Proposed(..) => continue,
        };
        match meant.last_mut() {
            // The whole file is selected already.
            Some((last, Which::All)) if last == path => {}
            Some((last, Which::Rows(before))) if last == path => before.end = rows.end,
            _ => meant.push((path.to_owned(), Which::Rows(rows))),
        }
    }
    meant
}
