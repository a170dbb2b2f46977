//! Invariants of the model and the world, checked in every test.

use std::path::Path;

use super::agent::Life;
use super::screen::{ALL, Chat, check_line};
use super::world::{FRAME, World};
use crate::conversation::agent::AgentState;
use crate::conversation::session::Phase;
use crate::event::{Event, SessionEvent};
use crate::model::Model;
use crate::spine::asker::Asker;
use crate::spine::attachment::Attachment;
use crate::spine::cx::Effects;
use crate::spine::effect::{Announcement, EditorEffect, Effect};
use crate::spine::ids::SessionKey;
use crate::spine::view::{Line, QuestionView};
use crate::update::update;
use crate::view::snapshot::Snapshot;
use crate::workspace::ledger::Review;
use acp::ToolStatus;

/// Checks the invariants that hold after every event.
pub fn check_model(model: &Model) {
    for (path, file) in model.workspace.reviews().iter() {
        assert_eq!(&file.path, path);
        check_ledger(&file.ledger);
        for ledger in file.turn_ledgers().chain(file.since_turns()) {
            check_ledger(ledger);
            assert_eq!(ledger.current(), file.ledger.current(), "a turn's text");
        }
        if let Some((_, document)) = model.workspace.documents().find(path) {
            assert_eq!(file.ledger.current(), &document.text, "{}", path.display());
        }
        // A review that an operation begins is announced with its first change.
        let is_being_changed = model.workspace.fileops().active(path).is_some();
        if !model.workspace.reviews().is_touched(path) && !is_being_changed {
            let pending = file
                .info
                .as_ref()
                .map(|info| (info.hunks.len(), &info.whole));
            let (hunks, whole) = (file.ledger.hunks().len(), file.whole());
            let is_pending = hunks > 0 || !whole.is_empty();
            assert_eq!(
                pending,
                is_pending.then_some((hunks, &whole)),
                "the snapshot of {}",
                path.display()
            );
        }
    }
    for (key, session) in model.conversation.sessions() {
        let served = session
            .agent()
            .is_none_or(|agent| model.conversation.agent(agent).is_some());
        assert!(served, "{key:?} waits for an agent that is gone");
        if session.is_in_turn() {
            let agent = session
                .agent()
                .and_then(|agent| model.conversation.agent(agent));
            let waits = agent.is_some_and(|agent| match session.outgoing() {
                Some(prompt) => {
                    let mut fetched = prompt.along().filter_map(Attachment::asked);
                    model.workspace.awaits_checkpoint(key)
                        || agent.state() == AgentState::Leaving
                        || fetched.any(|id| model.conversation.jobs().is_fetching(id))
                }
                None => {
                    let request = session.awaited();
                    request.is_some_and(|request| agent.pending().contains_key(&request))
                }
            });
            assert!(waits, "{key:?}: nothing will end its turn");
        }
    }
    check_openings(model);
    for open in model.questions.iter() {
        assert!(waits(model, &open.asker), "{open:?} has nobody who asks");
        assert!(
            model.conversation.session(open.session).is_some(),
            "{open:?} has no session"
        );
    }
}

/// Returns whether the asker of a question still exists.
fn waits(model: &Model, asker: &Asker) -> bool {
    match asker {
        Asker::Agent(agent, _) => model.conversation.agent(*agent).is_some(),
        Asker::Tool(id, _) => model.tools.is_open(*id),
    }
}

/// Checks that at most one request opens each session, also while its answer waits for the end of a
/// replay, and that session ids are unique per agent name.
fn check_openings(model: &Model) {
    for (key, session) in model.conversation.sessions() {
        for (agent, state) in model.conversation.agents() {
            let is_its = session.is_served_by(agent);
            // Answers of an agent that is shutting down are ignored.
            if state.state() != AgentState::Leaving {
                let calls = state.pending().values();
                let asked = calls.filter(|call| call.opens() == Some(key)).count();
                let is_answered = is_its && model.conversation.is_load_answered(agent, key);
                let asked = asked + usize::from(is_answered);
                let want = usize::from(is_its && session.is_asked_for());
                assert_eq!(asked, want, "{key:?} is opened by {agent:?}");
            }
        }
        let mut others = model
            .conversation
            .sessions()
            .filter(|(other, _)| *other != key);
        let shared =
            others.find(|(_, other)| other.id() == session.id() && other.name() == session.name());
        assert!(
            session.id().is_none() || shared.is_none(),
            "{key:?}: {shared:?}"
        );
    }
}

/// Checks that base + hunks = current: what is outside of the hunks is the same.
fn check_ledger(ledger: &Review) {
    let (base, current) = (ledger.base(), ledger.current());
    let (mut old, mut new) = (0, 0);
    for hunk in ledger.hunks() {
        assert!(old <= hunk.old.start && new <= hunk.new.start, "{ledger:?}");
        let same = base.lines(old..hunk.old.start);
        assert!(same.eq(current.lines(new..hunk.new.start)), "{ledger:?}");
        (old, new) = (hunk.old.end, hunk.new.end);
    }
    let same = base.lines(old..base.len());
    assert!(same.eq(current.lines(new..current.len())), "{ledger:?}");
}

/// Checks that the snapshot published with announcements contains them; of several about one thing,
/// the last.
pub fn check_announced(snapshot: &Snapshot, announced: &[&Announcement]) {
    let info = |session: &SessionKey| {
        let mut all = snapshot.sessions.iter();
        all.find(|info| info.session == *session)
    };
    let phase = |session: &SessionKey| info(session).map(|info| info.phase);
    let turn = |session: &SessionKey| {
        announced.iter().rev().find(|other| {
            matches!(other, Announcement::TurnStarted { session: s } | Announcement::TurnEnded { session: s, .. } if s == session)
        })
    };
    for announcement in announced {
        match announcement {
            Announcement::PermissionRequested { id, .. } => {
                assert!(
                    snapshot.questions.iter().any(|open| open.id == *id),
                    "{announcement:?}"
                );
            }
            Announcement::PermissionAnswered { id, .. } => {
                assert!(
                    snapshot.questions.iter().all(|open| open.id != *id),
                    "{announcement:?}"
                );
            }
            Announcement::ElicitationRequested { id, .. } => {
                assert!(
                    snapshot.questions.iter().any(|open| open.id == *id),
                    "{announcement:?}"
                );
            }
            Announcement::ElicitationAnswered { id, .. } => {
                assert!(
                    snapshot.questions.iter().all(|open| open.id != *id),
                    "{announcement:?}"
                );
            }
            Announcement::ReviewChanged { path, hunks } => {
                let shown = snapshot.reviews.iter().find(|review| review.path == *path);
                assert_eq!(shown.map_or(0, |review| review.hunks.len()), *hunks);
            }
            Announcement::TurnStarted { session } if turn(session) == Some(announcement) => {
                let phase = phase(session);
                assert!(
                    matches!(phase, Some(Phase::Running | Phase::Waiting)),
                    "{phase:?}"
                );
            }
            Announcement::TurnEnded {
                session,
                stop_reason,
            } if turn(session) == Some(announcement) => {
                let mut all = snapshot.sessions.iter();
                let info = all.find(|info| info.session == *session);
                let reason = info.and_then(|info| info.stop_reason.as_deref());
                assert!(info.is_none() || reason == Some(stop_reason), "{reason:?}");
                assert_ne!(phase(session), Some(Phase::Running));
            }
            Announcement::PlanChanged {
                session,
                done,
                total,
            } => {
                let plan = info(session).map(|info| info.plan.unwrap_or_default());
                assert_eq!(plan, Some((*done, *total)));
            }
            Announcement::TerminalExited { terminal, .. } => {
                let mut all = snapshot.terminals.iter();
                let info = all.find(|info| info.key == *terminal);
                assert!(
                    info.is_none_or(|info| info.state.is_over()),
                    "{announcement:?}"
                );
            }
            Announcement::ToolCall {
                session,
                status: ToolStatus::Pending | ToolStatus::InProgress,
                ..
            } => {
                let running = info(session).map(|info| info.tools.running);
                // Announced together with the turn's end, which ends the call.
                assert!(
                    running > Some(0) || turn(session).is_some(),
                    "{announcement:?}"
                );
            }
            _ => {}
        }
    }
}

/// Checks the invariants that hold when no work is pending.
pub fn check_rest(world: &mut World) {
    check_screen(world);
    let mut left = world.model.conversation.jobs().left();
    left.extend(world.model.workspace.jobs().left());
    left.extend(
        world
            .model
            .questions
            .checks()
            .values()
            .map(|check| format!("{check:?}")),
    );
    assert!(left.is_empty(), "jobs without a reply: {left:?}");
    assert!(
        world.model.workspace.fileops().is_empty(),
        "operations left: {:?}",
        world.model.workspace.fileops()
    );
    check_answered(world, "at rest");
    world.calls.check(&world.model, "at rest");
    check_kept(world);
    let sessions: Vec<SessionKey> = world
        .model
        .conversation
        .sessions()
        .map(|(key, _)| key)
        .collect();
    for session in sessions {
        world.happens(Event::Session(SessionEvent::Close { session }));
    }
    check_answered(world, "when all is closed");
    world.calls.check(&world.model, "when all is closed");
    let is_timed = world.model.tools.has_timers();
    assert!(!is_timed, "a call that is over is timed");
    assert!(
        world.model.conversation.agents().next().is_none(),
        "an agent that serves no session"
    );
    assert!(!world.shadow.is_open(), "a project without sessions");
    assert!(!world.shadow.has_turn, "a turn that is over");
    assert!(world.editor.permission.is_none());
    assert!(world.editor.elicitation.is_none());
    assert!(
        world.pty.running().is_empty(),
        "commands that outlive their sessions"
    );
}

/// Checks that the host keeps the pending reviews, with the bases the user accepted.
fn check_kept(world: &World) {
    let pending = world.model.workspace.reviews().iter();
    let documents = world.model.workspace.documents();
    let document = |path: &Path| documents.find(path).map(|(_, document)| document);
    let pending = pending.filter(|(path, _)| path.starts_with("/p"));
    let pending: Vec<_> = pending
        .filter_map(|(path, file)| {
            let kept = file.kept(path, document(path))?;
            let is_text = file.origin.is_text();
            Some((path, is_text.then(|| kept.base.text()).flatten()))
        })
        .collect();
    let kept = world.kept.iter();
    let kept: Vec<_> = kept
        .map(|kept| {
            let is_text = kept.base.is_text();
            (&kept.path, is_text.then(|| kept.base.text()).flatten())
        })
        .collect();
    assert_eq!(kept, pending, "what is kept");
    let asked: Vec<_> = world.asked.iter().collect();
    let pending: Vec<_> = pending.into_iter().map(|(path, _)| path).collect();
    if world.shadow.has_open("/p") {
        assert_eq!(asked, pending, "what the repository is asked about");
    }
}

/// Checks that every request is answered, except those that wait for the user or a command.
fn check_answered(world: &World, when: &str) {
    for (key, agent) in &world.agents {
        if agent.life == Life::Gone {
            continue;
        }
        let open = world.model.questions.iter().map(|open| &open.asker);
        let of_agent = |asker: &Asker| match asker {
            Asker::Agent(agent, request) if agent == key => Some(request.0.get().to_owned()),
            _ => None,
        };
        let mut open: Vec<String> = open.filter_map(of_agent).collect();
        open.extend(world.model.terminals.waiting(*key));
        open.sort();
        assert_eq!(agent.waiting(), open, "requests without a response {when}");
    }
}

/// Checks that the screen shows the model, and that nothing is dirty.
fn check_screen(world: &mut World) {
    for (key, session) in world.model.conversation.sessions() {
        let shown = world.editor.chats.get(&key);
        let shown = shown.map(|chat| (&chat.lines[..], &chat.folds[..]));
        let (lines, folds) = shown.unwrap_or_default();
        // The transcript does not tell whether its last message is complete.
        let of = |is_complete, lit| Chat::of(session.transcript(), session.cwd(), is_complete, lit);
        let texts = |lines: &[Line]| -> Vec<String> {
            lines.iter().map(|line| line.text.to_string()).collect()
        };
        // Code that no window has shown has no highlights.
        let is_lit = world.editor.sees.is_none();
        let fits = |is_complete| {
            let (lit, plain) = (of(is_complete, ALL).lines, of(is_complete, 0..0).lines);
            let mut both = lines.iter().zip(lit.iter().zip(&plain));
            both.all(|(line, (lit, plain))| line == lit || (!is_lit && line == plain))
        };
        let want = of(!fits(false), ALL);
        assert_eq!(texts(lines), texts(&want.lines), "the chat of {key:?}");
        assert!(
            fits(false) || fits(true),
            "{lines:#?} are not {:#?}",
            want.lines
        );
        assert_eq!(folds, want.folds, "the folds of {key:?}");
    }
    let (permission, elicitation) = match world.model.question_view() {
        Some(QuestionView::Permission(view)) => (Some(view), None),
        Some(QuestionView::Form(view)) => (None, Some(view)),
        None => (None, None),
    };
    for line in permission.iter().flat_map(|view| &view.lines) {
        check_line(line);
    }
    assert_eq!(world.editor.permission, permission);
    assert_eq!(world.editor.elicitation, elicitation);
    for (buf, buffer) in &world.editor.buffers {
        let Some(document) = world.model.workspace.documents().get(*buf) else {
            let is_elsewhere = buffer.real != world.disk.real(&buffer.path);
            assert!(is_elsewhere && buffer.modified, "{}", buffer.path.display());
            continue;
        };
        // A buffer always has a line; an empty file has none.
        let is_empty = buffer.text.len() == 1 && buffer.text.len_bytes() == 1;
        let text = match is_empty {
            true => Default::default(),
            false => buffer.text.clone(),
        };
        assert_eq!(document.text, text, "{}", buffer.path.display());
        assert_eq!(
            document.state.tick,
            buffer.tick,
            "{}",
            buffer.path.display()
        );
        assert_eq!(
            document.state.modified,
            buffer.modified,
            "{}",
            buffer.path.display()
        );
        let drawn = world.editor.hunks.get(buf).into_iter().flatten();
        let drawn = drawn.filter(|hunk| hunk.proposed.is_some());
        let proposals = world.model.workspace.proposals().views(&document.path);
        assert!(drawn.eq(&proposals), "the proposals: {proposals:?}");
        for (_, file) in world.model.workspace.proposals().of_file(&document.path) {
            for hunk in &file.hunks {
                assert_eq!(document.text.to_lines(hunk.rows.clone()), hunk.old);
            }
        }
        let shown = world.editor.hunks.get(buf).into_iter().flatten();
        let shown: Vec<(usize, usize, bool)> = shown
            .filter(|hunk| hunk.proposed.is_none())
            .map(|hunk| (hunk.row, hunk.count, hunk.conflict))
            .collect();
        let review = world.model.workspace.reviews().get(&document.path);
        let hunks = review.into_iter().flat_map(|review| review.ledger.hunks());
        let want: Vec<(usize, usize, bool)> = hunks
            .map(|hunk| (hunk.new.start, hunk.new.len(), hunk.conflict.is_some()))
            .collect();
        assert_eq!(shown, want, "the hunks in {}", buffer.path.display());
    }
    for (key, session) in world.model.conversation.sessions() {
        let shown = world.editor.queues.get(&key);
        let shown = shown.map_or(&[][..], |view| &view.ids);
        let waiting = session.queue().infos();
        assert!(shown.iter().eq(waiting.iter().map(|info| &info.id)));
    }
    let mut effects = Effects::default();
    update(&mut world.model, FRAME, &mut effects, || None);
    let is_idle = |effect: &Effect| matches!(effect, Effect::Editor(EditorEffect::Frame(frame)) if frame.patches.is_empty());
    assert!(
        effects.iter().all(is_idle),
        "dirty, and nobody was woken: {effects:?}"
    );
}
