//! The session a call belongs to, and the cases in which the tools are not offered.

use super::*;

const WHERE: &str = "name = 'where', description = 'x', read_only = true,
    handler = function(_, ctx) return { session = ctx.session, cwd = ctx.cwd } end";

#[test]
fn each_call_knows_its_session() {
    let nvim = start(project().file("inner/c.txt", "c\n"));
    define(&nvim, WHERE);
    nvim.cmd("tabnew | AcpChat! user");
    nvim.wait("a second session", || servers(&nvim).len() == 2);
    wait_phase(&nvim, "idle");
    for session in [2, 1] {
        nvim.lua(
            "require('acp').prompt('call where {}', { session = ... })",
            (session,),
        );
    }
    nvim.wait("both turns", || ended(&nvim).len() == 2);
    let mut sessions: Vec<i64> = results(&nvim, "call where")
        .iter()
        .filter_map(|answer| answer["structuredContent"]["session"].as_i64())
        .collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [1, 2]);
    let records = records(&nvim);
    let ids: Vec<&Json> = records
        .iter()
        .filter(|record| record["opened"].is_string())
        .map(|record| &record["opened"])
        .collect();
    for record in records
        .iter()
        .filter(|record| record["line"] == "call where")
    {
        let session = record["value"]["structuredContent"]["session"].as_u64();
        let own = ids[session.expect("a number") as usize - 1];
        assert_eq!(&record["session"], own);
    }
    assert_eq!(nvim.children().len(), 1, "one agent");
    nvim.quit();
}

/// Checks that the agent is offered no server, and works.
#[track_caller]
fn check_not_offered(project: Project) {
    let nvim = start(project);
    talk::talk(&nvim, "servers\nnames");
    wait_said(&nvim, "servers: none");
    assert_eq!(
        result(&nvim, "names")["failed"],
        "no server \"neovim\" was offered"
    );
    nvim.quit();
}

#[test]
fn the_tools_are_switched_off_for_one_agent_or_for_all() {
    check_not_offered(project_with(&json!({ "tools": false })));
    check_not_offered(project().config("tools", json!({ "enabled": false })));
}

#[test]
fn without_the_built_in_tools_only_the_users_are_offered() {
    let define = format!(
        "lua require('acp').tool({{ {} }})",
        WHERE.replace('\n', " ")
    );
    let project = project().config("tools", json!({ "builtin": false }));
    let nvim = start(project.before(&define));
    talk::talk(&nvim, "names");
    assert_eq!(result(&nvim, "names"), json!(["where"]));
    nvim.quit();
}

#[test]
fn a_restarted_agent_gets_a_new_token_and_the_tools() {
    let nvim = start(project());
    define(&nvim, WHERE);
    talk::talk(&nvim, "call where {}");
    let old = server(&nvim);
    nvim.cmd("Acp restart");
    nvim.wait("the session again", || servers(&nvim).len() == 2);
    wait_phase(&nvim, "idle");
    assert_ne!(
        variable(&old, "ACP_NVIM_TOKEN"),
        variable(&server(&nvim), "ACP_NVIM_TOKEN")
    );
    talk::talk(&nvim, "call where {}");
    assert_eq!(
        result(&nvim, "call where")["structuredContent"]["session"],
        1
    );
    let client = Client::try_start(&old);
    let answer = client.answer(&nvim);
    assert!(answer["failed"].is_string(), "{answer}");
    nvim.quit();
}
