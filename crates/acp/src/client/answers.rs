//! The agent's answers to the client's requests.
//!
//! Invariant: an answer is refused only if a field the client cannot work without is missing or
//! invalid; the error names it. Any other field may be missing or odd: indexing a [`Value`] with an
//! absent name gives `Null`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::message::{SessionId, StopReason};
use super::super::options::{self, SessionOption, list, said};

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialized {
    pub version: u16,
    pub agent_name: Option<String>,
    pub agent_title: Option<String>,
    pub agent_version: Option<String>,
    pub sessions: SessionAbilities,
    /// Prompts may contain embedded resources.
    pub embedded_context: bool,
    pub image: bool,
    pub audio: bool,
    pub mcp: McpAbilities,
    /// The agent supports `logout`.
    pub logout: bool,
    /// The agent takes words into a running turn, by `_session/steering`.
    pub steering: bool,
    pub auth_methods: Vec<AuthMethod>,
}

/// The outcome of a prompt that was sent into a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// They are part of the turn.
    Injected,
    /// No turn runs: they are still to be sent.
    PromptRequired,
    /// The agent has begun a turn with them that no request of the client belongs to.
    StartedNewTurn,
    /// The agent has not taken them.
    Failed,
}

/// An agent's optional session methods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionAbilities {
    /// `session/load`: restores a session and replays the conversation.
    pub load: bool,
    /// `session/resume`: restores a session without a replay.
    pub resume: bool,
    pub list: bool,
    pub close: bool,
    pub delete: bool,
    /// Sessions accept folders besides `cwd`.
    pub additional_directories: bool,
}

/// The transports for MCP servers an agent supports besides stdio, which is mandatory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct McpAbilities {
    pub http: bool,
    pub sse: bool,
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub kind: AuthKind,
}

/// The steps of a way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthKind {
    /// `authenticate`; the agent does the rest.
    Agent,
    /// These variables must be set in the agent's environment.
    EnvVar { vars: Vec<AuthVar> },
    /// `authenticate` with a key from the user; without a key, the agent looks for one elsewhere.
    /// Not part of the protocol; used by Codex and Gemini CLI.
    ApiKey {
        /// The key is sent as a plain string, otherwise as a field of an object.
        is_bare: bool,
    },
    /// A command to run in a terminal with these variables; `authenticate` is not called.
    Terminal {
        /// A program, which gets exactly `args`. Without one, the agent's own command is run with
        /// `args` appended.
        command: Option<String>,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
}

/// A variable that a log-in needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthVar {
    pub name: String,
    pub label: Option<String>,
    pub is_secret: bool,
    pub is_optional: bool,
}

/// The answer to `session/new` or `session/load`.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    pub session: SessionId,
    /// The options of the session, including mode and model.
    pub options: Vec<SessionOption>,
}

/// Reads the answer to `initialize`.
///
/// # Errors
/// It has no protocol version; a sentence.
pub fn initialized(result: &Value) -> Result<Initialized, String> {
    let version = result.get("protocolVersion").unwrap_or(&Value::Null);
    let version = number(version).ok_or_else(|| {
        format!(
            "The agent's answer to initialize is not ACP: protocolVersion is {}.",
            shown(version)
        )
    })?;
    let info = &result["agentInfo"];
    let capabilities = &result["agentCapabilities"];
    let prompt = &capabilities["promptCapabilities"];
    let methods = result["authMethods"].as_array();
    Ok(Initialized {
        version,
        agent_name: said(&info["name"]),
        agent_title: said(&info["title"]),
        agent_version: said(&info["version"]),
        sessions: session_abilities(capabilities),
        embedded_context: prompt["embeddedContext"] == true,
        image: prompt["image"] == true,
        audio: prompt["audio"] == true,
        mcp: McpAbilities {
            http: is_offered(&capabilities["mcpCapabilities"]["http"]),
            sse: is_offered(&capabilities["mcpCapabilities"]["sse"]),
        },
        logout: is_offered(&capabilities["auth"]["logout"]),
        steering: result["_meta"]["steering"]["supported"] == true,
        auth_methods: methods.into_iter().flatten().filter_map(auth).collect(),
    })
}

/// Reads the answer to `_session/steering`.
pub fn steered(result: &Value) -> Steered {
    match result["outcome"].as_str() {
        Some("promptRequired") => Steered::PromptRequired,
        Some("startedNewTurn") => Steered::StartedNewTurn,
        Some("failed") => Steered::Failed,
        // Words that an agent has accepted must not be sent twice.
        _ => Steered::Injected,
    }
}

/// Reads the answer to `session/new`.
///
/// # Errors
/// It has no session id; a sentence.
pub fn session_created(result: &Value) -> Result<NewSession, String> {
    let session = result.get("sessionId").unwrap_or(&Value::Null);
    match said(session) {
        Some(session) => Ok(session_loaded(SessionId(Arc::from(session)), result)),
        None => Err(format!(
            "The agent's answer to session/new names no session: sessionId is {}.",
            shown(session)
        )),
    }
}

/// Reads the answer to `session/load`, which may omit the session id.
pub fn session_loaded(session: SessionId, result: &Value) -> NewSession {
    NewSession {
        session,
        options: options::session_options(result),
    }
}

/// Reads the answer to `session/set_config_option`: all config options, if the agent returns them.
pub fn option_set(result: &Value) -> Option<Vec<SessionOption>> {
    options::config_options(&result["configOptions"])
}

/// Reads the answer to `session/prompt`; a missing reason means `end_turn`.
pub fn stop_reason(result: &Value) -> StopReason {
    let reason = said(&result["stopReason"]);
    match reason.as_deref().unwrap_or("end_turn") {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" | "canceled" => StopReason::Cancelled,
        other => StopReason::Unknown(other.to_owned()),
    }
}

fn session_abilities(capabilities: &Value) -> SessionAbilities {
    let sessions = &capabilities["sessionCapabilities"];
    SessionAbilities {
        load: is_offered(&capabilities["loadSession"]),
        resume: is_offered(&sessions["resume"]),
        list: is_offered(&sessions["list"]),
        close: is_offered(&sessions["close"]),
        delete: is_offered(&sessions["delete"]),
        additional_directories: is_offered(&sessions["additionalDirectories"]),
    }
}

/// Returns whether a capability is offered: `true`, or an object with its details.
fn is_offered(capability: &Value) -> bool {
    capability == true || capability.is_object()
}

fn auth(method: &Value) -> Option<AuthMethod> {
    let id = said(&method["id"])?;
    Some(AuthMethod {
        name: said(&method["name"]).unwrap_or_else(|| id.clone()),
        description: said(&method["description"]),
        kind: auth_kind(method),
        id,
    })
}

fn auth_kind(method: &Value) -> AuthKind {
    match method["type"].as_str() {
        Some("terminal") => AuthKind::Terminal {
            command: None,
            args: list(&method["args"]).filter_map(said).collect(),
            env: pairs(&method["env"]),
        },
        Some("env_var") => {
            let vars = list(&method["vars"]).filter_map(auth_var);
            // Earlier drafts had a single variable.
            let one = auth_var(&json!({ "name": method["varName"] }));
            AuthKind::EnvVar {
                vars: vars.chain(one).collect(),
            }
        }
        _ => auth_kind_beside(&method["_meta"]),
    }
}

/// Reads how to log in from `_meta`: OpenCode and Copilot CLI name a command there, Codex and
/// Gemini CLI a key.
fn auth_kind_beside(meta: &Value) -> AuthKind {
    let terminal = &meta["terminal-auth"];
    match said(&terminal["command"]) {
        Some(command) => AuthKind::Terminal {
            command: Some(command),
            args: list(&terminal["args"]).filter_map(said).collect(),
            env: pairs(&terminal["env"]),
        },
        // Codex wants an object, Gemini CLI a string; neither declares it.
        None if meta["api-key"].is_object() => AuthKind::ApiKey {
            is_bare: meta["api-key"]["provider"] == "google",
        },
        None => AuthKind::Agent,
    }
}

fn auth_var(var: &Value) -> Option<AuthVar> {
    Some(AuthVar {
        name: said(&var["name"])?,
        label: said(&var["label"]),
        is_secret: var["secret"] != false,
        is_optional: var["optional"] == true,
    })
}

/// Returns the pairs of an object or of a list of `{name, value}`.
fn pairs(value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), said(value)?)))
            .collect(),
        _ => list(value)
            .filter_map(|pair| Some((said(&pair["name"])?, said(&pair["value"])?)))
            .collect(),
    }
}

/// Returns a small integer, also from `1.0` or `"1"`.
fn number(value: &Value) -> Option<u16> {
    let number: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u16::MAX)).contains(&number);
    whole.then_some(number as u16)
}

/// Formats a value for an error message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "missing".to_owned(),
        value => value.to_string().chars().take(60).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_answer_to_initialize_is_read() {
        let answer = json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "a", "title": "A", "version": "2"},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "delete": null},
                "auth": {"logout": {}},
            },
            "authMethods": [
                {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "A_KEY"}]},
                {"id": "web"},
                {"id": "tty", "type": "terminal", "args": ["login"], "env": {"A": "1"}},
                {"id": "cli", "_meta": {"terminal-auth": {"command": "bot", "args": ["in"]}}},
                {"id": "typed", "_meta": {"api-key": {"provider": "google"}}},
                {"name": "no id"},
            ],
            "_meta": {"steering": {"supported": true}},
        });
        let method = |id: &str, name: &str, kind: AuthKind| AuthMethod {
            id: id.into(),
            name: name.into(),
            description: None,
            kind,
        };
        let var = AuthVar {
            name: "A_KEY".into(),
            label: None,
            is_secret: true,
            is_optional: false,
        };
        let cli = AuthKind::Terminal {
            command: Some("bot".into()),
            args: vec!["in".into()],
            env: Vec::new(),
        };
        let tty = AuthKind::Terminal {
            command: None,
            args: vec!["login".into()],
            env: vec![("A".into(), "1".into())],
        };
        let want = Initialized {
            version: 1,
            agent_name: Some("a".into()),
            agent_title: Some("A".into()),
            agent_version: Some("2".into()),
            sessions: SessionAbilities {
                load: true,
                resume: true,
                list: true,
                ..SessionAbilities::default()
            },
            embedded_context: true,
            image: true,
            audio: false,
            mcp: McpAbilities {
                http: true,
                sse: false,
            },
            logout: true,
            steering: true,
            auth_methods: vec![
                method("key", "Key", AuthKind::EnvVar { vars: vec![var] }),
                method("web", "web", AuthKind::Agent),
                method("tty", "tty", tty),
                method("cli", "cli", cli),
                method("typed", "typed", AuthKind::ApiKey { is_bare: true }),
            ],
        };
        assert_eq!(initialized(&answer), Ok(want));
    }

    #[test]
    fn an_agent_must_send_only_its_version() {
        let check = |answer: Value, want: Result<u16, &str>| {
            let got = initialized(&answer).map(|answer| answer.version);
            let want = want.map_err(|end| {
                format!("The agent's answer to initialize is not ACP: protocolVersion is {end}.")
            });
            assert_eq!(got, want, "{answer}");
        };
        check(json!({"protocolVersion": 1}), Ok(1));
        check(json!({"protocolVersion": 1.0}), Ok(1));
        check(json!({"protocolVersion": "1", "agentInfo": 3}), Ok(1));
        check(
            json!({"protocolVersion": "2024-11-05"}),
            Err("\"2024-11-05\""),
        );
        check(json!({"protocolVersion": 99999}), Err("99999"));
        check(json!({}), Err("missing"));
        check(Value::Null, Err("missing"));
    }

    #[test]
    fn the_answer_to_a_new_session_is_read() {
        let answer = json!({
            "sessionId": 7,
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]},
        });
        let session = session_created(&answer).unwrap();
        assert_eq!(session.session, SessionId("7".into()));
        assert_eq!(session.options, options::session_options(&answer));
        assert_eq!(session.options.len(), 1);
    }

    #[test]
    fn a_session_without_an_id_is_refused() {
        let why = session_created(&Value::Null).unwrap_err();
        assert_eq!(
            why,
            "The agent's answer to session/new names no session: sessionId is missing."
        );
    }

    #[test]
    fn every_stop_reason_ends_the_turn() {
        let check = |answer: Value, want| assert_eq!(stop_reason(&answer), want, "{answer}");
        check(json!({"stopReason": "max_tokens"}), StopReason::MaxTokens);
        check(json!({"stopReason": "canceled"}), StopReason::Cancelled);
        check(json!({"stopReason": "x"}), StopReason::Unknown("x".into()));
        check(json!({}), StopReason::EndTurn);
        check(Value::Null, StopReason::EndTurn);
    }
}
