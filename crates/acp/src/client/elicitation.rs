//! The client's answers to `elicitation/create`.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the supported ways to ask the user.
pub(super) fn elicitation() -> v1::ElicitationCapabilities {
    v1::ElicitationCapabilities::new()
        .form(v1::ElicitationFormCapabilities::new())
        .url(v1::ElicitationUrlCapabilities::new())
}

/// Returns the answer of a user who accepts; `content` is the filled-in form.
pub fn elicitation_accepted(content: Option<&Map<String, Value>>) -> impl Serialize + use<> {
    let content = content.map(|content| {
        let known = content
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), content_value(value)?)));
        known.collect::<BTreeMap<_, _>>()
    });
    let accepted = v1::ElicitationAcceptAction::new().content(content);
    v1::CreateElicitationResponse::new(accepted)
}

/// Returns the answer of a user who declines.
pub fn elicitation_declined() -> impl Serialize {
    v1::CreateElicitationResponse::new(v1::ElicitationAction::Decline)
}

/// Returns the answer if the user can no longer accept or decline.
pub fn elicitation_cancelled() -> impl Serialize {
    v1::CreateElicitationResponse::new(v1::ElicitationAction::Cancel)
}

/// Converts a value to the protocol's form, which has no objects and only lists of strings.
fn content_value(value: &Value) -> Option<v1::ElicitationContentValue> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(sent: impl Serialize, want: Value) {
        assert_eq!(serde_json::to_value(sent).unwrap(), want);
    }

    #[test]
    fn answers_match_the_protocol() {
        let content = json!({
            "a": "x", "b": 3, "c": 0.5, "d": true, "e": ["x", "y"], "f": {}, "g": [],
        });
        check(
            elicitation_accepted(content.as_object()),
            json!({ "action": "accept", "content": {
                "a": "x", "b": 3, "c": 0.5, "d": true, "e": ["x", "y"], "g": [],
            }}),
        );
        check(elicitation_accepted(None), json!({ "action": "accept" }));
        check(elicitation_declined(), json!({ "action": "decline" }));
        check(elicitation_cancelled(), json!({ "action": "cancel" }));
    }
}
