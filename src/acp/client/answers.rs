//! The agent's answers to the client's requests.
//!
//! Invariant: an answer is refused only for what the client cannot go on without; the sentence
//! names the field. All else may be missing or odd: indexing a [`Value`] by name gives `Null`
//! for what is not there.

use std::sync::Arc;

use serde_json::Value;

use super::super::message::{SessionId, StopReason};

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialized {
    pub version: u16,
    pub agent_name: Option<String>,
    pub agent_title: Option<String>,
    pub agent_version: Option<String>,
    /// The agent has `session/load`.
    pub load_session: bool,
    /// Prompts may hold embedded resources.
    pub embedded_context: bool,
    pub image: bool,
    pub audio: bool,
    pub auth_methods: Vec<AuthMethod>,
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
}

/// The answer to `session/new` or `session/load`.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    pub session: SessionId,
    /// The mode's id, from `modes` or from the config option for it.
    pub mode: Option<String>,
    /// Ids and names of the modes `session/set_mode` takes.
    pub modes: Vec<(String, String)>,
    /// Config options, as they came.
    pub config_options: Option<Value>,
    /// The model's id, from the config option for it or from `models`.
    pub model: Option<String>,
}

/// Reads the answer to `initialize`.
///
/// # Errors
/// A sentence, when there is no protocol version in it.
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
        agent_name: text(&info["name"]),
        agent_title: text(&info["title"]),
        agent_version: text(&info["version"]),
        load_session: capabilities["loadSession"] == true,
        embedded_context: prompt["embeddedContext"] == true,
        image: prompt["image"] == true,
        audio: prompt["audio"] == true,
        auth_methods: methods.into_iter().flatten().filter_map(auth).collect(),
    })
}

/// Reads the answer to `session/new`.
///
/// # Errors
/// A sentence, when there is no session id in it.
pub fn session_created(result: &Value) -> Result<NewSession, String> {
    let session = result.get("sessionId").unwrap_or(&Value::Null);
    match text(session) {
        Some(session) => Ok(session_loaded(SessionId(Arc::from(session)), result)),
        None => Err(format!(
            "The agent's answer to session/new names no session: sessionId is {}.",
            shown(session)
        )),
    }
}

/// Reads the answer to `session/load`, which need not name the session again.
pub fn session_loaded(session: SessionId, result: &Value) -> NewSession {
    let modes = &result["modes"];
    let available = modes["availableModes"].as_array();
    let option = |category| current_value(&result["configOptions"], category);
    NewSession {
        session,
        mode: text(&modes["currentModeId"]).or_else(|| option("mode")),
        modes: available.into_iter().flatten().filter_map(mode).collect(),
        config_options: result
            .get("configOptions")
            .filter(|o| o.is_array())
            .cloned(),
        model: option("model").or_else(|| text(&result["models"]["currentModelId"])),
    }
}

/// Reads the answer to `session/prompt`; without a reason the turn has just ended.
pub fn stop_reason(result: &Value) -> StopReason {
    let reason = text(&result["stopReason"]);
    match reason.as_deref().unwrap_or("end_turn") {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" | "canceled" => StopReason::Cancelled,
        other => StopReason::Unknown(other.to_owned()),
    }
}

/// Returns the value of the config option with this id, or else of the first in this category.
fn current_value(options: &Value, name: &str) -> Option<String> {
    let options = options.as_array()?;
    let named = |field: &str| options.iter().find(|option| option[field] == name);
    let option = named("id").or_else(|| named("category"))?;
    text(&option["currentValue"])
}

fn auth(method: &Value) -> Option<AuthMethod> {
    let id = text(&method["id"])?;
    Some(AuthMethod {
        name: text(&method["name"]).unwrap_or_else(|| id.clone()),
        description: text(&method["description"]),
        id,
    })
}

fn mode(mode: &Value) -> Option<(String, String)> {
    let id = text(&mode["id"])?;
    let name = text(&mode["name"]).unwrap_or_else(|| id.clone());
    Some((id, name))
}

/// Returns a text that says something; a number as it is written.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a small whole number, also one that came as `1.0` or `"1"`.
fn number(value: &Value) -> Option<u16> {
    let number: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u16::MAX)).contains(&number);
    whole.then_some(number as u16)
}

/// Returns a value as it can stand in a sentence.
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
            },
            "authMethods": [
                {"id": "key", "name": "Key", "type": "env_var", "vars": []},
                {"id": "web"},
                {"name": "no id"},
            ],
        });
        let method = |id: &str, name: &str| AuthMethod {
            id: id.into(),
            name: name.into(),
            description: None,
        };
        let want = Initialized {
            version: 1,
            agent_name: Some("a".into()),
            agent_title: Some("A".into()),
            agent_version: Some("2".into()),
            load_session: true,
            embedded_context: true,
            image: true,
            audio: false,
            auth_methods: vec![method("key", "Key"), method("web", "web")],
        };
        assert_eq!(initialized(&answer), Ok(want));
    }

    #[test]
    fn an_agent_need_say_nothing_but_its_version() {
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
            "sessionId": "s",
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {}]},
            "configOptions": [
                {"id": "provider", "category": "model", "currentValue": "p"},
                {"id": "model", "category": "model", "currentValue": "m"},
            ],
        });
        let session = session_created(&answer).unwrap();
        assert_eq!(session.session, SessionId("s".into()));
        assert_eq!(session.mode.as_deref(), Some("ask"));
        assert_eq!(session.modes, [("ask".into(), "Ask".into())]);
        assert_eq!(session.model.as_deref(), Some("m"));
        assert_eq!(
            session.config_options.as_ref(),
            Some(&answer["configOptions"])
        );
    }

    #[test]
    fn mode_and_model_are_found_wherever_the_agent_keeps_them() {
        let answer = json!({
            "sessionId": 7,
            "models": {"currentModelId": "m"},
            "configOptions": [{"id": "x", "category": "mode", "currentValue": "plan"}],
        });
        let session = session_created(&answer).unwrap();
        assert_eq!(session.session, SessionId("7".into()));
        assert_eq!(session.mode.as_deref(), Some("plan"));
        assert_eq!(session.model.as_deref(), Some("m"));
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
