//! JSON that often means something: its names, and some of its texts, are the words of a protocol.

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use serde_json::{Map, Value as Json, json};

#[derive(Debug, Arbitrary)]
pub enum Any {
    Null,
    Flag(bool),
    Whole(i64),
    Float(f64),
    Word(u8),
    Text(String),
    List(Vec<Any>),
    Map(Vec<(u8, Any)>),
}

impl Any {
    fn json(&self, words: &[&str]) -> Json {
        match self {
            Any::Null => Json::Null,
            Any::Flag(flag) => json!(flag),
            Any::Whole(number) => json!(number),
            Any::Float(number) => json!(number),
            Any::Word(number) => json!(word(words, *number)),
            Any::Text(text) => json!(text),
            Any::List(values) => values.iter().map(|value| value.json(words)).collect(),
            Any::Map(values) => Json::Object(map(words, values)),
        }
    }
}

pub fn map(words: &[&str], values: &[(u8, Any)]) -> Map<String, Json> {
    let named = |(name, value): &(u8, Any)| (word(words, *name).to_owned(), value.json(words));
    values.iter().map(named).collect()
}

pub fn word<'a>(words: &[&'a str], number: u8) -> &'a str {
    words[usize::from(number) % words.len()]
}
