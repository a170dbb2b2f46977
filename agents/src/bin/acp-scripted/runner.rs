//! Runs the steps of a script in order.
//!
//! Invariant: the first mismatch ends the run and names the line of the script.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::actions;
use crate::defaults::{Answer, Defaults};
use crate::pattern::matches;
use crate::report::Report;
use crate::script::{Step, Verb};
use crate::vars::Vars;
use crate::wire::{Ended, Inbox, Message, Out};

/// Why a run ends before its last step.
#[derive(Debug)]
pub enum Stop {
    Mismatch(String),
    Exit(i32),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Stop::Mismatch(why)
    }
}

/// A running script.
pub struct Runner<'a> {
    pub inbox: &'a Inbox,
    pub vars: Vars,
    pub defaults: Defaults,
    pub report: &'a mut Report,
    pub timeout: Duration,
    /// Requests of the client, by their `as`.
    asked: HashMap<String, Message>,
    /// Ids of sent requests, by their `as`.
    pub sent: HashMap<String, Value>,
    ignored: HashSet<String>,
    pub next_id: u64,
    /// Stdin has ended as expected, so a sleep no longer watches for its end.
    gone: bool,
}

impl<'a> Runner<'a> {
    pub fn new(
        inbox: &'a Inbox,
        vars: Vars,
        defaults: Defaults,
        report: &'a mut Report,
        timeout: Duration,
    ) -> Self {
        Self {
            inbox,
            vars,
            defaults,
            report,
            timeout,
            asked: HashMap::new(),
            sent: HashMap::new(),
            ignored: HashSet::new(),
            next_id: 0,
            gone: false,
        }
    }

    /// Runs all steps, then waits until stdin ends; a message after the last step is a mismatch.
    pub fn run(&mut self, steps: &[Step]) -> Result<(), Stop> {
        for step in steps {
            self.step(step).map_err(|stop| match stop {
                Stop::Mismatch(why) => Stop::Mismatch(format!("line {}: {why}", step.line)),
                stop @ Stop::Exit(_) => stop,
            })?;
        }
        self.report.line("ok");
        if self.gone {
            return Ok(());
        }
        loop {
            match self.inbox.idle() {
                Ok(message) if self.ignores(&message)? => {}
                Ok(message) => {
                    let why = format!("after the last step: unexpected {}", message.whole);
                    return Err(why.into());
                }
                Err(Ended::Fault(why)) => {
                    return Err(format!("after the last step: the client sent {why}").into());
                }
                Err(Ended::Eof | Ended::TimedOut) => return Ok(()),
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match &step.verb {
            Verb::Options { .. } | Verb::Defaults { .. } | Verb::Life { .. } => Ok(()),
            Verb::Expect { .. } => self.expect(&step.verb),
            Verb::ExpectEof { within, .. } => {
                let ended = self.inbox.eof(self.within(*within));
                self.gone = ended.is_ok();
                ended.map_err(|ended| self.ended(ended, "the end of stdin"))
            }
            Verb::Ignore { it } => {
                self.ignored.extend(it.iter().cloned());
                Ok(())
            }
            Verb::Reply { it, result, error } => self.reply(it, result.as_ref(), error.as_ref()),
            Verb::End { it, reason } => {
                let reason = reason.as_deref().unwrap_or("end_turn");
                self.reply(it, Some(&json!({"stopReason": reason})), None)
            }
            Verb::Await { .. } => self.await_answer(&step.verb),
            Verb::Notify { it, params } => {
                let params = self.vars.fill(params)?;
                let method = self.vars.text(it)?;
                self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            }
            Verb::Update { it, session } => {
                let update = self.vars.fill(it)?;
                self.update(&update, session.as_deref())
            }
            Verb::Say { it, message } => self.chunk("agent_message_chunk", it, message.as_deref()),
            Verb::Think { it, message } => {
                self.chunk("agent_thought_chunk", it, message.as_deref())
            }
            Verb::Echo { it, message } => self.chunk("user_message_chunk", it, message.as_deref()),
            Verb::Tool { it } => self.tool("tool_call", it),
            Verb::ToolUpdate { it } => self.tool("tool_call_update", it),
            Verb::Repeat {
                it,
                every_us,
                steps,
            } => self.repeat(*it, *every_us, step.line, steps),
            Verb::Set { it } => {
                for (name, value) in it {
                    self.vars.set(name, self.vars.fill(value)?);
                }
                Ok(())
            }
            Verb::Exit { it } => Err(Stop::Exit(*it)),
            Verb::Request { .. }
            | Verb::Read { .. }
            | Verb::Write { .. }
            | Verb::Permission { .. } => self.ask(&step.verb),
            action => actions::run(self, action),
        }
    }

    fn expect(&mut self, verb: &Verb) -> Result<(), Stop> {
        let Verb::Expect {
            it,
            params,
            name,
            save,
            any_order,
            optional,
            within,
        } = verb
        else {
            return Ok(());
        };
        let pattern = params.as_ref().map(|p| self.vars.fill(p)).transpose()?;
        let fits = |message: &Message| {
            let params = pattern
                .as_ref()
                .map_or(Ok(()), |p| matches(p, message.params()));
            message.method == *it && params.is_ok()
        };
        let within = self.within(*within);
        let message = loop {
            let taken = if *any_order {
                self.inbox.take(within, fits).map(Ok)
            } else {
                self.inbox.next(within, fits)
            };
            match taken {
                Ok(Ok(message)) => break message,
                Ok(Err(other)) if self.ignores(&other)? => {
                    drop(self.inbox.take(within, |m| m.whole == other.whole));
                }
                Ok(Err(_)) | Err(Ended::TimedOut) if *optional => return Ok(()),
                Ok(Err(other)) => {
                    let why = match &pattern {
                        Some(pattern) if other.method == *it => {
                            matches(pattern, other.params()).err().unwrap_or_default()
                        }
                        _ => format!("got {}", other.whole),
                    };
                    return Err(format!("expected {it}: {why}").into());
                }
                Err(ended) => return Err(self.ended(ended, it)),
            }
        };
        self.defaults.learn(&message);
        self.save(save, &message.whole)?;
        if let Some(name) = name {
            self.asked.insert(name.clone(), message);
        }
        Ok(())
    }

    /// Returns whether the script ignores `message`; an ignored request is answered by `-32601`.
    fn ignores(&self, message: &Message) -> Result<bool, Stop> {
        if !self.ignored.contains(&message.method) {
            return Ok(false);
        }
        if let Some(id) = &message.id {
            let error = json!({"code": -32601, "message": "Method not found"});
            Out.refuse(id, &error)
                .map_err(|ended| self.ended(ended, "the client"))?;
        }
        Ok(true)
    }

    fn reply(
        &mut self,
        name: &str,
        result: Option<&Value>,
        error: Option<&Value>,
    ) -> Result<(), Stop> {
        let message = self
            .asked
            .remove(name)
            .ok_or_else(|| format!("no unanswered request was saved as {name:?}"))?;
        let id = message
            .id
            .as_ref()
            .ok_or_else(|| format!("{name:?} is a notification and has no answer"))?;
        let sent = match (result, error) {
            (_, Some(error)) => Out.refuse(id, &self.vars.fill(error)?),
            (Some(result), None) => {
                let result = self.vars.fill(result)?;
                if let Some(sid) = result.get("sessionId") {
                    self.vars.set("sid", sid.clone());
                }
                Out.reply(id, &result)
            }
            (None, None) => match self.defaults.answer(&message)? {
                Some(Answer::Result(result)) => Out.reply(id, &result),
                Some(Answer::Error(error)) => Out.refuse(id, &error),
                Some(Answer::Silence) => Ok(()),
                None => return Err(format!("{} has no default answer", message.method).into()),
            },
        };
        sent.map_err(|ended| self.ended(ended, "the client"))
    }

    /// Saves the values of a message at the given JSON pointers.
    pub fn save(&self, save: &BTreeMap<String, String>, whole: &Value) -> Result<(), Stop> {
        for (name, pointer) in save {
            let value = whole
                .pointer(pointer)
                .ok_or_else(|| format!("nothing to save at {pointer} in {whole}"))?;
            self.vars.set(name, value.clone());
        }
        Ok(())
    }

    pub fn chunk(&mut self, kind: &str, text: &str, message: Option<&str>) -> Result<(), Stop> {
        let mut update = json!({
            "sessionUpdate": kind,
            "content": {"type": "text", "text": self.vars.text(text)?},
        });
        if let (Some(message), Some(fields)) = (message, update.as_object_mut()) {
            fields.insert("messageId".to_owned(), json!(self.vars.text(message)?));
        }
        self.update(&update, None)
    }

    fn tool(&mut self, kind: &str, fields: &Map<String, Value>) -> Result<(), Stop> {
        let mut update = Map::from_iter([("sessionUpdate".to_owned(), json!(kind))]);
        for (key, value) in fields {
            let key = if key == "id" { "toolCallId" } else { key };
            update.insert(key.to_owned(), self.vars.fill(value)?);
        }
        self.update(&Value::Object(update), None)
    }

    fn update(&mut self, update: &Value, session: Option<&str>) -> Result<(), Stop> {
        let session = self.vars.text(session.unwrap_or("${sid}"))?;
        self.send(&json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session, "update": update},
        }))
    }

    fn repeat(
        &mut self,
        times: u64,
        every_us: u64,
        line: usize,
        steps: &[Value],
    ) -> Result<(), Stop> {
        let steps = steps
            .iter()
            .map(|step| Step::parse(line, step))
            .collect::<Result<Vec<_>, _>>()?;
        let outer = self.vars.get("i");
        let start = Instant::now();
        for i in 0..times {
            self.vars.set("i", json!(i));
            self.pace(start, every_us, i)?;
            for step in &steps {
                self.step(step)?;
            }
        }
        if let Some(outer) = outer {
            self.vars.set("i", outer);
        }
        Ok(())
    }

    /// Sleeps until a round is due. Each is due at a fixed time, so a late round does not delay the
    /// next one.
    pub fn pace(&self, start: Instant, every_us: u64, round: u64) -> Result<(), Stop> {
        let due = start + Duration::from_micros(every_us.saturating_mul(round));
        let left = due.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Ok(()),
            false => self.sleep(left),
        }
    }

    pub fn sleep(&self, time: Duration) -> Result<(), Stop> {
        if self.gone {
            std::thread::sleep(time);
            return Ok(());
        }
        self.inbox
            .sleep(time)
            .map_err(|ended| self.ended(ended, "a delay to pass"))
    }

    pub fn send(&self, message: &Value) -> Result<(), Stop> {
        Out.send(message)
            .map_err(|ended| self.ended(ended, "the client to read"))
    }

    pub fn within(&self, within: Option<u64>) -> Duration {
        within.map_or(self.timeout, Duration::from_millis)
    }

    pub fn ended(&self, ended: Ended, what: &str) -> Stop {
        Stop::Mismatch(self.inbox.failure(ended, what))
    }
}
