//! Notices of agents outside of the conversation, and announcements about sessions.

use serde_json::{Value, json};

use super::world::{A1, World};
use crate::conversation::notices::{overall, turn_ended, waits};
use crate::conversation::session::Phase;
use crate::spine::effect::Level;

fn compaction(more: Value) -> Value {
    let mut update = json!({ "sessionUpdate": "compaction_update", "compactionId": "c" });
    for (key, value) in more.as_object().unwrap() {
        update[key] = value.clone();
    }
    update
}

#[test]
fn a_compaction_updates_one_entry() {
    let mut w = World::ready();
    w.updates(compaction(json!({ "status": "in_progress" })));
    w.says("Done.");
    assert_eq!(
        w.chat(),
        "◐ The agent is compacting the conversation\n\nDone."
    );
    for text in ["We were", " here.\n- a"] {
        w.updates(json!({
            "sessionUpdate": "compaction_summary_chunk", "compactionId": "c",
            "content": { "type": "text", "text": text },
        }));
    }
    w.updates(compaction(json!({ "status": "completed" })));
    assert_eq!(
        w.chat(),
        "✓ The agent has compacted the conversation\n  We were here.\n  - a\n\n\nDone."
    );
    w.updates(compaction(
        json!({ "summary": null, "status": "failed", "error": "too\nlong" }),
    ));
    assert_eq!(
        w.chat(),
        "✗ The agent could not compact the conversation: too long\n\nDone."
    );
}

#[test]
fn a_compaction_ends_with_its_agent() {
    let mut w = World::ready();
    w.updates(compaction(json!({ "status": "in_progress" })));
    w.exits(A1, "signal 9", &[]);
    let chat = w.chat();
    assert!(
        chat.starts_with("✗ Compacting the conversation was cancelled\n\n"),
        "{chat}"
    );
}

#[test]
fn an_agents_notices_are_in_the_transcript() {
    let mut w = World::ready();
    for severity in ["info", "warning", "error"] {
        w.updates(json!({ "sessionUpdate": "notice", "severity": severity, "title": severity }));
    }
    assert_eq!(w.chat(), "info\n\nwarning\n\nerror");
}

#[test]
fn notices_of_turn_ends_and_questions_are_short() {
    let mut w = World::ready();
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "Mend the parser" }));
    let mut info = w.model.snapshot().sessions.remove(0);
    let mut check = |title: Option<&str>, reason: &str, want: Option<(Level, &str)>| {
        info.title = title.map(str::to_owned);
        let got = turn_ended(&info, reason);
        assert_eq!(
            got.as_ref().map(|(level, text)| (*level, text.as_str())),
            want
        );
    };
    let title = Some("Mend the parser");
    check(
        title,
        "end_turn",
        Some((Level::Info, "bot (Mend the parser) is done.")),
    );
    check(
        None,
        "end_turn",
        Some((Level::Info, "bot (session 1) is done.")),
    );
    check(
        None,
        "error",
        Some((Level::Warn, "bot (session 1) has stopped with an error.")),
    );
    check(
        None,
        "refusal",
        Some((Level::Warn, "bot (session 1) has stopped: refusal.")),
    );
    check(title, "cancelled", None);
    check(title, "agent_exited", None);
    let long = "x".repeat(60);
    info.title = Some(long);
    let text = waits(&info);
    assert_eq!(
        text,
        format!("bot ({}…) waits for your answer.", "x".repeat(40))
    );
}

#[test]
fn the_title_names_who_waits_before_who_works() {
    let w = World::ready();
    let mut info = w.model.snapshot().sessions.remove(0);
    let mut check = |phases: &[Phase], want: Option<&str>| {
        let sessions: Vec<_> = phases
            .iter()
            .map(|phase| {
                info.phase = *phase;
                info.clone()
            })
            .collect();
        assert_eq!(overall(&sessions).as_deref(), want);
    };
    check(&[Phase::Idle, Phase::Dead, Phase::Starting], None);
    check(&[Phase::Running, Phase::Idle], Some("bot works"));
    check(&[Phase::Running, Phase::Running], Some("2 agents work"));
    check(&[Phase::Running, Phase::Waiting], Some("bot waits for you"));
    check(
        &[Phase::Waiting, Phase::Waiting],
        Some("2 agents wait for you"),
    );
}

#[test]
fn a_turn_that_compacts_and_says_nothing_more_has_said_something() {
    let mut w = World::ready();
    w.prompts("/compact");
    w.updates(compaction(json!({ "status": "completed" })));
    w.ends_turn("end_turn");
    assert!(
        w.chat()
            .ends_with("✓ The agent has compacted the conversation"),
        "{}",
        w.chat()
    );
}

#[test]
fn a_compaction_that_is_tried_again_has_no_error_and_all_blocks_of_its_summary() {
    let mut w = World::ready();
    w.updates(compaction(json!({ "status": "failed", "error": "busy" })));
    let text = |text: &str| json!({ "type": "text", "text": text });
    w.updates(compaction(json!({
        "status": "completed", "error": null, "summary": [text("One."), text("Two.")],
    })));
    assert_eq!(
        w.chat(),
        "✓ The agent has compacted the conversation\n  One.\n  \n  Two.\n"
    );
}
