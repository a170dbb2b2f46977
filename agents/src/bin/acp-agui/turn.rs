//! A turn: runs of the agent, with the calls and questions between them, until no call is left.
//!
//! Invariants: a run is sent once; each call the agent waits for gets one result, which says so if
//! it failed, was rejected or cancelled; what arrived is kept however the turn ends.

use std::rc::Rc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::http::{self, Endpoint};
use crate::messages::{Body, calls, failed_result};
use crate::questions;
use crate::run::{End, Run};
use crate::show::{result, whole_arguments};
use crate::sse::Events;
use crate::threads::{Store, Thread, now, uuid};
use crate::tools::{Answer, Server, Tool, Tools};
use crate::wire::Wire;

/// The protocol's version, sent with each run.
const VERSION: &str = "1.0";

/// Why a turn ends before its agent has finished.
#[derive(Debug, PartialEq)]
pub enum Stop {
    Cancelled,
    /// The failure, as a sentence for the user.
    Failed(String),
}

/// The state of a session between its turns.
pub struct Work {
    pub thread: Thread,
    pub servers: Vec<Server>,
    pub tools: Tools,
    /// An event of the agent's own framework was shown.
    pub is_raw_shown: bool,
    /// The user knows that the thread cannot be written down.
    pub is_unkept: bool,
    /// The endpoint refused the field with the protocol's version.
    pub is_older: bool,
}

/// The parts that all turns share.
pub struct Setting {
    pub wire: Wire,
    pub endpoint: Endpoint,
    pub store: Option<Store>,
    /// The client shows forms.
    pub has_forms: std::cell::Cell<bool>,
}

/// A running turn.
pub struct Turn<'a> {
    pub setting: Rc<Setting>,
    pub work: &'a mut Work,
    pub cancelled: CancellationToken,
}

impl Turn<'_> {
    /// Sends the user's message and runs the agent until it is done.
    pub async fn run(mut self, content: Value) -> Result<(), Stop> {
        let done = self.go_on(content).await;
        if let Err(stop) = &done {
            let why = match stop {
                Stop::Cancelled => "The user cancelled the turn before this call had a result.",
                Stop::Failed(_) => "The run failed before this call had a result.",
            };
            self.work.thread.body.settle(why);
        }
        self.keep();
        done
    }

    async fn go_on(&mut self, content: Value) -> Result<(), Stop> {
        let body = &mut self.work.thread.body;
        let message = json!({"id": uuid(), "role": "user", "content": content});
        body.messages.push(message);
        // Questions of an earlier turn that got no answer: the agent has to know.
        let dismissed = body.interrupts.iter();
        let mut resume: Vec<Value> = dismissed.map(|one| questions::entry(one, None)).collect();
        self.keep();
        let tools = self.offered().await?;
        loop {
            let (calls, interrupts) = self.one_run(&tools, &resume).await?;
            self.keep();
            resume.clear();
            if calls.is_empty() && interrupts.is_empty() {
                return Ok(());
            }
            for call in calls {
                self.call(&call, &tools).await?;
            }
            for interrupt in interrupts {
                let (wire, session) = (&self.setting.wire, &self.work.thread.head.id);
                let has_forms = self.setting.has_forms.get();
                let asked = questions::ask(wire, session, &interrupt, has_forms);
                resume.push(self.unless_cancelled(asked).await?);
            }
            self.keep();
        }
    }

    async fn offered(&mut self) -> Result<Vec<Tool>, Stop> {
        let Work {
            thread,
            servers,
            tools,
            ..
        } = &mut *self.work;
        let listed = tools.list(servers, &thread.head.cwd);
        let (tools, failed) = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return Err(Stop::Cancelled),
            listed = listed => listed,
        };
        for why in failed {
            self.setting.wire.warn(&self.work.thread.head.id, &why);
        }
        Ok(tools)
    }

    /// Sends one run and applies its events; returns the calls and questions it leaves.
    async fn one_run(
        &mut self,
        tools: &[Tool],
        resume: &[Value],
    ) -> Result<(Vec<String>, Vec<Value>), Stop> {
        let mut events = self.send(tools, resume).await?;
        let mut run = Run::default();
        run.is_raw_shown = self.work.is_raw_shown;
        let session = self.work.thread.head.id.clone();
        while run.end.is_none() {
            let event = match self.unless_cancelled(events.next()).await? {
                Some(Ok(event)) => event,
                Some(Err(why)) => return Err(self.broken(&why.to_string())),
                None => return Err(self.broken("ended its answer before the run was finished")),
            };
            for update in run.apply(&event, &mut self.work.thread.body) {
                self.setting.wire.update(&session, &update);
            }
        }
        self.work.is_raw_shown = run.is_raw_shown;
        tokio::task::spawn_local(http::drain(events));
        match run.end.take() {
            Some(End::Finished {
                pending,
                interrupts,
            }) => {
                let body = &mut self.work.thread.body;
                body.interrupts.clone_from(&interrupts);
                let asked = |id: &str| interrupts.iter().any(|one| one["toolCallId"] == id);
                let mut calls = pending.unwrap_or_else(|| {
                    let mut open = body.open_calls();
                    // Calls of the agent's own tools may lack a result, too.
                    open.retain(|id| tools.iter().any(|tool| tool.name == name_of(body, id)));
                    open
                });
                calls.retain(|id| !asked(id));
                Ok((calls, interrupts))
            }
            Some(End::Failed(why)) => {
                let why = why.trim().trim_end_matches('.');
                let why = if why.is_empty() {
                    "no reason was given"
                } else {
                    why
                };
                Err(Stop::Failed(why.to_owned()))
            }
            Some(End::Cancelled) => Err(Stop::Cancelled),
            None => Err(self.broken("ended its answer")),
        }
    }

    async fn send(&mut self, tools: &[Tool], resume: &[Value]) -> Result<Events, Stop> {
        let mut input = self.input(tools, resume);
        let endpoint = self.setting.endpoint.clone();
        let sent = self.unless_cancelled(endpoint.post(&input)).await?;
        // An older endpoint refuses a field that it does not know before it runs anything.
        let sent = match sent {
            Err(why) if why.is_unreadable && !self.work.is_older => {
                self.work.is_older = true;
                input = self.input(tools, resume);
                let sent = self.unless_cancelled(endpoint.post(&input)).await?;
                self.work.is_older = sent.is_ok();
                sent
            }
            sent => sent,
        };
        sent.map_err(|why| Stop::Failed(why.text))
    }

    /// Returns the input of a run.
    fn input(&self, tools: &[Tool], resume: &[Value]) -> Value {
        let Thread { head, body } = &self.work.thread;
        let is_sent = |message: &&Value| message["role"] != "activity";
        let messages: Vec<&Value> = body.messages.iter().filter(is_sent).collect();
        let offers: Vec<&Value> = tools.iter().map(|tool| &tool.offer).collect();
        let mut input = json!({
            "threadId": head.id, "runId": uuid(), "state": body.state, "messages": messages,
            "tools": offers, "forwardedProps": {},
            "context": [{"description": "The folder that the user works in", "value": head.cwd}],
        });
        if !self.work.is_older {
            input["protocolVersion"] = json!(VERSION);
        }
        if !resume.is_empty() {
            input["resume"] = json!(resume);
        }
        input
    }

    /// Runs a call of one of the offered tools and keeps its result.
    async fn call(&mut self, id: &str, tools: &[Tool]) -> Result<(), Stop> {
        let name = name_of(&self.work.thread.body, id).to_owned();
        let answer = self
            .answer(id, tools.iter().find(|tool| tool.name == name))
            .await;
        let session = &self.work.thread.head.id;
        let status = if answer.is_error {
            "failed"
        } else {
            "completed"
        };
        let mut update = result(&answer.content, status);
        update["sessionUpdate"] = json!("tool_call_update");
        update["toolCallId"] = json!(id);
        self.setting.wire.update(session, &update);
        let message = match answer.content {
            Value::String(why) if answer.is_error => failed_result(id, &why),
            content => json!({"id": uuid(), "role": "tool", "toolCallId": id, "content": content}),
        };
        self.work.thread.body.add_result(id, message);
        match self.cancelled.is_cancelled() {
            true => Err(Stop::Cancelled),
            false => Ok(()),
        }
    }

    async fn answer(&self, id: &str, tool: Option<&Tool>) -> Answer {
        let Some(tool) = tool else {
            return Answer::error("There is no tool of this name in the editor.");
        };
        let arguments = match whole_arguments(arguments_of(&self.work.thread.body, id)) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(other) => {
                return Answer::error(&format!("The arguments are no JSON object: {other}"));
            }
            Err(why) => return Answer::error(&format!("The arguments are not JSON: {why}.")),
        };
        if tool.asks() {
            let asked = self.permission(id, &tool.name, &arguments);
            match self.unless_cancelled(asked).await {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Answer::error("The user rejected this call."),
                Ok(None) | Err(_) => return Answer::error("The user cancelled this call."),
            }
        }
        self.work.tools.call(tool, arguments, &self.cancelled).await
    }

    async fn permission(
        &self,
        id: &str,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Option<bool> {
        let session = &self.work.thread.head.id;
        let call = json!({"toolCallId": id, "title": name, "rawInput": arguments});
        questions::permission(&self.setting.wire, session, call, None).await
    }

    fn broken(&self, why: &str) -> Stop {
        let endpoint = &self.setting.endpoint;
        Stop::Failed(format!(
            "{endpoint} {why}. What arrived is kept and nothing is sent twice: send a prompt to \
             go on."
        ))
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(Stop::Cancelled),
            done = work => Ok(done),
        }
    }

    /// Writes the thread down.
    fn keep(&mut self) {
        let thread = &mut self.work.thread;
        thread.head.updated_at = now();
        let Some(store) = &self.setting.store else {
            return;
        };
        if let Err(why) = store.save(thread)
            && !std::mem::replace(&mut self.work.is_unkept, true)
        {
            let why = format!("This conversation cannot be kept for later: {why}.");
            self.setting.wire.warn(&self.work.thread.head.id, &why);
        }
    }
}

fn function<'a>(body: &'a Body, call: &str) -> Option<&'a Value> {
    let owner = body.messages.get(body.owner(call)?)?;
    let made = calls(owner).find(|made| made["id"] == call)?;
    made.get("function")
}

fn name_of<'a>(body: &'a Body, call: &str) -> &'a str {
    let name = function(body, call).and_then(|function| function["name"].as_str());
    name.unwrap_or_default()
}

fn arguments_of<'a>(body: &'a Body, call: &str) -> &'a str {
    let arguments = function(body, call).and_then(|function| function["arguments"].as_str());
    arguments.unwrap_or_default()
}
