//! ARCHITECTURE.md has a row for each method of the protocol, and for each kind of update.

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as AGENT, CLIENT_METHOD_NAMES as CLIENT,
    PROTOCOL_LEVEL_METHOD_NAMES as GENERAL, SessionUpdate,
};
use serde_json::json;

/// The kinds of `session/update` that are not stable.
const UNSTABLE: [&str; 3] = [
    "subagent_update",
    "session_message",
    "session_message_chunk",
];

#[test]
fn every_method_and_update_has_its_row() {
    let text = include_str!("../ARCHITECTURE.md");
    let (_, table) = text.split_once("\n## The protocol\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let names = [json!(AGENT), json!(CLIENT), json!(GENERAL)];
    let methods = names.iter().flat_map(|it| it.as_object().unwrap().values());
    let methods = methods.map(|name| name.as_str().unwrap().to_owned());
    let updates = updates().into_iter();
    let updates = updates.filter(|kind| !UNSTABLE.contains(&kind.as_str()));
    for name in methods.chain(updates) {
        assert!(table.contains(&format!("`{name}`")), "no row has {name}");
    }
}

#[test]
fn the_unstable_updates_are_the_protocols() {
    for kind in UNSTABLE {
        assert!(updates().iter().any(|known| known == kind), "{kind}");
    }
}

/// Returns all kinds of `session/update`, as the error for an unknown kind lists them.
fn updates() -> Vec<String> {
    let unknown = json!({ "sessionUpdate": "no_such_update" });
    let why = serde_json::from_value::<SessionUpdate>(unknown).unwrap_err();
    let why = why.to_string();
    let (_, kinds) = why.split_once("expected one of ").expect(&why);
    let kinds = kinds.split(", ").map(|kind| kind.trim_matches('`'));
    kinds.map(str::to_owned).collect()
}
