//! Forms: what is asked for, what the user has entered, and what is wrong with it.
//!
//! Invariant: what a form gives back satisfies its schema. Where that is not so yet, each field
//! that is wrong says why.

mod check;
mod formats;
mod pattern;
#[cfg(test)]
mod props;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

pub use formats::Format;
pub use pattern::Pattern;

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    pub title: Option<String>,
    pub description: Option<String>,
    /// In the order in which they are asked.
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What the answer calls it.
    pub name: String,
    /// What the user sees.
    pub title: String,
    pub description: Option<String>,
    pub is_required: bool,
    pub kind: Kind,
    pub default: Option<Value>,
}

/// What may stand in a field. Bounds belong to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Text(TextRules),
    Integer {
        min: Option<f64>,
        max: Option<f64>,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
    },
    Flag,
    /// One of some choices.
    One(Vec<Choice>),
    /// Any of some choices.
    Many {
        choices: Vec<Choice>,
        min: Option<usize>,
        max: Option<usize>,
    },
    /// Something nobody here knows how to ask for, by the name of its type.
    Unknown(String),
}

/// What a text has to be; lengths are in characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextRules {
    pub min: Option<usize>,
    pub max: Option<usize>,
    pub pattern: Option<Pattern>,
    pub format: Option<Format>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What the answer calls it; no other choice of the field has the same.
    pub value: String,
    /// What the user sees.
    pub title: String,
    pub description: Option<String>,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Many(Vec<String>),
}

/// What the user has entered in a field, right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// As it was typed, of texts and numbers.
    Text(String),
    Flag(bool),
    /// The numbers of the choices, from 0.
    Chosen(BTreeSet<usize>),
}

/// A message for each field that is wrong, by the field's number.
pub type Mistakes = Vec<(usize, String)>;

impl Form {
    /// Reads a JSON schema: an object whose properties have no parts but lists of strings.
    pub fn of_schema(schema: &Json) -> Self {
        schema::read(schema)
    }

    /// Returns what stands in each field before the user has entered anything.
    pub fn entries(&self) -> Vec<Entry> {
        self.fields.iter().map(Field::entry).collect()
    }

    /// Returns what the entries come to; a field that may be left out and is empty is.
    ///
    /// # Errors
    /// What is wrong, field by field.
    pub fn take(&self, entries: &[Entry]) -> Result<Map<String, Json>, Mistakes> {
        let mut content = Map::new();
        let mut mistakes = Vec::new();
        for (number, field) in self.fields.iter().enumerate() {
            match field.value(entries.get(number)) {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value.to_json());
                }
                Ok(None) => {}
                Err(why) => mistakes.push((number, why)),
            }
        }
        match mistakes.is_empty() {
            true => Ok(content),
            false => Err(mistakes),
        }
    }

    /// Checks an answer that was not entered here.
    ///
    /// # Errors
    /// What is wrong, each with the name of its field.
    pub fn check(&self, content: &Map<String, Json>) -> Result<(), Vec<String>> {
        let mut mistakes = Vec::new();
        for field in &self.fields {
            let why = match content.get(&field.name) {
                Some(json) => field.read(json).and_then(|value| field.check(&value)).err(),
                None => field.is_required.then(|| check::MISSING.to_owned()),
            };
            mistakes.extend(why.map(|why| format!("{}: {why}", field.name)));
        }
        for name in content.keys() {
            if !self.fields.iter().any(|field| field.name == *name) {
                mistakes.push(format!("{name}: there is no such field"));
            }
        }
        match mistakes.is_empty() {
            true => Ok(()),
            false => Err(mistakes),
        }
    }
}

impl Field {
    /// Returns a value of the field's as the user reads it.
    pub fn shown(&self, json: &Json) -> Option<String> {
        let value = self.read(json).ok()?;
        let choices = match &self.kind {
            Kind::One(choices) | Kind::Many { choices, .. } => choices.as_slice(),
            _ => &[],
        };
        let title = |value: &String| {
            let choice = choices.iter().find(|choice| choice.value == *value);
            choice.map_or_else(|| value.clone(), |choice| choice.title.clone())
        };
        Some(match value {
            Value::Text(text) => title(&text),
            Value::Many(values) => {
                let titles: Vec<String> = values.iter().map(title).collect();
                titles.join(", ")
            }
            other => other.shown(),
        })
    }
}

impl Value {
    /// Returns it as JSON; a number without a fraction is written without one.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Text(text) => Json::from(text.as_str()),
            Value::Integer(number) => Json::from(*number),
            Value::Number(number) => match check::whole(*number) {
                Some(whole) => Json::from(whole),
                None => Json::from(*number),
            },
            Value::Flag(flag) => Json::from(*flag),
            Value::Many(values) => Json::from(values.as_slice()),
        }
    }

    /// Returns it as the user reads it.
    pub fn shown(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Value::Many(values) => values.join(", "),
        }
    }
}
