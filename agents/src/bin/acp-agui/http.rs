//! The endpoint: sends a run and returns the events of its answer.
//!
//! Invariants: a prompt reaches the configured host and no other, and is sent once; dropping an
//! answer ends its connection. Headers come from the environment and are in no message.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::sse::Events;

/// The variable with the bearer token.
pub const TOKEN: &str = "ACP_AGUI_TOKEN";
/// The variable with more headers, as a JSON object.
pub const HEADERS: &str = "ACP_AGUI_HEADERS";

/// The time that connecting may take.
const CONNECT: Duration = Duration::from_secs(30);
/// The silence after which a connection is probed.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// The time and the bytes that the text of a refusal may take.
const REFUSAL: (Duration, usize) = (Duration::from_secs(5), 64 << 10);
const REDIRECTS: usize = 5;

/// An AG-UI endpoint.
#[derive(Debug, Clone)]
pub struct Endpoint {
    uri: Uri,
    headers: HeaderMap,
}

/// Why a run has no answer.
#[derive(Debug)]
pub struct Failure {
    /// A sentence for the user.
    pub text: String,
    /// The endpoint could not read the run, so it started nothing.
    pub is_unreadable: bool,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self {
            text,
            is_unreadable: false,
        }
    }
}

impl Endpoint {
    /// Reads the URL; the headers are those of the environment.
    pub fn new(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{url}` {why}: correct `url`.");
        let uri: Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("does not start with http:// or https://"));
        }
        if uri.authority().is_some_and(|at| at.as_str().contains('@')) {
            let why = format!("The URL contains a password: remove it and set {HEADERS} instead.");
            return Err(why);
        }
        let headers = headers(|name| std::env::var(name).ok())?;
        Ok(Self { uri, headers })
    }

    /// Sends a run and returns its events.
    pub async fn post(&self, body: &Value) -> Result<Events, Failure> {
        let body = Bytes::from(body.to_string());
        let mut answer = self.send(Method::POST, &self.uri, body.clone()).await?;
        let mut uri = self.uri.clone();
        for _ in 0..REDIRECTS {
            if !answer.status().is_redirection() {
                break;
            }
            uri = self.redirected(&uri, answer.headers().get(LOCATION))?;
            answer = self.send(Method::POST, &uri, body.clone()).await?;
        }
        if !answer.status().is_success() {
            return Err(Failure {
                is_unreadable: matches!(answer.status().as_u16(), 400 | 422),
                text: self.refusal(answer).await,
            });
        }
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.to_ascii_lowercase().starts_with("text/event-stream");
        if !is_stream {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            let kind = if kind.is_empty() {
                "no content type"
            } else {
                kind
            };
            return Err(format!(
                "{self} answered with {kind} instead of an event stream: correct `url`, or start \
                 the agent there."
            )
            .into());
        }
        let bytes = answer.into_body().into_data_stream();
        Ok(Events::new(
            bytes.map(|bytes| bytes.map_err(|why| root(&why))),
        ))
    }

    /// Asks for the page of the endpoint, which starts no run; returns the status it answers with.
    pub async fn check(&self) -> Result<StatusCode, String> {
        let answer = self.send(Method::GET, &self.uri, Bytes::new()).await?;
        Ok(answer.status())
    }

    async fn send(
        &self,
        method: Method,
        uri: &Uri,
        body: Bytes,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static("acp-agui"));
        headers.extend(self.headers.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        // A peer that is gone without a word ends the run, within a minute.
        connector.set_keepalive(Some(KEEPALIVE));
        connector.set_keepalive_interval(Some(KEEPALIVE / 3));
        connector.set_keepalive_retries(Some(3));
        let mut client = Client::builder(TokioExecutor::new());
        // A connection serves one run, so it ends with it.
        client.pool_max_idle_per_host(0);
        // A run may have started before its connection failed.
        client.retry_canceled_requests(false);
        let sent = match uri.scheme_str() {
            Some("https") => {
                connector.enforce_http(false);
                let roots = HttpsConnectorBuilder::new().with_native_roots();
                let roots = roots.map_err(|why| {
                    format!(
                        "This system has no certificates to check {self} with ({why}): install \
                         its CA certificates."
                    )
                })?;
                let connector = roots.https_only().enable_http1().wrap_connector(connector);
                client.build(connector).request(request).await
            }
            _ => client.build(connector).request(request).await,
        };
        sent.map_err(|why| {
            let what = match why.is_connect() {
                true => "does not answer",
                false => "ended the connection before it answered",
            };
            let why = root(&why);
            format!(
                "{self} {what} ({why}): start the agent there, or correct `url`, then send the \
                 prompt again."
            )
        })
    }

    /// Returns where a redirect leads, if that is the same server.
    fn redirected(&self, from: &Uri, location: Option<&HeaderValue>) -> Result<Uri, String> {
        let target = location
            .and_then(|to| to.to_str().ok())
            .and_then(|to| joined(from, to));
        let target =
            target.ok_or_else(|| format!("{self} redirects to nowhere: correct `url`."))?;
        let server = |uri: &Uri| {
            let port = uri.port_u16().or(match uri.scheme_str() {
                Some("https") => Some(443),
                _ => Some(80),
            });
            (uri.host().map(str::to_ascii_lowercase), port)
        };
        let is_upgrade = server(from).0 == server(&target).0
            && (server(from).1, server(&target).1) == (Some(80), Some(443));
        let is_downgrade =
            from.scheme_str() == Some("https") && target.scheme_str() != Some("https");
        if is_downgrade || server(from) != server(&target) && !is_upgrade {
            let target = shown(&target);
            return Err(format!(
                "{self} redirects to {target}, which is another server: the prompt was not sent \
                 there. If you trust it, use that as `url`."
            ));
        }
        Ok(target)
    }

    /// Returns a sentence about an answer that is a refusal.
    async fn refusal(&self, answer: Response<Incoming>) -> String {
        let status = answer.status();
        let kind = answer.headers().get(CONTENT_TYPE).cloned();
        let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let (time, size) = REFUSAL;
        let body = tokio::time::timeout(time, Limited::new(answer.into_body(), size).collect());
        let body = match body.await {
            Ok(Ok(body)) if !is_page => body.to_bytes(),
            _ => Bytes::new(),
        };
        let said = match said(&body) {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        };
        let next = match status.as_u16() {
            401 | 403 if self.headers.is_empty() => {
                format!("set {TOKEN} in Neovim's environment or `headers` of the agent")
            }
            401 | 403 => format!("correct {TOKEN} or `headers` of the agent"),
            404 | 405 => "correct `url`".to_owned(),
            400 | 422 => "its version of the protocol may be another one".to_owned(),
            429 => "wait, then send the prompt again".to_owned(),
            _ => "look at the log of that server, then send the prompt again".to_owned(),
        };
        format!("{self} refused the prompt ({status}){said}. Next: {next}.")
    }
}

/// Shows the URL without its query, which may hold a key.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.uri))
    }
}

fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let host = uri.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{host}{}", uri.path())
}

/// Returns the configured headers.
fn headers(var: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    // No message contains a value: it may be secret.
    let unusable = |what: &str| format!("{what} cannot be sent as a header: correct it.");
    if let Some(token) = var(TOKEN).filter(|token| !token.is_empty()) {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.map_err(|_| unusable(TOKEN))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let Some(more) = var(HEADERS).filter(|more| !more.is_empty()) else {
        return Ok(headers);
    };
    let more: serde_json::Map<String, Value> = serde_json::from_str(&more)
        .map_err(|_| format!("{HEADERS} is not a JSON object of headers: correct it."))?;
    for (name, value) in more {
        let read = |value: &Value| HeaderValue::from_str(value.as_str()?).ok();
        let key = HeaderName::from_bytes(name.as_bytes()).ok();
        let (Some(key), Some(mut value)) = (key, read(&value)) else {
            return Err(unusable(&format!("The header `{name}`")));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Resolves the target of a redirect.
fn joined(from: &Uri, to: &str) -> Option<Uri> {
    let scheme = from.scheme_str()?;
    let host = from.authority()?;
    let to = to.split('#').next()?;
    let whole = if to.contains("://") {
        to.to_owned()
    } else if to.starts_with("//") {
        format!("{scheme}:{to}")
    } else if to.starts_with('/') {
        format!("{scheme}://{host}{to}")
    } else {
        let folder = from
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{scheme}://{host}{folder}/{to}")
    };
    let uri: Uri = whole.parse().ok()?;
    matches!(uri.scheme_str(), Some("http" | "https")).then_some(uri)
}

/// Returns the reason in the body of a refusal as one short line.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let fields = ["/error/message", "/error", "/message", "/detail"];
    let said = fields
        .iter()
        .find_map(|field| json.pointer(field)?.as_str());
    let words = said.unwrap_or(&text).split_whitespace();
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.trim_end_matches('.').to_owned(),
    }
}

/// Returns the innermost reason of an error.
fn root(why: &dyn Error) -> String {
    let mut why = why;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}

/// Reads what a server still sends after a run has ended, so that it sees no broken connection.
pub async fn drain(mut events: Events) {
    let rest = async { while let Some(Ok(_)) = events.next().await {} };
    let _ = tokio::time::timeout(REFUSAL.0, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint {
            uri: url.parse().unwrap(),
            headers: HeaderMap::new(),
        }
    }

    #[test]
    fn a_redirect_stays_on_its_server() {
        let check = |from: &str, to: &str, want: Option<&str>| {
            let from = endpoint(from);
            let to = HeaderValue::from_str(to).unwrap();
            let got = from.redirected(&from.uri, Some(&to)).ok();
            assert_eq!(got.map(|uri| uri.to_string()).as_deref(), want, "{to:?}");
        };
        let here = "http://here:8000/a/b?k=v";
        check(here, "/a/b/", Some("http://here:8000/a/b/"));
        check(here, "c?x#y", Some("http://here:8000/a/c?x"));
        check(here, "http://HERE:8000/", Some("http://HERE:8000/"));
        check(here, "http://here:8001/", None);
        check(here, "http://there:8000/", None);
        check(here, "//there:8000/", None);
        check(here, "ftp://here:8000/", None);
        check(here, "", Some("http://here:8000/a/"));
        check("http://here/", "https://here/", Some("https://here/"));
        check("http://here/", "https://there/", None);
        check("https://here/", "http://here/", None);
        check("https://here:443/", "http://here:443/", None);
    }

    #[test]
    fn headers_come_from_the_environment_and_bad_ones_are_named_without_their_value() {
        let read = |token: &str, more: &str| {
            headers(|name| Some(if name == TOKEN { token } else { more }.to_owned()))
        };
        let got = read("t", r#"{"X-A": "b", "authorization": "c"}"#).unwrap();
        assert_eq!(got["x-a"], "b");
        assert_eq!(got["authorization"], "c");
        assert_eq!(read("t", "").unwrap()["authorization"], "Bearer t");
        assert!(read("", "").unwrap().is_empty());
        for (token, more) in [
            ("se\ncret", ""),
            ("", r#"{"a b": "secret"}"#),
            ("", "secret"),
        ] {
            let why = read(token, more).unwrap_err();
            assert!(!why.contains("cret"), "{why}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_query() {
        assert_eq!(
            endpoint("http://x:1/a?key=secret").to_string(),
            "http://x:1/a"
        );
        assert!(Endpoint::new("http://u:p@x/").is_err_and(|why| !why.contains("u:p")));
        assert!(Endpoint::new("localhost:8000").is_err());
        assert!(Endpoint::new("file:///x").is_err());
    }

    #[test]
    fn a_refusal_is_one_short_line() {
        assert_eq!(said(br#"{"detail": "No such\nmodel."}"#), "No such model");
        assert_eq!(said(br#"{"error": {"message": "m"}}"#), "m");
        assert_eq!(said(b""), "");
        assert_eq!(said("é".repeat(400).as_bytes()).chars().count(), 301);
    }
}
