//! A message of a tool's caller that is still arriving, or too long: its tool and its id are read
//! from its ends, and are never another's.

#![no_main]

use acp::ends;
use any::{Any, map};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;

mod any;

const WORDS: [&str; 8] = [
    "id",
    "method",
    "params",
    "name",
    "tools/call",
    "arguments",
    "\"id\":1}",
    "\\",
];

fuzz_target!(|input: (Vec<(u8, Any)>, u16, u16)| {
    let (fields, head, tail) = input;
    let message = Json::Object(map(&WORDS, &fields));
    let line = message.to_string();
    let line = line.as_bytes();
    let head = &line[..usize::from(head) % (line.len() + 1)];
    let tail = &line[line.len() - usize::from(tail) % (line.len() + 1)..];
    if let Some(name) = ends::called(head) {
        assert_eq!(message["method"], "tools/call");
        assert_eq!(message["params"]["name"], *name);
    }
    if let Some(id) = ends::id(head, tail) {
        assert_eq!(message["id"].to_string(), id);
    }
    let (has_name, has_id) = (ends::called(line), ends::id(line, b""));
    let name = message["params"]["name"].as_str();
    let is_call = message["method"] == "tools/call";
    assert_eq!(has_name.as_deref(), name.filter(|_| is_call), "{message}");
    let id = &message["id"];
    // With the last field, the end is needed.
    let last = message
        .as_object()
        .and_then(|fields| fields.keys().next_back());
    let is_last = last.is_some_and(|name| name == "id");
    if (id.is_string() || id.is_number()) && !is_last && is_sound(&message) {
        assert_eq!(has_id, Some(id.to_string()), "{message}");
    }
});

/// Returns whether the message's own fields have the types they must have.
fn is_sound(message: &Json) -> bool {
    let is_text = |value: Option<&Json>| value.is_none_or(Json::is_string);
    let params = message.get("params");
    is_text(message.get("method"))
        && params.is_none_or(Json::is_object)
        && is_text(params.and_then(|params| params.get("name")))
}
