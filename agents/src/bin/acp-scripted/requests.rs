//! The agent's requests: one step sends a request, another one checks its answer.
//!
//! Invariant: open requests have different ids, and each is awaited once at most.

use serde_json::{Value, json};

use crate::pattern::matches;
use crate::runner::{Runner, Stop};
use crate::script::Verb;

impl Runner<'_> {
    /// Sends the request of a step.
    pub fn ask(&mut self, verb: &Verb) -> Result<(), Stop> {
        let (method, params, name, id) = match verb {
            Verb::Request {
                it,
                params,
                name,
                id,
            } => (it.as_str(), params.clone(), name, id.clone()),
            Verb::Read {
                it,
                line,
                limit,
                name,
            } => {
                let mut params = json!({"sessionId": "${sid}", "path": it});
                for (key, value) in [("line", line), ("limit", limit)] {
                    if let (Some(value), Some(fields)) = (value, params.as_object_mut()) {
                        fields.insert(key.to_owned(), value.clone());
                    }
                }
                ("fs/read_text_file", params, name, None)
            }
            Verb::Write { it, content, name } => {
                let params = json!({"sessionId": "${sid}", "path": it, "content": content});
                ("fs/write_text_file", params, name, None)
            }
            Verb::Permission {
                it,
                options,
                name,
                id,
            } => {
                let options = options.clone().unwrap_or_else(four_options);
                let params = json!({"sessionId": "${sid}", "toolCall": it, "options": options});
                ("session/request_permission", params, name, id.clone())
            }
            _ => return Ok(()),
        };
        let params = self.vars.fill(&params)?;
        let id = match id {
            Some(id) => self.vars.fill(&id)?,
            None => {
                self.next_id += 1;
                json!(self.next_id - 1)
            }
        };
        if let Some(name) = name {
            self.sent.insert(name.clone(), id.clone());
        }
        self.inbox.ask(&id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Waits for the answer to a request and checks it.
    pub fn await_answer(&mut self, verb: &Verb) -> Result<(), Stop> {
        let Verb::Await {
            it,
            result,
            error,
            choice,
            save,
            within,
        } = verb
        else {
            return Ok(());
        };
        let id = self
            .sent
            .remove(it)
            .ok_or_else(|| format!("no request was sent as {it:?}, or it was awaited before"))?;
        let answer = self
            .inbox
            .answer(self.within(*within), &id)
            .map_err(|ended| self.ended(ended, &format!("the answer to {it:?}")))?;
        let chosen = choice.as_ref().map(|choice| match choice.as_str() {
            "cancelled" => json!({"outcome": {"outcome": "cancelled"}}),
            choice => json!({"outcome": {"outcome": "selected", "optionId": choice}}),
        });
        for (field, pattern) in [("result", result), ("error", error), ("result", &chosen)] {
            let Some(pattern) = pattern else { continue };
            let there = answer
                .get(field)
                .ok_or_else(|| format!("the answer to {it:?} has no {field}: {answer}"))?;
            matches(&self.vars.fill(pattern)?, there)
                .map_err(|why| format!("the answer to {it:?}: {why}"))?;
        }
        self.save(save, &answer)
    }
}

fn four_options() -> Value {
    json!([
        {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
        {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
        {"optionId": "reject_always", "name": "Always reject", "kind": "reject_always"},
    ])
}
