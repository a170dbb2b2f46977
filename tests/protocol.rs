//! ARCHITECTURE.md has a row for each method of the protocol, and for each kind of update.

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as AGENT, CLIENT_METHOD_NAMES as CLIENT,
    PROTOCOL_LEVEL_METHOD_NAMES as GENERAL, SessionUpdate,
};
use serde_json::json;

/// The kinds of `session/update` that are stable.
const UPDATES: [&str; 14] = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
];

#[test]
fn every_method_and_update_has_its_row() {
    let text = include_str!("../ARCHITECTURE.md");
    let (_, table) = text.split_once("\n## The protocol\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let methods = [
        AGENT.initialize,
        AGENT.authenticate,
        AGENT.logout,
        AGENT.session_new,
        AGENT.session_load,
        AGENT.session_resume,
        AGENT.session_list,
        AGENT.session_close,
        AGENT.session_delete,
        AGENT.session_prompt,
        AGENT.session_cancel,
        AGENT.session_set_mode,
        AGENT.session_set_config_option,
        CLIENT.session_request_permission,
        CLIENT.session_update,
        CLIENT.fs_read_text_file,
        CLIENT.fs_write_text_file,
        CLIENT.terminal_create,
        CLIENT.terminal_output,
        CLIENT.terminal_wait_for_exit,
        CLIENT.terminal_kill,
        CLIENT.terminal_release,
        CLIENT.elicitation_create,
        CLIENT.elicitation_complete,
        GENERAL.cancel_request,
    ];
    for name in methods.iter().chain(&UPDATES) {
        assert!(table.contains(&format!("`{name}`")), "no row has {name}");
    }
}

/// The list above is the official one: no kind of update is taken for another by its fields.
#[test]
fn the_kinds_of_updates_are_the_protocols() {
    let is_known = |kind: &str| {
        let read = serde_json::from_value::<SessionUpdate>(json!({ "sessionUpdate": kind }));
        read.map_or_else(|why| !why.to_string().contains("unknown variant"), |_| true)
    };
    assert!(!is_known("no_such_update"));
    for kind in UPDATES {
        assert!(is_known(kind), "{kind}");
    }
}
