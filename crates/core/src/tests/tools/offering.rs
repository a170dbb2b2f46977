//! The offer of tools to agents: which tools, by which route, with which token, and until when.

use serde_json::{Value, json};

use super::super::world::{A1, S1, World};
use super::{door, tool, tools};
use crate::event::{Event, SessionEvent, ToolEvent};
use crate::spine::ids::SessionKey;
use crate::spine::tool::{Door, ToolPermission};

/// Returns the MCP servers that agents were given when their sessions were opened.
fn servers(w: &World) -> Vec<Value> {
    let agents = w.agents.values();
    let opened = agents.flat_map(|agent| &agent.opened);
    let servers = opened.filter_map(|params| params["mcpServers"].as_array());
    servers.flatten().cloned().collect()
}

#[test]
fn a_changed_offer_is_sent() {
    let mut w = World::new();
    let switch = |name: &str, on| {
        Event::Tool(ToolEvent::Switched {
            name: name.into(),
            on,
        })
    };
    w.happens(Event::Tool(ToolEvent::Defined(Vec::new())));
    w.saw(&[]);
    w.happens(Event::Tool(ToolEvent::Defined(tools())));
    w.saw(&["offer change look never"]);
    w.happens(Event::Tool(ToolEvent::Defined(tools())));
    w.happens(switch("look", true));
    w.happens(switch("nobody", true));
    w.saw(&[]);
    w.happens(switch("look", false));
    w.saw(&["offer change never"]);
    w.happens(switch("look", true));
    w.saw(&["offer change look never"]);
    let mut other = tool("look", ToolPermission::Allow);
    other.description = "Looks.".into();
    w.happens(Event::Tool(ToolEvent::Defined(vec![
        tools().remove(0),
        other,
    ])));
    w.saw(&["offer look"]);
    w.happens(Event::Tool(ToolEvent::Defined(Vec::new())));
    w.saw(&["offer "]);
}

#[test]
fn a_token_is_admitted_before_the_agent_receives_it() {
    let mut w = World::new();
    w.has_tools();
    w.skip();
    w.opens_with_tools(1);
    w.saw(&[
        "spawn bot as a1",
        "a1 <- initialize",
        "admit 1",
        "a1 <- session/new /p",
        "session 1 started",
    ]);
    let token = w.calls.tokens[0].1.clone();
    assert_eq!(token.len(), 64);
    let env = json!([
        { "name": "ACP_NVIM_SOCKET", "value": "/run/mcp.sock" },
        { "name": "ACP_NVIM_TOKEN", "value": token },
    ]);
    let server = json!({ "name": "neovim", "command": "/lib/acp-mcp", "args": [], "env": env });
    assert_eq!(servers(&w), [server]);
}

#[test]
fn each_opening_of_a_session_uses_a_new_token() {
    let mut w = World::with_tools();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    w.opens_with_tools(2);
    w.happens(Event::Session(SessionEvent::Close {
        session: SessionKey(2),
    }));
    let log = w.log.clone();
    let about = log
        .iter()
        .filter(|line| line.contains("admit") || line.contains("shut out"));
    let about: Vec<&str> = about.map(String::as_str).collect();
    assert_eq!(about, ["shut out 1", "admit 1", "admit 2", "shut out 2"]);
    let mut tokens: Vec<&String> = w.calls.tokens.iter().map(|(_, token)| token).collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3);
}

#[test]
fn an_exited_agents_token_is_revoked() {
    let mut w = World::with_tools();
    w.exits(A1, "signal 9", &[]);
    assert!(w.was_told("shut out 1"));
    w.skip();
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    assert!(!w.was_told("shut out 1"));
}

#[test]
fn nothing_is_offered_if_unwanted_or_unavailable() {
    for (is_wanted, has_door, has_tools) in [
        (false, true, true),
        (true, false, true),
        (true, true, false),
    ] {
        let mut w = World::new();
        if has_door {
            w.happens(Event::Tool(ToolEvent::Door(door())));
        }
        if has_tools {
            w.happens(Event::Tool(ToolEvent::Defined(tools())));
        }
        w.skip();
        w.opens_reaching(1, is_wanted);
        assert_eq!(servers(&w), [] as [Value; 0]);
        assert!(!w.was_told("admit"), "{:?}", w.log);
        assert_eq!(w.chat(), "");
    }
}

#[test]
fn a_missing_proxy_is_reported_once() {
    let mut w = World::new();
    w.has_tools();
    w.happens(Event::Tool(ToolEvent::Door(Door {
        proxy: None,
        ..door()
    })));
    w.opens_with_tools(1);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert_eq!(servers(&w), [] as [Value; 0]);
    assert_eq!(w.chat().matches("`acp-mcp` is not beside").count(), 1);
}

#[test]
fn a_failed_server_is_not_offered() {
    let mut w = World::new();
    w.has_tools();
    w.skip();
    let why = "No socket.".to_owned();
    w.happens(Event::Tool(ToolEvent::ServerFailed { why }));
    w.saw(&["Warn: No socket."]);
    w.opens_with_tools(1);
    assert_eq!(servers(&w), [] as [Value; 0]);
}
