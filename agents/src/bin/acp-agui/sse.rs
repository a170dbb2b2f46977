//! The events of an answer: a body's bytes as JSON objects.
//!
//! Invariants: the events do not depend on how the bytes are cut, and an event that grows beyond
//! [`LARGEST`] is an error before it fills the memory.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

use futures_util::{Stream, StreamExt};
use hyper::body::Bytes;
use serde_json::Value;
use sse_stream::SseByteStream;

/// The most bytes that one event may take.
pub const LARGEST: usize = 16 << 20;

type Input = Pin<Box<dyn Stream<Item = Result<Bytes, Broken>>>>;

/// The events of one answer.
pub struct Events {
    stream: SseByteStream<Input>,
    /// Bytes since the last event.
    since: Rc<Cell<usize>>,
}

/// Why there is no next event.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// The connection ended with an error.
    Lost(String),
    /// The event has more than [`LARGEST`] bytes.
    Large,
    /// The event is not a JSON object with a type; its first characters.
    Strange(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(why) => write!(f, "lost the connection in the middle of its answer ({why})"),
            Self::Large => {
                let limit = LARGEST >> 20;
                write!(f, "sent an event of more than {limit} MiB")
            }
            Self::Strange(start) => write!(f, "sent an event that is not AG-UI: `{start}`"),
        }
    }
}

impl std::error::Error for Broken {}

impl Events {
    pub fn new(bytes: impl Stream<Item = Result<Bytes, String>> + 'static) -> Self {
        let since = Rc::new(Cell::new(0));
        let counter = since.clone();
        let counted = bytes.map(move |bytes| {
            let bytes = bytes.map_err(Broken::Lost)?;
            counter.set(counter.get() + bytes.len());
            match counter.get() > LARGEST {
                true => Err(Broken::Large),
                false => Ok(bytes),
            }
        });
        Self {
            stream: SseByteStream::new(Box::pin(counted)),
            since,
        }
    }

    /// Returns the next event, or `None` at the end of the answer.
    pub async fn next(&mut self) -> Option<Result<Value, Broken>> {
        loop {
            let event = match self.stream.next().await? {
                Ok(event) => event,
                Err(why) => return Some(Err(broken(why))),
            };
            self.since.set(0);
            // A comment or a bare `id` keeps the connection open and says nothing else.
            let Some(data) = event.data.filter(|data| !data.is_empty()) else {
                continue;
            };
            let read = serde_json::from_str::<Value>(&data).ok();
            let event = read.filter(|event| event.get("type").is_some_and(Value::is_string));
            return Some(event.ok_or_else(|| Broken::Strange(data.chars().take(80).collect())));
        }
    }
}

fn broken(why: sse_stream::Error) -> Broken {
    match why {
        sse_stream::Error::Body(why) => match why.downcast::<Broken>() {
            Ok(why) => *why,
            Err(why) => Broken::Lost(why.to_string()),
        },
        other => Broken::Strange(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: Vec<Bytes>) -> Vec<Result<Value, Broken>> {
        let mut events = Events::new(futures_util::stream::iter(bytes.into_iter().map(Ok)));
        let mut all = Vec::new();
        while let Some(event) = events.next().await {
            let is_end = event.is_err();
            all.push(event);
            if is_end {
                break;
            }
        }
        all
    }

    #[tokio::test]
    async fn an_event_without_an_end_is_refused_before_it_fills_the_memory() {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let mut all = vec![Bytes::from_static(b"data: {\"type\":\"A\"}\n\ndata: ")];
        all.extend(std::iter::repeat_n(piece, 17));
        let all = read(all).await;
        assert_eq!(all.len(), 2);
        assert_eq!(all.last(), Some(&Err(Broken::Large)));
    }

    #[tokio::test]
    async fn many_events_may_be_larger_together_than_one_may_be() {
        let text = "x".repeat(1 << 20);
        let event = Bytes::from(format!("data: {{\"type\":\"A\",\"t\":\"{text}\"}}\r\n\r\n"));
        let all = read(std::iter::repeat_n(event, 20).collect()).await;
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn what_is_no_event_is_reported_with_its_start() {
        for (text, start) in [
            ("nonsense", "nonsense"),
            ("[1]", "[1]"),
            ("{\"a\":1}", "{\"a\":1}"),
        ] {
            let bytes = Bytes::from(format!(": hello\n\ndata: {text}\n\n"));
            let got = read(vec![bytes]).await;
            assert_eq!(got, [Err(Broken::Strange(start.to_owned()))]);
        }
    }
}
