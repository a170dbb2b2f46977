//! Going through earlier prompts in an input.
//!
//! Invariant: until a prompt is sent, the draft is kept behind the newest prompt, and so are the
//! user's changes to earlier ones.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nvim_oxi::mlua;

use super::kit::window;
use super::nvim::api;
use super::{chats, input, keys, state};
use acp_core::conversation::recall::Prompts;
use acp_core::spine::ids::SessionKey;

/// The earlier prompts that the user goes through.
#[derive(Debug, Default)]
struct Browsing {
    prompts: Prompts,
    at: usize,
    /// The user's text in place of each prompt, with the draft behind the last one.
    written: BTreeMap<usize, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Older,
    Newer,
}

thread_local! {
    static PLACES: RefCell<BTreeMap<SessionKey, Browsing>> = RefCell::default();
}

/// Returns to the draft: a prompt was sent.
pub fn forget(key: SessionKey) {
    PLACES.with_borrow_mut(|places| places.remove(&key));
}

/// Goes to another prompt from the first or the last line; elsewhere types the key `lhs`.
pub fn go(key: SessionKey, way: Way, lhs: &str) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    let rows: usize = api("nvim_buf_line_count", chat.input)?;
    let edge = match way {
        Way::Older => 0,
        Way::Newer => rows.saturating_sub(1),
    };
    if window::row(0)? != edge || super::complete::choosing()?.is_some() {
        return keys::feed_counted(lhs);
    }
    let text = input::text(chat.input)?;
    let Some(text) = turn(key, way, text) else {
        return keys::feed_counted(lhs);
    };
    input::set_text(chat.input, &text)?;
    let row = match way {
        Way::Older => 1,
        Way::Newer => text.split('\n').count(),
    };
    // Neovim's greatest column: with 'virtualedit', another one is a place behind the text.
    let last = usize::try_from(i32::MAX).unwrap_or(usize::MAX);
    api("nvim_win_set_cursor", (0, vec![row, last]))
}

/// Returns the next text; `None` at either end.
fn turn(key: SessionKey, way: Way, text: String) -> Option<String> {
    PLACES.with_borrow_mut(|places| {
        let place = match places.get_mut(&key) {
            Some(place) => place,
            None if way == Way::Newer => return None,
            None => {
                let prompts = state::session(key, |info| info.prompts.clone())?;
                if prompts.is_empty() {
                    // They may still be read from the disk.
                    return None;
                }
                places.entry(key).or_insert(Browsing {
                    at: prompts.len(),
                    prompts,
                    written: BTreeMap::new(),
                })
            }
        };
        let next = match way {
            Way::Older => place.at.checked_sub(1)?,
            Way::Newer => place.at + 1,
        };
        if next > place.prompts.len() {
            return None;
        }
        place.written.insert(place.at, text);
        place.at = next;
        let written = place.written.get(&next).cloned();
        let known = || place.prompts.get(next).map(|text| text.to_string());
        Some(written.or_else(known).unwrap_or_default())
    })
}
