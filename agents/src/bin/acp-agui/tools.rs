//! The tools that the client's MCP servers offer, and calls of them.
//!
//! Invariants: a server ends with its session; a call that is dropped is withdrawn at its server.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RunningService};
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::http::{HEADERS, TOKEN};

/// A variable of the editor's own server, whose tools ask the user themselves. Its name does not
/// identify it: the user may have another server of that name.
const EDITOR: &str = "ACP_NVIM_TOKEN";

/// The time that a server has to start and to list its tools.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time that a server has to read that a call is withdrawn.
const CANCEL: Duration = Duration::from_secs(1);

/// How a server is started, from `session/new`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Server {
    name: String,
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Server {
    /// Reads the session's servers that a command starts; others were not offered.
    pub fn read(servers: &Value) -> Vec<Self> {
        let servers = servers.as_array().into_iter().flatten();
        let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let one = |server: &Value| {
            let args = server["args"].as_array().into_iter().flatten();
            let env = server["env"].as_array().into_iter().flatten();
            Some(Self {
                name: text(server, "name")?,
                command: text(server, "command")?,
                args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
                env: env
                    .filter_map(|pair| Some((text(pair, "name")?, text(pair, "value")?)))
                    .collect(),
            })
        };
        servers.filter_map(one).collect()
    }
}

impl Tool {
    /// Returns whether the bridge has to ask the user before each call.
    pub fn asks(&self) -> bool {
        !self.server.env.iter().any(|(name, _)| name == EDITOR)
    }
}

/// The running servers of a session.
#[derive(Default)]
pub struct Tools {
    running: Vec<Running>,
}

struct Running {
    server: Server,
    service: RunningService<RoleClient, ClientConfig>,
    // Killed when it is dropped.
    _child: Child,
}

/// A tool that can be called.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    /// As a run offers it.
    pub offer: Value,
    server: Server,
}

/// The result of a call.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// Text, or the parts of a message.
    pub content: Value,
    pub is_error: bool,
}

impl Answer {
    pub fn error(why: &str) -> Self {
        Self {
            content: json!(why),
            is_error: true,
        }
    }
}

impl Tools {
    /// Starts the servers that do not run and returns all tools, with what failed.
    pub async fn list(&mut self, servers: &[Server], cwd: &str) -> (Vec<Tool>, Vec<String>) {
        self.running.retain(|running| !running.service.is_closed());
        let (mut tools, mut failed) = (Vec::<Tool>::new(), Vec::new());
        for server in servers {
            let listed = timeout(PATIENCE, self.list_of(server, cwd)).await;
            let listed = listed.unwrap_or_else(|_| Err("it does not answer".to_owned()));
            match listed {
                // Of two tools with one name, the agent gets the first.
                Ok(new) => tools.extend(new.into_iter().fold(Vec::new(), |mut kept, tool| {
                    let is_taken = |known: &Tool| known.name == tool.name;
                    if !tools.iter().any(is_taken) && !kept.iter().any(is_taken) {
                        kept.push(tool);
                    }
                    kept
                })),
                Err(why) => failed.push(format!(
                    "The tools of {} are not offered to the agent: {why}.",
                    server.name
                )),
            }
        }
        (tools, failed)
    }

    /// Returns the tools of a server, which is started if it does not run.
    async fn list_of(&mut self, server: &Server, cwd: &str) -> Result<Vec<Tool>, String> {
        if let Some(running) = self.find(server) {
            return list(running).await;
        }
        let running = start(server, cwd).await?;
        let listed = list(&running).await;
        self.running.push(running);
        listed
    }

    /// Calls a tool; `cancelled` withdraws the call.
    pub async fn call(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        cancelled: &CancellationToken,
    ) -> Answer {
        let Some(running) = self.find(&tool.server) else {
            return Answer::error(&format!("The server `{}` has ended.", tool.server.name));
        };
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = running.service.send_cancellable_request(request, options);
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(why) => return Answer::error(&format!("`{}` failed: {why}.", tool.name)),
        };
        tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                let why = Some("The user cancelled the turn.".to_owned());
                // A server that reads nothing does not hold up the end of the turn.
                let _ = timeout(CANCEL, handle.cancel(why)).await;
                Answer::error("The user cancelled this call.")
            }
            answer = &mut handle.rx => match answer {
                Ok(Ok(ServerResult::CallToolResult(result))) => {
                    read(&serde_json::to_value(result).unwrap_or_default())
                }
                Ok(Ok(_)) => Answer::error(&format!("`{}` gave no result.", tool.name)),
                Ok(Err(why)) => Answer::error(&format!("`{}` failed: {why}.", tool.name)),
                Err(_) => Answer::error(&format!("The server `{}` has ended.", tool.server.name)),
            },
        }
    }

    fn find(&self, server: &Server) -> Option<&Running> {
        self.running
            .iter()
            .find(|running| running.server == *server)
    }
}

async fn start(server: &Server, cwd: &str) -> Result<Running, String> {
    let mut child = Command::new(&server.command)
        .args(&server.args)
        .envs(server.env.iter().cloned())
        .env_remove(TOKEN)
        .env_remove(HEADERS)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|why| format!("`{}` does not start ({why})", server.command))?;
    let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(format!("`{}` has no pipes", server.command));
    };
    let me = Implementation::new("acp-agui", env!("CARGO_PKG_VERSION"));
    let me = ClientConfig::new(ClientCapabilities::default(), me);
    let service = me.serve((stdout, stdin)).await;
    Ok(Running {
        server: server.clone(),
        service: service.map_err(|why| why.to_string())?,
        _child: child,
    })
}

async fn list(running: &Running) -> Result<Vec<Tool>, String> {
    let tools = running.service.list_all_tools().await;
    let tools = tools.map_err(|why| why.to_string())?.into_iter();
    Ok(tools
        .map(|tool| Tool {
            offer: json!({
                "name": tool.name,
                "description": tool.description.unwrap_or_default(),
                "parameters": tool.input_schema,
            }),
            name: tool.name.into_owned(),
            server: running.server.clone(),
        })
        .collect())
}

/// Reads the result of a call.
fn read(result: &Value) -> Answer {
    let blocks = result["content"].as_array();
    let parts: Vec<Value> = blocks.into_iter().flatten().map(part).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    let content = match (texts, &result["structuredContent"]) {
        (Some(texts), Value::Null) => json!(texts.join("\n")),
        (Some(texts), structured) if texts.is_empty() => json!(structured.to_string()),
        (Some(texts), _) => json!(texts.join("\n")),
        (None, _) => json!(parts),
    };
    Answer {
        content,
        is_error: result["isError"] == json!(true),
    }
}

/// Converts a block of a result to a part of a message.
fn part(block: &Value) -> Value {
    let text = |text: &Value| json!({"type": "text", "text": text});
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some(kind @ ("image" | "audio")) => json!({"type": kind, "source": {
            "type": "data", "value": block["data"], "mimeType": block["mimeType"],
        }}),
        Some("resource") if block["resource"]["text"].is_string() => {
            text(&block["resource"]["text"])
        }
        Some("resource_link") => text(&block["uri"]),
        _ => text(&json!(block.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_a_command_starts_are_read() {
        let servers = json!([
            {"name": "far", "type": "http", "url": "http://x", "headers": []},
            {"name": "neovim", "command": "/p", "args": ["a"], "env": [{"name": "K", "value": "v"}]},
        ]);
        let want = Server {
            name: "neovim".to_owned(),
            command: "/p".to_owned(),
            args: vec!["a".to_owned()],
            env: vec![("K".to_owned(), "v".to_owned())],
        };
        assert_eq!(Server::read(&servers), [want]);
        assert_eq!(Server::read(&Value::Null), []);
    }

    #[test]
    fn only_the_editors_own_server_is_not_asked_about() {
        let asks = |name: &str, variable: &str| {
            let env = vec![(variable.to_owned(), "v".to_owned())];
            let server = Server {
                name: name.to_owned(),
                env,
                ..Server::default()
            };
            let (name, offer) = (String::new(), Value::Null);
            Tool {
                name,
                offer,
                server,
            }
            .asks()
        };
        assert!(!asks("neovim", "ACP_NVIM_TOKEN"));
        assert!(asks("neovim", "PATH"));
        assert!(asks("other", "PATH"));
    }

    #[test]
    fn a_result_is_text_unless_it_has_pictures() {
        let check = |result: Value, content: Value, is_error: bool| {
            assert_eq!(read(&result), Answer { content, is_error });
        };
        let text = json!({"type": "text", "text": "a"});
        check(json!({"content": [text, text]}), json!("a\na"), false);
        check(
            json!({"content": [text], "isError": true}),
            json!("a"),
            true,
        );
        check(
            json!({"content": [], "structuredContent": {"x": 1}}),
            json!("{\"x\":1}"),
            false,
        );
        check(json!({}), json!(""), false);
        let image = json!({"type": "image", "data": "aa", "mimeType": "image/png"});
        let source = json!({"type": "data", "value": "aa", "mimeType": "image/png"});
        check(
            json!({"content": [text, image]}),
            json!([text, {"type": "image", "source": source}]),
            false,
        );
    }
}
