//! What a field takes: from entries and from JSON, and whether it may stand there.
//!
//! Invariant: nothing becomes a field's value that [`Field::check`] has not let through.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Choice, Entry, Field, Kind, TextRules, Value};

pub(super) const MISSING: &str = "this is required";

/// Beyond this a float names no single whole number.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl Field {
    /// Returns what stands in the field at first: its default, where it has one that fits it.
    pub(super) fn entry(&self) -> Entry {
        let number = |values: &[String], choices: &[Choice]| {
            let known = choices.iter().enumerate();
            let known = known.filter(|(_, choice)| values.contains(&choice.value));
            Entry::Chosen(known.map(|(number, _)| number).collect())
        };
        match (&self.kind, &self.default) {
            (Kind::Flag, default) => Entry::Flag(default == &Some(Value::Flag(true))),
            (Kind::One(choices), Some(Value::Text(value))) => {
                number(std::slice::from_ref(value), choices)
            }
            (Kind::Many { choices, .. }, Some(Value::Many(values))) => number(values, choices),
            (Kind::One(_) | Kind::Many { .. }, _) => Entry::Chosen(BTreeSet::new()),
            (_, Some(default)) => Entry::Text(default.shown()),
            (_, None) => Entry::Text(String::new()),
        }
    }

    /// Returns what an entry comes to; `None` where the field is left out.
    pub(super) fn value(&self, entry: Option<&Entry>) -> Result<Option<Value>, String> {
        let value = match (&self.kind, entry) {
            (Kind::Unknown(_), _) | (_, None) => None,
            (Kind::Flag, Some(Entry::Flag(flag))) => Some(Value::Flag(*flag)),
            (Kind::One(choices), Some(Entry::Chosen(chosen))) => {
                let chosen = chosen.first().and_then(|number| choices.get(*number));
                chosen.map(|choice| Value::Text(choice.value.clone()))
            }
            (Kind::Many { choices, .. }, Some(Entry::Chosen(chosen))) => {
                let chosen = chosen.iter().filter_map(|number| choices.get(*number));
                let values: Vec<String> = chosen.map(|choice| choice.value.clone()).collect();
                let is_left_out = values.is_empty() && !self.is_required;
                (!is_left_out).then_some(Value::Many(values))
            }
            (Kind::Text(_), Some(Entry::Text(text))) if !text.is_empty() => {
                Some(Value::Text(text.clone()))
            }
            (Kind::Integer { .. }, Some(Entry::Text(text))) if !text.trim().is_empty() => {
                Some(integer(text.trim())?)
            }
            (Kind::Number { .. }, Some(Entry::Text(text))) if !text.trim().is_empty() => {
                Some(number(text.trim())?)
            }
            _ => None,
        };
        match value {
            Some(value) => self.check(&value).map(|()| Some(value)),
            None if !self.is_required => Ok(None),
            None => Err(match self.kind {
                Kind::One(_) => "choose one of these".to_owned(),
                Kind::Unknown(_) => "this cannot be filled in here".to_owned(),
                _ => MISSING.to_owned(),
            }),
        }
    }

    /// Reads a value that was not entered here.
    pub(super) fn read(&self, json: &Json) -> Result<Value, String> {
        let wrong = |what: &str| format!("expected {what}, got {json}");
        match &self.kind {
            Kind::Text(_) | Kind::One(_) => {
                let text = json.as_str().ok_or_else(|| wrong("a text"))?;
                Ok(Value::Text(text.to_owned()))
            }
            Kind::Integer { .. } => {
                let whole = json.as_i64().or_else(|| json.as_f64().and_then(whole));
                whole
                    .map(Value::Integer)
                    .ok_or_else(|| wrong("a whole number"))
            }
            Kind::Number { .. } => {
                let number = json.as_f64().ok_or_else(|| wrong("a number"))?;
                Ok(Value::Number(number))
            }
            Kind::Flag => {
                let flag = json.as_bool().ok_or_else(|| wrong("true or false"))?;
                Ok(Value::Flag(flag))
            }
            Kind::Many { .. } => {
                let texts = json.as_array().map(|list| list.iter().map(Json::as_str));
                let texts = texts.and_then(|texts| texts.collect::<Option<Vec<&str>>>());
                let texts = texts.ok_or_else(|| wrong("a list of texts"))?;
                Ok(Value::Many(texts.into_iter().map(str::to_owned).collect()))
            }
            Kind::Unknown(kind) => Err(format!("nothing of the type \"{kind}\" can be given")),
        }
    }

    /// Tells whether a value may stand in the field; if not, why.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let why = match (&self.kind, value) {
            (Kind::Text(rules), Value::Text(text)) => rules.problem(text),
            // An i64 beyond 2^53 is rounded: bounds that far out are floats themselves.
            (Kind::Integer { min, max }, Value::Integer(number)) => {
                beyond(*number as f64, *min, *max)
            }
            (Kind::Number { min, max }, Value::Number(number)) => match number.is_finite() {
                true => beyond(*number, *min, *max),
                false => Some("this is not a number".to_owned()),
            },
            (Kind::Flag, Value::Flag(_)) => None,
            (Kind::One(choices), Value::Text(text)) => unknown(choices, text),
            (Kind::Many { choices, min, max }, Value::Many(values)) => {
                let strange = values.iter().find_map(|value| unknown(choices, value));
                strange.or_else(|| wrong_count(values.len(), *min, *max))
            }
            _ => Some("this is of another type".to_owned()),
        };
        why.map_or(Ok(()), Err)
    }
}

impl TextRules {
    /// Returns what is wrong with a text.
    fn problem(&self, text: &str) -> Option<String> {
        let length = text.chars().count();
        if let Some(min) = self.min.filter(|min| length < *min) {
            return Some(format!("at least {}", characters(min)));
        }
        if let Some(max) = self.max.filter(|max| length > *max) {
            return Some(format!("at most {}, these are {length}", characters(max)));
        }
        if let Some(format) = self.format.filter(|format| !format.fits(text)) {
            return Some(format.advice().to_owned());
        }
        let pattern = self.pattern.as_ref().filter(|p| !p.fits(text))?;
        Some(format!("this does not match {}", pattern.source()))
    }
}

fn characters(count: usize) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} character{ending}")
}

fn integer(text: &str) -> Result<Value, String> {
    let number = text.strip_prefix('+').unwrap_or(text).parse();
    number
        .map(Value::Integer)
        .map_err(|_| "this is not a whole number".to_owned())
}

fn number(text: &str) -> Result<Value, String> {
    let is_number = text.contains(|c: char| c.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|n: &f64| is_number && n.is_finite());
    number
        .map(Value::Number)
        .ok_or_else(|| "this is not a number".to_owned())
}

/// Returns a float as the whole number it is, if it is one.
pub(super) fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= WHOLE).then_some(number as i64)
}

fn beyond(number: f64, min: Option<f64>, max: Option<f64>) -> Option<String> {
    let low = min.filter(|min| number < *min);
    let high = max.filter(|max| number > *max);
    low.map(|min| format!("at least {min}"))
        .or_else(|| high.map(|max| format!("at most {max}")))
}

fn unknown(choices: &[Choice], value: &str) -> Option<String> {
    let is_known = choices.iter().any(|choice| choice.value == value);
    (!is_known).then(|| format!("\"{value}\" is none of the choices"))
}

fn wrong_count(count: usize, min: Option<usize>, max: Option<usize>) -> Option<String> {
    let few = min.filter(|min| count < *min);
    let many = max.filter(|max| count > *max);
    few.map(|min| format!("choose at least {min}"))
        .or_else(|| many.map(|max| format!("choose at most {max}")))
}
