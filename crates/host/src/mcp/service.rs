//! The server's answers: rmcp asks, the offer and the core answer.
//!
//! Invariant: an accepted call is answered by the core, or abandoned with its caller.

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Server;
use super::calls::{Call, CallUpdate};
use super::offer::Offer;
use crate::guard::guarded;
use acp_core::spine::tool::{SERVER, ToolResult};
use acp_edge::panics::lock;

const INSTRUCTIONS: &str = "These tools act in the Neovim that the user is working in: they know \
    what is open, selected, diagnosed and not saved there, and can ask the user. Prefer them to \
    shell commands for the same purpose.";

/// Result of checking a call.
#[derive(Debug)]
pub(super) enum Taken {
    /// The call was reported to the core and is pending.
    Call(Call),
    /// The call is already answered.
    Done(ToolResult),
    Refused(ErrorData),
}

/// A checked call, attached to its message; in an `Arc`, because rmcp clones messages.
#[derive(Debug, Clone)]
pub(super) struct Parcel(Arc<Mutex<Option<Taken>>>);

impl Parcel {
    pub fn new(taken: Taken) -> Self {
        Self(Arc::new(Mutex::new(Some(taken))))
    }

    fn take(&self) -> Option<Taken> {
        lock(&self.0).take()
    }
}

/// One client's server.
#[derive(Debug)]
pub(super) struct Service {
    server: Arc<Server>,
    /// Cancelled when the client is gone.
    gone: CancellationToken,
    /// Holds the offer at the connection's start, to detect later changes.
    offers: watch::Receiver<Arc<Offer>>,
    /// Ends the tasks that this service started.
    end: CancellationToken,
    _end: DropGuard,
}

impl Service {
    pub fn new(server: Arc<Server>, gone: CancellationToken) -> Self {
        let end = CancellationToken::new();
        Self {
            offers: server.offers(),
            server,
            gone,
            _end: end.clone().drop_guard(),
            end,
        }
    }

    /// Waits for a call's answer, and passes on its progress.
    async fn wait(
        &self,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token();
        loop {
            let update = tokio::select! {
                biased;
                update = call.next_update() => update,
                () = context.ct.cancelled() => return Err(given_up()),
                () = self.gone.cancelled() => return Err(given_up()),
            };
            match (update, &token) {
                (CallUpdate::Answer(result), _) => return Ok(response(result)),
                (CallUpdate::Progress(progress), Some(token)) => {
                    let mut note = ProgressNotificationParam::new(token.clone(), progress.done);
                    note.total = progress.total;
                    note.message = progress.message;
                    // A failure means that the client is gone, which the loop detects.
                    let _ = context.peer.notify_progress(note).await;
                }
                (CallUpdate::Progress(_), None) => {}
            }
        }
    }
}

impl ServerHandler for Service {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let mut this = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        this.title = Some("Neovim".to_owned());
        ServerConfig::new(capabilities)
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.server.offer().tools()))
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let went_wrong = || Err(ErrorData::internal_error("The call went wrong.", None));
        let work = async {
            // The connection's reader puts a parcel into every call before rmcp sees it.
            match context.extensions.get().and_then(Parcel::take) {
                Some(Taken::Call(call)) => self.wait(call, &context).await,
                Some(Taken::Done(result)) => Ok(response(result)),
                Some(Taken::Refused(error)) => Err(error),
                None => went_wrong(),
            }
        };
        let inbox = &self.server.kit.inbox;
        let outcome = guarded("a call of a tool", inbox, work).await;
        outcome.unwrap_or_else(went_wrong)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (peer, offers, end) = (context.peer, self.offers.clone(), self.end.clone());
        let kit = &self.server.kit;
        kit.spawn("a list of tools", tell_of_changes(peer, offers, end));
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut offers = self.offers.clone();
        loop {
            tokio::select! {
                changed = offers.changed() => if changed.is_err() {
                    return Ok(());
                },
                () = context.cancelled() => return Ok(()),
                () = self.gone.cancelled() => return Ok(()),
            }
            if context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Notifies a client of each change of the tools.
async fn tell_of_changes(
    peer: Peer<RoleServer>,
    mut offers: watch::Receiver<Arc<Offer>>,
    end: CancellationToken,
) {
    loop {
        tokio::select! {
            changed = offers.changed() => if changed.is_err() {
                return;
            },
            () = end.cancelled() => return,
        }
        if peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// The answer to an abandoned call; its caller is gone.
fn given_up() -> ErrorData {
    ErrorData::internal_error("The call was cancelled.", None)
}

fn response(result: ToolResult) -> CallToolResponse {
    let blocks = result.content.into_iter().map(block).collect();
    let mut response = match result.is_error {
        true => CallToolResult::error(blocks),
        false => CallToolResult::success(blocks),
    };
    response.structured_content = result.structured.map(Json::Object);
    response.into()
}

/// Returns a content block; one that does not follow the protocol becomes a text of its JSON.
fn block(block: Json) -> ContentBlock {
    let text = block.to_string();
    serde_json::from_value(block).unwrap_or_else(|_| ContentBlock::text(text))
}
