//! `session/update`: converts version 1's updates to upserts.
//!
//! Invariant: an update that cannot be decoded becomes [`Update::Unknown`] with its raw JSON.

use agent_client_protocol_schema::v1;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::message::{
    Command, CompactionPatch, CompactionStatus, PlanEntry, PlanStatus, Priority, Role, SessionId,
    SessionMessage, Severity, SubAgentPatch, Summary, Update, Work,
};
use super::super::{options, raw};
use super::{content, tool_calls};

/// Reads an update.
pub fn update(raw: &RawValue) -> Update {
    // Chunks are by far the most frequent updates, so their fields are read in the same pass.
    let names = ["sessionUpdate", "content", "messageId", "_meta"];
    let [kind, content, message, meta] = raw::fields(raw.get(), names).unwrap_or_default();
    let kind = kind.and_then(raw::word).unwrap_or("unknown".into());
    let chunk = |role| {
        Some(Update::Chunk {
            role,
            message: message.and_then(raw::text),
            parent: meta.and_then(tool_calls::parent),
            content: content::block(content?),
        })
    };
    let update = match &*kind {
        "user_message_chunk" => chunk(Role::User),
        "agent_message_chunk" => chunk(Role::Agent),
        "agent_thought_chunk" => chunk(Role::Thought),
        "tool_call" => tool_call(raw),
        "tool_call_update" => tool_call_update(raw),
        // A chat has one plan, the agent's own: a sub-agent's changes nothing.
        "plan" | "plan_update" if meta.and_then(tool_calls::parent).is_some() => {
            Some(Update::Info { title: None })
        }
        "plan" => plan(raw),
        "plan_update" => plan_update(raw),
        "plan_removed" => Some(Update::Plan(Vec::new())),
        "available_commands_update" => commands(raw),
        "current_mode_update" => mode(raw),
        "config_option_update" => config_options(raw),
        "session_info_update" => info(raw),
        "usage_update" => usage(raw),
        "notice" => notice(raw),
        "compaction_update" => compaction(raw),
        "compaction_summary_chunk" => compaction_summary(raw),
        "subagent_update" => sub_agent(raw),
        "session_message" => session_message(raw),
        "session_message_chunk" => session_message_chunk(raw),
        _ => None,
    };
    update.unwrap_or_else(|| Update::Unknown {
        kind: kind.into_owned(),
        raw: raw::value(raw),
    })
}

fn tool_call(raw: &RawValue) -> Option<Update> {
    let fields = tool_calls::fields(raw)?;
    Some(Update::ToolCall(fields.first_patch(fields.id()?)))
}

fn tool_call_update(raw: &RawValue) -> Option<Update> {
    let fields = tool_calls::fields(raw)?;
    let id = fields.id()?;
    Some(Update::ToolCall(fields.patch(|| id)))
}

fn plan(raw: &RawValue) -> Option<Update> {
    let [entries] = raw::fields(raw.get(), ["entries"])?;
    let entries = raw::list(entries?)?;
    Some(Update::Plan(entries.into_iter().map(plan_entry).collect()))
}

/// Reads a plan that has an id; a session has one plan, the one updated last. A plan in a file or in markdown is unknown: an agent sends these
/// only to clients that ask for them.
fn plan_update(raw: &RawValue) -> Option<Update> {
    let [content] = raw::fields(raw.get(), ["plan"])?;
    plan(content?)
}

fn plan_entry(raw: &RawValue) -> PlanEntry {
    let Some(entry) = raw::typed::<v1::PlanEntry>(raw) else {
        return mended_plan_entry(raw);
    };
    PlanEntry {
        text: entry.content,
        priority: match entry.priority {
            v1::PlanEntryPriority::High => Priority::High,
            v1::PlanEntryPriority::Low => Priority::Low,
            _ => Priority::Medium,
        },
        status: match entry.status {
            v1::PlanEntryStatus::Completed => PlanStatus::Completed,
            v1::PlanEntryStatus::InProgress => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    }
}

/// Reads an entry that does not match the official type; an unknown status is added to its text.
fn mended_plan_entry(raw: &RawValue) -> PlanEntry {
    let read = raw::fields(raw.get(), ["content", "priority", "status"]);
    let [text, priority, status] = read.unwrap_or([Some(raw), None, None]);
    let text = text.and_then(raw::text);
    let mut text = text.unwrap_or_else(|| raw.get().to_owned());
    let status = match &*status.and_then(raw::word).unwrap_or_default() {
        "pending" | "" => PlanStatus::Pending,
        "in_progress" => PlanStatus::InProgress,
        "completed" => PlanStatus::Completed,
        other => {
            text.push_str(&format!(" ({other})"));
            match other {
                // No work is left on these.
                "cancelled" | "canceled" | "skipped" => PlanStatus::Completed,
                _ => PlanStatus::Pending,
            }
        }
    };
    let priority = match &*priority.and_then(raw::word).unwrap_or_default() {
        "high" => Priority::High,
        "low" => Priority::Low,
        _ => Priority::Medium,
    };
    PlanEntry {
        text,
        priority,
        status,
    }
}

fn commands(raw: &RawValue) -> Option<Update> {
    let [commands] = raw::fields(raw.get(), ["availableCommands"])?;
    let commands = raw::list(commands?)?;
    let commands = commands.into_iter().filter_map(command).collect();
    Some(Update::Commands(commands))
}

/// Reads a command; one without a name cannot be called and is left out.
fn command(raw: &RawValue) -> Option<Command> {
    let read = raw::fields(raw.get(), ["name", "description", "input"]);
    // A bare string is a name.
    let [name, description, input] = read.unwrap_or([Some(raw), None, None]);
    let name = raw::text(name?)?;
    let hint = input.and_then(|input| {
        let [hint] = raw::fields(input.get(), ["hint"])?;
        raw::text(hint?)
    });
    Some(Command {
        name: name.trim_start_matches('/').to_owned(),
        description: description.and_then(raw::text).unwrap_or_default(),
        hint,
    })
}

fn mode(raw: &RawValue) -> Option<Update> {
    let [current, id] = raw::fields(raw.get(), ["currentModeId", "modeId"])?;
    raw::text(current.or(id)?).map(Update::Mode)
}

fn config_options(raw: &RawValue) -> Option<Update> {
    let [options] = raw::fields(raw.get(), ["configOptions"])?;
    let options = raw::value(options?);
    let read = options::config_options(&options)?;
    let is_lost = read.is_empty() && options != Value::Array(Vec::new());
    (!is_lost).then_some(Update::ConfigOptions(read))
}

fn info(raw: &RawValue) -> Option<Update> {
    let [title, meta] = raw::fields_and_nulls(raw.get(), ["title", "_meta"])?;
    if let Some(error) = meta.and_then(codex_error) {
        return Some(error);
    }
    if let (None, Some(status)) = (title, meta.and_then(codex_status)) {
        return Some(status);
    }
    let title = title.and_then(|title| match title.get() {
        "null" => Some(String::new()),
        _ => raw::text(title).filter(|title| !title.is_empty()),
    });
    Some(Update::Info { title })
}

/// Reads whether Codex works on its thread and does not wait for the user: after `/goal`, it works
/// outside of turns as well.
fn codex_status(meta: &RawValue) -> Option<Update> {
    let [codex] = raw::fields(meta.get(), ["codex"])?;
    let [status] = raw::fields(codex?.get(), ["threadStatus"])?;
    let [kind, flags] = raw::fields(status?.get(), ["type", "activeFlags"])?;
    let waits = flags.is_some_and(|flags| flags.get().contains("\"waitingOn"));
    Some(Update::Active(raw::word(kind?)? == "active" && !waits))
}

/// Reads an error that Codex reports beside the conversation: it tries again, or another turn failed.
fn codex_error(meta: &RawValue) -> Option<Update> {
    let [codex] = raw::fields(meta.get(), ["codex"])?;
    let [error] = raw::fields(codex?.get(), ["error"])?;
    let names = ["message", "additionalDetails", "willRetry"];
    let [message, details, will_retry] = raw::fields(error?.get(), names)?;
    let parts = [message, details].map(|part| part.and_then(raw::text));
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
    let severity = match will_retry.map(RawValue::get) {
        Some("true") => Severity::Warning,
        _ => Severity::Error,
    };
    (!text.is_empty()).then_some(Update::Notice { severity, text })
}

fn usage(raw: &RawValue) -> Option<Update> {
    let [used, size, money] = raw::fields(raw.get(), ["used", "size", "cost"])?;
    let used = used.and_then(raw::whole);
    let size = size.and_then(raw::whole);
    if used.is_none() && size.is_none() {
        return None;
    }
    Some(Update::Usage {
        used: used.unwrap_or_default(),
        size: size.unwrap_or_default(),
        cost: money.and_then(cost),
    })
}

/// Formats a cost: "0.12 USD", with four decimals below a cent.
fn cost(raw: &RawValue) -> Option<String> {
    let [amount, currency] = raw::fields(raw.get(), ["amount", "currency"])?;
    let amount: f64 = raw::word(amount?)?.parse().ok()?;
    let currency = currency.and_then(raw::text).unwrap_or_default();
    let number = if amount > 0.0 && amount < 0.01 {
        format!("{amount:.4}")
    } else {
        format!("{amount:.2}")
    };
    Some(format!("{number} {currency}").trim_end().to_owned())
}

fn notice(raw: &RawValue) -> Option<Update> {
    let [severity, title, description] =
        raw::fields(raw.get(), ["severity", "title", "description"])?;
    let parts = [title, description].map(|part| part.and_then(raw::text));
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
    if text.is_empty() {
        return None;
    }
    let severity = match &*severity.and_then(raw::word).unwrap_or_default() {
        "warning" => Severity::Warning,
        "error" => Severity::Error,
        _ => Severity::Info,
    };
    Some(Update::Notice { severity, text })
}

/// Reads an update of a compaction.
fn compaction(raw: &RawValue) -> Option<Update> {
    let names = ["compactionId", "status", "summary", "error"];
    let [id, status, summary, error] = raw::fields_and_nulls(raw.get(), names)?;
    let is_null = |raw: &RawValue| raw.get() == "null";
    let status = status.and_then(raw::word).map(|word| match &*word {
        "in_progress" => CompactionStatus::InProgress,
        "completed" => CompactionStatus::Completed,
        "failed" => CompactionStatus::Failed,
        "cancelled" | "canceled" => CompactionStatus::Cancelled,
        other => CompactionStatus::Unknown(other.to_owned()),
    });
    Some(Update::Compaction(CompactionPatch {
        id: raw::text(id?)?,
        status,
        summary: summary.map(|raw| {
            Summary::Whole(match raw::list(raw) {
                Some(items) => items.into_iter().map(content::block).collect(),
                None if is_null(raw) => Vec::new(),
                None => vec![content::block(raw)],
            })
        }),
        error: error.map(raw::text),
    }))
}

/// Reads a chunk of a compaction's summary.
fn compaction_summary(raw: &RawValue) -> Option<Update> {
    let [id, content] = raw::fields(raw.get(), ["compactionId", "content"])?;
    Some(Update::Compaction(CompactionPatch {
        id: raw::text(id?)?,
        status: None,
        summary: Some(Summary::More(content::block(content?))),
        error: None,
    }))
}

/// Reads an update of a sub-agent with a separate session.
fn sub_agent(raw: &RawValue) -> Option<Update> {
    let names = ["sessionId", "title", "description", "capabilities", "state"];
    let [session, title, description, capabilities, state] = raw::fields(raw.get(), names)?;
    let text = |raw: Option<&RawValue>| raw.and_then(raw::text).filter(|text| !text.is_empty());
    let can_cancel = capabilities.and_then(|raw| {
        let [cancel] = raw::fields_and_nulls(raw.get(), ["cancel"])?;
        cancel.map(|cancel| cancel.get() != "null")
    });
    Some(Update::SubAgent(SubAgentPatch {
        session: session_id(session?)?,
        title: text(title),
        description: text(description),
        can_cancel,
        work: state.and_then(work),
    }))
}

/// Reads what a sub-agent does; a state without a known name says nothing.
fn work(raw: &RawValue) -> Option<Work> {
    let [state, reason, error] = raw::fields(raw.get(), ["state", "stopReason", "error"])?;
    Some(match &*state.and_then(raw::word)? {
        "running" | "requires_action" => Work::Running,
        "idle" => match &*reason.and_then(raw::word).unwrap_or_default() {
            "cancelled" => Work::Cancelled,
            "error" => Work::Failed(error.and_then(|error| {
                let [message] = raw::fields(error.get(), ["message"])?;
                raw::text(message?)
            })),
            _ => Work::Done,
        },
        "unknown" => Work::Unknown,
        _ => return None,
    })
}

fn session_message(raw: &RawValue) -> Option<Update> {
    let names = [
        "messageId",
        "senderSessionId",
        "recipientSessionId",
        "content",
    ];
    let [id, sender, recipient, content] = raw::fields(raw.get(), names)?;
    let blocks = |raw| Some(raw::list(raw)?.into_iter().map(content::block).collect());
    id.or(content)?;
    Some(Update::SessionMessage(SessionMessage {
        id: id.and_then(raw::text),
        sender: sender.and_then(session_id),
        recipient: recipient.and_then(session_id),
        content: content.and_then(blocks),
    }))
}

fn session_message_chunk(raw: &RawValue) -> Option<Update> {
    let [id, content] = raw::fields(raw.get(), ["messageId", "content"])?;
    Some(Update::SessionMessageChunk {
        id: raw::text(id?)?,
        content: content::block(content?),
    })
}

fn session_id(raw: &RawValue) -> Option<SessionId> {
    raw::word(raw).map(|id| SessionId(id.as_ref().into()))
}
