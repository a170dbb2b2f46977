//! The keys of a form's window: from field to field, into one, and the answers.

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::{
    cursor, draw, field, is_meant, leave, set_cursor, stops, valid_window, with, with_form,
};
use crate::editor::apply::notify;
use crate::editor::keys;
use crate::editor::nvim::{self, api};
use crate::editor::state::send;
use acp_core::questions::elicitation::{Ask, ElicitationAnswer};
use acp_core::questions::formview::{self, Act, Row};
use acp_core::render::view::ElicitationView;
use acp_core::spine::effect::Level;
use acp_core::spine::event::Event;

/// Keys that would change the lines, which are not for that; all but the configured ones are idle.
///
/// The operators only in whole: what follows them might be a key that goes into a field.
const EDITS: [&str; 26] = [
    "dd", "dw", "de", "d$", "diw", "cc", "cw", "ce", "c$", "ciw", "x", "X", "D", "C", "s", "S",
    "o", "O", "p", "P", "r", "R", "J", "u", "~", "<Del>",
];

/// Where to go from a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Next,
    Prev,
    Submit,
}

/// Returns the key that does something, as the user types it.
pub(super) fn key_of(act: Act) -> String {
    let key = keys::of("form", act.name()).into_iter().next();
    key.map_or_else(String::new, |key| keys::shown(&key))
}

pub(super) fn set_keys(buf: i32, view: &ElicitationView) -> mlua::Result<()> {
    let old: Vec<Table> = api("nvim_buf_get_keymap", (buf, "n"))?;
    for map in old {
        let lhs: String = map.get("lhs")?;
        api::<()>("nvim_buf_del_keymap", (buf, "n", lhs))?;
    }
    for key in EDITS {
        keys::map_to(buf, "n", key, "Nothing can be written here", "<Nop>")?;
    }
    for act in formview::acts(&view.ask) {
        for key in keys::of("form", act.name()) {
            let desc = "Answers, or does what the line of this key says";
            keys::map(buf, "n", &key, desc, move || perform(act))?;
        }
    }
    keys::map(buf, "n", "<CR>", "Does what the line is for", enter)?;
    for (key, to) in [("j", "gj"), ("k", "gk"), ("<Down>", "gj"), ("<Up>", "gk")] {
        keys::map_to(buf, "n", key, "Goes to the next row on the screen", to)?;
    }
    for (name, step) in [("next", Step::Next), ("prev", Step::Prev)] {
        for key in keys::of("form", name) {
            keys::map(buf, "n", &key, "Goes to another field", move || go(step))?;
        }
    }
    for key in keys::of("form", "toggle") {
        keys::map(buf, "n", &key, "Ticks or chooses", || {
            row_here().map_or(Ok(()), toggle)
        })?;
    }
    for key in keys::of("form", "edit") {
        keys::map(buf, "n", &key, "Writes into the field", write_here)?;
    }
    for key in keys::of("form", "leave") {
        keys::map(buf, "n", &key, "Leaves the question open", leave)?;
    }
    let session = view.session;
    for key in keys::of("form", "cancel") {
        keys::map(buf, "n", &key, "Cancels the turn", move || {
            if is_meant() {
                send(Event::Cancel { session });
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns what the line under the cursor stands for.
fn row_here() -> Option<Row> {
    let win = valid_window().ok()??;
    let row = cursor(win).ok()?;
    with(|window| window.rows.get(row).copied())
}

fn enter() -> mlua::Result<()> {
    match row_here() {
        Some(Row::Act(act)) => perform(act),
        Some(row @ (Row::Flag(_) | Row::Choice(..))) => toggle(row),
        Some(_) => write_here(),
        None => Ok(()),
    }
}

/// Goes into the field under the cursor, or into the one that its title belongs to.
fn write_here() -> mlua::Result<()> {
    let (Some(Row::Title(number) | Row::Value(number) | Row::More(number)), true) =
        (row_here(), is_meant())
    else {
        return Ok(());
    };
    field::edit(number)
}

fn toggle(row: Row) -> mlua::Result<()> {
    if !is_meant() {
        return Ok(());
    }
    with_form(|form, draft| draft.toggle(form, row));
    draw()
}

/// Goes to the next field, or to the one before; from the last one to the first.
pub(super) fn go(step: Step) -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let here = cursor(win)?;
    let stops = stops();
    let to = match step {
        Step::Prev => stops
            .iter()
            .rev()
            .find(|stop| **stop < here)
            .or(stops.last()),
        _ => stops.iter().find(|stop| **stop > here).or(stops.first()),
    };
    match to {
        Some(row) => set_cursor(win, *row),
        None => Ok(()),
    }
}

pub(super) fn perform(act: Act) -> mlua::Result<()> {
    if !is_meant() || act.drops() && !is_sure(act)? {
        return Ok(());
    }
    match act {
        Act::Submit | Act::Yes => submit(),
        Act::Open => open_page(),
        Act::Copy => copy(),
        Act::Decline | Act::No => answer(ElicitationAnswer::Decline),
        Act::Dismiss => answer(ElicitationAnswer::Cancel),
    }
}

/// Tells whether an answer may drop what is filled in: the second time in the same place, with
/// nothing else entered between.
fn is_sure(act: Act) -> mlua::Result<bool> {
    let row = match valid_window()? {
        Some(win) => cursor(win)?,
        None => 0,
    };
    let is_sure = with(|window| {
        let view = window.view.as_ref()?;
        let draft = window.drafts.get(&view.id)?;
        if !draft.is_filled_in(&view.ask) {
            return Some(true);
        }
        let asked = Some((act, draft.clone(), row));
        let is_sure = window.warned == asked;
        window.warned = asked;
        Some(is_sure)
    });
    if is_sure == Some(false) {
        let key = Some(key_of(act)).filter(|key| !key.is_empty());
        let key = key.unwrap_or_else(|| "<CR>".to_owned());
        let name = act.name();
        let text = format!("Press {key} again to {name}: what is filled in is dropped.");
        notify(Level::Warn, &text)?;
    }
    Ok(is_sure != Some(false))
}

/// Answers with what was entered, or goes to the first field that is wrong.
fn submit() -> mlua::Result<()> {
    let taken = with_form(|form, draft| {
        let taken = form.take(&draft.entries);
        draft.mistakes = taken.as_ref().err().cloned().unwrap_or_default();
        taken
    });
    match taken {
        Some(Ok(content)) => answer(ElicitationAnswer::Accept(content)),
        Some(Err(mistakes)) => {
            draw()?;
            let first = mistakes.first().map(|(number, _)| *number);
            let is_it = |row: &Row| match row {
                Row::Value(number) | Row::Choice(number, _) => Some(*number) == first,
                _ => false,
            };
            let row = with(|window| window.rows.iter().position(is_it));
            match (valid_window()?, row) {
                (Some(win), Some(row)) => set_cursor(win, row),
                _ => Ok(()),
            }
        }
        None => Ok(()),
    }
}

fn answer(answer: ElicitationAnswer) -> mlua::Result<()> {
    let id = with(|window| {
        window.answered = true;
        window.view.as_ref().map(|view| view.id)
    });
    if let Some(id) = id {
        send(Event::ElicitationAnswer { id, answer });
    }
    Ok(())
}

fn url() -> Option<String> {
    with(|window| match &window.view.as_ref()?.ask {
        Ask::Page { page, .. } => Some(page.url.clone()),
        Ask::Form(_) => None,
    })
}

/// Opens the page in the user's browser; the agent hears of it if that works.
fn open_page() -> mlua::Result<()> {
    let Some(url) = url() else {
        return Ok(());
    };
    let open: Function = nvim::vim()?.get::<Table>("ui")?.get("open")?;
    let problem = match open.call::<(Value, Option<String>)>(url) {
        Ok((_, problem)) => problem,
        Err(error) => Some(nvim::message(&error)),
    };
    match problem {
        None => answer(ElicitationAnswer::Accept(Default::default())),
        Some(why) => {
            let key = key_of(Act::Copy);
            let text = format!("The page could not be opened ({why}): {key} copies its address.");
            notify(Level::Error, &text)
        }
    }
}

fn copy() -> mlua::Result<()> {
    let Some(url) = url() else {
        return Ok(());
    };
    nvim::vim_fn::<()>("setreg", ("\"", url.as_str()))?;
    // Without a clipboard there is the register above.
    let _: mlua::Result<()> = nvim::vim_fn("setreg", ("+", url.as_str()));
    notify(Level::Info, "The address is copied.")
}
