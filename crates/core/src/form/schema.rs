//! Builds a form from the JSON schema of an object.
//!
//! Invariant: every property becomes a field, in the order of the schema; a malformed keyword makes
//! a field less strict, never hides it.

use serde_json::Value as Json;

use super::rules::{PATTERNS, Rules};
use super::{Choice, Field, Form, Kind, number_json};

/// Reads the schema; one that is not an object has no fields.
pub fn read(schema: &Json) -> Form {
    let required = schema["required"].as_array();
    let required: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten();
    let mut patterns_left = PATTERNS;
    Form {
        title: text(&schema["title"]),
        description: text(&schema["description"]),
        fields: fields
            .map(|(name, property)| field(name, property, &required, &mut patterns_left))
            .collect(),
    }
}

fn field(name: &str, property: &Json, required: &[&str], patterns_left: &mut usize) -> Field {
    let kind = kind(property);
    Field {
        name: name.to_owned(),
        title: text(&property["title"]).unwrap_or_else(|| name.to_owned()),
        description: text(&property["description"]),
        is_required: required.contains(&name),
        is_secret: is_secret(property),
        default: default(&kind, &property["default"]),
        rules: Rules::of(&kind, property, patterns_left),
        kind,
    }
}

/// Returns whether a value is a secret: in the words of JSON Schema, of OpenAPI, or of Codex.
fn is_secret(property: &Json) -> bool {
    property["writeOnly"] == true
        || property["format"] == "password"
        || property["_meta"]["codex"]["isSecret"] == true
}

fn kind(property: &Json) -> Kind {
    let is_choice = ["enum", "oneOf"]
        .iter()
        .any(|key| !property[*key].is_null());
    match type_of(property) {
        None | Some("string") if is_choice => match choices(property) {
            choices if choices.is_empty() => Kind::Unknown("an empty choice".to_owned()),
            choices => Kind::One(choices),
        },
        // Choices are always strings.
        Some(other) if is_choice && other != "array" => Kind::Unknown(format!("{other} of some")),
        None | Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Flag,
        Some("array") => match choices(&property["items"]) {
            choices if choices.is_empty() => Kind::Unknown("array".to_owned()),
            choices => Kind::Many(choices),
        },
        Some(other) => Kind::Unknown(other.to_owned()),
    }
}

/// Returns the type; of several, the first one other than null.
fn type_of(property: &Json) -> Option<&str> {
    let kind = &property["type"];
    let listed = kind.as_array().into_iter().flatten();
    let listed = listed.filter_map(Json::as_str).find(|kind| *kind != "null");
    kind.as_str().or(listed)
}

/// Returns the choices: with titles (`oneOf`, `anyOf`, or `enum` with `enumNames`) or without.
fn choices(schema: &Json) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    let mut add =
        |value: &str, title: Option<String>, [description, preview]: [Option<String>; 2]| {
            if !choices.iter().any(|known| known.value == value) {
                choices.push(Choice {
                    value: value.to_owned(),
                    title: title.unwrap_or_else(|| value.to_owned()),
                    description,
                    preview,
                });
            }
        };
    for key in ["oneOf", "anyOf"] {
        for choice in schema[key].as_array().into_iter().flatten() {
            let value = choice["const"].as_str().or_else(|| choice.as_str());
            if let Some(value) = value {
                // Claude Code's, for a choice between drafts.
                let preview = &choice["_meta"]["_claude/askUserQuestionOption"]["preview"];
                // A drawing may begin with blanks.
                let preview = preview.as_str().filter(|text| !text.trim().is_empty());
                let more = [text(&choice["description"]), preview.map(str::to_owned)];
                add(value, text(&choice["title"]), more);
            }
        }
    }
    let names = &schema["enumNames"];
    let values = schema["enum"].as_array().into_iter().flatten();
    for (number, value) in values.enumerate() {
        if let Some(value) = value.as_str() {
            add(value, text(&names[number]), [None, None]);
        }
    }
    choices
}

/// Returns a default of the right type; integral numbers are written without a fraction.
fn default(kind: &Kind, json: &Json) -> Option<Json> {
    match kind {
        Kind::Text | Kind::One(_) => json.is_string(),
        Kind::Integer => json.is_i64() || json.as_f64().is_some_and(|n| number_json(n).is_i64()),
        Kind::Number => json.is_number(),
        Kind::Flag => json.is_boolean(),
        Kind::Many(_) => json.is_array(),
        Kind::Unknown(_) => false,
    }
    .then(|| match json {
        Json::Number(number) if number.is_f64() => number.as_f64().map_or(Json::Null, number_json),
        Json::Array(values) => values
            .iter()
            .filter(|value| value.is_string())
            .cloned()
            .collect(),
        _ => json.clone(),
    })
}

/// Returns a text that is not blank.
fn text(json: &Json) -> Option<String> {
    let text = json.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
