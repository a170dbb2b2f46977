//! Replays a recorded conversation to a live client.
//!
//! Invariant: the agent's messages go out in the recorded order, and each waits for the client's
//! messages that were recorded before it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::report::Report;
use crate::runner::Stop;
use crate::wire::{Ended, Inbox, Out};

/// One line of a transcript.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub dir: String,
    #[serde(default)]
    pub msg: Value,
}

/// Parses a transcript; empty lines and lines that begin with `#` are skipped.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(row, line)| {
            serde_json::from_str(line).map_err(|why| format!("line {}: {why}", row + 1))
        })
        .collect()
}

/// A running replay.
pub struct Replay<'a> {
    inbox: &'a Inbox,
    report: &'a mut Report,
    timeout: Duration,
    /// Methods of the notifications to wait for.
    gates: Vec<String>,
    /// Recorded ids of the client's requests, with their live ids.
    ids: HashMap<String, Value>,
    /// Ids of sent requests without an answer.
    open: Vec<String>,
    /// Recorded names of the folder, session and terminals, with their live names.
    names: Vec<(String, String)>,
}

impl<'a> Replay<'a> {
    pub fn new(
        inbox: &'a Inbox,
        report: &'a mut Report,
        timeout: Duration,
        gates: Vec<String>,
    ) -> Self {
        Self {
            inbox,
            report,
            timeout,
            gates,
            ids: HashMap::new(),
            open: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Replays all records, then refuses further requests until stdin ends.
    pub fn run(&mut self, records: &[Record]) -> Result<(), Stop> {
        for (i, record) in records.iter().enumerate() {
            let later = records.get(i..).unwrap_or_default();
            self.record(record, later).map_err(|stop| match stop {
                Stop::Mismatch(why) => Stop::Mismatch(format!("record {}: {why}", i + 1)),
                stop @ Stop::Exit(_) => stop,
            })?;
        }
        self.report.line("ok");
        while let Ok(message) = self.inbox.idle() {
            refuse(message.id.as_ref());
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, later: &[Record]) -> Result<(), Stop> {
        let msg = &record.msg;
        match (record.dir.as_str(), method(msg), msg.get("id")) {
            ("c>a", Some(_), Some(id)) => self.client_asks(msg, id, later),
            ("c>a", Some(method), None) if self.gates.iter().any(|gate| gate == method) => {
                self.inbox
                    .take(self.timeout, |m| m.method == method)
                    .map_err(|ended| self.ended(ended, method))?;
                Ok(())
            }
            ("c>a", None, Some(id)) => self.client_answers(msg, id),
            ("a>c", Some(_), id) => {
                if let Some(id) = id {
                    self.inbox.ask(id);
                    self.open.push(id.to_string());
                }
                self.send(&self.rename(msg))
            }
            ("a>c", None, Some(id)) => {
                let mut msg = self.rename(msg);
                let live = self.ids.remove(&id.to_string()).ok_or_else(|| {
                    format!("the recording answers {id}, which the client never asked")
                })?;
                if let Some(fields) = msg.as_object_mut() {
                    fields.insert("id".to_owned(), live);
                }
                self.send(&msg)
            }
            ("stderr", ..) => {
                eprintln!("{}", msg.as_str().unwrap_or_default());
                Ok(())
            }
            ("noise", ..) => {
                let line = format!("{}\n", msg.as_str().unwrap_or_default());
                Out.bytes(line.as_bytes())
                    .map_err(|ended| self.ended(ended, "the client to read"))
            }
            ("disk", ..) => disk(&self.rename(msg)).map_err(Stop::from),
            // Notes, notifications without a gate, and records cut too short to use.
            _ => Ok(()),
        }
    }

    /// Waits for the client's request and maps its recorded id and names to the live ones.
    fn client_asks(&mut self, msg: &Value, id: &Value, later: &[Record]) -> Result<(), Stop> {
        let wanted = method(msg).unwrap_or_default();
        let live = loop {
            let expected = |name: &str| {
                later
                    .iter()
                    .any(|r| r.dir == "c>a" && method(&r.msg) == Some(name))
            };
            let taken = self
                .inbox
                .take(self.timeout, |m| m.method == wanted || !expected(&m.method))
                .map_err(|ended| self.ended(ended, wanted))?;
            if taken.method == wanted {
                break taken;
            }
            refuse(taken.id.as_ref());
        };
        for field in ["cwd", "sessionId"] {
            let recorded = msg.pointer(&format!("/params/{field}"));
            self.learn(recorded, live.params().get(field));
        }
        self.ids
            .insert(id.to_string(), live.id.clone().unwrap_or_default());
        Ok(())
    }

    /// Waits for the client's answer to a request of the agent.
    fn client_answers(&mut self, msg: &Value, id: &Value) -> Result<(), Stop> {
        let text = id.to_string();
        let Some(at) = self.open.iter().position(|open| *open == text) else {
            return Err(format!("the recording answers {id}, which the agent never asked").into());
        };
        self.open.remove(at);
        let live = self
            .inbox
            .answer(self.timeout, id)
            .map_err(|ended| self.ended(ended, &format!("the answer to request {id}")))?;
        let terminal = "/result/terminalId";
        self.learn(msg.pointer(terminal), live.pointer(terminal));
        if msg.get("result").is_some() != live.get("result").is_some() {
            self.report
                .value(&json!({"differs": {"recorded": msg, "now": live}}));
        }
        Ok(())
    }

    fn learn(&mut self, recorded: Option<&Value>, live: Option<&Value>) {
        let texts = recorded
            .and_then(Value::as_str)
            .zip(live.and_then(Value::as_str));
        if let Some((recorded, live)) = texts
            && recorded != live
            && !recorded.is_empty()
        {
            self.names.push((recorded.to_owned(), live.to_owned()));
        }
    }

    /// Replaces recorded names in all strings and keys of `value`.
    fn rename(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.renamed(text)),
            Value::Array(items) => items.iter().map(|item| self.rename(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, item)| (self.renamed(key), self.rename(item)))
                    .collect::<Map<_, _>>(),
            ),
            other => other.clone(),
        }
    }

    fn renamed(&self, text: &str) -> String {
        self.names
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    fn send(&self, msg: &Value) -> Result<(), Stop> {
        Out.send(msg)
            .map_err(|ended| self.ended(ended, "the client to read"))
    }

    fn ended(&self, ended: Ended, what: &str) -> Stop {
        Stop::Mismatch(self.inbox.failure(ended, what))
    }
}

/// Writes a file that the recorded agent wrote directly; without `content`, deletes it.
fn disk(msg: &Value) -> Result<(), String> {
    let path = msg
        .get("path")
        .and_then(Value::as_str)
        .map(Path::new)
        .filter(|path| path.is_absolute())
        .ok_or_else(|| format!("a disk record without an absolute path: {msg}"))?;
    let done = match msg.get("content").and_then(Value::as_str) {
        Some(content) => path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(path, content)),
        None => fs::remove_file(path),
    };
    done.map_err(|why| format!("{}: {why}", path.display()))
}

fn refuse(id: Option<&Value>) {
    if let Some(id) = id {
        // The reader of stdin notices when the client is gone.
        let _ = Out.refuse(
            id,
            &json!({"code": -32601, "message": "Not in the recording"}),
        );
    }
}

fn method(msg: &Value) -> Option<&str> {
    msg.get("method").and_then(Value::as_str)
}
