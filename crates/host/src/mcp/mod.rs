//! The MCP server of Neovim's tools, on a Unix socket.
//!
//! Invariants: only clients with a session's token get an answer; every call is reported as an
//! event with a unique id, and answered once.

mod admission;
mod calls;
mod connection;
mod offer;
mod service;
mod socket;

use std::collections::HashMap;
use std::path::PathBuf;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rmcp::ErrorData;
use serde_json::Value as Json;
use tokio::sync::watch;

use self::admission::{Admission, CALLS};
use self::calls::{Call, Calls};
use self::offer::Offer;
use self::service::Taken;
use self::socket::SocketFolder;
use super::Kit;
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::effect::Level;
use acp_core::spine::ids::{SessionKey, ToolUseId};
use acp_core::spine::tool::{Progress, ToolResult, ToolSpec};
use acp_edge::panics::lock;

/// Maximum length of a message.
const LINE_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct McpServer {
    socket: PathBuf,
    /// Created by the first effect.
    server: OnceLock<Arc<Server>>,
    /// The socket's folder, created with the first admission and removed on drop.
    place: Mutex<Option<SocketFolder>>,
}

/// State shared by all connections.
#[derive(Debug)]
struct Server {
    kit: Kit,
    calls: Arc<Calls>,
    offer: watch::Sender<Arc<Offer>>,
    admitted: Mutex<HashMap<SessionKey, Arc<Admission>>>,
    #[cfg(test)]
    connections: Arc<AtomicUsize>,
    /// The largest number of bytes queued for one client so far.
    #[cfg(test)]
    most_waiting: AtomicUsize,
}

impl McpServer {
    /// Returns a server that does not listen yet; `socket` is its future path.
    pub fn new(socket: PathBuf) -> Self {
        Self {
            socket,
            server: OnceLock::new(),
            place: Mutex::default(),
        }
    }

    /// Removes the socket: no further client can connect.
    pub fn close(&self) {
        let place = &mut *lock(&self.place);
        drop(place.take());
    }

    /// Replaces the offered tools.
    pub fn offer(&self, tools: Arc<[ToolSpec]>, kit: &Kit) {
        self.server(kit).offer.send_if_modified(|offer| {
            let new = Offer::new(&tools, offer);
            let is_new = !new.is_as(offer);
            if is_new {
                *offer = Arc::new(new);
            }
            is_new
        });
    }

    /// Admits clients with this token, and ends those with the session's former one.
    pub fn admit(&self, session: SessionKey, token: String, kit: &Kit) {
        let server = self.server(kit);
        self.listen(server);
        let admission = Arc::new(Admission::new(session, &token));
        if let Some(old) = lock(&server.admitted).insert(session, admission) {
            old.end.cancel();
        }
    }

    pub fn shut_out(&self, session: SessionKey) {
        if let Some(server) = self.server.get()
            && let Some(old) = lock(&server.admitted).remove(&session)
        {
            old.end.cancel();
        }
    }

    pub fn answer(&self, id: ToolUseId, result: ToolResult) {
        if let Some(server) = self.server.get() {
            server.calls.answer(id, result);
        }
    }

    pub fn report(&self, id: ToolUseId, progress: Progress) {
        if let Some(server) = self.server.get() {
            server.calls.report(id, progress);
        }
    }

    /// Listens on the socket, unless it already does.
    fn listen(&self, server: &Arc<Server>) {
        let mut place = lock(&self.place);
        if place.is_some() {
            return;
        }
        match socket::listen(&self.socket, server) {
            Ok(new) => *place = Some(new),
            Err(error) => {
                let why = format!(
                    "Agents cannot reach Neovim's tools: {} cannot be created ({error}). Make its \
                     folder writable ($XDG_RUNTIME_DIR) and restart Neovim.",
                    self.socket.display()
                );
                server
                    .kit
                    .inbox
                    .send(Event::Tool(ToolEvent::ServerFailed { why }));
            }
        }
    }

    #[cfg(test)]
    pub fn open_calls(&self) -> usize {
        self.server.get().map_or(0, |server| server.calls.count())
    }

    /// Returns the number of admitted connections, including those of former tokens.
    #[cfg(test)]
    pub fn connections(&self) -> usize {
        let server = self.server.get();
        server.map_or(0, |server| server.connections.load(Ordering::Relaxed))
    }

    #[cfg(test)]
    pub fn most_waiting(&self) -> usize {
        let server = self.server.get();
        server.map_or(0, |server| server.most_waiting.load(Ordering::Relaxed))
    }

    fn server(&self, kit: &Kit) -> &Arc<Server> {
        let new = || {
            Arc::new(Server {
                kit: kit.clone(),
                calls: Arc::new(Calls::new(kit.inbox.clone())),
                offer: watch::Sender::default(),
                admitted: Mutex::default(),
                #[cfg(test)]
                connections: Arc::default(),
                #[cfg(test)]
                most_waiting: AtomicUsize::new(0),
            })
        };
        self.server.get_or_init(new)
    }
}

impl Server {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.borrow())
    }

    fn offers(&self) -> watch::Receiver<Arc<Offer>> {
        self.offer.subscribe()
    }

    /// Returns the session with this token; compares with all tokens, so that the time reveals
    /// nothing.
    fn who(&self, token: &str) -> Option<Arc<Admission>> {
        let token = blake3::hash(token.as_bytes());
        let admitted = lock(&self.admitted);
        let whose = admitted.values().filter(|one| one.takes(&token)).last();
        whose.cloned()
    }

    /// Checks a complete call and reports it to the core; `begun` is the call if its beginning was
    /// reported.
    async fn take(
        self: &Arc<Self>,
        admission: &Arc<Admission>,
        begun: Option<Call>,
        name: String,
        arguments: Json,
        bytes: usize,
    ) -> Taken {
        let Some(tool) = self.offer().find(&name).cloned() else {
            let why = format!("There is no tool {name:?}: list the tools again.");
            return Taken::Refused(ErrorData::invalid_params(why, None));
        };
        let begun = begun.filter(|call| call.name == name);
        let Some(mut call) = begun.or_else(|| self.calls.open(admission, name.clone())) else {
            let why = format!("{CALLS} calls wait for their answers already: call again later.");
            self.log(Level::Warn, &why);
            return Taken::Done(ToolResult::error(why));
        };
        let arguments = match arguments {
            Json::Null => Json::Object(serde_json::Map::new()),
            arguments => arguments,
        };
        let checked = match bytes > BIG_CALL {
            true => tokio::task::block_in_place(|| tool.check(arguments)),
            false => tool.check(arguments),
        };
        let refused = checked.as_ref().err().cloned();
        let event = Event::Tool(ToolEvent::Used {
            id: call.id,
            session: admission.session,
            name,
            arguments: checked,
        });
        let told = match refused {
            None => call.tell(bytes, event).await.map(|()| Taken::Call(call)),
            Some(words) => {
                let told = call.settle(bytes, event).await;
                told.map(|()| Taken::Done(ToolResult::error(words)))
            }
        };
        told.unwrap_or_else(|| Taken::Refused(ErrorData::internal_error("Neovim ends.", None)))
    }

    fn log(&self, level: Level, line: &str) {
        self.kit.log.line(level, "tools", line);
    }
}

/// Larger arguments are checked without blocking other tasks.
const BIG_CALL: usize = 1 << 20;
