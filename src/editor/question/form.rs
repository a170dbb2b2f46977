//! A form or a page in the window of questions: from field to field, into one, and the answers.
//!
//! Invariant: a page is opened only by the user's key.

use std::collections::BTreeMap;

use nvim_oxi::mlua::{self, Table, Value};

use super::{answer, bind, cancel, field, map, shown, valid_window, with};
use crate::editor::kit::window;
use crate::editor::notify::notify;
use crate::editor::nvim::{self, Callable, api};
use crate::editor::{keys, state};
use acp_core::form::{Ask, Form};
use acp_core::questions::Answer;
use acp_core::questions::elicitation::ElicitationAnswer;
use acp_core::questions::formview::{self, Act, Draft, Row};
use acp_core::spine::effect::Level;
use acp_core::spine::ids::QuestionId;
use acp_core::spine::view::{ElicitationView, Line, QuestionView};

/// The state of filling in forms.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// The entries of each form, including forms another question has temporarily replaced.
    drafts: BTreeMap<QuestionId, Draft>,
    /// The meaning of each line.
    rows: Vec<Row>,
    /// The last warning: this answer would drop this draft; the cursor was on this row.
    pub(super) warned: Option<(Act, Draft, usize)>,
    /// The field that the user types into.
    pub(super) editing: Option<field::Editing>,
}

/// Keys that would change the read-only lines; those without a configured mapping do nothing.
///
/// Operators are listed with their motions: mapped alone, they would also consume a key for a
/// field.
const EDITS: [&str; 26] = [
    "dd", "dw", "de", "d$", "diw", "cc", "cw", "ce", "c$", "ciw", "x", "X", "D", "C", "s", "S",
    "o", "O", "p", "P", "r", "R", "J", "u", "~", "<Del>",
];

/// The cursor's destination from a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Stay,
    Next,
    Prev,
    Submit,
}

fn form() -> Option<ElicitationView> {
    match shown()? {
        QuestionView::Form(view) => Some(view),
        QuestionView::Permission(_) => None,
    }
}

/// Runs `body` with the form and the user's entries.
pub(super) fn with_form<R>(body: impl FnOnce(&Form, &mut Draft) -> R) -> Option<R> {
    let view = form()?;
    let Ask::Form(form) = &view.ask else {
        return None;
    };
    with(|window| Some(body(form, window.filling.drafts.get_mut(&view.id)?)))
}

fn draft() -> Option<Draft> {
    let id = form()?.id;
    with(|window| window.filling.drafts.get(&id).cloned())
}

/// Starts the draft of a question, unless it has one.
pub(super) fn came(view: &ElicitationView, is_other: bool) {
    with(|window| {
        let filling = &mut window.filling;
        let draft = filling.drafts.entry(view.id);
        draft.or_insert_with(|| Draft::of(&view.ask));
        filling.warned = filling.warned.take().filter(|_| !is_other);
    });
    forget_drafts();
}

/// Drops the drafts of questions that are no longer pending.
pub(super) fn forget_drafts() {
    let snapshot = state::snapshot();
    let shown = form().map(|view| view.id);
    with(|window| {
        window.filling.drafts.retain(|id, _| {
            let mut open = snapshot.questions.iter();
            Some(*id) == shown || open.any(|open| open.id == id.0)
        });
    });
}

/// Returns the lines of a question, and the row to which the cursor moves from `before`.
pub(super) fn lines(view: &ElicitationView, before: usize) -> (Vec<Line>, Option<usize>) {
    let draft = draft().unwrap_or_default();
    let (lines, rows) = formview::render(view, &draft, key_of);
    let at = row_at(before).filter(|row| *row != Row::Text);
    let row = at.and_then(|at| rows.iter().position(|row| *row == at));
    with(|window| window.filling.rows = rows);
    (lines, row)
}

/// Returns a hint for the frame: the keys that a user in the window needs first.
pub(super) fn hint(ask: &Ask) -> String {
    let key = |name: &str, words: &str| {
        let key = keys::of("form", name).into_iter().next()?;
        Some(format!("{} {words}", keys::shown(&key)))
    };
    let mut hints = Vec::new();
    if matches!(ask, Ask::Form(form) if !form.fields.is_empty()) {
        match formview::is_one_choice(ask) {
            true => hints.push("<CR> answers".to_owned()),
            false => {
                hints.push("<CR> fills in".to_owned());
                hints.extend(key("next", "goes on"));
            }
        }
    }
    hints.extend(key("leave", "leaves it open"));
    format!(" {} ", hints.join(" · "))
}

/// Returns the key for an act, as the user types it.
fn key_of(act: Act) -> String {
    let key = keys::of("form", act.name()).into_iter().next();
    key.map_or_else(String::new, |key| keys::shown(&key))
}

pub(super) fn set_keys(buf: i32, view: &ElicitationView) -> mlua::Result<()> {
    for key in EDITS {
        keys::map_to(buf, "n", key, "Nothing can be written here", "<Nop>")?;
    }
    for act in formview::acts(&view.ask) {
        let desc = "Answers, or does what the line of this key says";
        bind(buf, ("form", act.name()), desc, move || perform(act))?;
    }
    map(buf, "<CR>", "Does what the line is for", enter)?;
    for (name, to) in [("next", Move::Next), ("prev", Move::Prev)] {
        let desc = "Goes to another field";
        keys::bind(buf, &["n"], ("form", name), desc, move |_| go(to))?;
    }
    bind(buf, ("form", "toggle"), "Ticks or chooses", || {
        row_here().map_or(Ok(()), toggle)
    })?;
    bind(buf, ("form", "edit"), "Writes into the field", write_here)?;
    let session = view.session;
    bind(buf, ("form", "cancel"), "Cancels the turn", move || {
        cancel(session)
    })
}

/// Returns the meaning of a row.
pub(super) fn row_at(row: usize) -> Option<Row> {
    with(|window| window.filling.rows.get(row).copied())
}

/// Returns the meaning of the line under the cursor.
fn row_here() -> Option<Row> {
    let win = valid_window().ok()??;
    row_at(window::row(win).ok()?)
}

/// Returns the first row with a meaning.
pub(super) fn find_row(is_it: impl Fn(&Row) -> bool) -> Option<usize> {
    with(|window| window.filling.rows.iter().position(is_it))
}

fn enter() -> mlua::Result<()> {
    match row_here() {
        Some(Row::Act(act)) => perform(act),
        Some(row @ Row::Choice(..)) if is_one_choice() => {
            with_form(|form, draft| draft.choose(form, row));
            submit()
        }
        Some(row @ (Row::Flag(_) | Row::Choice(..))) => toggle(row),
        Some(_) => write_here(),
        None => Ok(()),
    }
}

/// Returns whether a choice answers the whole form.
fn is_one_choice() -> bool {
    form().is_some_and(|view| formview::is_one_choice(&view.ask))
}

/// Goes into the field under the cursor, also from its title.
fn write_here() -> mlua::Result<()> {
    match row_here() {
        Some(Row::Title(number) | Row::Value(number) | Row::More(number)) => field::edit(number),
        _ => Ok(()),
    }
}

fn toggle(row: Row) -> mlua::Result<()> {
    with_form(|form, draft| draft.toggle(form, row));
    super::draw()
}

/// Returns the rows of the fields and of the acts.
fn stops() -> Vec<usize> {
    let Some(draft) = draft() else {
        return Vec::new();
    };
    with(|window| formview::stops(&window.filling.rows, &draft))
}

/// Goes to the first field, or to the first act.
pub(super) fn go_to_first() -> mlua::Result<()> {
    match (valid_window()?, stops().first()) {
        (Some(win), Some(row)) => {
            window::set_row(win, *row)?;
            // Shows the text above it.
            show_from_top(win)
        }
        _ => Ok(()),
    }
}

/// Goes to the next or previous field, and around the ends.
pub(super) fn go(to: Move) -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let here = window::row(win)?;
    let stops = stops();
    let row = match to {
        Move::Prev => {
            let mut above = stops.iter().rev();
            above.find(|stop| **stop < here).or(stops.last())
        }
        _ => {
            let mut below = stops.iter();
            below.find(|stop| **stop > here).or(stops.first())
        }
    };
    row.map_or(Ok(()), |row| window::set_row(win, *row))
}

pub(super) fn perform(act: Act) -> mlua::Result<()> {
    if act.drops() && !is_sure(act)? {
        return Ok(());
    }
    match act {
        Act::Submit | Act::Yes => submit(),
        Act::Open => open_page(),
        Act::Copy => copy(),
        Act::Decline | Act::No => reply(ElicitationAnswer::Decline),
        Act::Dismiss => reply(ElicitationAnswer::Cancel),
    }
}

/// Returns whether an answer may drop the user's entries: it was repeated on the same row, and
/// nothing was entered in between.
fn is_sure(act: Act) -> mlua::Result<bool> {
    let row = valid_window()?.map_or(Ok(0), window::row)?;
    let (Some(view), Some(draft)) = (form(), draft()) else {
        return Ok(true);
    };
    if !draft.is_filled_in(&view.ask) {
        return Ok(true);
    }
    let asked = Some((act, draft, row));
    let is_sure = with(|window| {
        let is_sure = window.filling.warned == asked;
        window.filling.warned = asked;
        is_sure
    });
    if !is_sure {
        let key = Some(key_of(act)).filter(|key| !key.is_empty());
        let key = key.unwrap_or_else(|| "<CR>".to_owned());
        let name = act.name();
        let text = format!("Press {key} again to {name}: your entries are discarded.");
        notify(Level::Warn, &text)?;
    }
    Ok(is_sure)
}

/// Answers with the user's entries, or goes to the first invalid field.
fn submit() -> mlua::Result<()> {
    let taken = with_form(|form, draft| {
        let taken = form.take(&draft.entries);
        draft.mistakes = taken.as_ref().err().cloned().unwrap_or_default();
        taken
    });
    match taken {
        Some(Ok(content)) => reply(ElicitationAnswer::Accept(content)),
        Some(Err(mistakes)) => {
            super::draw()?;
            let first = mistakes.first().map(|(number, _)| *number);
            let row = find_row(|row| match row {
                Row::Value(number) | Row::Choice(number, _) => Some(*number) == first,
                _ => false,
            });
            match (valid_window()?, row) {
                (Some(win), Some(row)) => window::set_row(win, row),
                _ => Ok(()),
            }
        }
        None => Ok(()),
    }
}

fn reply(reply: ElicitationAnswer) -> mlua::Result<()> {
    match form() {
        Some(view) => answer(view.id, Answer::Elicitation(reply)),
        None => Ok(()),
    }
}

fn url() -> Option<String> {
    match form()?.ask {
        Ask::Page { page, .. } => Some(page.url),
        Ask::Form(_) => None,
    }
}

/// Opens the page in the user's browser and, if that works, accepts.
fn open_page() -> mlua::Result<()> {
    let Some(url) = url() else {
        return Ok(());
    };
    let open: Callable = nvim::vim()?.get::<Table>("ui")?.get("open")?;
    let problem = match open.call::<(Value, Option<String>)>(url) {
        Ok((_, problem)) => problem,
        Err(error) => Some(nvim::message(&error)),
    };
    match problem {
        None => reply(ElicitationAnswer::Accept(Default::default())),
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
    // Without a clipboard the address is in the register above.
    let _: mlua::Result<()> = nvim::vim_fn("setreg", ("+", url.as_str()));
    notify(Level::Info, "The address is copied.")
}

/// Scrolls up as far as the cursor allows.
fn show_from_top(win: i32) -> mlua::Result<()> {
    let last = i64::try_from(window::row(win)?).unwrap_or(i64::MAX);
    match last < window::height(win)? {
        true => window::set_view(win, nvim::table([("topline", nvim::value(1))])?),
        false => Ok(()),
    }
}

/// Scrolls up if all lines have room: Neovim leaves a window scrolled that was smaller before.
pub(super) fn show_all(win: i32) -> mlua::Result<()> {
    let size: Table = api("nvim_win_text_height", (win, nvim::empty()?))?;
    match size.get::<i64>("all")? <= window::height(win)? {
        true => show_from_top(win),
        false => Ok(()),
    }
}
