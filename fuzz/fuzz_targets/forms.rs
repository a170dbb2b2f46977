//! Any schema becomes a form, and content that the form returns satisfies its schema.

#![no_main]

use std::collections::BTreeSet;

use acp_core::form::{Entry, Form, Kind};
use any::{Any, map, word};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value as Json, json};

mod any;

const WORDS: [&str; 32] = [
    "type",
    "properties",
    "required",
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "enum",
    "enumNames",
    "oneOf",
    "anyOf",
    "const",
    "title",
    "description",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "email",
    "uri",
    "date",
    "date-time",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "x",
];

/// The names of properties, and what each schema has.
type Properties = Vec<(u8, Vec<(u8, Any)>)>;

#[derive(Debug, Arbitrary)]
enum Entered {
    Default,
    Text(String),
    Flag(bool),
    Chosen(Vec<u8>),
}

/// Returns whether a value is within the property's bounds, by another reading of them.
fn fits(kind: &Kind, property: &Json, value: &Json) -> bool {
    let count = |json: &Json, least: &str, most: &str, count: usize| {
        let count = count as u64;
        json[least].as_u64().is_none_or(|least| count >= least)
            && json[most].as_u64().is_none_or(|most| count <= most)
    };
    match (kind, value) {
        (Kind::Text, Json::String(text)) => {
            count(property, "minLength", "maxLength", text.chars().count())
        }
        (Kind::Integer | Kind::Number, Json::Number(number)) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let is_whole = *kind != Kind::Integer || number.fract() == 0.0;
            let (least, most) = (&property["minimum"], &property["maximum"]);
            is_whole
                && least.as_f64().is_none_or(|least| number >= least)
                && most.as_f64().is_none_or(|most| number <= most)
        }
        (Kind::Flag, Json::Bool(_)) => true,
        (Kind::One(choices), Json::String(text)) => choices.iter().any(|one| one.value == *text),
        (Kind::Many(choices), Json::Array(values)) => {
            let is_choice = |value: &Json| choices.iter().any(|one| one.value == *value);
            count(property, "minItems", "maxItems", values.len()) && values.iter().all(is_choice)
        }
        _ => false,
    }
}

fuzz_target!(|input: (Properties, Vec<u8>, Vec<Entered>)| {
    let (fields, required, entered) = input;
    let fields = fields.iter().map(|(name, field)| {
        (
            word(&WORDS, *name).to_owned(),
            Json::Object(map(&WORDS, field)),
        )
    });
    let properties: Map<String, Json> = fields.collect();
    let required: Vec<&str> = required.iter().map(|name| word(&WORDS, *name)).collect();
    let schema = json!({ "properties": properties, "required": required });
    let form = Form::of_schema(&schema);
    let mut entries = form.entries();
    for (entry, entered) in entries.iter_mut().zip(entered) {
        match entered {
            Entered::Default => {}
            Entered::Text(text) => *entry = Entry::Text(text),
            Entered::Flag(flag) => *entry = Entry::Flag(flag),
            Entered::Chosen(all) => {
                *entry = Entry::Chosen(all.into_iter().map(usize::from).collect::<BTreeSet<_>>());
            }
        }
    }
    if let Ok(content) = form.take(&entries) {
        assert_eq!(form.check(&content), Ok(()), "{content:?}");
        for field in &form.fields {
            match content.get(&field.name) {
                Some(value) => {
                    assert!(field.shown(value).is_some(), "{value}");
                    let property = &properties[&field.name];
                    assert!(fits(&field.kind, property, value), "{property}: {value}");
                }
                None => assert!(!field.is_required, "{} is missing", field.name),
            }
        }
    }
});
