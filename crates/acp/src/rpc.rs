//! JSON-RPC 2.0: decodes a line into messages, and encodes the client's messages as lines.
//!
//! Invariants: [`decode()`] accepts any bytes, neither fails nor panics, and drops nothing:
//! everything that is not a message becomes [`Message::Noise`]. An encoded message is one line
//! without its `\n`, and a response repeats the id of its request byte for byte.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::decode;
use super::mend::mend;
use super::message::{AgentRequest, Message, RequestId, RpcError};
use super::raw;

/// The method does not exist, or the client does not offer it.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are bad; the message names the field.
pub const INVALID_PARAMS: i64 = -32602;
/// The client could not carry out the request.
pub const INTERNAL_ERROR: i64 = -32603;
/// The file does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user must log in first (an agent's answer).
pub const AUTH_REQUIRED: i64 = -32000;
/// The request was cancelled.
pub const REQUEST_CANCELLED: i64 = -32800;

/// Maximum number of characters kept of a line that is not a message.
const NOISE: usize = 200;

/// Returns the messages of one line: usually one, several for a batch, none for a blank line.
///
/// It accepts more than JSON-RPC allows: bytes that are not UTF-8 (repaired), several messages on
/// one line, a missing `jsonrpc`. A message after other text is noise, like the text: agents that
/// log their traffic to stdout are more common than missing line ends, and a logged message must
/// not be handled twice.
pub fn decode(line: &[u8]) -> Vec<Message> {
    let text = mend(line.trim_ascii());
    let mut messages = Vec::with_capacity(1);
    read_line(&text, &mut messages);
    if let Cow::Owned(_) = text {
        messages.iter_mut().for_each(refuse_mended);
    }
    messages
}

/// Encodes a request of the client; `id` comes back in [`Message::Response`].
pub fn request(id: u64, method: &str, params: impl Serialize) -> String {
    let jsonrpc = "2.0";
    line(&Request {
        jsonrpc,
        id,
        method,
        params,
    })
}

/// Encodes a notification of the client.
pub fn notification(method: &str, params: impl Serialize) -> String {
    let jsonrpc = "2.0";
    line(&Notification {
        jsonrpc,
        method,
        params,
    })
}

/// Encodes the answer to an agent's request.
pub fn response(id: &RequestId, result: impl Serialize) -> String {
    let jsonrpc = "2.0";
    let id = &*id.0;
    line(&Response {
        jsonrpc,
        id,
        result,
    })
}

/// Encodes an error answer to an agent's request.
pub fn error(id: &RequestId, code: i64, message: &str, data: Option<Value>) -> String {
    let jsonrpc = "2.0";
    let id = &*id.0;
    let error = ErrorObject {
        code,
        message,
        data,
    };
    line(&Failure { jsonrpc, id, error })
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'a str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'a str,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Response<'a, R> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    error: ErrorObject<'a>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

fn line(message: &impl Serialize) -> String {
    // Only maps with non-string keys and paths that are not UTF-8 cannot be serialized; the client
    // sends neither (`client` converts its paths to text).
    serde_json::to_string(message).unwrap_or_default()
}

/// Reads consecutive values on a line; from the first that is not a message, the rest is noise.
fn read_line(text: &str, messages: &mut Vec<Message>) {
    if read_message(text, messages) {
        return;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut read = 0;
    while let Some(Ok(value)) = values.next() {
        if !read_message(value.get(), messages) && !read_batch(value, messages) {
            break;
        }
        read = values.byte_offset();
    }
    let rest = text.get(read..).unwrap_or_default().trim();
    if !rest.is_empty() {
        messages.push(noise(rest));
    }
}

/// Keeps the beginning of a text that is not a message.
fn noise(text: &str) -> Message {
    let end = text.char_indices().nth(NOISE).map_or(text.len(), |c| c.0);
    Message::Noise(text.get(..end).unwrap_or_default().trim().to_owned())
}

/// Reads the messages of a batch; returns `false` if there are none.
fn read_batch(batch: &RawValue, messages: &mut Vec<Message>) -> bool {
    let items = raw::list(batch).unwrap_or_default();
    let before = messages.len();
    let mut junk = Vec::new();
    for item in &items {
        if !read_message(item.get(), messages) {
            junk.push(item);
        }
    }
    if messages.len() == before {
        return false;
    }
    messages.extend(junk.into_iter().map(|item| noise(item.get())));
    true
}

/// Reads one message; returns `false` if `json` is not one.
fn read_message(json: &str, messages: &mut Vec<Message>) -> bool {
    const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let Some(found) = raw::fields_and_nulls(json, NAMES) else {
        return false;
    };
    let said = found.map(|field| field.filter(|raw| raw.get() != "null"));
    let [jsonrpc, id, method, params, result, error] = said;
    if let Some(method) = method {
        let Some(method) = raw::word(method) else {
            return false;
        };
        // An id of `null` means no id for a notification, but is an id for a request.
        let [_, id_or_null, ..] = found;
        call(&method, id, id_or_null, params, messages);
        return true;
    }
    let Some(id) = id.and_then(response_id) else {
        return false;
    };
    let result = match (error, result) {
        (Some(error), _) => Err(rpc_error(error)),
        (None, Some(result)) => Ok(raw::value(result)),
        // `result: null`, or `result: undefined`, which JavaScript omits.
        (None, None) if jsonrpc.is_some() => Ok(Value::Null),
        (None, None) => return false,
    };
    messages.push(Message::Response { id, result });
    true
}

/// Reads a request or a notification.
fn call(
    method: &str,
    id: Option<&RawValue>,
    id_or_null: Option<&RawValue>,
    params: Option<&RawValue>,
    messages: &mut Vec<Message>,
) {
    let id = match id {
        None if decode::is_request(method) => id_or_null,
        id => id,
    };
    let Some(id) = id else {
        messages.push(Message::Notification(decode::notification(method, params)));
        return;
    };
    // An update sent as a request is applied, and its sender gets an error.
    if decode::is_notification(method) {
        messages.push(Message::Notification(decode::notification(method, params)));
    }
    let id = RequestId(Arc::from(id.to_owned()));
    let call = decode::request(&id, method, params);
    messages.push(Message::Request { id, call });
}

/// Returns the client's id, which some agents return as a string or a float.
fn response_id(raw: &RawValue) -> Option<u64> {
    let word = raw::word(raw)?;
    let digits = word.trim();
    digits.parse().ok().or_else(|| {
        let number: f64 = digits.parse().ok()?;
        // Beyond 2^53 a float does not identify a single integer.
        let exact = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
        exact.then_some(number as u64)
    })
}

/// Reads an error of any form: an object with any code, or a bare string.
fn rpc_error(raw: &RawValue) -> RpcError {
    let [code, message, data] =
        raw::fields(raw.get(), ["code", "message", "data"]).unwrap_or_default();
    let code = code.and_then(raw::word).and_then(|word| {
        let float = || word.parse().ok().map(|code: f64| code as i64);
        word.parse().ok().or_else(float)
    });
    RpcError {
        code: code.unwrap_or(INTERNAL_ERROR),
        message: message
            .and_then(raw::text)
            .or_else(|| raw::text(raw))
            .unwrap_or_else(|| raw.get().to_owned()),
        data: data.map(raw::value),
    }
}

/// Refuses a write whose text had to be repaired: a file must not be damaged silently.
fn refuse_mended(message: &mut Message) {
    if let Message::Request { call, .. } = message
        && let AgentRequest::WriteTextFile { content, .. } = call
        && content.contains('\u{fffd}')
    {
        *call = AgentRequest::Invalid {
            method: "fs/write_text_file".to_owned(),
            why: "params.content: not valid UTF-8".to_owned(),
        };
    }
}
