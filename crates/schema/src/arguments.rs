//! Validates tool arguments against JSON Schema, and describes the errors.
//!
//! Invariant: error messages name the field and never contain its value.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value as Json};

/// Maximum number of invalid fields reported.
const FIELDS: usize = 20;

/// Maximum length of an error message, in bytes.
const LINE_BYTES: usize = 300;

/// A schema that arguments can be checked against.
pub struct Schema(Box<dyn Check>);

/// Hides the validator's type from the crates that drop a schema.
trait Check: Send + Sync {
    /// Returns one line for each invalid field.
    fn wrong(&self, arguments: &Json) -> Vec<String>;
}

impl Check for Validator {
    fn wrong(&self, arguments: &Json) -> Vec<String> {
        let mut lines = Vec::new();
        for error in self.iter_errors(arguments) {
            if lines.len() == FIELDS {
                lines.push("…".to_owned());
                break;
            }
            let path = error.instance_path();
            lines.push(line(path.as_str(), &error.masked().to_string()));
        }
        lines
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

impl Schema {
    /// Compiles a tool's `parameters`.
    ///
    /// # Errors
    /// One line that names the mistake and its place.
    pub fn compile(parameters: &Json) -> Result<Self, String> {
        let Json::Object(fields) = parameters else {
            return Err("it must be an object".to_owned());
        };
        if fields.get("type").is_some_and(|kind| kind != "object") {
            return Err("/type: it must be \"object\"".to_owned());
        }
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex())
            .build(parameters)
            .map_err(|error| line(error.instance_path().as_str(), &error.to_string()))?;
        Ok(Self(Box::new(validator)))
    }

    /// Returns the arguments if they match the schema.
    ///
    /// # Errors
    /// One line for each invalid field.
    pub fn check(&self, arguments: Json) -> Result<Map<String, Json>, String> {
        let lines = self.0.wrong(&arguments);
        match arguments {
            Json::Object(fields) if lines.is_empty() => Ok(fields),
            _ if lines.is_empty() => Err(line("", "they must be an object")),
            _ => Err(lines.join("\n")),
        }
    }
}

/// Checks that a tool's `parameters` are a valid schema.
///
/// # Errors
/// One line that names the mistake and its place.
pub fn check_schema(parameters: &Json) -> Result<(), String> {
    Schema::compile(parameters).map(|_| ())
}

fn line(path: &str, words: &str) -> String {
    let path = if path.is_empty() { "arguments" } else { path };
    let words: String = words
        .chars()
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    let mut line = format!("{path}: {words}");
    if line.len() > LINE_BYTES {
        let mut end = LINE_BYTES;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_schema_is_told_by_its_place() {
        let check = |parameters: Json, place: &str| match check_schema(&parameters) {
            Ok(()) => assert_eq!(place, "", "{parameters}"),
            Err(why) => {
                assert!(
                    !place.is_empty() && why.starts_with(place),
                    "{parameters}: {why}"
                );
                assert_eq!(why.lines().count(), 1);
            }
        };
        check(json!({}), "");
        check(
            json!({ "type": "object", "properties": { "a": { "enum": [1, 2] } } }),
            "",
        );
        check(json!([]), "it must be an object");
        check(json!({ "type": "string" }), "/type: ");
        check(
            json!({ "properties": { "a": { "type": "strange" } } }),
            "/properties/a/type: ",
        );
        check(json!({ "required": "a" }), "/required: ");
        // No fetching, and no patterns that can backtrack.
        let remote = json!({ "properties": { "a": { "$ref": "https://example.com/a.json" } } });
        assert!(check_schema(&remote).is_err());
        let file = json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } });
        assert!(check_schema(&file).is_err());
        let backward = json!({ "properties": { "a": { "pattern": "(?=a)b" } } });
        assert!(check_schema(&backward).is_err());
    }

    #[test]
    fn words_name_each_field_and_not_what_stood_in_it() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer", "minimum": 1 },
                "of": { "enum": ["red", "green"] },
                "deep": { "type": "array", "items": { "required": ["x"] } },
            },
            "required": ["n"],
        }))
        .expect("a schema");
        assert!(schema.check(json!({ "n": 1 })).is_ok());
        let words = |arguments: Json| schema.check(arguments).expect_err("wrong");
        assert!(
            words(json!({})).starts_with("arguments: "),
            "{}",
            words(json!({}))
        );
        let all = words(json!({ "n": 0, "of": "secret", "deep": [{ "x": 1 }, {}] }));
        let mut lines: Vec<&str> = all.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.len(), 3, "{all}");
        assert!(
            lines[0].starts_with("/deep/1: ") && lines[0].contains('x'),
            "{all}"
        );
        assert!(
            lines[1].starts_with("/n: ") && lines[1].contains('1'),
            "{all}"
        );
        assert!(
            lines[2].starts_with("/of: ") && lines[2].contains("green"),
            "{all}"
        );
        assert!(!all.contains("secret"), "{all}");
        let many: Vec<Json> = vec![json!({}); 1000];
        assert_eq!(
            words(json!({ "n": 1, "deep": many })).lines().count(),
            FIELDS + 1
        );
        let long = "é".repeat(LINE_BYTES);
        let line = super::line("", &long);
        assert!(line.len() <= LINE_BYTES + '…'.len_utf8());
    }
}
