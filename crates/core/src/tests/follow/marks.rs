//! Marks of agents' positions, the modes of following, and each place visited at most once.

use crate::event::{SessionEvent, ViewEvent};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::questions::Answer;
use crate::spine::ids::SessionKey;
use crate::tests::world::Part;

#[track_caller]
fn check_deed(call_of: Value, want: &str) {
    let mut w = followed(Follow::Off);
    let mut all = json!({ "toolCallId": "t", "locations": [at(F, 3)] });
    for (key, value) in call_of.as_object().unwrap() {
        all[key] = value.clone();
    }
    call(&mut w, all);
    assert_eq!(mark(&w), Some((2, want)));
    // Following is off.
    assert_eq!(went(&w), [""; 0]);
}

#[test]
fn the_mark_names_the_agents_activity() {
    check_deed(json!({ "kind": "read" }), "bot reads");
    check_deed(json!({ "kind": "edit" }), "bot edits");
    check_deed(json!({ "kind": "delete" }), "bot deletes");
    check_deed(json!({ "kind": "search" }), "bot searches");
    let run = json!({ "kind": "execute", "rawInput": { "command": "cargo test\nls" } });
    check_deed(run, "bot runs: cargo test");
    check_deed(
        json!({ "kind": "execute", "title": "Tests" }),
        "bot runs: Tests",
    );
    check_deed(json!({ "kind": "think", "title": "Hm" }), "bot is here: Hm");
    let long = "x".repeat(200);
    let cut = format!("bot runs: {}…", "x".repeat(44));
    let run = json!({ "kind": "execute", "rawInput": { "command": long } });
    check_deed(run, &cut);
}

#[test]
fn the_marks_label_follows_later_updates() {
    let mut w = followed(Follow::On);
    named(&mut w, "t", "execute", json!([at(F, 3)]));
    assert_eq!(mark(&w), Some((2, "bot runs: /p/f")));
    call(
        &mut w,
        json!({ "toolCallId": "t", "rawInput": { "command": "sed" } }),
    );
    assert_eq!(mark(&w), Some((2, "bot runs: sed")));
    assert_eq!(went(&w), ["/p/f:3"]);
}

#[test]
fn a_commands_changes_are_labelled_with_its_name() {
    let mut w = followed(Follow::On);
    let run = json!({ "command": "sed -i s/6/six/ f" });
    call(
        &mut w,
        json!({ "toolCallId": "t", "kind": "execute", "rawInput": run }),
    );
    w.disk.put(F, &TEN.replace('6', "six"));
    w.settle();
    assert_eq!(mark(&w), Some((6, "bot runs: sed -i s/6/six/ f")));
}

#[test]
fn a_mark_appears_when_its_file_is_opened() {
    let mut w = followed(Follow::Off);
    named(&mut w, "t", "read", json!([at("/p/g", 3)]));
    assert_eq!(mark(&w), None);
    w.opens_file("/p/g");
    assert_eq!(mark(&w), Some((2, "bot reads")));
}

#[test]
fn an_idle_agent_has_no_mark() {
    let mut w = followed(Follow::On);
    named(&mut w, "t", "read", json!([at(F, 3)]));
    assert!(mark(&w).is_some());
    w.ends_turn("end_turn");
    assert_eq!(mark(&w), None);
    let target = |w: &World| w.editor.follows[&S1].last().unwrap().target.clone();
    assert!(target(&w).is_some_and(|target| target.is_over));
    // A change found after the turn is visited once.
    w.holds(Part::Watcher);
    w.prompts("again");
    assert_eq!(target(&w), None);
    w.disk.put("/p/g", "0\none\n");
    w.ends_turn("end_turn");
    w.goes_on();
    assert_eq!(went(&w), ["/p/f:3", "/p/g:2"]);
    assert_eq!(mark(&w), None);
    // Turning it on again does not visit an idle agent's last place.
    follows(&mut w, Follow::Off);
    follows(&mut w, Follow::On);
    assert_eq!(target(&w), None);
}

#[test]
fn an_agent_waiting_for_the_user_has_no_mark() {
    let mut w = followed(Follow::Off);
    let tool = json!({ "toolCallId": "t", "kind": "edit", "locations": [at(F, 4)] });
    let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
    let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks("1", "session/request_permission", &params);
    assert_eq!(mark(&w), None);
    let id = crate::spine::ids::QuestionId(1);
    let option = "y".into();
    w.happens(Event::Answer {
        id,
        answer: Answer::Option(option),
    });
    assert_eq!(mark(&w), Some((3, "bot edits")));
}

#[test]
fn updates_between_turns_move_nothing() {
    let mut w = followed(Follow::On);
    w.ends_turn("end_turn");
    named(&mut w, "t", "read", json!([at(F, 3)]));
    assert_eq!(went(&w), [""; 0]);
}

#[test]
fn a_closed_session_leaves_no_mark() {
    let mut w = followed(Follow::On);
    named(&mut w, "t", "read", json!([at(F, 3)]));
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    assert_eq!(w.editor.follows[&S1].last(), Some(&Default::default()));
}

#[test]
fn following_can_be_limited_to_edits() {
    let mut w = followed(Follow::Edits);
    named(&mut w, "t", "read", json!([at(F, 3)]));
    named(&mut w, "u", "edit", json!([at(F, 5)]));
    named(&mut w, "v", "read", json!([at(F, 7)]));
    writes(&mut w, "1", "/p/g", &TEN.replace('2', "two"));
    assert_eq!(went(&w), ["/p/f:5", "/p/g:3"]);
    // All places, from the current one.
    named(&mut w, "w", "read", json!([at(F, 9)]));
    follows(&mut w, Follow::On);
    assert_eq!(went(&w), ["/p/f:5", "/p/g:3", "/p/f:9"]);
}

#[test]
fn the_mode_is_announced_and_starts_as_configured() {
    let mut w = World::ready();
    let toggle = |w: &mut World| {
        let (session, to) = (S1, None);
        w.happens(Event::View(ViewEvent::Follow { session, to }));
    };
    toggle(&mut w);
    w.saw(&["Info: A window now follows the agent."]);
    assert!(w.editor.titles[&S1].contains("following"));
    toggle(&mut w);
    w.saw(&["Info: No window follows the agent anymore."]);
    assert!(!w.editor.titles[&S1].contains("following"));
    let limits = w.model.conversation.limits();
    w.happens(Event::Configure {
        rules: Default::default(),
        limits,
        preview: w.model.workspace.proposals().preview,
        accept_allowed: false,
        feedback: true,
        follow: Follow::Edits,
    });
    w.opens(2, "other");
    w.skip();
    let mode = |w: &World, session| {
        let snapshot = w.model.snapshot();
        let mut all = snapshot.sessions.into_iter();
        all.find(|info| info.session == SessionKey(session))
            .unwrap()
            .follow
    };
    assert_eq!((mode(&w, 1), mode(&w, 2)), (Follow::Off, Follow::Edits));
    // Configured to follow edits, the toggle turns that on.
    toggle(&mut w);
    w.saw(&["Info: A window now follows the agent's edits."]);
}

#[derive(Debug, Clone)]
enum Deed {
    Named(u8, u8, u32),
    Same(u8),
    Read(u32),
    Write(u8),
    Disk(u8),
    Blocked(bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        (0..4u8, 0..3u8, 1..9u32).prop_map(|(id, kind, line)| Deed::Named(id, kind, line)),
        (0..4u8).prop_map(Deed::Same),
        (1..9u32).prop_map(Deed::Read),
        (0..9u8).prop_map(Deed::Write),
        (0..9u8).prop_map(Deed::Disk),
        any::<bool>().prop_map(Deed::Blocked),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The editor visits at most the places the agent named, one per frame, and never returns to an
    /// earlier one.
    #[test]
    fn each_place_is_visited_at_most_once(deeds in vec(deed(), 0..30)) {
        let mut w = followed(Follow::On);
        let mut places = 0;
        for (n, deed) in deeds.into_iter().enumerate() {
            let id = n.to_string();
            match deed {
                Deed::Named(id, kind, line) => {
                    let kind = ["read", "edit", "execute"][usize::from(kind)];
                    named(&mut w, &format!("t{id}"), kind, json!([at(F, line)]));
                }
                Deed::Same(id) => {
                    let status = "in_progress";
                    call(&mut w, json!({ "toolCallId": format!("t{id}"), "status": status }));
                    continue;
                }
                Deed::Read(line) => reads(&mut w, &id, json!({ "line": line })),
                Deed::Write(row) => writes(&mut w, &id, "/p/g", &format!("{row}\n{n}\n")),
                Deed::Disk(row) => {
                    w.disk.put("/p/g", &format!("{row}\n{n}\n"));
                    w.settle();
                }
                Deed::Blocked(true) => {
                    w.holds(Part::Editor);
                    continue;
                }
                Deed::Blocked(false) => {
                    w.goes_on();
                    continue;
                }
            }
            places += 1;
        }
        w.goes_on();
        prop_assert!(went(&w).len() <= places);
        let views = w.editor.follows.get(&S1).into_iter().flatten();
        let numbers: Vec<u64> = views.filter_map(|v| Some(v.target.as_ref()?.number)).collect();
        prop_assert!(numbers.is_sorted(), "{numbers:?}");
    }
}
