//! Forms: their fields, the user's entries, and the mistakes in them.
//!
//! Invariant: the content that a form returns satisfies its schema. Until it does, each invalid
//! field has a message that says why.

pub mod page;
#[cfg(test)]
mod props;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use self::page::Page;
use rules::Rules;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    pub title: Option<String>,
    pub description: Option<String>,
    /// In the order of the schema.
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key in the answer.
    pub name: String,
    /// The label on the screen.
    pub title: String,
    pub description: Option<String>,
    pub is_required: bool,
    /// The value must not be on the screen, in a record or in a log.
    pub is_secret: bool,
    pub kind: Kind,
    pub default: Option<Json>,
    rules: Rules,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Flag,
    /// One of several choices.
    One(Vec<Choice>),
    /// Any number of several choices.
    Many(Vec<Choice>),
    /// The name of a type that no field can show.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value in the answer, unique in the field.
    pub value: String,
    /// The label on the screen.
    pub title: String,
    pub description: Option<String>,
    /// What it would look like, in several lines.
    pub preview: Option<String>,
}

/// The user's entry in a field, valid or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A text or a number, as typed.
    Text(String),
    Flag(bool),
    /// The numbers of the choices, from 0.
    Chosen(BTreeSet<usize>),
}

/// A message for each wrong field, by the field's number.
pub type Mistakes = Vec<(usize, String)>;

const MISSING: &str = "this is required";

/// What is shown of a secret, whatever its length.
pub const HIDDEN: &str = "••••";

/// Larger floats do not identify a single integer.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl Form {
    /// Reads a JSON schema: an object whose properties are scalars or lists of strings.
    pub fn of_schema(schema: &Json) -> Self {
        schema::read(schema)
    }

    /// Returns the entry of each field before the user has changed anything.
    pub fn entries(&self) -> Vec<Entry> {
        self.fields.iter().map(Field::entry).collect()
    }

    /// Returns the content of the entries, without optional fields that are empty.
    ///
    /// # Errors
    /// The mistakes, field by field.
    pub fn take(&self, entries: &[Entry]) -> Result<Map<String, Json>, Mistakes> {
        let mut content = Map::new();
        let mut mistakes = Vec::new();
        for (number, field) in self.fields.iter().enumerate() {
            match field.value(entries.get(number)) {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
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

    /// Checks content that was not entered in the form's window.
    ///
    /// # Errors
    /// The mistakes, each with the name of its field.
    pub fn check(&self, content: &Map<String, Json>) -> Result<(), Vec<String>> {
        let mut mistakes = Vec::new();
        for field in &self.fields {
            let why = match content.get(&field.name) {
                Some(value) => field.check(value).err(),
                None => field.is_required.then(|| MISSING.to_owned()),
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
    /// Formats a value of the field for the user.
    pub fn shown(&self, value: &Json) -> Option<String> {
        self.check(value).ok()?;
        if self.is_secret {
            return Some(HIDDEN.to_owned());
        }
        Some(match value {
            Json::String(text) => self.title_of(text),
            Json::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Json::Array(values) => {
                let values = values.iter().filter_map(Json::as_str);
                let titles: Vec<String> = values.map(|value| self.title_of(value)).collect();
                titles.join(", ")
            }
            other => other.to_string(),
        })
    }

    fn choices(&self) -> &[Choice] {
        match &self.kind {
            Kind::One(choices) | Kind::Many(choices) => choices,
            _ => &[],
        }
    }

    fn title_of(&self, value: &str) -> String {
        let mut choices = self.choices().iter();
        let choice = choices.find(|choice| choice.value == value);
        choice.map_or(value, |choice| &choice.title).to_owned()
    }

    fn check(&self, value: &Json) -> Result<(), String> {
        self.rules.check(&self.kind, value)
    }

    /// Returns the field's initial entry: its default, if the field can show it.
    fn entry(&self) -> Entry {
        let default = self.default.as_ref();
        match self.kind {
            Kind::Flag => Entry::Flag(default == Some(&Json::Bool(true))),
            Kind::One(_) | Kind::Many(_) => {
                let is_default = |choice: &Choice| match default {
                    Some(Json::Array(values)) => values.iter().any(|value| choice.value == *value),
                    Some(value) => choice.value == *value,
                    None => false,
                };
                let choices = self.choices().iter().enumerate();
                let chosen = choices.filter(|(_, choice)| is_default(choice));
                Entry::Chosen(chosen.map(|(number, _)| number).collect())
            }
            _ => Entry::Text(match default {
                Some(Json::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => String::new(),
            }),
        }
    }

    /// Returns the value of an entry; `None` if the field is omitted.
    fn value(&self, entry: Option<&Entry>) -> Result<Option<Json>, String> {
        let value = match (&self.kind, entry) {
            (Kind::Flag, Some(Entry::Flag(flag))) => Some(Json::from(*flag)),
            (Kind::One(choices), Some(Entry::Chosen(chosen))) => {
                let chosen = chosen.first().and_then(|number| choices.get(*number));
                chosen.map(|choice| Json::from(choice.value.as_str()))
            }
            (Kind::Many(choices), Some(Entry::Chosen(chosen))) => {
                let chosen = chosen.iter().filter_map(|number| choices.get(*number));
                let values: Vec<&str> = chosen.map(|choice| choice.value.as_str()).collect();
                let is_left_out = values.is_empty() && !self.is_required;
                (!is_left_out).then(|| Json::from(values))
            }
            (Kind::Text, Some(Entry::Text(text))) if !text.is_empty() => {
                Some(Json::from(text.as_str()))
            }
            (Kind::Integer, Some(Entry::Text(text))) if !text.trim().is_empty() => {
                Some(integer(text.trim())?)
            }
            (Kind::Number, Some(Entry::Text(text))) if !text.trim().is_empty() => {
                Some(number(text.trim())?)
            }
            _ => None,
        };
        match value {
            Some(value) => self.check(&value).map(|()| Some(value)),
            None if !self.is_required => Ok(None),
            None => Err(match self.kind {
                Kind::One(_) => "choose one of these",
                Kind::Unknown(_) => "this cannot be filled in here",
                _ => MISSING,
            }
            .to_owned()),
        }
    }
}

fn integer(text: &str) -> Result<Json, String> {
    let number = text.strip_prefix('+').unwrap_or(text).parse::<i64>();
    number
        .map(Json::from)
        .map_err(|_| "this is not a whole number".to_owned())
}

fn number(text: &str) -> Result<Json, String> {
    let is_number = text.contains(|c: char| c.is_ascii_digit());
    let number = text.parse().ok();
    number
        .filter(|n: &f64| is_number && n.is_finite())
        .map(number_json)
        .ok_or_else(|| "this is not a number".to_owned())
}

/// Converts a number to JSON, as an integer if it is one.
fn number_json(number: f64) -> Json {
    match number.fract() == 0.0 && number.abs() <= WHOLE {
        true => Json::from(number as i64),
        false => Json::from(number),
    }
}

/// The content of an elicitation.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Form(Form),
    Page {
        page: Page,
        /// The agent's id of the page, used to report its end.
        id: String,
    },
}
