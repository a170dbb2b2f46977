//! The same server over HTTP, on 127.0.0.1, for agents that start no command.
//!
//! Invariants: without a session's token nothing is read but the head of a request; no page in a
//! browser gets in, whatever name it has for this machine.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::admission::{Admission, AdmissionPermit};
use super::service;
use super::{LINE_BYTES, Server};
use acp_core::spine::effect::Level;

/// What serves one session.
pub(super) struct Service(StreamableHttpService<service::Service, LocalSessionManager>);

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Service")
    }
}

/// How many connections there may be over all sessions.
const CONNECTIONS: usize = 128;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(5);

/// How long a client that is silent, and waits for nothing, is remembered.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long accepting waits when the system has no descriptor left.
const NO_ROOM: Duration = Duration::from_millis(100);

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Listens on a port from now on, and returns it.
///
/// # Errors
/// No port can be had.
pub(super) fn listen(server: &Arc<Server>) -> io::Result<u16> {
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    let runtime = server.kit.runtime.enter();
    let listener = TcpListener::from_std(listener)?;
    drop(runtime);
    let accepting = accept(listener, Arc::clone(server));
    server.kit.spawn("the tools' port", accepting);
    Ok(port)
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    let taken = Arc::new(AtomicUsize::new(0));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match AdmissionPermit::take(&taken, CONNECTIONS) {
                Some(share) => {
                    let serving = serve(stream, share, Arc::clone(&server));
                    server.kit.spawn("a client over HTTP", serving);
                }
                None => server.log(
                    Level::Warn,
                    "Too many connect over HTTP: one was sent away.",
                ),
            },
            Err(error) => {
                server.log(Level::Warn, &format!("A client could not connect: {error}"));
                sleep(NO_ROOM).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, _share: AdmissionPermit, server: Arc<Server>) {
    let answering = service_fn(|request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(answer(request, server).await) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), answering);
    if let Err(error) = serving.await {
        server.log(
            Level::Debug,
            &format!("A client over HTTP has left: {error}"),
        );
    }
}

async fn answer(request: Request<Incoming>, server: Arc<Server>) -> Answer {
    if request.uri().path() != "/mcp" {
        return plain(StatusCode::NOT_FOUND, "There is nothing here.\n");
    }
    let bearer = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some(admission) = bearer.and_then(|(_, token)| server.who(token.trim())) else {
        server.log(
            Level::Warn,
            "A request over HTTP has no token, or a wrong one: it was refused.",
        );
        let mut answer = plain(StatusCode::UNAUTHORIZED, "A session's token is missing.\n");
        let headers = answer.headers_mut();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return answer;
    };
    let end = admission.end.clone();
    let service = admission.http.get_or_init(|| service(&server, &admission));
    tokio::select! {
        answer = service.0.handle(request) => answer,
        () = end.cancelled() => plain(StatusCode::UNAUTHORIZED, "The session is closed.\n"),
    }
}

fn service(server: &Arc<Server>, admission: &Arc<Admission>) -> Service {
    let mut sessions = LocalSessionManager::default();
    // A call may wait for the user.
    sessions.session_config.keep_alive = Some(IDLE);
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(LINE_BYTES)
        .with_cancellation_token(admission.end.child_token())
        .enforce_origin_validation();
    let (server, admission) = (Arc::clone(server), Arc::downgrade(admission));
    let new = move || {
        let admission = admission.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        let gone = admission.end.child_token();
        Ok(service::Service::new(Arc::clone(&server), admission, gone))
    };
    Service(StreamableHttpService::new(new, Arc::new(sessions), config))
}

/// Returns an answer that needs no more of the request, and ends the connection.
fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    answer
}
