//! MCP servers and folders: an agent gets those it supports, and one notice lists the rest.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World, spec};
use crate::conversation::reach::Reach;
use crate::event::{Event, SessionEvent};
use crate::spine::event::Origin;
use acp::client::{McpServer, McpTransport};

fn servers() -> Vec<McpServer> {
    let server = |name: &str, transport| McpServer {
        name: name.into(),
        transport,
    };
    let (url, headers) = ("http://h".to_owned(), Vec::new());
    let stdio = McpTransport::Stdio {
        command: "/bin/files".into(),
        args: vec!["-v".into()],
        env: Vec::new(),
    };
    let http = McpTransport::Http {
        url: url.clone(),
        headers: headers.clone(),
    };
    let sse = McpTransport::Sse { url, headers };
    vec![
        server("files", stdio),
        server("web", http),
        server("old", sse),
    ]
}

/// Opens a session with an agent of these capabilities; returns the parameters it receives.
fn asked(can: Value) -> (World, Value) {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.happens(Event::Session(SessionEvent::Open {
        session: S1,
        spec: Box::new(spec("bot")),
        roots: vec!["/p".into()],
        project: "/p".into(),
        origin: Origin::New,
        reach: Reach {
            mcp: servers(),
            additional: vec!["/more".into()],
            allowed: vec!["/p".into(), "/lib".into(), "/more".into()],
            tools: false,
            is_told: false,
        },
    }));
    w.agents_move();
    w.settle();
    let answer = json!({ "protocolVersion": 1, "agentCapabilities": can });
    w.answers(A1, "initialize", Ok(answer));
    let params = params(&w);
    (w, params)
}

fn params(w: &World) -> Value {
    let call = w.agents[&A1].calls.last().unwrap();
    assert_eq!(call.1, "session/new");
    call.2.clone()
}

#[test]
fn an_agent_gets_only_supported_servers_and_folders() {
    let can = json!({
        "mcpCapabilities": { "http": true, "sse": true },
        "sessionCapabilities": { "additionalDirectories": {} },
    });
    let (w, params) = asked(can);
    assert_eq!(params["additionalDirectories"], json!(["/more", "/lib"]));
    let names = |params: &Value| -> Vec<String> {
        let servers = params["mcpServers"].as_array().unwrap().iter();
        servers
            .map(|s| s["name"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(names(&params), ["files", "web", "old"]);
    assert_eq!(w.chat(), "");
}

#[test]
fn unsupported_servers_and_folders_are_reported_once() {
    let (mut w, first) = asked(json!({ "mcpCapabilities": { "http": true } }));
    assert_eq!(first["mcpServers"].as_array().unwrap().len(), 2);
    assert_eq!(first.get("additionalDirectories"), None);
    let text = "The agent \"bot\" does not support the transport of these MCP servers, which are \
                left out: \"old\" (sse).\n\nThe agent \"bot\" does not support additional folders; \
                it can read and write in `additional_dirs` only through Neovim.";
    assert_eq!(w.chat(), text);
    w.goes_on();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert_eq!(w.chat().matches("left out").count(), 1);
}
