//! Methods on sessions (new, load, resume, list, close, delete, options) and on accounts (log in,
//! log out).
//!
//! Invariant: a list that the protocol requires is sent even if it is empty.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::message::SessionId;
use super::answers::{AuthKind, AuthMethod};

pub const NEW_SESSION: &str = "session/new";
pub const LOAD_SESSION: &str = "session/load";
pub const RESUME_SESSION: &str = "session/resume";
pub const LIST_SESSIONS: &str = "session/list";
pub const CLOSE_SESSION: &str = "session/close";
pub const DELETE_SESSION: &str = "session/delete";
pub const SET_MODE: &str = "session/set_mode";
pub const SET_CONFIG_OPTION: &str = "session/set_config_option";
/// Not part of the protocol; used for agents that have `models` but no config option for them.
pub const SET_MODEL: &str = "session/set_model";
pub const AUTHENTICATE: &str = "authenticate";
pub const LOGOUT: &str = "logout";
pub const CANCEL_REQUEST: &str = "$/cancel_request";

/// The parameters shared by `session/new`, `session/load` and `session/resume`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSetup {
    /// An absolute path.
    pub cwd: PathBuf,
    /// Absolute paths besides `cwd`; only for agents with `additional_directories`.
    pub additional: Vec<PathBuf>,
    /// MCP servers for the agent to connect to; only those with a transport it supports.
    pub mcp: Vec<McpServer>,
}

/// An MCP server for the agent to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    Stdio {
        command: PathBuf,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
    Sse {
        url: String,
        headers: Vec<(String, String)>,
    },
}

/// The value of a config option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// The id of one of its values.
    Id(String),
    Boolean(bool),
}

/// A session in the agent's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    pub session: SessionId,
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// The agent's time stamp, in ISO 8601.
    pub updated: Option<String>,
}

/// Returns the parameters of `session/new`.
pub fn new_session(setup: &SessionSetup) -> impl Serialize + use<> {
    v1::NewSessionRequest::new(text(&setup.cwd))
        .additional_directories(directories(setup))
        .mcp_servers(servers(setup))
}

/// Returns the parameters of `session/load`.
pub fn load_session(session: &SessionId, setup: &SessionSetup) -> impl Serialize + use<> {
    v1::LoadSessionRequest::new(session.0.clone(), text(&setup.cwd))
        .additional_directories(directories(setup))
        .mcp_servers(servers(setup))
}

/// Returns the parameters of `session/resume`.
pub fn resume_session(session: &SessionId, setup: &SessionSetup) -> impl Serialize + use<> {
    v1::ResumeSessionRequest::new(session.0.clone(), text(&setup.cwd))
        .additional_directories(directories(setup))
        .mcp_servers(servers(setup))
}

/// Returns the parameters of `session/list`: for one folder or all, from the start or from a
/// cursor.
pub fn list_sessions(cwd: Option<&Path>, cursor: Option<String>) -> impl Serialize + use<> {
    v1::ListSessionsRequest::new()
        .cwd(cwd.map(text))
        .cursor(cursor)
}

/// Returns the parameters of `session/close`.
pub fn close_session(session: &SessionId) -> impl Serialize + use<> {
    v1::CloseSessionRequest::new(session.0.clone())
}

/// Returns the parameters of `session/delete`.
pub fn delete_session(session: &SessionId) -> impl Serialize + use<> {
    v1::DeleteSessionRequest::new(session.0.clone())
}

/// Returns the parameters of `session/set_mode`.
pub fn set_mode(session: &SessionId, mode: &str) -> impl Serialize + use<> {
    v1::SetSessionModeRequest::new(session.0.clone(), mode.to_owned())
}

/// Returns the parameters of `session/set_model`, which has no official type.
pub fn set_model(session: &SessionId, model: &str) -> impl Serialize + use<> {
    json!({ "sessionId": &*session.0, "modelId": model })
}

/// Returns the parameters of `session/set_config_option`.
pub fn set_config_option(
    session: &SessionId,
    option: &str,
    value: ConfigValue,
) -> impl Serialize + use<> {
    let value = match value {
        ConfigValue::Id(id) => v1::SessionConfigOptionValue::ValueId { value: id.into() },
        ConfigValue::Boolean(value) => v1::SessionConfigOptionValue::Boolean { value },
    };
    v1::SetSessionConfigOptionRequest::new(session.0.clone(), option.to_owned(), value)
}

/// Returns the parameters of `authenticate`, with a key for the methods that take one.
pub fn authenticate(method: &AuthMethod, key: Option<&str>) -> impl Serialize + use<> {
    let key = key.map(|key| {
        let key = match method.kind {
            AuthKind::ApiKey { is_bare: true } => json!(key),
            _ => json!({ "apiKey": key }),
        };
        v1::Meta::from_iter([("api-key".to_owned(), key)])
    });
    v1::AuthenticateRequest::new(method.id.clone()).meta(key)
}

/// Returns the parameters of `logout`.
pub fn logout() -> impl Serialize {
    v1::LogoutRequest::new()
}

/// Returns the parameters of `$/cancel_request`, for a request of the client's.
pub fn cancel_request(id: u64) -> impl Serialize {
    let id = i64::try_from(id).unwrap_or(i64::MAX);
    v1::CancelRequestNotification::new(id)
}

/// Reads the answer to `session/list`: the sessions and the cursor of the next page.
///
/// A session without an id cannot be opened and is left out.
pub fn sessions_listed(result: &Value) -> (Vec<ListedSession>, Option<String>) {
    let listed = result["sessions"].as_array().into_iter().flatten();
    let sessions = listed.filter_map(|listed| {
        Some(ListedSession {
            session: SessionId(listed["sessionId"].as_str()?.into()),
            cwd: listed["cwd"].as_str().unwrap_or_default().into(),
            title: said(&listed["title"]),
            updated: said(&listed["updatedAt"]),
        })
    });
    (sessions.collect(), said(&result["nextCursor"]))
}

fn said(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

/// Converts a path to text, as the protocol requires; bytes that are not UTF-8 are replaced.
fn text(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}

fn directories(setup: &SessionSetup) -> Vec<PathBuf> {
    setup.additional.iter().map(|dir| text(dir)).collect()
}

fn servers(setup: &SessionSetup) -> Vec<v1::McpServer> {
    setup.mcp.iter().map(server).collect()
}

fn server(server: &McpServer) -> v1::McpServer {
    let name = server.name.clone();
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let env = env.iter();
            let env = env.map(|(name, value)| v1::EnvVariable::new(name.clone(), value.clone()));
            let stdio = v1::McpServerStdio::new(name, text(command))
                .args(args.clone())
                .env(env.collect());
            v1::McpServer::Stdio(stdio)
        }
        McpTransport::Http { url, headers } => v1::McpServer::Http(
            v1::McpServerHttp::new(name, url.clone()).headers(http_headers(headers)),
        ),
        McpTransport::Sse { url, headers } => v1::McpServer::Sse(
            v1::McpServerSse::new(name, url.clone()).headers(http_headers(headers)),
        ),
    }
}

fn http_headers(headers: &[(String, String)]) -> Vec<v1::HttpHeader> {
    let headers = headers.iter();
    headers
        .map(|(name, value)| v1::HttpHeader::new(name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::super::super::rpc;
    use super::*;

    fn check(sent: impl Serialize, want: Value) {
        assert_eq!(serde_json::to_value(sent).unwrap(), want);
    }

    fn id() -> SessionId {
        SessionId("s".into())
    }

    fn pair(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.into(), value.into())]
    }

    #[test]
    fn session_requests_match_the_protocol() {
        let plain = SessionSetup {
            cwd: "/a b".into(),
            ..SessionSetup::default()
        };
        check(
            new_session(&plain),
            json!({"cwd": "/a b", "mcpServers": []}),
        );
        check(
            load_session(&id(), &plain),
            json!({"sessionId": "s", "cwd": "/a b", "mcpServers": []}),
        );
        let server = |name: &str, transport| McpServer {
            name: name.into(),
            transport,
        };
        let full = SessionSetup {
            cwd: "/a".into(),
            additional: vec!["/b".into()],
            mcp: vec![
                server(
                    "one",
                    McpTransport::Stdio {
                        command: "/bin/x".into(),
                        args: Vec::new(),
                        env: pair("K", "v"),
                    },
                ),
                server(
                    "two",
                    McpTransport::Http {
                        url: "http://h".into(),
                        headers: Vec::new(),
                    },
                ),
                server(
                    "three",
                    McpTransport::Sse {
                        url: "http://s".into(),
                        headers: pair("H", "v"),
                    },
                ),
            ],
        };
        check(
            resume_session(&id(), &full),
            json!({
                "sessionId": "s",
                "cwd": "/a",
                "additionalDirectories": ["/b"],
                "mcpServers": [
                    {"name": "one", "command": "/bin/x", "args": [],
                     "env": [{"name": "K", "value": "v"}]},
                    {"type": "http", "name": "two", "url": "http://h", "headers": []},
                    {"type": "sse", "name": "three", "url": "http://s",
                     "headers": [{"name": "H", "value": "v"}]},
                ],
            }),
        );
    }

    #[test]
    fn calls_match_the_protocol() {
        check(list_sessions(None, None), json!({}));
        check(
            list_sessions(Some(Path::new("/a")), Some("c".into())),
            json!({"cwd": "/a", "cursor": "c"}),
        );
        check(close_session(&id()), json!({"sessionId": "s"}));
        check(delete_session(&id()), json!({"sessionId": "s"}));
        check(
            set_mode(&id(), "plan"),
            json!({"sessionId": "s", "modeId": "plan"}),
        );
        check(
            set_model(&id(), "m"),
            json!({"sessionId": "s", "modelId": "m"}),
        );
        let option = |value| set_config_option(&id(), "o", value);
        check(
            option(ConfigValue::Id("v".into())),
            json!({"sessionId": "s", "configId": "o", "value": "v"}),
        );
        check(
            option(ConfigValue::Boolean(true)),
            json!({"sessionId": "s", "configId": "o", "type": "boolean", "value": true}),
        );
        let by = |kind| AuthMethod {
            id: "key".into(),
            name: "Key".into(),
            description: None,
            kind,
        };
        check(
            authenticate(&by(AuthKind::Agent), None),
            json!({"methodId": "key"}),
        );
        let key = |is_bare| authenticate(&by(AuthKind::ApiKey { is_bare }), Some("k"));
        check(
            key(false),
            json!({"methodId": "key", "_meta": {"api-key": {"apiKey": "k"}}}),
        );
        check(
            key(true),
            json!({"methodId": "key", "_meta": {"api-key": "k"}}),
        );
        check(logout(), json!({}));
        check(cancel_request(3), json!({"requestId": 3}));
    }

    #[test]
    fn listed_sessions_are_read() {
        let answer = json!({
            "sessions": [
                {"sessionId": "a", "cwd": "/x", "title": "T", "updatedAt": "2026-01-02T03:04:05Z"},
                {"sessionId": "b", "cwd": "/x", "title": null},
                {"cwd": "/x"},
            ],
            "nextCursor": "n",
        });
        let listed = |id: &str, title: Option<&str>, updated: Option<&str>| ListedSession {
            session: SessionId(id.into()),
            cwd: "/x".into(),
            title: title.map(Into::into),
            updated: updated.map(Into::into),
        };
        let want = vec![
            listed("a", Some("T"), Some("2026-01-02T03:04:05Z")),
            listed("b", None, None),
        ];
        assert_eq!(sessions_listed(&answer), (want, Some("n".into())));
        assert_eq!(sessions_listed(&Value::Null), (Vec::new(), None));
    }

    #[test]
    fn a_path_that_is_not_utf8_can_be_sent() {
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
        let setup = SessionSetup {
            cwd: path.into(),
            ..SessionSetup::default()
        };
        let line = rpc::request(1, NEW_SESSION, new_session(&setup));
        assert!(line.contains("/a\u{fffd}"), "{line}");
    }
}
