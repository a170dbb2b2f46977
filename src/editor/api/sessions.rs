//! API functions for sessions: opening, prompting, listing.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, LuaSerdeExt, Table, Value};
use serde_json::{Value as Json, json};

use super::provide;
use crate::editor::chats::Chat;
use crate::editor::kit::window;
use crate::editor::state::{self, send, snapshot};
use crate::editor::{chat, chats, config, input, layout, nvim, status};
use acp::SessionId;
use acp_core::conversation::info::SessionInfo;
use acp_core::conversation::queue::When;
use acp_core::conversation::usage::Usage;
use acp_core::event::{Event, SessionEvent, ViewEvent};
use acp_core::spine::attachment::Attachment;
use acp_core::spine::event::{AgentSpec, Context, Origin, Prompt};
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::Follow;
use acp_core::view::statusline::{self, Part};

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    provide(module, "open", |spec: Table| open(&spec))?;
    provide(module, "prompt", prompt)?;
    let remember = |(session, text): (Option<u32>, mlua::String)| {
        send(Event::Session(SessionEvent::Remember {
            session: meant(session)?,
            text: text.to_string_lossy(),
        }));
        Ok(())
    };
    provide(module, "remember", remember)?;
    for (name, event) in [
        (
            "cancel",
            (|session| Event::Session(SessionEvent::Cancel { session })) as fn(SessionKey) -> Event,
        ),
        ("stop", |session| {
            Event::Session(SessionEvent::Stop { session })
        }),
        ("restart", |session| {
            Event::Session(SessionEvent::Restart { session })
        }),
    ] {
        let body = move |session: Option<u32>| {
            state::refresh_environment();
            send(event(meant(session)?));
            Ok(())
        };
        provide(module, name, body)?;
    }
    provide(module, "close", |session: Option<u32>| {
        let session = meant(session)?;
        // First: the text of its input enters the history of prompts.
        let forgotten = chat::forget(session);
        send(Event::Session(SessionEvent::Close { session }));
        forgotten
    })?;
    provide(module, "follow", |(session, to): (Option<u32>, Value)| {
        let session = meant(session)?;
        let to = (!to.is_nil()).then(|| config::follow(&to));
        send(Event::View(ViewEvent::Follow { session, to }));
        Ok(())
    })?;
    provide(module, "status", status)?;
    provide(module, "sessions", |()| sessions())?;
    let line = |(session, parts, is_highlighted)| statusline(session, parts, is_highlighted);
    provide(module, "statusline", line)
}

/// Returns the given session, else the current one.
pub(super) fn meant(session: Option<u32>) -> mlua::Result<SessionKey> {
    match session {
        Some(key) if chats::get(SessionKey(key)).is_some() => Ok(SessionKey(key)),
        Some(key) => Err(mlua::Error::runtime(format!(
            "there is no session {key}; `:AcpChat` opens one"
        ))),
        None => chats::current().ok_or_else(|| {
            mlua::Error::runtime("there is no session yet; `:AcpChat` opens one".to_owned())
        }),
    }
}

/// Opens or focuses a chat: the agent's known session, or a new one if requested.
fn open(spec: &Table) -> mlua::Result<u32> {
    if window::is_command_line()? {
        return Err(mlua::Error::runtime(
            "no window can be opened from the command-line window: close it, then open the chat",
        ));
    }
    let agent: String = spec.get("agent")?;
    let is_new: bool = spec.get::<Option<bool>>("new")?.unwrap_or(false);
    let past: Option<String> = spec.get("session_id")?;
    let known = match &past {
        Some(id) => chats::of_past(&agent, id),
        None if is_new => None,
        None => of_agent(&agent, spec.get::<Option<String>>("tab_cwd")?.as_deref())?,
    };
    let key = match known {
        Some(key) => key,
        None => start_session(&agent, spec, past)?,
    };
    layout::show(key)?;
    if let Some(context) = spec.get::<Option<Table>>("context")? {
        let items = vec![Attachment::Lines(read_context(&context)?)];
        send(Event::Session(SessionEvent::Attach {
            session: key,
            items,
        }));
    }
    Ok(key.0)
}

fn prompt(
    (session, prompt, contexts, when): (Option<u32>, Value, Option<Vec<Table>>, Option<String>),
) -> mlua::Result<()> {
    let session = meant(session)?;
    let prompt = read_prompt(&prompt, contexts.unwrap_or_default())?;
    state::refresh_environment();
    let when = match when.as_deref() {
        Some("interrupt") => When::AtOnce,
        Some("steer") => When::Steer,
        _ => When::InTurn,
    };
    send(input::sent(session, prompt, when));
    Ok(())
}

/// Returns the agent's session that this tab page shows, or else the one used last; if the tab page has
/// a folder of its own, only one that works there.
fn of_agent(agent: &str, tab_cwd: Option<&str>) -> mlua::Result<Option<SessionKey>> {
    let tab = window::tab()?;
    let is_here = |key: &SessionKey| {
        let works_in = |cwd| state::session(*key, |info| info.cwd.starts_with(cwd));
        tab_cwd.is_none_or(|cwd| works_in(cwd) != Some(false))
    };
    let known = chats::with(|chats| {
        let of_agent = |key: &SessionKey| {
            let chat = chats.by_session.get(key);
            chat.is_some_and(|chat| chat.agent == agent)
        };
        let in_tab = chats.by_tab.get(&tab).copied();
        let shown = in_tab.or(chats.last.filter(is_here));
        let mut all = chats.by_session.keys().copied();
        shown
            .filter(of_agent)
            .or_else(|| all.rfind(|key| of_agent(key) && is_here(key)))
    });
    Ok(known)
}

/// Opens a new session, or the agent's past session with this id.
fn start_session(agent: &str, spec: &Table, past: Option<String>) -> mlua::Result<SessionKey> {
    let key = chat::create(agent, past.as_deref())?;
    let cwd = PathBuf::from(spec.get::<String>("cwd")?);
    let env: Option<Table> = spec.get("env")?;
    let env = env.map(|env| env.pairs::<String, String>().flatten().collect());
    let mut roots = vec![cwd.clone()];
    // They are absolute. Neovim's `expand` would leave out what 'wildignore' names.
    let dirs = config::with(|config| config.allowed_dirs.clone());
    roots.extend(dirs.into_iter().map(PathBuf::from));
    let reach = super::reach::read(spec, &roots)?;
    roots.extend(reach.additional.iter().cloned());
    let real: Vec<PathBuf> = roots
        .iter()
        .map(|root| acp_edge::paths::resolved(root))
        .collect();
    let project = acp_edge::paths::resolved(&cwd);
    roots.extend(real);
    state::refresh_environment();
    send(Event::Session(SessionEvent::Open {
        session: key,
        spec: Box::new(AgentSpec {
            name: agent.to_owned(),
            command: spec.get("command")?,
            args: spec.get::<Option<Vec<String>>>("args")?.unwrap_or_default(),
            env: env.unwrap_or_default(),
            cwd,
            missing_is_empty: spec.get::<Option<String>>("missing_file")?.as_deref()
                == Some("empty"),
            defaults: super::options::defaults(spec)?,
            awaits_remembered: true,
        }),
        roots,
        project,
        origin: match past {
            Some(id) => Origin::Past {
                id: SessionId(id.into()),
            },
            None => Origin::New,
        },
        reach,
    }));
    Ok(key)
}

/// Reads a text or a list of the protocol's content blocks.
fn read_prompt(prompt: &Value, contexts: Vec<Table>) -> mlua::Result<Prompt> {
    let lines = contexts.iter().map(read_context);
    let lines = lines.map(|lines| lines.map(Attachment::Lines));
    let mut read = Prompt {
        attached: lines.collect::<mlua::Result<_>>()?,
        ..Prompt::default()
    };
    match prompt {
        Value::String(text) => read.text = text.to_string_lossy(),
        Value::Table(blocks) => {
            for block in blocks.sequence_values::<Value>() {
                read.blocks.push(nvim::lua().from_value(block?)?);
            }
        }
        other => {
            let message = format!(
                "prompt: expected a text or blocks, got {}",
                other.type_name()
            );
            return Err(mlua::Error::runtime(message));
        }
    }
    Ok(read)
}

pub(super) fn read_context(context: &Table) -> mlua::Result<Context> {
    Ok(Context {
        path: PathBuf::from(context.get::<String>("path")?),
        rows: context.get("first")?..context.get("last")?,
        text: context.get("text")?,
    })
}

fn status(session: Option<u32>) -> mlua::Result<Value> {
    let key = match session {
        Some(_) => Some(meant(session)?),
        None => chats::current(),
    };
    let chat = key.and_then(|key| Some((key, chats::get(key)?)));
    match chat {
        Some((key, chat)) => nvim::data(&chat_data(key, &chat)),
        None => nvim::data(&json!({ "phase": "none" })),
    }
}

/// Returns the status of each open session, with its names on one line.
fn sessions() -> mlua::Result<Value> {
    let chats = chats::all();
    nvim::list(chats.iter().map(|(key, chat)| {
        let mut data = chat_data(*key, chat);
        for name in ["agent", "title"] {
            if let Some(text) = data[name].as_str() {
                data[name] = OneLine::from_words(text).as_str().into();
            }
        }
        data
    }))
}

/// Returns the status of a chat's session.
fn chat_data(key: SessionKey, chat: &Chat) -> Json {
    match state::session(key, session_data) {
        Some(data) => data,
        // The core does not know it yet.
        None => json!({ "phase": "starting", "agent": chat.agent, "session": key.0 }),
    }
}

fn session_data(info: &SessionInfo) -> Json {
    let latest = info.tools.latest.as_ref();
    let usage = |usage: &Usage| {
        json!({
            "used": usage.used,
            "size": usage.size,
            "percent": usage.percent(),
            "cost": usage.cost,
        })
    };
    json!({
        "agent": info.agent,
        "session": info.session.0,
        "cwd": info.cwd.to_string_lossy(),
        "id": info.id.as_ref().map(|id| id.0.as_ref()),
        "phase": info.phase.name(),
        "since": status::since(info.session, info.phase),
        "stop_reason": info.stop_reason,
        "mode": info.mode,
        "model": info.model,
        "tools": {
            "running": info.tools.running,
            "title": latest.map(|(title, _)| title),
            "kind": latest.map(|(_, kind)| kind),
        },
        "terminals": info.terminals,
        "permissions": info.permissions,
        "queued": info.queue.len(),
        "elicitations": info.elicitations,
        "review": { "files": info.review.0, "hunks": info.review.1 },
        "title": info.title,
        "follow": follow_data(info.follow),
        "attached": info.attached,
        "login": info.needs_login,
        "steering": info.steering,
        "plan": info.plan.map(|(done, total)| json!({ "done": done, "total": total })),
        "usage": info.usage.as_ref().map(usage),
    })
}

/// Returns a mode in the form that [`config::follow`] reads.
fn follow_data(follow: Follow) -> Json {
    match follow {
        Follow::Off => json!(false),
        Follow::On => json!(true),
        Follow::Edits => json!("edits"),
    }
}

/// Returns the statusline of a session, with these parts or the configured ones, with highlights in
/// the syntax of `'statusline'` or as plain text.
fn statusline(
    session: Option<u32>,
    parts: Option<Vec<String>>,
    is_highlighted: Option<bool>,
) -> mlua::Result<String> {
    let key = match session {
        Some(_) => Some(meant(session)?),
        None => chats::current(),
    };
    let snapshot = snapshot();
    let mut sessions = snapshot.sessions.iter();
    let Some(info) = sessions.find(|info| Some(info.session) == key) else {
        // The core does not know a newly opened session yet.
        let chat = key.and_then(chats::get);
        return Ok(chat.map_or_else(String::new, |chat| format!("{} starting", chat.agent)));
    };
    let parts = match parts {
        Some(names) => names.iter().filter_map(|name| Part::named(name)).collect(),
        None => config::with(|config| config.statusline.clone()),
    };
    let line = statusline::statusline(&snapshot, info, &parts);
    if is_highlighted != Some(true) {
        return Ok(line
            .into_iter()
            .map(|(text, _)| String::from(text))
            .collect());
    }
    let mut text = String::new();
    for (said, group) in line {
        text.push_str(&format!("%#{group}#{}", said.replace('%', "%%")));
    }
    if !text.is_empty() {
        text.push_str("%*");
    }
    Ok(text)
}
