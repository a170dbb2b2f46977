//! What holds at each event, and at the end.

use super::agent::Life;
use super::world::World;
use acp_core::event::{Event, SessionEvent};
use acp_core::model::Model;
use acp_core::spine::effect::Announcement;
use acp_core::spine::ids::SessionKey;
use acp_core::view::snapshot::Snapshot;

/// Checks that the text outside of the hunks is the base's.
pub fn check_model(model: &Model) {
    for (path, file) in model.workspace.reviews().iter() {
        let (base, current) = (file.ledger.base(), file.ledger.current());
        let (mut old, mut new) = (0, 0);
        for hunk in file.ledger.hunks() {
            let same = base.lines(old..hunk.old.start);
            assert!(same.eq(current.lines(new..hunk.new.start)), "{path:?}");
            (old, new) = (hunk.old.end, hunk.new.end);
        }
        let same = base.lines(old..base.len());
        assert!(same.eq(current.lines(new..current.len())), "{path:?}");
    }
}

/// Checks that the snapshot has the hunks that are announced.
pub fn check_announced(snapshot: &Snapshot, announced: &[&Announcement]) {
    for announcement in announced {
        if let Announcement::ReviewChanged { path, hunks } = announcement {
            let shown = snapshot.reviews.iter().find(|review| review.path == *path);
            assert_eq!(shown.map_or(0, |review| review.hunks.len()), *hunks);
        }
    }
}

/// Checks that every request is answered, that exactly the pending reviews are stored, and that an
/// agent ends with its sessions.
pub fn check_rest(world: &mut World) {
    check_answered(world);
    check_kept(world);
    let sessions = world.model.conversation.sessions();
    let sessions: Vec<SessionKey> = sessions.map(|(key, _)| key).collect();
    for session in sessions {
        world.happens(Event::Session(SessionEvent::Close { session }));
    }
    check_answered(world);
    assert_eq!(world.model.conversation.agents().count(), 0);
}

/// Checks that the host keeps the pending reviews, with the texts that the user has accepted.
pub fn check_kept(world: &World) {
    let documents = world.model.workspace.documents();
    let pending = world
        .model
        .workspace
        .reviews()
        .iter()
        .filter_map(|(path, file)| {
            let document = documents.find(path).map(|(_, document)| document);
            let kept = file.kept(path, document)?;
            Some((path, file.origin.is_text(), kept.base.text()))
        });
    let pending: Vec<_> = pending.collect();
    let kept: Vec<_> = world.kept.iter().map(|kept| &kept.path).collect();
    let paths: Vec<_> = pending.iter().map(|(path, ..)| *path).collect();
    assert_eq!(kept, paths, "what is kept");
    for (kept, (path, is_text, base)) in world.kept.iter().zip(pending) {
        assert!(!is_text || kept.base.text() == base, "{path:?}: {kept:?}");
    }
}

fn check_answered(world: &World) {
    for agent in world.agents.values() {
        let waiting = agent.waiting();
        assert!(
            agent.life == Life::Gone || waiting.is_empty(),
            "{waiting:?}"
        );
    }
}
