//! Lines of an agent: any bytes become messages, and each request keeps its id, so that it can be
//! answered.

#![no_main]

use acp::{Message, rpc};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;

/// The ids of the requests in a message or a batch; `None` where a key may stand twice.
fn asked(text: &str, json: &Json) -> Option<Vec<String>> {
    if serde_json::to_string(json).ok()?.len() < text.trim().len() {
        return None;
    }
    let messages = match json {
        Json::Array(all) => all.iter().collect(),
        one => vec![one],
    };
    let ids = messages.into_iter().filter_map(|message| {
        message.get("method")?.as_str()?;
        let id = message.get("id").filter(|id| !id.is_null())?;
        Some(id.to_string())
    });
    Some(ids.collect())
}

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        let messages = rpc::decode(line);
        let is_blank = String::from_utf8_lossy(line).trim().is_empty();
        assert!(is_blank || !messages.is_empty(), "{line:?} was dropped");
        let mut ids = Vec::new();
        for message in &messages {
            if let Message::Request { id, .. } = message {
                let answer = rpc::response(id, ());
                assert!(!answer.contains('\n'), "an answer is one line: {answer}");
                let answer: Json = serde_json::from_str(&answer).expect("an answer is JSON");
                ids.push(answer["id"].to_string());
            }
        }
        let Ok(text) = std::str::from_utf8(line) else {
            continue;
        };
        if let Ok(json) = serde_json::from_str::<Json>(text)
            && let Some(asked) = asked(text, &json)
        {
            let mut ids = ids.into_iter();
            for id in asked {
                let is_answered = ids.any(|other| other == id);
                assert!(is_answered, "{id} in {text} gets no answer: {messages:?}");
            }
        }
    }
});
