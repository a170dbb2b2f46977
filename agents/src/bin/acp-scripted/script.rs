//! The script as data: the steps and their fields. `main.rs` explains what each step does.
//!
//! Invariant: a script with an unknown step or field is refused before its first step runs.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A whole script.
#[derive(Debug, Default)]
pub struct Script {
    pub options: Options,
    /// Default answers by method; see `defaults.rs`.
    pub defaults: Map<String, Value>,
    /// The steps of each life of the agent; a script without `life` has one.
    pub lives: Vec<Vec<Step>>,
    /// Methods that a step expects; only the script answers them.
    pub owned: HashSet<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The time limit of a wait without `within`.
    pub timeout_ms: u64,
    pub ignore_sigterm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            ignore_sigterm: false,
        }
    }
}

/// A step and its line in the script.
#[derive(Debug, Clone)]
pub struct Step {
    pub line: usize,
    pub verb: Verb,
}

/// A step: its first key names the variant, and `it` is the value of that key.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verb {
    Options {
        it: Options,
    },
    Defaults {
        it: Map<String, Value>,
    },
    Life {
        #[serde(rename = "it")]
        _it: Value,
    },
    Expect {
        it: String,
        params: Option<Value>,
        #[serde(rename = "as")]
        name: Option<String>,
        #[serde(default)]
        save: BTreeMap<String, String>,
        #[serde(default)]
        any_order: bool,
        #[serde(default)]
        optional: bool,
        within: Option<u64>,
    },
    ExpectEof {
        #[serde(rename = "it")]
        _it: Value,
        within: Option<u64>,
    },
    Ignore {
        it: Vec<String>,
    },
    Reply {
        it: String,
        #[serde(default, deserialize_with = "present")]
        result: Option<Value>,
        error: Option<Value>,
    },
    End {
        it: String,
        reason: Option<String>,
    },
    Request {
        it: String,
        #[serde(default)]
        params: Value,
        #[serde(rename = "as")]
        name: Option<String>,
        id: Option<Value>,
    },
    Await {
        it: String,
        #[serde(default, deserialize_with = "present")]
        result: Option<Value>,
        error: Option<Value>,
        choice: Option<String>,
        #[serde(default)]
        save: BTreeMap<String, String>,
        within: Option<u64>,
    },
    Read {
        it: String,
        line: Option<Value>,
        limit: Option<Value>,
        #[serde(rename = "as")]
        name: Option<String>,
    },
    Write {
        it: String,
        content: String,
        #[serde(rename = "as")]
        name: Option<String>,
    },
    Permission {
        it: Value,
        options: Option<Value>,
        #[serde(rename = "as")]
        name: Option<String>,
        id: Option<Value>,
    },
    Notify {
        it: String,
        #[serde(default)]
        params: Value,
    },
    Update {
        it: Value,
        session: Option<String>,
    },
    Say {
        it: String,
        message: Option<String>,
    },
    Think {
        it: String,
        message: Option<String>,
    },
    Echo {
        it: String,
        message: Option<String>,
    },
    Tool {
        it: Map<String, Value>,
    },
    ToolUpdate {
        it: Map<String, Value>,
    },
    BigSay {
        it: BigSay,
    },
    Raw {
        it: String,
        #[serde(default = "yes")]
        newline: bool,
    },
    RawB64 {
        it: String,
        #[serde(default = "yes")]
        newline: bool,
    },
    Flood {
        it: Flood,
    },
    Stderr {
        it: String,
    },
    Repeat {
        it: u64,
        #[serde(default)]
        every_us: u64,
        #[serde(rename = "do")]
        steps: Vec<Value>,
    },
    Delay {
        it: u64,
    },
    Set {
        it: Map<String, Value>,
    },
    Exit {
        it: i32,
    },
    Abort {
        it: String,
    },
    Hang {
        it: Value,
    },
    SpawnChild {
        it: Vec<String>,
        pid_file: Option<String>,
        #[serde(default)]
        holds_stdout: bool,
    },
    Touch {
        it: Touch,
    },
    Disk {
        it: Disk,
    },
    Shell {
        it: String,
    },
    SignalFile {
        it: String,
    },
    WaitFile {
        it: String,
        within: Option<u64>,
    },
    Mark {
        it: String,
    },
    Measure {
        it: Measure,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BigSay {
    pub bytes: usize,
    #[serde(default)]
    pub kind: Kind,
    /// Size of each chunk in bytes; without it the text is one chunk.
    pub chunk: Option<usize>,
    #[serde(default)]
    pub every_us: u64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    Prose,
    Code,
    Mixed,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    pub bytes: usize,
    #[serde(default = "x")]
    pub byte: String,
    #[serde(default = "yes")]
    pub newline: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    pub path: String,
    pub content: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    pub path: String,
    /// A pattern for the whole text; without it the file must not exist.
    pub content: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub path: String,
    pub count: usize,
    /// Writes instead of reading: this text and the number of the write.
    pub write: Option<String>,
    #[serde(default)]
    pub every_us: u64,
    /// The name in the report.
    pub name: Option<String>,
}

impl Script {
    /// Parses a script.
    ///
    /// # Errors
    /// Names the line and the mistake.
    pub fn parse(text: &str) -> Result<Script, String> {
        let mut script = Script {
            lives: vec![Vec::new()],
            ..Script::default()
        };
        for (row, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let number = row + 1;
            let value: Value =
                serde_json::from_str(trimmed).map_err(|why| format!("line {number}: {why}"))?;
            let step = Step::parse(number, &value)?;
            step.owns(&mut script.owned)?;
            match step.verb {
                Verb::Options { it } => script.options = it,
                Verb::Defaults { it } => script.defaults.extend(it),
                // The first `life` may precede all steps.
                Verb::Life { .. } if script.lives.iter().all(Vec::is_empty) => {}
                Verb::Life { .. } => script.lives.push(Vec::new()),
                _ => script
                    .lives
                    .last_mut()
                    .into_iter()
                    .for_each(|life| life.push(step.clone())),
            }
        }
        Ok(script)
    }
}

impl Step {
    /// Parses one step; its first key names it.
    pub fn parse(line: usize, value: &Value) -> Result<Step, String> {
        let fields = value
            .as_object()
            .ok_or_else(|| format!("line {line}: a step must be a JSON object"))?;
        let mut rest = fields.clone();
        let (name, it) = fields
            .iter()
            .next()
            .ok_or_else(|| format!("line {line}: a step without a name"))?;
        rest.shift_remove(name);
        rest.insert("it".to_owned(), it.clone());
        let tagged = Value::Object(Map::from_iter([(name.clone(), Value::Object(rest))]));
        let verb = serde_json::from_value(tagged)
            .map_err(|why| format!("line {line}, step {name:?}: {why}"))?;
        Ok(Step { line, verb })
    }

    fn owns(&self, owned: &mut HashSet<String>) -> Result<(), String> {
        match &self.verb {
            Verb::Expect { it, .. } => drop(owned.insert(it.clone())),
            Verb::Repeat { steps, .. } => {
                for step in steps {
                    Step::parse(self.line, step)?.owns(owned)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn yes() -> bool {
    true
}

fn x() -> String {
    "x".to_owned()
}

/// Distinguishes `null` from a missing field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[usize], &str>) {
        let lives =
            Script::parse(text).map(|script| script.lives.iter().map(Vec::len).collect::<Vec<_>>());
        match (lives, expected) {
            (Ok(lives), Ok(expected)) => assert_eq!(lives, expected),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn a_script_is_parsed_as_a_whole_or_refused() {
        check("# nothing\n\n", Ok(&[0]));
        check("{\"say\":\"a\"}\n  # a\n{\"delay\":1}", Ok(&[2]));
        check(
            "{\"life\":1}\n{\"exit\":1}\n{\"life\":2}\n{\"say\":\"a\"}",
            Ok(&[1, 1]),
        );
        check("{\"sing\":\"a\"}", Err("line 1, step \"sing\""));
        check(
            "\n{\"say\":\"a\",\"loud\":true}",
            Err("line 2, step \"say\""),
        );
        check("{\"repeat\":2,\"do\":[{\"sing\":1}]}", Err("step \"sing\""));
        check("[1]", Err("a step must be a JSON object"));
    }

    #[test]
    fn null_is_a_result() {
        let script = Script::parse("{\"reply\":\"p\",\"result\":null}").unwrap();
        let Verb::Reply { result, .. } = &script.lives[0][0].verb else {
            panic!("{script:?}");
        };
        assert_eq!(*result, Some(Value::Null));
    }
}
