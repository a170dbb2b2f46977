//! Requests that are cancelled by either side are answered or abandoned exactly once.

use serde_json::json;

use super::world::{A1, Part, S1, World};
use crate::conversation::agent::Call;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};

/// Returns the lines sent by a list of effects.
fn sent(fx: &Effects) -> Vec<&str> {
    let lines = fx.iter().filter_map(|effect| match effect {
        Effect::Host(HostEffect::Send { line, .. }) => Some(line.as_str()),
        _ => None,
    });
    lines.collect()
}

#[test]
fn a_request_is_cancelled_once_and_its_answer_ignored() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    let id = *w
        .model
        .conversation
        .agent(A1)
        .unwrap()
        .pending()
        .keys()
        .next()
        .unwrap();
    let mut fx = Effects::default();
    let call = w.model.conversation.cancel_request_of(A1, id, &mut fx);
    assert_eq!(call, Some(Call::NewSession(S1)));
    let session = w.model.conversation.session_mut(S1);
    session.unwrap().close_opening();
    let line = json!({
        "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id },
    });
    assert_eq!(sent(&fx), [line.to_string()]);
    fx.drain();
    assert_eq!(
        w.model.conversation.cancel_request_of(A1, id, &mut fx),
        None
    );
    assert!(fx.is_empty());
    w.skip();
    // Its time limit is void, and a late answer opens no session.
    w.time_passes();
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "s1" })));
    w.saw(&[]);
    assert_eq!(w.session(S1).id(), None);
    assert!(!w.model.conversation.agent(A1).unwrap().has_given_up());
}

const TAKEN_BACK: &str = "error -32800: \"The request was cancelled\"";

fn takes_back(w: &mut World, id: &str) {
    let id: serde_json::Value = serde_json::from_str(id).unwrap();
    w.notifies(A1, "$/cancel_request", &json!({ "requestId": id }));
}

fn reads(w: &mut World, id: &str) {
    let params = json!({ "sessionId": "s1", "path": "/p/f" });
    w.asks(id, "fs/read_text_file", &params);
}

fn writes(w: &mut World, id: &str, content: &str) {
    let params = json!({ "sessionId": "s1", "path": "/p/f", "content": content });
    w.asks(id, "fs/write_text_file", &params);
}

/// A world with a file on a disk that does not answer.
fn slow_disk() -> World {
    let mut w = World::ready();
    w.disk.put("/p/f", "a\n");
    w.settle();
    w.holds(Part::Disk);
    w
}

#[test]
fn a_cancelled_read_is_answered_once() {
    let mut w = slow_disk();
    reads(&mut w, "1");
    takes_back(&mut w, "1");
    w.saw(&[&format!("a1 <- answer 1 {TAKEN_BACK}")]);
    takes_back(&mut w, "1");
    w.goes_on();
    w.saw(&[]);
}

#[test]
fn cancelling_a_waiting_write_changes_nothing() {
    let mut w = slow_disk();
    writes(&mut w, "1", "one\n");
    writes(&mut w, "2", "two\n");
    reads(&mut w, "3");
    writes(&mut w, "4", "four\n");
    // The first one waits for the disk, the others for the first.
    for id in ["1", "3", "4"] {
        takes_back(&mut w, id);
        w.saw(&[&format!("a1 <- answer {id} {TAKEN_BACK}")]);
    }
    w.goes_on();
    assert_eq!(w.disk.get("/p/f").as_deref(), Some("two\n"));
    assert_eq!(w.answer("2"), &Ok(json!({})));
}

#[test]
fn a_started_write_is_answered_with_its_result() {
    let mut w = slow_disk();
    writes(&mut w, "1", "one\n");
    let event = w.disk.work("/p/f".as_ref());
    event.into_iter().for_each(|event| w.happens(event));
    takes_back(&mut w, "1");
    w.saw(&[]);
    w.goes_on();
    assert_eq!(w.disk.get("/p/f").as_deref(), Some("one\n"));
    assert_eq!(w.answer("1"), &Ok(json!({})));
}
