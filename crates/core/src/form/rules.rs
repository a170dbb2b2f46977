//! The values a field accepts, as a compiled JSON schema, and the message for a rejected one.
//!
//! Invariants: the schema holds only keywords listed here, so nothing is fetched for it. Compiling
//! and matching patterns take bounded time: one that costs more or needs backtracking is not
//! checked.

use acp_schema::{Field, Wrong};
use serde_json::{Value as Json, json};

use super::{Choice, Kind};

/// Maximum number of patterns to check in one form; compiling one can take 30 ms.
pub(super) const PATTERNS: usize = 50;

/// Maximum length of a pattern to check, and of its escapes, whose translation takes quadratic
/// time.
const PATTERN_BYTES: usize = 1000;
const ESCAPES: usize = 60;

/// Checks the values of one field.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    schema: Json,
    field: Option<Field>,
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Rules {
    /// Compiles the schema of a property of this kind. Malformed bounds and patterns are omitted,
    /// as are patterns beyond the form's maximum.
    pub(super) fn of(kind: &Kind, property: &Json, patterns_left: &mut usize) -> Self {
        let mut schema = match kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Integer => json!({ "type": "integer" }),
            Kind::Number => json!({ "type": "number" }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::One(choices) => json!({ "type": "string", "enum": values(choices) }),
            Kind::Many(choices) => {
                json!({ "type": "array", "items": { "enum": values(choices) } })
            }
            Kind::Unknown(_) => Json::Bool(false),
        };
        let (is_sound, bounds): (fn(&Json) -> bool, &[&str]) = match kind {
            Kind::Text => (Json::is_u64, &["minLength", "maxLength"]),
            Kind::Integer | Kind::Number => (Json::is_number, &["minimum", "maximum"]),
            Kind::Many(_) => (Json::is_u64, &["minItems", "maxItems"]),
            Kind::Flag | Kind::One(_) | Kind::Unknown(_) => (Json::is_null, &[]),
        };
        for bound in bounds {
            if is_sound(&property[bound]) {
                schema[bound] = property[bound].clone();
            }
        }
        if let (Kind::Text, Some(format)) = (kind, property["format"].as_str()) {
            schema["format"] = Json::from(format);
        }
        if let (Kind::Text, Some(pattern)) = (kind, property["pattern"].as_str())
            && is_cheap(pattern)
            && let Some(left) = patterns_left.checked_sub(1)
        {
            *patterns_left = left;
            schema["pattern"] = Json::from(pattern);
        }
        let field = Field::compile(&schema).or_else(|| {
            if let Some(keywords) = schema.as_object_mut() {
                keywords.remove("pattern");
            }
            Field::compile(&schema)
        });
        Self { schema, field }
    }

    /// Checks a value of a field of this kind.
    ///
    /// # Errors
    /// Returns a message for the user.
    pub(super) fn check(&self, kind: &Kind, value: &Json) -> Result<(), String> {
        match self.field.as_ref().and_then(|field| field.wrong(value)) {
            Some(wrong) => Err(sentence(kind, value, &wrong)),
            None => Ok(()),
        }
    }
}

fn is_cheap(pattern: &str) -> bool {
    pattern.len() <= PATTERN_BYTES && pattern.matches('\\').count() <= ESCAPES
}

fn values(choices: &[Choice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.value.as_str()).collect()
}

fn sentence(kind: &Kind, value: &Json, wrong: &Wrong) -> String {
    match wrong {
        Wrong::MinLength(limit) => format!("at least {}", characters(*limit)),
        Wrong::MaxLength(limit) => {
            let length = value.as_str().unwrap_or_default().chars().count();
            format!("at most {}, these are {length}", characters(*limit))
        }
        Wrong::Format(format) => match format.as_str() {
            "email" => "this is not an address: name@example.org".to_owned(),
            "uri" => "this is not a URI: https://example.org/".to_owned(),
            "date" => "this is not a date: 2026-01-31".to_owned(),
            "date-time" => "this is not a date with its time: 2026-01-31T12:00:00Z".to_owned(),
            format => format!("this does not have the format \"{format}\""),
        },
        Wrong::Pattern(pattern) => format!("this does not match {pattern}"),
        Wrong::Minimum(limit) => format!("at least {limit}"),
        Wrong::Maximum(limit) => format!("at most {limit}"),
        Wrong::MinItems(limit) => format!("choose at least {limit}"),
        Wrong::MaxItems(limit) => format!("choose at most {limit}"),
        Wrong::Enum(value) => format!("{value} is none of the choices"),
        Wrong::Other(value) => match expected(kind) {
            Ok(expected) => format!("expected {expected}, got {value}"),
            Err(kind) => format!("nothing of the type \"{kind}\" can be given"),
        },
    }
}

/// Describes the values of this kind; fails with the type's name if no value is possible.
fn expected(kind: &Kind) -> Result<&'static str, &str> {
    Ok(match kind {
        Kind::Text | Kind::One(_) => "a text",
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Flag => "true or false",
        Kind::Many(_) => "a list of texts",
        Kind::Unknown(kind) => return Err(kind),
    })
}

fn characters(count: u64) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} character{ending}")
}
