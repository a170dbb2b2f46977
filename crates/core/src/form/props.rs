//! Random forms with random entries: their content satisfies the schema.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// Texts, each with the formats and the pattern (`^[a-z]{2,4}$`) it matches.
const TEXTS: [(&str, &[&str]); 12] = [
    ("", &[]),
    ("a", &[]),
    ("abc", &["pattern"]),
    ("ab\n", &[]),
    ("äöü", &[]),
    ("a@b.org", &["email"]),
    ("https://x.org/", &["uri"]),
    ("2026-01-31", &["date"]),
    ("2026-02-30", &[]),
    ("2026-01-31T12:00:00Z", &["date-time"]),
    ("7", &[]),
    ("-2.5", &[]),
];
const PATTERN: &str = "^[a-z]{2,4}$";
const VALUES: [&str; 4] = ["a", "b", "c", "a"];

fn property() -> impl Strategy<Value = Json> {
    let bound = || proptest::option::of(-3..9i64);
    let length = || proptest::option::of(0..5u64);
    let format = prop_oneof![
        Just("email"),
        Just("uri"),
        Just("date"),
        Just("date-time"),
        Just("odd")
    ];
    let texts = (
        length(),
        length(),
        proptest::option::of(format),
        any::<bool>(),
    );
    prop_oneof![
        texts.prop_map(|(min, max, format, has_pattern)| json!({
            "type": "string", "minLength": min, "maxLength": max, "format": format,
            "pattern": has_pattern.then_some(PATTERN),
        })),
        (bound(), bound()).prop_map(|(min, max)| json!({
            "type": "integer", "minimum": min, "maximum": max,
        })),
        (bound(), bound()).prop_map(|(min, max)| json!({
            "type": "number", "minimum": min, "maximum": max,
        })),
        Just(json!({ "type": "boolean" })),
        (0..5usize).prop_map(|n| json!({ "type": "string", "enum": VALUES[..n.min(4)] })),
        (0..4usize).prop_map(|n| {
            let choices = VALUES[..n]
                .iter()
                .map(|value| json!({ "const": value, "title": "T" }));
            json!({ "type": "string", "oneOf": choices.collect::<Vec<_>>() })
        }),
        (length(), length(), 0..4usize).prop_map(|(min, max, n)| json!({
            "type": "array", "minItems": min, "maxItems": max, "items": { "enum": VALUES[..n] },
        })),
        Just(json!({ "type": "object" })),
    ]
}

fn schema() -> impl Strategy<Value = Json> {
    let field = (property(), any::<bool>(), 0..TEXTS.len());
    proptest::collection::vec(field, 0..5).prop_map(|fields| {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        for (number, (mut property, is_required, default)) in fields.into_iter().enumerate() {
            let name = format!("f{number}");
            property["default"] = match default % 3 {
                0 => Json::Null,
                1 => json!(TEXTS[default].0),
                _ => json!(3),
            };
            properties.insert(name.clone(), property);
            if is_required {
                required.push(name);
            }
        }
        json!({ "type": "object", "properties": properties, "required": required })
    })
}

fn entry() -> impl Strategy<Value = (usize, BTreeSet<usize>, bool)> {
    let chosen = proptest::collection::btree_set(0..5usize, 0..4);
    (0..TEXTS.len(), chosen, any::<bool>())
}

/// Fills in each field as the form's window would.
fn enter(form: &Form, random: &[(usize, BTreeSet<usize>, bool)]) -> Vec<Entry> {
    let fields = form.fields.iter().zip(random);
    let entered = fields.map(|(field, (text, chosen, flag))| match &field.kind {
        Kind::Flag => Entry::Flag(*flag),
        Kind::One(_) => Entry::Chosen(chosen.first().copied().into_iter().collect()),
        Kind::Many(_) => Entry::Chosen(chosen.clone()),
        _ => Entry::Text(TEXTS[*text].0.to_owned()),
    });
    entered.collect()
}

/// Checks a value against a property independently of the code under test.
fn satisfies(property: &Json, value: &Json) -> bool {
    let at_least = |key: &str, number: f64| property[key].as_f64().is_none_or(|min| number >= min);
    let at_most = |key: &str, number: f64| property[key].as_f64().is_none_or(|max| number <= max);
    let is_among = |values: &Json, value: &Json| {
        let values = values.as_array();
        values.is_none_or(|values| values.contains(value))
    };
    match property["type"].as_str() {
        Some("string") => {
            let Some(text) = value.as_str() else {
                return false;
            };
            let length = text.chars().count() as f64;
            let known = TEXTS.iter().find(|(known, _)| *known == text);
            let is_of = |what: &str| known.is_some_and(|(_, of)| of.contains(&what));
            let format = property["format"].as_str().filter(|name| *name != "odd");
            let one_of = property["oneOf"].as_array();
            let is_choice = one_of.is_none_or(|all| all.iter().any(|one| one["const"] == *value));
            at_least("minLength", length)
                && at_most("maxLength", length)
                && format.is_none_or(is_of)
                && (property["pattern"].is_null() || is_of("pattern"))
                && is_among(&property["enum"], value)
                && is_choice
        }
        Some("integer") => value.as_i64().is_some_and(|number| {
            at_least("minimum", number as f64) && at_most("maximum", number as f64)
        }),
        Some("number") => value
            .as_f64()
            .is_some_and(|number| at_least("minimum", number) && at_most("maximum", number)),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.as_array().is_some_and(|items| {
            at_least("minItems", items.len() as f64)
                && at_most("maxItems", items.len() as f64)
                && items
                    .iter()
                    .all(|item| is_among(&property["items"]["enum"], item))
        }),
        _ => false,
    }
}

fn check(schema: &Json, content: &Map<String, Json>) -> Result<(), TestCaseError> {
    for (name, value) in content {
        let property = &schema["properties"][name];
        prop_assert!(satisfies(property, value), "{name}: {value} in {property}");
    }
    for name in schema["required"].as_array().unwrap() {
        prop_assert!(content.contains_key(name.as_str().unwrap()), "{name}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_given_back_satisfies_the_schema(
        schema in schema(),
        random in proptest::collection::vec(entry(), 5),
    ) {
        let form = Form::of_schema(&schema);
        prop_assert_eq!(form.fields.len(), schema["properties"].as_object().unwrap().len());
        for entries in [form.entries(), enter(&form, &random)] {
            match form.take(&entries) {
                Ok(content) => {
                    check(&schema, &content)?;
                    prop_assert_eq!(form.check(&content), Ok(()));
                }
                Err(mistakes) => {
                    prop_assert!(!mistakes.is_empty());
                    prop_assert!(mistakes.is_sorted_by_key(|(number, _)| *number));
                }
            }
        }
    }
}
