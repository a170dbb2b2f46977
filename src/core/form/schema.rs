//! A form from the JSON schema of an object.
//!
//! Invariant: every property becomes a field, in the order of the schema; what is odd about one
//! makes it less strict, never less visible.

use serde_json::Value as Json;

use super::{Choice, Field, Form, Format, Kind, Pattern, TextRules, Value};

/// Reads the schema; what is no object asks for nothing.
pub fn read(schema: &Json) -> Form {
    let required = schema["required"].as_array();
    let required: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten();
    Form {
        title: text(&schema["title"]),
        description: text(&schema["description"]),
        fields: fields
            .map(|(name, property)| field(name, property, required.contains(&name.as_str())))
            .collect(),
    }
}

fn field(name: &str, property: &Json, is_required: bool) -> Field {
    let kind = kind(property);
    Field {
        name: name.to_owned(),
        title: text(&property["title"]).unwrap_or_else(|| name.to_owned()),
        description: text(&property["description"]),
        is_required,
        default: default(&kind, &property["default"]),
        kind,
    }
}

fn kind(property: &Json) -> Kind {
    let min = property["minimum"].as_f64();
    let max = property["maximum"].as_f64();
    let is_choice = ["enum", "oneOf"]
        .iter()
        .any(|key| !property[*key].is_null());
    match type_of(property) {
        None | Some("string") if is_choice => match choices(property) {
            choices if choices.is_empty() => Kind::Unknown("an empty choice".to_owned()),
            choices => Kind::One(choices),
        },
        // What is to be one of some numbers cannot be said by a choice.
        Some(other) if is_choice && other != "array" => Kind::Unknown(format!("{other} of some")),
        None | Some("string") => Kind::Text(TextRules {
            min: count(&property["minLength"]),
            max: count(&property["maxLength"]),
            pattern: property["pattern"].as_str().map(Pattern::new),
            format: property["format"].as_str().and_then(Format::named),
        }),
        Some("integer") => Kind::Integer { min, max },
        Some("number") => Kind::Number { min, max },
        Some("boolean") => Kind::Flag,
        Some("array") => match choices(&property["items"]) {
            choices if choices.is_empty() => Kind::Unknown("array".to_owned()),
            choices => Kind::Many {
                choices,
                min: count(&property["minItems"]),
                max: count(&property["maxItems"]),
            },
        },
        Some(other) => Kind::Unknown(other.to_owned()),
    }
}

/// Returns the type; of several the first one that is not null.
fn type_of(property: &Json) -> Option<&str> {
    let kind = &property["type"];
    let listed = kind.as_array().into_iter().flatten();
    let listed = listed.filter_map(Json::as_str).find(|kind| *kind != "null");
    kind.as_str().or(listed)
}

/// Returns what can be chosen: with titles (`oneOf`, `anyOf`, or `enum` with `enumNames`) or
/// without.
fn choices(schema: &Json) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    let mut add = |value: &str, title: Option<String>, description: Option<String>| {
        if !choices.iter().any(|known| known.value == value) {
            choices.push(Choice {
                value: value.to_owned(),
                title: title.unwrap_or_else(|| value.to_owned()),
                description,
            });
        }
    };
    for key in ["oneOf", "anyOf"] {
        for choice in schema[key].as_array().into_iter().flatten() {
            let value = choice["const"].as_str().or_else(|| choice.as_str());
            if let Some(value) = value {
                let (title, description) = (&choice["title"], &choice["description"]);
                add(value, text(title), text(description));
            }
        }
    }
    let names = &schema["enumNames"];
    let values = schema["enum"].as_array().into_iter().flatten();
    for (number, value) in values.enumerate() {
        if let Some(value) = value.as_str() {
            add(value, text(&names[number]), None);
        }
    }
    choices
}

fn default(kind: &Kind, json: &Json) -> Option<Value> {
    Some(match kind {
        Kind::Text(_) | Kind::One(_) => Value::Text(json.as_str()?.to_owned()),
        Kind::Integer { .. } => match json.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Integer(super::check::whole(json.as_f64()?)?),
        },
        Kind::Number { .. } => Value::Number(json.as_f64()?),
        Kind::Flag => Value::Flag(json.as_bool()?),
        Kind::Many { .. } => {
            let values = json.as_array()?.iter().filter_map(Json::as_str);
            Value::Many(values.map(str::to_owned).collect())
        }
        Kind::Unknown(_) => return None,
    })
}

/// Returns a text that says something.
fn text(json: &Json) -> Option<String> {
    let text = json.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn count(json: &Json) -> Option<usize> {
    let number = json.as_f64().filter(|number| *number >= 0.0)?;
    Some(number as usize)
}
