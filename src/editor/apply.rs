//! Applies effects and frames on the main thread.

use std::rc::Rc;

use nvim_oxi::mlua::{self, Value};

use super::ask::{self, Choice};
use super::edit::{self, Edit};
use super::kit::buffer;
use super::notify::notify;
use super::nvim::{self, api};
use super::panel::{Contents, Kind};
use super::state::send;
use super::{
    chat, follow, guard, heard, input, moved, notices, outside, panel, past, question, queue,
    review, reviewlist, status, terminal, tools, tui, whole, winbar,
};
use acp_core::event::{Event, ReviewEvent};
use acp_core::spine::effect::{Announcement, EditorEffect};
use acp_core::spine::event::UndoStep;
use acp_core::spine::ids::TurnKey;
use acp_core::spine::view::{Frame, Patch, UndoView};
use acp_edge::panics;

/// Applies a frame: one patch per view that changed.
///
/// A view that cannot be drawn hides no other one. It is drawn anew without highlights; if that
/// fails too, the message is all there is, and a question is asked in a list.
pub fn frame(frame: Frame) {
    heard::forget();
    for patch in frame.patches {
        let place = place(&patch);
        match patch {
            Patch::Chat { session, life, ops } => {
                if !guard::succeeds(place, || chat::apply(session, life, ops)) {
                    guard::run(place, || chat::draw_anew(session));
                }
            }
            Patch::Review { buf, tick, hunks } => {
                let hunks = Rc::new(hunks);
                let draw = || review::show(buf, tick, Rc::clone(&hunks));
                if !guard::succeeds(place, draw) {
                    // Nothing is shown now, so that each hunk is drawn anew.
                    guard::run(place, draw);
                }
                guard::run(place, question::give_way);
            }
            Patch::Follow { session, view } => guard::run(place, || follow::show(session, view)),
            Patch::Terminal {
                terminal,
                is_anew,
                bytes,
            } => guard::run(place, || terminal::output(terminal, is_anew, &bytes)),
            Patch::Question(view) => {
                let draw = || {
                    panics::inject(place);
                    question::show(view.clone())
                };
                if !guard::succeeds(place, draw) && !plainly(place, draw) {
                    guard::run(place, || question::is_not_drawn(view));
                }
            }
            other => {
                let draw = || {
                    panics::inject(place);
                    draw(&other)
                };
                if !guard::succeeds(place, draw) {
                    plainly(place, draw);
                }
            }
        }
    }
    status::note();
    guard::run("drawing a terminal", terminal::refresh);
    guard::run("setting the terminal's title", tui::show_title);
}

/// Draws a view without highlights; returns whether that succeeded.
fn plainly(place: &'static str, draw: impl Fn() -> mlua::Result<()>) -> bool {
    guard::succeeds(place, || buffer::plainly(draw))
}

/// Draws a view whose patch is all of it.
fn draw(patch: &Patch) -> mlua::Result<()> {
    match patch {
        Patch::ChatTitle { session, title } => winbar::set(*session, title.clone()),
        Patch::Attached { session, labels } => input::set_attached(*session, labels.clone()),
        Patch::Plan { session, view } => {
            let contents = view.as_ref().map(|view| Contents {
                lines: view.lines.clone(),
                current: Some(view.current),
            });
            panel::show(*session, Kind::Plan, contents)
        }
        Patch::Queue { session, view } => queue::show(*session, view),
        Patch::ReviewList(view) => reviewlist::show(view),
        Patch::ReviewPreview(view) => reviewlist::preview(view),
        Patch::Chat { .. }
        | Patch::Review { .. }
        | Patch::Follow { .. }
        | Patch::Terminal { .. }
        | Patch::Question(_) => Ok(()),
    }
}

/// Returns the activity that messages about a failed patch name.
fn place(patch: &Patch) -> &'static str {
    match patch {
        Patch::Chat { .. } => chat::DRAWING,
        Patch::ChatTitle { .. } => "drawing the chat's title",
        Patch::Attached { .. } => "drawing the attachments",
        Patch::Plan { .. } => "drawing the plan",
        Patch::Queue { .. } => "drawing the queue",
        Patch::Question(_) => "drawing the question",
        Patch::Review { .. } => "drawing the hunks",
        Patch::Follow { .. } => "following the agent",
        Patch::Terminal { .. } => "drawing a terminal",
        Patch::ReviewList(_) => "drawing the review list",
        Patch::ReviewPreview(_) => "drawing the review's preview",
    }
}

/// Carries out an effect other than a frame.
///
/// # Errors
/// Neovim's error.
pub fn effect(effect: EditorEffect) -> mlua::Result<()> {
    if !matches!(effect, EditorEffect::Emit(_)) {
        heard::forget();
    }
    match effect {
        EditorEffect::Edit {
            token,
            buf,
            tick,
            edits,
            save,
            hard_links,
            roots,
        } => {
            let edit = Edit {
                token,
                buf,
                tick,
                edits,
                save,
                hard_links,
                roots,
            };
            edit::run(edit)
        }
        EditorEffect::Deleted { buf } => outside::deleted(buf),
        EditorEffect::Moved { buf, path } => moved::moved_to(buf, &path),
        EditorEffect::Relinked { buf } => moved::relinked(buf),
        EditorEffect::AskUndo { turn, view } => ask_undo(turn, &view),
        EditorEffect::Candidates { session } => input::candidates_came(session),
        EditorEffect::ShowWhole(view) => whole::show(view),
        EditorEffect::Queued { session } => queue::tell(session),
        EditorEffect::PutPrompt { session, prompt } => queue::put_back(session, prompt),
        EditorEffect::RunTool {
            id,
            session,
            name,
            roots,
            arguments,
        } => tools::run(id, session, &name, &roots, arguments),
        EditorEffect::ToolAnswer { id, number, result } => tools::answer(id, number, result),
        EditorEffect::StopTool { id } => tools::stop(id),
        EditorEffect::Granted { number, granted } => past::granted(number, granted),
        EditorEffect::Notify { level, text } => notify(level, &text),
        EditorEffect::Emit(announcement) => emit(announcement),
        EditorEffect::Wake | EditorEffect::Frame(_) => Ok(()),
    }
}

/// Asks the user whether to undo a turn.
fn ask_undo(turn: TurnKey, view: &UndoView) -> mlua::Result<()> {
    let yes = Choice::new('y', "undo it", move || {
        send(Event::Review(ReviewEvent::UndoTurn {
            session: None,
            step: UndoStep::Undo(Some(turn)),
        }));
        Ok(())
    });
    ask::show_lines(&view.title, &view.lines, vec![yes])
}

/// Runs the autocommands of an announcement; then notifies the user of events in chats out of view.
fn emit(announcement: Announcement) -> mlua::Result<()> {
    let notice = match &announcement {
        Announcement::TurnEnded {
            session,
            stop_reason,
        } => Some((*session, Some(stop_reason.clone()), false)),
        Announcement::PermissionRequested { session, id }
        | Announcement::ElicitationRequested { session, id } => {
            let snapshot = super::state::snapshot();
            // The oldest one is on the screen.
            let shown = snapshot.questions.first().map(|open| open.id);
            Some((*session, None, shown == Some(*id)))
        }
        _ => None,
    };
    if matches!(announcement, Announcement::ReviewChanged { .. }) {
        guard::run("dropping keys", review::drop_keys);
    }
    status::note();
    announce(announcement)?;
    match notice {
        Some((session, Some(reason), _)) => notices::turn_is_over(session, &reason),
        Some((session, None, is_shown)) => notices::question_waits(session, is_shown),
        None => Ok(()),
    }
}

fn announce(announcement: Announcement) -> mlua::Result<()> {
    let is_frequent = matches!(
        announcement,
        Announcement::ToolCall { .. } | Announcement::PlanChanged { .. }
    );
    if is_frequent && !heard::is_any()? {
        return Ok(());
    }
    heard::forget();
    if matches!(announcement, Announcement::TurnStarted { .. }) {
        super::swap::complete_all()?;
    }
    let Value::Table(opts) = nvim::data(&announcement)? else {
        return Ok(());
    };
    opts.set("modeline", false)?;
    api("nvim_exec_autocmds", ("User", opts))
}
